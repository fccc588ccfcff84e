"""The options of a search for networks of operations, and of measuring a device for it."""

from __future__ import annotations

from dataclasses import dataclass

from fgnas.hardware.measured.predictors import PREDICTORS
from fgnas.networks.points.operations import TAILS
from fgnas.options import ABOVE_ZERO, FLAG, NATURAL, POSITIVE, TEXT, SearchOptions, option


@dataclass(frozen=True)
class Options(SearchOptions):
    """Options of `fgnas search --system hgnas`."""

    method: str = option("staged", "the searcher: staged, random, or any other", TEXT, "NAME")
    children: int = option(1480, "valid samples to evaluate; staged: a third judges functions", POSITIVE, "N")
    leaders: int = option(10, "distinct networks that are trained alone at the end", POSITIVE, "N")
    retrain_seeds: int = option(3, "fresh seeds for each of them", POSITIVE, "N")
    dataset: str = option(
        "digit-points", "digit-points, shapes, shapes-N, mnist-points, modelnet10, modelnet40, or an .npz file", TEXT,
        "NAME|PATH",
    )  # fmt: skip
    tail: str | None = option(
        None, "layers behind the operations: small for digit-points, else middle", TEXT, "NAME", tuple(TAILS)
    )
    target: str | None = option(
        None, "a device that `fgnas measure` measured; default: networks cost their multiplications", TEXT, "FOLDER"
    )
    predictor: str | None = option(
        None, "what predicts the device's times; default: the best of the folder", TEXT, "NAME", tuple(PREDICTORS)
    )
    latency_ms: float | None = option(None, "milliseconds of one cloud at most, on the device", ABOVE_ZERO, "F")
    memory_mb: float | None = option(None, "megabytes that one cloud needs at most, beside weights", ABOVE_ZERO, "F")
    products: float | None = option(None, "multiplications of one cloud at most, in millions", ABOVE_ZERO, "F")
    supernet: str = option(
        "sliced", "how networks share weights: sliced or aligned (the paper's)", TEXT, "NAME", ("sliced", "aligned")
    )
    epochs: int = option(60, "epochs of the shared supernet's training", POSITIVE, "N")
    own_epochs: int = option(20, "further epochs of a supernet of one set of functions", POSITIVE, "N")
    retrain_epochs: int = option(60, "epochs of a network that trains alone", POSITIVE, "N")


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
