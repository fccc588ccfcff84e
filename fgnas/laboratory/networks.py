"""Random networks, lowered: what synthesis needs, and no training."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.design import VECTORS, Design
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.pipeline.uses import TYPICAL_INPUT_SCALE
from fgnas.hardware.shape import GraphShape
from fgnas.network import ATTENTION_VECTORS, LayerParameters, Network

SHAPES = (GraphShape(1433, 7, 3072, 256), GraphShape(3703, 6, 4096, 128), GraphShape(500, 3, 20480, 256))
"""Cora, CiteSeer, PubMed."""


def random_accelerator(design: Design, shape: GraphShape, seed: int) -> Accelerator:
    """A design with random weights, lowered: what synthesis needs and no training."""
    return lower(design, random_network(design, shape, seed), shape)


def random_network(design: Design, shape: GraphShape, seed: int) -> Network:
    """Random weights of a design, without scales."""
    rng = np.random.default_rng(seed)

    def normal(*size: int) -> NDArray[np.float32]:
        return rng.normal(size=size).astype(np.float32)

    width, layers = shape.width_in, []
    for layer in design.layers:
        features = layer.d or shape.classes
        weight = normal(width, layer.k, features)
        bias = normal(features if layer.d is None else layer.k * features)
        vectors = [normal(layer.k, features) for _ in range(VECTORS.get(layer.attention, 0))]
        named: dict[str, Any] = dict(zip(ATTENTION_VECTORS, vectors, strict=False))
        layers.append(LayerParameters(weight, bias, **named))
        width = layer.k * features
    return Network(tuple(layers), TYPICAL_INPUT_SCALE)
