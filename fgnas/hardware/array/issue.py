"""A compute phase of the array, cycle by cycle: when slot rows are issued, and when the last result has left.

`last_result` steps through a phase as the hardware does; where a phase repeats itself, it steps until a state returns,
and counts the rest. All of it is compiled.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from fgnas.hardware.array.dealing import Ints
from fgnas.hardware.array.programme import Target

TABLE, OWN, LOGITS, PARTIAL = (int(one) for one in (Target.TABLE, Target.OWN, Target.LOGITS, Target.PARTIAL))
ENDLESS = -1
"""Result for a phase that never ends, in place of its cycles."""

Ends = NDArray[np.bool_]


class Facts(NamedTuple):
    """Parameters of a phase apart from its rows, as integers.

    Attributes:
        target: TABLE, OWN, LOGITS or PARTIAL.
        tiles, limit, parts, before, latency, spacing: as in `fgnas.hardware.array.cycles.Stream`.
        together: as there, but 1 where no beats are read.
        first_beat: the cycle after which the first beat is there.
    """

    target: int
    tiles: int
    limit: int
    parts: int
    together: int
    before: int
    latency: int
    spacing: int
    first_beat: int


@numba.njit(cache=True)
def last_result(ends: Ends, times: int, facts: Facts, results: int) -> int:  # pragma: no cover - compiled
    """The cycle in which the last result of a phase leaves its queue, counted from the phase's first; or ENDLESS.

    `ends` [slot rows, m] says where rows end; the phase issues these slot rows so many times, and so many `results`
    leave together. Without beats, all that the cycles after a turn through `ends` depend on is a state of few words.
    The states after 1, 2, 4 ... turns are kept until one recurs: from then on the cycles between repeat.
    """
    groups = ends.shape[1]
    queues, pointers = np.zeros((4, groups), np.int64), np.arange(min(results, groups))
    # A word is ready `latency` cycles after its issue, and `spacing` after the word before it.
    arriving = np.zeros((facts.latency + facts.spacing * (facts.limit + 1) * facts.tiles + 1, groups), np.int64)
    cycle, turn, skipped = 0, 0, 0
    kept, kept_turn, kept_cycle = np.zeros(0, np.int64), 0, 0
    while facts.parts == 0 and turn < times - 1:
        cycle = _step(ends, 1, False, facts, cycle, queues, arriving, pointers)
        if cycle == ENDLESS:
            return ENDLESS
        turn += 1
        state = _state(cycle, queues, arriving, pointers)
        if len(kept) and (state == kept).all():
            again = (times - turn) // (turn - kept_turn)
            skipped = again * (cycle - kept_cycle)
            turn += again * (turn - kept_turn)
            break
        if turn >= 2 * kept_turn:
            kept, kept_turn, kept_cycle = state, turn, cycle
    cycle = _step(ends, times - turn, True, facts, cycle, queues, arriving, pointers)
    return cycle if cycle == ENDLESS else cycle + skipped


@numba.njit(cache=True)
def _step(
    ends: Ends, times: int, drain: bool, facts: Facts, cycle: int, queues: Ints, arriving: Ints, pointers: Ints
) -> int:  # pragma: no cover - compiled
    """The cycle in which so many turns through `ends` are issued, after `cycle`; if `drain`, their results left, too.

    The state of a cycle is that of the registers of array_issue and array_writeback in it. `queues` holds, for each
    group, the rows and words that wait, words of the first of these rows that left, and the cycle in which the last is
    ready. `arriving` are words that become ready, by cycle, and `pointers` the groups whose turn it is to write a
    result, each of those of a share: groups that many apart.
    """
    (target, tiles, limit, parts, together, before, latency, spacing, first_beat), (period, groups) = facts, ends.shape
    count, words, left, ready_at = queues[0], queues[1], queues[2], queues[3]
    stays, in_order = target in (OWN, PARTIAL), target == LOGITS
    longest, shares, slots = len(arriving), len(pointers), period * times
    slot, at, tile, part, popped, rows, moved = 0, 0, 0, 0, 0, int(count.sum()), cycle
    while slot < slots or (drain and rows > 0):
        cycle, full, leave, here = cycle + 1, False, True, arriving[(cycle + 1) % longest]
        for g in range(groups):
            words[g] += here[g]
            here[g] = 0
        for g in range(groups if slot < slots else 0):
            full = full or count[g] >= limit
        # The registers' values in this cycle decide whether a tile is issued, and whether a beat is only a part.
        beat = slot < slots and (parts == 0 or cycle - first_beat >= popped)
        issued = beat and part >= parts - 1 and (tile > 0 or not full)
        if beat and part < parts - 1:
            part += 1
            popped += 1
        # All words that stay in a unit leave; else the next of each share, to main memory together with the others.
        for g in range(groups if stays else 0):
            if words[g] > 0:
                rows, moved = rows - _pop(words, left, count, g, tiles), cycle
        for share in range(shares if in_order else 0):
            leave = leave and words[pointers[share]] > 0
        for share in range(shares if leave and not stays else 0):
            g = pointers[share]
            for _ in range(share, groups, shares):
                following = g + shares if g + shares < groups else share
                if words[g] > 0:
                    ended, moved = _pop(words, left, count, g, tiles), cycle
                    rows -= ended
                    pointers[share] = following if ended or not in_order else g
                    break
                g = following
        if issued:
            moved = cycle
            for g in range(groups if tile >= before else 0):
                if ends[at, g]:
                    ready_at[g] = max(cycle + latency, ready_at[g] + spacing)
                    arriving[ready_at[g] % longest, g] += 1
                    if tile == before + tiles - 1:
                        count[g] += 1
                        rows += 1
            tile += 1
            if tile == before + tiles:
                slot, at, tile, part = slot + 1, at + 1 if at + 1 < period else 0, 0, 0
                popped += parts > 0 and (slot % together == 0 or slot == slots)
        if cycle - moved > longest + first_beat + parts:
            return ENDLESS  # no word and no beat is under way for longer: nothing will ever move again
    return cycle


@numba.njit(cache=True)
def _pop(words: Ints, left: Ints, count: Ints, g: int, tiles: int) -> int:  # pragma: no cover - compiled
    """Take a word from a group's queue; 1 where it ends a row."""
    words[g] -= 1
    left[g] += 1
    if left[g] < tiles:
        return 0
    left[g] = 0
    count[g] -= 1
    return 1


@numba.njit(cache=True)
def _state(cycle: int, queues: Ints, arriving: Ints, pointers: Ints) -> Ints:  # pragma: no cover - compiled
    """[words] all that the cycles after this one depend on, counted from it, where no beats are read."""
    most, (kinds, groups) = len(arriving), queues.shape
    found = np.empty((kinds + most) * groups + len(pointers), np.int64)
    found[: kinds * groups] = queues.ravel()
    found[(kinds - 1) * groups : kinds * groups] -= cycle  # when words are ready
    at = kinds * groups
    for step in range(1, most + 1):
        found[at : at + groups] = arriving[(cycle + step) % most]
        at += groups
    found[at:] = pointers
    return found
