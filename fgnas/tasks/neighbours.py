"""Random neighbours of the points of a cloud, from a hash: the same in training, in every reference and in hardware."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

MULTIPLIERS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
"""Multipliers of the SplitMix64 generator (Steele, Lea, Flood, 2014)."""


def hashed_neighbours(points: int, k: int, seed: int, ordinal: int) -> Ints:
    """[N, k] a point itself and further ones that follow from a hash of (seed, ordinal, N, point, place).

    `ordinal` counts a network's random graphs from 0; k is at most N.
    """
    own = np.arange(points)[:, None]
    place = (own * k + np.arange(1, k)).astype(np.uint64)
    state = _mixed(np.array([(seed << 32) + (ordinal << 20) + points], np.uint64))
    drawn = _mixed(state + place) % np.uint64(points)
    return np.concatenate([own, drawn.astype(np.int64)], axis=1)


def _mixed(state: Words) -> Words:
    """SplitMix64 of each number, modulo 2**64."""
    golden, first, second = (np.uint64(one) for one in MULTIPLIERS)
    with np.errstate(over="ignore"):
        z = state * golden + golden
        z = (z ^ (z >> np.uint64(30))) * first
        z = (z ^ (z >> np.uint64(27))) * second
        return z ^ (z >> np.uint64(31))
