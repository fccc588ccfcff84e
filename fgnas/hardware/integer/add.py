"""Add: the rows of two values added or subtracted, as a skip around a layer does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fgnas.fixedpoint import Codes, FixedPoint, shift_right_even
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.operation import Given, Operation, check_shift, dense
from fgnas.hardware.integer.value import Value


@dataclass(frozen=True)
class Add(Operation):
    """Z = saturate(A ± RNE(B / 2**shift)): A has Z's fraction bits, B is shifted to them.

    Attributes:
        shift: right shift of B; may be negative.
        output: format of Z.
        minus: whether B is subtracted.
    """

    shift: int
    output: FixedPoint
    minus: bool = False

    def value(self, given: Sequence[Value]) -> Value:
        """[rows, columns] in Z's format."""
        a, b = given
        if (a.rows, a.columns) != (b.rows, b.columns):
            raise ValueError(f"rows of {a.columns} numbers are not added to rows of {b.columns}, or of something else")
        check_shift("an addition", a.number.fraction_bits, 0, self.output)
        check_shift("an addition", b.number.fraction_bits, self.shift, self.output)
        return Value(a.rows, a.columns, self.output)

    def run(self, given: Sequence[Given], graph: IntegerGraph) -> Codes:
        """[rows, columns] codes."""
        a, b = map(dense, given)
        aligned = shift_right_even(b, self.shift)
        return self.output.saturate(a - aligned if self.minus else a + aligned)
