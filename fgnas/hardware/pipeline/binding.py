"""Which multipliers take a DSP slice and which are built in LUTs: one rule for both back ends and the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fgnas.hardware.pipeline.geometry import COEFFICIENT_BITS, Ints, LayerGeometry

DSP_PRODUCT_BITS = 9
"""A product of fewer bits goes to LUTs, as synthesis does by itself."""


@dataclass(frozen=True)
class Multipliers:
    """The equal multipliers of one stage, over designs.

    Attributes:
        layer, stage: where they stand ("linear", "score" or "aggregate").
        left_bits, right_bits: operand widths.
        lanes: how many there are; 0 where the stage multiplies nothing.
        dsp: how many of them, lane 0 first, take a DSP slice.
    """

    layer: int
    stage: str
    left_bits: Ints
    right_bits: Ints
    lanes: Ints
    dsp: Ints


def bind_multipliers(layers: list[LayerGeometry], budget: Ints) -> list[Multipliers]:
    """Eligible multipliers take the design's DSP budget: widest product first, then by layer, stage and lane."""
    groups: list[tuple[int, str, Ints, Ints, Ints]] = []
    for index, layer in enumerate(layers):
        lanes = layer.t_in * layer.t_out
        groups.append((index, "linear", layer.input_bits, layer.weight_bits, lanes))
        scores = np.where(layer.gat, layer.t_attn, 0)
        groups.append((index, "score", layer.value_bits, layer.weight_bits, scores))
        weighted = np.where(layer.gcn | layer.gat, layer.t_aggr, 0)
        groups.append((index, "aggregate", layer.value_bits, np.full_like(lanes, COEFFICIENT_BITS), weighted))
    widths = np.stack([left + right for _, _, left, right, _ in groups])
    lanes_of = np.stack([lanes for *_, lanes in groups])
    eligible = np.where(widths >= DSP_PRODUCT_BITS, lanes_of, 0)
    order = np.argsort(-widths, axis=0, kind="stable")
    ranked = np.take_along_axis(eligible, order, axis=0)
    before = np.cumsum(ranked, axis=0) - ranked
    taken = np.clip(budget - before, 0, ranked)
    dsp = np.empty_like(taken)
    np.put_along_axis(dsp, order, taken, axis=0)
    return [
        Multipliers(layer, stage, left, right, lanes, dsp[row])
        for row, (layer, stage, left, right, lanes) in enumerate(groups)
    ]
