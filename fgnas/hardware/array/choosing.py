"""The fastest engine for a network within a number of multipliers: every arrangement is priced."""

from __future__ import annotations

import itertools

import numpy as np

from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.array.encoding import fit
from fgnas.hardware.array.engine import LANES, LARGEST_UNITS
from fgnas.hardware.array.lowering import ArrayAccelerator, activation_of, check_network, default_columns, widest
from fgnas.hardware.array.pricing import ArrayPricer, Candidates
from fgnas.hardware.array.programme import BEAT_BITS, Activation
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.geometry import ceil_div
from fgnas.tasks.nodes import GraphData


def fastest(
    source: Accelerator, data: GraphData, multipliers: int, beat_bits: int = wire.BEAT_BITS
) -> ArrayAccelerator:
    """The engine and modes with the fewest cycles on this graph; among equals the one with fewer units.

    Compares the `offered_units` of the budget and every n of every hidden layer. Raises UserError where
    the network fits none.
    """
    check_network(source)
    if beat_bits not in BEAT_BITS:
        raise UserError(f"an array's memory port has {', '.join(map(str, BEAT_BITS))} bits, not {beat_bits}")
    if multipliers < LANES:
        raise UserError(f"an array has {LANES} multipliers at least, the design may use {multipliers}")
    offered = [
        (units, columns)
        for units in offered_units(min(LARGEST_UNITS, multipliers // LANES))
        for columns in itertools.product(*(_powers(default_columns(layer, units)) for layer in source.layers[:-1]))
    ]
    problem: UserError | None = None
    for place in np.argsort(_cycles(source, data, offered, beat_bits), kind="stable"):
        units, columns = offered[place]
        try:
            return fit(source, data, units, columns, beat_bits=beat_bits)
        except UserError as error:  # the next best may need smaller memories
            problem = problem or error
    assert problem is not None
    raise problem


def _cycles(
    source: Accelerator, data: GraphData, offered: list[tuple[int, tuple[int, ...]]], beat_bits: int
) -> np.ndarray:
    """[n] cycles of each arrangement."""
    if not data.nodes:
        return np.zeros(len(offered))
    units = np.array([units for units, _ in offered])
    tables = sum(
        ceil_div(len(layer.activation_table), LANES)
        for layer in source.layers
        if layer.activation_table is not None and activation_of(layer) is Activation.TABLE
    )
    features = [np.full(len(units), layer.geometry.features) for layer in source.layers]
    columns = [np.array(one) for one in zip(*(columns for _, columns in offered), strict=True)]
    bits = np.full(len(units), widest(source))
    weighted = [np.full(len(units), layer.geometry.gcn) for layer in source.layers]
    candidates = Candidates(units, features, columns, weighted, bits, np.full(len(units), tables))
    return ArrayPricer(data, beat_bits=beat_bits).price(candidates).cycles


def offered_units(most: int) -> list[int]:
    """Numbers of units up to `most` that are compared: a power of two, or three, five or seven times one."""
    return [units for units in range(1, most + 1) if units // (units & -units) <= 7]


def _powers(most: int) -> list[int]:
    """Powers of two up to `most`."""
    return [1 << place for place in range(most.bit_length())]
