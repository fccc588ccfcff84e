"""Slot rows for units that share a table, which is made of banks: no bank is asked for two words in a cycle.

A row's entries are summed, or their maximum is found, so that a group may take them in any order. In each slot row
every taker gets an entry whose bank no other taker of the same copy reads; one that finds none waits. Banks go by the
last bits of an address. The words of an entry follow each other and the units are in lock step, so that entries whose
first words are in different banks meet in no later word.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from fgnas.hardware.array.dealing import Deal, Ints
from fgnas.hardware.array.engine import Engine, Mode
from fgnas.hardware.array.packing import IDLE, Schedule

Bools = NDArray[np.bool_]
NONE = -1
"""No entry, no taker."""


def copies_of_takers(engine: Engine, mode: Mode) -> Ints:
    """[m k] the copy of the table that every taker of a mode reads, of the first of its n units."""
    return engine.copy_of(np.arange(mode.takers) * mode.n)


def clashes(engine: Engine, mode: Mode, index: Ints, value: Ints) -> int:
    """Slot rows of a stream, [slot rows, m k], in which a bank is asked for two words; an entry of the value 0 asks for
    none, and takers may ask for the same word."""
    copies, banks, found = copies_of_takers(engine, mode), engine.copy_banks, np.zeros(len(index), np.bool_)
    for one in range(mode.takers):
        for other in np.flatnonzero(copies[:one] == copies[one]):
            both = (value[:, one] != 0) & (value[:, other] != 0) & (index[:, one] != index[:, other])
            found |= both & (index[:, one] % banks == index[:, other] % banks)
    return int(found.sum())


def pack_shared(
    indptr: Ints, index: Ints, deal: Deal, k: int, copies: Ints, banks: int, ordered: int = 0
) -> Schedule:
    """`pack` for takers that share copies: rows begin at indptr [N + 1] in the entries, which name the words `index`.

    The groups with most work left choose first. A taker prefers the bank with most of its row's entries. One that finds
    all of them taken makes others change theirs where that frees one: augmenting paths, as of a matching.
    """
    indptr, bank = np.asarray(indptr, np.int64), np.asarray(index, np.int64) % banks
    row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    order = np.lexsort((bank, row))  # the entries of a row, bank by bank
    ordinal, last, entry = _pack(indptr, bank[order], deal.rows(), k, copies, banks, ordered)
    return Schedule(ordinal, np.zeros_like(ordinal), last, np.where(entry == NONE, NONE, np.append(order, 0)[entry]))


@numba.njit(cache=True)
def _pack(
    indptr: Ints, bank: Ints, rows: Ints, k: int, copies: Ints, banks: int, ordered: int
) -> tuple[Ints, Ints, Ints]:  # pragma: no cover - compiled
    groups, depth = rows.shape
    work = _work(indptr, rows, ordered)
    most = int(work.sum())
    ordinal, last = np.full((most, groups), IDLE, np.int64), np.zeros((most, groups), np.int64)
    entry = np.full((most, groups * k), NONE, np.int64)
    at, left = np.zeros(groups, np.int64), np.full(groups, NONE, np.int64)  # the group's row, and its entries
    ahead, free = np.zeros((groups, banks), np.int64), np.zeros((groups, banks), np.int64)
    slot = 0
    while work.sum() > 0:
        goes = np.zeros(groups, np.bool_)
        fewest = at.min()
        for g in range(groups):
            if work[g] > 0 and left[g] == NONE:
                left[g] = _open(indptr, bank, rows[g, at[g]], ahead[g], free[g])
            goes[g] = work[g] > 0 and not (ordered > 0 and left[g] <= k and at[g] + 1 - fewest > ordered)
        seat = _match(work, goes, free, k, copies, banks)
        for g in range(groups):
            if not goes[g]:
                continue
            taken = 0
            for t in range(g * k, g * k + k):
                if seat[t] != NONE:
                    entry[slot, t] = ahead[g, seat[t]]
                    ahead[g, seat[t]] += 1
                    taken += 1
            if taken == 0 and left[g] > 0:
                continue
            ordinal[slot, g] = at[g]
            left[g] -= taken
            work[g] -= max(taken, 1)
            if left[g] == 0:
                last[slot, g] = 1
                at[g] += 1
                left[g] = NONE
        slot += 1
    return ordinal[:slot], last[:slot], entry[:slot]


@numba.njit(cache=True)
def _work(indptr: Ints, rows: Ints, ordered: int) -> Ints:  # pragma: no cover - compiled
    """[groups] entries of each group's rows; a row without one takes a slot, too."""
    work = np.zeros(len(rows), np.int64)
    for g in range(len(rows)):
        for row in rows[g]:
            if row >= 0:
                work[g] += max(1, indptr[row + 1] - indptr[row])
            elif ordered > 0:
                work[g] += 1
    return work


@numba.njit(cache=True)
def _open(indptr: Ints, bank: Ints, row: int, ahead: Ints, free: Ints) -> int:  # pragma: no cover - compiled
    """Begin a row: its first entry of each bank, and how many there are. Returns the number of all."""
    free[:] = 0
    if row < 0:
        return 0
    for place in range(indptr[row + 1] - 1, indptr[row] - 1, -1):
        ahead[bank[place]] = place
        free[bank[place]] += 1
    return int(indptr[row + 1] - indptr[row])


@numba.njit(cache=True)
def _match(
    work: Ints, goes: Bools, free: Ints, k: int, copies: Ints, banks: int
) -> Ints:  # pragma: no cover - compiled
    """[takers] the bank that each reads in a slot row, or NONE; `free` loses what they take."""
    reader = np.full((copies.max() + 1, banks), NONE, np.int64)
    seat = np.full(len(copies), NONE, np.int64)
    for g in np.argsort(-work, kind="mergesort"):
        if goes[g]:
            for t in range(g * k, g * k + k):
                _seat(t, free, k, copies, reader, seat, np.zeros(reader.shape, np.bool_))
    return seat


@numba.njit(cache=True)
def _seat(
    t: int, free: Ints, k: int, copies: Ints, reader: Ints, seat: Ints, tried: Bools
) -> bool:  # pragma: no cover - compiled
    """Find a bank for a taker, others changing theirs; whether there is one."""
    g, copy = t // k, copies[t]
    while True:
        best = NONE
        for b in range(free.shape[1]):
            if free[g, b] > 0 and not tried[copy, b] and (best == NONE or free[g, b] > free[g, best]):
                best = b
        if best == NONE:
            return False
        tried[copy, best] = True
        other = reader[copy, best]
        if other != NONE and not _seat(other, free, k, copies, reader, seat, tried):
            continue
        if seat[t] != NONE:  # it gives its bank up, to the taker that asked
            free[g, seat[t]] += 1
        reader[copy, best], seat[t] = t, best
        free[g, best] -= 1
        return True
