"""Scores of edges that are sums of a function of both nodes' features: gene-linear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fgnas.fixedpoint import Codes, FixedPoint, shift_right_even
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.operation import Given, Operation, check_shift
from fgnas.hardware.integer.scores.heads import of_edges, of_heads
from fgnas.hardware.integer.value import Value


@dataclass(frozen=True, eq=False)
class PairScores(Operation):
    """5 RQ(g . f(p)), where p is RQ of the exact sum of both nodes' features times a vector each, and f a table.

    Attributes:
        source, target: [heads, d] codes of the vectors of the sending and of the receiving node.
        factor: [heads, d] codes of the factors g.
        number: format of vectors and factors.
        pair_shift, pair: right shift that takes a sum to p's fraction bits, and p's format.
        table: [2**width of p] codes of f by the unsigned bits of p.
        function: format of f.
        shift: right shift that takes a product with the factors to the scores' fraction bits; may be negative.
        output: format of the scores.
    """

    source: Codes
    target: Codes
    factor: Codes
    number: FixedPoint
    pair_shift: int
    pair: FixedPoint
    table: Codes
    function: FixedPoint
    shift: int
    output: FixedPoint

    def value(self, given: Sequence[Value]) -> Value:
        """[edges, heads] five times the scores."""
        weight = self.number.fraction_bits
        check_shift("a pair", given[0].number.fraction_bits + weight, self.pair_shift, self.pair)
        check_shift("a score", self.function.fraction_bits + weight, self.shift, self.output)
        return of_edges(given, self.source, self.output)

    def run(self, given: Sequence[Given], graph: IntegerGraph) -> Codes:
        """[edges, heads] codes."""
        exact = (self.functions(given[0], graph) * self.factor).sum(axis=2)
        return 5 * self.output.saturate(shift_right_even(exact, self.shift))

    def functions(self, h: Given, graph: IntegerGraph) -> Codes:
        """[edges, heads, d] f of every pair of neighbours."""
        heads = of_heads(h, self.source)
        exact = heads[graph.sources] * self.source + heads[graph.targets] * self.target
        return self.table[self.pair.saturate(shift_right_even(exact, self.pair_shift)) & (len(self.table) - 1)]
