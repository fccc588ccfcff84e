"""The fastest way of running a network on an array that is already built: one bitstream, many networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.calls import CalledArray, Source, calls_engine
from fgnas.hardware.array.chains import ChainArray, chain_of
from fgnas.hardware.array.choosing import LABELS, Room, arrangements_of, in_blocks, in_slices, powers, prices_of
from fgnas.hardware.array.cycles import total_cycles
from fgnas.hardware.array.encoded import EncodedArray
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.engine import (
    LANES,
    MOST_ACTIVATION_WORDS,
    MOST_MODES,
    MOST_SHIFTS,
    MOST_TABLE_WORDS,
    MOST_TILES,
    Engine,
    Mode,
    Softmax,
    joined,
)
from fgnas.hardware.array.halves import Half, halves_of
from fgnas.hardware.array.layers import ArrayNetwork
from fgnas.hardware.array.lowering import (
    BLOCK_WORDS,
    ArrayAccelerator,
    check_network,
    last_columns,
    layer_shifts,
    lower,
    own_depth,
)
from fgnas.hardware.array.operations import OperationNetwork, halves_of_operations
from fgnas.hardware.array.parts import most_rows, parts_of
from fgnas.hardware.array.resources import engine_resources
from fgnas.hardware.integer.graph import AnyGraph
from fgnas.tasks.nodes import GraphData

ROOM_PROGRAMME, ROOM_BIASES, ROOM_BITS, ROOM_TABLES = 32, 32, 8, 1
"""Sizes of an engine with room for other networks: descriptors, words of biases, bits of numbers, activation tables."""
ROOM_ENTRY_BITS = 11
"""Bits of its sums beyond those of an entry: rows of 2,048 entries."""


def runs_on(
    engine: Engine, source: ArrayNetwork, data: GraphData, further: Sequence[GraphData] = ()
) -> ArrayAccelerator | CalledArray:
    """The network on a built engine: whole, or, where that does not fit, as calls. Raises UserError where neither
    does."""
    try:
        return fastest_on(engine, source, data, further).accelerator
    except UserError as whole:
        try:
            return calls_on(engine, source, data, further)
        except UserError as calls:
            raise UserError(f"whole, {whole}; as several calls, {calls}") from None


def fastest_on(
    engine: Engine, source: ArrayNetwork, data: AnyGraph, further: Sequence[AnyGraph] = ()
) -> EncodedArray:
    """The network arranged on a built engine so that this graph takes the fewest cycles; `further` as in
    `encode_array`.

    Raises UserError where no arrangement of the network runs there: with what the fastest of them lacks.
    """
    check_network(source)
    check_shifts(engine, source)
    graphs = (data, *further)
    offered = offered_on(engine, source)
    expected = prices_of(source, graphs, offered, engine.beat_bits)["cycles"]
    problem: UserError | None = None
    found: EncodedArray | None = None
    least = 0
    for place in np.argsort(expected, kind="stable"):
        # Units that share a table may wait, which is known when their slot rows are: the price is the least.
        if found is not None and (engine.shared == 1 or expected[place] >= least):
            break
        try:
            array = lower(source, engine, offered[place])
            check_choices(array)
            encoded = encode_array(array, data, further)
        except UserError as error:
            problem = problem or error
            continue
        cycles = total_cycles(encoded)
        if found is None or cycles < least:
            found, least = encoded, cycles
    if found is None:
        raise problem or UserError("the network has no arrangement on the array")
    return found


def offered_on(engine: Engine, source: ArrayNetwork) -> list[Arrangement]:
    """Every arrangement of a network that an engine's units allow. Raises UserError where there is none."""
    if engine.units % last_columns(source):
        raise UserError(f"the last layer's heads need a multiple of {last_columns(source)} units, the engine has "
                        f"{engine.units}")  # fmt: skip
    offered = arrangements_of(source, engine.units, engine.results, [(engine.finished, False)])
    offered = [one for one in offered if one.results == engine.results]
    parted = [*in_slices(source, offered), *in_blocks(source, offered)] if engine.partial_words else []
    if not offered:
        raise UserError(f"the network has more heads than {engine.units} units hold")
    return offered + parted


def check_choices(array: ArrayAccelerator) -> None:
    """Raise UserError where a network needs modes or shifts that its engine is not built with."""
    engine = array.engine
    modes = dict.fromkeys(mode for plan in array.plans for mode in (plan.combine, plan.aggregate))
    for mode in modes:
        engine.mode_number(mode)
    check_shifts(engine, array.source)


def check_shifts(engine: Engine, source: ArrayNetwork) -> None:
    """Raise UserError where a network needs shifts that an engine is not built with, however it is arranged."""
    for shift in sorted({shift for layer in source.layers for shift in layer_shifts(layer)}):
        engine.shift_number(shift)


def calls_on(
    engine: Engine, source: ArrayNetwork, data: GraphData, further: Sequence[GraphData] = ()
) -> CalledArray:
    """The network as calls of a built engine, in the parts of a row that take the fewest cycles; `further` as in
    `encode_array`. Raises UserError where the engine does not run them: with what it lacks."""
    return _halves_on(engine, source, halves_of(source, data, further), len(data.sources))


def imported_on(engine: Engine, source: OperationNetwork) -> ChainArray | CalledArray:
    """A network of operations on a built engine: one that is a chain whole, where it fits; any other as calls. Raises
    UserError where the engine does not run it."""
    chain = chain_of(source)
    if chain is None:
        return operations_on(engine, source)
    first, *further = chain.graphs
    try:
        return ChainArray(fastest_on(engine, chain, first, further).accelerator)
    except UserError:
        return operations_on(engine, source)


def operations_on(engine: Engine, source: OperationNetwork) -> CalledArray:
    """As `calls_on`, of a network of operations on its graphs."""
    return _halves_on(engine, source, halves_of_operations(source), source.edges)


def _halves_on(engine: Engine, source: Source, halves: Sequence[Half], edges: int) -> CalledArray:
    problem: UserError | None = None
    found: CalledArray | None = None
    for tiles in reversed(powers(engine.tiles)):
        try:
            parts = parts_of(halves, tiles, most_rows(halves, engine.units), engine.table_words)
            check_holds(engine, calls_engine(source, parts, engine.units, engine.beat_bits, engine.shared))
        except UserError as error:
            problem = error  # the narrowest parts need the least
            continue
        called = CalledArray(source, engine, parts, edges)
        if found is None or called.cycles < found.cycles:
            found = called
    if found is None:
        raise problem or UserError("the network runs in no calls")
    return found


def check_holds(engine: Engine, needed: Engine) -> None:
    """Raise UserError unless an engine runs whatever another one runs that has as many units and the same port."""
    needed = replace(needed, finished=engine.finished, shared=engine.shared, table_words=engine.table_words)
    if not set(needed.shifts) <= set(engine.shifts):  # both together may be more than an engine has
        raise UserError(f"the network needs shifts of {_told(needed.shifts)}, the engine has {_told(engine.shifts)}")
    both = joined([engine, needed])
    for one in fields(engine):
        wanted, found = getattr(both, one.name), getattr(engine, one.name)
        if wanted != found:
            raise UserError(f"the network needs {one.name} of {_told(wanted)}, the engine has {_told(found)}")


def _told(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(f"{one.m} x {one.k} x {one.n}" if isinstance(one, Mode) else str(one) for one in value)
    return "nothing" if value is None else str(value)


def with_room(engine: Engine) -> Engine:
    """The engine with room for other networks of its size: whatever a descriptor can name is built, and costs LUTs.

    As many shifts as a descriptor has numbers for, from that of logits on; modes of every number of columns, maxima,
    the longest rows, numbers of 8 bits at least with activation tables, and programmes, biases and tables of larger
    networks, exponentials included.
    """
    # Logits of exact sums, such as maxima, are shifted left by as many bits as they have more.
    extra = wire.logit_extra_bits(engine.bits)
    least = min(engine.shifts[0], max(-extra, engine.shifts[-1] - MOST_SHIFTS + 1))
    window = tuple(range(least, least + MOST_SHIFTS))
    most = engine.units if engine.shared == 1 else engine.places  # more would have other words in shared tables
    further = [Mode(engine.units // n, 1, n) for n in powers(most) if engine.units % n == 0]
    modes = tuple(dict.fromkeys([*engine.modes, *further]))[:MOST_MODES]
    bits = max(engine.bits, ROOM_BITS)
    tables, table = _power_above(engine.table_words), ROOM_TABLES << bits >> LANES.bit_length() - 1
    return replace(
        engine, bits=bits, modes=modes, tiles=MOST_TILES, table_words=min(MOST_TABLE_WORDS, tables),
        own_words=int(own_depth(max(engine.own_words, BLOCK_WORDS))), bias_words=max(engine.bias_words, ROOM_BIASES),
        activation_words=max(engine.activation_words, table if table <= MOST_ACTIVATION_WORDS else 0),
        shifts=window if engine.shifts[-1] in window else engine.shifts,
        maximum=True, softmax=engine.softmax and _with_room(engine.softmax),
        sum_bits=max(engine.sum_bits, 2 * bits + ROOM_ENTRY_BITS), programme=max(engine.programme, ROOM_PROGRAMME),
    )  # fmt: skip


def _with_room(softmax: Softmax) -> Softmax:
    summed = wire.COEFFICIENT_BITS + (1 + softmax.mean) * ROOM_ENTRY_BITS
    return replace(softmax, words=_power_above(softmax.words), sum_bits=max(softmax.sum_bits, summed))


def _power_above(words: int) -> int:
    return 1 << (words - 1).bit_length()


def with_room_within(engine: Engine, room: Room) -> Engine:
    """`with_room`. Raises UserError where that takes more than a limit."""
    wider = with_room(engine)
    taken = engine_resources(wider, room.family)
    for name, limit in room.limits.items():
        if taken[name] > limit:
            raise UserError(f"with room for other networks the array takes {taken[name]:,.0f} {LABELS[name]}, the "
                            f"limit is {limit:,.0f}: allow more, choose fewer --multipliers, or leave out "
                            f"--flexible")  # fmt: skip
    return wider
