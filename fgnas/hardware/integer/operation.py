"""The interface of an integer network's operations: the value that each makes, and its exact meaning."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.value import Value

Given: TypeAlias = Codes | sp.csr_matrix
"""[rows, columns] codes of a value; those of the features are sparse."""


class Operation(ABC):
    """One operation. It knows no hardware, no lane and no order."""

    @abstractmethod
    def value(self, given: Sequence[Value]) -> Value:
        """The value that it makes of others. Raises ValueError where their shapes or formats do not fit."""

    @abstractmethod
    def run(self, given: Sequence[Given], graph: IntegerGraph) -> Codes:
        """[rows, columns] the codes that it makes of others on a graph: the definition of right."""


def one_of(given: Sequence[Value], work: str, columns: int | None = None) -> Value:
    """The only value that an operation reads, with so many columns. Raises ValueError for others."""
    if len(given) != 1:
        raise ValueError(f"{work} reads one value, not {len(given)}")
    if columns is not None and given[0].columns != columns:
        raise ValueError(f"{work} reads rows of {columns} numbers, not of {given[0].columns}")
    return given[0]


def dense(codes: Given) -> Codes:
    """[rows, columns] codes that may be sparse."""
    return codes if isinstance(codes, np.ndarray) else np.asarray(codes.todense())


def check_shift(work: str, fraction_bits: int, shift: int, output: FixedPoint) -> None:
    """Raise ValueError where a right shift does not take numbers with so many fraction bits to a format."""
    if fraction_bits - shift != output.fraction_bits:
        raise ValueError(f"{work} shifts {fraction_bits} fraction bits by {shift}, its format has "
                         f"{output.fraction_bits}")  # fmt: skip
