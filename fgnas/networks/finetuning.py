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
from fgnas.fixedpoint import FixedPoint
from fgnas.network import Network
from fgnas.networks.calibration import quantised
from fgnas.networks.model import ACTIVATIONS, Child, Field, SparseProduct, keep_mask
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
            found = rounded_logits(design, network, child, fields["val"], None, recipe.dropout).argmax(1)
            if (right := int((found == labels["val"]).sum())) > best:
                best, kept = right, _with_scales(to_network(child, data), network)
        if epoch < EPOCHS:
            optimiser.zero_grad()
            logits = rounded_logits(design, network, child, fields["train"], rng, recipe.dropout)
            torch.nn.functional.cross_entropy(logits, labels["train"]).backward()
            optimiser.step()
    return kept


def rounded_logits(
    design: Design, network: Network, child: Child, field: Field, rng: np.random.Generator | None, dropout: float
) -> Tensor:
    """[targets, classes] rounded where the hardware rounds, but for its coefficients and logits.

    The field's features are rounded already; formats have the scales of `network`. With `rng` entries are dropped.
    """
    x = field.features if rng is None else field.dropped(rng, dropout)
    z = y = bias = torch.empty(0)
    for index, (layer, block, parameters) in enumerate(zip(design.layers, field.blocks, network.layers, strict=True)):
        weight, value = layer.weight_format(parameters.weight_scale), layer.value_format(parameters.value_scale)
        rounded = straight_through(child.weights[index], weight)
        h = straight_through(SparseProduct.apply(rounded, x) if index == 0 else z @ rounded, value)
        bias = straight_through(child.biases[index], value)
        if (pair := child.attention[index]) is None:
            y = block.aggregate(h, layer.attention, layer.aggregation)
        else:
            source, target = (straight_through(vector, weight) for vector in pair)
            y = block.attend(h, source, target, layer.aggregation)
        if layer.activation is not None:
            active = ACTIVATIONS[layer.activation](straight_through(y + bias, value))
            z = straight_through(active, layer.value_format(parameters.output_scale))
            if rng is not None:
                z = z * torch.from_numpy(keep_mask(rng, tuple(z.shape), dropout))
    return y.view(len(y), design.layers[-1].k, -1).mean(1) + bias


def straight_through(values: Tensor, number: FixedPoint) -> Tensor:
    """Rounded values, whose gradient is that of clipping alone."""
    clipped = values.clamp(number.minimum * number.step, number.maximum * number.step)
    return clipped + (quantised(values, number) - clipped).detach()


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
