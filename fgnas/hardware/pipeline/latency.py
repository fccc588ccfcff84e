"""Cycles of the whole kernel on the whole graph, from the accepted start write to the interrupt.

Against the reference memory (addresses and write data always accepted, first read beat `READ_LATENCY` cycles
after the address, a beat a cycle from there, write response `WRITE_LATENCY` cycles after the last beat) this is
not an estimate: it is the recurrence that the RTL's hand-shakes implement, and the simulation counts the same.

Inside a phase, stage s works on row i from

    start_s(i) = max(finish_s(i-1), finish_p(i) + depth_p, finish_q(i - rows_q) for every stage q behind s)

for `service_s(i)` cycles, p being the stage before s: a stage waits for its own previous row, for its input row to
have left the pipeline before it, and for a free row in each buffer behind it, which the buffer's reader frees with
its last read. Stages form a chain, but linear feeds both store and score where the layer attends.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field

import numba
import numpy as np
from numpy.typing import NDArray

from fgnas.hardware.pipeline.geometry import (
    Bools,
    GraphShape,
    Ints,
    LayerGeometry,
    bias_beats,
    part,
    score_beats,
    weight_beats,
)
from fgnas.hardware.pipeline.memories import RING_ROWS, output_rows
from fgnas.hardware.pipeline.packing import pack_rows
from fgnas.tasks.nodes import GraphData

READ_LATENCY = 16
WRITE_LATENCY = 4

# Pipeline depths of the RTL (templates/rtl), in cycles from a stage's last issue of a row to the cycle in which
# the next stage sees the row, less one.
LINEAR_DEPTH = 9
AGGREGATE_DEPTH = 7
DIVIDER_EXTRA_DEPTH = 2
ROW_MAXIMUM_DEPTH = 5
ACTIVATE_DEPTH = 3
HEAD_MEAN_DEPTH = 3

START_CYCLES = 3
"""From the accepted start write to the first cycle of the load phase."""
FETCH_CYCLES = 4
"""From a phase's first cycle to its first beat at a stage, beyond the memory's read latency."""
ASK_CYCLES = 1
"""Of these, those until it has asked for that beat."""
TURN_CYCLES = 1
"""From the end of a phase's last stage to the first cycle of the next phase."""
FINISH_CYCLES = 4
"""From the last write beat's response to the interrupt."""


@dataclass(frozen=True, eq=False)
class Workload:
    """What of a graph the latency depends on: N rows, their non-zeros and their neighbourhoods.

    `ring_release[i]` is the row whose edges must have left gat's ring before row i may start: the last one with
    more edges between its start and row i than the ring holds beside the longest row; -1 where there is none.
    """

    non_zeros: NDArray[np.int64]
    degrees: NDArray[np.int64]
    degree_capacity: int
    ring_release: NDArray[np.int64] = field(init=False)
    _row_beats: dict[int, Ints] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        before = np.concatenate([[0], np.cumsum(self.degrees)])
        # Rows j .. i-1 hold before[i] - before[j] edges: too many for every j below the first that fits.
        room = (RING_ROWS - 1) * self.degree_capacity
        first_fit = np.searchsorted(before, before[:-1] - room, side="left")
        object.__setattr__(self, "ring_release", first_fit.astype(np.int64) - 1)

    @classmethod
    def of(cls, data: GraphData) -> Workload:
        """The workload of a dataset."""
        return cls(data.non_zeros, data.degrees, GraphShape.of(data).degree_capacity)

    @property
    def nodes(self) -> int:
        """N."""
        return len(self.degrees)

    def row_beats(self, t_in: int) -> Ints:
        """[N] feature beats that the first layer serves each row in; worked out once for each t_in."""
        if t_in not in self._row_beats:
            self._row_beats[t_in] = pack_rows(self.non_zeros, t_in).row_beats
        return self._row_beats[t_in]


def divider_depth(layer: LayerGeometry) -> Ints:
    """Stages of the divider behind a mean or gat: one for each quotient bit, and two for the rounding.

    The denominator of gat's mean takes one more.
    """
    divides = layer.mean | layer.gat
    return np.where(divides, layer.y_bits + DIVIDER_EXTRA_DEPTH + (layer.mean & layer.gat), 0)


def latency_cycles(layers: list[LayerGeometry], workload: Workload, read_latency: int = READ_LATENCY) -> Ints:
    """[n] cycles of n designs on one graph."""
    if workload.nodes == 0:
        return np.full(len(layers[0].k), START_CYCLES + FINISH_CYCLES, np.int64)
    return sum(phase_cycles(layers, workload, read_latency), np.zeros_like(layers[0].k))


def phase_cycles(layers: list[LayerGeometry], workload: Workload, read_latency: int = READ_LATENCY) -> list[Ints]:
    """[n] cycles of each phase, one node at least: load, one for each layer, output. Together they are the latency:
    a phase's fetch and turn count to it, what goes before the load and after the last beat to these two.
    """
    fetch = read_latency + FETCH_CYCLES
    hidden = [
        fetch + _hidden_phase(layer, following, workload) + TURN_CYCLES
        for layer, following in zip(layers, layers[1:], strict=False)
    ]
    return [
        START_CYCLES + fetch + parameter_beats(layers),
        fetch + _first_phase(layers[0], workload) + TURN_CYCLES,
        *hidden,
        fetch + _output_phase(layers[-1], workload) + WRITE_LATENCY + FINISH_CYCLES,
    ]


def parameter_beats(layers: list[LayerGeometry]) -> Ints:
    """[n] beats of the parameter region: LayerAccelerator.parameter_words says what is in them."""
    beats = np.zeros_like(layers[0].k)
    for layer in layers:
        beats = beats + weight_beats(layer) + score_beats(layer) + bias_beats(layer)
    return beats


@dataclass(frozen=True)
class Stage:
    """One stage of a phase, over designs.

    Attributes:
        per_edge, per_row: the stage serves row i in per_edge * weight_i + per_row cycles, weight_i being the row's
            edges (feature beats in phase 0, see `Packing.row_beats`).
        depth: cycles of its pipeline.
        rows: rows that the buffer before it holds.
        before: index of the stage that feeds it; -1 for the first.
        name: what docs/accelerator.md calls it.
    """

    per_edge: Ints
    per_row: Ints
    depth: Ints
    rows: Ints
    before: int
    name: str = ""


def _first_phase(layer: LayerGeometry, workload: Workload) -> Ints:
    """[n] cycles from the first feature beat to the last word of H and the last score."""
    result = np.zeros_like(layer.k)
    for t_in in np.unique(layer.t_in):
        beats = workload.row_beats(int(t_in))
        here = layer.t_in == t_in
        # Store keeps up with linear; where the rows of its buffer also cover its latency, linear never waits.
        result[here] = (beats.sum() * layer.out_tiles + LINEAR_DEPTH + layer.h_words)[here]
        waits = (layer.store_rows - 1) * layer.out_tiles < LINEAR_DEPTH + layer.h_words
        for scores, chosen in ((False, waits & ~layer.gat), (True, layer.gat)):
            if (some := here & chosen).any():
                result[some] = pipeline_cycles(first_stages(layer, scores), beats, some)
    return result


def _hidden_phase(layer: LayerGeometry, following: LayerGeometry, workload: Workload) -> Ints:
    """[n] cycles of [row maximum ->] aggregate -> activate -> linear -> store [and score]."""
    stages = functools.partial(hidden_stages, layer, following)
    return _by_topology(stages, layer.gat, following.gat, workload)


def _output_phase(layer: LayerGeometry, workload: Workload) -> Ints:
    """[n] cycles of [row maximum ->] aggregate -> head mean and bias -> write, to the last write beat."""
    return _by_topology(
        lambda attends, scores: output_stages(layer, attends), layer.gat, np.zeros_like(layer.gat), workload
    )


def first_stages(layer: LayerGeometry, scores: bool) -> list[Stage]:
    """The stages of phase 0; a row weighs its feature beats."""
    zero = np.zeros_like(layer.k)
    found = [
        Stage(layer.out_tiles, zero, zero + LINEAR_DEPTH, zero + 1, -1, "linear"),
        Stage(zero, layer.h_words, zero, layer.store_rows, 0, "store"),
    ]
    return [*found, _score(layer, 0)] if scores else found


def hidden_stages(layer: LayerGeometry, following: LayerGeometry, attends: bool, scores: bool) -> list[Stage]:
    """The stages between two layers; a row weighs its edges. Linear, store and score are those of the second."""
    zero = np.zeros_like(layer.k)
    found = _aggregation(layer, attends)
    last = len(found) - 1
    found.append(Stage(zero, layer.act_tiles, zero + ACTIVATE_DEPTH, layer.aggr_rows, last, "activate"))
    service = following.in_groups * following.out_tiles
    found.append(Stage(zero, service, zero + LINEAR_DEPTH, layer.act_rows, last + 1, "linear"))
    found.append(Stage(zero, following.h_words, zero, following.store_rows, last + 2, "store"))
    return [*found, _score(following, last + 2)] if scores else found


def output_stages(layer: LayerGeometry, attends: bool) -> list[Stage]:
    """The stages of the output phase; a row weighs its edges."""
    zero = np.zeros_like(layer.k)
    found = _aggregation(layer, attends)
    last = len(found) - 1
    found.append(Stage(zero, layer.aggr_tiles, zero + HEAD_MEAN_DEPTH, layer.aggr_rows, last, "head mean"))
    return [*found, Stage(zero, layer.logit_beats, zero, output_rows(layer.logit_beats), last + 1, "write")]


def _aggregation(layer: LayerGeometry, attends: bool) -> list[Stage]:
    """The aggregation, and the row maximum before it where the layer attends."""
    zero = np.zeros_like(layer.k)
    depth = AGGREGATE_DEPTH + divider_depth(layer)
    if not attends:
        return [Stage(layer.aggr_tiles, zero, depth, zero + 1, -1, "aggregate")]
    return [
        Stage(layer.head_groups, zero, zero + ROW_MAXIMUM_DEPTH, zero + 1, -1, "row maximum"),
        Stage(layer.aggr_tiles, zero, depth, layer.maximum_rows, 0, "aggregate"),
    ]


def _score(layer: LayerGeometry, before: int) -> Stage:
    zero = np.zeros_like(layer.k)
    return Stage(zero, 2 * layer.k * layer.score_tiles, zero, layer.score_rows, before, "score")


def _by_topology(
    stages: Callable[[bool, bool], list[Stage]], attends: Bools, scores: Bools, workload: Workload
) -> Ints:
    """[n] cycles, designs with the same stages together."""
    result = np.zeros(len(attends), np.int64)
    for attending in (False, True):
        for scoring in (False, True):
            here = (attends == attending) & (scores == scoring)
            if here.any():
                release = workload.ring_release if attending else None
                result[here] = pipeline_cycles(stages(attending, scoring), workload.degrees, here, release)
    return result


def pipeline_cycles(
    stages: list[Stage], weights: Ints, chosen: Bools | None = None, ring_release: Ints | None = None
) -> Ints:
    """[n] cycles of a phase over N rows of `weights`, from its first start to its last finish.

    With `chosen` [designs] only of those designs. With `ring_release` the first stage besides starts row i only
    when the second has finished row ring_release[i]. Equal designs are worked out once.
    """
    if chosen is not None:
        stages = [part(stage, chosen) for stage in stages]
    kept, tails = _without_idle_stages(stages, weights, 1 if ring_release is None else 2)
    result = np.zeros(len(tails[0]), np.int64)
    for signature in np.unique(kept):
        here = kept == signature
        left = [s for s in range(len(stages)) if signature >> s & 1]
        found = _last_finishes([part(stages[s], here) for s in left], left, weights, ring_release)
        for s, finish in zip(left, found.T, strict=True):
            result[here] = np.maximum(result[here], finish + tails[s][here])
    return result


def _without_idle_stages(stages: list[Stage], weights: Ints, needed: int) -> tuple[Ints, list[Ints]]:
    """[n] bits of the stages that matter, and of each stage [n] cycles from its last finish to that of those behind.

    A stage q with none behind it that matters does not matter itself if it is never slower than the stage p that
    feeds it, and if its buffer hides the way: slowest_q <= fastest_p and depth_p + slowest_q <= (rows_q - 1) *
    fastest_p. Then q never has to wait for its own row before, and p never for q: from p's finish of row b over q's
    rows b .. c to p's start of row c + rows_q it takes depth_p and c - b + 1 rows of q at most, less than the
    c - b + rows_q - 1 rows that p itself serves in between. The first `needed` stages always count as mattering.
    """
    least, most, last = weights.min(), weights.max(), weights[-1]
    kept = np.full(len(stages[0].per_edge), (1 << len(stages)) - 1)
    tails = [np.zeros_like(kept) for _ in stages]
    for q in range(len(stages) - 1, needed - 1, -1):
        stage, feeding = stages[q], stages[p := stages[q].before]
        behind = sum(1 << s for s in range(q + 1, len(stages)) if stages[s].before == q)
        slowest = stage.per_edge * most + stage.per_row
        fastest = feeding.per_edge * least + feeding.per_row
        idle = (kept & behind == 0) & (slowest <= fastest)
        idle &= feeding.depth + slowest <= (stage.rows - 1) * fastest
        kept = kept - (idle << q)
        tail = feeding.depth + stage.per_edge * last + stage.per_row + tails[q]
        tails[p] = np.where(idle, np.maximum(tails[p], tail), tails[p])
    return kept, tails


def _last_finishes(stages: list[Stage], left: list[int], weights: Ints, ring_release: Ints | None) -> Ints:
    """[n, stages] finishes of the last row; `left` are the places that `before` counts in."""
    columns = [column for stage in stages for column in (stage.per_edge, stage.per_row, stage.depth, stage.rows)]
    before = np.array([left.index(stage.before) if stage.before >= 0 else -1 for stage in stages])
    release = np.full(len(weights), -1, np.int64) if ring_release is None else ring_release
    distinct, inverse = _distinct(np.stack(columns, axis=1))
    # Designs with equal buffers run side by side: their rows of the recurrence are one vector operation.
    order = np.lexsort(distinct[:, 3::4].T)
    # No finish is later than that of stages that never overlap: below 2**24 float32 holds every count exactly, in
    # vectors twice as wide as those of float64, which does below 2**53.
    serial = len(weights) * (distinct[:, 1::4] + distinct[:, 2::4]).sum(axis=1)
    wide = (serial + weights.sum() * distinct[:, 0::4].sum(axis=1))[order] >= 1 << 24
    result = np.empty((len(distinct), len(stages)), np.int64)
    for real, here in (("float32", order[~wide]), ("float64", order[wide])):
        if len(here):
            result[here] = _recurrence(distinct[here].astype(real), before, weights.astype(real), release)
    return result[inverse]


def _distinct(table: Ints) -> tuple[Ints, Ints]:
    """Distinct rows and the inverse, where a row fits in one integer; else the table as it is."""
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
"""Designs that the compiled recurrence works on side by side: as many as hide what a row costs beside them."""

Reals = NDArray[np.float32] | NDArray[np.float64]


@numba.njit(cache=True)
def _recurrence(table: Reals, before: Ints, weights: Reals, release: Ints) -> Reals:  # pragma: no cover - compiled
    """[n, stages] finishes of the last row. table is [n, 4 * stages]; designs with the same buffers lie together."""
    result = np.zeros((len(table), len(before)), table.dtype)
    first = 0
    while first < len(table):
        end = first + 1
        while end < min(first + LANES, len(table)) and _same_buffers(table, first, end):
            end += 1
        _side_by_side(table[first:end], before, weights, release, result[first:end])
        first = end
    return result


@numba.njit(cache=True)
def _same_buffers(table: Reals, one: int, other: int) -> bool:  # pragma: no cover - compiled
    return bool(np.all(table[one, 3::4] == table[other, 3::4]))


@numba.njit(cache=True)
def _side_by_side(
    table: Reals, before: Ints, weights: Reals, release: Ints, result: Reals
) -> None:  # pragma: no cover - compiled
    """Last finishes of up to LANES designs with the same buffers.

    `finish` is flat: for each stage the last rows that a stage may wait for, a power of two of them, LANES designs a
    row; it ends with a row of zeros, what a stage without a neighbour, or a buffer that is not yet full, waits for.
    No row is written while it is read, two of each stage at least, or `_serve` would not become vector code.
    """
    stages, nodes = len(before), len(weights)
    behind = _stages_behind(before, table[0])
    place, mask = np.zeros(stages + 1, np.int64), np.zeros(stages, np.int64)
    for s in range(stages):
        kept = np.int64(table[0, 4 * s + 3])
        if s == 1:
            for i in range(nodes):
                if release[i] >= 0:
                    kept = max(kept, i - release[i])
        ring = 2
        while ring < kept:
            ring *= 2
        mask[s] = ring - 1
        place[s + 1] = place[s] + ring * LANES
    zeros = place[stages]
    finish = np.zeros(zeros + LANES, table.dtype)
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
                arrival, depth = place[before[s]] + (i & mask[before[s]]) * LANES, (3 * before[s] + 2) * LANES
            elif release[i] >= 0:
                arrival = place[1] + (release[i] & mask[1]) * LANES
            one, two = zeros, zeros
            if i >= behind[s, 0, 1]:
                one = place[behind[s, 0, 0]] + ((i - behind[s, 0, 1]) & mask[behind[s, 0, 0]]) * LANES
            if i >= behind[s, 1, 1]:
                two = place[behind[s, 1, 0]] + ((i - behind[s, 1, 1]) & mask[behind[s, 1, 0]]) * LANES
            _serve(
                finish, column, np.uint64(place[s] + (i & mask[s]) * LANES), np.uint64(own), np.uint64(arrival),
                np.uint64(one), np.uint64(two), np.uint64(depth), np.uint64(3 * s * LANES), weights[i],
            )  # fmt: skip
    for lane in range(len(table)):
        for s in range(stages):
            result[lane, s] = finish[place[s] + ((nodes - 1) & mask[s]) * LANES + lane]


@numba.njit(cache=True)
def _stages_behind(before: Ints, design: Reals) -> Ints:  # pragma: no cover - compiled
    """[stages, 2, 2] the stages behind each stage, two at most, and the rows of the buffer between."""
    never = np.int64(1) << 40
    found = np.zeros((len(before), 2, 2), np.int64)
    found[:, :, 1] = never
    for s in range(1, len(before)):
        place = 0 if found[before[s], 0, 1] == never else 1
        found[before[s], place, 0] = s
        found[before[s], place, 1] = np.int64(design[4 * s + 3])
    return found


@numba.njit(cache=True, fastmath=True)
def _serve(
    finish: Reals, column: Reals, here: np.uint64, own: np.uint64, arrival: np.uint64, one: np.uint64,
    two: np.uint64, depth: np.uint64, service: np.uint64, weight: float,
) -> None:  # fmt: skip  # pragma: no cover - compiled
    """Start after the own row before, the arrival, and the buffers behind; then serve.

    Places are unsigned, so that nothing wraps around, and the arrays are whole: views would be counted references.
    """
    for lane in range(np.uint64(LANES)):
        start = finish[own + lane]
        arrived = finish[arrival + lane] + column[depth + lane]
        start = arrived if arrived > start else start
        free = finish[one + lane]
        start = free if free > start else start
        free = finish[two + lane]
        start = free if free > start else start
        finish[here + lane] = start + column[service + lane] * weight + column[service + np.uint64(LANES) + lane]
