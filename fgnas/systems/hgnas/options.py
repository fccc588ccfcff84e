"""The options of a search for networks of operations, and of measuring a device for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fgnas.hardware.measured.predictors import PREDICTORS
from fgnas.networks.points.operations import TAILS
from fgnas.options import (
    ABOVE_ZERO,
    AT_LEAST_TWO,
    FLAG,
    NATURAL,
    NOT_NEGATIVE,
    PERCENTAGE,
    POSITIVE,
    TEXT,
    SearchOptions,
    option,
)


@dataclass(frozen=True)
class Options(SearchOptions):
    """Options of `fgnas search --system hgnas`."""

    SHAPES = ("dataset", "tail")

    method: str = option("staged", "the searcher: staged, random, or any other", TEXT, "NAME")
    children: int = option(1480, "valid samples to evaluate; staged: a third judges functions", POSITIVE, "N")
    weight: float = option(
        0.05, "accuracy that fused DGCNN's time is worth, in the search and in the choice of the best; 0: none",
        NOT_NEGATIVE, "F",
    )  # fmt: skip
    leaders: int = option(10, "distinct networks that are trained alone at the end", POSITIVE, "N")
    finalists: int = option(3, "leaders that train with every seed, the best by the first one", POSITIVE, "N")
    retrain_seeds: int = option(3, "fresh seeds of a finalist; other leaders have one", POSITIVE, "N")
    dataset: str = option(
        "digit-points",
        "digit-points, shapes, shapes-N, mnist-points, modelnet10, modelnet40, esol, tox21, hiv, tu:NAME, or a file",
        TEXT, "NAME|PATH",
    )  # fmt: skip
    tail: str | None = option(
        None, "layers behind the operations: small for digit-points, else middle", TEXT, "NAME", tuple(TAILS)
    )
    target: str | None = option(
        None, "array, or a device that `fgnas measure` measured; default: networks cost their multiplications", TEXT,
        "array|FOLDER",
    )  # fmt: skip
    predictor: str | None = option(
        None, "what predicts the device's times; default: the best of the folder", TEXT, "NAME", tuple(PREDICTORS)
    )
    latency_ms: float | None = option(None, "milliseconds of one cloud at most, on the target", ABOVE_ZERO, "F")
    memory_mb: float | None = option(None, "megabytes that one cloud needs at most, beside weights", ABOVE_ZERO, "F")
    products: float | None = option(None, "multiplications of one cloud at most, in millions", ABOVE_ZERO, "F")
    multipliers: int | None = option(None, "of an array, in whole units of 8; default: 64", POSITIVE, "N")
    beat_bits: int | None = option(None, "memory port of an array: 128, 256 or 512 bits; default: 512", POSITIVE, "N")
    bits: int | None = option(None, "of every number on an array, 2 to 9; default: 8", POSITIVE, "N")
    lut: int | None = option(None, "at most this many LUTs of an array", NATURAL, "N")
    ff: int | None = option(None, "at most this many flip-flops of an array", NATURAL, "N")
    dsp: int | None = option(None, "at most this many DSP slices of an array", NATURAL, "N")
    bram36: int | None = option(None, "at most this many block RAMs of 36 Kbit of an array", NATURAL, "N")
    clock_mhz: float | None = option(None, "clock of an array; default: 100", ABOVE_ZERO, "F")
    family: str | None = option(None, "family of devices: xc7 or xcup; default: xc7", TEXT, "NAME", ("xc7", "xcup"))
    guard_band: float | None = option(
        None, "per cent of the limits on LUTs and FFs to leave free for the error of their model", PERCENTAGE, "PERCENT"
    )
    fpga: str | None = option(
        None,
        "a known device, or one of your own: sets family, memory port, LUT, FF, DSP and block RAM; options lower them",
        TEXT, "NAME|FILE.toml",
    )  # fmt: skip
    part: str | None = None
    """The device's part, for the vendor's tool; --fpga sets it."""
    port_bits: int | None = None
    port_mhz: float | None = None
    """Width and clock of the device's memory port; --fpga sets them."""
    scoring: str = option(
        "supernet", "how candidates are scored: with weights of a supernet, or each by a short training", TEXT, "NAME",
        ("supernet", "training"),
    )  # fmt: skip
    score_epochs: int = option(12, "epochs of such a training", POSITIVE, "N")
    supernet: str = option(
        "sliced", "how networks share weights: sliced or aligned (the paper's)", TEXT, "NAME", ("sliced", "aligned")
    )
    epochs: int = option(60, "epochs of the shared supernet's training", POSITIVE, "N")
    own_epochs: int = option(20, "further epochs of a supernet of one set of functions", POSITIVE, "N")
    retrain_epochs: int = option(60, "epochs of a network that trains alone", POSITIVE, "N")
    folds: int | None = option(
        None, "parts of training and validation data, each held out once from trainings that rank the better half of "
        "the leaders; default: the validation split ranks them", AT_LEAST_TWO, "N",
    )  # fmt: skip

    @classmethod
    def resolved(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Options with `fpga` replaced by the device's limits."""
        from fgnas.hardware.devices import find_device, limits_of

        found = dict(super().resolved(given))
        fpga = found.pop("fpga", None)
        return found if fpga is None else found | limits_of(find_device(fpga), found)

    @classmethod
    def unresolved(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Options with a known device's part replaced by `fpga`."""
        from fgnas.hardware.devices import without_part

        return without_part(options)


@dataclass(frozen=True)
class MeasureOptions:
    """Options of `fgnas measure`."""

    dataset: str = option("digit-points", "the graphs that networks are for, as in a search", TEXT, "NAME|PATH")
    tail: str | None = option(
        None, "layers behind the operations: small for digit-points, else middle", TEXT, "NAME", tuple(TAILS)
    )
    threads: int = option(1, "threads of a run", POSITIVE, "N")
    networks: int = option(2500, "random networks to measure", POSITIVE, "N")
    rounds: int = option(3, "how often each is timed, in new orders", POSITIVE, "N")
    memory: bool | None = option(None, "measure memory, too: each network in forked processes", FLAG)
    seed: int = option(0, "seed of the networks, their order, and the predictors", NATURAL, "N")


@dataclass(frozen=True)
class CutOptions:
    """Options of `fgnas map` for a network of operations on a measured device and an array."""

    multipliers: int | None = option(None, "of an array behind a measured device; default: those of the network's "
                                     "search, or 64", POSITIVE, "N")  # fmt: skip
    beat_bits: int | None = option(None, "its memory port; default: that of its search, or 512", POSITIVE, "N")
    bits: int | None = option(None, "of every number on it; default: those of its search, or 8", POSITIVE, "N")
    clock_mhz: float = option(100.0, "its clock", ABOVE_ZERO, "F")
    start_us: float = option(2.0, "time to start it: assumed, a dozen writes to registers", NOT_NEGATIVE, "F")
    interrupt_us: float = option(5.0, "time from its interrupt to the program: assumed", NOT_NEGATIVE, "F")
