"""Quantisation-aware fine-tuning: a calibrated network is trained on with the hardware's roundings in its forward pass.

A rounding has no slope, so its gradient is passed straight through (Bengio et al., 2013). What it gains is measured by
benchmarks/finetuning.py.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from fgnas.design import Design
from fgnas.network import Network
from fgnas.networks.model import Child, Field, SparseProduct, keep_mask
from fgnas.networks.rounding import Formats, quantised, rounded_logits, straight_through
from fgnas.networks.training import Recipe, restored, to_network
from fgnas.tasks.nodes import GraphData

EPOCHS = 60
LEARNING_RATE = 5e-3
STREAM = 1
"""Sets its random numbers apart from those of the training with the same seed."""


def fine_tuned(
    design: Design, network: Network, data: GraphData, seed: int, recipe: Recipe, learning_rate: float = LEARNING_RATE
) -> Network:
    """The network, with its scales, of the epoch with the best rounded validation accuracy; the first of equals.

    That it began with is among them. A pure function of its arguments, for one thread and equal versions; on the CPU,
    whatever device the recipe names. It never looks at a test label.
    """
    rounded = with_rounded_features(design, network, data)
    nodes = {split: np.flatnonzero(getattr(data, split)) for split in ("train", "val")}
    fields = {split: Field(rounded, nodes[split], len(design.layers)) for split in nodes}
    labels = {split: torch.from_numpy(data.labels[nodes[split]]) for split in nodes}
    child, rng = restored(design.architecture(), network, data), np.random.default_rng((seed, STREAM))
    optimiser = torch.optim.Adam(child.parameters(), lr=learning_rate, weight_decay=recipe.weight_decay, fused=True)
    best, kept = -1, network
    for epoch in range(EPOCHS + 1):
        with torch.no_grad():
            found = training_logits(design, network, child, fields["val"], None, recipe.dropout).argmax(1)
            if (right := int((found == labels["val"]).sum())) > best:
                best, kept = right, _with_scales(to_network(child, data), network)
        if epoch < EPOCHS:
            optimiser.zero_grad()
            logits = training_logits(design, network, child, fields["train"], rng, recipe.dropout)
            torch.nn.functional.cross_entropy(logits, labels["train"]).backward()
            optimiser.step()
    return kept


def training_logits(
    design: Design, network: Network, child: Child, field: Field, rng: np.random.Generator | None, dropout: float
) -> Tensor:
    """[targets, classes] logits of the child with the scales of `network`, as `rounded_logits` rounds them.

    The features of the field are rounded already. With `rng`, features and hidden values are dropped.
    """
    x = field.features if rng is None else field.dropped(rng, dropout)
    formats = [
        Formats.of(layer, scales.weight_scale, scales.value_scale, scales.output_scale)
        for layer, scales in zip(design.layers, network.layers, strict=True)
    ]

    def drop(values: Tensor) -> Tensor:
        return values if rng is None else values * torch.from_numpy(keep_mask(rng, tuple(values.shape), dropout))

    def first_product(weights: Tensor) -> Tensor:
        return SparseProduct.apply(weights, x)

    return rounded_logits(design, child, field, formats, first_product, straight_through, drop)


def with_rounded_features(design: Design, network: Network, data: GraphData) -> GraphData:
    """The data as the hardware is sent it."""
    features = data.features.copy()
    number = design.layers[0].value_format(network.input_scale)
    features.data = quantised(torch.from_numpy(features.data), number).numpy()
    return dataclasses.replace(data, features=sp.csr_matrix(features))


def _with_scales(network: Network, scaled: Network) -> Network:
    """Parameters of one network with the scales of another."""
    names = ("weight_scale", "value_scale", "output_scale")
    pairs = zip(network.layers, scaled.layers, strict=True)
    layers = [dataclasses.replace(layer, **{name: getattr(other, name) for name in names}) for layer, other in pairs]
    return Network(tuple(layers), scaled.input_scale)
