"""Concatenate: the columns of several values side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fgnas.fixedpoint import Codes
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.operation import Given, Operation
from fgnas.hardware.integer.value import Value


@dataclass(frozen=True)
class Concatenate(Operation):
    """The columns of values of one format, in order."""

    def value(self, given: Sequence[Value]) -> Value:
        """[rows, all columns] in the format of all."""
        if not given or len({(one.rows, one.number) for one in given}) > 1:
            raise ValueError("values side by side have rows of one kind and one format")
        return Value(given[0].rows, sum(one.columns for one in given), given[0].number)

    def run(self, given: Sequence[Given], graph: IntegerGraph) -> Codes:
        """[rows, all columns] codes."""
        return np.concatenate(given, axis=1)
