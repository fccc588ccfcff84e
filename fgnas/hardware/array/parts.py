"""Halves in parts, each a call: some words of the columns, and a range of rows with the rows of the table they read.

Rows do not depend on each other, whether they are sums, maxima or messages with scores, and neither do columns. So a
half whose table is too large for a unit is divided until it fits. A part takes consecutive rows, as many as read no
more rows of the table than a unit holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numba
import numpy as np

from fgnas.errors import UserError
from fgnas.hardware.array.dealing import Ints
from fgnas.hardware.array.engine import HEADS, LANES, MOST_OWN_WORDS, MOST_TILES
from fgnas.hardware.array.halves import Half, Rows
from fgnas.hardware.array.lowering import ABSENT
from fgnas.hardware.array.programme import LARGEST_INDEX
from fgnas.hardware.numbers import ceil_div

TABLE_WORDS = LARGEST_INDEX + 1
"""Words that a table has at most."""
ENTRIES = 1 << 23
"""Entries of a call at most, unless a row has more: what the host holds of a call does not grow with the graph."""
OWN_WORDS = MOST_OWN_WORDS
"""Own words that a unit has at most: one of them is for each row of its group, with scores."""


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive rows, and the rows of a table that they read.

    Attributes:
        first: the first of them.
        rows: their entries, whose indices count the loaded rows of the table.
        named: [depth] rows of the half's table that are loaded.
        entries: [entries] indices of the entries among those of the half.
    """

    first: int
    rows: Rows
    named: Ints
    entries: Ints

    @property
    def depth(self) -> int:
        """Rows of the table."""
        return len(self.named)

    @property
    def here(self) -> slice:
        """The rows of the half."""
        return slice(self.first, self.first + self.rows.count)


@dataclass(frozen=True, eq=False)
class Part:
    """The part of a half that one call computes.

    Attributes:
        half: the whole half.
        name: the name of the call.
        columns: [tiles * LANES] column of the half in each lane of a row; ABSENT where there is none.
        chunk: its rows.
        multiplications: those that the network needs for it.
        heads: the first of its heads with scores, and the end of them; 0 and 0 without.
    """

    half: Half
    name: str
    columns: Ints
    chunk: Chunk
    multiplications: int
    heads: tuple[int, int] = (0, 0)

    @property
    def tiles(self) -> int:
        """Words of a row of results."""
        return len(self.columns) // LANES

    @property
    def pitch(self) -> int:
        """Words of a row of the table: those of scores are in front."""
        return self.tiles + (self.half.heads is not None)

    @property
    def head_tiles(self) -> int:
        """Words of a head with scores."""
        return self.tiles // max(1, self.heads[1] - self.heads[0])

    @property
    def table_words(self) -> int:
        """Words of the table."""
        return self.chunk.depth * self.pitch

    @property
    def lanes(self) -> Ints:
        """The lanes that hold a column."""
        return np.flatnonzero(self.columns != ABSENT)

    @property
    def width(self) -> int:
        """Numbers of a row up to the last that means something."""
        return int(self.lanes[-1]) + 1


@dataclass(frozen=True, eq=False)
class Share:
    """Columns of a half that are made together; see `Part`."""

    columns: Ints
    heads: tuple[int, int] = (0, 0)


def most_rows(halves: Sequence[Half], units: int) -> int:
    """Rows with scores that a call has at most: a group of a unit may get up to twice its share of them."""
    rows = max((half.rows.count for half in halves if half.heads is not None), default=0)
    return max(1, min(rows, OWN_WORDS // 2 * units))


def parts_of(
    halves: Sequence[Half], tiles: int, rows: int, words: int = TABLE_WORDS
) -> tuple[tuple[Part, ...], ...]:
    """Every half in parts of up to so many words of a row, whose tables have up to `words` words, and up to `rows` rows
    with scores, see `most_rows`; of results that are logits whole rows where they fit.

    Raises UserError where a single row names more than a table holds.
    """
    last = halves[-1]
    whole = last.words <= MOST_TILES and last.depth * last.words <= words
    chosen = [min(tiles, half.words) for half in halves[:-1]] + [last.words if whole else min(tiles, last.words)]
    return tuple(tuple(_parts(half, one, rows, words)) for half, one in zip(halves, chosen, strict=True))


def _parts(half: Half, tiles: int, rows: int, words: int) -> Iterator[Part]:
    """The parts of a half: of every range of its rows all columns."""
    shares = list(_shares(half, tiles))
    pitch = max(len(one.columns) for one in shares) // LANES + (half.heads is not None)
    most = rows if half.heads is not None else max(1, half.rows.count)
    entries = [_entries(half, one) for one in shares] if half.met is not None else [None]
    cut = [_chunks(half, one, words // pitch, most) for one in entries]
    found = [
        (one, number, chunk)
        for number, one in enumerate(shares, 1) for chunk in cut[number - 1 if half.met is not None else 0]
    ]  # fmt: skip
    found.sort(key=lambda one: one[2].first)  # calls of the same rows follow each other
    each = np.cumsum([0, *(len(chunk.entries) * _real(one) for one, _, chunk in found)])
    needed = half.multiplications * each // max(1, int(each[-1]))
    for place, (one, number, chunk) in enumerate(found):
        name = half.name + (f", part {number}" if len(shares) > 1 else "")
        if chunk.rows.count < half.rows.count:
            name += f", {half.of} {chunk.first + 1:,} to {chunk.here.stop:,}"
        yield Part(half, name, one.columns, chunk, int(needed[place + 1] - needed[place]), one.heads)


def _real(share: Share) -> int:
    return int(np.count_nonzero(share.columns != ABSENT))


def _shares(half: Half, tiles: int) -> Iterator[Share]:
    """The columns of a half in parts of up to so many words; one word where an entry meets numbers of few columns."""
    if half.heads is not None:
        yield from _shares_of_heads(half, tiles)
        return
    step = LANES * (1 if half.met is not None else tiles)
    for first in range(0, half.columns, step):
        end = min(first + step, half.columns)
        columns = np.arange(first, first + LANES * int(ceil_div(end - first, LANES)))
        yield Share(np.where(columns < end, columns, ABSENT))


def _shares_of_heads(half: Half, tiles: int) -> Iterator[Share]:
    """Whole heads, up to HEADS together, or parts of one head."""
    heads = half.heads
    assert heads is not None
    together = max(1, min(HEADS, tiles // heads.words))
    for first in range(0, heads.count, together):
        end = min(first + together, heads.count)
        for word in range(0, heads.words, tiles):
            place = LANES * word + np.arange(LANES * min(tiles, heads.words - word))
            columns = np.arange(first, end)[:, None] * heads.pitch + place
            yield Share(np.where(place < heads.features, columns, ABSENT).ravel(), (first, end))


def _entries(half: Half, share: Share) -> Ints:
    """The entries that meet a number of these columns."""
    assert half.met is not None
    meets = np.asarray(half.met[:, share.columns[share.columns != ABSENT]]).any(axis=1)
    return np.flatnonzero(np.asarray(meets)[half.rows.index])


def _chunks(half: Half, entries: Ints | None, depth: int, most: int) -> list[Chunk]:
    """The fewest ranges of rows, up to `most` and ENTRIES in each, that name up to `depth` rows of the table each."""
    rows = half.rows
    if entries is None:
        entries, indptr, index = np.arange(len(rows.index)), rows.indptr, rows.index
    else:
        indptr, index = np.searchsorted(entries, rows.indptr), rows.index[entries]
    if half.met is None and half.depth <= depth and rows.count <= most and len(index) <= ENTRIES:
        return [Chunk(0, rows, np.arange(half.depth), entries)]
    starts = _cut(np.asarray(indptr, np.int64), np.asarray(index, np.int64), half.depth, depth, most, ENTRIES)
    found = []
    for first, end in zip(starts, [*starts[1:], rows.count], strict=True):
        here = slice(int(indptr[first]), int(indptr[end]))
        named = np.unique(index[here]) if here.stop > here.start else np.zeros(1, np.int64)
        if len(named) > depth:
            raise UserError(f"{half.name}: row {first + 1:,} names {len(named):,} rows of a table that holds {depth:,} "
                            f"at most: choose fewer heads, sample the edges, or allow more block RAM")  # fmt: skip
        compact = Rows(indptr[first : end + 1] - indptr[first], np.searchsorted(named, index[here]))
        found.append(Chunk(first, compact, named, entries[here]))
    return found


def _cut(indptr: Ints, index: Ints, table: int, depth: int, most: int, entries: int) -> list[int]:
    return [int(one) for one in _starts(indptr, index, table, depth, most, entries)]


@numba.njit(cache=True)
def _starts(
    indptr: Ints, index: Ints, table: int, depth: int, most: int, entries: int
) -> Ints:  # pragma: no cover - compiled
    """[chunks] the first row of each, from the first row on as many as fit."""
    rows = len(indptr) - 1
    seen, starts = np.full(table, -1, np.int64), np.zeros(max(1, rows), np.int64)
    chunks, named = 1, 0
    for row in range(rows):
        fresh = 0
        for place in range(indptr[row], indptr[row + 1]):
            if seen[index[place]] != chunks:
                seen[index[place]] = chunks
                fresh += 1
        first = starts[chunks - 1]
        many = row - first >= most or indptr[row + 1] - indptr[first] > entries
        if row > first and (named + fresh > depth or many):
            starts[chunks], named, fresh = row, 0, 0
            chunks += 1
            for place in range(indptr[row], indptr[row + 1]):
                if seen[index[place]] != chunks:
                    seen[index[place]] = chunks
                    fresh += 1
        named += fresh
    return starts[:chunks]
