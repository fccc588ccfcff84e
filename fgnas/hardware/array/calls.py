"""Buffer re-purposing off: each half of a layer is a call of its own, and what lies between calls is in main memory.

Both halves are the array's one operation: words are loaded into the tables, the rows of a stream meet them, and the
rows of results leave as logits do. The words are W, or the H of the call before; the rows are those of X or of the
graph, or dense ones whose values are the Z of the call before. So an engine runs them as it is, and nothing stays in
it. Rows may be made in parts of their columns, a call each.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fgnas.errors import UserError
from fgnas.fixedpoint import Codes
from fgnas.hardware import wire
from fgnas.hardware.array import reference
from fgnas.hardware.array.cycles import RETURN, product_name
from fgnas.hardware.array.dealing import Deal, Ints, deal_for_logits
from fgnas.hardware.array.encoding import (
    ROUNDED_AWAY,
    Encoded,
    Leaving,
    coefficients,
    encode_graphs,
    image_beats,
    no_beats,
    packed,
    place_entries,
)
from fgnas.hardware.array.engine import LANES, MOST_TILES, Engine, Mode, rows_held
from fgnas.hardware.array.heads import adds_heads, with_heads_apart
from fgnas.hardware.array.lowering import (
    activation_of,
    aggregate_shift,
    averaged_heads,
    check_network,
    network_summary,
    own_depth,
    programme_depth,
    sum_bits,
    table_depth,
    widest,
)
from fgnas.hardware.array.packing import Schedule
from fgnas.hardware.array.programme import (
    LARGEST_INDEX,
    Activation,
    Beats,
    Descriptor,
    Operation,
    Region,
    Target,
    beats_per_slot_row,
    entry_beats,
    programme_beats,
    slot_rows_per_beat,
)
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.numbers import ceil_div
from fgnas.hardware.pipeline.accelerator import Accelerator, LayerAccelerator
from fgnas.tasks.nodes import GraphData

DESCRIPTORS = 4
"""Of a call at most: loads of the table, of biases and of an activation table, and the stream."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of entries.

    Attributes:
        indptr: [rows + 1] where rows begin in the entries.
        index: [entries] the row of the table that each names.
    """

    indptr: Ints
    index: Ints


@dataclass(frozen=True, eq=False)
class Half:
    """One half of a layer: rows of entries times a table, and what becomes of their sums.

    Attributes:
        name: what it does, and in which layer of the design.
        layer: its layer among those of the accelerator.
        aggregates: whether it is A H, not X W.
        rows: the rows of entries.
        value: [entries] factors; None where they are the results of the half before, row by row.
        table: [depth, columns] codes; None where it is the results of the half before, of which a row has
            `columns` numbers of each head that is averaged.
        depth, columns: of the table.
        shift: right shift behind the sums.
        bits: width that results saturate to.
        multiplications: those that the network needs for a column.
        maximum: whether rows are reduced by their maximum.
        bias: [columns] codes, or None; bias_fine: whether they have fewer fraction bits than the results.
        activation: the function behind the bias; activation_table: [2**bits] codes, or None.
    """

    name: str
    layer: int
    aggregates: bool
    rows: Rows
    value: Codes | None
    table: Codes | None
    depth: int
    columns: int
    shift: int
    bits: int
    multiplications: int
    maximum: bool = False
    bias: Codes | None = None
    bias_fine: bool = False
    activation: Activation = Activation.NONE
    activation_table: Codes | None = None

    @property
    def words(self) -> int:
        """Words of a row of the table."""
        return int(ceil_div(self.columns, LANES))

    def after(self, results: Codes | None) -> Half:
        """The half with the results [N, columns] of the one before it in their place; None in front of the first."""
        value = results.ravel() if results is not None and self.value is None else self.value
        table = results.reshape(-1, self.columns) if results is not None and self.table is None else self.table
        return replace(self, value=value, table=table)


def halves_of(source: Accelerator, data: GraphData, further: Sequence[GraphData] = ()) -> tuple[Half, ...]:
    """The halves of all layers of a network from `with_heads_apart`; `further` as in `encode_array`.

    Raises UserError where one does not leave as rows of results.
    """
    check_network(source)
    for layer in source.layers:
        if layer.geometry.gat:
            raise UserError(f"layer {source.design_layer(layer.index)}: attention {layer.attention} keeps scores "
                            f"on the chip, which needs buffer re-purposing on: choose constant or gcn")  # fmt: skip
    given, graphs = encode_graphs(source, data, further)
    found: list[Half] = []
    for layer, rows, graph in zip(source.layers, given, graphs, strict=True):
        if rows.nodes != data.nodes:
            raise UserError("a readout has other rows than the layer before it: it needs buffer re-purposing on")
        found += [_combination(source, layer, graphs[0]), _aggregation(source, layer, rows, graph)]
    return tuple(found)


def _combination(source: Accelerator, layer: LayerAccelerator, graph: IntegerGraph) -> Half:
    """X W or Z W; of heads that are averaged one behind the other, as the aggregation reads them."""
    g, heads, x = layer.geometry, averaged_heads(layer), graph.features
    if g.first:
        indptr, index, value = x.indptr.astype(np.int64), x.indices.astype(np.int64), x.data.astype(np.int64)
    else:
        indptr = np.arange(graph.nodes + 1) * g.input_width
        index, value = np.tile(np.arange(g.input_width), graph.nodes), None
    weight = layer.weight.reshape(g.input_width, -1, heads).transpose(0, 2, 1).reshape(g.input_width, -1)
    work = product_name(source, layer) if layer.second else "combine"
    return Half(
        name=f"{work} {source.design_layer(layer.index)}",
        layer=layer.index,
        aggregates=False,
        rows=Rows(indptr, index),
        value=value,
        table=weight,
        depth=g.input_width,
        columns=weight.shape[1],
        shift=layer.linear_shift,
        bits=layer.value_format.width,
        multiplications=0 if adds_heads(source, layer) else len(index),
    )


def _aggregation(source: Accelerator, layer: LayerAccelerator, rows: GraphData, graph: IntegerGraph) -> Half:
    """A H, bias and activation; a row has an entry of every averaged head for each edge."""
    g, heads, activation = layer.geometry, averaged_heads(layer), activation_of(layer)
    index = (graph.sources[:, None] * heads + np.arange(heads)).ravel()
    return Half(
        name=f"{RETURN if layer.second else 'aggregate'} {source.design_layer(layer.index)}",
        layer=layer.index,
        aggregates=True,
        rows=Rows(heads * graph.indptr, index),
        value=np.repeat(coefficients(layer, rows, graph), heads),
        table=None,
        depth=heads * graph.nodes,
        columns=g.features // heads,
        shift=aggregate_shift(layer),
        bits=wire.LOGIT_BITS if g.last else layer.argument_format.width,
        multiplications=len(index) * bool(g.gcn),
        maximum=bool(g.maximum),
        bias=layer.bias,
        bias_fine=bool(g.last and layer.value_format.fraction_bits < source.logit_format.fraction_bits),
        activation=activation,
        activation_table=layer.activation_table if activation is Activation.TABLE else None,
    )


@dataclass(frozen=True, eq=False)
class Part:
    """The columns of a half that a call makes.

    Attributes:
        half: all of them.
        number: of the part, from 1 on; 0 where it is the only one.
        first: first word of its columns.
        tiles: words of them.
    """

    half: Half
    number: int
    first: int
    tiles: int

    @property
    def name(self) -> str:
        """The half, and which part of it."""
        return self.half.name + (f", part {self.number}" if self.number else "")

    @property
    def here(self) -> slice:
        """Its columns."""
        return slice(self.first * LANES, min((self.first + self.tiles) * LANES, self.half.columns))

    @property
    def width(self) -> int:
        """How many they are."""
        return self.here.stop - self.here.start


def parts_of(halves: Sequence[Half], tiles: int) -> tuple[tuple[Part, ...], ...]:
    """Every half in parts of up to so many words; the last half is whole, so that its results are the logits.

    Raises UserError where these are more than a row of an engine.
    """
    last = halves[-1]
    if last.words > MOST_TILES:
        raise UserError(f"with buffer re-purposing off a network has {MOST_TILES * LANES} classes at most, not "
                        f"{last.columns}")  # fmt: skip
    return (*(_parts(half, tiles) for half in halves[:-1]), _parts(last, last.words))


def _parts(half: Half, tiles: int) -> tuple[Part, ...]:
    several = half.words > tiles
    return tuple(
        Part(half, number * several, first, min(tiles, half.words - first))
        for number, first in enumerate(range(0, half.words, tiles), 1)
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class CalledArray:
    """A network on a graph as calls of an engine.

    Attributes:
        source: the network.
        engine: the array.
        parts: of every half, each a call.
        edges: of the first layer's graph.
    """

    source: Accelerator
    engine: Engine
    parts: tuple[tuple[Part, ...], ...]
    edges: int

    def on(self, engine: Engine) -> CalledArray:
        """The same calls on another engine, which has the mode of as many groups as units."""
        return replace(self, engine=engine)

    def laid_out(self) -> list[EncodedCall]:
        """All calls without what they read: no value changes a programme or its cycles."""
        return [laid_out(self.engine, part, self.edges) for part in itertools.chain(*self.parts)]

    def chain(self) -> Iterator[tuple[EncodedCall, Codes]]:
        """Every call and its results by the integer reference, [N, width]; the last ones are the logits.

        What a call reads of those before it is made of their results by the reference: a kernel that gives the same for
        each alone gives the same for all, one after the other.
        """
        results: Codes | None = None
        for parts in self.parts:
            found = []
            for part in parts:
                call = filled(laid_out(self.engine, replace(part, half=part.half.after(results)), self.edges))
                found.append(reference.run(call))
                yield call, found[-1]
            results = np.concatenate(found, axis=1)

    def summary(self) -> dict[str, Any]:
        """The network and its calls as plain JSON values, without weights."""
        mode = vars(Mode(self.engine.units, 1, 1))
        last = self.parts[-1][-1]
        return {
            **network_summary(self.source, self.engine),
            "repurposing": False,
            "calls": [part.name for part in itertools.chain(*self.parts)],
            "layers": [
                {"combine": mode, "aggregate": mode, "tiles": last.tiles if layer.geometry.last else None,
                 "weight": vars(layer.weight_format), "value": vars(layer.value_format)}
                for layer in self.source.layers
            ],
        }  # fmt: skip


def fit_calls(
    source: Accelerator, data: GraphData, units: int, tiles: int = MOST_TILES, beat_bits: int = wire.BEAT_BITS,
    further: Sequence[GraphData] = (), shared: int = 1,
) -> CalledArray:  # fmt: skip
    """A network on a graph as calls of the smallest engine of so many units that runs them, in parts of up to `tiles`
    words of a row; `further` as in `encode_array`, `shared` as in `Engine`."""
    source = with_heads_apart(source)
    return called(source, halves_of(source, data, further), units, tiles, beat_bits, len(data.sources), shared)


def called(
    source: Accelerator, halves: Sequence[Half], units: int, tiles: int, beat_bits: int, edges: int, shared: int = 1
) -> CalledArray:
    """`fit_calls` of halves that are known."""
    parts = parts_of(halves, tiles)
    return CalledArray(source, calls_engine(source, parts, units, beat_bits, shared), parts, edges)


def calls_engine(
    source: Accelerator, parts: Sequence[Sequence[Part]], units: int, beat_bits: int, shared: int = 1
) -> Engine:
    """The smallest engine of so many units that runs all parts. Raises UserError where no table holds one."""
    each = list(itertools.chain(*parts))
    depth = max(max(1, one.half.depth) * one.tiles for one in each)
    if depth > LARGEST_INDEX + 1:
        raise UserError(f"with buffer re-purposing off H and W lie whole in a table, {depth} words of it; it has "
                        f"{LARGEST_INDEX + 1} at most")  # fmt: skip
    return Engine(
        units=units, bits=widest(source), modes=(Mode(units, 1, 1),), tiles=max(one.tiles for one in each),
        table_words=int(table_depth(depth, beat_bits, shared=shared)), own_words=int(own_depth(0)),
        bias_words=max(one.tiles for one in each), activation_words=max(_activation_words(one.half) for one in each),
        shifts=tuple(sorted({one.half.shift for one in each})), maximum=any(one.half.maximum for one in each),
        sum_bits=sum_bits(source), programme=int(programme_depth(DESCRIPTORS)), beat_bits=beat_bits,
        shared=shared,
    )  # fmt: skip


def _activation_words(half: Half) -> int:
    return 0 if half.activation_table is None else int(ceil_div(len(half.activation_table), LANES))


@dataclass(frozen=True, eq=False)
class CallOrder:
    """Rows on an engine: how they are dealt and laid into slot rows."""

    mode: Mode
    deal: Deal
    schedule: Schedule


@functools.lru_cache(maxsize=32)
def order_of(engine: Engine, rows: Rows, tiles: int) -> CallOrder:
    """Groups of one unit each; results leave row by row across them. The parts of a half have the same order."""
    mode = Mode(engine.units, 1, 1)
    engine.mode_number(mode)
    deal = deal_for_logits(np.diff(rows.indptr)[:, None], mode.m)
    ordered = rows_held(engine.queue_words, tiles) - 1
    return CallOrder(mode, deal, packed(engine, rows.indptr, rows.index * tiles, deal, mode, ordered))


@dataclass(frozen=True, eq=False)
class EncodedCall(Encoded):
    """Everything that the host sends for one call; see `Encoded`.

    Attributes:
        part: what it makes.
        on: the engine.
        order: its rows on it.
        first_edges: edges of the first layer's graph.
    """

    part: Part
    on: Engine
    order: CallOrder
    first_edges: int
    schedules: dict[int, Schedule]
    programme: tuple[Descriptor, ...]
    regions: dict[str, Beats]

    @property
    def engine(self) -> Engine:
        """The array that runs it."""
        return self.on

    @property
    def leaving(self) -> Leaving:
        """How its results leave."""
        return Leaving(self.order.deal, self.order.mode, self.part.tiles, self.part.width)

    @property
    def edges(self) -> int:
        """Edges of the first layer's graph."""
        return self.first_edges

    @property
    def phase_names(self) -> list[str]:
        """The phases of `fgnas.hardware.array.cycles.phase_cycles`, in words."""
        loads = [f"load {Target(one.target).name.lower()}" for one in self.programme if not one.computes]
        return ["fetch", *loads, *([self.part.name] if self.programme else [])]

    @property
    def multiplications(self) -> list[int]:
        """Those that the network needs in each phase."""
        needed = self.part.half.multiplications * self.part.width
        return [*[0] * len(self.programme), *([needed] if self.programme else [])]


def laid_out(engine: Engine, part: Part, edges: int) -> EncodedCall:
    """The programme of a call, without what it reads; `edges` are those of the first layer's graph.

    Raises UserError where the engine does not hold it.
    """
    half = part.half
    if engine.shared > 1 and half.maximum and half.value is not None and not half.value.all():
        raise UserError(f"layer {half.layer}: {ROUNDED_AWAY}")
    order = order_of(engine, half.rows, part.tiles)
    if not order.deal.depth:
        return EncodedCall(part, engine, order, edges, {}, (), {})
    mode, held = engine.mode_number(order.mode), {
        Target.TABLE: engine.table_words, Target.BIAS: engine.bias_words, Target.ACTIVATION: engine.activation_words,
    }  # fmt: skip
    programme, beats = [], 0
    for target, words in _loaded(part).items():
        if words > held[target]:
            raise UserError(f"{part.name}: {words} words are loaded into {target.name.lower()}, the engine has "
                            f"{held[target]}")  # fmt: skip
        programme.append(Descriptor(
            operation=Operation.LOAD, mode=mode, tiles=1, count=words, target=target, region=Region.PARAMETERS,
            offset=beats, beats=int(ceil_div(words, engine.loaded_together)),
        ))  # fmt: skip
        beats += programme[-1].beats
    rows = order.deal.groups * order.deal.depth
    programme.append(Descriptor(
        operation=Operation.SPARSE, mode=mode, tiles=part.tiles, count=order.schedule.slot_rows,
        region=Region.EDGES if half.aggregates else Region.FEATURES, beats=_stream_beats(engine, order),
        limit=half.depth * part.tiles, target=Target.LOGITS, target_tiles=part.tiles,
        result_beats=rows * part.tiles // engine.results_together(order.mode, part.tiles), reduce=int(half.maximum),
        shift=engine.shift_number(half.shift), bias=int(half.bias is not None), bias_fine=int(half.bias_fine),
        activation=half.activation, bits=half.bits,
    ))  # fmt: skip
    return EncodedCall(part, engine, order, edges, {len(programme) - 1: order.schedule}, tuple(programme), {})


def _stream_beats(engine: Engine, order: CallOrder) -> int:
    """Beats of the slot rows of a call."""
    facts = (order.mode.takers, engine.beat_bits, engine.bits)
    return int(ceil_div(order.schedule.slot_rows, slot_rows_per_beat(*facts))) * beats_per_slot_row(*facts)


def _loaded(part: Part) -> dict[Target, int]:
    """Words that a call loads, by the memory that they go to."""
    half = part.half
    found = {Target.TABLE: half.depth * part.tiles, Target.BIAS: part.tiles * (half.bias is not None),
             Target.ACTIVATION: _activation_words(half)}  # fmt: skip
    return {target: words for target, words in found.items() if words}


def filled(call: EncodedCall) -> EncodedCall:
    """The call with what it reads."""
    engine, half = call.engine, call.part.half
    assert half.table is not None and half.value is not None, "the call before it has run"
    regions = {one.name.lower(): no_beats(engine) for one in Region}
    if call.programme:
        images = [image_beats(image[None], engine) for image in _images(call.part)]
        regions[Region.PARAMETERS.name.lower()] = np.concatenate(images)
        order, entries = call.order, (half.rows.index * call.part.tiles, half.value)
        repeat = half.maximum and engine.shared == 1
        placed = place_entries(order.schedule, order.deal, 1, half.rows.indptr, entries, repeat)
        stream = entry_beats(*placed, order.mode.takers, engine.beat_bits, engine.bits)
        regions[Region(call.programme[-1].region).name.lower()] = stream
    regions["programme"] = programme_beats(call.programme, engine.beat_bits)
    return replace(call, regions=regions)


def _images(part: Part) -> Iterator[Codes]:
    """[words, LANES] what a call loads, memory by memory as in `_loaded`."""
    half, room = part.half, part.tiles * LANES
    assert half.table is not None
    yield _words(half.table[:, part.here], room)
    if half.bias is not None:
        yield _words(half.bias[None, part.here], room)
    if half.activation_table is not None:
        yield _words(half.activation_table[None], _activation_words(half) * LANES)


def _words(rows: Codes, room: int) -> Codes:
    """[words, LANES] rows of codes, each in words with room for so many."""
    return np.pad(rows, ((0, 0), (0, room - rows.shape[1]))).reshape(-1, LANES)
