"""Which multipliers take a DSP slice and which are built in LUTs: one rule for both back ends and the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fgnas.hardware import wire
from fgnas.hardware.numbers import Ints
from fgnas.hardware.pipeline.geometry import ManyDesigns

DSP_PRODUCT_BITS = 9
"""A product of fewer bits goes to LUTs, as synthesis does by itself."""


@dataclass(frozen=True)
class Multipliers:
    """The equal multipliers of one stage, over designs.

    Attributes:
        layer, stage: the stage ("linear", "score" or "aggregate") and its layer.
        left_bits, right_bits: operand widths.
        lanes: number of multipliers; 0 where the stage multiplies nothing.
        dsp: number of those, lane 0 first, that take a DSP slice.
    """

    layer: int
    stage: str
    left_bits: Ints
    right_bits: Ints
    lanes: Ints
    dsp: Ints


def stage_multipliers(layers: Sequence[ManyDesigns]) -> list[Multipliers]:
    """The multipliers of every stage, none of them in a DSP slice yet."""
    groups: list[Multipliers] = []
    for index, layer in enumerate(layers):
        lanes = layer.t_in * layer.t_out
        none = np.zeros_like(lanes)
        groups.append(Multipliers(index, "linear", layer.input_bits, layer.weight_bits, lanes, none))
        scores = np.where(layer.gat, layer.t_attn, 0)
        groups.append(Multipliers(index, "score", layer.value_bits, layer.weight_bits, scores, none))
        weighted = np.where(layer.gcn | layer.gat, layer.t_aggr, 0)
        coefficient = np.full_like(lanes, wire.COEFFICIENT_BITS)
        groups.append(Multipliers(index, "aggregate", layer.value_bits, coefficient, weighted, none))
    return groups


def bind_multipliers(layers: Sequence[ManyDesigns], budget: Ints) -> list[Multipliers]:
    """Eligible multipliers take the design's DSP budget: widest product first, then by layer, stage and lane."""
    groups = stage_multipliers(layers)
    widths = np.stack([group.left_bits + group.right_bits for group in groups])
    lanes_of = np.stack([group.lanes for group in groups])
    eligible = np.where(widths >= DSP_PRODUCT_BITS, lanes_of, 0)
    order = np.argsort(-widths, axis=0, kind="stable")
    ranked = np.take_along_axis(eligible, order, axis=0)
    before = np.cumsum(ranked, axis=0) - ranked
    taken = np.clip(budget - before, 0, ranked)
    dsp = np.empty_like(taken)
    np.put_along_axis(dsp, order, taken, axis=0)
    return [replace(group, dsp=dsp[row]) for row, group in enumerate(groups)]
