"""LUT, FF, DSP and BRAM36 of accelerators: the sum of their operators' sizes, which synthesis measured.

Counted as synthesis counts them: LUT = LUT1-6 + SRL + LUTRAM, BRAM36 = RAMB36 + half of RAMB18. DSPs and block RAMs
are exact; LUTs and FFs are sums of terms whose coefficients `make characterise` fits (characterisation/FAMILY.json).
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.activations import NAMES
from fgnas.errors import UserError
from fgnas.hardware.memories import BLOCK, build
from fgnas.hardware.numbers import Ints
from fgnas.hardware.pipeline.binding import Multipliers
from fgnas.hardware.pipeline.geometry import LayerGeometry, part
from fgnas.hardware.pipeline.memories import Memory, layer_memories, reader_buffer
from fgnas.hardware.pipeline.sizes import Coefficients, terms, weighted_sum
from fgnas.hardware.pipeline.tables import Table
from fgnas.hardware.pipeline.uses import Use, denominators, masked_sums, uses
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.specification import DEFAULT_FAMILY

CHARACTERISATION = Path(__file__).parent / "characterisation"
FORMAT_BITS = 16
"""Bound on integer and fraction bits in the tables of generated functions."""

UNITS = 10_000
"""Sizes are counted in ten-thousandths: whole numbers, whose sums are exact in any order."""
TOGETHER = 8192
"""Designs priced together: their terms fit in the processor's cache."""

Sizes = NDArray[np.float64]
"""LUT and FF along the first axis, in ten-thousandths."""


@dataclass(frozen=True)
class Resources:
    """Resources of n designs, each [n]; bram36 counts halves."""

    lut: Ints
    ff: Ints
    dsp: Ints
    bram36: NDArray[np.float64]


@dataclass(frozen=True)
class Characterisation:
    """The measurements of one family.

    Attributes:
        fixed: [2] LUT and FF of what every accelerator has once.
        weights: {module: coefficients of LUT and FF}, in ten-thousandths.
        activation: [3, kinds, FORMAT_BITS, FORMAT_BITS] LUT, FF and BRAM36 of one lane, by kind, integer bits and
            fraction bits: synthesis puts large tables into block RAM.
        exponential: [3, FORMAT_BITS, FORMAT_BITS] of one lane of gat's table.
    """

    fixed: Sizes
    weights: dict[str, Coefficients]
    activation: Sizes
    exponential: Sizes


def characterised() -> list[str]:
    """The families with a table."""
    return sorted(path.stem for path in CHARACTERISATION.glob("*.json"))


@functools.cache
def characterisation(family: str) -> Characterisation:
    """The family's table in the package."""
    place = CHARACTERISATION / f"{family}.json"
    if not place.is_file():
        raise UserError(f"no characterisation of family {family!r}; there are {', '.join(characterised())}")
    table = json.loads(place.read_text(encoding="utf-8"))
    weights = {name: coefficients(module) for name, module in table["modules"].items()}
    activation = np.stack([_by_format(table["activation"][name]) for name in NAMES], axis=1)
    fixed = _exact([table["fixed"]["lut"], table["fixed"]["ff"]])
    return Characterisation(fixed, weights, activation, _by_format(table["exponential"]))


def coefficients(module: dict[str, Any]) -> Coefficients:
    """The coefficients of an operator's entry in a table, by the names of its terms."""
    return Coefficients({name: _exact([value, module["ff"][name]]) for name, value in module["lut"].items()})


def _exact(sizes: list[Any]) -> Sizes:
    """Sizes of at most four decimals in ten-thousandths."""
    return np.rint(np.array(sizes, float) * UNITS)


def _by_format(measured: dict[str, list[float]]) -> Sizes:
    """[3, FORMAT_BITS, FORMAT_BITS] by integer and fraction bits; the nearest entry for other formats."""
    formats = np.array([[int(part) for part in key.split(".")] for key in measured])
    sizes = _exact(list(measured.values()))
    table = np.zeros((3, FORMAT_BITS, FORMAT_BITS))
    for integer, fraction in np.ndindex(FORMAT_BITS, FORMAT_BITS):
        table[:, integer, fraction] = sizes[np.abs(formats - (integer, fraction)).sum(axis=1).argmin()]
    return table


def resources(
    layers: list[LayerGeometry], multipliers: list[Multipliers], shape: GraphShape, family: str = DEFAULT_FAMILY
) -> Resources:
    """The resources of n designs on a family of devices (xc7, xcup).

    Tables of functions are those of formats without a scale; see `with_tables`.
    """
    measured = characterisation(family)
    found = []
    for start in range(0, max(1, len(layers[0].k)), TOGETHER):
        place = slice(start, start + TOGETHER)
        found.append(_resources([part(layer, place) for layer in layers],
                                [part(group, place) for group in multipliers], shape, measured, family))  # fmt: skip
    return Resources(*(np.concatenate(values) for values in zip(*(vars(some).values() for some in found), strict=True)))


def _resources(
    layers: list[LayerGeometry], multipliers: list[Multipliers], shape: GraphShape, measured: Characterisation,
    family: str,
) -> Resources:  # fmt: skip
    total: NDArray[Any] = np.repeat(measured.fixed[:, None], len(layers[0].k), axis=1)
    halves: Ints = np.repeat(block_halves(reader_buffer(), family), len(layers[0].k))
    room = np.empty((max(len(weights.by_name) for weights in measured.weights.values()), len(halves)))
    for use in uses(layers, multipliers, shape):
        total += use.count * operator_size(use, measured, family, room)
    for layer in layers:
        for memory in layer_memories(layer, shape):
            if np.any(memory.block):
                halves += block_halves(memory, family)
        tables = table_sizes(layer, measured)
        total += tables[:2]
        total[0] += masked_sums(layer) * UNITS
        halves += tables[2].astype(np.int64) * 2 // UNITS
    dsp = np.sum([group.dsp for group in multipliers], axis=0) + sum(denominators(layer) for layer in layers)
    lut, ff = np.rint(total / UNITS).astype(np.int64)
    return Resources(lut, ff, dsp, halves / 2)


def operator_size(use: Use, measured: Characterisation, family: str, room: NDArray[np.float64]) -> Sizes:
    """[2, n] LUT and FF of one operator of each design, in ten-thousandths."""
    found = weighted_sum(terms(use.module, use.parameters, family), measured.weights[use.module], room)
    return np.maximum(found, 0.0)


def with_tables(found: Resources, layers: list[LayerGeometry], tables: list[Table], family: str) -> Resources:
    """The resources of one lowered design, with the block RAM of its own tables."""
    measured = characterisation(family)
    assumed = sum(table_sizes(layer, measured)[2] for layer in layers) / UNITS
    own = sum(table.halves(family) for table in tables) / 2
    return replace(found, bram36=found.bram36 + own - assumed)


def table_sizes(layer: LayerGeometry, measured: Characterisation) -> Sizes:
    """[3, n] LUT, FF and BRAM36 of a layer's tables, for formats without a scale, in ten-thousandths."""
    integer, fraction = format_of(layer)
    sizes: Sizes = layer.gat * layer.group_heads * measured.exponential[:, integer, fraction]
    if not layer.last:
        sizes += layer.t_act * measured.activation[:, layer.activation, integer, fraction]
    return sizes


def block_halves(memory: Memory, family: str) -> Ints:
    """[n] RAMB18s of all copies of a memory, a RAMB36 counting as two; 0 where it is in LUTRAM."""
    built = build(BLOCK[family, memory.reads > 1], memory.depth, memory.width, memory.reads)
    return built.units * memory.copies * memory.block


def format_of(layer: LayerGeometry) -> tuple[Ints, Ints]:
    """[n] integer and fraction bits of a layer's values."""
    fraction = np.clip(layer.value_fraction, 0, FORMAT_BITS - 1)
    return np.clip(layer.value_bits - 1 - layer.value_fraction, 0, FORMAT_BITS - 1), fraction
