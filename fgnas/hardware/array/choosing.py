"""The fastest engine for a network within a number of multipliers: every arrangement is priced."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.errors import UserError
from fgnas.fixedpoint import Codes
from fgnas.hardware import wire
from fgnas.hardware.array.area import attention_columns
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.calls import CalledArray, Source, calls_engine
from fgnas.hardware.array.chains import ChainArray, chain_of
from fgnas.hardware.array.cycles import total_cycles
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.engine import (
    FINISHED,
    HEADS,
    LANES,
    LARGEST_UNITS,
    MOST_PROGRAMME,
    MOST_TILES,
    SHARED,
    dsps_of,
    may_pair,
    multipliers_within,
    table_banks,
)
from fgnas.hardware.array.halves import Half, halves_of
from fgnas.hardware.array.layers import ArrayLayer, ArrayNetwork
from fgnas.hardware.array.lowering import (
    BLOCK_WORDS,
    LOADS,
    ArrayAccelerator,
    check_network,
    default_columns,
    descriptors,
    has_blocks,
    last_columns,
    layer_shifts,
    row_words,
    score_steps,
    softmax_of,
    sum_bits,
    unfolded,
    widest,
)
from fgnas.hardware.array.operations import OperationNetwork, halves_of_operations
from fgnas.hardware.array.parts import TABLE_WORDS, Part, most_rows, parts_of
from fgnas.hardware.array.placing import check_least, fit
from fgnas.hardware.array.pricing import ArrayPricer, Candidates
from fgnas.hardware.array.programme import NARROW_BITS, PORT_WIDTHS, Activation
from fgnas.hardware.array.resources import engine_resources, exponential_halves
from fgnas.hardware.integer.graph import AnyGraph
from fgnas.hardware.numbers import ceil_div
from fgnas.hardware.specification import DEFAULT_FAMILY
from fgnas.tasks.nodes import GraphData

LABELS = {"lut": "LUT", "ff": "FF", "dsp": "DSP", "bram36": "block RAM"}


@dataclass(frozen=True)
class Room:
    """Limits of an array.

    Attributes:
        multipliers: upper limit of its multipliers.
        beat_bits: width of the memory port.
        limits: upper limits of other resources by name: lut, ff, dsp, bram36.
        family: device family for which resources are counted.
        paired: whether two products may share a DSP slice where the limit of these asks for it.
    """

    multipliers: int
    beat_bits: int = wire.BEAT_BITS
    limits: Mapping[str, float] = field(default_factory=dict)
    family: str = DEFAULT_FAMILY
    paired: bool = False

    def __post_init__(self) -> None:
        if self.beat_bits not in PORT_WIDTHS:
            known = ", ".join(map(str, PORT_WIDTHS))
            raise UserError(f"an array's memory port has {known} bits, not {self.beat_bits}")
        if self.multipliers < LANES:
            raise UserError(f"an array has {LANES} multipliers at least, the design may use {self.multipliers}")

    @property
    def limits_logic(self) -> bool:
        """Whether LUTs or flip-flops are limited."""
        return not {"lut", "ff"}.isdisjoint(self.limits)

    @classmethod
    def within(
        cls, dsp: int, multipliers: int | None, beat_bits: int, limits: Mapping[str, float],
        family: str = DEFAULT_FAMILY, paired: bool = False,
    ) -> Room:  # fmt: skip
        """For so many multipliers, by default those of a budget of DSPs. `paired` allows twice as many as the budget,
        or half the DSPs for `multipliers`, where two products may share a slice."""
        most = multipliers_within(dsp, paired) if multipliers is None else multipliers
        allowed = {"dsp": float(dsps_of(most, True))} if paired else {}
        return cls(most, beat_bits, {**limits, **allowed}, family, paired)


LARGER = 0.02
"""Share of the cycles that each doubling must save: of the words of H per cycle, of the lanes that are finished in a
cycle, or of the units that share a table. It costs LUTs, and these are only compared with a limit if there is one."""


def fastest(
    source: ArrayNetwork, data: AnyGraph, room: Room, further: Sequence[AnyGraph] = ()
) -> ArrayAccelerator:
    """The engine and modes with the fewest cycles on this graph; among equals the one with fewer units.

    Compares the `offered_units` of the budget, every n of every hidden layer, every number of passes of the first
    layer, as many words of H a cycle as the tables have banks, and epilogues that finish a part of a word in a cycle.
    Twice as many words, or as large a part, must save LARGER of the cycles. Where LUTs or flip-flops are limited, also
    memories that take block RAMs instead of LUTs (`table_depth`); where block RAMs are, tables that units share
    (`in_shares`), of which twice as many readers must save LARGER. Units that take more DSPs than a limit allows have
    two products in a slice, where the room is `paired` and numbers are narrow enough. Only where none of them fits, the
    first layer's W comes in slices, too, or the rows of H in blocks. `further` as in `encode_array`. Raises UserError
    where the network fits no array.
    """
    check_network(source)
    savings = list(itertools.product(FINISHED, (False, True))) if room.limits_logic else [(LANES, False)]
    offered = arrangements(source, room.multipliers // LANES, table_banks(room.beat_bits), savings)
    if not offered:
        raise UserError(f"no array of up to {room.multipliers} multipliers has a unit for every {HEADS} heads")
    graphs = (data, *further)
    if shares(room):
        offered += in_shares(source, offered)
    try:
        return _fastest_of(source, graphs, room, offered)
    except UserError as error:
        keeping = [one for one in offered if one.finished == LANES]  # an engine with partial sums finishes whole words
        parted = [*in_slices(source, keeping), *in_blocks(source, keeping)] if data.nodes else []
        if not parted:
            raise
        try:
            return _fastest_of(source, graphs, room, parted)
        except UserError as other:
            limits = isinstance(error, _NotHeld) and not isinstance(other, _NotHeld)
            raise (other if limits else error) from None


def _fastest_of(
    source: ArrayNetwork, graphs: Sequence[AnyGraph], room: Room, offered: list[Arrangement]
) -> ArrayAccelerator:
    """The first that fits, the fastest first; `graphs` are those of the layers, or one for all."""
    offered = holding(source, graphs, in_pairs(source, offered, room) if room.paired else offered, room)
    prices = prices_of(source, graphs, offered, room.beat_bits, room.family)
    if not room.limits_logic and (further := _with_fewer_lanes(offered, prices, room)):
        priced = prices_of(source, graphs, further, room.beat_bits, room.family)
        offered = offered + further
        prices = {name: np.concatenate([values, priced[name]]) for name, values in prices.items()}
    factors = _factors(offered)
    problem: UserError | None = None
    found: ArrayAccelerator | None = None
    best = np.inf
    for place in np.argsort(prices["cycles"] * factors, kind="stable"):
        least = prices["cycles"][place] * factors[place]
        if least >= best:
            break
        if any(prices[name][place] > limit for name, limit in room.limits.items()):
            continue
        one = offered[place]
        try:
            array = fit(source, graphs[0], replace(one, beat_bits=room.beat_bits), graphs[1:])
            if one.shared > 1:  # what takers wait is known when their slot rows are
                least = total_cycles(encode_array(array, graphs[0], graphs[1:])) * factors[place]
        except UserError as error:  # the next best may need smaller memories
            problem = problem or error
            continue
        if least < best:
            found, best = array, least
    if found is not None:
        return found
    limits = ", ".join(f"{LABELS[name]} {limit:g} (the least is {prices[name].min():g})"
                       for name, limit in room.limits.items())  # fmt: skip
    raise problem or UserError(f"no array of up to {room.multipliers} multipliers keeps the limits: {limits}; "
                               f"allow more")  # fmt: skip


def _factors(offered: Sequence[Arrangement]) -> NDArray[np.float64]:
    """[n] by how much the cycles of arrangements count more for what they cost."""
    return np.asarray((1 + LARGER) ** np.array([one.doublings for one in offered]), np.float64)


def _with_fewer_lanes(
    offered: list[Arrangement], prices: dict[str, NDArray[np.float64]], room: Room
) -> list[Arrangement]:
    """Those that may be the best if they finish fewer lanes in a cycle, which takes no fewer cycles than all of them,
    and the same DSPs and block RAMs."""
    kept = np.array([one.whole_sums for one in offered])
    for name, limit in room.limits.items():
        kept &= prices[name] <= limit
    weighed = prices["cycles"] * _factors(offered)
    best = weighed[kept].min(initial=np.inf)
    near = np.flatnonzero(kept & (weighed / (1 + LARGER) ** (LANES.bit_length() - 1) <= best))
    return [replace(offered[place], finished=lanes) for place in near.tolist() for lanes in FINISHED if lanes < LANES]


class _NotHeld(UserError):
    """No arrangement's memories hold the graphs."""


def holding(
    source: ArrayNetwork, graphs: Sequence[AnyGraph], offered: list[Arrangement], room: Room
) -> list[Arrangement]:
    """Those whose memories may hold the graphs: a price takes much longer. Raises _NotHeld where none's do."""
    found: list[Arrangement] = []
    problem: UserError | None = None
    for one in offered:
        try:
            check_least(source, graphs[0], replace(one, beat_bits=room.beat_bits), graphs[1:])
        except UserError as error:
            problem = problem or error
        else:
            found.append(one)
    if problem and not found:
        raise _NotHeld(str(problem))
    return found


def deliverable(
    source: ArrayNetwork, data: GraphData, room: Room, further: Sequence[GraphData] = ()
) -> ArrayAccelerator | CalledArray:
    """The `fastest` array that keeps H and Z on the chip; where none does, the `fastest_calls`, which run any network.

    Raises UserError where not even calls keep the limits.
    """
    try:
        return fastest(source, data, room, further)
    except UserError:
        return fastest_calls(source, data, room, further)


def fastest_calls(
    source: ArrayNetwork, data: GraphData, room: Room, further: Sequence[GraphData] = ()
) -> CalledArray:
    """A network with buffer re-purposing off: the units and parts with the fewest cycles on this graph, among equals
    those with fewer units; `further` as in `encode_array`.

    Compares the `offered_units` of the budget, and rows in parts of 1, 2, 4 and 8 words: with more parts the streams
    are read more often, but tables are smaller, and several rows of one word leave in a beat. Units share tables where
    those of `fastest` do. Tables are as large as they can be; only where no such engine keeps the limits, of half as
    many words, and so on. Raises UserError where none does.
    """
    return _fastest_of_halves(source, halves_of(source, data, further), room, len(data.sources))


def fastest_operations(source: OperationNetwork, room: Room) -> CalledArray:
    """As `fastest_calls`, of a network of operations on its graphs."""
    return _fastest_of_halves(source, halves_of_operations(source), room, source.edges)


def deliverable_operations(source: OperationNetwork, room: Room) -> ChainArray | CalledArray:
    """A network of operations on its graphs: one that is a chain on the `fastest` array, whole, where there is such an
    array; any other as the `fastest_operations`."""
    chain = chain_of(source)
    if chain is None:
        return fastest_operations(source, room)
    first, *further = chain.graphs
    try:
        return ChainArray(fastest(chain, first, room, further))
    except UserError:
        return fastest_operations(source, room)


def _fastest_of_halves(source: Source, halves: Sequence[Half], room: Room, edges: int) -> CalledArray:
    """The fastest calls for halves, with the largest tables that keep the limits."""
    problems: list[_OverLimit] = []
    for words in (TABLE_WORDS >> halvings for halvings in range(TABLE_WORDS.bit_length() - BLOCK_WORDS.bit_length())):
        try:
            return _fastest_calls(source, halves, room, edges, words)
        except _OverLimit as error:
            problems.append(error)
        except UserError:
            if not problems:
                raise
            break  # a row names more than a smaller table holds
        if "bram36" not in room.limits:
            break
    raise UserError(str(min(problems, key=lambda one: one.share)))


def _fastest_calls(
    source: Source, halves: Sequence[Half], room: Room, edges: int, words: int
) -> CalledArray:
    """`fastest_calls` of tables of up to so many words."""
    widest_row = min(MOST_TILES, max(half.words for half in halves))
    problems: list[UserError] = []
    best, found = (np.inf, np.inf), list[CalledArray]()
    offered = itertools.product(
        powers(2 * widest_row - 1), reversed(offered_units(min(LARGEST_UNITS, room.multipliers // LANES))),
        SHARED if shares(room) else SHARED[:1], (False, True),
    )  # fmt: skip
    divided = functools.cache(functools.partial(parts_of, halves, words=words))
    for tiles, units, shared, grouped in offered:
        if units % shared:
            continue
        try:
            parts = divided(tiles, most_rows(halves, units))
            if least_cycles(parts, units) > best[0]:
                continue
            engine = calls_engine(source, parts, units, room.beat_bits, shared)
            paired = engine.may_pair and exceeds(units, room)
            array = CalledArray(source, replace(engine, paired=paired), parts, edges)
            array = array.in_groups() if grouped else array
            if grouped and len(array.engine.modes) == 1:
                continue
            _check_limits(array, room)
            cycles = array.cycles
        except UserError as error:
            problems.append(error)
            continue
        price = (cycles * (1 + LARGER) ** (shared.bit_length() - 1 + grouped), units)
        if price < best:
            best, found = price, [array]
    if found:
        return found[0]
    over = [one for one in problems if isinstance(one, _OverLimit)]
    raise min(over, key=lambda one: one.share) if over else problems[0]


def least_cycles(parts: Sequence[Sequence[Part]], units: int) -> float:
    """Cycles that so many units take for calls at least: of every entry one for each word."""
    return sum(len(one.chunk.entries) * one.pitch for one in itertools.chain(*parts)) / units


def shares(room: Room) -> bool:
    """Whether units may share tables: where block RAMs are limited."""
    return "bram36" in room.limits


def in_pairs(source: ArrayNetwork, offered: list[Arrangement], room: Room) -> list[Arrangement]:
    """Arrangements with two products in a DSP slice where a limit of DSPs asks for it; as they are where no two may."""
    if not may_pair(widest(source), softmax_of(source)):
        return offered
    return [replace(one, paired=exceeds(one.units, room)) for one in offered]


def exceeds(units: int, room: Room) -> bool:
    """Whether so many units exceed a limit of DSPs unless products share slices, which they may."""
    return room.paired and bool(dsps_of(LANES * units) > room.limits.get("dsp", np.inf))


class _OverLimit(UserError):
    """An engine takes this share of a limit, more than all of it."""

    def __init__(self, message: str, share: float) -> None:
        super().__init__(message)
        self.share = share


def _check_limits(array: CalledArray, room: Room) -> None:
    """Raise UserError where the engine of calls exceeds a limit."""
    needed = engine_resources(array.engine, room.family)
    for name, limit in room.limits.items():
        if needed[name] > limit:
            raise _OverLimit(f"no array keeps the limit of {limit:g} {LABELS[name]}: with buffer re-purposing off the "
                             f"network takes {needed[name]:g}, {needed[name] - limit:g} more; allow as many, or choose "
                             f"narrower numbers or fewer heads", needed[name] / max(limit, 1e-9))  # fmt: skip


def arrangements(
    source: ArrayNetwork, most: int, results: int = 1, savings: Sequence[tuple[int, bool]] = ((LANES, False),)
) -> list[Arrangement]:
    """Every arrangement of up to `most` units and `results` words of H a cycle, in the order in which equals are
    preferred; `savings` are the pairs of `finished` and `whole` that are offered."""
    counts = [units for units in offered_units(min(LARGEST_UNITS, most)) if units % last_columns(source) == 0]
    return [one for units in counts for one in arrangements_of(source, units, results, savings)]


def arrangements_of(
    source: ArrayNetwork, units: int, results: int = 1, savings: Sequence[tuple[int, bool]] = ((LANES, False),)
) -> list[Arrangement]:
    """`arrangements` of so many units, a multiple of `last_columns`."""
    g = source.layers[0]
    words = int(row_words(g.features // g.products, g.k * g.attends, g.d))
    whole = ceil_div(g.d, LANES) if g.attends else 1
    hidden = [layer for layer in source.layers if not layer.second][:-1]
    found = []
    for chosen in _together([_columns(layer, units) for layer in hidden]):
        held = ceil_div(words, chosen[0]) if chosen else whole
        passes = [one for one in range(1, held // whole + 1) if held % (one * whole) == 0]
        found += [
            Arrangement(units, chosen, one, together, lanes, whole=whole)
            for one in passes for together in powers(results) for lanes, whole in savings
        ]  # fmt: skip
    return found


MOST_TOGETHER = 2048
"""Choices of the columns of all layers that are compared; of deeper networks those where all have the same number."""


def _together(columns: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Choices of one number of columns for each layer: all, or, where these are too many, the same one for all layers
    that may have it, and the next smaller one for others."""
    if np.prod([len(one) for one in columns], dtype=float) <= MOST_TOGETHER:
        return list(itertools.product(*columns))
    offered = sorted(set(itertools.chain(*columns)))
    return [tuple(max(n for n in own if n <= most) for own in columns) for most in offered]


def in_shares(source: ArrayNetwork, offered: list[Arrangement]) -> list[Arrangement]:
    """Arrangements in which 2, 4, 8, … units share a table; none where nodes or edges have scores."""
    if any(layer.scoring is not None for layer in source.layers):
        return []
    return [
        replace(one, shared=shared)
        for one in offered
        for shared in SHARED[1:]
        if one.units % (shared * max(one.columns, default=1)) == 0
    ]


def in_slices(source: ArrayNetwork, offered: list[Arrangement]) -> list[Arrangement]:
    """Arrangements with the first layer's W in 2, 4, 8, … slices, as many as a programme has descriptors for."""
    if source.layers[0].products > 1:
        return []
    steps = [score_steps(layer) for layer in source.layers]
    rest = LOADS + any(steps) + sum(int(descriptors(1, one)) for one in steps[1:])
    rest += sum(one.products - 1 for one in source.layers[1:])
    return [
        replace(one, slices=slices)
        for one in offered
        for slices in powers(source.layers[0].input_width)[1:]
        if descriptors(one.passes, steps[0], slices) + rest <= MOST_PROGRAMME
    ]


def in_blocks(source: ArrayNetwork, offered: list[Arrangement]) -> list[Arrangement]:
    """Arrangements with the rows of H in 2, 4, 8, … blocks, as many as a programme has descriptors for; none where a
    layer has no blocks."""
    if not has_blocks(source):
        return []
    further = len(source.layers) - 1
    return [
        replace(one, blocks=blocks)
        for one in offered
        for blocks in powers(MOST_PROGRAMME)[1:]
        if descriptors(one.passes, blocks=blocks) + further * descriptors(1, blocks=blocks) + LOADS <= MOST_PROGRAMME
    ]


def _columns(layer: ArrayLayer, units: int) -> list[int]:
    """The n that a layer's aggregation may have; with attention a unit holds HEADS heads at most."""
    g = layer
    return [n for n in powers(default_columns(layer, units)) if not g.attends or g.k // n <= HEADS]


def prices_of(
    source: ArrayNetwork, graphs: Sequence[AnyGraph], offered: list[Arrangement], beat_bits: int,
    family: str = DEFAULT_FAMILY,
) -> dict[str, NDArray[np.float64]]:  # fmt: skip
    """[n] cycles and resources of each arrangement behind a port, by name."""
    if not graphs[0].nodes:
        return {name: np.zeros(len(offered)) for name in ("cycles", *LABELS)}
    pricer = ArrayPricer(graphs[0], beat_bits=beat_bits, family=family, further=graphs[1:],
                         wide=widest(source) > NARROW_BITS)  # fmt: skip
    prices = pricer.price(arranged(source, offered, family))
    found = {"cycles": prices.cycles, "lut": prices.lut, "ff": prices.ff, "dsp": prices.dsp,
             "bram36": prices.bram36}  # fmt: skip
    return {name: values.astype(float) for name, values in found.items()}


def arranged(source: ArrayNetwork, offered: Sequence[Arrangement], family: str) -> Candidates:
    """One network in n arrangements."""
    layers = source.layers
    own = {name: np.array([getattr(one, name) for one in offered]) for name in (
        "units", "passes", "results", "finished", "slices", "blocks", "whole", "shared", "paired")}  # fmt: skip
    units = own["units"]

    def every(values: Iterable[Any]) -> list[NDArray[Any]]:
        return [np.full(len(units), value) for value in values]

    given = [np.array(one) for one in zip(*(one.columns for one in offered), strict=True)]
    columns = unfolded(tuple(layer.second for layer in layers), given, last_columns(source))[:-1]
    softmax = softmax_of(source)
    attending = attention_columns([softmax])
    tables = sum(ceil_div(len(table), LANES) for layer in layers for table in _tables(layer))
    return Candidates(
        features=every(layer.features for layer in layers),
        columns=[np.broadcast_to(one, units.shape) for one in columns],
        weighted=every(layer.gcn or layer.attends for layer in layers),
        bits=np.full(len(units), widest(source)), tables=np.full(len(units), tables),
        sum_bits=np.full(len(units), sum_bits(source)),
        maximum=np.full(len(units), any(layer.maximum or layer.attends for layer in layers)),
        shifts=every(sorted({shift for layer in layers for shift in layer_shifts(layer)})),
        heads=every(layer.k * layer.attends for layer in layers) if softmax else (),
        vectors=every(len(layer.vectors) + layer.pair for layer in layers),
        exponential_halves=exponential_halves(softmax, family), averaged=layers[-1].averaged,
        products=every(layer.products for layer in layers),
        seconds=tuple(layer.second for layer in layers), added=layers[-1].adds_heads,
        dots=every(layer.dot for layer in layers),
        pairs=every(layer.pair for layer in layers),
        maxima=every(layer.maximum for layer in layers),
        denominator_bits=int(attending["denominator_bits"][0]), mean=int(attending["mean"][0]),
        symmetric=int(attending["symmetric"][0]), exponentials=int(attending["exponentials"][0]),
        dot=int(attending["dot"][0]), **own,
    )  # fmt: skip


def _tables(layer: ArrayLayer) -> Iterator[Codes]:
    """The tables that a layer's activation and its scores pass."""
    if layer.apply.table is not None and layer.activation is Activation.TABLE:
        yield layer.apply.table
    if layer.score_table is not None:
        yield layer.score_table


def offered_units(most: int) -> list[int]:
    """Numbers of units up to `most` that are compared: a power of two, or three, five or seven times one."""
    return [units for units in range(1, most + 1) if units // (units & -units) <= 7]


def powers(most: int) -> list[int]:
    """Powers of two up to `most`."""
    return [1 << place for place in range(most.bit_length())]
