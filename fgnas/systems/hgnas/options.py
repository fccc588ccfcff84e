"""The options of a search for networks of operations."""

from __future__ import annotations

from dataclasses import dataclass

from fgnas.networks.points.operations import TAILS
from fgnas.options import ABOVE_ZERO, POSITIVE, TEXT, SearchOptions, option


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
    products: float | None = option(None, "multiplications of one cloud at most, in millions", ABOVE_ZERO, "F")
    epochs: int = option(60, "epochs of the shared supernet's training", POSITIVE, "N")
    own_epochs: int = option(20, "further epochs of a supernet of one set of functions", POSITIVE, "N")
    retrain_epochs: int = option(60, "epochs of a network that trains alone", POSITIVE, "N")
