"""The options of a search for FGNAS designs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fgnas.hardware import wire
from fgnas.options import (
    ABOVE_ZERO,
    CHECKPOINTS,
    FLAG,
    NATURAL,
    PERCENTAGE,
    POSITIVE,
    TEXT,
    SearchOptions,
    option,
)

SPECIFICATION = ("latency_ms", "lut", "ff", "dsp", "bram36", "clock_mhz", "family", "guard_band")
"""The options that bound the hardware."""


@dataclass(frozen=True)
class Options(SearchOptions):
    """Options of `fgnas search`; the defaults take a few minutes on two cores."""

    DRAWN = {"target": "pipeline"}  # noqa: RUF012 - others solve the hardware of what they price

    dataset: str = option(
        "digits", "digits, cora, citeseer, pubmed, esol, tox21, hiv, tu:NAME, or a .pt or .npz file", TEXT, "NAME|PATH"
    )
    split: str | None = option(
        None, "masks for a file without: per cent to train, validate and test, such as 60/20/20", TEXT, "T/V/T"
    )
    normalise: bool | None = option(None, "scale the rows of a file's features to sum to 1", FLAG)
    graphs: int | None = option(None, "graphs in a start, of data of many graphs; default: 64", POSITIVE, "N")
    space: str = option("fgnas", "the search space", TEXT, "NAME")
    objectives: str = option("val", "scores and costs to search for, such as val,latency_cycles", TEXT, "NAMES")
    target: str = option(
        "solved-cycles",
        "the hardware, solved for each architecture: solved-cycles, solved-lut, solved-dsp: a pipeline; array, "
        "array-lut, array-dsp: a multiplier array; any: the better of both; or pipeline: sampled; or an installed one",
        TEXT, "NAME",
    )  # fmt: skip
    latency_ms: float | None = option(2.0, "latency of the whole graph", ABOVE_ZERO, "F")
    lut: int | None = option(100_000, "at most this many LUTs", NATURAL, "N")
    ff: int | None = option(100_000, "at most this many flip-flops", NATURAL, "N")
    dsp: int | None = option(100, "at most this many DSP slices", NATURAL, "N")
    bram36: int | None = option(None, "at most this many block RAMs of 36 Kbit", NATURAL, "N")
    beat_bits: int = option(wire.BEAT_BITS, "memory port of arrays: 128, 256 or 512 bits", POSITIVE, "N")
    paired: bool | None = option(
        None, "two products in a DSP slice of arrays beyond the budget, where numbers have 8 bits at most", FLAG
    )
    clock_mhz: float = option(100.0, "clock of the kernel", ABOVE_ZERO, "F")
    family: str = option("xc7", "family of devices: xc7 or xcup", TEXT, "NAME", ("xc7", "xcup"))
    guard_band: float = option(
        0.0, "per cent of the limits on LUTs and FFs to leave free for the error of their model", PERCENTAGE, "PERCENT"
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
    epochs: int = option(200, "epochs of each training", POSITIVE, "N")
    retrain_epochs: int | None = option(None, "epochs of each retraining; default: twice --epochs", POSITIVE, "N")
    checkpoint: str = option(
        CHECKPOINTS[0], "the epoch that is kept: the best in validation accuracy or loss", TEXT, "NAME", CHECKPOINTS
    )
    device: str = option("cpu", "where networks are trained: cpu or cuda", TEXT, "NAME", ("cpu", "cuda"))

    @classmethod
    def resolved(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Options with `fpga` replaced by the device's limits, and one reference to the data."""
        from fgnas.hardware.devices import find_device, limits_of
        from fgnas.tasks.pooled import referenced

        found = dict(super().resolved(given))
        if (fpga := found.pop("fpga", None)) is not None:
            found |= limits_of(find_device(fpga), found)
        return referenced(found, cls.dataset)

    @classmethod
    def unresolved(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Options with a known device's part replaced by `fpga`."""
        from fgnas.hardware.devices import without_part

        return without_part(options)
