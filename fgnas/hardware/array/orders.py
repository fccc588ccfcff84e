"""Layers that gather before they multiply, on an array whose further layers multiply the rows that its units hold.

Such a layer becomes two. The first copies the rows of X to the tables, by a product with the identity, and gathers
them: P. The second is a product of every row of P by itself, behind which bias and activation follow.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fgnas.activations import NAMES
from fgnas.fixedpoint import FixedPoint
from fgnas.hardware import wire
from fgnas.hardware.pipeline.accelerator import Accelerator, LayerAccelerator
from fgnas.hardware.pipeline.geometry import reshaped

ONE = FixedPoint(2, 0)
"""Format of the weights of the identity."""


def with_gathers_first(source: Accelerator) -> Accelerator:
    """The network without a layer that gathers first: the same logits, bit for bit."""
    if all(layer.gathered is None for layer in source.layers):
        return source
    found: list[LayerAccelerator] = []
    for layer in source.layers:
        parts = [layer] if layer.gathered is None else [_sums(layer, layer.gathered), _product(layer, layer.gathered)]
        found += [replace(part, index=len(found) + place) for place, part in enumerate(parts)]
    return replace(source, layers=tuple(found))


def _sums(layer: LayerAccelerator, gathered: FixedPoint) -> LayerAccelerator:
    """P: the rows of X gathered, without bias and activation."""
    g, x = layer.geometry, layer.input_format
    hidden: dict[str, Any] = {
        "last": False, "k": 1, "d": g.input_width, "d_padded": g.input_width, "features": g.input_width,
        "group_heads": 1, "t_act": 1, "activation": NAMES.index("linear"), "act_rows": 1, "class_lanes": 0,
        "head_tiles": 0, "value_bits": x.width, "weight_bits": ONE.width,
    }  # fmt: skip
    coefficients = wire.COEFFICIENT_FRACTION_BITS if g.gcn else 0
    return replace(
        layer, geometry=reshaped(g, **hidden), weight_format=ONE, value_format=x, output_format=gathered,
        linear_shift=0, aggregate_shift=x.fraction_bits + coefficients - gathered.fraction_bits,
        linear_dsp=0, aggregate_dsp=0, weight=np.eye(g.input_width, dtype=np.int64),
        bias=np.zeros(g.input_width, np.int64), activation_table=None, gathered=None,
    )  # fmt: skip


def _product(layer: LayerAccelerator, gathered: FixedPoint) -> LayerAccelerator:
    """P W of every row by itself, bias and activation."""
    g = layer.geometry
    coefficients = wire.COEFFICIENT_FRACTION_BITS if g.gcn else 0
    return replace(
        layer, geometry=reshaped(g, gcn=False, mean=False, input_bits=gathered.width), input_format=gathered,
        aggregate_shift=layer.aggregate_shift - coefficients, linear_dsp=0, aggregate_dsp=0, gathered=None, second=True,
    )  # fmt: skip
