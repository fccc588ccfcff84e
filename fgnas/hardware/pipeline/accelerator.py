"""The accelerator: everything that hardware, software and models must agree about, in one object.

Lowering makes it. The latency and resource models, the HLS C++ and the RTL read it, and the results of both must equal
those of its integer network.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.activations import NAMES
from fgnas.design import Design
from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware import wire
from fgnas.hardware.integer.network import IntegerNetwork
from fgnas.hardware.integer.tables import argument_format
from fgnas.hardware.pipeline import geometry
from fgnas.hardware.pipeline.geometry import OneDesign
from fgnas.hardware.shape import GraphShape


@dataclass(frozen=True, eq=False)
class Scores:
    """Formats and tables of a layer's scores.

    Attributes:
        attention: its name.
        format: of the parts that are added: s and r, or 1 + tanh(r) of linear; where edges have scores of their own,
            that of these.
        table: [2**width] codes of 1 + tanh(r) by the unsigned bits of r (linear), or of tanh(r) (gene-linear); else
            None.
        symmetric: whether a score adds that of the edge the other way round (gat-sym).
        dot: whether every edge has a score of its own, the sum of the products of two rows of numbers (cos,
            gene-linear).
        pair: format of the sums of two nodes' features that the table is of (gene-linear; else None).
        function: format of the table's codes (gene-linear; else None).
    """

    attention: str
    format: FixedPoint
    table: Codes | None = None
    symmetric: bool = False
    dot: bool = False
    pair: FixedPoint | None = None
    function: FixedPoint | None = None


@dataclass(frozen=True, eq=False)
class LayerAccelerator:
    """One layer of the accelerator: its geometry, and beside it the numbers that training and lowering chose.

    Attributes:
        index: position of the layer, from 0. A design's layer of aggregation mlp has two: one for the sums and their
            relu, and one for the second product.
        geometry: every count and width, see `LayerGeometry`. Feature f of a row belongs to head f // d_padded, but in a
            last layer without gat to head f mod k of class f // k (class-major, so that the head mean adds neighbours).
        input_format, weight_format, value_format, output_format: numbers of the linear stage's input, of W, of H, and
            of Z (in the last layer that of H); `argument_format` has those of U and the bias.
        linear_shift: right shift that takes a product's sum to H's fraction bits; may be negative.
        aggregate_shift: right shift that takes an aggregate to Y's fraction bits; may be negative. A mean then divides
            by the degree, gat by the sum of the coefficients.
        linear_dsp, score_dsp, aggregate_dsp: multipliers of the stage in DSP slices, lane 0 first.
        weight: [input_width, features] codes. bias: [features], in the last layer [classes].
        attention_target, attention_source, attention_factor: [k, d] codes in the weights' format (where there are
            scores that read such a vector; else None).
        exponential_table: coefficients by D; beyond its end they are 0 (with scores; else None).
        activation_table: [2**width of `argument_format`] codes of Z by the unsigned bits of U; None in the last layer.
        scores: those that weight the messages; None without.
        second: whether this is a second product, whose rows receive from themselves alone.

    Raises ValueError where these contradict each other: a changed field either reaches every reader or stops here.
    """

    index: int
    geometry: OneDesign
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
    scores: Scores | None = None
    second: bool = False
    attention_factor: Codes | None = None

    def __post_init__(self) -> None:
        g = self.geometry
        geometry.check(g)
        for name in ("input", "value", "weight"):
            width, bits = getattr(self, f"{name}_format").width, getattr(g, f"{name}_bits")
            if width != bits:
                raise ValueError(f"{name}_bits is {bits}, but the format of the layer's {name} has {width} bits")
        if self.weight.shape != (g.input_width, g.features):
            raise ValueError(f"weights are {self.weight.shape}, the geometry wants {(g.input_width, g.features)}")
        lanes = {"linear": g.t_in * g.t_out, "score": g.t_attn if g.gat else 0,
                 "aggregate": g.t_aggr if self.weighted or g.gat else 0}  # fmt: skip
        for stage, most in lanes.items():
            if not 0 <= getattr(self, f"{stage}_dsp") <= most:
                raise ValueError(f"{stage}_dsp is {getattr(self, f'{stage}_dsp')}, but {stage} has {most} multipliers")

    @property
    def attention(self) -> str:
        """Name of the attention."""
        if self.scores is not None:
            return self.scores.attention
        return "gcn" if self.geometry.gcn else "constant"

    @property
    def aggregation(self) -> str:
        """Name of the aggregation."""
        return "max" if self.geometry.maximum else "mean" if self.geometry.mean else "add"

    @property
    def activation(self) -> str | None:
        """Name of the activation; None in the last layer."""
        return None if self.geometry.last else NAMES[self.geometry.activation]

    @property
    def argument_format(self) -> FixedPoint:
        """Format of the activation's argument U and of the bias; that of Z where a hidden layer has no table."""
        if self.activation is not None and self.activation_table is None:
            return self.output_format
        return argument_format(self.activation, self.value_format, self.output_format)

    @property
    def weighted(self) -> bool:
        """Whether messages are multiplied by the coefficient that comes with the edge."""
        return self.geometry.gcn

    @functools.cached_property
    def parameter_words(self) -> NDArray[np.int64]:
        """[beats, 8] this layer's part of the parameter region, as 16-bit words: weights, two memory words a beat, then
        the attention vectors of gat and the biases, a memory word a beat.

        First layer: tile outside, input column inside. Others: group, tile, lane, with a lane more where they are odd,
        so that the words of a beat go to different memories. Lanes beyond the layer's shape are zero.
        """
        g = self.geometry
        padded = np.zeros((g.in_groups * g.t_in, g.out_tiles * g.t_out), np.int64)
        padded[: g.input_width, : g.features] = self.weight
        if g.first:
            columns = padded[: g.input_width].reshape(g.input_width, g.out_tiles, g.t_out)
            words = columns.transpose(1, 0, 2).reshape(-1, g.t_out)
            words = np.pad(words, ((0, len(words) % wire.WEIGHT_WORDS), (0, 0)))
        else:
            tiles = padded.reshape(g.in_groups, g.t_in, g.out_tiles, g.t_out)
            spare = ((0, 0), (0, 0), (0, g.t_in % wire.WEIGHT_WORDS), (0, 0))
            words = np.pad(tiles.transpose(0, 2, 1, 3), spare).reshape(-1, g.t_out)
        lanes, count = (g.class_lanes, g.class_tiles) if g.last else (g.t_act, g.act_tiles)
        bias = np.zeros(lanes * count, np.int64)
        bias[: len(self.bias)] = self.bias
        weights = _side_by_side(words, self.weight_format.width)
        return np.concatenate([weights, self._score_words(), _in_beats(bias.reshape(count, lanes))])

    def _score_words(self) -> NDArray[np.int64]:
        """[beats, 8] attention vectors: head, then tile, then the target's word and the source's; none without gat."""
        if self.attention_target is None or self.attention_source is None:
            return np.zeros((0, wire.BEAT_WORDS), np.int64)
        g = self.geometry
        pair = np.stack([self.attention_target, self.attention_source], axis=2)
        padded = np.pad(pair, ((0, 0), (0, g.score_tiles * g.t_attn - g.d), (0, 0)))
        tiles = padded.reshape(g.k, g.score_tiles, g.t_attn, 2)
        return _in_beats(tiles.transpose(0, 1, 3, 2).reshape(-1, g.t_attn))

    @property
    def weight_beats(self) -> int:
        """Beats of the parameter region that hold this layer's weights."""
        return geometry.weight_beats(self.geometry)

    @property
    def score_beats(self) -> int:
        """Beats of the parameter region that hold this layer's attention vectors."""
        return geometry.score_beats(self.geometry)

    @property
    def bias_beats(self) -> int:
        """Beats of the parameter region that hold this layer's biases."""
        return geometry.bias_beats(self.geometry)

    def summary(self) -> dict[str, Any]:
        """The layer as plain JSON values, without its weights and tables."""
        formats = {name: vars(getattr(self, name)) for name in vars(self) if name.endswith("_format")}
        return {
            "index": self.index,
            "attention": self.attention,
            "aggregation": self.aggregation,
            "activation": self.activation,
            "geometry": vars(self.geometry),
            **formats,
            **{name: value for name, value in vars(self).items() if name.endswith(("_shift", "_dsp"))},
            **({"second": True} if self.second else {}),
        }


@dataclass(frozen=True, eq=False)
class Accelerator:
    """A design, its quantised parameters and the capacities of the graph that it serves, ready for every reader.

    Attributes:
        integers: the network that it runs, in the pipeline's arithmetic: its interpreter defines right.
    """

    name: str
    dataset: str
    design: Design
    shape: GraphShape
    input_scale: int
    layers: tuple[LayerAccelerator, ...]
    integers: IntegerNetwork

    @property
    def parameter_beats(self) -> int:
        """Beats of the parameter region."""
        return sum(layer.weight_beats + layer.score_beats + layer.bias_beats for layer in self.layers)

    def design_layer(self, index: int) -> int:
        """The place, in the design, of the layer that the layer with this index is or belongs to."""
        return index - sum(layer.second for layer in self.layers[: index + 1])

    @functools.cached_property
    def parameters(self) -> NDArray[np.int16]:
        """[beats, 8] the parameter region."""
        return np.concatenate([layer.parameter_words for layer in self.layers]).astype(np.int16)

    @property
    def logit_beats(self) -> int:
        """Beats of one node's row of logits."""
        return self.layers[-1].geometry.logit_beats

    @property
    def logit_format(self) -> FixedPoint:
        """Format of the logits."""
        return self.integers.output.number

    def summary(self) -> dict[str, Any]:
        """The accelerator as plain JSON values, without its weights."""
        return {
            "name": self.name,
            "dataset": self.dataset,
            "design": self.design.to_dict(),
            "design_hash": self.design.hash,
            "shape": vars(self.shape),
            "input_scale": self.input_scale,
            "parameter_beats": self.parameter_beats,
            "layers": [layer.summary() for layer in self.layers],
            "registers": [vars(register) for register in wire.CONTROL_REGISTERS + wire.ARGUMENT_REGISTERS],
            "status_bits": wire.STATUS_BITS,
        }


def _side_by_side(words: Codes, bits: int) -> Codes:
    """[n, lanes] memory words of `bits` a lane as [n / 2, 8] beats: each in 64 bits, as in its memory."""
    places = bits * np.arange(words.shape[1], dtype=np.uint64)
    fields = (words & ((1 << bits) - 1)).astype(np.uint64) << places
    halves = np.bitwise_or.reduce(fields, axis=1).reshape(-1, wire.WEIGHT_WORDS)
    return halves.astype("<u8").view("<i2").astype(np.int64)


def _in_beats(words: Codes) -> Codes:
    """[n, lanes] memory words as [n, 8] beats, padded with zeros."""
    return np.pad(words, ((0, 0), (0, wire.BEAT_WORDS - words.shape[1])))
