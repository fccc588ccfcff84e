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

    Y has the fraction bits of x less `shift`, is rounded once, and is not saturated. A mean is the sum times
    round(2**f / k), with the most fraction bits f that leave that factor a coefficient; of x_j - x_i it is the mean of
    x_j less x_i, and of x_i it is x_i. A distance is the root of the exact sum of squares, rounded to nearest.

    Attributes:
        points: N, rows of a cloud.
        reducer: the reduction of the messages.
        part: the message of each neighbour.
        shift: right shift that takes the result to Y's fraction bits; may be negative.
    """

    points: int
    reducer: Reducer
    part: Part
    shift: int = 0

    def __post_init__(self) -> None:
        if self.shift and self.part == "relative" and self.reducer == "mean":
            raise ValueError("a mean of x_j - x_i is rounded before x_i is subtracted, and not shifted behind it")

    def value(self, given: Sequence[Value]) -> Value:
        """[rows, columns] exact; of distances [rows, 1]."""
        x, neighbours = given
        if neighbours.number != PLACES or x.rows is not Rows.NODES:
            raise ValueError("a neighbourhood reads rows of nodes, and the places of their neighbours")
        columns = 1 if self.part == "distance" else x.columns
        return exact(x.rows, columns, x.number.fraction_bits - self.shift)

    def run(self, given: Sequence[Given], graph: IntegerGraph) -> Codes:
        """[rows, columns] codes."""
        x, places = dense(given[0]), dense(given[1])
        k = places.shape[1]
        if self.part == "target":
            return shift_right_even(x * (k if self.reducer == "sum" else 1), self.shift)
        first = np.arange(len(x)) // self.points * self.points
        sources = x[first[:, None] + places]
        if self.part == "source":
            return self._reduced(sources)
        if self.part == "relative" and self.reducer == "mean":
            return self._reduced(sources) - x
        if self.part == "relative":
            return self._reduced(sources - x[:, None])
        return self._reduced(root(((sources - x[:, None]) ** 2).sum(axis=2, keepdims=True)))

    def _reduced(self, messages: Codes) -> Codes:
        """[rows, columns] of messages [rows, k, columns]."""
        if self.reducer == "mean":
            return mean_of(messages.sum(axis=1), messages.shape[1], self.shift)
        match self.reducer:
            case "max":
                found = messages.max(axis=1)
            case "min":
                found = messages.min(axis=1)
            case "sum":
                found = messages.sum(axis=1)
        return shift_right_even(found, self.shift)


def mean_of(total: Codes, k: int, shift: int = 0) -> Codes:
    """The mean of k numbers by their sum, shifted to the right, as a multiplier and a shift give it."""
    fraction = readout_fraction(np.array([k]))
    return shift_right_even(total * round(2**fraction / k), fraction + shift)


def root(squares: Codes) -> Codes:
    """The roots of whole numbers below 2**52, rounded to nearest; no root lies halfway between two."""
    floor = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    floor -= floor * floor > squares
    floor += (floor + 1) * (floor + 1) <= squares
    return floor + (squares > floor * (floor + 1))
