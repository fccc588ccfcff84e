"""LUT, FF, DSP and BRAM36 of an accelerator: a first model, composed from the sizes of its parts.

Counted as synthesis counts them: LUT = LUT1-6 + SRL + LUTRAM, BRAM36 = RAMB36 + half of RAMB18.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fgnas.hardware.binding import Multipliers
from fgnas.hardware.geometry import GraphShape, Ints, LayerGeometry, ceil_div


@dataclass(frozen=True)
class Resources:
    """Resources of n designs, each [n]."""

    lut: Ints
    ff: Ints
    dsp: Ints
    bram36: Ints


def resources(
    layers: list[LayerGeometry], multipliers: list[Multipliers], shape: GraphShape, family: str = "xc7"
) -> Resources:
    """The resources of n designs."""
    zero = np.zeros_like(layers[0].k)
    lut, ff, dsp = zero + 1800, zero + 2000, zero
    bram36 = zero + 2
    for group in multipliers:
        fabric = group.lanes - group.dsp
        lut = lut + fabric * (group.left_bits * group.right_bits * 5 // 2)
        dsp = dsp + group.dsp
    for layer in layers:
        lanes = layer.t_in * layer.t_out + layer.t_aggr + layer.t_act
        lut = lut + lanes * layer.value_bits * 6 + 400
        ff = ff + lanes * layer.value_bits * 8 + 600
        divider = np.where(layer.mean, layer.t_aggr, 0) * layer.y_bits
        lut, ff = lut + 40 * divider, ff + 40 * divider
        bram36 = bram36 + block_ram36(layer.h_words * shape.node_capacity, layer.h_lanes * layer.value_bits)
        if layer.first:
            copies = ceil_div(layer.t_in, 2)
            depth = layer.out_tiles * layer.input_width
            bram36 = bram36 + copies * block_ram36(depth, layer.t_out * layer.weight_bits)
    return Resources(lut, ff, dsp, bram36)


def block_ram36(depth: Ints, width: Ints) -> Ints:
    """BRAM36 of a memory: the cheapest aspect ratio of 512 x 72 to 32K x 1."""
    best = np.full(np.broadcast(depth, width).shape, np.iinfo(np.int64).max)
    for words, bits in ((512, 72), (1024, 36), (2048, 18), (4096, 9), (8192, 4), (16384, 2), (32768, 1)):
        best = np.minimum(best, ceil_div(depth, words) * ceil_div(width, bits))
    return best
