"""Apply: bias, saturation and function behind a sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fgnas.activations import NAMES
from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.operation import Given, Operation, check_shift, one_of
from fgnas.hardware.integer.value import Value


@dataclass(frozen=True, eq=False)
class Apply(Operation):
    """Z = f(U), U = saturate(Y + b).

    Attributes:
        bias: [columns] codes.
        bias_shift: left shift that takes the bias to U's fraction bits.
        argument: format of U.
        function: name of f, one of `fgnas.activations.NAMES`.
        table: [2**width of U] codes of Z by the unsigned bits of U; None for "linear", whose Z is U.
        output: format of Z.
    """

    bias: Codes
    bias_shift: int
    argument: FixedPoint
    function: str
    table: Codes | None
    output: FixedPoint

    def __post_init__(self) -> None:
        if self.function not in NAMES:
            raise ValueError(f"unknown function {self.function!r}; known: {', '.join(NAMES)}")
        if self.table is None and (self.function != "linear" or self.output != self.argument):
            raise ValueError(f"{self.function} from {self.argument} to {self.output} needs a table")
        if self.table is not None and len(self.table) != 1 << self.argument.width:
            raise ValueError(f"a table of {len(self.table)} codes has no place for every code of {self.argument}")

    def value(self, given: Sequence[Value]) -> Value:
        """[rows, columns] in Z's format."""
        y = one_of(given, "a bias", len(self.bias))
        check_shift("a bias", y.number.fraction_bits, 0, self.argument)
        return Value(y.rows, y.columns, self.output)

    def run(self, given: Sequence[Given], graph: IntegerGraph) -> Codes:
        """[rows, columns] codes."""
        (y,) = given
        u = self.argument.saturate(y + (self.bias << self.bias_shift))
        return u if self.table is None else self.table[u & (len(self.table) - 1)].astype(np.int64)
