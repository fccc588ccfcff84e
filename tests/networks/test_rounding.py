"""The rounded forward pass: both callers get, bit by bit, the floats of the layers written out one after the other."""

import numpy as np
import pytest
import torch
from support import random_design, random_graph

from fgnas.fixedpoint import FixedPoint
from fgnas.networks.calibration import calibrated, calibrated_logits, observe
from fgnas.networks.finetuning import training_logits, with_rounded_features
from fgnas.networks.model import ACTIVATIONS, Field, SparseProduct, keep_mask
from fgnas.networks.rounding import quantised, straight_through
from fgnas.networks.training import Recipe, restored, train

NODES, DROPOUT = 40, 0.3


def test_a_rounding_passes_its_gradient_and_a_clipping_does_not():
    values = torch.tensor([0.3, -0.1, 5.0, -9.0], requires_grad=True)
    rounded = straight_through(values, FixedPoint.of(1, 2))
    assert rounded.tolist() == [0.25, 0.0, 1.75, -2.0]
    rounded.sum().backward()
    assert values.grad.tolist() == [1.0, 1.0, 0.0, 0.0]


def written_out(design, network, child, field, product, rounding, drop, nodes=NODES):
    """The logits of a design of two layers, without a loop over layers."""

    def gathered(index, h):
        layer, block, pair = design.layers[index], field.blocks[index], child.attention[index]
        weight = layer.weight_format(network.layers[index].weight_scale)
        if pair is None:
            return block.aggregate(h, layer.attention, layer.aggregation)
        return block.attend(h, [rounding(vector, weight) for vector in pair], layer.attention, layer.aggregation)

    (first, last), (scales, last_scales) = design.layers, network.layers
    value, last_value = first.value_format(scales.value_scale), last.value_format(last_scales.value_scale)
    h = rounding(product(rounding(child.weights[0], first.weight_format(scales.weight_scale))), value)
    sums = rounding(gathered(0, h) + rounding(child.biases[0], value), value)
    z = drop(rounding(ACTIVATIONS[first.activation](sums), first.value_format(scales.output_scale)))
    h = rounding(z @ rounding(child.weights[1], last.weight_format(last_scales.weight_scale)), last_value)
    heads = gathered(1, h).view(nodes, last.k, -1)
    return heads.mean(1) + rounding(child.biases[1], last_value)


@pytest.fixture(params=range(6))
def case(request):
    """A random design of two layers on a random graph, with calibrated weights."""
    rng = np.random.default_rng(request.param)
    data, design = random_graph(rng, NODES, 12, 4, 100), random_design(rng, 2)
    network = train(data, design.architecture(), request.param, Recipe(epochs=5)).network
    return data, design, calibrated(design, network, data)


@torch.no_grad()
def test_calibration_sees_the_same_floats(case):
    data, design, network = case
    seen = observe(design.architecture(), network, data)
    scales = {(0, "input"): network.input_scale}
    for index, layer in enumerate(network.layers):
        scales |= {(index, name): getattr(layer, f"{name}_scale") for name in ("weight", "value", "output")}
    csr = seen.field.features.csr
    numbers = quantised(csr.values(), design.layers[0].value_format(network.input_scale))
    x = torch.sparse_csr_tensor(csr.crow_indices(), csr.col_indices(), numbers, csr.shape)
    expected = written_out(design, network, seen.child, seen.field, lambda w: x @ w, quantised, lambda z: z)
    assert torch.equal(calibrated_logits(design, seen.child, seen.field, scales), expected)


def test_fine_tuning_sees_the_same_floats_and_gradients(case):
    data, design, network = case
    field = Field(with_rounded_features(design, network, data), np.arange(data.nodes), 2)
    child, twin = (restored(design.architecture(), network, data) for _ in range(2))
    found = training_logits(design, network, child, field, np.random.default_rng(1), DROPOUT)
    rng = np.random.default_rng(1)
    x = field.dropped(rng, DROPOUT)
    expected = written_out(
        design, network, twin, field, lambda w: SparseProduct.apply(w, x), straight_through,
        lambda z: z * torch.from_numpy(keep_mask(rng, tuple(z.shape), DROPOUT)),
    )  # fmt: skip
    assert torch.equal(found, expected)
    found.square().sum().backward()
    expected.square().sum().backward()
    pairs = list(zip(child.parameters(), twin.parameters(), strict=True))
    assert pairs and all(torch.equal(one.grad, other.grad) for one, other in pairs)
