"""Fine-tuning: its roundings are the hardware's, and it never lowers validation accuracy."""

import numpy as np
import pytest
import torch
from support import random_design

from fgnas.design import OF_EDGES, PAIR
from fgnas.hardware.pipeline import reference
from fgnas.hardware.pipeline.encoding import encode
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.shape import GraphShape
from fgnas.networks import scatter
from fgnas.networks.calibration import calibrated
from fgnas.networks.finetuning import fine_tuned, training_logits, with_rounded_features
from fgnas.networks.model import Field
from fgnas.networks.quantised import fake_quantised_logits, quantised_accuracy
from fgnas.networks.rounding import Formats, of_edges, quantised
from fgnas.networks.training import Recipe, restored, train
from fgnas.tasks.nodes import load

RECIPE = Recipe(epochs=20)


@pytest.mark.parametrize("aggregation", ["add", "mlp"])
@pytest.mark.parametrize("seed", range(12))
def test_its_forward_pass_is_the_rounded_network(four_nodes, seed, aggregation):
    """Equal up to the rounding of the logits, if float32 holds every rounded value."""
    plain = {"attention": "constant", "aggregation": aggregation, "t_attn": None}
    design = random_design(np.random.default_rng(seed), 2, ({**plain, "activation": "relu"}, plain))
    network = calibrated(design, train(four_nodes, design.architecture(), seed, RECIPE).network, four_nodes)
    child = restored(design.architecture(), network, four_nodes)
    field = Field(with_rounded_features(design, network, four_nodes), np.arange(4), 2)
    with torch.no_grad():
        found = training_logits(design, network, child, field, None, 0.0)
    last = network.layers[-1].mlp or network.layers[-1]
    step = design.layers[-1].value_format(last.value_scale).step / 16
    assert (found - fake_quantised_logits(design, network, four_nodes)).abs().max() <= step


@pytest.mark.parametrize("attention", OF_EDGES)
@pytest.mark.parametrize("seed", range(4))
def test_scores_of_edges_are_the_hardware_s(four_nodes, seed, attention):
    """The roundings of training and calibration give the integers of the reference, from the same features."""
    scored = {"attention": attention, "aggregation": "add", "t_attn": None, "k": 2, "d": 4, "activation": "relu"}
    design = random_design(np.random.default_rng(seed), 2, (scored, {"attention": "constant", "t_attn": None}))
    network = calibrated(design, train(four_nodes, design.architecture(), seed, RECIPE).network, four_nodes)
    accelerator = lower(design, network, GraphShape.of(four_nodes))
    graph, layer = encode(accelerator, four_nodes), accelerator.layers[0]
    h = reference.linear(layer, graph.features)
    wanted = reference.edge_scores(layer, graph, h)
    number, block = Formats.of_network(design, network)[0], Field(four_nodes, np.arange(4), 1).blocks[0]
    heads = torch.from_numpy(layer.value_format.value(h)).view(4, 2, 4)
    given = restored(design.architecture(), network, four_nodes).attention[0]
    vectors = [quantised(one, number.weight) for one in given]
    how = of_edges(number, quantised)
    if attention == PAIR:
        found = scatter.pair_scores(heads, vectors, block.scattered, *how)
    else:
        found = scatter.dot_scores(heads, vectors[0], block.scattered, *how)
    order = np.lexsort((block.sources, np.repeat(np.arange(4), block.target_degrees)))
    expected = np.lexsort((graph.sources, np.repeat(np.arange(4), np.diff(graph.indptr))))
    assert np.array_equal(found.detach().numpy()[order] / number.score.step, wanted[expected])


def test_fine_tuning_keeps_the_scales_of_scores(four_nodes):
    scored = {"attention": PAIR, "aggregation": "add", "t_attn": None}
    design = random_design(np.random.default_rng(6), 2, (scored, scored))
    network = calibrated(design, train(four_nodes, design.architecture(), 6, RECIPE).network, four_nodes)
    tuned = fine_tuned(design, network, four_nodes, 7, RECIPE)
    for before, after in zip(network.layers, tuned.layers, strict=True):
        assert None not in (before.pair_scale, before.score_scale)
        assert (before.pair_scale, before.score_scale) == (after.pair_scale, after.score_scale)


def test_fine_tuning_digits():
    data, design = load("digits"), random_design(np.random.default_rng(4), 2)
    network = calibrated(design, train(data, design.architecture(), 4, RECIPE).network, data)
    before = network.layers[0].weight.copy()
    tuned = fine_tuned(design, network, data, 7, RECIPE)
    again, other = fine_tuned(design, network, data, 7, RECIPE), fine_tuned(design, network, data, 8, RECIPE)
    assert np.array_equal(network.layers[0].weight, before), "the network that was given is left as it was"
    assert np.array_equal(tuned.layers[0].weight, again.layers[0].weight)
    assert not np.array_equal(tuned.layers[0].weight, other.layers[0].weight)
    assert [layer.value_scale for layer in tuned.layers] == [layer.value_scale for layer in network.layers]
    assert tuned.input_scale == network.input_scale
    gain = quantised_accuracy(design, tuned, data)["val"] - quantised_accuracy(design, network, data)["val"]
    assert gain >= -0.01
