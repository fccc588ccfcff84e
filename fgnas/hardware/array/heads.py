"""Heads of a last layer that cannot share a sum: each has its own softmax, or its own maximum.

Such a layer becomes two. The first keeps the rows of all heads side by side, as a hidden layer does, at the fraction
bits of logits; the second is a product of every row by itself with weights of 1 / k, which adds the heads. Both round
where the pipeline does: every head's row once, and the mean once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fgnas.activations import NAMES
from fgnas.errors import UserError
from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware import wire
from fgnas.hardware.array.programme import NARROW_BITS
from fgnas.hardware.pipeline.accelerator import Accelerator, LayerAccelerator
from fgnas.hardware.pipeline.geometry import OneDesign, reshaped

EXTRA = wire.LOGIT_EXTRA_BITS


def with_heads_apart(source: Accelerator) -> Accelerator:
    """The network whose last layer has no heads that cannot share a sum: the same logits, bit for bit.

    Raises UserError where a row of a head has more bits than narrow numbers.
    """
    last = source.layers[-1]
    if not needs_own_sums(last):
        return source
    width = last.value_format.width + EXTRA
    if width > NARROW_BITS:
        kind = f"attention {last.attention}" if last.geometry.gat else "aggregation max"
        raise UserError(f"layer {source.design_layer(last.index)}: with {kind} the array averages the heads of a last "
                        f"layer whose features have {NARROW_BITS - EXTRA} bits at most, not "
                        f"{last.value_format.width}: choose one head, or fewer bits")  # fmt: skip
    rows = _rows(last, FixedPoint(width, last.value_format.fraction_bits + EXTRA))
    return replace(source, layers=(*source.layers[:-1], rows, _mean(last, rows)))


def needs_own_sums(layer: LayerAccelerator) -> bool:
    """Whether the heads of a last layer have a softmax or a maximum each."""
    g = layer.geometry
    return g.last and g.k > 1 and (g.gat or g.maximum)


def adds_heads(source: Accelerator, layer: LayerAccelerator) -> bool:
    """Whether a layer is the mean that `with_heads_apart` made: a sum, which needs no multiplication."""
    return layer.second and not source.design.layers[source.design_layer(layer.index)].mlp


def _rows(last: LayerAccelerator, number: FixedPoint) -> LayerAccelerator:
    """The rows of all heads, with `number` at the fraction bits of logits, without bias and activation."""
    hidden: dict[str, Any] = {"last": False, "t_act": 1, "activation": NAMES.index("linear"), "act_rows": 1}
    geometry = reshaped(last.geometry, **hidden, class_lanes=0, head_tiles=0)
    return replace(last, geometry=geometry, output_format=number, bias=np.zeros(geometry.features, np.int64))


def _mean(last: LayerAccelerator, rows: LayerAccelerator) -> LayerAccelerator:
    """The product that adds the heads of each class, and the bias."""
    g, number = last.geometry, rows.output_format
    halvings = g.k.bit_length() - 1
    weight = FixedPoint(2, halvings)
    plain: dict[str, Any] = {
        "gcn": False, "gat": False, "mean": False, "maximum": False, "k": 1, "d_padded": g.d, "features": g.d,
        "group_heads": 1, "first": False, "input_width": g.features, "t_attn": 0, "class_lanes": 1, "head_tiles": 1,
        "input_bits": number.width, "value_bits": number.width, "weight_bits": weight.width,
    }  # fmt: skip
    return LayerAccelerator(
        index=last.index + 1, geometry=reshaped(g, **plain), input_format=number, weight_format=weight,
        value_format=number, output_format=number, linear_shift=halvings, aggregate_shift=0, linear_dsp=0, score_dsp=0,
        aggregate_dsp=0, weight=_class_of_place(g), bias=last.bias << EXTRA, attention_target=None,
        attention_source=None, exponential_table=None, activation_table=None, second=True,
    )  # fmt: skip


def _class_of_place(g: OneDesign) -> Codes:
    """[k * d_padded, d] 1 where a place of a row of all heads is of a class; with scores a head's classes are side by
    side, else a class's heads."""
    place = np.arange(g.features)
    found = place % g.d_padded if g.gat else place // g.k
    return (found[:, None] == np.arange(g.d)).astype(np.int64)
