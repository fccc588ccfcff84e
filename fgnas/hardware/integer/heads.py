"""MeanOfHeads: the heads of every row, added and halved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fgnas.fixedpoint import Codes, shift_right_even
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.operation import Given, Operation, one_of
from fgnas.hardware.integer.value import Value


@dataclass(frozen=True)
class MeanOfHeads(Operation):
    """Y = RNE(sum over heads / heads), of rows with the columns of a head side by side.

    Attributes:
        heads: a power of two, so that the mean is a shift.
    """

    heads: int

    def __post_init__(self) -> None:
        if self.heads < 1 or self.heads & (self.heads - 1):
            raise ValueError(f"the mean of {self.heads} heads is no shift: their number must be a power of two")

    def value(self, given: Sequence[Value]) -> Value:
        """[rows, columns / heads] in the format that it reads."""
        y = one_of(given, "a mean of heads")
        if y.columns % self.heads:
            raise ValueError(f"{y.columns} columns are not those of {self.heads} heads")
        return Value(y.rows, y.columns // self.heads, y.number)

    def run(self, given: Sequence[Given], graph: IntegerGraph) -> Codes:
        """[rows, columns / heads] codes."""
        (y,) = given
        assert isinstance(y, np.ndarray)
        total = y.reshape(len(y), self.heads, -1).sum(axis=1)
        return shift_right_even(total, self.heads.bit_length() - 1)
