"""A graph for an array: rows dealt and packed, streams as beats, and the programme that reads them."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fgnas.errors import UserError
from fgnas.fixedpoint import Codes
from fgnas.hardware import wire
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.dealing import Deal, Ints, deal, deal_for_logits
from fgnas.hardware.array.engine import LANES, QUEUE_WORDS, RESULT_BITS, Engine, Mode, rows_held
from fgnas.hardware.array.layers import ArrayLayer, ArrayNetwork
from fgnas.hardware.array.lowering import (
    ArrayAccelerator,
    LayerPlan,
    Words,
    plan_layers,
    smallest_engine,
)
from fgnas.hardware.array.packing import Schedule, pack
from fgnas.hardware.array.programme import (
    NARROW_BITS,
    Activation,
    Attention,
    Beats,
    Descriptor,
    Operation,
    Region,
    Target,
    descriptor_beats,
    entry_beats,
    programme_beats,
)
from fgnas.hardware.array.sharing import copies_of_takers, pack_shared
from fgnas.hardware.integer.graph import IntegerGraph, integer_graph, unweighted
from fgnas.hardware.numbers import ceil_div
from fgnas.tasks.nodes import GraphData

TARGETS = {"weight": Target.TABLE, "bias": Target.BIAS, "activation": Target.ACTIVATION, "vector": Target.OWN}
"""The memories that a network is loaded into, by the name of their image."""
LARGEST_VALUE = (1 << (NARROW_BITS - 1)) - 1
"""The largest value that every entry can have."""
REPEATED = 2
"""The value of an entry of an attention that a row has already: it is in the row's maximum, not in its sums."""
NOTHING = 0
"""The value of an entry that adds nothing; an attention still reads its score."""
ROUNDED_AWAY = (
    "an edge of a maximum has a coefficient that is rounded to 0, which no unit reads where units share tables"
)


@dataclass(frozen=True, eq=False)
class Dealt:
    """How a graph's rows are dealt for the layers of a network.

    Attributes:
        first: the rows of X in the first combination.
        layers: the rows of each layer's aggregation; the next layer's combination keeps them.
        scored: slot rows of each layer's aggregation whose entries have scores of their own; 0 without.
    """

    first: Deal
    layers: tuple[Deal, ...]
    scored: tuple[int, ...]

    def combined(self, layer: int) -> Deal:
        """The deal that numbers the rows of a layer's H."""
        return self.first if layer == 0 else self.layers[layer - 1]


def deal_graph(
    plans: tuple[LayerPlan, ...], data: GraphData, further: Sequence[GraphData] = (), queue_words: int = QUEUE_WORDS
) -> Dealt:
    """Deal the rows of every phase; `further` as in `encode_array`, `queue_words` those of the engine."""
    first = deal(data.non_zeros[:, None], plans[0].combine.m)
    graphs = graphs_of([plan.layer for plan in plans], data, further)
    aggregated = [
        (deal_for_logits if plan.last else deal)(one.degrees[:, None], plan.aggregate.m)
        for plan, one in zip(plans, graphs, strict=True)
    ]
    scored = (
        pack(graph.degrees, one, plan.aggregate.k, rows_ahead(plan, queue_words)).slot_rows if plan.dot else 0
        for plan, one, graph in zip(plans, aggregated, graphs, strict=True)
    )
    return Dealt(first, tuple(aggregated), tuple(scored))


def rows_ahead(plan: LayerPlan, queue_words: int) -> int:
    """Rows by which a group may be ahead of another where logits leave in order; 0 where it may by any."""
    return rows_held(queue_words, plan.tiles) - 1 if plan.last else 0


def graphs_of(
    layers: Sequence[ArrayLayer], data: GraphData, further: Sequence[GraphData]
) -> tuple[GraphData, ...]:
    """The graph of every layer: that of the data for all, unless the further layers of the design have others; a second
    product has the rows of its sums, each alone."""
    firsts = sum(not layer.second for layer in layers)
    given = iter((data, *(further or (data,) * (firsts - 1))))
    found: list[GraphData] = []
    for layer in layers:
        found.append(alone(found[-1]) if layer.second else next(given))
    return (*found, *given)


@functools.lru_cache(maxsize=8)
def alone(data: GraphData) -> GraphData:
    """The data with a graph in which every row receives from itself alone."""
    return replace(data, indptr=np.arange(data.nodes + 1), sources=np.arange(data.nodes))


def result_words(plans: tuple[LayerPlan, ...], dealt: Dealt) -> int:
    """Words of a unit's table that the largest H takes."""
    return max(plan.heads * held_rows(plan, dealt.combined(index)) * plan.pitch for index, plan in enumerate(plans))


def held_rows(plan: LayerPlan, combined: Deal) -> int:
    """Rows of H, of one head where heads are averaged, that a table holds: as many for every group that makes them, and
    for every group that makes scores of nodes."""
    made = combined.groups * block_rows(plan, combined)
    return score_rows(plan, combined) * plan.aggregate.m if plan.scored_nodes else made


def block_rows(plan: LayerPlan, combined: Deal) -> int:
    """Rows of H that a group makes of a block."""
    return ceil_div(combined.depth, plan.blocks)


def block_count(plan: LayerPlan, combined: Deal) -> int:
    """Blocks that have rows."""
    return ceil_div(combined.depth, block_rows(plan, combined))


def score_rows(plan: LayerPlan, combined: Deal) -> int:
    """Rows of H of which each group of an aggregation makes the scores."""
    return int(ceil_div(combined.groups * combined.depth, plan.aggregate.m))


def own_rows(plans: tuple[LayerPlan, ...], dealt: Dealt) -> int:
    """Words of a unit's own rows that the largest Z takes; 0 without one."""
    depths = [one.depth * plan.row_tiles for plan, one in zip(plans, dealt.layers, strict=True) if not plan.last]
    return max(depths, default=0)


def maxima_rows(plans: tuple[LayerPlan, ...], dealt: Dealt) -> int:
    """Words of a unit's own rows that the largest scores of rows take, behind Z; 0 where no nodes have scores."""
    depths = [one.depth for plan, one in zip(plans, dealt.layers, strict=True) if plan.scored_nodes]
    return max(depths, default=0)


def vector_words(plans: tuple[LayerPlan, ...]) -> int:
    """Words of a unit's own rows that the vectors of all attentions take."""
    return sum(plan.vector_words * plan.passes for plan in plans)


def query_words(plans: tuple[LayerPlan, ...], dealt: Dealt) -> int:
    """Words of a unit's own rows that the queries take, behind the vectors: of the rows, or, of functions of two nodes'
    features, of the slot rows; 0 where no edges have scores."""
    parts = zip(plans, dealt.layers, dealt.scored, strict=True)
    return max((slot_rows if plan.pair else one.depth) * plan.tiles * plan.dot for plan, one, slot_rows in parts)


def scored_words(plans: tuple[LayerPlan, ...], dealt: Dealt) -> int:
    """Words of a unit's own rows that the scores of edges take, behind the queries, and the largest of every row."""
    parts = zip(plans, dealt.layers, dealt.scored, strict=True)
    return max((one.depth + slot_rows) * plan.dot for plan, one, slot_rows in parts)


def own_words(plans: tuple[LayerPlan, ...], dealt: Dealt) -> int:
    """Words of a unit's own rows: Z, the largest scores, the vectors of all attentions, queries and scores of edges."""
    nodes = own_rows(plans, dealt) + maxima_rows(plans, dealt) + vector_words(plans)
    return nodes + query_words(plans, dealt) + scored_words(plans, dealt)


def partial_words(plans: tuple[LayerPlan, ...], dealt: Dealt) -> int:
    """Words of a unit's partial sums: of the rows of a first combination in slices, and of aggregations of blocks."""
    first = plans[0]
    sliced = dealt.first.depth * first.write_tiles if first.slices > 1 else 0
    return max(sliced, *(one.depth * plan.tiles * (plan.blocks > 1)
                         for plan, one in zip(plans, dealt.layers, strict=True)))  # fmt: skip


def fit(
    source: ArrayNetwork, data: GraphData, arrangement: Arrangement, further: Sequence[GraphData] = ()
) -> ArrayAccelerator:
    """A network on the smallest engine that holds it so arranged with this graph; `further` as in `encode_array`."""
    plans = plan_layers(source, arrangement)
    dealt = deal_graph(plans, data, further)
    words = Words(result_words(plans, dealt), own_words(plans, dealt), partial_words(plans, dealt))
    return ArrayAccelerator(source, smallest_engine(source, plans, words, arrangement), plans)


class Leaving(NamedTuple):
    """How a programme's results leave, as logits do.

    Attributes:
        deal: the dealing of their rows.
        mode: of the descriptor that they leave from.
        tiles: words of a row.
        width: numbers of a row that mean something.
    """

    deal: Deal
    mode: Mode
    tiles: int
    width: int


class Encoded(ABC):
    """A programme with everything that the host sends for it.

    Attributes:
        schedules: {descriptor number: slot rows} of the sparse descriptors.
        programme: the descriptors.
        regions: bytes of the regions that the kernel reads, as beats.
    """

    schedules: dict[int, Schedule]
    programme: tuple[Descriptor, ...]
    regions: dict[str, Beats]

    @property
    @abstractmethod
    def engine(self) -> Engine:
        """The array that runs it."""

    @property
    @abstractmethod
    def leaving(self) -> Leaving:
        """How its results leave."""

    @property
    @abstractmethod
    def edges(self) -> int:
        """Edges of the first layer's graph."""

    @property
    def outputs(self) -> int:
        """Rows of logits that mean something: nodes, or graphs behind a `readout`."""
        return len(self.leaving.deal.group)

    @functools.cached_property
    def logit_rows(self) -> int:
        """Rows of the logit region: as many for every group as the fullest has."""
        return self.leaving.deal.groups * self.leaving.deal.depth

    @property
    def words_together(self) -> int:
        """Words of logits in a beat."""
        return self.engine.results_together(self.leaving.mode, self.leaving.tiles)

    @property
    def bytes_read(self) -> int:
        """Bytes that the kernel reads: the programme, and the beats of every descriptor."""
        beats = descriptor_beats(self.engine.beat_bits) * len(self.programme) + sum(one.beats for one in self.programme)
        return beats * self.engine.beat_bits // 8

    @property
    def bytes_written(self) -> int:
        """Bytes of the results; of several blocks the last one's leave."""
        beats = sum(one.result_beats for one in self.programme if one.target == Target.LOGITS)
        return beats * self.engine.beat_bits // 8

    def arguments(self) -> dict[str, Any]:
        """The arguments of `Kernel.run` of the board's driver; what it reads from a folder of vectors, too."""
        regions = {name: self.regions[name] for name in ("programme", "parameters", "features", "edges")}
        return {
            "descriptors": len(self.programme), "classes": self.leaving.width, "row_words": self.leaving.tiles,
            "beat_words": self.words_together,
            "logits_beats": self.logit_rows * self.leaving.tiles // self.words_together,
            "order": self.leaving.deal.position, **regions,
        }  # fmt: skip

    def logit_words(self, region: Beats) -> Codes:
        """[words, LANES] the words of logits in a region, in the order in which they leave."""
        return logit_words(region, self.engine, self.words_together)

    def logit_region(self, words: Codes) -> Beats:
        """The region of [words, LANES] words of logits."""
        together, room = self.words_together, self.engine.beat_bits // RESULT_BITS
        beats = words.astype("<i2").reshape(-1, together, LANES)
        padded = np.pad(beats, ((0, 0), (0, room - together), (0, 0)))
        return padded.reshape(-1, room * LANES).view(np.uint8)

    def read_logits(self, region: Beats) -> Codes:
        """[outputs, width] logits out of a logit region, in the order of the nodes or graphs."""
        rows = self.logit_words(region).reshape(self.logit_rows, self.leaving.tiles * LANES)
        return rows[self.leaving.deal.position, : self.leaving.width].astype(np.int64)


@dataclass(frozen=True, eq=False)
class EncodedArray(Encoded):
    """Everything that the host sends to run a network on a graph; see `Encoded`.

    Attributes:
        accelerator: the network on its engine.
        graphs: the graph of every layer in the network's integers; the first has the features.
        dealt: the dealing of its rows.
        layers: the layer of each descriptor; -1 of the loads before the first.
    """

    accelerator: ArrayAccelerator
    graphs: tuple[IntegerGraph, ...]
    dealt: Dealt
    schedules: dict[int, Schedule]
    programme: tuple[Descriptor, ...]
    layers: tuple[int, ...]
    regions: dict[str, Beats]

    @property
    def graph(self) -> IntegerGraph:
        """That of the first layer."""
        return self.graphs[0]

    @property
    def nodes(self) -> int:
        """N."""
        return self.graph.nodes

    @property
    def engine(self) -> Engine:
        """The array."""
        return self.accelerator.engine

    @property
    def leaving(self) -> Leaving:
        """How the logits leave."""
        last = self.accelerator.plans[-1]
        return Leaving(self.dealt.layers[-1], last.aggregate, last.tiles, self.accelerator.source.shape.classes)

    @property
    def edges(self) -> int:
        """Edges of the first layer's graph."""
        return len(self.graph.sources)


def encode_array(
    accelerator: ArrayAccelerator, data: GraphData, further: Sequence[GraphData] = ()
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
        raise UserError(f"the programme has {len(encoder.programme)} descriptors, the engine holds {engine.programme}")
    return EncodedArray(
        accelerator, graphs, dealt, encoder.schedules, tuple(encoder.programme), tuple(encoder.layers),
        encoder.regions(),
    )  # fmt: skip


def readout(data: GraphData, graphs: Ints) -> GraphData:
    """The rows of a readout, as the graph of a further layer of `encode_array`: row g names the nodes of graph g.

    `graphs` [N] is the graph of each node, from 0 on. Raises UserError where one has no node.
    """
    sizes = np.bincount(graphs)
    if len(graphs) != data.nodes or not np.all(sizes):
        raise UserError(f"a readout needs a graph for each of {data.nodes} nodes, and a node for each graph")
    count, nobody = len(sizes), np.zeros(len(sizes), bool)
    return replace(
        data, features=sp.csr_matrix((count, data.width_in), dtype=np.float32), labels=np.zeros(count, np.int64),
        indptr=np.concatenate([[0], np.cumsum(sizes)]), sources=np.argsort(graphs, kind="stable"), train=nobody,
        val=nobody, test=nobody,
    )  # fmt: skip


def encode_graphs(
    source: ArrayNetwork, data: GraphData, further: Sequence[GraphData]
) -> tuple[tuple[GraphData, ...], tuple[IntegerGraph, ...]]:
    """The graph of every layer, as it is given and in the network's integers; `further` as in `encode_array`.

    Raises UserError where the network does not read it.
    """
    given = _checked_graphs(source, data, further)
    return given, _encoded(source, given)


def _checked_graphs(source: ArrayNetwork, data: GraphData, further: Sequence[GraphData]) -> tuple[GraphData, ...]:
    """The graph of every layer. Raises UserError for other features, or more neighbours, than the network reads."""
    if data.width_in != source.shape.width_in:
        raise UserError(f"the graph has {data.width_in} features a node, the network reads {source.shape.width_in}")
    given = graphs_of(source.layers, data, further)
    largest = max(int(one.degrees.max(initial=0)) for one in given)
    if largest > source.shape.degree_capacity:
        raise UserError(f"the graph's largest neighbourhood is {largest}, the network was lowered for "
                        f"{source.shape.degree_capacity}: lower it for this graph")  # fmt: skip
    return given


def check_graph(accelerator: ArrayAccelerator, data: GraphData, further: Sequence[GraphData] = ()) -> None:
    """Raise UserError where `encode_array` would, without its streams."""
    _checked_graphs(accelerator.source, data, further)
    check_memories(accelerator, deal_graph(accelerator.plans, data, further, accelerator.engine.queue_words))


def _encoded(source: ArrayNetwork, given: Sequence[GraphData]) -> tuple[IntegerGraph, ...]:
    """The graph of every layer in the network's integers; layers share equal ones."""
    found: dict[int, IntegerGraph] = {}
    held = given[0].nodes
    for layer, one in zip(source.layers, given, strict=True):
        if len(one.sources) and one.sources.max() >= held:
            raise UserError(f"layer {layer.index}: its graph has a source beyond the {held} rows of the layer "
                            f"before")  # fmt: skip
        weighted = layer.gcn or layer.attends
        if one.nodes != held and weighted:
            raise UserError(f"layer {layer.index}: the rows of a readout have no coefficients; choose attention "
                            f"constant")  # fmt: skip
        if id(one) not in found:
            plain = layer.second or one.nodes != held
            found[id(one)] = unweighted(one) if plain else integer_graph(one, source.layers[0].number)
        held = one.nodes
    return tuple(found[id(one)] for one in given)


def logit_words(region: Beats, engine: Engine, together: int) -> Codes:
    """[words, LANES] the words of logits in a region whose beats hold `together` of them."""
    words = region.view("<i2").reshape(-1, engine.beat_bits // RESULT_BITS, LANES)
    return words[:, :together].reshape(-1, LANES)


def no_beats(engine: Engine) -> Beats:
    """A region of nothing."""
    return np.zeros((0, engine.beat_bits // 8), np.uint8)


def logit_beats(engine: Engine, plan: LayerPlan, deal: Deal) -> int:
    """Beats of logits."""
    return deal.groups * deal.depth * plan.tiles // engine.results_together(plan.aggregate, plan.tiles)


def check_memories(accelerator: ArrayAccelerator, dealt: Dealt) -> None:
    """Raise UserError where a graph's H, Z or partial sums exceed the engine's memories."""
    engine, plans = accelerator.engine, accelerator.plans
    needed = {
        "table_words": (accelerator.results_base + result_words(plans, dealt), engine.table_words),
        "own_words": (own_words(plans, dealt), engine.own_words),
        "partial_words": (partial_words(plans, dealt), engine.partial_words),
    }
    for name, (wanted, found) in needed.items():
        if wanted > found:
            raise UserError(f"the graph needs {name} of {wanted}, the engine has {found}")


class _Encoder:
    """Builds the programme and the streams, phase by phase."""

    def __init__(
        self, accelerator: ArrayAccelerator, given: Sequence[GraphData], graphs: Sequence[IntegerGraph], dealt: Dealt
    ) -> None:
        self.accelerator, self.given, self.graphs, self.dealt = accelerator, given, graphs, dealt
        self.engine: Engine = accelerator.engine
        self.logit_fraction = accelerator.source.logit_format.fraction_bits
        self.programme: list[Descriptor] = []
        self.layers: list[int] = []
        self.schedules: dict[int, Schedule] = {}
        self.streams: dict[Region, list[Beats]] = {region: [] for region in Region}
        self.maxima_base = own_rows(accelerator.plans, dealt)
        self.vectors_base = self.maxima_base + maxima_rows(accelerator.plans, dealt)
        self.queries_base = self.vectors_base + vector_words(accelerator.plans)
        self.scores_base = self.queries_base + query_words(accelerator.plans, dealt)
        for name, target in TARGETS.items():
            self._load(accelerator.image(name), target, self.vectors_base if name == "vector" else 0)

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

    def _load(self, image: Codes, target: Target, base: int = 0, layer: int = -1) -> None:
        """Load [places, words, LANES] words of one kind of memory."""
        if not image.shape[1]:
            return
        mode = next(mode for mode in self.engine.modes if mode.places == self.accelerator.places)
        self._add(Descriptor(
            operation=Operation.LOAD, mode=self.engine.mode_number(mode), tiles=1, count=image.shape[1],
            target=target, target_base=base, **self._append(Region.PARAMETERS, image_beats(image, self.engine)),
        ), layer)  # fmt: skip

    def layer(self, plan: LayerPlan) -> None:
        """All passes of a layer. They read the same streams: one of X for each slice, and that of the edges."""
        index = plan.layer.index
        count = block_count(plan, self.dealt.combined(index))
        blocks = [(self._combinations(plan, block), *self._aggregation(plan, block, count)) for block in range(count)]
        queries = self._of_edges(plan, *blocks[0][1:]) if plan.dot else None
        for part in range(plan.passes):
            for block, (combinations, aggregate, aggregated) in enumerate(blocks):
                for piece, (combine, combined) in enumerate(combinations):
                    if piece or (part and not block):
                        image = self.accelerator.part_image(plan, part, piece)
                        self._load(image, Target.TABLE, plan.table_base, index)
                    for head in range(plan.heads):
                        self._add(self._of_head(plan, combine, head), index, combined)
                if queries is not None:
                    self._attend_edges(plan, part, *queries, aggregate, aggregated)
                elif plan.attends:
                    self._attend(plan, part, aggregate, aggregated)
                own = {"target_base": part * plan.tiles} if aggregate.target == Target.OWN else {}
                self._add(replace(aggregate, bias_base=plan.bias_base + part * plan.tiles, **own), index, aggregated)

    def _of_head(self, plan: LayerPlan, combine: Descriptor, head: int) -> Descriptor:
        """The combination of one of the heads that are averaged, from that of the first."""
        rows = held_rows(plan, self.dealt.combined(plan.layer.index))
        return replace(
            combine, table_base=combine.table_base + head * plan.head_weight_words,
            target_base=combine.target_base + head * rows * plan.pitch,
        )  # fmt: skip

    def _attend(self, plan: LayerPlan, part: int, aggregate: Descriptor, schedule: Schedule) -> None:
        """The scores of a layer's nodes, behind their rows of H, and the largest of every row of an aggregation."""
        index, passed = plan.layer.index, self._plain(plan)
        if plan.score_words:
            passed |= {"activation": Activation.TABLE, "activation_base": plan.scores_base}
        self._add(replace(
            aggregate, attention=Attention.SCORES, region=0, offset=0, beats=0, tiles=1, entries=plan.vector_words,
            count=score_rows(plan, self.dealt.combined(index)), table_base=self.accelerator.results_base + 1,
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
        """What the scores of edges are made of, and the scores, but for what differs in passes."""
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
        """What the scores of edges and the largest of them have in common: a word of a unit for each result."""
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
        index = plan.layer.index
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
            first = block * block_rows(plan, before)
            rows = min(block_rows(plan, before), before.depth - first)
            base = first * ceil_div(plan.elements, LANES)
            return [(replace(common, count=rows, entries=plan.elements, own_base=base), None)]
        nodes, here = part_of(self.dealt.first, block_rows(plan, self.dealt.first), block)
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
            limit=plan.heads * held_rows(plan, combined) * plan.pitch + plan.dot + ahead,
            target=Target.PARTIAL if block < blocks - 1 else Target.LOGITS if plan.last else Target.OWN,
            accumulate=int(block > 0),
            target_tiles=plan.row_tiles,
            result_beats=logit_beats(engine, plan, deal) if plan.last else 0,
            reduce=int(plan.layer.maximum),
            shift=engine.shift_number(plan.aggregate_shift + fraction - wire.COEFFICIENT_FRACTION_BITS),
            bias=1,
            bias_fine=int(plan.last and plan.layer.value_format.fraction_bits < self.logit_fraction),
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
        held = block_rows(plan, combined)
        here = combined.ordinal[sources] // held == block
        targets = np.repeat(np.arange(graph.nodes), np.diff(graph.indptr))[here]
        place = combined.position[sources[here]] - block * held * combined.groups
        places = place[:, None] + np.arange(plan.heads) * held_rows(plan, combined)
        weights = np.repeat(coefficients(plan.layer, rows, graph, fraction)[here], plan.heads)
        if self.engine.shared > 1 and plan.layer.maximum and not weights.all():
            raise UserError(f"layer {index}: {ROUNDED_AWAY}")
        words = ahead + places.ravel() * plan.pitch
        if plan.least_words:
            targets, entry = with_least(targets, np.diff(graph.indptr))
            words = np.append(words, 0)[entry]
            weights = np.append(weights, largest_coefficient(plan.layer))[entry]
        indptr = plan.heads * np.concatenate([[0], np.cumsum(np.bincount(targets, minlength=graph.nodes))])
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


def packed(engine: Engine, indptr: Ints, index: Ints, deal: Deal, mode: Mode, ordered: int = 0) -> Schedule:
    """Slot rows of rows of entries that name the words `index`, in which no two takers read one bank of a copy."""
    if engine.shared == 1:
        return pack(np.diff(indptr), deal, mode.k, ordered)
    return pack_shared(indptr, index, deal, mode.k, copies_of_takers(engine, mode), engine.copy_banks, ordered)


def part_of(combined: Deal, rows: int, block: int) -> tuple[Ints, Deal]:
    """The nodes whose rows are in a block of so many rows of each group, and how they are dealt."""
    nodes = np.flatnonzero(combined.ordinal // rows == block)
    group = combined.group[nodes]
    counts = np.bincount(group, minlength=combined.groups)
    return nodes, Deal(group, combined.ordinal[nodes] - block * rows, counts)


def with_least(rows: Ints, degrees: Ints) -> tuple[Ints, Ints]:
    """The rows [n] of a block's entries, in order, and their places among these; and an entry more, with the place -1,
    for each row that has entries in other blocks alone.

    It names a row of H that is no larger than any, with the largest coefficient: a maximum does not notice it.
    """
    absent = np.flatnonzero((degrees > 0) & (np.bincount(rows, minlength=len(degrees)) == 0))
    every = np.concatenate([rows, absent])
    entry = np.concatenate([np.arange(len(rows)), np.full(len(absent), -1)])
    order = np.argsort(every, kind="stable")
    return every[order], entry[order]


def largest_coefficient(layer: ArrayLayer) -> int:
    """The largest that an entry of a maximum may have."""
    return 1 << wire.COEFFICIENT_FRACTION_BITS if layer.gcn else 1


def sliced(features: sp.csr_matrix, width: int, piece: int) -> tuple[Ints, Codes, Codes]:
    """Rows of X in the columns of one slice of so many: where each begins, columns counted from the slice's first, and
    values."""
    columns, rows = features.indices.astype(np.int64), np.diff(features.indptr)
    here = columns // width == piece
    counts = np.bincount(np.repeat(np.arange(len(rows)), rows)[here], minlength=len(rows))
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return indptr, columns[here] - piece * width, features.data[here].astype(np.int64)


def place_entries(
    schedule: Schedule, deal: Deal, k: int, indptr: Ints, entries: tuple[Codes, Codes], repeat: bool,
    again: int | None = None,
) -> tuple[Ints, Ints, Ints]:
    """[slot rows, m k] index, value and last of every entry.

    A taker without an entry gets the value 0, which adds nothing. With `repeat`, for a maximum, it gets the entry
    that its row begins with, again; with `again`, the value of such an entry. Then a row of no node, which only makes
    the groups come out even, gets an entry of the value 1.
    """
    slots, groups = schedule.ordinal.shape
    if schedule.entry is not None:
        index, value = (np.where(schedule.entry >= 0, np.append(part, 0)[schedule.entry], 0) for part in entries)
        return index, value, np.repeat(schedule.last, k, axis=1)
    rows = deal.rows()
    row = np.where(schedule.ordinal >= 0, rows[np.arange(groups), np.maximum(schedule.ordinal, 0)], -1)
    first, end = indptr[row], indptr[row + 1]
    place = first[:, :, None] + schedule.chunk[:, :, None] * k + np.arange(k)
    present = (row >= 0)[:, :, None] & (place < end[:, :, None])
    safe = np.where(present, place, 0)
    index, value = (np.where(present, part[safe] if len(part) else 0, 0) for part in entries)
    if repeat:
        index, value = _repeated(schedule, row, first, index, value, entries, again)
    last = np.broadcast_to(schedule.last[:, :, None], place.shape)
    return tuple(one.reshape(slots, groups * k) for one in (index, value, last))  # type: ignore[return-value]


def _repeated(
    schedule: Schedule, row: Ints, first: Ints, index: Codes, value: Codes, entries: tuple[Codes, Codes],
    again: int | None,
) -> tuple[Codes, Codes]:
    """Entries for a maximum: an idle slot before a row's end repeats the first entry of the row that continues."""
    slots, groups = row.shape
    # The next slot in which a group works: the idle slots before it repeat its row's first entry.
    slot = np.where(row >= 0, np.arange(slots)[:, None], slots)
    following = np.minimum.accumulate(slot[::-1], axis=0)[::-1]
    idle = (row < 0) & (following < slots)
    at = first[np.minimum(following, slots - 1), np.arange(groups)]
    for part, whole in ((index, entries[0]), (value, entries[1])):
        part[:, :, 0] = np.where(idle, whole[np.where(idle, at, 0)], part[:, :, 0])
    if again is not None:
        none = schedule.ordinal < 0
        value[:, :, 0] = np.where(idle & none, again, np.where(row < 0, 1, value[:, :, 0]))
    return index, value


def repeats(plan: LayerPlan) -> bool:
    """Whether a taker of an aggregation that idles gets an entry again: a maximum is looked for."""
    return plan.attends or bool(plan.layer.maximum)


def self_first(graph: IntegerGraph, layer: int) -> Ints:
    """[edges] `graph.sources` with every node's edge to itself in front of its row, where the unit reads its score.

    Raises UserError where a node has none.
    """
    target = np.repeat(np.arange(graph.nodes), np.diff(graph.indptr))
    found = graph.sources[np.lexsort((graph.sources != target, target))]
    if np.any(np.diff(graph.indptr) == 0) or np.any(found[graph.indptr[:-1]] != np.arange(graph.nodes)):
        raise UserError(f"layer {layer}: attention needs an edge of every node to itself in its graph")
    return found


def readout_fraction(rows: GraphData) -> int:
    """The most fraction bits with which the coefficient of a readout's smallest graph is a value of any entry."""
    return (int(rows.degrees.min()) * LARGEST_VALUE).bit_length() - 1


def mean_fraction(plan: LayerPlan, engine: Engine, rows: GraphData) -> int:
    """The fraction bits of the coefficients of a readout's mean: that of its smallest graph fills 9 bits.

    Raises UserError where the engine does not offer the shift, or the largest graph would have the coefficient 0.
    """
    smallest, largest, layer = int(rows.degrees.min()), int(rows.degrees.max()), plan.layer.index
    most = readout_fraction(rows)
    if np.rint(2.0**most / largest) == 0:
        raise UserError(f"layer {layer}: graphs of {smallest} and of {largest} nodes have no mean in one readout")
    shift = plan.aggregate_shift + most - wire.COEFFICIENT_FRACTION_BITS
    if shift not in engine.shifts:
        raise UserError(f"layer {layer}: the mean of a readout whose smallest graph has {smallest} nodes needs the "
                        f"shift {shift}; the engine offers {engine.shifts}")  # fmt: skip
    return most


def coefficients(
    layer: ArrayLayer, data: GraphData, graph: IntegerGraph, fraction: int = wire.COEFFICIENT_FRACTION_BITS
) -> Codes:
    """[edges] integer coefficients of an aggregation, in the order of `graph.sources`.

    A mean divides them by the number of messages before they are rounded to so many fraction bits; with scores they say
    how often a row's sum of coefficients counts one: see `Softmax.counted`.
    """
    g = layer
    if g.attends and g.mean:
        return 2 * np.repeat(np.diff(graph.indptr), np.diff(graph.indptr)) - 1
    if not g.mean:
        return graph.gcn if g.gcn else np.ones(len(graph.sources), np.int64)
    degrees = data.degrees.astype(np.float64)
    weight = 1.0 / np.sqrt(degrees[data.targets] * degrees[data.sources]) if g.gcn else np.ones(len(graph.sources))
    return np.rint(2.0**fraction * weight / degrees[data.targets]).astype(np.int64)


def image_beats(image: Codes, engine: Engine) -> Beats:
    """[places, words, LANES] codes as beats: word by word, the places of a word side by side."""
    words = image.transpose(1, 0, 2).reshape(-1, LANES)
    together, beat_bits = engine.loaded_together, engine.beat_bits
    words = np.pad(words, ((0, -len(words) % together), (0, 0)))
    bits = ((words[:, :, None] >> np.arange(engine.bits)) & 1).astype(np.uint8).reshape(len(words), -1)
    room = beat_bits // together
    padded = np.pad(bits, ((0, 0), (0, room - bits.shape[1])))
    return np.packbits(padded.reshape(-1, beat_bits), axis=1, bitorder="little")


def read_image(beats: Beats, engine: Engine, places: int, words: int) -> Codes:
    """The codes in beats of parameters, as `image_beats` lays them out."""
    room = engine.beat_bits // engine.loaded_together
    bits = np.unpackbits(beats, axis=1, bitorder="little").reshape(-1, room)[:, : engine.word_bits]
    codes = bits.reshape(-1, LANES, engine.bits).astype(np.int64) @ (1 << np.arange(engine.bits, dtype=np.int64))
    sign = 1 << (engine.bits - 1)
    return ((codes ^ sign) - sign)[: words * places].reshape(words, places, LANES).transpose(1, 0, 2)
