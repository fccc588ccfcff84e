"""Scores of edges that are sums of a score of each node, behind a LeakyReLU: gat and gat-sym."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fgnas.fixedpoint import Codes, FixedPoint, shift_right_even
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.operation import Given, Operation
from fgnas.hardware.integer.scores.heads import dots, of_edges
from fgnas.hardware.integer.value import Value


@dataclass(frozen=True, eq=False)
class NodeScores(Operation):
    """5 LeakyReLU(s_i + r_j), exact, where s and r are RQ of the products of H with a vector each.

    Attributes:
        source, target: [heads, d] codes of the vectors of the sending and of the receiving node.
        number: format of the vectors.
        output: format of s and r.
        symmetric: whether the score of the edge the other way round is added.
    """

    source: Codes
    target: Codes
    number: FixedPoint
    output: FixedPoint
    symmetric: bool = False

    def value(self, given: Sequence[Value]) -> Value:
        """[edges, heads] five times the scores."""
        return of_edges(given, self.source, self.output)

    def run(self, given: Sequence[Given], graph: IntegerGraph) -> Codes:
        """[edges, heads] codes."""
        s, r = self.of_nodes(given[0])
        found = fivefold(s[graph.targets] + r[graph.sources])
        return found + fivefold(s[graph.sources] + r[graph.targets]) if self.symmetric else found

    def of_nodes(self, h: Given) -> tuple[Codes, Codes]:
        """[rows, heads] s and r."""
        s, r = (
            self.output.saturate(shift_right_even(dots(h, vector), self.number.fraction_bits))
            for vector in (self.target, self.source)
        )
        return s, r


def fivefold(z: Codes) -> Codes:
    """5 LeakyReLU(z), whose slope 0.2 has no exact code."""
    return np.where(z >= 0, 5 * z, z)
