"""Spread: rows of several values, one below the other, times a sparse matrix of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fgnas.fixedpoint import Codes, shift_right_even
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.operation import Given, Operation, dense
from fgnas.hardware.integer.value import Value, exact


@dataclass(frozen=True)
class Spread(Operation):
    """Y_i = the sum, or the largest, of c_ij H_j, rounded once, not saturated, where H has the rows of all values.

    The graph says which j row i reads, and its coefficients are the codes c. It need not have as many rows as H: so the
    rows of edges are made from those of nodes, and those of graphs, too.

    Attributes:
        reduce: "add" or "max"; in a maximum every row has an entry.
        coefficients: fraction bits of c, by value.
        shift: right shift that takes the result to Y's fraction bits; may be negative.
    """

    reduce: Literal["add", "max"]
    coefficients: tuple[int, ...]
    shift: int

    def value(self, given: Sequence[Value]) -> Value:
        """[rows, columns] exact."""
        if len(given) != len(self.coefficients) or len({one.columns for one in given}) > 1:
            raise ValueError(f"{len(given)} values do not stand one below the other")
        bits = {one.number.fraction_bits + own for one, own in zip(given, self.coefficients, strict=True)}
        if len(bits) > 1:
            raise ValueError("products that meet in a row have as many fraction bits")
        return exact(given[0].rows, given[0].columns, bits.pop() - self.shift)

    def run(self, given: Sequence[Given], graph: IntegerGraph) -> Codes:
        """[rows, columns] codes."""
        h = np.concatenate([dense(one) for one in given])
        if self.reduce == "add":
            return shift_right_even(graph.sums(graph.gcn, h), self.shift)
        return shift_right_even(graph.maxima(graph.gcn[:, None] * h[graph.sources]), self.shift)
