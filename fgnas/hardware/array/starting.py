"""What a start of a chain on an array takes for a graph: streams, and the numbers of the programme, compiled.

The same as `encode_array` encodes, for networks whose layers have neither scores nor maxima and come whole, on units
with tables of their own.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from fgnas.hardware.array.bits import beats_of
from fgnas.hardware.array.dealing import Ints, dealt, rows_of
from fgnas.hardware.array.packing import slots_of
from fgnas.hardware.array.programme import NARROW_BITS, check_words
from fgnas.hardware.integer.rules import (
    FINE,
    NOT_IN_ORDER,
    Neighbours,
    Reals,
    Rules,
    codes_of,
    entries_of,
    neighbours_of,
)
from fgnas.hardware.wire import Beats

VARIED = ("count", "offset", "beats", "target_base", "limit", "result_beats")
"""The fields of a descriptor that depend on the graph."""
COUNT, OFFSET, BEATS, TARGET_BASE, LIMIT, RESULT_BEATS = range(len(VARIED))
NO_NUMBER, DEGREE, SIZE, SUM, TABLE, OWN = range(NOT_IN_ORDER + 1, NOT_IN_ORDER + 7)
"""What may be wrong with features, and too large of a graph."""
Singles = NDArray[np.float32]
Dealt = tuple[Ints, Ints, Ints]
"""The fields of a `Deal`."""


class Layers(NamedTuple):
    """The layers of a chain; arrays of one number each.

    Attributes:
        groups, k: of the aggregation. pitch, row_words: words of a row of H, and of Z, which leaves in the last.
        matrices: of its sum, one for each product.
        bits: [all matrices] fraction bits of their coefficients.
    """

    groups: Ints
    k: Ints
    pitch: Ints
    row_words: Ints
    matrices: Ints
    bits: Ints


class Facts(NamedTuple):
    """What else a graph's streams depend on.

    Attributes:
        groups, k, write_tiles: of the first combination.
        scale, smallest, largest: of features: 2**fraction_bits, and the codes that they saturate to.
        ordered: rows by which groups may be apart where logits leave.
        room, entry_bits, value_at, value_bits, last_at, beat_bytes: of entries and beats.
        results_base: first word of H. table_words, own_words, most_entries: of the engine, and of a row that it sums.
        words_together: words of logits in a beat.
        engine: its digest. loads: descriptors that a further start leaves out.
    """

    groups: int
    k: int
    write_tiles: int
    scale: float
    smallest: int
    largest: int
    ordered: int
    room: int
    entry_bits: int
    value_at: int
    value_bits: int
    last_at: int
    beat_bytes: int
    results_base: int
    table_words: int
    own_words: int
    most_entries: int
    words_together: int
    engine: int
    loads: int


class Coefficients(NamedTuple):
    """A sparse matrix in integers: the entries of row i are those from indptr[i] to indptr[i + 1]."""

    indptr: Ints
    sources: Ints
    codes: Ints


class Programme(NamedTuple):
    """A programme without the numbers that depend on a graph.

    Attributes:
        content: [descriptors, bytes] with zeros in the fields that depend on the graph.
        layer: [descriptors] -1 of loads. product: which of the layer's it makes; -1 of an aggregation.
        places: [VARIED, 2] first bit and bits of these fields.
    """

    content: Beats
    layer: Ints
    product: Ints
    places: Ints


class Network(NamedTuple):
    """A chain on an array."""

    layers: Layers
    facts: Facts
    programme: Programme
    rules: Rules


class Start(NamedTuple):
    """What a start takes: regions, the row of each node's or graph's logits, and the rest of its arguments."""

    problem: int
    programme: Beats
    features: Beats
    edges: Beats
    order: Ints
    logits_beats: int
    check: int
    check_again: int


@numba.njit(cache=True)
def started(network: Network, x: Singles, edges: Ints, graph: Ints) -> Start:  # pragma: no cover - compiled
    """A start for features [N, F], edges [2, E] and the graph [N] of each node; or what is wrong with them."""
    layers, facts, programme, rules = network
    none, no_order = np.zeros((0, facts.beat_bytes), np.uint8), np.zeros(0, np.int64)
    problem, nodes = neighbours_of(edges, graph)
    if problem == FINE:
        problem = NO_NUMBER if np.isnan(x).any() else _larger(rules, nodes)
    if problem != FINE:
        return Start(problem, none, none, none, no_order, 0, 0, 0)
    combined = dealt(_non_zeros(x), facts.groups)
    features, slots = _features(facts, x, combined)
    count = len(layers.groups)
    combines, aggregates = np.zeros((count, len(VARIED)), np.int64), np.zeros((count, len(VARIED)), np.int64)
    combines[0, COUNT], combines[0, BEATS] = slots, len(features)
    parts, offset, words, own_words, longest, first = [none], 0, 0, 0, 0, 0
    for layer in range(count):
        groups, depth = len(combined[2]), combined[2].max()
        if layer:
            combines[layer, COUNT] = depth
        held = groups * depth
        combines[layer, TARGET_BASE] = held * layers.pitch[layer]
        matrix = _matrix(layers, rules, nodes, (layer, first, len(combined[0])))
        last = layer == count - 1
        after = _dealt_for(matrix, layers.groups[layer], last)
        stream, slots = _stream(
            facts, matrix, _words(matrix.sources, combined, held, layers.pitch[layer]), after, layers.k[layer],
            facts.ordered if last else 0,
        )  # fmt: skip
        parts.append(stream)
        rows = layers.groups[layer] * after[2].max()
        beats = rows * layers.row_words[layer] // facts.words_together if last else 0
        limit = layers.matrices[layer] * held * layers.pitch[layer]
        aggregates[layer] = np.array([slots, offset, len(stream), 0, limit, beats])
        words, longest = max(words, limit), max(longest, np.diff(matrix.indptr).max())
        own_words = own_words if last else max(own_words, after[2].max() * layers.row_words[layer])
        offset, first, combined = offset + len(stream), first + layers.matrices[layer], after
    if longest > facts.most_entries:
        problem = SUM
    elif facts.results_base + words > facts.table_words:
        problem = TABLE
    elif own_words > facts.own_words:
        problem = OWN
    if problem != FINE:
        return Start(problem, none, none, none, no_order, 0, 0, 0)
    sent, check, check_again = _programme(programme, facts, combines, aggregates)
    order = combined[1] * len(combined[2]) + combined[0]
    return Start(FINE, sent, features, _joined(parts, offset, facts.beat_bytes), order,
                 aggregates[-1, RESULT_BEATS], check, check_again)  # fmt: skip


@numba.njit(cache=True)
def _larger(rules: Rules, nodes: Neighbours) -> int:  # pragma: no cover - compiled
    """What of a graph is larger than the rules know, if anything."""
    degree, size = 0, 0
    for node in range(len(nodes.indptr) - 1):
        degree = max(degree, nodes.indptr[node + 1] - nodes.indptr[node])
    for graph in range(len(nodes.starts) - 1):
        size = max(size, nodes.starts[graph + 1] - nodes.starts[graph])
    if degree >= rules.own.shape[1]:
        return DEGREE
    return SIZE if size >= rules.pool.shape[1] else FINE


@numba.njit(cache=True)
def _non_zeros(x: Singles) -> Reals:  # pragma: no cover - compiled
    """[N, 1] features of each row that are not 0."""
    found = np.zeros((len(x), 1))
    for row in range(len(x)):
        for column in range(x.shape[1]):
            found[row, 0] += x[row, column] != 0
    return found


@numba.njit(cache=True)
def _features(facts: Facts, x: Singles, deal: Dealt) -> tuple[Beats, int]:  # pragma: no cover - compiled
    """The stream of features, and its slot rows."""
    rows, columns = x.shape
    indptr, count = np.zeros(rows + 1, np.int64), 0
    words, codes = np.empty(rows * columns, np.int64), np.empty(rows * columns, np.int64)
    for row in range(rows):
        for column in range(columns):
            if x[row, column] != 0:
                code = np.rint(np.float64(x[row, column]) * facts.scale)
                words[count] = column * facts.write_tiles
                codes[count] = np.int64(min(max(code, facts.smallest), facts.largest))
                count += 1
        indptr[row + 1] = count
    matrix = Coefficients(indptr, words, codes)
    return _stream(facts, matrix, words, deal, facts.k, 0)


@numba.njit(cache=True)
def _matrix(
    layers: Layers, rules: Rules, nodes: Neighbours, place: tuple[int, int, int]
) -> Coefficients:  # pragma: no cover - compiled
    """The matrix of a layer, by its place, that of its first rule, and the rows that each of its products has."""
    layer, first, before = place
    indptr, sources, codes = _coded(layers, rules, nodes, first)
    for product in range(1, layers.matrices[layer]):
        further = _coded(layers, rules, nodes, first + product)
        count, total = 0, len(sources) + len(further.sources)
        ends, named, both = np.zeros_like(indptr), np.empty(total, np.int64), np.empty(total, np.int64)
        for row in range(len(indptr) - 1):
            for at in range(indptr[row], indptr[row + 1]):
                named[count], both[count] = sources[at], codes[at]
                count += 1
            for at in range(further.indptr[row], further.indptr[row + 1]):
                named[count], both[count] = further.sources[at] + product * before, further.codes[at]
                count += 1
            ends[row + 1] = count
        indptr, sources, codes = ends, named, both
    return Coefficients(indptr, sources, codes)


@numba.njit(cache=True)
def _coded(layers: Layers, rules: Rules, nodes: Neighbours, matrix: int) -> Coefficients:  # pragma: no cover - compiled
    """One matrix in integers."""
    found = entries_of(rules, matrix, nodes)
    codes = codes_of(found.numbers, found.indptr, layers.bits[matrix], NARROW_BITS)
    return Coefficients(found.indptr, found.sources, codes)


@numba.njit(cache=True)
def _dealt_for(matrix: Coefficients, groups: int, last: bool) -> Dealt:  # pragma: no cover - compiled
    """The deal of an aggregation's rows: see `deal`, and `deal_for_logits` of the last one."""
    lengths = np.diff(matrix.indptr).astype(np.float64)
    group, ordinal, counts = dealt(lengths.reshape(-1, 1), groups)
    return group, counts.max() - 1 - ordinal if last else ordinal, counts


@numba.njit(cache=True)
def _words(sources: Ints, combined: Dealt, held: int, pitch: int) -> Ints:  # pragma: no cover - compiled
    """[entries] the word of each source's row, of so many rows that each product holds."""
    group, ordinal, counts = combined
    found = np.empty(len(sources), np.int64)
    for place in range(len(sources)):
        product, row = divmod(sources[place], len(group))
        found[place] = (product * held + ordinal[row] * len(counts) + group[row]) * pitch
    return found


@numba.njit(cache=True)
def _stream(
    facts: Facts, matrix: Coefficients, words: Ints, deal: Dealt, k: int, ordered: int
) -> tuple[Beats, int]:  # pragma: no cover - compiled
    """The beats of a matrix whose entries name words, and their slot rows: as `pack`, `place_entries` and `entry_beats`
    make them."""
    rows, indptr, codes = rows_of(deal[0], deal[1], deal[2]), matrix.indptr, matrix.codes
    ordinal, chunk, last = slots_of(np.diff(indptr), rows, k, ordered)
    slots, groups = ordinal.shape
    takers, room, value_at, last_at = groups * k, facts.room, facts.value_at, facts.last_at
    parts, together = -(-takers // room), max(1, room // takers)
    entries = np.zeros((slots * parts if parts > 1 else -(-slots // together), room), np.uint64)
    mask = (1 << facts.value_bits) - 1
    for slot in range(slots):
        beat, lane = (slot * parts, 0) if parts > 1 else (slot // together, slot % together * takers)
        for g in range(groups):
            row = rows[g, ordinal[slot, g]] if ordinal[slot, g] >= 0 else -1
            first = indptr[row] + chunk[slot, g] * k if row >= 0 else 0
            end = indptr[row + 1] if row >= 0 else 0
            for place in range(first, first + k):
                entry = last[slot, g] << last_at
                if place < end:
                    entry |= words[place] | (codes[place] & mask) << value_at
                entries[beat, lane] = entry
                lane += 1
                if lane == room and parts > 1:
                    beat, lane = beat + 1, 0
    return beats_of(entries, facts.entry_bits, facts.beat_bytes), slots


@numba.njit(cache=True)
def _programme(
    programme: Programme, facts: Facts, combines: Ints, aggregates: Ints
) -> tuple[Beats, int, int]:  # pragma: no cover - compiled
    """The programme with the numbers of every layer's combination and aggregation; its check, and that of a further
    start."""
    found = programme.content.copy()
    for place in range(len(found)):
        layer, product = programme.layer[place], programme.product[place]
        if layer < 0:
            continue
        numbers = (aggregates if product < 0 else combines)[layer].copy()
        if product >= 0:
            numbers[TARGET_BASE] = facts.results_base + product * numbers[TARGET_BASE]
        for field in range(len(numbers)):
            first, bits = programme.places[field]
            _set(found[place], first, bits, numbers[field])
    beats = found.reshape(-1, facts.beat_bytes)
    words = beats.view(np.uint32).astype(np.int64)
    again = words[facts.loads * len(beats) // len(found) :]
    return beats, check_words(words, facts.engine), check_words(again, facts.engine)


@numba.njit(cache=True)
def _set(content: Beats, first: int, bits: int, number: int) -> None:  # pragma: no cover - compiled
    """Add a number to bytes, from a bit on whose field is 0."""
    rest, byte = (number & ((1 << bits) - 1)) << (first & 7), first >> 3
    while rest:
        content[byte] |= rest & 255
        rest >>= 8
        byte += 1


@numba.njit(cache=True)
def _joined(parts: list[Beats], beats: int, beat_bytes: int) -> Beats:  # pragma: no cover - compiled
    """Streams, one behind the other."""
    found, at = np.empty((beats, beat_bytes), np.uint8), 0
    for part in parts:
        found[at : at + len(part)] = part
        at += len(part)
    return found
