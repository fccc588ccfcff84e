"""Two independent ways to the same integers: the accelerator's reference, and a float64 forward that rounds."""

import itertools

import numpy as np
import pytest
import torch
from arrays import wide_choices
from hypothesis import given, settings
from hypothesis import strategies as st

from fgnas.activations import PLAIN
from fgnas.design import VECTORS
from fgnas.fixedpoint import FixedPoint
from fgnas.hardware import wire
from fgnas.networks.calibration import calibrated
from fgnas.networks.quantised import (
    fake_quantise,
    fake_quantised_logits,
    quantised_accuracy,
    quantised_logits,
    rounded,
)
from fgnas.networks.training import Recipe, train
from fgnas.systems.fgnas.space import find_space

SPACE = find_space("fgnas").restrict(k=(1, 2, 4), d=(4, 8, 12))


FINE = SPACE.restrict(af=(4, 5, 6), wf=(5, 6))
"""Formats fine enough that the logits of real networks differ."""


def random_design(seed, space=SPACE):
    (row,) = space.draw(1, np.random.default_rng(seed))
    return space.design(row, 100)


def attending(design, attention):
    """The design with this attention in every layer."""
    layers = (one.model_copy(update={"attention": attention, "t_attn": None}) for one in design.layers)
    return design.model_copy(update={"layers": tuple(layers)})


def codes_of(logits, design):
    return (logits * 2.0 ** (design.layers[-1].af + wire.LOGIT_EXTRA_BITS)).numpy()


@given(st.floats(-20, 20), st.integers(0, 3), st.integers(0, 6))
def test_fake_quantisation_is_the_format(value, integer_bits, fraction_bits):
    number = FixedPoint.of(integer_bits, fraction_bits)
    expected = number.value(number.quantise(value))
    assert fake_quantise(torch.tensor([value], dtype=torch.float64), number).numpy() == expected


def test_ties_go_to_even():
    halves = torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5], dtype=torch.float64)
    assert rounded(halves, 0).tolist() == [0, 2, 2, 0, -2]


@given(st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_both_ways_agree_on_four_nodes(four_nodes, seed):
    design = random_design(seed)
    network = train(four_nodes, design.architecture(), seed, Recipe(epochs=3, learning_rate=0.5)).network
    expected = codes_of(fake_quantised_logits(design, network, four_nodes), design)
    assert np.array_equal(quantised_logits(design, network, four_nodes), expected)


@given(st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_both_ways_agree_on_wide_numbers(four_nodes, seed):
    """Numbers have up to 16 bits, which only an array supports; some activations index tables with ten of these bits,
    and some layers have second products."""
    rng = np.random.default_rng(seed)
    design = random_design(seed, SPACE.restrict(attention=("constant", "gcn")))
    second = [{"aggregation": "mlp"} if rng.integers(2) else {} for _ in design.layers]
    layers = [one.model_copy(update=wide_choices(rng) | mlp) for one, mlp in zip(design.layers, second, strict=True)]
    design = design.model_copy(update={"layers": tuple(layers)})
    network = train(four_nodes, design.architecture(), seed, Recipe(epochs=3, learning_rate=0.5)).network
    if seed % 2:
        network = calibrated(design, network, four_nodes)
        for layer, numbers in zip(design.layers, network.layers, strict=True):
            assert layer.activation not in PLAIN or numbers.output_scale == (numbers.mlp or numbers).value_scale
    last = network.layers[-1]
    value = design.layers[-1].value_format((last.mlp or last).value_scale)
    step = 2.0 ** (value.fraction_bits + wire.logit_extra_bits(value.width))
    expected = (fake_quantised_logits(design, network, four_nodes) * step).numpy()
    assert np.array_equal(quantised_logits(design, network, four_nodes), expected)


@pytest.mark.parametrize("attention, seed", [*itertools.product(("constant", "gcn", "gat"), (0, 2, 3))])
def test_both_ways_agree_on_every_logit_of_cora(cora, attention, seed):
    design = random_design(seed, FINE.restrict(attention=(attention,)))
    network = train(cora, design.architecture(), seed, Recipe(epochs=40)).network
    codes = quantised_logits(design, network, cora)
    assert codes.shape == (2708, 7) and len(np.unique(codes)) > 10
    assert np.array_equal(codes, codes_of(fake_quantised_logits(design, network, cora), design))


@pytest.mark.parametrize("attention", [name for name in VECTORS if name != "gat"])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_both_ways_agree_on_other_scores(four_nodes, attention, seed):
    """Calibrated, so that scales go both ways."""
    design = attending(random_design(seed), attention)
    network = train(four_nodes, design.architecture(), seed, Recipe(epochs=3, learning_rate=0.5)).network
    network = calibrated(design, network, four_nodes)
    last = design.layers[-1].value_format(network.layers[-1].value_scale).fraction_bits + wire.LOGIT_EXTRA_BITS
    expected = (fake_quantised_logits(design, network, four_nodes) * 2.0**last).numpy()
    assert np.array_equal(quantised_logits(design, network, four_nodes), expected)


@pytest.mark.parametrize("attention", [name for name in VECTORS if name != "gat"])
def test_both_ways_agree_on_other_scores_of_cora(cora, attention):
    design = attending(random_design(3, FINE), attention)
    network = train(cora, design.architecture(), 3, Recipe(epochs=20)).network
    codes = quantised_logits(design, network, cora)
    assert codes.shape == (2708, 7) and len(np.unique(codes)) > 10
    assert np.array_equal(codes, codes_of(fake_quantised_logits(design, network, cora), design))


def with_mlp(design, places):
    """The design with the aggregation mlp in some layers."""
    layers = list(design.layers)
    for place in places:
        layers[place] = layers[place].model_copy(update={"aggregation": "mlp"})
    return design.model_copy(update={"layers": tuple(layers)})


@pytest.mark.parametrize("places", [(0,), (1,), (0, 1)])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_both_ways_agree_on_second_products(four_nodes, places, seed):
    """Second products follow any heads and any attention. Calibration makes scales larger and smaller."""
    design = with_mlp(random_design(seed), places)
    network = train(four_nodes, design.architecture(), seed, Recipe(epochs=3, learning_rate=0.5)).network
    network = calibrated(design, network, four_nodes)
    last = network.layers[-1].mlp or network.layers[-1]
    fraction = design.layers[-1].value_format(last.value_scale).fraction_bits + wire.LOGIT_EXTRA_BITS
    expected = (fake_quantised_logits(design, network, four_nodes) * 2.0**fraction).numpy()
    assert np.array_equal(quantised_logits(design, network, four_nodes), expected)


def test_both_ways_agree_on_second_products_of_cora(cora):
    design = with_mlp(random_design(3, FINE.restrict(attention=("gcn",))), (0, 1))
    network = calibrated(design, train(cora, design.architecture(), 3, Recipe(epochs=40)).network, cora)
    codes = quantised_logits(design, network, cora)
    assert codes.shape == (2708, 7) and len(np.unique(codes)) > 10
    fraction = design.layers[-1].value_format(network.layers[-1].mlp.value_scale).fraction_bits + wire.LOGIT_EXTRA_BITS
    assert np.array_equal(codes, (fake_quantised_logits(design, network, cora) * 2.0**fraction).numpy())


def test_accuracy_of_the_named_splits_only(four_nodes):
    design = random_design(0)
    network = train(four_nodes, design.architecture(), 0, Recipe(epochs=1)).network
    right = quantised_logits(design, network, four_nodes).argmax(1) == four_nodes.labels
    both = quantised_accuracy(design, network, four_nodes)
    assert both == {"val": float(right[2]), "test": float(right[3])}
    assert quantised_accuracy(design, network, four_nodes, ("val",)) == {"val": both["val"]}
