"""The accelerator: everything that hardware, software and models must agree about, in one object.

Lowering makes it; the integer reference, the latency and resource models, the HLS C++ and the RTL read it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.design import Design
from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware.pipeline.geometry import GraphShape, LayerGeometry, ceil_div

BEAT_BYTES = 16
BEAT_WORDS = 8
"""16-bit words in a beat: attention vectors, biases and logits."""
WEIGHT_WORDS = 2
"""Memory words of weights in a beat: as many as the memories of the first layer have ports."""
EDGES_PER_BEAT = 4
COLUMN_BITS, INPUT_VALUE_BITS = 14, 10
SOURCE_BITS = 20


@dataclass(frozen=True)
class Register:
    """A word or a pair of words of the s_axilite face; offsets as Vitis HLS assigns them in argument order."""

    name: str
    offset: int
    bits: int
    access: str
    about: str


CONTROL_REGISTERS = (
    Register("control", 0x00, 32, "rw", "bit 0 ap_start, 1 ap_done (cleared on read), 2 ap_idle, 3 ap_ready"),
    Register("global_interrupt_enable", 0x04, 32, "rw", "bit 0"),
    Register("interrupt_enable", 0x08, 32, "rw", "bit 0 ap_done, bit 1 ap_ready"),
    Register("interrupt_status", 0x0C, 32, "rw", "bit 0 ap_done, bit 1 ap_ready; writing 1 toggles"),
)
ARGUMENT_REGISTERS = (
    Register("nodes", 0x10, 32, "w", "N, 0 to the capacity"),
    Register("feature_beats", 0x18, 32, "w", "beats of the feature region"),
    Register("edge_beats", 0x20, 32, "w", "beats of the graph region"),
    Register("parameters", 0x28, 64, "w", "address of the parameter region, 16-byte aligned"),
    Register("features", 0x34, 64, "w", "address of the feature region, 16-byte aligned"),
    Register("edges", 0x40, 64, "w", "address of the graph region, 16-byte aligned"),
    Register("logits", 0x4C, 64, "w", "address of the logit region, 16-byte aligned"),
    Register("status", 0x58, 32, "r", "bits of what was refused or went wrong, 0 when right"),
)

STATUS_BITS = {
    "nodes_over_capacity": 0,
    "unaligned_address": 1,
    "degree_over_capacity": 2,
    "stream_too_short": 3,
    "read_error": 4,
    "write_error": 5,
    "source_out_of_range": 6,
    "column_out_of_range": 7,
}
"""Bits of the status register. Sizes and addresses are checked before anything runs, rows while they stream; a
kernel that refuses writes nothing. read_error and write_error come from the bus and exist in RTL only."""


@dataclass(frozen=True)
class Memory:
    """One on-chip memory: `copies` times `depth` words of `width` bits, in the named style."""

    name: str
    depth: int
    width: int
    copies: int
    ram_style: str


@dataclass(frozen=True, eq=False)
class LayerAccelerator:
    """One layer of the accelerator. Sizes are those of `geometry.LayerGeometry`, for this design.

    Attributes:
        index, first, last: position.
        attention, aggregation, activation: choices; activation is None in the last layer.
        k, d, d_padded, features, input_width: shape; feature f is head f // d_padded, but in a last layer without
            gat head f mod k of class f // k (class-major, so that the head mean adds neighbours).
        t_in … logit_beats: as in LayerGeometry.
        input_format, weight_format, value_format, output_format: of X, W, (H, U, bias) and Z.
        linear_shift: right shift of the requantiser behind the linear stage; may be negative.
        aggregate_shift: right shift that takes an aggregate to Y's fraction bits; may be negative. Mean divides
            by the degree besides, gat by the sum of the coefficients.
        linear_dsp, score_dsp, aggregate_dsp: multipliers of the stage in DSP slices, lane 0 first.
        weight: [input_width, features] codes. bias: [features], in the last layer [classes].
        attention_target, attention_source: [k, d] codes in the weights' format (gat; else None).
        exponential_table: coefficients by D; beyond its end they are 0 (gat; else None).
        activation_table: [2**width] codes of Z by the unsigned bits of U; None in the last layer.
    """

    index: int
    first: bool
    last: bool
    attention: str
    aggregation: str
    activation: str | None
    k: int
    d: int
    d_padded: int
    features: int
    group_heads: int
    head_groups: int
    group_tiles: int
    input_width: int
    t_in: int
    t_out: int
    t_attn: int
    t_aggr: int
    t_act: int
    out_tiles: int
    in_groups: int
    score_tiles: int
    aggr_tiles: int
    act_tiles: int
    h_lanes: int
    h_words: int
    aggr_buffer_lanes: int
    act_buffer_lanes: int
    store_rows: int
    aggr_rows: int
    act_rows: int
    score_rows: int
    maximum_rows: int
    linear_bits: int
    score_bits: int
    exponent_bits: int
    aggregate_bits: int
    y_bits: int
    class_lanes: int
    class_tiles: int
    head_tiles: int
    logit_beats: int
    input_format: FixedPoint
    weight_format: FixedPoint
    value_format: FixedPoint
    output_format: FixedPoint
    linear_shift: int
    aggregate_shift: int
    linear_dsp: int
    score_dsp: int
    aggregate_dsp: int
    weight: Codes
    bias: Codes
    attention_target: Codes | None
    attention_source: Codes | None
    exponential_table: Codes | None
    activation_table: Codes | None

    @property
    def weighted(self) -> bool:
        """Whether messages are multiplied by the coefficient that comes with the edge."""
        return self.attention == "gcn"

    @property
    def gat(self) -> bool:
        """Whether messages are weighted by a softmax over scores."""
        return self.attention == "gat"

    @functools.cached_property
    def memories(self) -> tuple[Memory, ...]:
        """The on-chip memories of this layer."""
        if self.first:
            # A column names one row of a tile, so every lane needs a read port of its own: two a copy.
            weight = Memory(
                "weight", self.input_width * self.out_tiles, self.t_out * self.weight_format.width,
                -(-self.t_in // 2), "block",
            )  # fmt: skip
        else:
            words = self.in_groups * self.out_tiles
            weight = Memory(
                "weight", words, self.t_out * self.weight_format.width, self.t_in,
                "distributed" if words <= 64 else "block",
            )  # fmt: skip
        return (weight,)

    @functools.cached_property
    def parameter_words(self) -> NDArray[np.int64]:
        """[beats, 8] what the load phase reads for this layer, as 16-bit words: weights, two memory words a beat, then
        the attention vectors of gat and the biases, a memory word a beat.

        First layer: tile outside, input column inside. Others: group, tile, lane, with a lane more where they are odd,
        so that the words of a beat go to different memories. Lanes beyond the layer's shape are zero.
        """
        padded = np.zeros((self.in_groups * self.t_in, self.out_tiles * self.t_out), np.int64)
        padded[: self.input_width, : self.features] = self.weight
        if self.first:
            columns = padded[: self.input_width].reshape(self.input_width, self.out_tiles, self.t_out)
            words = columns.transpose(1, 0, 2).reshape(-1, self.t_out)
            words = np.pad(words, ((0, len(words) % WEIGHT_WORDS), (0, 0)))
        else:
            tiles = padded.reshape(self.in_groups, self.t_in, self.out_tiles, self.t_out)
            spare = ((0, 0), (0, 0), (0, self.t_in % WEIGHT_WORDS), (0, 0))
            words = np.pad(tiles.transpose(0, 2, 1, 3), spare).reshape(-1, self.t_out)
        lanes, count = (self.class_lanes, self.class_tiles) if self.last else (self.t_act, self.act_tiles)
        bias = np.zeros(lanes * count, np.int64)
        bias[: len(self.bias)] = self.bias
        weights = _side_by_side(words, self.weight_format.width)
        return np.concatenate([weights, self._score_words(), _in_beats(bias.reshape(count, lanes))])

    def _score_words(self) -> NDArray[np.int64]:
        """[beats, 8] attention vectors: head, then tile, then the target's word and the source's; none without gat."""
        if self.attention_target is None or self.attention_source is None:
            return np.zeros((0, BEAT_WORDS), np.int64)
        pair = np.stack([self.attention_target, self.attention_source], axis=2)
        padded = np.pad(pair, ((0, 0), (0, self.score_tiles * self.t_attn - self.d), (0, 0)))
        tiles = padded.reshape(self.k, self.score_tiles, self.t_attn, 2)
        return _in_beats(tiles.transpose(0, 1, 3, 2).reshape(-1, self.t_attn))

    @property
    def weight_beats(self) -> int:
        """Beats of the parameter region that hold this layer's weights."""
        return int(weight_beats(self))

    @property
    def score_beats(self) -> int:
        """Beats of the parameter region that hold this layer's attention vectors."""
        return 2 * self.k * self.score_tiles

    @property
    def bias_beats(self) -> int:
        """Beats of the parameter region that hold this layer's biases."""
        return self.class_tiles if self.last else self.act_tiles


@dataclass(frozen=True, eq=False)
class Accelerator:
    """A design, its quantised parameters and the capacities of the graph it serves, ready for every consumer."""

    name: str
    dataset: str
    design: Design
    shape: GraphShape
    input_scale: int
    layers: tuple[LayerAccelerator, ...]

    @property
    def parameter_beats(self) -> int:
        """Beats of the parameter region."""
        return sum(layer.weight_beats + layer.score_beats + layer.bias_beats for layer in self.layers)

    @functools.cached_property
    def parameters(self) -> NDArray[np.int16]:
        """[beats, 8] the parameter region."""
        return np.concatenate([layer.parameter_words for layer in self.layers]).astype(np.int16)

    @property
    def logit_beats(self) -> int:
        """Beats of one node's row of logits."""
        return self.layers[-1].logit_beats

    @property
    def logit_format(self) -> FixedPoint:
        """Format of the logits."""
        from fgnas.hardware.pipeline.geometry import LOGIT_BITS, LOGIT_EXTRA_BITS

        return FixedPoint(LOGIT_BITS, self.layers[-1].value_format.fraction_bits + LOGIT_EXTRA_BITS)

    def summary(self) -> dict[str, Any]:
        """The accelerator as plain JSON values, without its weights."""
        skipped = {
            "weight", "bias", "activation_table", "attention_target", "attention_source", "exponential_table",
        }  # fmt: skip
        layers = []
        for layer in self.layers:
            plain = {name: value for name, value in vars(layer).items() if name not in skipped}
            layers.append({
                name: vars(value) if isinstance(value, FixedPoint) else value
                for name, value in plain.items() if not name.startswith("_") and name not in CACHED
            })  # fmt: skip
        return {
            "name": self.name,
            "dataset": self.dataset,
            "design": self.design.to_dict(),
            "design_hash": self.design.hash,
            "shape": vars(self.shape),
            "input_scale": self.input_scale,
            "parameter_beats": self.parameter_beats,
            "layers": layers,
            "registers": [vars(register) for register in CONTROL_REGISTERS + ARGUMENT_REGISTERS],
            "status_bits": STATUS_BITS,
        }


CACHED = ("memories", "parameter_words")


def weight_beats(layer: LayerAccelerator | LayerGeometry) -> Any:
    """Beats of the parameter region that hold a layer's weights; [n] of a layer of n designs."""
    if layer.first:
        return ceil_div(layer.input_width * layer.out_tiles, WEIGHT_WORDS)
    return layer.in_groups * layer.out_tiles * ceil_div(layer.t_in, WEIGHT_WORDS)


def _side_by_side(words: Codes, bits: int) -> Codes:
    """[n, lanes] memory words of `bits` a lane as [n / 2, 8] beats: each in 64 bits, as it lies in its memory."""
    places = bits * np.arange(words.shape[1], dtype=np.uint64)
    fields = (words & ((1 << bits) - 1)).astype(np.uint64) << places
    halves = np.bitwise_or.reduce(fields, axis=1).reshape(-1, WEIGHT_WORDS)
    return halves.astype("<u8").view("<i2").astype(np.int64)


def _in_beats(words: Codes) -> Codes:
    """[n, lanes] memory words as [n, 8] beats, padded with zeros."""
    return np.pad(words, ((0, 0), (0, BEAT_WORDS - words.shape[1])))
