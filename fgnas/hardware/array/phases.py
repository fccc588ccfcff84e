"""Cycles and beats of the phases of one graph, each a few numbers: packed and stepped through once.

A phase's cycles depend on the graph, on how its rows are dealt, and on the numbers of a record below. Records hold
integers, or, for many phases at once, columns of them: see `by_case`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from fgnas.design import MOST_BITS
from fgnas.hardware.array.cycles import PAIR_ENTRIES, Stream, compute_cycles, row_ends
from fgnas.hardware.array.dealing import Deal, Ints, deal
from fgnas.hardware.array.engine import (
    MOST_TILES,
    QUEUE_WORDS,
    copy_banks,
    copy_of,
    results_together,
    rows_held,
)
from fgnas.hardware.array.entries import part_of, sliced, with_least
from fgnas.hardware.array.packing import pack
from fgnas.hardware.array.programme import NARROW_BITS, Target, beats_per_slot_row, slot_rows_per_beat
from fgnas.hardware.array.sharing import pack_shared
from fgnas.hardware.integer.graph import AnyGraph
from fgnas.hardware.numbers import ceil_div

NEVER = 1 << 40
"""Cycles of a phase that no engine has."""
FEATURES = -1
"""The rows of X, in the place of a graph."""
ALONE = -2
"""The graph of a second product: every row receives from itself alone."""
MOST_KEYS = 1 << 62
Ends = NDArray[np.bool_]
"""[slot rows, m] where rows end."""
Case = TypeVar("Case", bound=tuple[Any, ...])
"""A record of columns, or of the integers of one row of them."""


class Sharing(NamedTuple):
    """Units that share tables and wait for banks: units side by side of a group, those whose tables differ, and those
    that read one table; all 1 where none waits."""

    side: Any
    places: Any
    shared: Any


class Combination(NamedTuple):
    """The combination of all slices and blocks of a layer, of one pass and one head.

    Attributes:
        graph: whose rows are combined; FEATURES reads a stream of X.
        groups, tiles: m, T.
        elements: of a row that a unit multiplies.
        writes, latency, spacing: words that go to the tables in a cycle, and as in `Stream`.
        slices, blocks: see `LayerPlan`.
        side, places, shared: as in `Sharing`.
    """

    graph: Any
    groups: Any
    tiles: Any
    elements: Any
    writes: Any
    latency: Any
    spacing: Any
    slices: Any
    blocks: Any
    side: Any
    places: Any
    shared: Any


class Aggregation(NamedTuple):
    """The aggregation of all blocks of a layer, of one pass.

    Attributes:
        graph, before: whose edges are read, and whose rows H has.
        last: whether logits leave.
        groups, combined_groups: m, and that of the combination, where blocks or banks depend on it.
        tiles, heads: T, and entries of an edge.
        latency, spacing, messages: as in `Stream`; `messages` are weighted by scores.
        blocks: see `LayerPlan`.
        ahead: words of the least row in front of a maximum's H, where banks depend on it.
        side, places, shared: as in `Sharing`.
    """

    graph: Any
    before: Any
    last: Any
    groups: Any
    combined_groups: Any
    tiles: Any
    heads: Any
    latency: Any
    spacing: Any
    messages: Any
    blocks: Any
    ahead: Any
    side: Any
    places: Any
    shared: Any


class Attending(NamedTuple):
    """The scores of a layer: its graph, whether logits leave, groups, rows whose scores each group makes, tiles,
    latency and spacing of results as in `Stream`, whether there are any, whether they are those of edges, and whether
    these are made of pairs."""

    graph: Any
    last: Any
    groups: Any
    rows: Any
    tiles: Any
    latency: Any
    spacing: Any
    attends: Any
    dot: Any
    pair: Any


class Phases:
    """The phases of networks on one graph, or on `further` graphs behind the first, behind a port of `beat_bits`.

    Entries are the usual ones, or `wide`, see `Engine.wide`.
    """

    def __init__(
        self, data: AnyGraph, further: Sequence[AnyGraph], read_latency: int, beat_bits: int, wide: bool
    ) -> None:
        self.data, self.graphs = data, (data, *further)
        self.read_latency, self.beat_bits, self.wide = read_latency, beat_bits, wide
        self.combination = functools.cache(self._combination)
        self.aggregation = functools.cache(self._aggregation)
        self.scores = functools.cache(self._scores)
        self.slot_rows = functools.cache(self._slot_rows)

    def graph_of(self, layer: int) -> int:
        """The place of the graph of a design's layer, the first of equal ones."""
        own = self.graphs[layer if len(self.graphs) > 1 else 0]
        return next(place for place, one in enumerate(self.graphs) if one is own)

    def lengths(self, graph: int) -> Ints:
        """[N] entries of the rows of a graph, or of FEATURES or ALONE."""
        return _lengths(self.data if graph < 0 else self.graphs[graph], min(graph, 0))

    def _whole(self, graph: int, groups: int, ordered: int = 0, heads: int = 1, last: bool = False) -> Ends:
        """Where rows of a whole stream end; see `_whole_ends`."""
        data = self.data if graph < 0 else self.graphs[graph]
        return _whole_ends(data, min(graph, 0), groups, ordered, heads, last)

    def depth(self, graph: int, groups: int) -> int:
        """Rows of the fullest of so many groups."""
        return self.deal(graph, groups).depth

    def block_rows(self, graph: int, groups: int, blocks: int) -> tuple[int, int]:
        """Rows of H that a group makes of a block, and how many blocks have rows."""
        depth = self.depth(graph, groups)
        rows = ceil_div(depth, blocks)
        return rows, ceil_div(depth, rows)

    def deal(self, graph: int, groups: int) -> Deal:
        """How the rows of a graph, or of FEATURES or ALONE, are dealt."""
        return _dealt(self.data if graph < 0 else self.graphs[graph], min(graph, 0), groups)

    def _combination(self, one: Combination) -> tuple[int, int]:
        """Cycles, and beats that are read."""
        if one.graph != FEATURES:
            return self._dense(one), 0
        limit, cycles, beats = rows_held(QUEUE_WORDS, one.tiles), 0, 0
        parts, together = self._packed(one.groups)
        for piece, ends in self._of_features(one):
            target, writes = (Target.TABLE, one.writes) if piece == one.slices - 1 else (Target.PARTIAL, 1)
            stream = Stream(target, one.tiles, limit, parts, together, writes, 0, one.latency, one.spacing)
            cycles += self._cycles(stream, ends)
            beats += self._beats(one.groups, len(ends))
        return cycles, beats

    def _dense(self, one: Combination) -> int:
        """Cycles of a combination of the units' own rows."""
        depth, limit, cycles = self.depth(one.graph, one.groups), rows_held(QUEUE_WORDS, one.tiles), 0
        rows, count = self.block_rows(one.graph, one.groups, one.blocks)
        stream = Stream(Target.TABLE, one.tiles, limit, 0, 0, one.writes, 0, one.latency, one.spacing)
        for block in range(count):
            here = min(rows, depth - block * rows)
            cycles += self._cycles(stream, row_ends(one.elements, one.groups), here)
        return cycles

    def _of_features(self, one: Combination) -> Iterator[tuple[int, Ends]]:
        """The slices of every block, and where their rows end."""
        if one.slices == one.blocks == one.shared == 1:
            yield 0, self._whole(FEATURES, one.groups)
            return
        features, whole = self.data.features, self.deal(FEATURES, one.groups)
        rows, count = self.block_rows(FEATURES, one.groups, one.blocks)
        for block in range(count):
            nodes, here = part_of(whole, rows, block) if count > 1 else (None, whole)
            own = features if nodes is None else features[nodes]
            for piece in range(one.slices):
                if one.slices == 1:
                    indptr, columns = own.indptr, own.indices.astype(np.int64)
                else:
                    indptr, columns, _ = sliced(own, ceil_div(self.data.width_in, one.slices), piece)
                yield piece, self._pack(indptr, columns * one.tiles, here, _sharing(one))

    def _aggregation(self, one: Aggregation) -> tuple[int, int]:
        """Cycles, and beats that are read and written."""
        dealt, limit = self.deal(one.graph, one.groups), rows_held(QUEUE_WORDS, one.tiles)
        results, cycles = results_together(one.groups, one.tiles, self.beat_bits), 0
        beats = one.groups * dealt.depth * one.tiles // results if one.last else 0
        parts, together = self._packed(one.groups)
        count = self.block_rows(one.before, one.combined_groups, one.blocks)[1] if one.blocks > 1 else 1
        ordered = limit - 1 if one.last else 0
        for block in range(count):
            ends = self._of_edges(one, block, ordered)
            target = Target.PARTIAL if block < count - 1 else Target.LOGITS if one.last else Target.OWN
            stream = Stream(
                target, one.tiles, limit, parts, together, results, one.messages, one.latency, one.spacing
            )  # fmt: skip
            cycles += self._cycles(stream, ends)
            beats += self._beats(one.groups, len(ends))
        return cycles, beats

    def _of_edges(self, one: Aggregation, block: int, ordered: int) -> Ends:
        """Where rows of an aggregation end in a block."""
        if one.blocks == one.shared == 1:
            return self._whole(one.graph, one.groups, ordered, one.heads, bool(one.last))
        lengths, dealt = self.lengths(one.graph), self.deal(one.graph, one.groups)
        combined = self.deal(one.before, one.combined_groups)
        rows, _ = self.block_rows(one.before, one.combined_groups, one.blocks)
        sources, targets = self._edges(one.graph)
        here = combined.ordinal[sources] // rows == block
        targets, held = targets[here], combined.groups * rows
        place = combined.position[sources[here]] - block * held
        words = one.ahead + (place[:, None] + np.arange(one.heads) * held).ravel() * one.tiles
        if one.ahead:
            targets, entry = with_least(targets, lengths)
            words = np.append(words, 0)[entry]
        counts = np.bincount(targets, minlength=len(lengths))
        indptr = one.heads * np.concatenate([[0], np.cumsum(counts)])
        return self._pack(indptr, words, dealt.backwards() if one.last else dealt, _sharing(one), ordered)

    def _edges(self, graph: int) -> tuple[Ints, Ints]:
        """Source and target of each edge of a graph, or of ALONE."""
        own = np.arange(self.data.nodes)
        return (own, own) if graph == ALONE else (self.graphs[graph].sources, self.graphs[graph].targets)

    def _scores(self, one: Attending) -> tuple[int, int]:
        """Cycles of the scores of a pass and of the largest of them, and the beats that these read; 0 without any."""
        if not one.attends:
            return 0, 0
        parts, together = self._packed(one.groups)
        ends, held = self._attended(one), rows_held(QUEUE_WORDS, 1)
        beats = self._beats(one.groups, len(ends))
        largest = self._cycles(Stream(Target.OWN, 1, held, parts, together, 1, 0, one.latency, one.spacing), ends)
        if not one.dot:
            stream = Stream(Target.TABLE, 1, held, 0, 0, 1, 0, one.latency, one.spacing)
            return largest + self._cycles(stream, row_ends(2 * one.tiles, one.groups), one.rows), beats
        asked, also = self._pairs(one, len(ends)) if one.pair else self._queries(one)
        stream = Stream(Target.OWN, 1, held, parts, together, 1, one.tiles - 1, one.latency, one.spacing)
        scores = self._cycles(stream, row_ends(1, one.groups), len(ends))
        return asked + scores + largest, also + 2 * beats

    def _queries(self, one: Attending) -> tuple[int, int]:
        """Cycles of the queries of every row, and the beats that they read: an entry a row."""
        parts, together = self._packed(one.groups)
        limit, dealt = rows_held(QUEUE_WORDS, one.tiles), self.deal(one.graph, one.groups)
        rows = np.ones_like(self.lengths(one.graph))
        schedule = pack(rows, dealt.backwards() if one.last else dealt, 1, limit - 1 if one.last else 0)
        stream = Stream(Target.OWN, one.tiles, limit, parts, together, 1, 0, one.latency, one.spacing)
        cycles = self._cycles(stream, schedule.last.astype(bool))
        return cycles, self._beats(one.groups, schedule.slot_rows)

    def _pairs(self, one: Attending, slot_rows: int) -> tuple[int, int]:
        """Cycles of the functions of both nodes of every entry of the phase that follows, and the beats that they read:
        two entries for each."""
        parts, together = self._packed(one.groups)
        limit = rows_held(QUEUE_WORDS, one.tiles)
        stream = Stream(Target.OWN, one.tiles, limit, parts, together, 1, 0, one.latency, one.spacing)
        cycles = self._cycles(stream, row_ends(PAIR_ENTRIES, one.groups), slot_rows)
        return cycles, self._beats(one.groups, 2 * slot_rows)

    def _slot_rows(self, one: Attending) -> int:
        """Slot rows of an aggregation whose edges have scores of their own; 0 for others."""
        return len(self._attended(one)) if one.dot else 0

    def _attended(self, one: Attending) -> Ends:
        """Where rows end of the aggregation that a layer's scores are for."""
        ordered = rows_held(QUEUE_WORDS, one.tiles) - 1 if one.last else 0
        return self._whole(one.graph, one.groups, ordered, 1, bool(one.last))

    def _pack(self, indptr: Ints, index: Ints, dealt: Deal, sharing: Sharing, ordered: int = 0) -> Ends:
        """Where rows of entries that name the words `index` end, if units share tables by their banks."""
        if sharing.shared == 1:
            return pack(np.diff(indptr), dealt, 1, ordered).last.astype(bool)
        copies = copy_of(np.arange(dealt.groups) * sharing.side, sharing.places, sharing.shared)
        banks = int(copy_banks(self.beat_bits, sharing.shared))
        return pack_shared(indptr, index, dealt, 1, copies, banks, ordered).last.astype(bool)

    def _packed(self, takers: int) -> tuple[int, int]:
        """Beats of a slot row, and slot rows of a beat."""
        bits = MOST_BITS if self.wide else NARROW_BITS
        return beats_per_slot_row(takers, self.beat_bits, bits), slot_rows_per_beat(takers, self.beat_bits, bits)

    def _beats(self, takers: int, slot_rows: int) -> int:
        """Beats of so many slot rows."""
        parts, together = self._packed(takers)
        return int(parts * slot_rows if parts > 1 else ceil_div(slot_rows, together))

    def _cycles(self, stream: Stream, ends: Ends, times: int = 1) -> int:
        """Cycles of one phase, of which so many turns through `ends`; NEVER where no unit has such a row."""
        return NEVER if stream.tiles > MOST_TILES else compute_cycles(stream, ends, self.read_latency, times)


# Streams are the same behind every port, so that all pricers of a graph share them.


def _lengths(data: AnyGraph, kind: int) -> Ints:
    """[N] entries of the rows of a graph, or of its FEATURES, or ALONE."""
    if kind == ALONE:
        return np.ones(data.nodes, np.int64)
    return data.non_zeros if kind == FEATURES else data.degrees


@functools.lru_cache(maxsize=256)
def _dealt(data: AnyGraph, kind: int, groups: int) -> Deal:
    return deal(_lengths(data, kind)[:, None], groups)


@functools.lru_cache(maxsize=128)
def _whole_ends(data: AnyGraph, kind: int, groups: int, ordered: int, heads: int, last: bool) -> Ends:
    """[slot rows, m] where rows of a stream end that has so many entries of each of a graph's; `last`: logits leave."""
    dealt = _dealt(data, kind, groups)
    lengths = _lengths(data, kind) * heads
    return pack(lengths, dealt.backwards() if last else dealt, 1, ordered).last.astype(bool)


def _sharing(one: Combination | Aggregation) -> Sharing:
    return Sharing(one.side, one.places, one.shared)


def by_case(compute: Callable[[Case], tuple[int, ...]], record: Case) -> tuple[Ints, ...]:
    """[n] each: the numbers that a function has of each row of a record of columns, called once for each different one.

    Columns that are one number are that number in every row.
    """
    columns = [np.asarray(column, np.int64) for column in np.broadcast_arrays(*record)]
    key, keys = np.zeros(columns[0].shape, np.int64), 1
    for column in columns:
        least = int(column.min(initial=0))
        values = int(column.max(initial=0)) - least + 1
        if values == 1:
            continue
        if keys * values >= MOST_KEYS:
            found, key = np.unique(key, return_inverse=True)
            keys = len(found)
        key, keys = key * values + (column - least), keys * values
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    rows = zip(*(column[first].tolist() for column in columns), strict=True)
    make: Callable[[tuple[int, ...]], Any] = getattr(type(record), "_make", tuple)
    cases = [compute(make(row)) for row in rows]
    return tuple(np.array(numbers, np.int64)[place] for numbers in zip(*cases, strict=True))


def each(compute: Callable[..., int], *columns: Any) -> Ints:
    """[n] one number of each row of columns, as `by_case` has them."""
    return by_case(lambda row: (compute(*row),), columns)[0]
