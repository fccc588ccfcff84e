"""Scales: chosen by hand where that is easy, and exact all the way to the integers."""

import numpy as np
import pytest
import torch

from fgnas.design import Array, Layer
from fgnas.fixedpoint import FixedPoint
from fgnas.hardware import wire
from fgnas.network import Network
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


@pytest.mark.parametrize("heads", [1, 4])
@pytest.mark.parametrize("attention", ["gcn", "constant"])
def test_sums_that_are_gathered_first_have_a_scale(four_nodes, attention, heads, tmp_path):
    """The float network is the same; its integers are those of both ways, and the scale is in the file."""
    plain = random_design(5, SPACE.restrict(attention=(attention,), aggregation=("add",), k=(heads,), d=(8,)))
    array = Array(units=2, columns=(1,), beat_bits=128)
    layers = (plain.layers[0], plain.layers[1].model_copy(update={"order": "gather-first"}))
    design = plain.model_copy(update={"layers": layers, "array": array})
    assert design.training_key == plain.training_key
    network = train(four_nodes, design.architecture(), 3, Recipe(epochs=3, learning_rate=0.5)).network
    scaled = calibrated(design, network, four_nodes)
    assert scaled.layers[1].gathered_scale is not None and scaled.layers[0].gathered_scale is None
    last = layers[-1].value_format(scaled.layers[-1].value_scale).fraction_bits + wire.LOGIT_EXTRA_BITS
    expected = (fake_quantised_logits(design, scaled, four_nodes) * 2.0**last).numpy()
    assert len(np.unique(expected)) > 2 and np.array_equal(quantised_logits(design, scaled, four_nodes), expected)
    scaled.save(tmp_path / "weights.npz")
    assert Network.load(tmp_path / "weights.npz").layers[1].gathered_scale == scaled.layers[1].gathered_scale
    old = calibrated(plain, network, four_nodes)
    assert b"gathered" not in old.to_bytes() and b"gathered_scale" in scaled.to_bytes()


def test_more_bits_come_nearer_to_the_float_network_in_any_order(four_nodes):
    """(A X) W is the float network's function: with fine formats its logits are those of A (X W)."""
    fine = {"ai": 4, "af": 11, "wi": 2, "wf": 13, "t_out": 1, "attention": "gcn", "aggregation": "mean", "t_attn": None}
    base = random_design(2, SPACE.restrict(k=(2,), d=(8,), t_out=(1,)))
    layers = tuple(Layer(**layer.model_dump() | fine) for layer in base.layers)
    network = train(four_nodes, base.model_copy(update={"layers": layers}).architecture(), 1, Recipe(epochs=3)).network
    for order in (None, "gather-first"):
        made = (layers[0], layers[1].model_copy(update={"order": order}))
        array = Array(units=1, columns=(1,), beat_bits=128)
        design = base.model_copy(update={"layers": made, "array": array})
        observation = observe(design.architecture(), network, four_nodes)
        scaled = calibrated(design, network, four_nodes)
        step = design.layers[1].value_format(scaled.layers[1].value_scale).fraction_bits
        found = quantised_logits(design, scaled, four_nodes) / 2.0 ** (step + wire.logit_extra_bits(16))
        exact = torch.softmax(torch.from_numpy(found), 1)
        assert (exact - observation.beliefs).abs().max() < 0.01, order
