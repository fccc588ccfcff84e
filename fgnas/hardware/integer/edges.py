"""Operations that score the edges of a graph for networks without a named attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fgnas.fixedpoint import Codes, shift_right_even
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.operation import Given, Operation, dense, one_of
from fgnas.hardware.integer.value import Rows, Value, exact


@dataclass(frozen=True)
class EdgeProducts(Operation):
    """Y_e = RNE(q_i . k_j) of every edge from j to i and every head, not saturated.

    The graph has a row for each edge, which names i, then j.

    Attributes:
        heads: of q and k, whose columns are those of the heads side by side.
        shift: right shift that takes a product to Y's fraction bits; may be negative.
    """

    heads: int
    shift: int

    def value(self, given: Sequence[Value]) -> Value:
        """[edges, heads] exact."""
        q, k = given
        if q.columns != k.columns or q.columns % self.heads:
            raise ValueError(f"rows of {q.columns} and {k.columns} numbers have no products of {self.heads} heads")
        return exact(q.rows, self.heads, q.number.fraction_bits + k.number.fraction_bits - self.shift)

    def run(self, given: Sequence[Given], graph: IntegerGraph) -> Codes:
        """[edges, heads] codes."""
        q, k = (dense(one).reshape(-1, self.heads, np.shape(one)[1] // self.heads) for one in given)
        return shift_right_even((q[graph.sources[::2]] * k[graph.sources[1::2]]).sum(axis=2), self.shift)


@dataclass(frozen=True)
class Fivefold(Operation):
    """Five times the scores of edges, as `Attend` reads them."""

    def value(self, given: Sequence[Value]) -> Value:
        """[edges, heads] in the fraction bits of the scores."""
        z = one_of(given, "a score")
        return exact(Rows.EDGES, z.columns, z.number.fraction_bits)

    def run(self, given: Sequence[Given], graph: IntegerGraph) -> Codes:
        """[edges, heads] codes."""
        return 5 * dense(given[0])
