"""Positions: a row of numbers for every place of a cloud, the same in all clouds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.operation import Given, Operation, one_of
from fgnas.hardware.integer.value import Rows, Value


@dataclass(frozen=True, eq=False)
class Positions(Operation):
    """Row i of every cloud is row i of the codes, whatever the cloud's content: the code of a position.

    Attributes:
        codes: [N, columns], N rows of a cloud.
        output: their format.
    """

    codes: Codes
    output: FixedPoint

    def __post_init__(self) -> None:
        if not np.array_equal(self.codes, self.output.saturate(self.codes)):
            raise ValueError(f"a position is no number of the format {self.output}")

    def value(self, given: Sequence[Value]) -> Value:
        """[rows, columns] in their format; the value that is read says how many clouds there are."""
        x = one_of(given, "a position")
        if x.rows is not Rows.NODES:
            raise ValueError(f"places are those of nodes, not of {x.rows.value}")
        return Value(Rows.NODES, self.codes.shape[1], self.output)

    def run(self, given: Sequence[Given], graph: IntegerGraph) -> Codes:
        """[rows, columns] codes."""
        clouds, rest = divmod(given[0].shape[0], len(self.codes))
        if rest:
            raise ValueError(f"{given[0].shape[0]} rows are not whole clouds of {len(self.codes)}")
        return np.tile(self.codes, (clouds, 1))
