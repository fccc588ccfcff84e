"""Rows laid into slot rows: which part of which row every group takes at each step of a stream.

A slot row has an entry for each of the m k takers, and all are issued together. Each group takes its rows one after the
other, k entries at a time. Where results leave in the order of the rows, no group may run too far ahead of another:
the packer then lets it idle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from fgnas.hardware.array.dealing import Deal, Ints

IDLE = -1


@dataclass(frozen=True, eq=False)
class Schedule:
    """A stream of slot rows for m groups.

    Attributes:
        ordinal: [slot rows, m] the row, by its place in the group, of which a group takes a part; IDLE for none.
        chunk: [slot rows, m] the part: entries k chunk to k chunk + k of the row.
        last: [slot rows, m] whether the row ends here.
        entry: [slot rows, m k] places of the entries that the takers get, -1 for none, where they are not in the order
            of their row and `chunk` says nothing: see `fgnas.hardware.array.sharing`.
    """

    ordinal: Ints
    chunk: Ints
    last: Ints
    entry: Ints | None = None

    @property
    def slot_rows(self) -> int:
        """Steps of the stream."""
        return len(self.ordinal)


def pack(lengths: Ints, deal: Deal, k: int, ordered: int = 0) -> Schedule:
    """Pack rows of `lengths` entries, [N]; an empty row takes one slot, too.

    With `ordered`, results leave row by row across the groups. Every group then gets as many rows as the fullest, empty
    ones at its end, and none ends more than `ordered` rows beyond the group that has ended fewest.
    """
    return Schedule(*slots_of(np.asarray(lengths, np.int64), deal.rows(), k, ordered))


@numba.njit(cache=True)
def slots_of(lengths: Ints, rows: Ints, k: int, ordered: int) -> tuple[Ints, Ints, Ints]:  # pragma: no cover - compiled
    """The fields of `pack`, of the rows [m, depth] of each group."""
    chunks = np.empty(rows.shape, np.int64)
    for g in range(rows.shape[0]):
        for place in range(rows.shape[1]):
            row = rows[g, place]
            chunks[g, place] = max(1, -(-lengths[row] // k)) if row >= 0 else 1 if ordered else 0
    return _pack(chunks, ordered)


@numba.njit(cache=True)
def _pack(chunks: Ints, ordered: int) -> tuple[Ints, Ints, Ints]:  # pragma: no cover - compiled
    groups, depth = chunks.shape
    # Without the order a group never idles before its end; with it, all take turns at worst.
    most = int(chunks.sum()) if ordered else int(chunks.sum(axis=1).max()) if groups else 0
    ordinal = np.full((most, groups), -1, np.int64)
    chunk, last = np.zeros((most, groups), np.int64), np.zeros((most, groups), np.int64)
    at, part = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
    slot = 0
    while slot <= most:
        fewest = at.min()
        busy = False
        for g in range(groups):
            if at[g] < depth and chunks[g, at[g]] > 0:
                busy = True
                ends = part[g] + 1 == chunks[g, at[g]]
                if ordered and ends and at[g] + 1 - fewest > ordered:
                    continue
                ordinal[slot, g], chunk[slot, g] = at[g], part[g]
                part[g] += 1
                if ends:
                    last[slot, g] = 1
                    at[g] += 1
                    part[g] = 0
        if not busy:
            break
        slot += 1
    return ordinal[:slot], chunk[:slot], last[:slot]
