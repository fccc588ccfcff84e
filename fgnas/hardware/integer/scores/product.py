"""Scores of edges that are products of two nodes' features: cos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fgnas.fixedpoint import Codes, FixedPoint, shift_right_even
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.operation import Given, Operation, check_shift
from fgnas.hardware.integer.scores.heads import of_edges, of_heads
from fgnas.hardware.integer.value import Value


@dataclass(frozen=True, eq=False)
class ProductScores(Operation):
    """5 RQ(q_i . h_j), where the queries q are RQ of H times a vector, lane by lane.

    Attributes:
        source: [heads, d] codes of the vector.
        number: format of the vector.
        query: format of the queries, that of H.
        shift: right shift that takes a product of a query with H to the scores' fraction bits; may be negative.
        output: format of the scores.
    """

    source: Codes
    number: FixedPoint
    query: FixedPoint
    shift: int
    output: FixedPoint

    def value(self, given: Sequence[Value]) -> Value:
        """[edges, heads] five times the scores."""
        h = given[0].number
        check_shift("a score", h.fraction_bits + self.query.fraction_bits, self.shift, self.output)
        return of_edges(given, self.source, self.output)

    def run(self, given: Sequence[Given], graph: IntegerGraph) -> Codes:
        """[edges, heads] codes."""
        heads = of_heads(given[0], self.source)
        exact = np.einsum("ekf,ekf->ek", self.queries(heads)[graph.targets], heads[graph.sources])
        return 5 * self.output.saturate(shift_right_even(exact, self.shift))

    def queries(self, heads: Codes) -> Codes:
        """[rows, heads, d] what the features of the sending nodes meet."""
        return self.query.saturate(shift_right_even(heads * self.source, self.number.fraction_bits))
