"""Scores of edges that are a function of the sending node's: linear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fgnas.fixedpoint import Codes, FixedPoint, shift_right_even
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.operation import Given, Operation
from fgnas.hardware.integer.scores.heads import dots, of_edges
from fgnas.hardware.integer.value import Value


@dataclass(frozen=True, eq=False)
class FunctionScores(Operation):
    """5 f(r_j), where r is RQ of the product of H with a vector, and f a table.

    Attributes:
        source: [heads, d] codes of the vector.
        number: format of the vector.
        argument: format of r.
        table: [2**width of r] codes of f by the unsigned bits of r.
        output: format of f.
    """

    source: Codes
    number: FixedPoint
    argument: FixedPoint
    table: Codes
    output: FixedPoint

    def value(self, given: Sequence[Value]) -> Value:
        """[edges, heads] five times the scores."""
        return of_edges(given, self.source, self.output)

    def run(self, given: Sequence[Given], graph: IntegerGraph) -> Codes:
        """[edges, heads] codes."""
        r = self.argument.saturate(shift_right_even(dots(given[0], self.source), self.number.fraction_bits))
        return 5 * self.table[r & (len(self.table) - 1)][graph.sources]
