"""Pricing: cycles and memories of many networks on many engines at once, on one graph.

A phase's cycles depend on the graph and on a few numbers: the mode, T, and the elements of a row. Each combination is
packed and stepped through once a graph (`fgnas.hardware.array.cycles`); after that a design is a sum of known phases.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fgnas.design import MOST_BITS
from fgnas.hardware import wire
from fgnas.hardware.array.area import EngineColumns, lut_ff, mode_columns, shift_columns
from fgnas.hardware.array.cycles import (
    DECODE_CYCLES,
    FINISH_CYCLES,
    RESULT_CYCLES,
    Stream,
    compute_cycles,
    dense_ends,
    pair_ends,
    result_cycles,
)
from fgnas.hardware.array.dealing import Deal, Ints, deal
from fgnas.hardware.array.encoding import part_of, sliced
from fgnas.hardware.array.engine import (
    LANES,
    MOST_TILES,
    QUEUE_WORDS,
    copy_banks,
    copy_of,
    dsps_of,
    load_steps,
    results_together,
    rows_held,
    table_banks,
    table_writes,
    words_loaded_together,
)
from fgnas.hardware.array.lowering import (
    LOADS,
    descriptors,
    own_depth,
    own_elements,
    partial_depth,
    programme_depth,
    row_words,
    table_depth,
)
from fgnas.hardware.array.packing import Schedule, pack
from fgnas.hardware.array.programme import (
    NARROW_BITS,
    Target,
    beats_per_slot_row,
    descriptor_beats,
    slot_rows_per_beat,
)
from fgnas.hardware.array.resources import block_rams
from fgnas.hardware.array.sharing import pack_shared
from fgnas.hardware.pipeline.geometry import ceil_div
from fgnas.hardware.pipeline.latency import FETCH_CYCLES, READ_LATENCY, START_CYCLES
from fgnas.hardware.pipeline.resources import DEFAULT_FAMILY
from fgnas.tasks.nodes import GraphData

NEVER = 1 << 40
"""Cycles of a phase that no engine has."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Networks on engines, [n] each.

    Attributes:
        units: S.
        features: width of H of every layer, in order; the last one's is the number of classes, of each head.
        columns: n of every hidden layer's aggregation.
        weighted: whether the messages of every layer have coefficients.
        bits: width of the numbers.
        tables: words of all activation tables.
        passes: those of the first layer, see `LayerPlan`.
        results: words of H that go to the tables in a cycle, see `Engine`.
        maximum: whether some layer reduces by its maximum.
        sum_bits: width of a lane's sum.
        shifts: right shifts behind the sums; equal ones count once.
        heads: of every layer whose messages are weighted by scores, 0 for other layers; empty where no network has one.
            Then `features` are those of all heads, without padding.
        vectors: of every layer that its scores multiply H with, see `fgnas.design.VECTORS`; as long as `heads`.
        exponential_halves: RAMB18s of a unit's exponentials.
        averaged: heads of the last layer, see `LayerPlan.heads`.
        slices: those of the first layer, see `LayerPlan`; None where no network has several.
        finished: lanes of a total that a unit's epilogue finishes in a cycle, see `Engine`; None is all of them.
        whole: whether memories have powers of two as depths, see `table_depth`.
        denominator_bits, mean, symmetric, exponentials, dot: those of attention, see `EngineColumns`.
        seconds: which layers are second products, the same of all networks; none where empty.
        added: whether the last layer adds heads, which needs no multiplication.
        blocks: those of every layer, see `LayerPlan`; None where H comes whole in all networks. Without heads that
            are averaged or have scores, and without slices.
        dots: of every layer whether edges have scores of their own; empty where no network has such a layer.
        pairs: of every such layer whether they are made of functions of two nodes' features; as long as `dots`.
        shared: units that read one table, see `Engine`.
    """

    units: Ints
    features: Sequence[Ints]
    columns: Sequence[Ints]
    weighted: Sequence[NDArray[np.bool_]]
    bits: Ints
    tables: Ints
    passes: Ints
    results: Ints
    maximum: NDArray[np.bool_]
    sum_bits: Ints
    shifts: Sequence[Ints]
    heads: Sequence[Ints] = ()
    vectors: Sequence[Ints] = ()
    exponential_halves: Ints | int = 0
    averaged: Ints | int = 1
    slices: Ints | None = None
    finished: Ints | None = None
    whole: NDArray[np.bool_] | bool = False
    denominator_bits: Ints | int = 0
    mean: Ints | int = 0
    symmetric: Ints | int = 0
    exponentials: Ints | int = 0
    dot: Ints | int = 0
    seconds: Sequence[bool] = ()
    blocks: Ints | None = None
    dots: Sequence[Ints] = ()
    pairs: Sequence[Ints] = ()
    added: bool = False
    shared: Ints | int = 1


@dataclass(frozen=True, eq=False)
class ArrayPrices:
    """Costs of n candidates, [n] each.

    Attributes:
        cycles: from the accepted start write to the interrupt; where units share tables the least, as if none waited,
            unless the pricer counts what they wait.
        multipliers: P.
        multiplications: those that the network needs on the graph.
        table_words, own_words: words of a unit's table and own rows that are used.
        bram36: block RAMs of the smallest engine, halves counted.
        lut, ff: those of the smallest engine, by the model of its modules.
        tiles: words of the longest row that a unit holds or makes.
        activation_words: words of all activation tables.
        memory_bytes: bytes that the kernel reads and writes: programme, parameters, streams and logits.
    """

    cycles: Ints
    multipliers: Ints
    multiplications: Ints
    table_words: Ints
    own_words: Ints
    bram36: NDArray[np.float64]
    lut: Ints
    ff: Ints
    tiles: Ints
    activation_words: Ints
    memory_bytes: Ints

    @property
    def dsp(self) -> Ints:
        """DSP slices."""
        found: Ints = dsps_of(self.multipliers)
        return found


FEATURES = -1
"""The rows of X, in the place of a graph."""
ALONE = -2
"""The graph of a second product: every row receives from itself alone."""


class ArrayPricer:
    """Prices networks of one number of layers after the other, on one graph, behind a port of `beat_bits`.

    It prices engines with the usual entries, or with `wide` ones (see `Engine.wide`): streams have as many beats. With
    `further`, the graphs of the layers behind the first, it prices networks of as many layers alone. With `waits` it
    packs every stream of units that share tables, without slices and blocks: that takes its time, and their cycles and
    bytes are exact.
    """

    def __init__(
        self, data: GraphData, read_latency: int = READ_LATENCY, beat_bits: int = wire.BEAT_BITS,
        family: str = DEFAULT_FAMILY, further: Sequence[GraphData] = (), wide: bool = False, waits: bool = False,
    ) -> None:  # fmt: skip
        self.data, self.read_latency, self.beat_bits, self.family = data, read_latency, beat_bits, family
        self.wide, self.waits = wide, waits
        self.graphs = (data, *further)
        self._deal = functools.cache(self._deal_rows)
        self._phase = functools.cache(self._phase_cycles)
        self._beats = functools.cache(self._phase_beats)
        self._score = functools.cache(self._score_cycles)
        self._maximum = functools.cache(self._maximum_cycles)
        self._slice = functools.cache(self._slice_costs)
        self._combined_block = functools.cache(self._combined_block_costs)
        self._gathered_block = functools.cache(self._gathered_block_costs)
        self._query = functools.cache(self._query_costs)
        self._edge_score = functools.cache(self._edge_score_cycles)
        self._pair = functools.cache(self._pair_costs)
        self._first_of_shared = functools.cache(self._first_costs_of_shared)
        self._messages_of_shared = functools.cache(self._message_costs_of_shared)

    def _graphs(self, seconds: Sequence[bool]) -> list[int]:
        """The graph of each layer, some of which are second products."""
        firsts = np.cumsum(~np.array(seconds)) - 1
        return [ALONE if second else self._graph(int(at)) for second, at in zip(seconds, firsts, strict=True)]

    def _packed(self, takers: int) -> tuple[int, int]:
        """Beats of a slot row, and slot rows of a beat."""
        bits = MOST_BITS if self.wide else NARROW_BITS
        return beats_per_slot_row(takers, self.beat_bits, bits), slot_rows_per_beat(takers, self.beat_bits, bits)

    def _graph(self, layer: int) -> int:
        """The place of the graph of a design's layer, the first of equal ones."""
        own = self.graphs[layer if len(self.graphs) > 1 else 0]
        return next(place for place, one in enumerate(self.graphs) if one is own)

    def _lengths(self, graph: int) -> Ints:
        """[N] entries of the rows of a graph, or of FEATURES or ALONE."""
        if graph == ALONE:
            return np.ones(self.data.nodes, np.int64)
        return self.data.non_zeros if graph == FEATURES else self.graphs[graph].degrees

    def _deal_rows(self, graph: int, groups: int) -> Deal:
        return deal(self._lengths(graph)[:, None], groups)

    def _phase_cycles(
        self, kind: str, graph: int, groups: int, tiles: int, elements: int, writes: int,
        latency: int = RESULT_CYCLES, before: int = 0, spacing: int = 1,
    ) -> int:  # fmt: skip
        """Cycles of a phase: "first", "dense", "own" or "logits". Every group is one taker. `graph` is that of an
        aggregation, for "dense" of the one before it.

        `elements`: of a row that a unit multiplies; of "logits", entries of an edge.
        `writes`: words that go to the tables in a cycle; `latency`, `before` and `spacing` as in `Stream`.
        """
        if tiles > MOST_TILES:
            return NEVER
        limit = rows_held(QUEUE_WORDS, tiles)
        if kind == "dense":
            rows = self._deal(graph, groups).depth
            stream = Stream(Target.TABLE, tiles, limit, 0, 0, writes, 0, latency, spacing)
            return compute_cycles(stream, dense_ends(rows, elements, groups), self.read_latency)
        target = {"first": Target.TABLE, "own": Target.OWN, "logits": Target.LOGITS}[kind]
        schedule = self._schedule(kind, graph, groups, tiles, max(1, elements))
        parts, together = self._packed(groups)
        results = writes if kind == "first" else results_together(groups, tiles, self.beat_bits)
        stream = Stream(target, tiles, limit, parts, together, results, before, latency, spacing)
        return compute_cycles(stream, schedule.last.astype(bool), self.read_latency)

    def _first_costs_of_shared(
        self, groups: int, n: int, tiles: int, writes: int, latency: int, spacing: int, places: int, shared: int
    ) -> tuple[int, int]:
        """Cycles of a first combination whose groups of n units share tables, and the beats that it reads."""
        if tiles > MOST_TILES:
            return NEVER, 0
        features = self.data.features
        index = features.indices.astype(np.int64) * tiles
        schedule = self._pack_shared(features.indptr, index, self._deal(FEATURES, groups), n, places, shared)
        parts, together = self._packed(groups)
        limit = rows_held(QUEUE_WORDS, tiles)
        stream = Stream(Target.TABLE, tiles, limit, parts, together, writes, 0, latency, spacing)
        return self._taken(stream, schedule)

    def _message_costs_of_shared(
        self, kind: str, graph: int, before: int, groups: int, n: int, combined_groups: int, tiles: int, heads: int,
        latency: int, spacing: int, places: int, shared: int,
    ) -> tuple[int, int]:  # fmt: skip
        """Cycles of an aggregation whose groups of n units share tables, and the beats that it reads and writes;
        `before` is the graph whose rows its combination has, `heads` are those that are averaged."""
        if tiles > MOST_TILES:
            return NEVER, 0
        combined, dealt = self._deal(before, combined_groups), self._deal(graph, groups)
        sources, _ = self._edges(graph)
        rows = combined.position[sources][:, None] + np.arange(heads) * combined.groups * combined.depth
        indptr = heads * np.concatenate([[0], np.cumsum(self._lengths(graph))])
        limit, logits = rows_held(QUEUE_WORDS, tiles), kind == "logits"
        schedule = self._pack_shared(
            indptr, rows.ravel() * tiles, dealt.backwards() if logits else dealt, n, places, shared,
            limit - 1 if logits else 0,
        )  # fmt: skip
        parts, together = self._packed(groups)
        results = results_together(groups, tiles, self.beat_bits)
        target = Target.LOGITS if logits else Target.OWN
        cycles, beats = self._taken(
            Stream(target, tiles, limit, parts, together, results, 0, latency, spacing), schedule
        )
        return cycles, beats + (groups * dealt.depth * tiles // results if logits else 0)

    def _pack_shared(
        self, indptr: Ints, index: Ints, dealt: Deal, n: int, places: int, shared: int, ordered: int = 0
    ) -> Schedule:
        """Slot rows of groups of n units that share tables, whose entries name the words `index`."""
        copies = copy_of(np.arange(dealt.groups) * n, places, shared)
        return pack_shared(indptr, index, dealt, 1, copies, int(copy_banks(self.beat_bits, shared)), ordered)

    def _taken(self, stream: Stream, schedule: Schedule) -> tuple[int, int]:
        """Cycles of a stream, and the beats that it reads."""
        cycles = compute_cycles(stream, schedule.last.astype(bool), self.read_latency)
        parts, together = self._packed(schedule.last.shape[1])
        return cycles, int(parts * schedule.slot_rows if parts > 1 else ceil_div(schedule.slot_rows, together))

    def _slice_costs(self, groups: int, tiles: int, slices: int, writes: int, latency: int) -> tuple[int, int]:
        """Cycles of a first combination in so many slices, and the beats that they read."""
        if tiles > MOST_TILES:
            return NEVER, 0
        limit, dealt = rows_held(QUEUE_WORDS, tiles), self._deal(FEATURES, groups)
        parts, together = self._packed(groups)
        features, cycles, beats = self.data.features, 0, 0
        for piece in range(slices):
            indptr, _, _ = sliced(features, ceil_div(self.data.width_in, slices), piece)
            schedule = pack(np.diff(indptr), dealt, 1)
            target, results = (Target.TABLE, writes) if piece == slices - 1 else (Target.PARTIAL, 1)
            stream = Stream(target, tiles, limit, parts, together, results, 0, latency)
            cycles += compute_cycles(stream, schedule.last.astype(bool), self.read_latency)
            beats += int(parts * schedule.slot_rows if parts > 1 else ceil_div(schedule.slot_rows, together))
        return cycles, beats

    def _combined(
        self, groups: Ints, tiles: Ints, slices: Ints, writes: Ints, latency: Ints
    ) -> tuple[Ints, Ints]:
        """[n] cycles and beats of one pass of the first combination of every candidate, some of which are sliced."""
        return _both(self._slice, groups, tiles, slices, writes, latency)

    def _block_rows(self, graph: int, groups: int, blocks: int) -> tuple[int, int]:
        """Rows of H that a group makes of a block, and how many blocks have rows."""
        depth = self._deal(graph, groups).depth
        rows = ceil_div(depth, blocks)
        return rows, ceil_div(depth, rows)

    def _combined_block_costs(
        self, graph: int, groups: int, tiles: int, elements: int, writes: int, latency: int, blocks: int
    ) -> tuple[int, int]:
        """Cycles of a combination of all blocks, and the beats that they read; `graph` is that of the aggregation
        before it, or FEATURES."""
        if tiles > MOST_TILES:
            return NEVER, 0
        dealt, limit, cycles, beats = self._deal(graph, groups), rows_held(QUEUE_WORDS, tiles), 0, 0
        rows, count = self._block_rows(graph, groups, blocks)
        parts, together = self._packed(groups)
        for block in range(count):
            if graph == FEATURES:
                nodes, here = part_of(dealt, rows, block)
                schedule = pack(self._lengths(FEATURES)[nodes], here, 1)
                ends = schedule.last.astype(bool)
                beats += int(parts * schedule.slot_rows if parts > 1 else ceil_div(schedule.slot_rows, together))
                stream = Stream(Target.TABLE, tiles, limit, parts, together, writes, 0, latency)
            else:
                ends = dense_ends(min(rows, dealt.depth - block * rows), elements, groups)
                stream = Stream(Target.TABLE, tiles, limit, 0, 0, writes, 0, latency)
            cycles += compute_cycles(stream, ends, self.read_latency)
        return cycles, beats

    def _gathered_block_costs(
        self, kind: str, graph: int, before: int, groups: int, combined_groups: int, tiles: int, latency: int,
        blocks: int,
    ) -> tuple[int, int]:  # fmt: skip
        """Cycles of an aggregation of all blocks, and the beats that they read and write; `before` is the graph whose
        rows its combination has."""
        if tiles > MOST_TILES:
            return NEVER, 0
        combined, dealt = self._deal(before, combined_groups), self._deal(graph, groups)
        rows, count = self._block_rows(before, combined_groups, blocks)
        sources, targets = self._edges(graph)
        limit, logits, cycles = rows_held(QUEUE_WORDS, tiles), kind == "logits", 0
        results = results_together(groups, tiles, self.beat_bits)
        beats = groups * dealt.depth * tiles // results if logits else 0
        parts, together = self._packed(groups)
        for block in range(count):
            here = combined.ordinal[sources] // rows == block
            lengths = np.bincount(targets[here], minlength=self.data.nodes)
            schedule = pack(lengths, dealt.backwards() if logits else dealt, 1, limit - 1 if logits else 0)
            target = Target.PARTIAL if block < count - 1 else Target.LOGITS if logits else Target.OWN
            stream = Stream(target, tiles, limit, parts, together, results, 0, latency)
            cycles += compute_cycles(stream, schedule.last.astype(bool), self.read_latency)
            beats += int(parts * schedule.slot_rows if parts > 1 else ceil_div(schedule.slot_rows, together))
        return cycles, beats

    def _edges(self, graph: int) -> tuple[Ints, Ints]:
        """Source and target of each edge of a graph, or of ALONE."""
        own = np.arange(self.data.nodes)
        return (own, own) if graph == ALONE else (self.graphs[graph].sources, self.graphs[graph].targets)

    def _score_cycles(self, groups: int, rows: int, entries: int, latency: int, spacing: int) -> int:
        """Cycles in which each group makes the scores of so many rows."""
        stream = Stream(Target.TABLE, 1, rows_held(QUEUE_WORDS, 1), 0, 0, 1, 0, latency, spacing)
        return compute_cycles(stream, dense_ends(rows, entries, groups), self.read_latency)

    def _maximum_cycles(self, kind: str, graph: int, groups: int, tiles: int, latency: int, spacing: int) -> int:
        """Cycles of the largest scores of every row, which reads the stream of the phase that follows."""
        parts, together = self._packed(groups)
        stream = Stream(Target.OWN, 1, rows_held(QUEUE_WORDS, 1), parts, together, 1, 0, latency, spacing)
        return compute_cycles(stream, self._schedule(kind, graph, groups, tiles).last.astype(bool), self.read_latency)

    def _query_costs(
        self, kind: str, graph: int, groups: int, tiles: int, latency: int, spacing: int
    ) -> tuple[int, int]:
        """Cycles of the queries of every row, and the beats that they read: an entry a row."""
        parts, together = self._packed(groups)
        limit, dealt = rows_held(QUEUE_WORDS, tiles), self._deal(graph, groups)
        ordered = limit - 1 if kind == "logits" else 0
        rows = np.ones_like(self._lengths(graph))
        schedule = pack(rows, dealt.backwards() if kind == "logits" else dealt, 1, ordered)
        stream = Stream(Target.OWN, tiles, limit, parts, together, 1, 0, latency, spacing)
        beats = parts * schedule.slot_rows if parts > 1 else ceil_div(schedule.slot_rows, together)
        return compute_cycles(stream, schedule.last.astype(bool), self.read_latency), int(beats)

    def _pair_costs(
        self, kind: str, graph: int, groups: int, tiles: int, latency: int, spacing: int
    ) -> tuple[int, int]:
        """Cycles of the functions of both nodes of every entry of the phase that follows, and the beats that they read:
        two entries for each."""
        parts, together = self._packed(groups)
        slot_rows = self._schedule(kind, graph, groups, tiles).slot_rows
        stream = Stream(Target.OWN, tiles, rows_held(QUEUE_WORDS, tiles), parts, together, 1, 0, latency, spacing)
        beats = parts * 2 * slot_rows if parts > 1 else ceil_div(2 * slot_rows, together)
        return compute_cycles(stream, pair_ends(slot_rows, groups), self.read_latency), int(beats)

    def _edge_score_cycles(
        self, kind: str, graph: int, groups: int, tiles: int, latency: int, spacing: int
    ) -> int:
        """Cycles of the scores of every entry of the phase that follows."""
        parts, together = self._packed(groups)
        stream = Stream(
            Target.OWN, 1, rows_held(QUEUE_WORDS, 1), parts, together, 1, tiles - 1, latency, spacing
        )  # fmt: skip
        ends = np.ones_like(self._schedule(kind, graph, groups, tiles).last, bool)
        return compute_cycles(stream, ends, self.read_latency)

    def _schedule(self, kind: str, graph: int, groups: int, tiles: int, entries: int = 1) -> Schedule:
        """The slot rows of a phase that reads a stream with so many entries of an edge."""
        lengths = self._lengths(graph) * entries
        ordered = rows_held(QUEUE_WORDS, tiles) - 1 if kind == "logits" else 0
        dealt = self._deal(graph, groups)
        return pack(lengths, dealt.backwards() if kind == "logits" else dealt, 1, ordered)

    def _phase_beats(self, kind: str, graph: int, groups: int, tiles: int, entries: int = 1) -> int:
        """Beats that a phase reads, and those of the logits that it writes; `entries` as of `_schedule`."""
        parts, together = self._packed(groups)
        slot_rows = self._schedule(kind, graph, groups, tiles, entries).slot_rows
        written = groups * self._deal(graph, groups).depth * tiles if kind == "logits" else 0
        read = parts * slot_rows if parts > 1 else ceil_div(slot_rows, together)
        return int(read + written // results_together(groups, tiles, self.beat_bits))

    def _phases(
        self, kind: str, graph: int, groups: Ints, tiles: Ints, elements: Ints, writes: Ints, *timing: Ints
    ) -> Ints:
        """[n] cycles of one phase of every candidate; `timing`: latency and what follows it in `_phase_cycles`, where
        they are not the defaults."""
        return _by_case(functools.partial(self._phase, kind, graph), groups, tiles, elements, writes, *timing)

    def _attention(self, layer: _Attending, kind: str, graph: int) -> tuple[Ints, Ints]:
        """[n] cycles of one pass of the scores and of the largest of them, and the beats that these read; 0 where a
        layer has none."""
        timing = (layer.groups, layer.tiles, layer.latency, layer.spacing)
        score = _by_case(self._score, layer.groups, layer.rows, 2 * layer.tiles, layer.latency, layer.spacing)
        maximum = _by_case(functools.partial(self._maximum, kind, graph), *timing)
        held = layer.tiles if kind == "logits" else 0 * layer.tiles
        beats = _by_case(functools.partial(self._beats, kind, graph), layer.groups, held, np.ones_like(held))
        if kind == "logits":  # those of the logits are not read
            together = _by_case(functools.partial(results_together, beat_bits=self.beat_bits), layer.groups, held)
            beats = beats - layer.groups * self._depths(graph, layer.groups) * held // together
        if np.any(layer.dot):
            asked, also = _both(functools.partial(self._asked, kind, graph), layer.pair, *timing)
            of_edges = asked + _by_case(functools.partial(self._edge_score, kind, graph), *timing)
            score, beats = np.where(layer.dot, of_edges, score), beats + np.where(layer.dot, also + beats, 0)
        return np.where(layer.attends, score + maximum, 0), np.where(layer.attends, beats, 0)

    def _asked(self, kind: str, graph: int, pair: int, *timing: int) -> tuple[int, int]:
        """Cycles and beats of what the scores of edges are made of: pairs or queries."""
        return (self._pair if pair else self._query)(kind, graph, *timing)

    def _slot_rows(self, kind: str, graph: int, groups: Ints, tiles: Ints, dot: Ints) -> Ints:
        """[n] slot rows of an aggregation whose edges have scores of their own; 0 for others."""
        return _by_case(
            lambda count, words, kept: self._schedule(kind, graph, count, words).slot_rows if kept else 0,
            groups, tiles, dot,
        )  # fmt: skip

    def _depths(self, graph: int, groups: Ints) -> Ints:
        return _by_case(lambda count: self._deal(graph, count).depth, groups)

    def price(self, candidates: Candidates) -> ArrayPrices:
        """Prices of n candidates, which all fit some engine; the graph has one node at least."""
        assert np.all((candidates.bits > NARROW_BITS) == self.wide), "entries are as wide as the numbers"
        units, layers, passes = candidates.units, len(candidates.features), candidates.passes
        columns = [*candidates.columns, np.ones_like(units)]
        none = np.zeros_like(units)
        graphs = self._graphs(candidates.seconds or (False,) * layers)
        rows = [self._depths(graph, units // n) for graph, n in zip(graphs, columns, strict=True)]
        combined_rows = [self._depths(FEATURES, units // columns[0]), *rows[:-1]]
        combined_groups = [units // columns[0], *(units // n for n in columns[:-1])]
        cycles, weights, biases, results, own = none + 0, none + 0, none + 0, none + 0, none + 0
        needed, read, longest, unmade = none + 0, none + 0, none + 0, none + 0
        places = functools.reduce(np.maximum, columns)
        shared = none + candidates.shared
        waits = (shared > 1) & self.waits
        heads = candidates.heads or [none] * layers
        dots = [one.astype(np.int64) for one in candidates.dots] or [none] * layers
        paired = [one.astype(np.int64) for one in candidates.pairs] or [none] * layers
        scored = functools.reduce(np.maximum, [(one > 0).astype(np.int64) for one in heads])
        slices = none + 1 if candidates.slices is None else candidates.slices
        blocks = none + 1 if candidates.blocks is None else candidates.blocks
        kept = ((slices > 1) | (blocks > 1)).astype(np.int64)
        finished = none + LANES if candidates.finished is None else candidates.finished
        spacing = LANES // finished
        # An engine without attention and partial sums that finishes whole words has the timing that is the default.
        plain = result_cycles(scored, 0, candidates.bits, 0, kept, spacing)
        further = (candidates.slices, candidates.blocks, candidates.finished)
        special = candidates.heads or any(one is not None for one in further)
        usual = (plain, none, spacing) if special else ()
        elements, vectors, maxima, partial = none, none, none, none
        queries, of_edges = none, none  # words of own rows
        width: Ints = none + self.data.width_in
        non_zeros = int(self.data.features.nnz)
        for layer, (features, n) in enumerate(zip(candidates.features, columns, strict=True)):
            attends = (heads[layer] > 0).astype(np.int64)
            scored_nodes = attends - dots[layer]
            d = features // np.maximum(heads[layer], 1)
            averaged = none + candidates.averaged if layer == layers - 1 else none + 1
            words = row_words(features // averaged, heads[layer], d)
            graph = graphs[layer]
            edges = int(self._lengths(graph).sum())
            messages: Ints = np.where(candidates.weighted[layer], edges, 0).astype(np.int64)
            groups, parts = combined_groups[layer], passes if layer == 0 else np.ones_like(passes)
            tiles = ceil_div(words, n) // parts
            writes = table_writes(groups, tiles + scored_nodes, candidates.results)
            if layer == 0:
                written = tiles
                if candidates.blocks is not None:
                    in_blocks = functools.partial(self._combined_block, FEATURES)
                    taken, again = _both(in_blocks, groups, tiles, none, writes, plain, blocks)
                elif candidates.slices is None:
                    taken = self._phases("first", FEATURES, groups, tiles, none, writes, *usual)
                    again = _by_case(functools.partial(self._beats, "first", FEATURES), groups, none)
                    facts = (groups, n, tiles, writes, plain, spacing, places, shared)
                    taken, again = _both_where(waits, self._first_of_shared, (taken, again), *facts)
                else:
                    taken, again = self._combined(groups, tiles, slices, writes, plain)
                cycles, read = cycles + averaged * parts * taken, read + averaged * parts * again
                words_of_slice = ceil_div(width, slices) * tiles + paired[layer] * tiles
                loaded, moved = self._weight_loads(words_of_slice, places, candidates.bits)
                further_loads = parts * slices - 1
                cycles, read = cycles + further_loads * loaded, read + further_loads * moved
                weights = weights + averaged * words_of_slice
                partial = (slices > 1) * combined_rows[0] * tiles
                needed = needed + (non_zeros + messages) * features
            else:
                written = words
                if candidates.blocks is not None:
                    in_blocks = functools.partial(self._combined_block, graphs[layer - 1])
                    taken, _ = _both(in_blocks, groups, words, elements, writes, plain, blocks)
                else:
                    taken = self._phases("dense", graphs[layer - 1], groups, words, elements, writes, *usual)
                cycles = cycles + averaged * taken
                weights = weights + averaged * elements * words + paired[layer] * tiles
                multiplied = 0 if candidates.added and layer == layers - 1 else 1
                needed = needed + multiplied * (self.data.nodes * width + messages) * features
            kind = "logits" if layer == layers - 1 else "own"
            held_rows, entries = groups * combined_rows[layer], np.where(averaged > 1, averaged, 0)
            if candidates.heads:
                latency = result_cycles(scored, attends, candidates.bits, 0, kept, spacing)
                timing = (latency, attends, spacing)
                cycles = cycles + parts * self._phases(kind, graph, units // n, tiles, entries, none, *timing)
                of_group = ceil_div(held_rows, units // n)
                most_tiles = np.minimum(tiles, MOST_TILES)  # more are refused
                kinds = (attends, dots[layer], paired[layer])
                scoring = _Attending(units // n, of_group, most_tiles, plain, spacing, *kinds)
                taken, again = self._attention(scoring, kind, graph)
                cycles, read = cycles + parts * taken, read + parts * again
                held_rows = np.where(scored_nodes, of_group * (units // n), held_rows)
                vectors = vectors + (2 * scored_nodes + dots[layer] + paired[layer]) * tiles * parts
                maxima = np.maximum(maxima, scored_nodes * rows[layer])
                given = candidates.vectors[layer] * scored_nodes
                asked = dots[layer] + paired[layer]  # vectors that meet a node's features
                products = (given + asked) * self.data.nodes + edges * dots[layer]
                needed = needed + products * features
                slot_rows = self._slot_rows(kind, graph, units // n, most_tiles, dots[layer])
                of_rows = np.where(paired[layer], slot_rows, rows[layer])
                queries = np.maximum(queries, dots[layer] * of_rows * tiles)
                of_edges = np.maximum(of_edges, dots[layer] * rows[layer] + slot_rows)
            elif candidates.blocks is None:
                cycles = cycles + parts * self._phases(kind, graph, units // n, tiles, entries, none, *usual)
            if candidates.blocks is None:
                held = tiles if kind == "logits" else none  # only the order of logits depends on it
                again = _by_case(functools.partial(self._beats, kind, graph), units // n, held, averaged)
                # Without scores: what takers of shared tables wait is beyond what was counted.
                usual_of = self._phases(kind, graph, units // n, tiles, entries, none, plain, none, spacing)
                before = FEATURES if layer == 0 else graphs[layer - 1]
                messages_of = functools.partial(self._messages_of_shared, kind, graph, before)
                of_shared = (units // n, n, groups, tiles, averaged, plain, spacing, places, shared)
                taken, again = _both_where(waits, messages_of, (usual_of, again), *of_shared)
                cycles, read = cycles + parts * (taken - usual_of), read + parts * again
            else:
                before = FEATURES if layer == 0 else graphs[layer - 1]
                gather = functools.partial(self._gathered_block, kind, graph, before)
                taken, again = _both(gather, units // n, groups, tiles, plain, blocks)
                cycles, read = cycles + parts * taken, read + parts * again
                counted = _by_case(lambda *one, at=before: self._block_rows(at, *one)[1], groups, blocks)
                held_rows = groups * ceil_div(combined_rows[layer], blocks)
                partial = np.maximum(partial, (blocks > 1) * rows[layer] * tiles)
                unmade = unmade + 2 * parts * (blocks - counted)
            longest = np.maximum(longest, np.maximum(tiles, written))
            biases = biases + tiles * parts
            results = np.maximum(results, averaged * held_rows * (tiles + scored_nodes))
            own = np.maximum(own, 0 if kind == "logits" else rows[layer] * tiles * parts)
            elements = own_elements(features, heads[layer], d, n)
            width = features
        own = own + maxima + vectors + queries + of_edges
        loads = [self._weight_loads(weights, places, candidates.bits)]
        further = (biases, candidates.tables, vectors)
        loads += [self._loads(count, places, candidates.bits, 1) for count in further]
        cycles = cycles + sum(taken for taken, _ in loads)
        of_layers = [
            descriptors(passes, steps, slices, 1, blocks) if layer == 0 else descriptors(1, steps, 1, 1, blocks)
            for layer, steps in enumerate(2 * (one > 0) + dot for one, dot in zip(heads, dots, strict=True))
        ]
        most = sum(of_layers) + LOADS + scored + candidates.averaged - 1
        steps = most - (candidates.tables == 0) - unmade
        beats = descriptor_beats(self.beat_bits) * steps
        fetch = START_CYCLES + self.read_latency + FETCH_CYCLES + beats + DECODE_CYCLES - 1
        total = cycles + fetch - DECODE_CYCLES + FINISH_CYCLES
        pairs = [(np.ones_like(n), n) for n in columns]  # of the aggregations; a combination keeps their rows
        built = EngineColumns(
            units=units, bits=candidates.bits, tiles=longest, bias_words=biases, activation_words=candidates.tables,
            modes=mode_columns([*pairs, *((n, np.ones_like(n)) for n in columns[:-1])]),
            table_words=table_depth(weights + results, self.beat_bits, candidates.whole, candidates.shared),
            own_words=own_depth(own, candidates.whole),
            maximum=candidates.maximum.astype(np.int64), sum_bits=candidates.sum_bits,
            queue_words=none + QUEUE_WORDS, programme=programme_depth(most), beat_bits=none + self.beat_bits,
            results=candidates.results, finished=finished, attends=scored,
            denominator_bits=candidates.denominator_bits, mean=candidates.mean, symmetric=candidates.symmetric,
            exponentials=candidates.exponentials, dot=candidates.dot, partial_words=partial_depth(partial),
            shared=candidates.shared, **shift_columns(candidates.shifts),
        )  # fmt: skip
        lut, ff = lut_ff(built, self.family)
        bram36 = block_rams(
            units, built.word_bits, built.table_words, built.own_words, self.beat_bits, self.family,
            candidates.exponential_halves, built.partial_words, LANES * candidates.sum_bits, candidates.shared,
        )
        memory_bytes = (read + sum(moved for _, moved in loads) + beats) * (self.beat_bits // 8)
        return ArrayPrices(
            total, LANES * units, needed, weights + results, own, bram36, lut, ff, longest, candidates.tables,
            memory_bytes,
        )  # fmt: skip

    def _weight_loads(self, words: Ints, places: Ints, bits: Ints) -> tuple[Ints, Ints]:
        return self._loads(words, places, bits, table_banks(self.beat_bits))

    def _loads(self, words: Ints, places: Ints, bits: Ints, banks: int) -> tuple[Ints, Ints]:
        """[n] cycles and beats of a load of so many words of each place into so many banks; 0 without one."""
        together = words_loaded_together(LANES * bits, self.beat_bits)
        steps = load_steps(words, places, together, banks)
        cycles = np.where(words > 0, self.read_latency + FETCH_CYCLES + steps + DECODE_CYCLES, 0)
        return cycles, ceil_div(words * places, together)


@dataclass(frozen=True, eq=False)
class _Attending:
    """What the scores of a layer take, [n] each: groups, rows of each, tiles, latency and spacing of results as in
    `Stream`, whether it has any, whether they are those of edges, and whether these are made of pairs."""

    groups: Ints
    rows: Ints
    tiles: Ints
    latency: Ints
    spacing: Ints
    attends: Ints
    dot: Ints
    pair: Ints


def _both(compute: Callable[..., tuple[int, int]], *columns: Ints) -> tuple[Ints, Ints]:
    """[n] each: both numbers of a cached function of the columns."""
    return _by_case(lambda *one: compute(*one)[0], *columns), _by_case(lambda *one: compute(*one)[1], *columns)


def _both_where(
    here: NDArray[np.bool_], compute: Callable[..., tuple[int, int]], others: tuple[Ints, Ints], *columns: Ints
) -> tuple[Ints, Ints]:
    """[n] each: both numbers of a cached function of the columns in some places, and `others` elsewhere."""
    if not here.any():
        return others
    found = others[0] + 0, others[1] + 0
    for one, values in zip(found, _both(compute, *(column[here] for column in columns)), strict=True):
        one[here] = values
    return found


def _by_case(compute: Callable[..., int], *columns: Ints) -> Ints:
    """[n] a function of the columns, called once for each different row."""
    cases, place = np.unique(np.stack(columns), axis=1, return_inverse=True)
    return np.array([compute(*case) for case in cases.T.tolist()], np.int64)[place.ravel()]
