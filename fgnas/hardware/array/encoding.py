"""A graph for an array: streams as beats, and the programme that reads them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fgnas.errors import UserError
from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware import wire
from fgnas.hardware.array.dealing import Deal, Ints
from fgnas.hardware.array.encoded import EncodedArray, image_beats, no_beats
from fgnas.hardware.array.engine import LANES, Engine, Mode
from fgnas.hardware.array.entries import (
    NOTHING,
    REPEATED,
    coefficients,
    largest_coefficient,
    mean_fraction,
    packed,
    part_of,
    place_entries,
    repeats,
    self_first,
    sliced,
    with_least,
)
from fgnas.hardware.array.geometry import memories
from fgnas.hardware.array.layers import ArrayNetwork
from fgnas.hardware.array.lowering import (
    ArrayAccelerator,
    LayerPlan,
)
from fgnas.hardware.array.packing import Schedule, pack
from fgnas.hardware.array.placing import (
    Dealt,
    check_memories,
    deal_graph,
    graphs_of,
    placed,
    rows_ahead,
)
from fgnas.hardware.array.programme import (
    STREAMED,
    Activation,
    Attention,
    Descriptor,
    Operation,
    Region,
    Target,
    entry_beats,
    programme_beats,
)
from fgnas.hardware.integer.graph import AnyGraph, IntegerGraph, integer_graph, unweighted
from fgnas.hardware.numbers import ceil_div
from fgnas.hardware.wire import Beats

TARGETS = {"weight": Target.TABLE, "bias": Target.BIAS, "activation": Target.ACTIVATION, "vector": Target.OWN}
"""The memories that a network is loaded into, by the name of their image."""
ROUNDED_AWAY = (
    "an edge of a maximum has a coefficient that is rounded to 0, which no unit reads where units share tables"
)


def encode_array(
    accelerator: ArrayAccelerator, data: AnyGraph, further: Sequence[AnyGraph] = ()
) -> EncodedArray:
    """Deal, pack and encode a graph. Raises UserError where the engine does not hold it.

    `further` are the graphs of the design's layers behind the first, one each, where they are not that of the data: on
    the same nodes, and of their features nothing is read. One of them may be a `readout`; the layers behind it have a
    row for each of its rows.
    """
    engine, plans = accelerator.engine, accelerator.plans
    given, graphs = encode_graphs(accelerator.source, data, further)
    dealt = deal_graph(plans, data, further, engine.queue_words)
    check_memories(accelerator, dealt)
    if not data.nodes:
        empty = {name: no_beats(engine) for name in ("parameters", "features", "edges")}
        return EncodedArray(accelerator, graphs, dealt, {}, (), (), {"programme": empty["edges"], **empty})
    encoder = _Encoder(accelerator, given, graphs, dealt)
    for plan in plans:
        encoder.layer(plan)
    if len(encoder.programme) > engine.programme:
        raise UserError(f"the programme has {len(encoder.programme)} descriptors, the engine holds "
                        f"{engine.programme}: build an array for the network, or one that is --flexible")  # fmt: skip
    return EncodedArray(
        accelerator, graphs, dealt, encoder.schedules, tuple(encoder.programme), tuple(encoder.layers),
        encoder.regions(),
    )  # fmt: skip


def encode_graphs(
    source: ArrayNetwork, data: AnyGraph, further: Sequence[AnyGraph]
) -> tuple[tuple[AnyGraph, ...], tuple[IntegerGraph, ...]]:
    """The graph of every layer, as it is given and in the network's integers; `further` as in `encode_array`.

    Raises UserError where the network does not read it.
    """
    given = _checked_graphs(source, data, further)
    return given, _encoded(source, given)


def _checked_graphs(source: ArrayNetwork, data: AnyGraph, further: Sequence[AnyGraph]) -> tuple[AnyGraph, ...]:
    """The graph of every layer. Raises UserError for other features, or more neighbours, than the network reads."""
    if data.width_in != source.shape.width_in:
        raise UserError(f"the graph has {data.width_in} features a node, the network reads {source.shape.width_in}")
    given = graphs_of(source.layers, data, further)
    largest = max(int(one.degrees.max(initial=0)) for one in given)
    if largest > source.shape.degree_capacity:
        raise UserError(f"the graph's largest neighbourhood is {largest}, the network was lowered for "
                        f"{source.shape.degree_capacity}: lower it for this graph")  # fmt: skip
    return given


def check_graph(accelerator: ArrayAccelerator, data: AnyGraph, further: Sequence[AnyGraph] = ()) -> None:
    """Raise UserError where `encode_array` would, without its streams."""
    _checked_graphs(accelerator.source, data, further)
    check_memories(accelerator, deal_graph(accelerator.plans, data, further, accelerator.engine.queue_words))


def _encoded(source: ArrayNetwork, given: Sequence[AnyGraph]) -> tuple[IntegerGraph, ...]:
    """The graph of every layer in the network's integers; layers share equal ones."""
    found: dict[int, IntegerGraph] = {}
    held = given[0].nodes
    for layer, one in zip(source.layers, given, strict=True):
        if len(one.sources) and one.sources.max() >= held * max(1, len(layer.shifts)):
            raise UserError(f"layer {layer.index}: its graph has a source beyond the {held} rows of the layer "
                            f"before")  # fmt: skip
        weighted = layer.gcn or layer.attends
        if one.nodes != held and weighted and not isinstance(one, IntegerGraph):
            raise UserError(f"layer {layer.index}: the rows of a readout have no coefficients; choose attention "
                            f"constant")  # fmt: skip
        if id(one) not in found:
            found[id(one)] = _integers(one, source.layers[0].number, layer.second or one.nodes != held)
        held = one.nodes
    return tuple(found[id(one)] for one in given)


def _integers(data: AnyGraph, number: FixedPoint, plain: bool) -> IntegerGraph:
    """A graph as integers, with features in a format or `plain`; as it is, where it has them already."""
    if isinstance(data, IntegerGraph):
        return data
    return unweighted(data) if plain else integer_graph(data, number)


def logit_beats(engine: Engine, plan: LayerPlan, deal: Deal) -> int:
    """Beats of logits."""
    return deal.groups * deal.depth * plan.tiles // engine.results_together(plan.aggregate, plan.tiles)


class Image(NamedTuple):
    """What is loaded into one kind of memory: words of each place, and the beats that bring them."""

    words: int
    beats: Beats

    @classmethod
    def of(cls, image: Codes, engine: Engine) -> Image:
        """That of [places, words, LANES] codes."""
        return cls(image.shape[1], image_beats(image, engine) if image.shape[1] else no_beats(engine))


@functools.lru_cache(maxsize=2)
def _images(accelerator: ArrayAccelerator) -> dict[str, Image]:
    """What is loaded before the first layer, by the name of its memory; the same for all graphs of an accelerator."""
    return {name: Image.of(accelerator.image(name), accelerator.engine) for name in TARGETS}


class _Encoder:
    """Builds the programme and the streams, phase by phase."""

    def __init__(
        self, accelerator: ArrayAccelerator, given: Sequence[AnyGraph], graphs: Sequence[IntegerGraph], dealt: Dealt
    ) -> None:
        self.accelerator, self.given, self.graphs, self.dealt = accelerator, given, graphs, dealt
        self.engine: Engine = accelerator.engine
        self.programme: list[Descriptor] = []
        self.layers: list[int] = []
        self.schedules: dict[int, Schedule] = {}
        self.streams: dict[Region, list[Beats]] = {region: [] for region in STREAMED}
        self.placed = placed(accelerator.plans, dealt)
        held = memories(self.placed)
        self.maxima_base = int(held.own)
        self.vectors_base = self.maxima_base + int(held.maxima)
        self.queries_base = self.vectors_base + int(held.vectors)
        self.scores_base = self.queries_base + int(held.queries)
        for name, loaded in _images(accelerator).items():
            self._load(loaded, TARGETS[name], self.vectors_base if name == "vector" else 0)

    def regions(self) -> dict[str, Beats]:
        """The regions by name."""
        found = {"programme": programme_beats(self.programme, self.engine.beat_bits)}
        for region, parts in self.streams.items():
            found[region.name.lower()] = np.concatenate([no_beats(self.engine), *parts])
        return found

    def _append(self, region: Region, beats: Beats) -> dict[str, int]:
        """Add beats to a region; returns the fields of a descriptor that reads them."""
        offset = sum(len(part) for part in self.streams[region])
        self.streams[region].append(beats)
        return {"region": region, "offset": offset, "beats": len(beats)}

    def _add(self, descriptor: Descriptor, layer: int, schedule: Schedule | None = None) -> None:
        if schedule is not None:
            self.schedules[len(self.programme)] = schedule
        self.programme.append(descriptor)
        self.layers.append(layer)

    def _load(self, image: Image, target: Target, base: int = 0, layer: int = -1) -> None:
        """Load words of one kind of memory."""
        if not image.words:
            return
        mode = next(mode for mode in self.engine.modes if mode.places == self.accelerator.places)
        self._add(Descriptor(
            operation=Operation.LOAD, mode=self.engine.mode_number(mode), tiles=1, count=image.words,
            target=target, target_base=base, **self._append(Region.PARAMETERS, image.beats),
        ), layer)  # fmt: skip

    def layer(self, plan: LayerPlan) -> None:
        """All passes of a layer. They read the same streams: one of X for each slice, and that of the edges."""
        index = plan.layer.index
        count = int(self.placed[index].block_count)
        blocks = [(self._combinations(plan, block), *self._aggregation(plan, block, count)) for block in range(count)]
        queries = self._of_edges(plan, *blocks[0][1:]) if plan.dot else None
        for part in range(plan.passes):
            for block, (combinations, aggregate, aggregated) in enumerate(blocks):
                for piece, (combine, combined) in enumerate(combinations):
                    if piece or (part and not block):
                        image = Image.of(self.accelerator.part_image(plan, part, piece), self.engine)
                        self._load(image, Target.TABLE, plan.table_base, index)
                    for product in range(plan.products):
                        self._add(self._of_product(plan, combine, product), index, combined)
                if queries is not None:
                    self._attend_edges(plan, part, *queries, aggregate, aggregated)
                elif plan.attends:
                    self._attend(plan, part, aggregate, aggregated)
                own = {"target_base": part * plan.tiles} if aggregate.target == Target.OWN else {}
                self._add(replace(aggregate, bias_base=plan.bias_base + part * plan.tiles, **own), index, aggregated)

    def _of_product(self, plan: LayerPlan, combine: Descriptor, product: int) -> Descriptor:
        """The combination of one of several products, from that of the first."""
        rows = int(self.placed[plan.layer.index].held_rows)
        return replace(
            combine, table_base=combine.table_base + product * plan.head_weight_words,
            target_base=combine.target_base + product * rows * plan.pitch,
            shift=self.engine.shift_number(plan.layer.linear_shifts[product]),
        )  # fmt: skip

    def _attend(self, plan: LayerPlan, part: int, aggregate: Descriptor, schedule: Schedule) -> None:
        """The scores of a layer's nodes, behind their rows of H, and the largest of every row of an aggregation."""
        index, passed = plan.layer.index, self._plain(plan)
        if plan.score_words:
            passed |= {"activation": Activation.TABLE, "activation_base": plan.scores_base}
        self._add(replace(
            aggregate, attention=Attention.SCORES, region=0, offset=0, beats=0, tiles=1, entries=plan.vector_words,
            count=int(self.placed[index].score_rows), table_base=self.accelerator.results_base + 1,
            own_base=self.vectors_base + plan.vectors_base + part * plan.vector_words, target=Target.TABLE,
            limit=aggregate.limit - 1, target_base=self.accelerator.results_base, target_tiles=plan.pitch,
            target_columns=plan.aggregate.n.bit_length() - 1, result_beats=0, reduce=0,
            shift=self.engine.shift_number(plan.layer.weight_format.fraction_bits), **passed,
        ), index)  # fmt: skip
        self._add(replace(
            aggregate, attention=Attention.MAXIMA, tiles=1, target=Target.OWN, target_base=self.maxima_base,
            target_tiles=1, result_beats=0, reduce=1, shift=self.engine.shift_number(0), **self._plain(plan),
        ), index, schedule)  # fmt: skip

    def _of_edges(
        self, plan: LayerPlan, aggregate: Descriptor, schedule: Schedule
    ) -> tuple[tuple[Descriptor, Schedule | None], Descriptor]:
        """The descriptors of queries, or of pairs, and of scores, without the fields that differ between passes."""
        common = self._scoring(plan, aggregate)
        scores = replace(
            common, attention=Attention.SCORES, entries=plan.tiles, own_base=self.queries_base,
            target_base=self.scores_base, shift=self.engine.shift_number(plan.layer.dot_shift),
        )  # fmt: skip
        asking = replace(
            common, attention=Attention.QUERIES, tiles=plan.tiles, target_base=self.queries_base,
            target_tiles=plan.tiles, shift=self.engine.shift_number(plan.layer.query_shift),
        )  # fmt: skip
        if not plan.pair:
            return self._queries(plan, asking), scores
        pairs = replace(
            asking, pair=1, activation=Activation.TABLE, activation_base=plan.scores_base,
            **self._pairs(plan, schedule),
        )  # fmt: skip
        # The functions are own words in the order of the slot rows: each meets the factors.
        nothing = np.zeros((schedule.slot_rows, plan.aggregate.takers), np.int64)
        met = self._stream(plan, nothing, np.ones_like(nothing))
        return (pairs, None), replace(scores, table_base=plan.factors_base, limit=plan.tiles, **met)

    def _queries(self, plan: LayerPlan, common: Descriptor) -> tuple[Descriptor, Schedule]:
        """H of the nodes of an aggregation's rows, times the vector, into the own rows: a stream of an entry a row."""
        index = plan.layer.index
        deal, combined, nodes = self.dealt.layers[index], self.dealt.combined(index), self.graphs[index].nodes
        indptr = np.arange(nodes + 1)
        schedule = pack(np.diff(indptr), deal, 1, rows_ahead(plan, self.engine.queue_words))
        entries = (combined.position * plan.pitch, np.ones(nodes, np.int64))
        placed = place_entries(schedule, deal, plan.aggregate.k, indptr, entries, False)
        return self._sparse(common, Region.EDGES, schedule, plan.aggregate, placed)

    def _pairs(self, plan: LayerPlan, schedule: Schedule) -> dict[str, int]:
        """The fields that read a stream with two entries for each of an aggregation's: that of the source, then that of
        the row's node."""
        index = plan.layer.index
        graph, deal, position = self.graphs[index], self.dealt.layers[index], self.dealt.combined(index).position
        targets = np.repeat(np.arange(graph.nodes), np.diff(graph.indptr))
        both = [
            place_entries(schedule, deal, 1, graph.indptr, (position[nodes] * plan.pitch, 0 * targets), True)[0]
            for nodes in (self_first(graph, index), targets)
        ]
        entries = np.stack(both, axis=1).reshape(2 * schedule.slot_rows, -1)
        last = np.broadcast_to(np.arange(len(entries))[:, None] % 2, entries.shape)
        return self._stream(plan, entries, last)

    def _stream(self, plan: LayerPlan, index: Ints, last: Ints) -> dict[str, int]:
        """The fields that read a stream of an aggregation, [slot rows, m] each; values mean nothing."""
        takers = plan.aggregate.takers
        beats = entry_beats(index, np.zeros_like(index), last, takers, self.engine.beat_bits, self.engine.bits)
        return {"count": len(index), **self._append(Region.EDGES, beats)}

    def _attend_edges(
        self, plan: LayerPlan, part: int, queries: tuple[Descriptor, Schedule | None], scores: Descriptor,
        aggregate: Descriptor, schedule: Schedule,
    ) -> None:  # fmt: skip
        """The queries of an aggregation's rows or entries, the scores of its edges, and the largest of every row behind
        them."""
        index = plan.layer.index
        asked, of_rows = queries
        vectors = self.vectors_base + plan.vectors_base + part * plan.vector_words
        self._add(replace(asked, own_base=vectors), index, of_rows)
        self._add(scores, index, schedule)
        self._add(replace(
            self._scoring(plan, aggregate), attention=Attention.MAXIMA, own_base=self.scores_base, reduce=1,
            target_base=self.scores_base + schedule.slot_rows, shift=self.engine.shift_number(0),
        ), index, schedule)  # fmt: skip

    def _scoring(self, plan: LayerPlan, aggregate: Descriptor) -> Descriptor:
        """The fields shared by the scores of edges and their maxima: each result is one word of a unit."""
        return replace(
            aggregate, tiles=1, target=Target.OWN, target_tiles=1, result_beats=0, reduce=0,
            table_base=self.accelerator.results_base, limit=aggregate.limit - 1, **self._plain(plan),
        )  # fmt: skip

    def _plain(self, plan: LayerPlan) -> dict[str, int]:
        """No bias, no activation, numbers of H."""
        return {"bias": 0, "bias_fine": 0, "activation": 0, "activation_base": 0,
                "bits": plan.layer.value_format.width}  # fmt: skip

    def _combinations(self, plan: LayerPlan, block: int) -> list[tuple[Descriptor, Schedule | None]]:
        """X W, or Z W, of a block into the tables; of a first layer a descriptor for each slice."""
        index, held = plan.layer.index, int(self.placed[plan.layer.index].block_rows)
        common = Descriptor(
            operation=Operation.SPARSE if plan.first else Operation.DENSE,
            mode=self.engine.mode_number(plan.combine),
            tiles=plan.write_tiles,
            count=0,
            table_base=plan.table_base,
            limit=plan.head_weight_words,
            target=Target.TABLE,
            target_base=self.accelerator.results_base + plan.scored_nodes,
            target_tiles=plan.pitch,
            target_columns=plan.aggregate.n.bit_length() - 1 if not plan.last else 0,
            shift=self.engine.shift_number(plan.layer.linear_shift),
            bits=plan.layer.value_format.width,
        )
        if not plan.first:
            before = self.dealt.combined(index)
            first = block * held
            rows = min(held, before.depth - first)
            base = first * ceil_div(plan.elements, LANES)
            return [(replace(common, count=rows, entries=plan.elements, own_base=base), None)]
        nodes, here = part_of(self.dealt.first, held, block)
        features = self.graphs[0].features[nodes] if plan.blocks > 1 else self.graphs[0].features
        found: list[tuple[Descriptor, Schedule | None]] = []
        for piece in range(plan.slices):
            indptr, columns, values = sliced(features, plan.slice_inputs, piece)
            descriptor = replace(common, accumulate=int(piece > 0),
                           target=Target.TABLE if piece == plan.slices - 1 else Target.PARTIAL)  # fmt: skip
            entries = (columns * plan.write_tiles, values)
            schedule = packed(self.engine, indptr, entries[0], here, plan.combine)
            placed = place_entries(schedule, here, plan.combine.k, indptr, entries, False)
            found.append(self._sparse(descriptor, Region.FEATURES, schedule, plan.combine, placed))
        return found

    def _aggregation(self, plan: LayerPlan, block: int, blocks: int) -> tuple[Descriptor, Schedule]:
        """A H of a block, then bias and activation, into the units' own rows or to the logits; but partial sums of all
        blocks but the last."""
        index = plan.layer.index
        deal, engine = self.dealt.layers[index], self.engine
        combined = self.dealt.combined(index)
        attention = self._messages(plan) if plan.attends else {}
        rows = self.given[index]
        ahead = self.accelerator.results_base - self.accelerator.least_base if plan.least_words else 0
        # As many rows as the layer before: the coefficients of a graph, which the network was lowered with.
        fraction = (
            mean_fraction(plan, engine, rows)
            if plan.layer.mean and rows.nodes != len(combined.group)
            else wire.COEFFICIENT_FRACTION_BITS
        )
        common = Descriptor(
            operation=Operation.ATTEND if plan.attends else Operation.SPARSE,
            mode=engine.mode_number(plan.aggregate),
            tiles=plan.tiles,
            count=0,
            # An entry of a message reads a word in front of its row of H: one of scores, or, of edges, any; and one of
            # a maximum in blocks may name the least row in front of all.
            table_base=self.accelerator.results_base - plan.dot - ahead,
            limit=int(self.placed[index].result_words) + plan.dot + ahead,
            target=Target.PARTIAL if block < blocks - 1 else Target.LOGITS if plan.last else Target.OWN,
            accumulate=int(block > 0),
            target_tiles=plan.row_tiles,
            result_beats=logit_beats(engine, plan, deal) if plan.last else 0,
            reduce=int(plan.layer.maximum),
            shift=engine.shift_number(plan.aggregate_shift + fraction - wire.COEFFICIENT_FRACTION_BITS),
            bias=1,
            bias_fine=int(plan.last and plan.layer.apply.bias_shift > 0),
            activation=plan.activation,
            activation_base=plan.activation_base if plan.activation_words else 0,
            bits=wire.LOGIT_BITS if plan.last else plan.layer.apply.argument.width,
            **attention,
        )
        indptr, entries = self._gathered(plan, block, ahead, fraction)
        ordered = rows_ahead(plan, engine.queue_words)
        again = REPEATED if plan.layer.maximum else NOTHING  # a sum of messages must not have one twice
        schedule = packed(self.engine, indptr, entries[0], deal, plan.aggregate, ordered)
        placed = place_entries(
            schedule, deal, plan.aggregate.k, indptr, entries, repeats(plan) and engine.shared == 1,
            again if plan.attends else None,
        )  # fmt: skip
        return self._sparse(common, Region.EDGES, schedule, plan.aggregate, placed)

    def _gathered(self, plan: LayerPlan, block: int, ahead: int, fraction: int) -> tuple[Ints, tuple[Codes, Codes]]:
        """Where rows of an aggregation's entries begin, [N + 1], and the words and coefficients of these: of one block
        of H, which lies `ahead` words behind the first that an entry may name."""
        index = plan.layer.index
        graph, rows, combined = self.graphs[index], self.given[index], self.dealt.combined(index)
        sources = self_first(graph, index) if plan.attends else graph.sources
        held, product_rows = int(self.placed[index].block_rows), int(self.placed[index].held_rows)
        product, source = np.divmod(sources, max(1, len(combined.group)))
        here = combined.ordinal[source] // held == block
        targets = np.repeat(np.arange(graph.nodes), np.diff(graph.indptr))[here]
        place = combined.position[source[here]] + product[here] * product_rows - block * held * combined.groups
        places = place[:, None] + np.arange(plan.averaged) * product_rows
        weights = np.repeat(coefficients(plan.layer, rows, graph, fraction)[here], plan.averaged)
        if self.engine.shared > 1 and plan.layer.maximum and not weights.all():
            raise UserError(f"layer {index}: {ROUNDED_AWAY}")
        words = ahead + places.ravel() * plan.pitch
        if plan.least_words:
            targets, entry = with_least(targets, np.diff(graph.indptr))
            words = np.append(words, 0)[entry]
            weights = np.append(weights, largest_coefficient(plan.layer))[entry]
        indptr = plan.averaged * np.concatenate([[0], np.cumsum(np.bincount(targets, minlength=graph.nodes))])
        return indptr, (words, weights)

    def _messages(self, plan: LayerPlan) -> dict[str, int]:
        """The fields of a descriptor that weights messages by scores."""
        assert self.engine.softmax is not None
        return {
            "attention": Attention.MESSAGES,
            "head_tiles": plan.head_tiles,
            "own_base": self.scores_base if plan.dot else self.maxima_base,
            "exponent_shift": self.engine.softmax.fraction_bits - plan.layer.score_format.fraction_bits,
            "symmetric": int(plan.layer.symmetric),
            "dot": int(plan.dot),
        }

    def _sparse(
        self, common: Descriptor, region: Region, schedule: Schedule, mode: Mode, placed: tuple[Ints, Ints, Ints]
    ) -> tuple[Descriptor, Schedule]:
        """Add a stream of placed entries; returns the descriptor that reads it."""
        beats = entry_beats(*placed, mode.takers, self.engine.beat_bits, self.engine.bits)
        return replace(common, count=schedule.slot_rows, **self._append(region, beats)), schedule
