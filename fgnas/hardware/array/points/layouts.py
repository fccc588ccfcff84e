"""How rows are laid out: the column of a value at each place of a row of whole words. Equal layouts are one object."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from fgnas.hardware.array.engine import LANES
from fgnas.hardware.numbers import Ints, ceil_div

KEPT = 1 << 14
"""Layouts that a process remembers."""


class Layout:
    """A row of a value; `in_order`, `side_by_side` and `spread` make it.

    Attributes:
        columns: [elements] the column at each place, or -1; of units side by side [wide, elements].
        words: of a row in a unit.
        elements: places up to the last one that means something.
        numbers: places that mean something, in all units.
    """

    def __init__(self, columns: Ints) -> None:
        self.columns, self.words = columns, columns.shape[-1] // LANES
        held = np.flatnonzero((columns >= 0).any(axis=0) if columns.ndim > 1 else columns >= 0)
        self.elements, self.numbers = int(held[-1]) + 1, int((columns >= 0).sum())


@functools.lru_cache(KEPT)
def in_order(columns: int) -> Layout:
    """So many columns in order."""
    place = np.arange(int(ceil_div(columns, LANES)) * LANES)
    return Layout(np.where(place < columns, place, -1))


@functools.lru_cache(KEPT)
def side_by_side(parts: tuple[Layout, ...], columns: tuple[int, ...]) -> Layout:
    """Rows of so many columns each, one behind the other in whole words."""
    first = np.cumsum((0, *columns))
    shifted = [np.where(one.columns < 0, -1, one.columns + at) for one, at in zip(parts, first, strict=False)]
    return _same(np.concatenate(shifted).tobytes())


@functools.lru_cache(KEPT)
def _same(columns: bytes) -> Layout:
    """The layout of these columns: those of rows in order are the same as theirs."""
    found = np.frombuffer(columns, np.int64)
    ordered = in_order(int(found.max()) + 1)
    return ordered if np.array_equal(ordered.columns, found) else Layout(found)


@functools.lru_cache(KEPT)
def spread(layout: Layout, wide: int, parts: int = 1) -> Layout:
    """[wide, elements] the row whose words, laid out so, units hold in turn; so many parts of as many columns follow
    each other in every unit."""
    words, columns = layout.words, int(layout.columns.max()) + 1
    word = np.arange(words)
    place = np.full((wide, int(ceil_div(words, wide)), LANES), -1, np.int64)
    place[word % wide, word // wide] = layout.columns.reshape(-1, LANES)
    found: Sequence[Ints] = [np.where(place >= 0, place + number * columns, -1) for number in range(parts)]
    return Layout(np.concatenate(found, axis=1).reshape(wide, -1))
