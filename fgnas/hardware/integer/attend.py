"""Attend: messages weighted by a softmax over their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fgnas.fixedpoint import Codes, divide_even
from fgnas.hardware.integer.gather import Reduction
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.operation import Given, Operation
from fgnas.hardware.integer.value import Rows, Value, exact


@dataclass(frozen=True, eq=False)
class Attend(Operation):
    """Y = the sum or the largest of c h over the sum of c, for each head, divided and rounded once, not saturated.

    It reads H, [rows, heads * d], and five times the scores of the edges, [edges, heads].

    Attributes:
        table: coefficients c by the difference D of five times a score from the row's largest; beyond its end they are
            0. See `fgnas.hardware.integer.tables.exponential_table`.
        reduce: "add" or "max".
        mean: whether Y is divided by the number of messages, too.
        shift: right shift that takes a sum of messages to Y's fraction bits, never above 0: the quotient rounds.
    """

    table: Codes
    reduce: Reduction = "add"
    mean: bool = False
    shift: int = 0

    def __post_init__(self) -> None:
        if self.shift > 0:
            raise ValueError(f"a quotient has no fewer fraction bits than its messages, but {self.shift} are dropped")

    def value(self, given: Sequence[Value]) -> Value:
        """[rows, columns of H] exact."""
        h, scores = given
        if scores.rows is not Rows.EDGES or h.columns % scores.columns:
            raise ValueError(f"{h.columns} columns are not those of {scores.columns} heads with scores of edges")
        return exact(h.rows, h.columns, h.number.fraction_bits - self.shift)

    def run(self, given: Sequence[Given], graph: IntegerGraph) -> Codes:
        """[rows, columns of H] codes."""
        h, exponent = given
        assert isinstance(h, np.ndarray) and isinstance(exponent, np.ndarray)
        if not graph.nodes:
            return h
        c = self.coefficients(exponent, graph)
        denominator = np.add.reduceat(c, graph.indptr[:-1], axis=0)
        if self.mean:
            denominator = denominator * graph.degrees[:, None]
        heads = np.split(h, c.shape[1], axis=1)
        quotients = [
            divide_even(self._total(c[:, head], one, graph) << -self.shift, denominator[:, head, None])
            for head, one in enumerate(heads)
        ]
        return np.concatenate(quotients, axis=1)

    def _total(self, c: Codes, h: Codes, graph: IntegerGraph) -> Codes:
        """[rows, d] the messages of a head, reduced."""
        return graph.maxima(c[:, None] * h[graph.sources]) if self.reduce == "max" else graph.sums(c, h)

    def coefficients(self, exponent: Codes, graph: IntegerGraph) -> Codes:
        """[edges, heads] 256 exp(score - its maximum over the row), from the table; not normalised."""
        difference = graph.maxima(exponent)[graph.targets] - exponent
        end = len(self.table)
        return np.where(difference < end, self.table[np.minimum(difference, end - 1)], 0)
