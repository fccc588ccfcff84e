"""Fixed-point number formats: bounds, rounding and saturation.

Every rounding in this package is to nearest, ties to even; every saturation is to the
two's-complement range. Values are carried as integer *codes* (int64): code = value * 2**fraction_bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class FixedPoint:
    """Signed fixed point with `width` bits, sign included, and a step of 2**-fraction_bits (paper, eq. 1-2).

    `fraction_bits` may exceed the width or be negative: a calibrated power-of-two scale moves the point
    without touching the integers.
    """

    width: int
    fraction_bits: int

    @classmethod
    def of(cls, integer_bits: int, fraction_bits: int, scale: int = 0) -> FixedPoint:
        """The paper's (i, f) format for values stored as x * 2**scale: i + f + 1 bits."""
        return cls(integer_bits + fraction_bits + 1, fraction_bits + scale)

    @property
    def step(self) -> float:
        """The value of one code (paper: Delta)."""
        return 2.0**-self.fraction_bits

    @property
    def minimum(self) -> int:
        """The smallest code."""
        return -(1 << (self.width - 1))

    @property
    def maximum(self) -> int:
        """The largest code."""
        return (1 << (self.width - 1)) - 1

    def quantise(self, values: ArrayLike) -> Codes:
        """Codes of real values, same shape: one rounding, then one saturation. Raises ValueError for NaN."""
        scaled = np.rint(np.asarray(values, np.float64) * 2.0**self.fraction_bits)
        if np.isnan(scaled).any():
            raise ValueError("cannot quantise NaN")
        return np.clip(scaled, self.minimum, self.maximum).astype(np.int64)

    def value(self, codes: ArrayLike) -> NDArray[np.float64]:
        """The real values of codes, same shape."""
        return np.asarray(codes, np.float64) * self.step

    def saturate(self, codes: ArrayLike) -> Codes:
        """Codes clipped to this format's range, same shape."""
        return np.clip(np.asarray(codes, np.int64), self.minimum, self.maximum)

    def requantise(self, codes: ArrayLike, fraction_bits: int) -> Codes:
        """Exact codes with `fraction_bits` fraction bits, rounded and saturated once to this format, same shape."""
        return self.saturate(shift_right_even(codes, fraction_bits - self.fraction_bits))


def shift_right_even(codes: ArrayLike, shift: int) -> Codes:
    """codes / 2**shift, rounded to nearest, ties to even; a negative shift is an exact left shift."""
    codes = np.asarray(codes, np.int64)
    if shift <= 0:
        return codes << -shift
    floor = codes >> shift
    rest = codes - (floor << shift)
    half = np.int64(1) << (shift - 1)
    return floor + ((rest > half) | ((rest == half) & ((floor & 1) == 1)))


def divide_even(numerator: ArrayLike, denominator: ArrayLike) -> Codes:
    """numerator / denominator (> 0), rounded to nearest, ties to even, in integers."""
    numerator = np.asarray(numerator, np.int64)
    denominator = np.asarray(denominator, np.int64)
    floor, rest = np.divmod(numerator, denominator)
    twice = 2 * rest
    return floor + ((twice > denominator) | ((twice == denominator) & ((floor & 1) == 1)))
