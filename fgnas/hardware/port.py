"""When the stages of a phase finish behind a memory port that takes several cycles for a beat.

A `Port` passes the beats of a region one after another, each in `beat_cycles` cycles of the kernel's clock; reads and
writes have a channel each. Main memory answers a burst `latency` cycles after the reader asked for it, and the reader
asks as soon as its queue has room for a burst. So beat j of burst k reaches the first stage in cycle

    arrival(k, j) = ceil(begin(k) + beat_cycles * (j + 1)) - 1
    begin(k)      = max(begin(k - 1) + beat_cycles * burst, freed(k) + latency),  begin(0) = 0

counted from the cycle in which the first beat of an ideal memory is there; freed(k) is the cycle after the stage took
the last beat of burst k - queue / burst, and with it room for burst k. An item starts when its beat has arrived. A
stage that sends beats offers one at a time, for ceil(beat_cycles) cycles, and issues the next one in the last of them.
Everything else follows `fgnas.hardware.recurrence`, to which this is equal at one cycle a beat.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np

from fgnas.hardware import wire
from fgnas.hardware.recurrence import distinct_columns, recurrence_cycles, without_idle_stages
from fgnas.hardware.stage import Bools, Ints, Services

STEPS = 1024
"""Parts of a cycle in which a port's pace is counted: a power of two, so that every sum of them is exact."""


def beat_cycles(bits: float | None, mhz: float | None, clock_mhz: float) -> float:
    """Cycles of the kernel's clock that a port of `bits` takes for a beat: at least 1, rounded up to 1/1024.

    The port has the kernel's clock, or its own highest clock `mhz` where that is lower. None is a port of any width or
    clock, which takes a beat a cycle.
    """
    slower = 1.0 if mhz is None else max(1.0, clock_mhz / mhz)
    cycles = slower * wire.BEAT_BITS / (bits or math.inf)
    # A quotient of decimals may be slightly above the number that it means.
    return max(1.0, math.ceil(round(STEPS * cycles, 6)) / STEPS)


@dataclass(frozen=True)
class Port:
    """The memory port of a kernel.

    Attributes:
        beat_cycles: cycles that it takes for a beat, a multiple of 1 / `STEPS`, at least 1.
        latency: cycles from room for a burst in the reader's queue to the burst's first beat at the stage.
        burst: beats of a burst.
        queue: beats that the reader's queue holds, a multiple of `burst`.
    """

    beat_cycles: float
    latency: int
    burst: int
    queue: int


def load_cycles(port: Port, beats: Ints) -> Ints:
    """[n] cycles from the first start to the last finish of a stage that takes [n] beats as they come."""
    return np.ceil(port.beat_cycles * beats).astype(np.int64)


def port_cycles(
    services: Services, items: Ints, port: Port, chosen: Bools | None = None, release: Ints | None = None
) -> Ints:
    """[n] cycles of a phase, as `recurrence_cycles`, from the first start to the end of the last stage.

    A design whose first stage needs no more beats than the port passes only starts later; the others follow the
    recurrence of this module, beat by beat.
    """
    graph, table = services.graph, services.table if chosen is None else services.table[:, :, chosen]
    if port.beat_cycles == 1:
        return recurrence_cycles(Services(graph, table), items, None, release)
    taken, sender = graph.items_per_beat, graph.sender
    starved = np.zeros(table.shape[2], bool)
    if taken:
        starved |= table[0, 0] * taken < port.beat_cycles
    # A stage that nobody waits for may count as one that takes as long as its beats take at the port.
    slowed = table.copy()
    if sender is not None:
        slowed[1, sender] *= math.ceil(port.beat_cycles)
    kept, tails = without_idle_stages(graph, slowed, items)
    if sender is not None:
        starved |= (kept >> sender & 1).astype(bool)
    result = np.empty(table.shape[2], np.int64)
    if not starved.all():
        ideal = Services(graph, slowed[:, :, ~starved])
        late = math.ceil(port.beat_cycles) - 1 if taken else 0
        result[~starved] = recurrence_cycles(ideal, items, None, release) + late
    for signature in np.unique(kept[starved]):
        here = starved & (kept == signature)
        left = [s for s in range(table.shape[1]) if signature >> s & 1]
        ends = _last_ends(services, table[:, left][:, :, here], left, items, release, port)
        result[here] = np.max(ends + tails[left][:, here].T, axis=1)
    return result


def port_finishes(services: Services, items: Ints, port: Port, release: Ints | None = None) -> tuple[Ints, int]:
    """[stages, N] finish of every row of the first design, its first start being 0, and the end of the last stage.

    A stage that writes finishes a row when it has issued its last beat; its end is when the port has accepted that.
    """
    left = list(range(len(services.graph.stages)))
    places = _places(services, left, items, release)
    finish, ends = _finishes(services.table[:, :, 0].T.copy(), places, _pace(port))
    return finish, int(ends.max())


def _last_ends(
    services: Services, table: Ints, left: list[int], items: Ints, release: Ints | None, port: Port
) -> Ints:
    """[n, stages] ends of the stages at the places `left`, whose numbers are in `table` [4, stages, n]."""
    flat, inverse = distinct_columns(table.transpose(2, 1, 0).reshape(table.shape[2], -1))
    places = _places(services, left, items, release)
    ends = _all_ends(flat.reshape(len(flat), len(left), 4), places, _pace(port))
    return ends[inverse]


class Places(NamedTuple):
    """Arguments of the compiled recurrence apart from the numbers of its stages.

    Attributes:
        feeders: [stages] the stage that feeds each; -1 of the first.
        items: [N] items of every row.
        release: [N] the row whose items must be read before a row starts; -1 for none.
        reader: the stage that reads items from a buffer.
        taken: items of a beat that the first stage takes; 0 if it takes none.
        sender: the stage that sends beats; -1 for none.
    """

    feeders: Ints
    items: Ints
    release: Ints
    reader: int
    taken: int
    sender: int


class Pace(NamedTuple):
    """The numbers of a `Port`: cycles of a beat, latency, beats of a burst, and bursts that the queue holds."""

    beat_cycles: float
    latency: int
    burst: int
    bursts: int


def _places(services: Services, left: list[int], items: Ints, release: Ints | None) -> Places:
    graph = services.graph
    feeders = np.array([left.index(p) if (p := graph.feeders[s]) >= 0 else -1 for s in left])
    reader = 0 if graph.items_reader is None or release is None else left.index(graph.items_reader)
    released = np.full(len(items), -1, np.int64) if release is None or graph.items_reader is None else release
    sender = left.index(graph.sender) if graph.sender in left else -1
    return Places(feeders, np.asarray(items, np.int64), released, reader, graph.items_per_beat, sender)


def _pace(port: Port) -> Pace:
    return Pace(float(port.beat_cycles), port.latency, port.burst, port.queue // port.burst)


@numba.njit(cache=True)
def _all_ends(tables: Ints, places: Places, pace: Pace) -> Ints:  # pragma: no cover - compiled
    """[n, stages] end of the last row; tables is [n, stages, 4]."""
    result = np.empty((len(tables), len(places.feeders)), np.int64)
    for design in range(len(tables)):
        _, ends = _finishes(tables[design], places, pace)
        result[design] = ends
    return result


@numba.njit(cache=True)
def _finishes(table: Ints, places: Places, pace: Pace) -> tuple[Ints, Ints]:  # pragma: no cover - compiled
    """[stages, N] finishes and [stages] ends of one design; table is [stages, 4]."""
    feeders, items, release, reader, taken, sender = places
    stages, nodes = len(feeders), len(items)
    finish = np.zeros((stages, nodes), np.int64)
    ends = np.zeros(stages, np.int64)
    freed = np.zeros(items.sum() // (max(taken, 1) * pace.burst) + pace.bursts + 1, np.int64)
    place, begin, offered = 0, 0.0, np.int64(np.ceil(pace.beat_cycles))
    for i in range(nodes):
        for s in range(stages):
            start = ends[s]
            if s > 0:
                start = max(start, finish[feeders[s], i] + table[feeders[s], 2])
            elif release[i] >= 0:
                start = max(start, finish[reader, release[i]])
            for q in range(s + 1, stages):
                if feeders[q] == s and i >= table[q, 3]:
                    start = max(start, finish[q, i - table[q, 3]])
            if s == 0 and taken > 0:
                start, begin = _take(start, items[i], place, begin, table[0, 0], taken, pace, freed)
                place += items[i]
                finish[s, i] = start + table[0, 1]
                ends[s] = finish[s, i]
            elif s == sender:
                ends[s] = start + offered * table[s, 1]
                finish[s, i] = ends[s] - offered + 1
            else:
                finish[s, i] = start + table[s, 0] * items[i] + table[s, 1]
                ends[s] = finish[s, i]
    return finish, ends


@numba.njit(cache=True)
def _take(
    start: int, count: int, place: int, begin: float, per_item: int, taken: int, pace: Pace, freed: Ints
) -> tuple[int, float]:  # pragma: no cover - compiled
    """The finish of a row of `count` items behind the first `place`, and the begin of the burst of its last beat.

    Among the beats of a row in one burst, the first or the last delays the stage most, because arrivals are equally
    spaced. freed[k] is the cycle after the last beat of burst k was taken.
    """
    cycles, latency, burst, bursts = pace
    end = place + count
    while place < end:
        number = place // (taken * burst)
        part = min(end, (number + 1) * burst * taken)
        first, last = (place + taken - 1) // taken, (part - 1) // taken
        if first == number * burst and number > 0:
            begin += cycles * burst
            if number >= bursts:
                begin = max(begin, float(freed[number - bursts] + latency))
        finish = start + per_item * (part - place)
        if first <= last:
            for beat in (first, last):
                arrival = np.int64(np.ceil(begin + cycles * (beat - number * burst + 1))) - 1
                finish = max(finish, int(arrival + per_item * (part - beat * taken)))
        start, place = finish, part
        if place == (number + 1) * burst * taken:
            freed[number] = finish
    return start, begin
