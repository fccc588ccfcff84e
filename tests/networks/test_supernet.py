"""Supernets: networks are slices of shared weights, gradients add up, and a killed training continues."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support import random_graph
from torch.nn.functional import cross_entropy

from fgnas.activations import NAMES
from fgnas.design import Design
from fgnas.errors import UserError
from fgnas.networks import supernet
from fgnas.networks.answers import answers_of
from fgnas.networks.batch import Csr
from fgnas.networks.model import Architecture, Field, rates_of
from fgnas.networks.supernet import Bounds, Supernet, SupernetRecipe, accuracies, child_of
from fgnas.networks.training import float_accuracy
from fgnas.systems.gcos.space import find_space
from fgnas.systems.gcos.trainer import bounds_of
from fgnas.tasks.nodes import GraphData

RECIPE = SupernetRecipe(updates=25, paths=3)


@pytest.fixture(scope="module")
def data() -> GraphData:
    return random_graph(np.random.default_rng(3), 60, 12, 4, 150)


@pytest.fixture(scope="module")
def bounds(data: GraphData) -> Bounds:
    return Bounds(data.width_in, (4, 2), (8, data.classes), ("gat",))


def layer(attention: str, k: int, d: int | None, aggregation: str = "add") -> dict[str, Any]:
    activation = None if d is None else "elu"
    return {"d": d, "attention": attention, "aggregation": aggregation, "k": k, "activation": activation}


PATHS: list[Architecture] = [
    [layer("gcn", 1, 8), layer("gcn", 1, None)],
    [layer("gat", 4, 2), layer("constant", 2, None, "mean")],
    [layer("constant", 2, 3, "max"), layer("gat", 2, None)],
]


WITH_MLP: list[Architecture] = [
    [layer("gcn", 2, 3, "mlp"), layer("constant", 2, None, "mlp")],
    [layer("gat", 4, 2, "mlp"), layer("gat", 1, None)],
]


EVERY_ACTIVATION = [[layer("gcn", 2, 4) | {"activation": name}, layer("gcn", 1, None)] for name in NAMES]


def draw(count: int, rng: np.random.Generator) -> list[Architecture]:
    return [PATHS[place] for place in rng.integers(0, len(PATHS), count)]


def test_networks_are_slices_of_the_same_weights(data: GraphData, bounds: Bounds) -> None:
    whole = Supernet.initial(bounds, np.random.default_rng(0))
    network = whole.network(PATHS[1], data)
    assert [one.weight.shape for one in network.layers] == [(12, 4, 2), (8, 2, 4)]
    assert np.array_equal(network.layers[0].weight, whole.weights[0][:, :4, :2])
    assert np.array_equal(network.layers[1].weight.reshape(4, 2, 2, 4), whole.weights[1][:4, :2])
    assert network.layers[0].attention_source is not None and network.layers[1].attention_source is None
    assert np.array_equal(network.layers[0].attention_source, whole.vectors[0]["gat"][0, :4, :2])
    before = whole.network(PATHS[0], data).layers[0].weight
    next(whole.slices(PATHS[1]))[...] += 1
    changed = whole.network(PATHS[0], data).layers[0].weight != before
    assert changed[:, :1, :2].all() and not changed[:, :, 2:].any()


def test_a_second_product_leaves_what_other_networks_share_as_it_is(data: GraphData, bounds: Bounds) -> None:
    """Its weights follow theirs in memory; the bias after it is shared."""
    plain, whole = (
        Supernet.initial(one, np.random.default_rng(1)) for one in (bounds, replace(bounds, mlp=True))
    )
    assert np.array_equal(whole.flat[: plain.flat.size], plain.flat) and whole.flat.size > plain.flat.size
    whole.biases[0][...] += 3
    found = whole.network(WITH_MLP[0], data).layers
    assert [one.mlp.weight.shape for one in found if one.mlp] == [(6, 6), (8, 4)]
    assert np.array_equal(found[0].mlp.weight.reshape(2, 3, 2, 3), whole.seconds[0][0][:2, :3, :2, :3])
    assert np.array_equal(found[1].mlp.weight.reshape(2, 4, 4), whole.seconds[1][0][:2])
    assert found[0].mlp.bias.tolist() == [3] * 6 and not found[0].bias.any()


@pytest.mark.parametrize("mlp", [False, True])
def test_the_gradient_is_the_sum_of_those_of_the_networks(data: GraphData, bounds: Bounds, mlp: bool) -> None:
    """Against autograd of each network alone, without dropout."""
    bounds = replace(bounds, mlp=mlp)
    whole = Supernet.initial(bounds, np.random.default_rng(1))
    field, answers = Field(data, np.flatnonzero(data.train), 2), answers_of(data, "train")
    recipe, rng = SupernetRecipe(dropout=0.0), np.random.default_rng(0)
    paths = PATHS + EVERY_ACTIVATION + WITH_MLP * mlp
    found = supernet._gradient(whole, paths, field, Csr.of(field.features), answers, recipe, rng)
    wanted = Supernet(bounds)
    for path in paths:
        child = child_of(whole, path)
        for tensor in child.parameters():
            tensor.requires_grad_()
        cross_entropy(child(field), torch.from_numpy(data.labels[data.train])).backward()
        tensors = []
        for place, pair in enumerate(child.attention):
            tensors += [child.weights[place], child.biases[place], *(pair or ()), *(child.seconds[place] or ())]
        for view, tensor in zip(wanted.slices(path), tensors, strict=True):
            assert tensor.grad is not None
            view += tensor.grad.numpy().reshape(view.shape)
    assert np.abs(wanted.flat).max() > 0.01
    np.testing.assert_allclose(found, wanted.flat, atol=2e-6)


def test_the_gradient_of_paths_that_see_other_edges(data: GraphData, bounds: Bounds) -> None:
    """Those of each sampling by itself, added up; paths of one sampling are one computation, as without any."""
    whole = Supernet.initial(bounds, np.random.default_rng(1))
    recipe = SupernetRecipe(dropout=0.0)
    paths = [
        [one | {"sampling": rate} if rate < 1 else one for one, rate in zip(path, rates, strict=True)]
        for path, rates in zip([*PATHS, PATHS[0]], ((0.5, 1), (1, 1), (0.5, 1), (0.1, 0.5)), strict=True)
    ]
    found = supernet._gradient_of_all(whole, paths, data, recipe, np.random.default_rng(0))
    wanted = np.zeros_like(found)
    for path in paths:
        field = Field(data, np.flatnonzero(data.train), 2, rates=rates_of(path))
        rng = np.random.default_rng(0)
        given = [path], field, Csr.of(field.features), answers_of(data, "train")
        wanted += supernet._gradient(whole, *given, recipe, rng)
    np.testing.assert_allclose(found, wanted, atol=2e-6)
    same = Field(data, np.flatnonzero(data.train), 2)
    arguments = (Csr.of(same.features), answers_of(data, "train"), recipe)
    plain = supernet._gradient(whole, PATHS, same, *arguments, np.random.default_rng(3))
    assert np.array_equal(supernet._gradient_of_all(whole, PATHS, data, recipe, np.random.default_rng(3)), plain)


def test_the_learning_rate_falls_along_half_a_cosine() -> None:
    recipe = SupernetRecipe(updates=4, learning_rate=0.2)
    rates = [recipe.rate(update) for update in range(4)]
    assert rates == pytest.approx([0.2, 0.1 + 0.1 / 2**0.5, 0.1, 0.1 - 0.1 / 2**0.5])


class Killed(Exception):
    pass


def test_a_killed_training_continues_with_the_same_bytes(data: GraphData, bounds: Bounds, tmp_path: Path) -> None:
    whole = supernet.train(data, bounds, draw, RECIPE, 4, tmp_path / "whole.npz")
    for last in (13, 22):

        def die(update: int, last: int = last) -> None:
            if update == last:
                raise Killed

        with pytest.raises(Killed):
            supernet.train(data, bounds, draw, RECIPE, 4, tmp_path / "cut.npz", die)
    resumed = supernet.train(data, bounds, draw, RECIPE, 4, tmp_path / "cut.npz")
    assert np.array_equal(whole.flat, resumed.flat)
    assert (tmp_path / "whole.npz").read_bytes() == (tmp_path / "cut.npz").read_bytes()
    other = supernet.train(data, bounds, draw, RECIPE, 5, tmp_path / "other.npz")
    assert not np.array_equal(whole.flat, other.flat)


def test_another_file_is_refused(bounds: Bounds, tmp_path: Path) -> None:
    (tmp_path / "one.npz").write_bytes(b"other")
    with pytest.raises(UserError, match="not the supernet of this run"):
        supernet.load(tmp_path / "one.npz", bounds, "0" * 64)


@pytest.mark.parametrize("name", ["g-cos", "table-ii"])
def test_scores_are_those_of_the_network(name: str, data: GraphData, tmp_path: Path) -> None:
    """In float exactly; rounded to ten bits nearly, to few bits less."""
    space = find_space(name, 12, 128)
    wide = bounds_of(space, data)
    rows = space.draw(12, np.random.default_rng(2))
    whole = Supernet.initial(wide, np.random.default_rng(2))
    lost: dict[int, list[float]] = {6: [], 10: []}
    for row in rows:
        design = space.candidate(row)
        network = whole.network(design.architecture(), data)
        for bits, formats in ((6, {"af": 4, "wf": 4, "ai": 1, "wi": 1}), (10, {"af": 6, "wf": 6, "ai": 3, "wi": 3})):
            layers = tuple(one.model_copy(update=formats) for one in design.layers)
            rounded = Design.from_dict(design.model_copy(update={"layers": layers}).to_dict())
            found = accuracies(whole, rounded, data)
            assert found["float_val"] == float_accuracy(design.architecture(), network, data)["val"]
            lost[bits].append(abs(found["val"] - found["float_val"]))
    assert np.mean(lost[10]) <= np.mean(lost[6]) and np.mean(lost[10]) < 0.05
