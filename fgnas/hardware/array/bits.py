"""Numbers of any width, side by side in beats."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from fgnas.hardware.wire import Beats


def packed(numbers: NDArray[np.integer[Any]], bits: int, beat_bytes: int) -> Beats:
    """[n, fields] numbers of so many bits, up to 57, as [n] beats, from the lowest bit on; of a number only these bits
    count."""
    return np.asarray(beats_of(np.ascontiguousarray(numbers).astype(np.uint64, copy=False), bits, beat_bytes))


def unpacked(beats: Beats, bits: int, fields: int) -> NDArray[np.int64]:
    """[n, fields] the first numbers of so many bits, up to 56, in [n] beats; none is negative."""
    return np.asarray(_unpacked(np.ascontiguousarray(beats), bits, fields))


def signed(numbers: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """Numbers of so many bits whose highest bit is a sign."""
    sign = 1 << (bits - 1)
    return (numbers ^ sign) - sign


@numba.njit(cache=True)
def beats_of(numbers: NDArray[np.uint64], bits: int, beat_bytes: int) -> Beats:  # pragma: no cover - compiled
    """`packed`."""
    rows, fields = numbers.shape
    found = np.zeros((rows, beat_bytes), np.uint8)
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for row in range(rows):
        for field in range(fields):
            place = field * bits
            rest = (numbers[row, field] & mask) << np.uint64(place & 7)
            byte = place >> 3
            while rest:
                found[row, byte] |= np.uint8(rest & np.uint64(255))
                rest >>= np.uint64(8)
                byte += 1
    return found


@numba.njit(cache=True)
def _unpacked(beats: Beats, bits: int, fields: int) -> NDArray[np.int64]:  # pragma: no cover - compiled
    rows = len(beats)
    found = np.zeros((rows, fields), np.int64)
    mask = (np.int64(1) << np.int64(bits)) - np.int64(1)
    for row in range(rows):
        for field in range(fields):
            first = field * bits
            number = np.int64(0)
            for byte in range(first >> 3, (first + bits + 7) >> 3):
                number |= np.int64(beats[row, byte]) << np.int64(8 * (byte - (first >> 3)))
            found[row, field] = number >> np.int64(first & 7) & mask
    return found
