"""Buffer re-purposing off: each half of a layer is a call of its own, and values between calls are in main memory.

Both halves are the array's one operation: words are loaded into the tables, the rows of a stream are multiplied by
them, and the rows of results leave as logits do. So an engine runs them unchanged, and no value stays in it. If a row
or a table is too large for a unit, a half is split into parts, a call each: so every network runs on every number of
units. The host arranges the results of earlier calls for a call that reads them: see `fgnas.hardware.array.halves` and
`parts`.
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
from fgnas.hardware.array.cycles import total_cycles
from fgnas.hardware.array.dealing import Deal, deal_for_logits
from fgnas.hardware.array.encoded import Encoded, Leaving, image_beats, no_beats
from fgnas.hardware.array.encoding import ROUNDED_AWAY
from fgnas.hardware.array.engine import HEADS, LANES, MOST_TILES, Engine, Mode, Softmax, rows_held
from fgnas.hardware.array.entries import packed, place_entries
from fgnas.hardware.array.halves import Half, Rows, halves_of
from fgnas.hardware.array.layers import ArrayNetwork
from fgnas.hardware.array.lowering import (
    network_summary,
    own_depth,
    programme_depth,
    softmax_of,
    sum_bits,
    table_depth,
    widest,
)
from fgnas.hardware.array.operations import OperationNetwork
from fgnas.hardware.array.packing import Schedule
from fgnas.hardware.array.parts import TABLE_WORDS, Part, most_rows, parts_of
from fgnas.hardware.array.programme import (
    STREAMED,
    Attention,
    Descriptor,
    Operation,
    Region,
    Target,
    beats_per_slot_row,
    entry_beats,
    programme_beats,
    slot_rows_per_beat,
)
from fgnas.hardware.numbers import ceil_div
from fgnas.hardware.wire import Beats
from fgnas.tasks.nodes import GraphData

DESCRIPTORS = 5
"""Most descriptors of a call: loads of the table, biases and activation table, the largest scores, and the stream."""


Source = ArrayNetwork | OperationNetwork


@dataclass(frozen=True, eq=False)
class CalledArray:
    """A network on a graph as calls of an engine.

    Attributes:
        source: the network.
        engine: the array.
        parts: of every half, each a call.
        edges: of the first layer's graph.
    """

    source: Source
    engine: Engine
    parts: tuple[tuple[Part, ...], ...]
    edges: int

    def on(self, engine: Engine) -> CalledArray:
        """The same calls on another engine, which has the mode of as many groups as units."""
        return replace(self, engine=engine)

    def in_groups(self) -> CalledArray:
        """The same calls on an engine whose units also work together, in the modes that parts of few rows have; as they
        are where units share tables."""
        if self.engine.shared > 1:
            return self
        modes = (together(one, self.engine.units) for one in itertools.chain(*self.parts))
        return self.on(replace(self.engine, modes=tuple(dict.fromkeys([*self.engine.modes, *modes]))))

    @property
    def count(self) -> int:
        """How many calls there are."""
        return sum(map(len, self.parts))

    @functools.cached_property
    def cycles(self) -> int:
        """Cycles of all calls together."""
        return sum(map(total_cycles, self.laid_out()))

    def laid_out(self) -> Iterator[EncodedCall]:
        """All calls without what they read: no value changes a programme or its cycles."""
        return (laid_out(self.engine, part, self.edges) for part in itertools.chain(*self.parts))

    def chain(self) -> Iterator[tuple[EncodedCall, Codes]]:
        """Every call and its results by the integer reference, [rows, width] of its part.

        The inputs of a call are made from the reference's results of the calls before it: a kernel that is right for
        each call alone is right for all of them in turn.
        """
        results: list[Codes] = []
        for parts in self.parts:
            half = parts[0].half.after(results)
            found = np.zeros((half.rows.count, half.columns), np.int64)
            for part in parts:
                call = filled(laid_out(self.engine, replace(part, half=half), self.edges))
                made = reference.run(call)
                found[part.chunk.here, part.columns[part.lanes]] = made[:, part.lanes]
                yield call, made
            results.append(found)

    def logits(self) -> Codes:
        """[N, classes] logits by the integer reference, those of all calls of the last half together."""
        last, found = self.parts[-1], list(self.chain())[-len(self.parts[-1]) :]
        logits = np.zeros((last[0].half.rows.count, last[0].half.columns), np.int64)
        for part, (_, made) in zip(last, found, strict=True):
            logits[part.chunk.here, part.columns[part.lanes]] = made[:, part.lanes]
        return logits

    def summary(self) -> dict[str, Any]:
        """The network and its calls as plain JSON values, without weights."""
        mode = vars(Mode(self.engine.units, 1, 1))
        return {
            **network_summary(self.source, self.engine),
            "repurposing": False,
            "calls": [part.name for part in itertools.chain(*self.parts)],
            "layers": [
                {"combine": mode, "aggregate": mode, "weight": vars(layer.weight_format),
                 "value": vars(layer.value_format)}
                for layer in self.source.layers
            ],
        }  # fmt: skip


def fit_calls(
    source: ArrayNetwork, data: GraphData, units: int, tiles: int = MOST_TILES, beat_bits: int = wire.BEAT_BITS,
    further: Sequence[GraphData] = (), shared: int = 1, words: int = TABLE_WORDS,
) -> CalledArray:  # fmt: skip
    """A network on a graph as calls of the smallest engine of so many units that runs them, in parts of up to `tiles`
    words of a row whose tables have up to `words`; `further` as in `encode_array`, `shared` as in `Engine`."""
    halves = halves_of(source, data, further)
    parts = parts_of(halves, tiles, most_rows(halves, units), words)
    return CalledArray(source, calls_engine(source, parts, units, beat_bits, shared), parts, len(data.sources))


def _needs(source: Source) -> tuple[int, int, Softmax | None]:
    """Bits of numbers and of sums that a network takes, and its softmax."""
    if isinstance(source, OperationNetwork):
        return source.bits, source.sum_bits, source.softmax
    return widest(source), sum_bits(source), softmax_of(source)


def together(part: Part, units: int) -> Mode:
    """The mode in which units work on the rows of a part: groups of as many units as leave a group for every row, a
    power of two, each unit with other entries of the row. Rows of maxima and softmaxes have a unit each, which reads an
    entry in every slot."""
    k = 1
    if not part.half.maximum and part.half.heads is None:
        while units % (2 * k) == 0 and units // (2 * k) >= part.chunk.rows.count:
            k *= 2
    return Mode(units // k, k, 1)


def calls_engine(
    source: Source, parts: Sequence[Sequence[Part]], units: int, beat_bits: int, shared: int = 1
) -> Engine:
    """The smallest engine of so many units that runs all parts."""
    each = list(itertools.chain(*parts))
    scored = [(one.half.heads, one.chunk.rows) for one in each if one.half.heads is not None]
    scores = [heads.bits for heads, _ in scored]
    own = [deal_of(rows, units).depth for _, rows in scored]
    wide, of_sums, softmax = _needs(source)
    shifts = {one.half.shift for one in each} | {0 for _ in scored}
    return Engine(
        units=units, bits=max([wide, *scores]), modes=(Mode(units, 1, 1),),
        tiles=max(one.tiles for one in each),
        table_words=int(table_depth(max(one.table_words for one in each), beat_bits, shared=shared)),
        own_words=int(own_depth(max(own, default=0))),
        bias_words=max(one.tiles for one in each), activation_words=max(_activation_words(one.half) for one in each),
        shifts=tuple(sorted(shifts)), maximum=bool(scored) or any(one.half.maximum for one in each),
        sum_bits=of_sums, programme=int(programme_depth(DESCRIPTORS)), beat_bits=beat_bits, shared=shared,
        # Scores of edges come as those of sources, so that no query meets H.
        softmax=softmax and replace(softmax, dot=False, pair=False),
    )  # fmt: skip


def _activation_words(half: Half) -> int:
    return 0 if half.activation_table is None else int(ceil_div(len(half.activation_table), LANES))


@dataclass(frozen=True, eq=False)
class CallOrder:
    """Rows on an engine: how they are dealt and laid into slot rows."""

    mode: Mode
    deal: Deal
    schedule: Schedule


@functools.lru_cache(maxsize=128)
def deal_of(rows: Rows, groups: int) -> Deal:
    """Rows dealt to groups so that their results leave row by row."""
    return deal_for_logits(np.diff(rows.indptr)[:, None], groups)


MANY_ENTRIES = 1 << 20
"""Entries whose orders are not kept but for the last one's, since each takes some 24 bytes an entry."""


def order_of(engine: Engine, part: Part) -> CallOrder:
    """Groups of units for the rows of a part; results leave row by row across them. The parts of a half have the same
    order. Groups have one unit each where the engine has no other mode for the part."""
    rows, mode = part.chunk.rows, together(part, engine.units)
    mode = mode if mode in engine.modes else Mode(engine.units, 1, 1)
    engine.mode_number(mode)
    return (_last_ordered if len(rows.index) > MANY_ENTRIES else _ordered)(engine, rows, part.tiles, mode)


def _order(engine: Engine, rows: Rows, tiles: int, mode: Mode) -> CallOrder:
    deal = deal_of(rows, mode.m)
    ordered = rows_held(engine.queue_words, tiles) - 1
    return CallOrder(mode, deal, packed(engine, rows.indptr, rows.index * tiles, deal, mode, ordered))


_ordered = functools.lru_cache(maxsize=32)(_order)
_last_ordered = functools.lru_cache(maxsize=1)(_order)


@dataclass(frozen=True, eq=False)
class EncodedCall(Encoded):
    """Everything that the host sends for one call; see `Encoded`.

    Attributes:
        part: the part of a half that it computes.
        on: the engine.
        order: the order of its rows on the engine.
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
        if not self.programme:
            return ["fetch"]
        loads = [f"load {Target(one.target).name.lower()}" for one in self.programme if not one.computes]
        return ["fetch", *loads, *["maximum"] * (self.part.half.heads is not None), self.part.name]

    @property
    def multiplications(self) -> list[int]:
        """Those that the network needs in each phase."""
        return [*[0] * len(self.programme), *([self.part.multiplications] if self.programme else [])]


def laid_out(engine: Engine, part: Part, edges: int) -> EncodedCall:
    """The programme of a call, without what it reads; `edges` are those of the first layer's graph.

    Raises UserError where the engine does not hold it.
    """
    half = part.half
    if engine.shared > 1 and half.maximum and isinstance(half.value, np.ndarray) and not half.value.all():
        raise UserError(f"layer {half.layer}: {ROUNDED_AWAY}")
    order = order_of(engine, part)
    if not order.deal.depth:
        return EncodedCall(part, engine, order, edges, {}, (), {})
    held = {
        Target.TABLE: engine.table_words, Target.BIAS: engine.bias_words, Target.ACTIVATION: engine.activation_words,
    }  # fmt: skip
    programme, beats = [], 0
    for target, words in _loaded(part).items():
        if words > held[target]:
            raise UserError(f"{part.name}: {words} words are loaded into {target.name.lower()}, the engine has "
                            f"{held[target]}")  # fmt: skip
        programme.append(Descriptor(
            operation=Operation.LOAD, mode=engine.mode_number(Mode(engine.units, 1, 1)), tiles=1, count=words,
            target=target, region=Region.PARAMETERS, offset=beats, beats=int(ceil_div(words, engine.loaded_together)),
        ))  # fmt: skip
        beats += programme[-1].beats
    streams = _streams(engine, part, order)
    schedules = {len(programme) + place: order.schedule for place in range(len(streams))}
    return EncodedCall(part, engine, order, edges, schedules, (*programme, *streams), {})


def _streams(engine: Engine, part: Part, order: CallOrder) -> list[Descriptor]:
    """The descriptors that read the rows: the results, and in front of messages with scores the largest of these."""
    half, rows = part.half, order.deal.groups * order.deal.depth
    results = Descriptor(
        operation=Operation.SPARSE, mode=engine.mode_number(order.mode), tiles=part.tiles,
        count=order.schedule.slot_rows, region=Region.EDGES if half.aggregates else Region.FEATURES,
        beats=_stream_beats(engine, order), limit=part.table_words, target=Target.LOGITS, target_tiles=part.tiles,
        result_beats=rows * part.tiles // engine.results_together(order.mode, part.tiles), reduce=int(half.maximum),
        shift=engine.shift_number(half.shift), bias=int(half.bias is not None), bias_fine=int(half.bias_fine),
        activation=half.activation, bits=half.bits,
    )  # fmt: skip
    if half.heads is None:
        return [results]
    assert engine.softmax is not None
    messages = replace(
        results, operation=Operation.ATTEND, attention=Attention.MESSAGES, head_tiles=part.head_tiles,
        exponent_shift=engine.softmax.fraction_bits - half.heads.fraction_bits, symmetric=int(half.heads.symmetric),
    )  # fmt: skip
    largest = replace(
        messages, attention=Attention.MAXIMA, tiles=1, target=Target.OWN, target_tiles=1, result_beats=0, reduce=1,
        shift=engine.shift_number(0), bias=0, bias_fine=0, activation=0, bits=half.heads.bits,
    )  # fmt: skip
    return [largest, messages]


def _stream_beats(engine: Engine, order: CallOrder) -> int:
    """Beats of the slot rows of a call."""
    facts = (order.mode.takers, engine.beat_bits, engine.bits)
    return int(ceil_div(order.schedule.slot_rows, slot_rows_per_beat(*facts))) * beats_per_slot_row(*facts)


def _loaded(part: Part) -> dict[Target, int]:
    """Words that a call loads, by the memory that they go to."""
    half = part.half
    found = {Target.TABLE: part.table_words, Target.BIAS: part.tiles * (half.bias is not None),
             Target.ACTIVATION: _activation_words(half)}  # fmt: skip
    return {target: words for target, words in found.items() if words}


def filled(call: EncodedCall) -> EncodedCall:
    """The call with what it reads."""
    engine, half, chunk = call.engine, call.part.half, call.part.chunk
    assert isinstance(half.value, np.ndarray), "the call before it has run"
    regions = {one.name.lower(): no_beats(engine) for one in STREAMED}
    if call.programme:
        images = [image_beats(image[None], engine) for image in _images(call.part)]
        regions[Region.PARAMETERS.name.lower()] = np.concatenate(images)
        order, entries = call.order, (chunk.rows.index * call.part.pitch, half.value[chunk.entries])
        repeat = (half.maximum or half.heads is not None) and engine.shared == 1
        again = half.heads.again if half.heads is not None else None
        placed = place_entries(order.schedule, order.deal, order.mode.k, chunk.rows.indptr, entries, repeat, again)
        stream = entry_beats(*placed, order.mode.takers, engine.beat_bits, engine.bits)
        regions[Region(call.programme[-1].region).name.lower()] = stream
    regions["programme"] = programme_beats(call.programme, engine.beat_bits)
    return replace(call, regions=regions)


def _images(part: Part) -> Iterator[Codes]:
    """[words, LANES] what a call loads, memory by memory as in `_loaded`."""
    half = part.half
    assert isinstance(half.table, np.ndarray)
    table = _lanes(half.table[part.chunk.named], part)
    if half.heads is not None:
        assert isinstance(half.heads.scores, np.ndarray)
        table = np.concatenate([_scores(half.heads.scores[part.chunk.named], *part.heads), table], axis=1)
    yield table.reshape(-1, LANES)
    if half.bias is not None:
        yield _lanes(half.bias[None], part).reshape(-1, LANES)
    if half.activation_table is not None:
        room = _activation_words(half) * LANES - len(half.activation_table)
        yield np.pad(half.activation_table, (0, room)).reshape(-1, LANES)


def _lanes(rows: Codes, part: Part) -> Codes:
    """[rows, tiles * LANES] the columns of a part; 0 where a lane has none."""
    found = np.zeros((len(rows), len(part.columns)), np.int64)
    found[:, part.lanes] = rows[:, part.columns[part.lanes]]
    return found


def _scores(rows: Codes, first: int, end: int) -> Codes:
    """[rows, LANES] the scores of some heads as sources, then as targets, out of those of all."""
    found = np.zeros((len(rows), LANES), np.int64)
    for lane, head in enumerate(range(first, end)):
        place = head // HEADS * LANES + head % HEADS
        found[:, lane], found[:, HEADS + lane] = rows[:, place], rows[:, place + HEADS]
    return found
