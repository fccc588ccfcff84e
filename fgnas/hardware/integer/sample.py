"""Sample: the neighbours of every point of a cloud, found from features or drawn by a hash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.operation import Given, Operation, dense, one_of
from fgnas.hardware.integer.value import Rows, Value
from fgnas.tasks.neighbours import hashed_neighbours

INDEX_BITS = 14
"""Bits of a place in a cloud, below the distance in a key."""
PLACES = FixedPoint(INDEX_BITS + 1, 0)
"""Format of a neighbour's place in its own cloud."""


@dataclass(frozen=True)
class Sample(Operation):
    """For every row of a cloud k rows of the same cloud, by their places in it.

    Attributes:
        function: "nearest": the rows with the smallest keys {squared distance, place}, the nearest first, itself among
            them; "random": itself and rows that follow from a hash (`fgnas.tasks.neighbours.hashed_neighbours`).
        points: N, rows of a cloud.
        neighbours: k, at most N.
        seed, ordinal: of the hash.
    """

    function: Literal["nearest", "random"]
    points: int
    neighbours: int
    seed: int = 0
    ordinal: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.neighbours <= self.points or self.points > 1 << INDEX_BITS:
            raise ValueError(f"a cloud of {self.points} points has no {self.neighbours} neighbours, or no places")

    def value(self, given: Sequence[Value]) -> Value:
        """[rows, k] places."""
        x = one_of(given, "a sample")
        return Value(Rows.NODES, self.neighbours, PLACES) if x.rows is Rows.NODES else _refused(x)

    def run(self, given: Sequence[Given], graph: IntegerGraph) -> Codes:
        """[rows, k] places."""
        x = dense(given[0])
        clouds = x.reshape(-1, self.points, x.shape[1])
        if self.function == "random":
            drawn = hashed_neighbours(self.points, self.neighbours, self.seed, self.ordinal)
            return np.tile(drawn, (len(clouds), 1))
        return np.concatenate([nearest(cloud, self.neighbours) for cloud in clouds])


def nearest(cloud: Codes, k: int) -> Codes:
    """[N, k] the places with the smallest keys of every point of [N, columns] codes."""
    squares = (cloud * cloud).sum(axis=1)
    # float64 products and sums of these widths stay far below 2**53, so BLAS is exact here.
    products = (cloud.astype(np.float64) @ cloud.T.astype(np.float64)).astype(np.int64)
    distances = squares[:, None] + squares - 2 * products
    keys = (distances << INDEX_BITS) + np.arange(len(cloud))
    found = np.sort(np.partition(keys, k - 1, axis=1)[:, :k], axis=1)
    return found & ((1 << INDEX_BITS) - 1)


def _refused(x: Value) -> Value:
    raise ValueError(f"a sample reads rows of nodes, not of {x.rows.value}")
