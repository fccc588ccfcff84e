"""Gather: the messages of every row's neighbours, reduced to one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fgnas.fixedpoint import Codes, divide_even, shift_right_even
from fgnas.hardware import wire
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.operation import Given, Operation, one_of
from fgnas.hardware.integer.value import Value, exact

Reduction = Literal["add", "max"]
Mean = Literal["none", "divided", "rounded"]
"""How a mean is made: not at all; by a division behind the sum; or in the coefficients, which are rounded."""
LARGEST_VALUE = (1 << 9) - 1
"""The largest coefficient of a readout: what the value of every entry can have."""


@dataclass(frozen=True)
class Gather(Operation):
    """Y = the sum or the largest of c h over the neighbours, rounded once, not saturated.

    Attributes:
        reduce: "add" or "max".
        gcn: whether messages have the graph's gcn coefficients, with `wire.COEFFICIENT_FRACTION_BITS`; else c is 1.
        mean: whether Y is divided by the number of messages, and where that is rounded.
        heads: heads that share a sum: the columns are those of so many heads, side by side, and Y is their mean.
        shift: right shift that takes the sum to Y's fraction bits; may be negative.
    """

    reduce: Reduction = "add"
    gcn: bool = False
    mean: Mean = "none"
    heads: int = 1
    shift: int = 0

    def __post_init__(self) -> None:
        if self.reduce == "max" and (self.heads > 1 or self.mean != "none"):
            raise ValueError("a maximum has no mean and shares no sum")
        if self.mean == "divided" and self.heads > 1:
            raise ValueError("heads whose means are divided share no sum")

    @property
    def fraction_bits(self) -> int:
        """Fraction bits of the coefficients."""
        return wire.COEFFICIENT_FRACTION_BITS if self.gcn or self.mean == "rounded" else 0

    def value(self, given: Sequence[Value]) -> Value:
        """[rows, columns / heads] exact."""
        h = one_of(given, "an aggregation")
        if h.columns % self.heads:
            raise ValueError(f"{h.columns} columns are not those of {self.heads} heads")
        halvings = self.heads.bit_length() - 1  # the sum of the heads, where the mean is wanted
        return exact(h.rows, h.columns // self.heads,
                     h.number.fraction_bits + self.fraction_bits + halvings - self.shift)  # fmt: skip

    def run(self, given: Sequence[Given], graph: IntegerGraph) -> Codes:
        """[rows, columns / heads] codes."""
        (h,) = given
        assert isinstance(h, np.ndarray)
        readout = len(h) != graph.nodes
        fraction = readout_fraction(graph.degrees) if readout else wire.COEFFICIENT_FRACTION_BITS
        c = self.coefficients(graph, fraction)
        total = graph.maxima(c[:, None] * h[graph.sources]) if self.reduce == "max" else graph.sums(c, h)
        total = total.reshape(len(total), self.heads, -1).sum(axis=1)
        finer = fraction - wire.COEFFICIENT_FRACTION_BITS if self.mean == "rounded" else 0
        shift = self.shift + finer
        if self.mean != "divided":
            return shift_right_even(total, shift)
        return divide_even(total << max(0, -shift), graph.degrees[:, None] << max(0, shift))

    def coefficients(self, graph: IntegerGraph, fraction: int = wire.COEFFICIENT_FRACTION_BITS) -> Codes:
        """[edges] codes of c. A mean in the coefficients is rounded to so many fraction bits."""
        if self.mean != "rounded":
            return graph.gcn if self.gcn else np.ones(len(graph.sources), np.int64)
        degrees = graph.degrees.astype(np.float64)
        weight = 1.0 / np.sqrt(degrees[graph.targets] * degrees[graph.sources]) if self.gcn else 1.0
        return np.rint(2.0**fraction * weight / degrees[graph.targets]).astype(np.int64)


def readout_fraction(degrees: Codes) -> int:
    """The most fraction bits with which the coefficient of the mean over a readout's smallest graph is a value of any
    entry; `degrees` are the nodes of each graph."""
    return (int(degrees.min()) * LARGEST_VALUE).bit_length() - 1
