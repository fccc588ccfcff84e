"""Streams of entries that are known before any cloud: random neighbours, and rows that are read out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fgnas.hardware.array.points.memory import NoRoomError
from fgnas.hardware.array.programme import LARGEST_INDEX
from fgnas.hardware.integer.sample import Sample
from fgnas.hardware.numbers import Ints
from fgnas.tasks.neighbours import hashed_neighbours


class Ends(NamedTuple):
    """Where the rows of a stream end: behind every `entries` slot rows, in every group.

    Attributes:
        slot_rows: of the stream.
        takers: groups.
        entries: of a row.
    """

    slot_rows: int
    takers: int
    entries: int

    @property
    def last(self) -> Ints:
        """[slot rows, takers] 1 where a row ends."""
        found = np.zeros((self.slot_rows, self.takers), np.int64)
        found[self.entries - 1 :: self.entries] = 1
        return found


@dataclass(frozen=True, eq=False)
class Stream:
    """Entries: the ends of their rows, and the function that makes index and value of each, [slot rows, takers]."""

    ends: Ends
    made: Callable[[], tuple[Ints, Ints]]


def random_rows(sample: Sample, units: int, pitch: int, value: int, own: int) -> Stream:
    """Every point's random neighbours, whose rows are so many words apart, times a value, and behind them the row
    itself times another one, if that is not 0. Raises NoRoomError where an entry cannot name a word."""
    depth = -(-sample.points // units)
    # A point is one of its own neighbours, and what is behind the last one is read where rows read themselves.
    if (largest := ((depth * units if own else sample.points) - 1) * pitch) > LARGEST_INDEX:
        raise NoRoomError(f"an entry of random neighbours names word {largest:,} of a table, which has "
                          f"{LARGEST_INDEX:,} at most: choose fewer points or narrower layers")  # fmt: skip
    count = sample.neighbours + (own != 0)

    def made() -> tuple[Ints, Ints]:
        points, named = np.arange(depth * units), np.zeros((depth * units, count), np.int64)
        named[: sample.points, : sample.neighbours] = hashed_neighbours(
            sample.points, sample.neighbours, sample.seed, sample.ordinal
        )
        values = np.full(count, value)
        if own:
            named[:, -1], values[-1] = points, own
        index = named.reshape(depth, units, count).transpose(0, 2, 1).reshape(-1, units) * pitch
        return index, np.broadcast_to(np.tile(values, depth)[:, None], index.shape)

    return Stream(Ends(depth * count, units, count), made)


def all_rows(points: int, takers: int, pitch: int, value: int) -> Stream:
    """All rows for the first group; the others add nothing to a row of theirs."""

    def made() -> tuple[Ints, Ints]:
        index = np.zeros((points, takers), np.int64)
        values = np.zeros_like(index)
        index[:, 0], values[:, 0] = np.arange(points) * pitch, value
        return index, values

    return Stream(Ends(points, takers, points), made)


def one_row(takers: int) -> Stream:
    """An entry: every group reads the first row."""
    return Stream(Ends(1, takers, 1), lambda: (np.zeros((1, takers), np.int64), np.ones((1, takers), np.int64)))
