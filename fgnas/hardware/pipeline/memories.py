"""Every on-chip memory of the accelerator, listed once.

The RTL, the HLS C++, the resource model and a project's README read this list. It works on arrays of designs, as
pricing does, and on the geometry of one lowered design. A memory of a single word is built from registers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fgnas.hardware import wire
from fgnas.hardware.numbers import ceil_div, ceil_log2, next_power_of_two
from fgnas.hardware.pipeline.geometry import LayerGeometry, OneDesign
from fgnas.hardware.shape import GraphShape

LUTRAM_WORDS = 64
"""Weights and attention vectors of at most so many words are in LUTRAM, longer ones in block RAM."""
RING_ROWS = 2
"""The gat ring has room for so many rows of edges, each as long as the graph's capacity allows."""
READER_BEATS = 512
"""Beats of the read buffer: two bursts of 4 KiB, so that one arrives while the other is consumed."""
OUTPUT_BUFFER_BEATS = 32
"""Beats of logits that the output buffer holds, or two rows where they are longer."""

Number = Any
"""[n] integers or truth values of n designs, or those of one design."""


@dataclass(frozen=True)
class Memory:
    """One kind of on-chip memory of a layer.

    Attributes:
        name: unique within its layer.
        instance: path in the RTL's top of the instance that contains the array, without the frame of the layer or of
            the output, the layer's index, and generate blocks.
        depth, width: words, and bits of a word.
        copies: how many there are; 0 where a design has none.
        block: whether it is in block RAM; otherwise in LUTRAM.
        reads: read ports.
        alone: whether its RTL module is nothing but a memory; otherwise it is part of a stage or of a buffer.
    """

    name: str
    instance: str
    depth: Number
    width: Number
    copies: Number
    block: Number
    reads: int = 1
    alone: bool = False

    @property
    def style(self) -> str:
        """The RTL's ram_style, "block" or "distributed"; of one design."""
        return "block" if self.block else "distributed"

    @property
    def implementation(self) -> str:
        """Vitis HLS's name of the style, "bram" or "lutram"; of one design."""
        return "bram" if self.block else "lutram"

    @property
    def bits(self) -> Number:
        """Bits of all copies."""
        return self.copies * self.depth * self.width

    def of(self, design: int) -> Memory:
        """The memory of one of the designs, in plain integers."""

        def value(numbers: Number) -> Any:
            array = np.asarray(numbers)
            return (array[design] if array.ndim else array).item()

        return replace(
            self, depth=value(self.depth), width=value(self.width), copies=value(self.copies), block=value(self.block)
        )


def address_bits(depth: Number) -> Number:
    """Bits that address `depth` words; one word takes one."""
    return np.maximum(1, ceil_log2(depth))


def source_bits(shape: GraphShape) -> int:
    """Bits of a node's number."""
    return int(address_bits(shape.node_capacity))


def ring_edges(shape: GraphShape) -> int:
    """Edges that the gat ring holds."""
    return RING_ROWS * shape.degree_capacity


def ring_edges_before_a_row(degree_capacity: int) -> int:
    """Edges that may still be in the ring when a row starts, so that the longest row fits."""
    return (RING_ROWS - 1) * degree_capacity


def ring_width(layer: LayerGeometry, shape: GraphShape) -> Number:
    """Bits of an entry of the gat ring: end of row, source, and an exponent for each head of a group."""
    return 1 + source_bits(shape) + layer.group_heads * layer.exponent_bits


def coefficient_sum_bits(shape: GraphShape) -> int:
    """Bits of the sum of a neighbourhood's coefficients."""
    return wire.COEFFICIENT_BITS + int(ceil_log2(shape.degree_capacity))


def output_rows(logit_beats: Number) -> Number:
    """Rows of logits that the output buffer holds."""
    return np.maximum(2, OUTPUT_BUFFER_BEATS // np.maximum(logit_beats, 1))


def reader_buffer() -> Memory:
    """The read buffer between the AXI port and the stages; an accelerator has one."""
    return _block("reader", "u_reader.u_buffer", READER_BEATS, wire.BEAT_BITS, 1, alone=False)


def layer_memories(layer: LayerGeometry, shape: GraphShape) -> list[Memory]:
    """Every memory of a layer in hardware for graphs of `shape`, tables of functions excepted."""
    found = [*_linear(layer), *_features(layer, shape), *_aggregation(layer)]
    if np.any(layer.gat):
        found += _attention(layer, shape)
    return [*found, *(_output(layer, shape) if layer.last else _activation(layer))]


def memory_of(layer: OneDesign, shape: GraphShape, name: str) -> Memory:
    """The memory of that name of one lowered layer, in plain integers."""
    return next(memory for memory in memories_of(layer, shape) if memory.name == name)


def memories_of(layer: OneDesign, shape: GraphShape) -> list[Memory]:
    """The memories of one lowered layer, in plain integers."""
    return [memory for kind in layer_memories(layer, shape) if (memory := kind.of(0)).copies]


def _block(
    name: str, instance: str, depth: Number, width: Number, copies: Number, reads: int = 1, alone: bool = True
) -> Memory:
    return Memory(name, instance, depth, width, copies, depth > 0, reads, alone)


def _by_depth(name: str, instance: str, depth: Number, width: Number, copies: Number) -> Memory:
    return Memory(name, instance, depth, width, copies, depth > LUTRAM_WORDS, alone=True)


def _distributed(name: str, instance: str, depth: Number, width: Number, copies: Number = 1) -> Memory:
    return Memory(name, instance, depth, width, copies, False)


def _row_buffer(name: str, bits: Number, features: Number, lanes: Number, rows: Number, copies: Number = 1) -> Memory:
    """A ring of rows: a bank for each of `lanes` lanes, a power of two."""
    depth = rows * ceil_div(features, np.maximum(lanes, 1))
    return Memory(name, f"u_{name}", depth, bits, copies * lanes, False)


def _linear(layer: LayerGeometry) -> list[Memory]:
    """Weights, and the sums of a row's output tiles."""
    width = layer.t_out * layer.weight_bits
    if layer.first:
        # A non-zero names one row of a tile, so every lane needs a read port of its own: two a copy.
        words = layer.input_width * layer.out_tiles
        weight = _block("weight", "u_linear.u_weights", words, width, ceil_div(layer.t_in, 2), reads=2)
    else:
        weight = _by_depth("weight", "u_linear.u_weights", layer.in_groups * layer.out_tiles, width, layer.t_in)
    sums = layer.t_out * layer.linear_bits
    return [weight, _distributed("linear_sums", "u_linear.u_datapath", layer.out_tiles, sums)]


def _features(layer: LayerGeometry, shape: GraphShape) -> list[Memory]:
    """H, and the rows on their way to it."""
    depth = layer.h_words * shape.node_capacity
    return [
        _row_buffer("store_buffer", layer.value_bits, layer.features, layer.h_lanes, layer.store_rows),
        _block("h", "u_h", depth, layer.h_lanes * layer.value_bits, 1),
    ]


def _aggregation(layer: LayerGeometry) -> list[Memory]:
    """Sums or maxima of a row's tiles, and the aggregated rows."""
    sums = layer.t_aggr * layer.aggregate_bits
    return [
        _distributed("aggregate_sums", "u_aggregate", layer.aggr_tiles, sums),
        _row_buffer("y_buffer", layer.y_bits, layer.features, layer.aggr_buffer_lanes, layer.aggr_rows),
    ]


def _attention(layer: LayerGeometry, shape: GraphShape) -> list[Memory]:
    """gat: vectors, scores, the row maximum, the ring of edges, and the sums of coefficients."""
    gat, heads, groups = layer.gat * 1, layer.group_heads, layer.head_groups
    lanes = next_power_of_two(np.maximum(layer.t_out, layer.t_attn))
    words, vector = 2 * layer.k * layer.score_tiles, layer.t_attn * layer.weight_bits
    scores, ring = groups * shape.node_capacity, groups * ring_edges(shape)
    sums = heads * coefficient_sum_bits(shape)
    return [
        _row_buffer("score_buffer", layer.value_bits, layer.features, lanes, layer.score_rows, gat),
        _by_depth("attention", "u_score.u_vectors", words, vector, gat),
        _block("scores", "u_scores", scores, layer.value_bits, 2 * gat * heads),  # of targets and of sources
        _distributed("row_maxima", "u_row_maximum", groups, heads * layer.exponent_bits, gat),
        _block("ring", "u_ring", ring, ring_width(layer, shape), gat, alone=False),
        _row_buffer("maximum_buffer", layer.exponent_bits, layer.k, heads, layer.maximum_rows, gat),
        _distributed("coefficient_sums", "u_aggregate", groups, sums, gat),
    ]


def _activation(layer: LayerGeometry) -> list[Memory]:
    """Biases, and the rows behind the activation."""
    return [
        _distributed("bias", "u_activate", layer.act_tiles, layer.t_act * layer.value_bits),
        _row_buffer("z_buffer", layer.value_bits, layer.features, layer.act_buffer_lanes, layer.act_rows),
    ]


def _output(layer: LayerGeometry, shape: GraphShape) -> list[Memory]:
    """Biases, gat's sums over heads, and the rows of logits."""
    classes, tiles = layer.class_lanes, layer.class_tiles
    sums = classes * (layer.y_bits + ceil_log2(layer.k))
    lanes = next_power_of_two(np.maximum(classes, wire.BEAT_WORDS))
    return [
        _distributed("bias", "u_head_mean", tiles, classes * layer.value_bits),
        _distributed("head_sums", "u_head_mean", tiles, sums, layer.gat * 1),
        _row_buffer("output_buffer", wire.LOGIT_BITS, shape.classes, lanes, output_rows(layer.logit_beats)),
    ]
