"""A value of an integer network: rows of codes in one number format."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fgnas.fixedpoint import FixedPoint

EXACT_BITS = 63
"""Width of the format of sums that were rounded and not saturated: no sum of a network reaches it."""


class Rows(Enum):
    """Whether the rows of a value belong to nodes or to edges."""

    NODES = "nodes"
    EDGES = "edges"


@dataclass(frozen=True)
class Value:
    """The shape and the format of a value.

    Attributes:
        rows: what each row belongs to: a node, or a graph behind a readout, which is a node of the graph behind it; or
            an edge.
        columns: numbers of a row.
        number: their format.
    """

    rows: Rows
    columns: int
    number: FixedPoint

    @property
    def saturated(self) -> bool:
        """Whether the numbers have a format of their own; else they are sums that were only rounded."""
        return self.number.width < EXACT_BITS


def exact(rows: Rows, columns: int, fraction_bits: int) -> Value:
    """A value of sums that were rounded and not saturated."""
    return Value(rows, columns, FixedPoint(EXACT_BITS, fraction_bits))
