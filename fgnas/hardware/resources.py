"""LUT, FF, DSP and BRAM36 of accelerators: their operators' sizes, measured by synthesis, added up.

Counted as synthesis counts them: LUT = LUT1-6 + SRL + LUTRAM, BRAM36 = RAMB36 + half of RAMB18. DSPs and block RAMs
are exact; LUTs and FFs are sums of terms whose coefficients `make characterise` fits (characterisation/FAMILY.json).
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.errors import UserError
from fgnas.hardware.binding import Multipliers
from fgnas.hardware.geometry import ACTIVATION_NAMES, GraphShape, Ints, LayerGeometry
from fgnas.hardware.memories import BLOCK, build
from fgnas.hardware.operators import Use, denominators, terms, uses, weighted_sum

CHARACTERISATION = Path(__file__).parent / "characterisation"
DEFAULT_FAMILY = "xc7"
READER_BRAM36 = 2
"""The AXI read buffer: 512 beats of 128 bits."""
BLOCK_READS = {"fgnas_block_ram": 1, "fgnas_dual_read_ram": 2, "fgnas_fifo": 1}
"""Read ports of the operators that are block RAMs."""
FORMAT_BITS = 16
"""Bound on integer and fraction bits in the tables of generated functions."""

Sizes = NDArray[np.float64]
"""LUT and FF along the first axis."""


@dataclass(frozen=True)
class Resources:
    """Resources of n designs, each [n]; bram36 counts halves."""

    lut: Ints
    ff: Ints
    dsp: Ints
    bram36: NDArray[np.float64]


@dataclass(frozen=True)
class Characterisation:
    """What synthesis measured on one family.

    Attributes:
        fixed: [2] LUT and FF of what every accelerator has once.
        weights: {module: [2, columns]} coefficients of LUT and FF.
        activation: [2, kinds, FORMAT_BITS, FORMAT_BITS] of one lane, by kind, integer bits and fraction bits.
        exponential: [2, FORMAT_BITS, FORMAT_BITS] of one lane of gat's table.
    """

    fixed: Sizes
    weights: dict[str, Sizes]
    activation: Sizes
    exponential: Sizes


@functools.cache
def characterisation(family: str) -> Characterisation:
    """The table of a family, as the package ships it."""
    place = CHARACTERISATION / f"{family}.json"
    if not place.is_file():
        known = ", ".join(sorted(path.stem for path in CHARACTERISATION.glob("*.json")))
        raise UserError(f"no characterisation of family {family!r}; there are {known}")
    table = json.loads(place.read_text(encoding="utf-8"))
    weights = {name: np.array([module["lut"], module["ff"]]) for name, module in table["modules"].items()}
    activation = np.stack([_by_format(table["activation"][name]) for name in ACTIVATION_NAMES], axis=1)
    fixed = np.array([table["fixed"]["lut"], table["fixed"]["ff"]])
    return Characterisation(fixed, weights, activation, _by_format(table["exponential"]))


def _by_format(measured: dict[str, list[float]]) -> Sizes:
    """[2, FORMAT_BITS, FORMAT_BITS] by integer and fraction bits; what was not measured is as the nearest that was."""
    formats = np.array([[int(part) for part in key.split(".")] for key in measured])
    sizes = np.array(list(measured.values()))
    table = np.zeros((2, FORMAT_BITS, FORMAT_BITS))
    for integer, fraction in np.ndindex(FORMAT_BITS, FORMAT_BITS):
        table[:, integer, fraction] = sizes[np.abs(formats - (integer, fraction)).sum(axis=1).argmin()]
    return table


def resources(
    layers: list[LayerGeometry], multipliers: list[Multipliers], shape: GraphShape, family: str = DEFAULT_FAMILY
) -> Resources:
    """The resources of n designs on a family of devices (xc7, xcup)."""
    measured = characterisation(family)
    total: NDArray[Any] = np.repeat(measured.fixed[:, None], len(layers[0].k), axis=1)
    halves = np.full(len(layers[0].k), 2 * READER_BRAM36)
    for use in uses(layers, multipliers, shape):
        total += use.count * operator_size(use, measured, family)
        if use.module in BLOCK_READS:
            halves += use.count * block_halves(use, family)
    for layer in layers:
        integer, fraction = format_of(layer)
        if not layer.last:
            total += layer.t_act * measured.activation[:, layer.activation, integer, fraction]
        if layer.gat.any():
            total += layer.gat * layer.group_heads * measured.exponential[:, integer, fraction]
    dsp = np.sum([group.dsp for group in multipliers], axis=0) + sum(denominators(layer) for layer in layers)
    lut, ff = np.rint(total).astype(np.int64)
    return Resources(lut, ff, dsp, halves / 2)


def operator_size(use: Use, measured: Characterisation, family: str) -> Sizes:
    """[2, n] LUT and FF of one operator of each design."""
    found = weighted_sum(terms(use.module, use.parameters, family), measured.weights[use.module])
    return np.maximum(found, 0.0)


def block_halves(use: Use, family: str) -> Ints:
    """[n] RAMB18s, a RAMB36 counting as two, of one memory of each design."""
    reads = BLOCK_READS[use.module]
    return build(BLOCK[family, reads > 1], use.parameters["Depth"], use.parameters["Width"], reads).units


def format_of(layer: LayerGeometry) -> tuple[Ints, Ints]:
    """[n] integer and fraction bits of a layer's values."""
    fraction = np.clip(layer.value_fraction, 0, FORMAT_BITS - 1)
    return np.clip(layer.value_bits - 1 - layer.value_fraction, 0, FORMAT_BITS - 1), fraction
