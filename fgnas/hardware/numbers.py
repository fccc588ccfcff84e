"""Arithmetic on whole numbers that serves one design and thousands at once: integers, or integer arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def ceil_div(numerator: Any, denominator: Any) -> Any:
    """Ceiling of a quotient of integers or integer arrays."""
    return -(-numerator // denominator)


def ceil_log2(values: Any) -> Ints:
    """ceil(log2(v)) for integers v >= 1, exact; 0 for 1."""
    _, exponent = np.frexp(np.asarray(values, np.int64) - 1)
    return np.where(np.asarray(values) <= 1, 0, exponent).astype(np.int64)


def next_power_of_two(values: Ints) -> Ints:
    """The smallest power of two that is at least v, for v >= 1."""
    return np.left_shift(1, ceil_log2(values))
