"""Rescale: rows at other fraction bits, rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fgnas.fixedpoint import Codes, shift_right_even
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.operation import Given, Operation, one_of
from fgnas.hardware.integer.value import Value, exact


@dataclass(frozen=True)
class Rescale(Operation):
    """Y = RNE(H / 2**shift), not saturated.

    Attributes:
        shift: right shift; may be negative.
    """

    shift: int

    def value(self, given: Sequence[Value]) -> Value:
        """[rows, columns] exact."""
        h = one_of(given, "a change of format")
        return exact(h.rows, h.columns, h.number.fraction_bits - self.shift)

    def run(self, given: Sequence[Given], graph: IntegerGraph) -> Codes:
        """[rows, columns] codes."""
        return shift_right_even(given[0], self.shift)
