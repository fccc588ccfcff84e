"""Quantisation-aware fine-tuning: training continues with the accelerator's roundings in the forward pass.

A rounding has no gradient, so that of its argument is used (Bengio et al., 2013). benchmarks/finetuning.py measures the
gain.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from fgnas.design import Design
from fgnas.network import Network
from fgnas.networks.answers import answers_of
from fgnas.networks.model import Child, Field, SparseProduct, keep_mask
from fgnas.networks.rounding import Formats, quantised, rounded_logits, straight_through
from fgnas.networks.training import Recipe, restored, to_network
from fgnas.tasks.nodes import GraphData

EPOCHS = 60
LEARNING_RATE = 5e-3
STREAM = 1
"""Separates its random numbers from those of the training with the same seed."""


def fine_tuned(
    design: Design, network: Network, data: GraphData, seed: int, recipe: Recipe, learning_rate: float = LEARNING_RATE
) -> Network:
    """The network of the epoch with the best rounded validation accuracy, the first of equals, with unchanged scales.

    The initial network counts as an epoch. The result is a pure function of the arguments with one thread and equal
    versions; it is always computed on the CPU, and test labels are never used.
    """
    rounded = with_rounded_features(design, network, data)
    nodes = {split: np.flatnonzero(getattr(data, split)) for split in ("train", "val")}
    fields = {split: Field(rounded, nodes[split], len(design.layers), rates=design.rates) for split in nodes}
    wanted = {split: answers_of(data, split) for split in nodes}
    child, rng = restored(design.architecture(), network, data), np.random.default_rng((seed, STREAM))
    optimiser = torch.optim.Adam(child.parameters(), lr=learning_rate, weight_decay=recipe.weight_decay, fused=True)
    best, kept = -math.inf, network
    for epoch in range(EPOCHS + 1):
        with torch.no_grad():
            logits = training_logits(design, network, child, fields["val"], None, recipe.dropout)
            if (quality := float(wanted["val"].quality(logits.numpy()))) > best:
                best, kept = quality, _with_scales(to_network(child, data), network)
        if epoch < EPOCHS:
            optimiser.zero_grad()
            logits = training_logits(design, network, child, fields["train"], rng, recipe.dropout)
            wanted["train"].loss(logits).backward()
            optimiser.step()
    return kept


def training_logits(
    design: Design, network: Network, child: Child, field: Field, rng: np.random.Generator | None, dropout: float
) -> Tensor:
    """[targets, classes] logits of the child with the scales of `network`, as `rounded_logits` rounds them.

    The features of the field are rounded already. With `rng`, features and hidden values are dropped.
    """
    x = field.features if rng is None else field.dropped(rng, dropout)
    formats = Formats.of_network(design, network)

    def drop(values: Tensor) -> Tensor:
        return values if rng is None else values * torch.from_numpy(keep_mask(rng, tuple(values.shape), dropout))

    def first_product(weights: Tensor) -> Tensor:
        return SparseProduct.apply(weights, x)

    return rounded_logits(design, child, field, formats, first_product, straight_through, drop)


def with_rounded_features(design: Design, network: Network, data: GraphData) -> GraphData:
    """The data with the features that the hardware receives."""
    features = data.features.copy()
    number = design.layers[0].value_format(network.input_scale)
    features.data = quantised(torch.from_numpy(features.data), number).numpy()
    return dataclasses.replace(data, features=sp.csr_matrix(features))


def _with_scales(network: Network, scaled: Network) -> Network:
    """The parameters of one network with the scales of another."""
    names = ("weight_scale", "value_scale", "output_scale", "score_scale", "pair_scale", "gathered_scale")
    layers = []
    for layer, other in zip(network.layers, scaled.layers, strict=True):
        scales: dict[str, Any] = {name: getattr(other, name) for name in names}
        if layer.mlp is not None and other.mlp is not None:
            weight_scale, value_scale = other.mlp.weight_scale, other.mlp.value_scale
            scales["mlp"] = dataclasses.replace(layer.mlp, weight_scale=weight_scale, value_scale=value_scale)
        layers.append(dataclasses.replace(layer, **scales))
    return Network(tuple(layers), scaled.input_scale)
