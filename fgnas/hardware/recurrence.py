"""When the stages of a phase finish: one recurrence, compiled for many designs, and in plain Python for one.

Stage s works on row i from

    start_s(i) = max(finish_s(i-1), finish_p(i) + depth_p, finish_q(i - rows_q) for every reader q of s)

for `per_item_s * items_i + per_row_s` cycles, where p is the stage that feeds s. A stage waits for its own previous
row, for its input row to have left the pipeline of the stage before, and for a free row in each buffer behind it,
which the buffer's reader frees with its last read. Where a buffer holds items, the first stage also waits for room
there: row i starts when the reader of the items has finished row release[i] (-1: at once).
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from fgnas.hardware.stage import Bools, Ints, Services, StageGraph


def recurrence_cycles(
    services: Services, items: Ints, chosen: Bools | None = None, release: Ints | None = None
) -> Ints:
    """[n] cycles of a phase over N rows of `items`, from its first start to its last finish.

    With `chosen` [designs] only of those designs. `release` [N] counts where a buffer holds items. Equal designs are
    worked out once.
    """
    graph, table = services.graph, services.table if chosen is None else services.table[:, :, chosen]
    kept, tails = without_idle_stages(graph, table, items)
    result = np.zeros(table.shape[2], np.int64)
    for signature in np.unique(kept):
        here = kept == signature
        left = [s for s in range(table.shape[1]) if signature >> s & 1]
        found = _last_finishes(graph, table[:, left][:, :, here], left, items, release)
        for s, finish in zip(left, found.T, strict=True):
            result[here] = np.maximum(result[here], finish + tails[s, here])
    return result


def row_finishes(services: Services, items: Ints, release: Ints | None = None) -> Ints:
    """[stages, N] finish of every row of the first design, its first start being 0; in plain Python."""
    graph = services.graph
    per_item, per_row, depth, rows = services.table[:, :, 0].tolist()
    readers = [[q for q, p in enumerate(graph.feeders) if p == s] for s in range(len(graph.stages))]
    finish: list[list[int]] = [[] for _ in graph.stages]
    for row, count in enumerate(items.tolist()):
        for s, own in enumerate(finish):
            start = own[-1] if own else 0
            if (p := graph.feeders[s]) >= 0:
                start = max(start, finish[p][row] + depth[p])
            elif graph.items_reader is not None and release is not None and release[row] >= 0:
                start = max(start, finish[graph.items_reader][release[row]])
            for q in readers[s]:
                if row >= rows[q]:
                    start = max(start, finish[q][row - rows[q]])
            own.append(start + per_item[s] * count + per_row[s])
    return np.array(finish, np.int64)


def without_idle_stages(graph: StageGraph, table: Ints, items: Ints) -> tuple[Ints, Ints]:
    """[n] bits of the stages that matter, and [stages, n] cycles from each one's last finish to that of those behind.

    A stage q with no reader that matters does not matter itself if it is never slower than the stage p that feeds it,
    and if its buffer hides the delay: slowest_q <= fastest_p and depth_p + slowest_q <= (rows_q - 1) * fastest_p. Then
    q never waits for its own previous row, and p never waits for q: from p's finish of row b over q's rows b .. c to
    p's start of row c + rows_q it takes depth_p and c - b + 1 rows of q at most, less than the c - b + rows_q - 1 rows
    that p itself serves in between. The first stage always matters, and so does the reader of items.
    """
    per_item, per_row, depth, rows = table
    least, most, last = items.min(), items.max(), items[-1]
    kept = np.full(table.shape[2], (1 << table.shape[1]) - 1)
    tails = np.zeros_like(per_item)
    for q in range(table.shape[1] - 1, 0, -1):
        if q == graph.items_reader:
            continue
        p = graph.feeders[q]
        readers = sum(1 << s for s, feeder in enumerate(graph.feeders) if feeder == q)
        slowest = per_item[q] * most + per_row[q]
        fastest = per_item[p] * least + per_row[p]
        idle = (kept & readers == 0) & (slowest <= fastest)
        idle &= depth[p] + slowest <= (rows[q] - 1) * fastest
        kept = kept - (idle << q)
        tail = depth[p] + per_item[q] * last + per_row[q] + tails[q]
        tails[p] = np.where(idle, np.maximum(tails[p], tail), tails[p])
    return kept, tails


def _last_finishes(graph: StageGraph, table: Ints, left: list[int], items: Ints, release: Ints | None) -> Ints:
    """[n, stages] finishes of the last row; `table` [4, stages, n] has the stages at the places `left` of the graph."""
    if len(left) == 1:  # the first stage alone never waits
        return (table[0] * items.sum() + table[1] * len(items)).T
    feeders = np.array([left.index(p) if (p := graph.feeders[s]) >= 0 else -1 for s in left])
    if graph.items_reader is None or release is None:
        items_reader, release = 0, np.full(len(items), -1, np.int64)
    else:
        items_reader = left.index(graph.items_reader)
    distinct, inverse = distinct_columns(table.transpose(2, 1, 0).reshape(table.shape[2], -1))
    # Designs with equal buffers run side by side: their rows of the recurrence are one vector operation.
    order = np.lexsort(distinct[:, 3::4].T)
    # No finish is later than that of stages that never overlap: below 2**24 float32 holds every count exactly, in
    # vectors twice as wide as those of float64, which does below 2**53.
    serial = len(items) * (distinct[:, 1::4] + distinct[:, 2::4]).sum(axis=1)
    wide = (serial + items.sum() * distinct[:, 0::4].sum(axis=1))[order] >= 1 << 24
    result = np.empty((len(distinct), len(left)), np.int64)
    for real, here in (("float32", order[~wide]), ("float64", order[wide])):
        if len(here):
            numbers = distinct[here].astype(real)
            result[here] = _recurrence(numbers, feeders, items.astype(real), release, items_reader)
    return result[inverse]


def distinct_columns(table: Ints) -> tuple[Ints, Ints]:
    """Distinct rows of a table and the inverse, where a row fits in one integer; else the table as it is."""
    low = table.min(axis=0, initial=0)
    bits = [int(span).bit_length() for span in table.max(axis=0, initial=0) - low]
    if sum(bits) > 62:
        return table, np.arange(len(table))
    key = np.zeros(len(table), np.int64)
    for column, (least, width) in enumerate(zip(low, bits, strict=True)):
        key = (key << width) | (table[:, column] - least)
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return table[first], inverse


LANES = 128
"""Designs that the compiled recurrence works on side by side: enough to hide the fixed cost of a row."""

Reals = NDArray[np.float32] | NDArray[np.float64]


@numba.njit(cache=True)
def _recurrence(
    table: Reals, feeders: Ints, items: Reals, release: Ints, items_reader: int
) -> Reals:  # pragma: no cover - compiled
    """[n, stages] finishes of the last row. table is [n, 4 * stages], with designs grouped by their buffers."""
    result = np.zeros((len(table), len(feeders)), table.dtype)
    first = 0
    while first < len(table):
        end = first + 1
        while end < min(first + LANES, len(table)) and _same_buffers(table, first, end):
            end += 1
        _side_by_side(table[first:end], feeders, items, release, items_reader, result[first:end])
        first = end
    return result


@numba.njit(cache=True)
def _same_buffers(table: Reals, one: int, other: int) -> bool:  # pragma: no cover - compiled
    return bool(np.all(table[one, 3::4] == table[other, 3::4]))


@numba.njit(cache=True)
def _side_by_side(
    table: Reals, feeders: Ints, items: Reals, release: Ints, items_reader: int, result: Reals
) -> None:  # pragma: no cover - compiled
    """Last finishes of up to LANES designs with the same buffers.

    `finish` is flat: LANES designs a row, and for each stage as many rows as `_rings` gives. Then comes a row of zeros,
    for a stage without a feeder and a buffer that is not yet full, and a row for `_hold`.
    """
    stages, nodes = len(feeders), len(items)
    count, readers, rows = _readers(feeders, table[0])
    place, mask = _rings(table[0], release, items_reader)
    zeros = place[stages]
    held = zeros + LANES
    finish = np.zeros(held + LANES, table.dtype)
    column = np.zeros((3 * stages + 1) * LANES, table.dtype)
    for lane in range(LANES):
        design = min(lane, len(table) - 1)
        for s in range(stages):
            for c in range(3):
                column[(3 * s + c) * LANES + lane] = table[design, 4 * s + c]
    for i in range(nodes):
        for s in range(stages):
            own = place[s] + ((i - 1) & mask[s]) * LANES if i > 0 else zeros
            arrival, depth = zeros, 3 * stages * LANES
            if s > 0:
                arrival, depth = place[feeders[s]] + (i & mask[feeders[s]]) * LANES, (3 * feeders[s] + 2) * LANES
            elif release[i] >= 0:
                arrival = place[items_reader] + (release[i] & mask[items_reader]) * LANES
            one, two = zeros, zeros
            for reader in range(count[s]):
                if i >= rows[s, reader]:
                    q = readers[s, reader]
                    free = place[q] + ((i - rows[s, reader]) & mask[q]) * LANES
                    if reader == 0:
                        one = free
                    elif reader == 1:
                        two = free
                    else:
                        _hold(finish, held, own, free)
                        own = held
            waits = Waits(np.uint64(own), np.uint64(arrival), np.uint64(depth), np.uint64(one), np.uint64(two))
            here, service = np.uint64(place[s] + (i & mask[s]) * LANES), np.uint64(3 * s * LANES)
            _serve(finish, column, here, waits, service, items[i])
    for lane in range(len(table)):
        for s in range(stages):
            result[lane, s] = finish[place[s] + ((nodes - 1) & mask[s]) * LANES + lane]


@numba.njit(cache=True)
def _rings(design: Reals, release: Ints, items_reader: int) -> tuple[Ints, Ints]:  # pragma: no cover - compiled
    """[stages + 1] where each stage's last finishes begin, and [stages] the mask of a row's place among them.

    A stage keeps the rows that another one may wait for. Their number is a power of two, and at least two: `_serve`
    only becomes vector code if no row is written while it is read.
    """
    stages = len(design) // 4
    place, mask = np.zeros(stages + 1, np.int64), np.zeros(stages, np.int64)
    for s in range(stages):
        kept = np.int64(design[4 * s + 3])
        if s == items_reader:
            for i in range(len(release)):
                if release[i] >= 0:
                    kept = max(kept, i - release[i])
        ring = 2
        while ring < kept:
            ring *= 2
        mask[s] = ring - 1
        place[s + 1] = place[s] + ring * LANES
    return place, mask


@numba.njit(cache=True)
def _readers(feeders: Ints, design: Reals) -> tuple[Ints, Ints, Ints]:  # pragma: no cover - compiled
    """[stages] how many read each stage, [stages, stages] which ones, and the rows of the buffers between."""
    count = np.zeros(len(feeders), np.int64)
    readers = np.zeros((len(feeders), len(feeders)), np.int64)
    rows = np.zeros((len(feeders), len(feeders)), np.int64)
    for s in range(1, len(feeders)):
        p = feeders[s]
        readers[p, count[p]] = s
        rows[p, count[p]] = np.int64(design[4 * s + 3])
        count[p] += 1
    return count, readers, rows


@numba.njit(cache=True)
def _hold(finish: Reals, held: int, own: int, free: int) -> None:  # pragma: no cover - compiled
    """The later of two rows of `finish`, for stages with more than the two readers that `_serve` takes."""
    for lane in range(LANES):
        finish[held + lane] = max(finish[own + lane], finish[free + lane])


class Waits(NamedTuple):
    """Where the times are that a row waits for, as unsigned places: indices cannot wrap around.

    Attributes:
        own: the stage's previous row; arrival: the row of the stage that feeds it, `depth` cycles later.
        one, two: rows that make room in the buffers behind.
    """

    own: np.uint64
    arrival: np.uint64
    depth: np.uint64
    one: np.uint64
    two: np.uint64


@numba.njit(cache=True, fastmath=True)
def _serve(
    finish: Reals, column: Reals, here: np.uint64, waits: Waits, service: np.uint64, count: float
) -> None:  # pragma: no cover - compiled
    """Serve a row of `count` items; arrays are passed whole, because views are reference-counted."""
    for lane in range(np.uint64(LANES)):
        start = finish[waits.own + lane]
        arrived = finish[waits.arrival + lane] + column[waits.depth + lane]
        start = arrived if arrived > start else start
        free = finish[waits.one + lane]
        start = free if free > start else start
        free = finish[waits.two + lane]
        start = free if free > start else start
        finish[here + lane] = start + column[service + lane] * count + column[service + np.uint64(LANES) + lane]
