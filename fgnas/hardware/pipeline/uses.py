"""The operators of an accelerator: the modules that a design uses, their parameters, and their counts.

An operator is one module of the RTL without the modules that it instantiates, so that operators add up. They are
listed over arrays of designs, with the very parameters that the RTL's top gives its modules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fgnas.hardware import wire
from fgnas.hardware.numbers import Ints, ceil_log2
from fgnas.hardware.pipeline.binding import Multipliers
from fgnas.hardware.pipeline.geometry import LayerGeometry
from fgnas.hardware.pipeline.memories import (
    Memory,
    address_bits,
    coefficient_sum_bits,
    layer_memories,
    output_rows,
    ring_edges,
    source_bits,
)
from fgnas.hardware.shape import GraphShape

Parameters = dict[str, Any]
"""Parameter of the SystemVerilog module -> [n] integers, or one integer for all."""

FIXED = (
    "fgnas_control", "fgnas_reader", "fgnas_fifo", "fgnas_writer", "fgnas_sequencer", "fgnas_loader", "fgnas_layer",
    "fgnas_output", "fgnas_kernel",
)  # fmt: skip
"""Modules that every accelerator has once, and the frame of its layers; fgnas_fifo is the reader's."""
TYPICAL_INPUT_SCALE = 3
"""The exponent s of stored inputs x * 2**s: 3 on Cora. Another dataset shifts a rounding by a bit or two."""


@dataclass(frozen=True)
class Use:
    """`count` [n] equal operators of `module` in each of n designs; 0 where a design has none."""

    module: str
    count: Ints
    parameters: Parameters


def uses(layers: list[LayerGeometry], multipliers: list[Multipliers], shape: GraphShape) -> Iterator[Use]:
    """Every operator of n designs, but FIXED and the tables of activations and exponentials."""
    for group in multipliers:
        width = {"LeftBits": group.left_bits, "RightBits": group.right_bits + (group.stage == "aggregate")}
        yield Use("fgnas_multiplier_dsp", group.dsp, width)
        yield Use("fgnas_multiplier_fabric", group.lanes - group.dsp, width)
    for index, layer in enumerate(layers):
        for memory in layer_memories(layer, shape):
            yield from _memory(memory)
        yield from _linear(layer)
        yield from _store(layer, shape)
        if not layer.gat.all():
            yield from _aggregate(layer, shape)
        if layer.gat.any():
            yield from _scores(layer, shape)
            yield from _attention(layer, shape)
        yield from _divide(layer, shape)
        if layer.last:
            yield from _head_mean(layer, shape)
        else:
            yield from _activate(layer, layers[index + 1])


def _memory(memory: Memory) -> Iterator[Use]:
    """The operators of a memory that has an RTL module to itself, and of gat's ring."""
    size = {"Depth": memory.depth, "Width": memory.width}
    if memory.name == "ring":
        yield Use("fgnas_fifo", memory.copies, size)
    elif memory.reads > 1:
        yield Use("fgnas_dual_read_ram", memory.copies, size)
    elif memory.alone:
        for module, chosen in (("fgnas_distributed_ram", ~memory.block), ("fgnas_block_ram", memory.block)):
            if np.any(chosen):
                yield Use(module, memory.copies * chosen, size)


def _linear(layer: LayerGeometry) -> Iterator[Use]:
    one = np.ones_like(layer.k)
    if layer.first:
        yield Use("fgnas_linear_sparse", one, {
            "InputWidth": layer.input_width, "InLanes": layer.t_in, "OutLanes": layer.t_out,
            "Tiles": layer.out_tiles, "InBits": layer.input_bits, "WeightBits": layer.weight_bits,
        })  # fmt: skip
    else:
        yield Use("fgnas_linear_dense", one, {
            "Groups": layer.in_groups, "InLanes": layer.t_in, "OutLanes": layer.t_out,
            "Tiles": layer.out_tiles, "InBits": layer.input_bits, "WeightBits": layer.weight_bits,
        })  # fmt: skip
    yield Use("fgnas_linear_datapath", one, {
        "InLanes": layer.t_in, "OutLanes": layer.t_out, "Tiles": layer.out_tiles, "InBits": layer.input_bits,
        "WeightBits": layer.weight_bits, "SumBits": layer.linear_bits, "OutBits": layer.value_bits,
        "Packed": int(layer.first),
    })  # fmt: skip
    yield requantise(layer.t_out, layer.linear_bits, linear_shift(layer), layer.value_bits)


def _store(layer: LayerGeometry, shape: GraphShape) -> Iterator[Use]:
    one = np.ones_like(layer.k)
    width, words = layer.h_lanes * layer.value_bits, layer.h_words
    depth = words * shape.node_capacity
    yield row_buffer(one, layer.value_bits, layer.features, layer.t_out, layer.h_lanes, layer.store_rows)
    yield Use("fgnas_store", one, {"WordBits": width, "Words": words, "AddressBits": address_bits(depth)})


def _aggregate(layer: LayerGeometry, shape: GraphShape) -> Iterator[Use]:
    weighted = layer.gcn.astype(np.int64)
    shift = aggregate_shift(layer)
    yield Use("fgnas_aggregate", (~layer.gat).astype(np.int64), {
        "Lanes": layer.t_aggr, "Tiles": layer.aggr_tiles, "HLanes": layer.h_lanes,
        "HAddressBits": address_bits(layer.h_words * shape.node_capacity), "ValueBits": layer.value_bits,
        "Weighted": weighted, "Maximum": layer.maximum.astype(np.int64), "Mean": layer.mean.astype(np.int64),
        "SumBits": layer.aggregate_bits, "YBits": layer.y_bits, "DegreeCapacity": shape.degree_capacity,
    })  # fmt: skip
    shifts = np.where(layer.mean | layer.gat, 0, layer.t_aggr)
    yield requantise(shifts, layer.aggregate_bits, shift, layer.y_bits)


def _divide(layer: LayerGeometry, shape: GraphShape) -> Iterator[Use]:
    """The dividers of means and gat, and the buffer of Y behind either aggregation."""
    one = np.ones_like(layer.k)
    shift = aggregate_shift(layer)
    degree_bits = int(ceil_log2(shape.degree_capacity + 1)) + 1
    plain = degree_bits + np.maximum(shift, 0)
    attending = coefficient_sum_bits(shape) + np.where(layer.mean, degree_bits, 0)
    yield Use("fgnas_divider", np.where(layer.mean | layer.gat, layer.t_aggr, 0), {
        "NumeratorBits": layer.aggregate_bits + np.maximum(-shift, 0),
        "DenominatorBits": np.where(layer.gat, attending, plain), "QuotientBits": layer.y_bits,
    })  # fmt: skip
    lanes = layer.t_aggr if layer.last else layer.t_act
    yield row_buffer(one, layer.y_bits, layer.features, layer.t_aggr, lanes, layer.aggr_rows)


def masked_sums(layer: LayerGeometry) -> Ints:
    """[n] LUTs between a weighted tile's sum, which a row's first edge ignores, and the adder behind it.

    An aggregation that is synthesised alone, as its table is, takes none: the adder's LUTs absorb the mask. In a whole
    top the operands of that adder mostly change places, and then they do not.
    """
    masked = (layer.gcn | layer.gat) & ~layer.maximum & (layer.aggr_tiles > 1)
    return masked * layer.t_aggr * layer.aggregate_bits


def denominators(layer: LayerGeometry) -> Ints:
    """[n] products of a coefficient sum and a degree: gat's mean has one for each head of a tile, always in a DSP."""
    return np.where(layer.gat & layer.mean, layer.group_heads, 0)


def _scores(layer: LayerGeometry, shape: GraphShape) -> Iterator[Use]:
    """gat: the scores of every row."""
    gat = layer.gat.astype(np.int64)
    depth = layer.head_groups * shape.node_capacity
    skip = layer.d_padded - (layer.score_tiles - 1) * layer.t_attn
    yield row_buffer(gat, layer.value_bits, layer.features, layer.t_out, layer.t_attn, layer.score_rows, skip)
    yield Use("fgnas_score", gat, {
        "Heads": layer.k, "GroupHeads": layer.group_heads, "Tiles": layer.score_tiles, "Lanes": layer.t_attn,
        "ValueBits": layer.value_bits, "WeightBits": layer.weight_bits, "SumBits": layer.score_bits,
        "AddressBits": address_bits(depth),
    })  # fmt: skip
    yield requantise(gat, layer.score_bits, layer.weight_fraction, layer.value_bits)


def _attention(layer: LayerGeometry, shape: GraphShape) -> Iterator[Use]:
    """gat: the row's largest exponents, and the weighted sums."""
    gat = layer.gat.astype(np.int64)
    heads, groups = layer.group_heads, layer.head_groups
    source = source_bits(shape)
    yield Use("fgnas_row_maximum", gat, {
        "GroupHeads": heads, "HeadGroups": groups, "ValueBits": layer.value_bits, "ExponentBits": layer.exponent_bits,
        "AddressBits": address_bits(groups * shape.node_capacity), "SourceBits": source,
        "DegreeCapacity": shape.degree_capacity, "RingEdges": ring_edges(shape),
    })  # fmt: skip
    yield row_buffer(gat, layer.exponent_bits, layer.k, heads, heads, layer.maximum_rows, rewinds=1)
    yield Use("fgnas_aggregate_gat", gat, {
        "Lanes": layer.t_aggr, "HeadLanes": np.minimum(layer.t_aggr, layer.d_padded), "GroupHeads": heads,
        "HeadGroups": groups, "GroupTiles": layer.group_tiles, "HLanes": layer.h_lanes,
        "HAddressBits": address_bits(layer.h_words * shape.node_capacity), "SourceBits": source,
        "ValueBits": layer.value_bits, "ExponentBits": layer.exponent_bits,
        "Maximum": layer.maximum.astype(np.int64), "Mean": layer.mean.astype(np.int64),
        "SumBits": layer.aggregate_bits, "YBits": layer.y_bits, "DegreeCapacity": shape.degree_capacity,
    })  # fmt: skip


def _activate(layer: LayerGeometry, following: LayerGeometry) -> Iterator[Use]:
    one = np.ones_like(layer.k)
    yield Use("fgnas_activate", one, {
        "Lanes": layer.t_act, "Tiles": layer.act_tiles, "YBits": layer.y_bits, "ValueBits": layer.value_bits,
    })  # fmt: skip
    yield requantise(layer.t_act, np.maximum(layer.y_bits, layer.value_bits) + 1, 0 * one, layer.value_bits)
    yield row_buffer(one, layer.value_bits, layer.features, layer.t_act, following.t_in, layer.act_rows)


def _head_mean(layer: LayerGeometry, shape: GraphShape) -> Iterator[Use]:
    one = np.ones_like(layer.k)
    head_bits = ceil_log2(layer.k)
    common = {
        "Heads": layer.k, "Lanes": layer.t_aggr, "ClassLanes": layer.class_lanes, "ClassTiles": layer.class_tiles,
        "YBits": layer.y_bits, "ValueBits": layer.value_bits,
    }  # fmt: skip
    yield Use("fgnas_head_mean", (~layer.gat).astype(np.int64), {**common, "HeadTiles": layer.head_tiles})
    groups = {"GroupHeads": layer.group_heads, "HeadGroups": layer.head_groups}
    yield Use("fgnas_head_mean_gat", layer.gat.astype(np.int64), {**common, **groups})
    sum_bits = layer.y_bits + head_bits
    yield Use("fgnas_logit", layer.class_lanes, {
        "SumBits": sum_bits, "HeadBits": head_bits, "YBits": layer.y_bits, "ValueBits": layer.value_bits,
    })  # fmt: skip
    mean_bits = np.maximum(layer.y_bits, layer.value_bits + wire.LOGIT_EXTRA_BITS) + 1
    yield requantise(layer.class_lanes, sum_bits, head_bits, layer.y_bits)
    yield requantise(layer.class_lanes, mean_bits, 0 * one, wire.LOGIT_BITS * one)
    rows = output_rows(layer.logit_beats)
    yield row_buffer(one, wire.LOGIT_BITS * one, shape.classes * one, layer.class_lanes, 8 * one, rows)


def requantise(count: Ints, bits: Ints, shift: Ints, out_bits: Ints) -> Use:
    """Rounding and saturation."""
    return Use("fgnas_requantise", count, {"InBits": bits, "Shift": shift, "OutBits": out_bits})


def row_buffer(
    count: Ints, bits: Ints, features: Ints, write: Ints, read: Ints, rows: Ints, skip: Ints | None = None,
    rewinds: int = 0,
) -> Use:  # fmt: skip
    """A ring of rows."""
    return Use("fgnas_row_buffer", count, {
        "Bits": bits, "Features": features, "WriteLanes": write, "ReadLanes": read, "Rows": rows,
        "SkipLanes": read if skip is None else skip, "Rewinds": rewinds,
    })  # fmt: skip


def linear_shift(layer: LayerGeometry) -> Ints:
    """Right shift behind the linear stage, with the scale that row-normalised features usually get."""
    scale = TYPICAL_INPUT_SCALE if layer.first else 0
    return layer.input_fraction + layer.weight_fraction - layer.value_fraction + scale


def aggregate_shift(layer: LayerGeometry) -> Ints:
    """Right shift that takes an aggregate to Y's fraction bits; gat's division by its coefficients does the rest."""
    extra = wire.LOGIT_EXTRA_BITS if layer.last else 0
    return np.where(layer.gcn, wire.COEFFICIENT_FRACTION_BITS, 0) - extra
