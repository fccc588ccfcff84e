"""Pricing: cycles and memories of many networks on many engines at once, on one graph.

A phase is packed and stepped through once a graph (`fgnas.hardware.array.phases`); after that a design is a sum of
known phases.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.hardware import wire
from fgnas.hardware.array.area import EngineColumns, lut_ff, mode_columns, shift_columns
from fgnas.hardware.array.cycles import DECODE_CYCLES, FINISH_CYCLES, result_cycles
from fgnas.hardware.array.dealing import Ints
from fgnas.hardware.array.engine import (
    LANES,
    MOST_BIASES,
    MOST_OWN_WORDS,
    MOST_PROGRAMME,
    MOST_TILES,
    QUEUE_WORDS,
    dsps_of,
    load_steps,
    table_banks,
    table_writes,
    words_loaded_together,
)
from fgnas.hardware.array.geometry import LayerWords, Memories, PlacedLayer, memories
from fgnas.hardware.array.lowering import (
    LOADS,
    MOST_ROW_WORDS,
    descriptors,
    own_depth,
    own_elements,
    partial_depth,
    programme_depth,
    row_words,
    table_depth,
)
from fgnas.hardware.array.phases import ALONE, FEATURES, Aggregation, Attending, Combination, Phases, by_case, each
from fgnas.hardware.array.programme import LARGEST_INDEX, NARROW_BITS, descriptor_beats
from fgnas.hardware.array.resources import block_rams
from fgnas.hardware.integer.graph import AnyGraph
from fgnas.hardware.numbers import ceil_div
from fgnas.hardware.pipeline.latency import FETCH_CYCLES, READ_LATENCY, START_CYCLES
from fgnas.hardware.specification import DEFAULT_FAMILY


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
        averaged: heads of the last layer, see `LayerWords.averaged`.
        slices: those of the first layer, see `LayerPlan`; None where no network has several.
        finished: lanes of a total that a unit's epilogue finishes in a cycle, see `Engine`; None is all of them.
        whole: whether memories have powers of two as depths, see `table_depth`.
        denominator_bits, mean, symmetric, exponentials, dot: those of attention, see `EngineColumns`.
        seconds: which layers are second products, the same of all networks; none where empty.
        added: whether the last layer adds heads, which needs no multiplication.
        blocks: those of every layer, see `LayerPlan`; None where H comes whole in all networks. Several are without
            heads that are averaged or have scores, and without slices.
        maxima: of every layer whether it reduces by its maximum, where some network has several blocks.
        dots: of every layer whether edges have scores of their own; empty where no network has such a layer.
        pairs: of every such layer whether they are made of functions of two nodes' features; as long as `dots`.
        shared: units that read one table, see `Engine`.
        paired: 1 where two products share a DSP slice, see `Engine`.
        products: of every layer, see `LayerWords`; empty where only the last one has several, one for each head.
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
    maxima: Sequence[NDArray[np.bool_]] = ()
    dots: Sequence[Ints] = ()
    pairs: Sequence[Ints] = ()
    added: bool = False
    shared: Ints | int = 1
    paired: Ints | int = 0
    products: Sequence[Ints] = ()

    def part(self, chosen: Any) -> Candidates:
        """The networks that a mask or places choose."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        for name, value in found.items():
            if isinstance(value, np.ndarray):
                found[name] = value[chosen]
            elif isinstance(value, (list, tuple)) and name != "seconds":
                found[name] = [one[chosen] for one in value]
        return Candidates(**found)


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
        descriptors: those of a programme at most.
        bias_words: words of a unit's biases.
        paired: 1 where two products share a DSP slice.
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
    descriptors: Ints
    bias_words: Ints
    paired: Ints

    @property
    def dsp(self) -> Ints:
        """DSP slices."""
        found: Ints = dsps_of(self.multipliers, self.paired)
        return found


@dataclass(frozen=True, eq=False)
class _Common:
    """Columns that the pricing of every layer reads, [n] each.

    Attributes:
        places: units side by side whose tables differ.
        shared: units that share a table and wait for its banks; 1 where they do not, or are not asked about.
        scored: 1 where an engine has attention.
        spacing: cycles from a word of results to the next of a unit.
        latency: of results that are not divided.
        partial: 1 where an engine keeps partial sums.
        passes, slices, blocks: see `Candidates`.
    """

    places: Ints
    shared: Ints
    scored: Ints
    spacing: Ints
    latency: Ints
    partial: Ints
    passes: Ints
    slices: Ints
    blocks: Ints


@dataclass(frozen=True, eq=False, kw_only=True)
class _Layer(LayerWords):
    """A layer of networks, [n] each but for its place among the layers; of its words see `LayerWords`.

    Attributes:
        graph, before: the graph of its aggregation, and that whose rows its combination has.
        features, d: width of H, of all products, and of a head with scores.
        n: units side by side of its aggregation.
        heads: those with scores.
        vectors: those that scores multiply H with.
        groups, combined_groups: m of the aggregation and of the combination.
        rows, combined_rows: rows of the fullest group of both.
        messages: entries that are multiplied by coefficients.
    """

    graph: int
    before: int
    features: Ints
    d: Ints
    n: Ints
    heads: Ints
    vectors: Ints
    groups: Ints
    combined_groups: Ints
    rows: Ints
    combined_rows: Ints
    messages: Ints

    @property
    def row_features(self) -> Ints:
        """Features of a row of the aggregation."""
        return self.features // self.products

    def placed(self, slot_rows: Any = 0) -> PlacedLayer:
        """The layer with its rows."""
        return PlacedLayer(self, self.groups, self.rows, self.combined_groups, self.combined_rows, slot_rows)

    def attending(self, latency: Ints, spacing: Ints) -> Attending:
        """Its scores, as `Phases` describes them; tiles are limited to MOST_TILES."""
        tiles = np.minimum(self.tiles, MOST_TILES)  # more are refused
        return Attending(
            self.graph, int(self.last), self.groups, self.placed().score_rows, tiles, latency, spacing, self.attends,
            self.dot, self.pair,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Taken(Memories):
    """The memories and descriptors that networks need, [n] each.

    Attributes:
        descriptors: upper bound of a programme's descriptors; `unmade`: how many of these belong to blocks without
            rows.
    """

    descriptors: Ints
    unmade: Ints

    @property
    def divisible(self) -> NDArray[np.bool_]:
        """[n] whether some engine holds what slices and blocks do not change."""
        rows = (self.longest <= MOST_TILES) & (self.row <= MOST_ROW_WORDS) & (self.biases <= MOST_BIASES)
        return np.asarray(rows & (self.own_words <= MOST_OWN_WORDS))

    @property
    def held(self) -> NDArray[np.bool_]:
        """[n] whether some engine holds them."""
        return np.asarray(
            self.divisible & (self.weights + self.results <= LARGEST_INDEX + 1) & (self.partial <= MOST_OWN_WORDS)
            & (self.descriptors <= MOST_PROGRAMME)
        )  # fmt: skip


class ArrayPricer:
    """Prices networks of one number of layers after the other, on one graph, behind a port of `beat_bits`.

    It prices engines with the usual entries, or with `wide` ones (see `Engine.wide`): streams have as many beats. With
    `further`, the graphs of the layers behind the first, it prices networks of as many layers alone. With `waits` it
    packs every stream of units that share tables: that takes its time, and their cycles and bytes are exact.
    """

    def __init__(
        self, data: AnyGraph, read_latency: int = READ_LATENCY, beat_bits: int = wire.BEAT_BITS,
        family: str = DEFAULT_FAMILY, further: Sequence[AnyGraph] = (), wide: bool = False, waits: bool = False,
    ) -> None:  # fmt: skip
        self.data, self.read_latency, self.beat_bits, self.family = data, read_latency, beat_bits, family
        self.wide, self.waits = wide, waits
        self.phases = Phases(data, further, read_latency, beat_bits, wide)

    def price(self, candidates: Candidates) -> ArrayPrices:
        """Prices of n candidates as they are arranged, which all fit some engine; the graph has one node at least."""
        assert np.all((candidates.bits > NARROW_BITS) == self.wide), "entries are as wide as the numbers"
        common = self._common(candidates)
        layers = self._layers(candidates, common)
        held = self._held(candidates, common, layers)
        cycles, read = self._loaded(candidates, common, held)
        for layer in layers:
            for taken, moved in (
                self._combined(candidates, common, layer), self._scored(common, layer),
                self._aggregated(candidates, common, held, layer),
            ):  # fmt: skip
                cycles, read = cycles + taken, read + moved
        beats = descriptor_beats(self.beat_bits) * (held.descriptors - (candidates.tables == 0) - held.unmade)
        fetch = START_CYCLES + self.read_latency + FETCH_CYCLES + beats + DECODE_CYCLES - 1
        lut, ff, bram36 = self._resources(candidates, common, layers, held)
        needed = sum(self._needed(candidates, layer) for layer in layers)
        return ArrayPrices(
            cycles + fetch - DECODE_CYCLES + FINISH_CYCLES, LANES * candidates.units, np.asarray(needed),
            held.weights + held.results, held.own_words, bram36, lut, ff, held.longest, candidates.tables,
            (read + beats) * (self.beat_bits // 8), np.asarray(held.descriptors), held.biases,
            0 * candidates.units + candidates.paired,
        )  # fmt: skip

    def memories(self, candidates: Candidates) -> Taken:
        """The memories and descriptors of n arranged candidates; it steps through no phase."""
        common = self._common(candidates)
        return self._held(candidates, common, self._layers(candidates, common))

    def _common(self, candidates: Candidates) -> _Common:
        none = np.zeros_like(candidates.units)
        scored = functools.reduce(np.maximum, [(one > 0).astype(np.int64) for one in candidates.heads], none)
        slices, blocks = (none + 1 if one is None else one for one in (candidates.slices, candidates.blocks))
        partial = ((slices > 1) | (blocks > 1)).astype(np.int64)
        spacing = LANES // (none + LANES if candidates.finished is None else candidates.finished)
        return _Common(
            places=functools.reduce(np.maximum, candidates.columns, none + 1),
            shared=none + candidates.shared if self.waits else none + 1,
            scored=scored, spacing=spacing, partial=partial,
            latency=result_cycles(scored, 0, candidates.bits, 0, partial, spacing),
            passes=candidates.passes, slices=slices, blocks=blocks,
        )  # fmt: skip

    def _layers(self, candidates: Candidates, common: _Common) -> list[_Layer]:
        """The layers of n candidates, each from the one before it."""
        units, count = candidates.units, len(candidates.features)
        none, one = np.zeros_like(units), np.ones_like(units)
        columns, graphs = [*candidates.columns, one], self._graphs(candidates.seconds or (False,) * count)
        per_layer = [[value.astype(np.int64) for value in given] or [none] * count
                     for given in (candidates.heads, candidates.dots, candidates.pairs, candidates.maxima,
                                   candidates.vectors)]  # fmt: skip
        found: list[_Layer] = []
        for place, (heads, dot, pair, maximum, vectors) in enumerate(zip(*per_layer, strict=True)):
            features, n, graph, last = candidates.features[place], columns[place], graphs[place], place == count - 1
            d, averaged = features // np.maximum(heads, 1), none + candidates.averaged if last else one
            products = candidates.products[place] if candidates.products else averaged
            passes, words = one if place else candidates.passes, row_words(features // products, heads, d)
            tiles = ceil_div(words, n) // passes
            prior = found[-1] if found else None
            before, groups = prior.graph if prior else FEATURES, units // n
            combined_groups = prior.groups if prior else groups
            weighted = np.where(candidates.weighted[place], int(self.phases.lengths(graph).sum()), 0)
            found.append(_Layer(
                first=prior is None, last=last, graph=graph, before=before, features=features, d=d, n=n,
                width=prior.row_features if prior else none + self.data.width_in,
                elements=own_elements(prior.row_features, prior.heads, prior.d, prior.n) if prior else none,
                heads=heads, attends=(heads > 0).astype(np.int64), dot=dot, pair=pair, vectors=vectors,
                maximum=maximum, products=products, averaged=averaged, passes=passes, tiles=tiles,
                write_tiles=words if place else tiles, slices=one if place else common.slices, blocks=common.blocks,
                groups=groups, combined_groups=combined_groups, rows=each(self.phases.depth, graph, groups),
                combined_rows=prior.rows if prior else each(self.phases.depth, FEATURES, combined_groups),
                messages=weighted.astype(np.int64),
            ))  # fmt: skip
        return found

    def _graphs(self, seconds: Sequence[bool]) -> list[int]:
        """The graph of each layer, some of which are second products."""
        firsts = np.cumsum(~np.array(seconds)) - 1
        return [ALONE if one else self.phases.graph_of(int(at)) for one, at in zip(seconds, firsts, strict=True)]

    def _held(self, candidates: Candidates, common: _Common, layers: list[_Layer]) -> Taken:
        """The memories and descriptors of n candidates with these layers."""
        blocks, unmade = common.blocks, np.zeros_like(common.blocks)
        for one in layers if np.any(blocks > 1) else ():
            counted = each(lambda *at: self.phases.block_rows(*at)[1], one.before, one.combined_groups, blocks)
            unmade = unmade + 2 * one.passes * (blocks - counted)
        slot_rows = [
            each(self._slot_rows, *one.attending(common.latency, common.spacing)) if one.attends.any() else 0
            for one in layers
        ]
        steps = [2 * one.attends + one.dot for one in layers]
        of_layers = [descriptors(common.passes, steps[0], common.slices, layers[0].products, blocks)]
        of_layers += [descriptors(1, step, 1, one.products, blocks)
                      for step, one in zip(steps[1:], layers[1:], strict=True)]  # fmt: skip
        taken = memories([one.placed(rows) for one, rows in zip(layers, slot_rows, strict=True)])
        return Taken(
            **vars(taken), unmade=unmade,
            descriptors=sum(of_layers) + LOADS + common.scored,
        )  # fmt: skip

    def _slot_rows(self, *one: int) -> int:
        return self.phases.slot_rows(Attending(*one))

    def _combined(self, candidates: Candidates, common: _Common, one: _Layer) -> tuple[Ints, Ints]:
        """[n] cycles and beats of a layer's combination in all passes, and of the loads between its parts."""
        shares = common.shared > 1 if one.first else np.zeros_like(common.shared, bool)
        writes = table_writes(one.combined_groups, one.pitch, candidates.results)
        cycles, beats = by_case(self.phases.combination, Combination(
            one.before, one.combined_groups, one.write_tiles, one.elements, writes, common.latency, common.spacing,
            one.slices, one.blocks, *_where_shared(shares, one, common),
        ))  # fmt: skip
        loaded, moved = self._weight_loads(one.weight_words, common.places, candidates.bits)
        loads = (one.passes * one.slices - 1) * one.first
        return one.products * one.passes * cycles + loads * loaded, one.products * one.passes * beats + loads * moved

    def _aggregated(
        self, candidates: Candidates, common: _Common, held: Taken, one: _Layer
    ) -> tuple[Ints, Ints]:
        """[n] cycles and beats of a layer's aggregation in all passes."""
        shares, blocks = common.shared > 1, one.blocks
        latency = result_cycles(common.scored, one.attends, candidates.bits, 0, common.partial, common.spacing)
        ahead = one.maximum * held.least  # none where no layer has blocks
        cycles, beats = by_case(self.phases.aggregation, Aggregation(
            one.graph, one.before, int(one.last), one.groups, np.where(shares | (blocks > 1), one.combined_groups, 1),
            one.tiles, one.averaged, latency, common.spacing, one.attends, blocks, np.where(shares, ahead, 0),
            *_where_shared(shares, one, common),
        ))  # fmt: skip
        return one.passes * cycles, one.passes * beats

    def _scored(self, common: _Common, one: _Layer) -> tuple[Ints, Ints]:
        """[n] cycles and beats of a layer's scores and of the largest of them in all passes."""
        if not one.attends.any():
            return np.zeros_like(one.passes), np.zeros_like(one.passes)
        cycles, beats = by_case(self.phases.scores, one.attending(common.latency, common.spacing))
        return one.passes * cycles, one.passes * beats

    def _needed(self, candidates: Candidates, one: _Layer) -> Ints:
        """[n] multiplications that a layer needs: those of its products, messages and scores."""
        combined = int(self.data.features.nnz) if one.first else self.data.nodes * one.width
        messages = one.messages * one.averaged // one.products
        multiplied = 0 if candidates.added and one.last else 1
        edges, scores = int(self.phases.lengths(one.graph).sum()), 0 * one.passes
        if one.attends.any():
            of_nodes = one.vectors * one.scored_nodes + one.dot + one.pair  # vectors that meet a node's features
            scores = of_nodes * self.data.nodes + edges * one.dot
        return np.asarray((multiplied * (combined + messages) + scores) * one.features)

    def _loaded(self, candidates: Candidates, common: _Common, held: Taken) -> tuple[Ints, Ints]:
        """[n] cycles and beats of the loads before anything is computed."""
        loads = [self._weight_loads(held.weights, common.places, candidates.bits)]
        further = (held.biases, candidates.tables, held.vectors)
        loads += [self._loads(count, common.places, candidates.bits, 1) for count in further]
        cycles, beats = zip(*loads, strict=True)
        return np.asarray(sum(cycles)), np.asarray(sum(beats))

    def _weight_loads(self, words: Ints, places: Ints, bits: Ints) -> tuple[Ints, Ints]:
        return self._loads(words, places, bits, table_banks(self.beat_bits))

    def _loads(self, words: Ints, places: Ints, bits: Ints, banks: int) -> tuple[Ints, Ints]:
        """[n] cycles and beats of a load of so many words of each place into so many banks; 0 without one."""
        together = words_loaded_together(LANES * bits, self.beat_bits)
        steps = load_steps(words, places, together, banks)
        cycles = np.where(words > 0, self.read_latency + FETCH_CYCLES + steps + DECODE_CYCLES, 0)
        return cycles, ceil_div(words * places, together)

    def _resources(
        self, candidates: Candidates, common: _Common, layers: list[_Layer], held: Taken
    ) -> tuple[Ints, Ints, NDArray[np.float64]]:
        """[n] LUTs, flip-flops and block RAMs of the smallest engines."""
        units, one = candidates.units, np.ones_like(candidates.units)
        # Pairs k, n of the aggregations; a combination keeps their rows.
        pairs = [(one, layer.n) for layer in layers] + [(layer.n, one) for layer in layers[:-1]]
        built = EngineColumns(
            units=units, bits=candidates.bits, tiles=held.longest, bias_words=held.biases,
            activation_words=candidates.tables, modes=mode_columns(pairs),
            table_words=table_depth(held.weights + held.results, self.beat_bits, candidates.whole, candidates.shared),
            own_words=own_depth(held.own_words, candidates.whole),
            maximum=candidates.maximum.astype(np.int64), sum_bits=candidates.sum_bits,
            queue_words=one * QUEUE_WORDS, programme=programme_depth(held.descriptors), beat_bits=one * self.beat_bits,
            results=candidates.results, finished=LANES // common.spacing, attends=common.scored,
            denominator_bits=candidates.denominator_bits, mean=candidates.mean, symmetric=candidates.symmetric,
            exponentials=candidates.exponentials, dot=candidates.dot, partial_words=partial_depth(held.partial),
            shared=candidates.shared, paired=candidates.paired, **shift_columns(candidates.shifts),
        )  # fmt: skip
        return *lut_ff(built, self.family), block_rams(built, candidates.exponential_halves, self.family)


def _where_shared(shares: NDArray[np.bool_], one: _Layer, common: _Common) -> tuple[Ints, Ints, Ints]:
    """`Sharing` of a layer's phase."""
    return np.where(shares, one.n, 1), np.where(shares, common.places, 1), np.where(shares, common.shared, 1)
