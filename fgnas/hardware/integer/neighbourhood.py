"""Neighbourhood: what the sampled neighbours of every point send it, reduced to one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fgnas.fixedpoint import Codes, shift_right_even
from fgnas.hardware.integer.gather import readout_fraction
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.operation import Given, Operation, dense
from fgnas.hardware.integer.sample import PLACES
from fgnas.hardware.integer.value import Rows, Value, exact

Reducer = Literal["sum", "mean", "max", "min"]
Part = Literal["source", "target", "relative", "distance"]


@dataclass(frozen=True)
class Neighbourhood(Operation):
    """Y_i = x_j, x_i, x_j - x_i or |x_j - x_i| over the k neighbours j of i: their sum, mean, maximum or minimum.

    Y has the fraction bits of x and is not saturated. A mean is the sum times round(2**f / k), rounded once, with the
    most fraction bits f that leave that factor a coefficient; of x_j - x_i it is the mean of x_j less x_i. A distance
    is the root of the exact sum of squares, rounded to nearest: of a maximum or minimum once, else of every neighbour.

    Attributes:
        points: N, rows of a cloud.
        reducer: how messages become one.
        part: what each neighbour sends.
    """

    points: int
    reducer: Reducer
    part: Part

    def value(self, given: Sequence[Value]) -> Value:
        """[rows, columns] exact; of distances [rows, 1]."""
        x, neighbours = given
        if neighbours.number != PLACES or x.rows is not Rows.NODES:
            raise ValueError("a neighbourhood reads rows of nodes, and the places of their neighbours")
        return exact(x.rows, 1 if self.part == "distance" else x.columns, x.number.fraction_bits)

    def run(self, given: Sequence[Given], graph: IntegerGraph) -> Codes:
        """[rows, columns] codes."""
        x, places = dense(given[0]), dense(given[1])
        k = places.shape[1]
        if self.part == "target":
            return self._reduced(np.broadcast_to(x[:, None], (len(x), k, x.shape[1])))
        first = np.arange(len(x)) // self.points * self.points
        sources = x[first[:, None] + places]
        if self.part == "source":
            return self._reduced(sources)
        if self.part == "relative":
            return self._reduced(sources) - (k if self.reducer == "sum" else 1) * x
        squares = ((sources - x[:, None]) ** 2).sum(axis=2, keepdims=True)
        if self.reducer in ("max", "min"):
            return root(self._reduced(squares))
        return self._reduced(root(squares))

    def _reduced(self, messages: Codes) -> Codes:
        """[rows, columns] of messages [rows, k, columns]."""
        match self.reducer:
            case "max":
                return messages.max(axis=1)
            case "min":
                return messages.min(axis=1)
        total = messages.sum(axis=1)
        return total if self.reducer == "sum" else mean_of(total, messages.shape[1])


def mean_of(total: Codes, k: int) -> Codes:
    """The mean of k numbers by their sum, as a multiplier and a shift give it."""
    fraction = readout_fraction(np.array([k]))
    return shift_right_even(total * round(2**fraction / k), fraction)


def root(squares: Codes) -> Codes:
    """The roots of whole numbers below 2**52, rounded to nearest; no root lies halfway between two."""
    floor = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    floor -= floor * floor > squares
    floor += (floor + 1) * (floor + 1) <= squares
    return floor + (squares > floor * (floor + 1))
