"""Scales: chosen by hand where that is easy, and exact all the way to the integers."""

import numpy as np
import pytest

from fgnas.fixedpoint import FixedPoint
from fgnas.hardware import wire
from fgnas.networks.calibration import best_scale, calibrated, divergence, observe, relative_error, thinned
from fgnas.networks.quantised import fake_quantised_logits, quantised_accuracy, quantised_logits
from fgnas.networks.training import Recipe, train
from fgnas.systems.fgnas.space import find_space

SPACE = find_space("fgnas").restrict(k=(1, 2), d=(4, 8))


def random_design(seed, space=SPACE):
    (row,) = space.draw(1, np.random.default_rng(seed))
    return space.design(row, 100)


def one_and_two(scale):
    """Four bits: steps of 1/4 in [-2, 1.75] without scale."""
    return FixedPoint.of(1, 2, scale)


def test_scale_by_hand():
    # 1/32 is a whole step from scale 3 on, and 7/32 the largest value there.
    assert best_scale(one_and_two, [np.array([1 / 32, 7 / 32], np.float32)]) == 3
    assert best_scale(one_and_two, [np.array([1.75, -2.0], np.float32)]) == 0
    assert best_scale(one_and_two, [np.array([7.0, -8.0], np.float32)]) == -2


def test_relative_error_by_hand():
    assert relative_error(np.array([0.25, 3.75], np.float32), one_and_two(0)) == pytest.approx(4 / 14.125)
    assert relative_error(np.zeros(3, np.float32), one_and_two(0)) == 0


def test_thinning_reaches_every_column():
    matrix = np.tile(np.arange(4), (10_000, 1))
    assert len(thinned(matrix)) < 6_000
    assert np.bincount(thinned(matrix).astype(int)).min() > 1_000


@pytest.mark.parametrize("seed", range(20))
def test_both_ways_agree_on_scaled_tensors(four_nodes, seed):
    design = random_design(seed)
    network = train(four_nodes, design.architecture(), seed, Recipe(epochs=3, learning_rate=0.5)).network
    scaled = calibrated(design, network, four_nodes)
    last = design.layers[-1].value_format(scaled.layers[-1].value_scale).fraction_bits + wire.LOGIT_EXTRA_BITS
    expected = (fake_quantised_logits(design, scaled, four_nodes) * 2.0**last).numpy()
    assert np.array_equal(quantised_logits(design, scaled, four_nodes), expected)


def test_scales_move_only_nearer_to_the_float_network(four_nodes):
    design = random_design(3)
    network = train(four_nodes, design.architecture(), 3, Recipe(epochs=3, learning_rate=0.5)).network
    observation = observe(design.architecture(), network, four_nodes)
    scaled = calibrated(design, network, four_nodes)
    found = {place: getattr(scaled.layers[place[0]], f"{place[1]}_scale") for place in observation.samples
             if place[1] != "input"} | {(0, "input"): scaled.input_scale}  # fmt: skip
    plain = dict.fromkeys(observation.samples, 0)
    assert divergence(design, observation, found) <= divergence(design, observation, plain)


def test_few_bits_gain(cora):
    """A coarse format that loses a lot without scales."""
    layers = {"attention": ("gcn",), "aggregation": ("add",), "activation": ("relu",), "d": (8,), "k": (1,)}
    coarse = SPACE.restrict(**layers, ai=(2,), af=(1,), wi=(1,), wf=(2,))
    design = random_design(0, coarse)
    network = train(cora, design.architecture(), 0, Recipe()).network
    plain = quantised_accuracy(design, network, cora)["val"]
    assert quantised_accuracy(design, calibrated(design, network, cora), cora)["val"] > plain + 0.05
