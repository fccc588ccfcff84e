"""Heads of a last layer that cannot share a sum: each has its own softmax, or its own maximum.

Such a layer becomes two. The first keeps the rows of all heads side by side, as a hidden layer does, at the fraction
bits of logits; the second is a product of every row by itself with weights of 1 / k, which adds the heads. Both round
where the pipeline does: every head's row once, and the mean once. A maximum of messages without coefficients is one of
them: where the fraction bits of logits would make numbers wide, such rows keep their own, and the sum of the heads has
as many more as make it exact.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fgnas.activations import NAMES
from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware import wire
from fgnas.hardware.array.orders import with_gathers_first
from fgnas.hardware.array.programme import NARROW_BITS
from fgnas.hardware.pipeline.accelerator import Accelerator, LayerAccelerator
from fgnas.hardware.pipeline.geometry import OneDesign, reshaped


class FurtherBits(NamedTuple):
    """Fraction bits beyond those of a last layer's features: of the rows of its heads, of the sum of these that the
    mean makes, and of logits. Integers, or arrays of them."""

    rows: Any
    mean: Any
    logits: Any


def further_bits(width: Any, logits: Any, halvings: Any, exact: Any) -> FurtherBits:
    """Those of features of `width` bits whose logits have so many more, and of 2**halvings heads; `exact`: whether rows
    are values. Integers, or arrays of them."""
    kept = exact & (width + logits > NARROW_BITS)
    return FurtherBits(np.where(kept, 0, logits), np.where(kept, np.minimum(logits, halvings), logits), logits)


def with_heads_apart(source: Accelerator) -> Accelerator:
    """The network whose last layer has no heads that cannot share a sum, and whose layers that gather first are two
    each: the same logits, bit for bit."""
    source = with_gathers_first(source)
    last = source.layers[-1]
    if not needs_own_sums(last):
        return source
    g, width = last.geometry, last.value_format.width
    found = further_bits(width, wire.logit_extra_bits(width), g.k.bit_length() - 1, not (g.gat or g.gcn))
    bits = FurtherBits(*(int(one) for one in found))
    rows = _rows(last, bits)
    return replace(source, layers=(*source.layers[:-1], rows, _mean(last, rows, bits)))


def needs_own_sums(layer: LayerAccelerator) -> bool:
    """Whether the heads of a last layer have a softmax or a maximum each."""
    g = layer.geometry
    return g.last and g.k > 1 and (g.gat or g.maximum)


def adds_heads(source: Accelerator, layer: LayerAccelerator) -> bool:
    """Whether a layer is the mean that `with_heads_apart` made: a sum, which needs no multiplication."""
    of_design = source.design.layers[source.design_layer(layer.index)]
    return layer.second and not of_design.mlp and not of_design.gathers_first


def _rows(last: LayerAccelerator, bits: FurtherBits) -> LayerAccelerator:
    """The rows of all heads, without bias and activation."""
    hidden: dict[str, Any] = {"last": False, "t_act": 1, "activation": NAMES.index("linear"), "act_rows": 1}
    geometry = reshaped(last.geometry, **hidden, class_lanes=0, head_tiles=0)
    shift = last.aggregate_shift + bits.logits - bits.rows
    return replace(last, geometry=geometry, output_format=_finer(last, bits.rows), aggregate_shift=shift,
                   bias=np.zeros(geometry.features, np.int64))  # fmt: skip


def _finer(last: LayerAccelerator, bits: int) -> FixedPoint:
    """The format of a layer's features with so many more fraction bits."""
    return FixedPoint(last.value_format.width + bits, last.value_format.fraction_bits + bits)


def _mean(last: LayerAccelerator, rows: LayerAccelerator, bits: FurtherBits) -> LayerAccelerator:
    """The product that adds the heads of each class, and the bias."""
    g, number, given = last.geometry, _finer(last, bits.mean), rows.output_format
    halvings = g.k.bit_length() - 1
    weight = FixedPoint(2, halvings)
    plain: dict[str, Any] = {
        "gcn": False, "gat": False, "mean": False, "maximum": False, "k": 1, "d_padded": g.d, "features": g.d,
        "group_heads": 1, "first": False, "input_width": g.features, "t_attn": 0, "class_lanes": 1, "head_tiles": 1,
        "input_bits": given.width, "value_bits": number.width, "weight_bits": weight.width,
    }  # fmt: skip
    # A bias of as many fraction bits as logits is added as it is; else the epilogue aligns that of the features.
    bias = last.bias << (bits.logits if bits.mean == bits.logits else 0)
    return LayerAccelerator(
        index=last.index + 1, geometry=reshaped(g, **plain), input_format=given, weight_format=weight,
        value_format=number, output_format=number, linear_shift=bits.rows + halvings - bits.mean,
        aggregate_shift=bits.mean - bits.logits, linear_dsp=0, score_dsp=0,
        aggregate_dsp=0, weight=_class_of_place(g), bias=bias, attention_target=None,
        attention_source=None, exponential_table=None, activation_table=None, second=True,
    )  # fmt: skip


def _class_of_place(g: OneDesign) -> Codes:
    """[k * d_padded, d] 1 where a place of a row of all heads is of a class; with scores a head's classes are side by
    side, else a class's heads."""
    place = np.arange(g.features)
    found = place % g.d_padded if g.gat else place // g.k
    return (found[:, None] == np.arange(g.d)).astype(np.int64)
