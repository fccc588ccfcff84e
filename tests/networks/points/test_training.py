"""Training: one seed fixes it, graphs of every kind are gathered right, clouds change as the recipe says."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fgnas.networks.points.graphs import Batch
from fgnas.networks.points.operations import Aggregate, Combine, PointNetwork, Sample, Tail
from fgnas.networks.points.training import RECIPES, Recipe, accuracy, changed, graphs_of, recipe_of, train
from fgnas.tasks.points import GraphSet, load_graphs, of_clouds

NETWORK = PointNetwork((Sample("nearest"), Aggregate("max", "target-relative"), Combine(16)), Tail(16, ()))


@pytest.fixture(scope="module")
def few_digits() -> GraphSet:
    """Every third digit."""
    data = load_graphs("digit-points")
    clouds = data.features.reshape(-1, 64, 3)[::3]
    return of_clouds("few", clouds, data.labels[::3], (data.train[::3], data.val[::3], data.test[::3]))


def test_one_seed_fixes_a_training(few_digits: GraphSet) -> None:
    recipe = Recipe(12, learning_rate=0.01, scale=0.1)
    first, again, other = (train(NETWORK, few_digits, recipe, seed) for seed in (0, 0, 1))
    weights = [torch.cat([one.flatten() for one in model.state_dict().values()]) for model in (first, again, other)]
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])
    assert accuracy(first, few_digits, "val") > 0.3  # of ten classes


def test_graphs_with_edges_are_gathered(tmp_path: Path) -> None:
    """Four graphs, of which the third and the first are a batch: their points, and edges at their new places."""
    splits = {"train": [0, 3], "val": [1], "test": [2]}
    np.savez(
        tmp_path / "graphs.npz", x=np.arange(7.0)[:, None], graph=np.array([0, 0, 1, 2, 2, 2, 3]),
        edge_index=np.array([[0, 2, 3, 5], [1, 2, 4, 3]]), y=np.array([0, 0, 0, 1]),
        **{f"{split}_mask": np.isin(np.arange(4), places) for split, places in splits.items()},
    )  # fmt: skip
    data = load_graphs(tmp_path / "graphs.npz")
    x, batch, labels = graphs_of(data, np.array([2, 0]))
    assert x.flatten().tolist() == [3, 4, 5, 0, 1] and batch.sizes == (3, 2) and labels.tolist() == [0, 0]
    assert batch.edges is not None and batch.edges.tolist() == [[3, 0, 2], [4, 1, 0]]
    alike = replace(data, labels=np.zeros_like(data.labels), classes=1)
    trained = train(PointNetwork((Aggregate("mean", "source"), Combine(4)), Tail(4, ())), alike, Recipe(1), 0)
    assert accuracy(trained, alike, "test") == 1.0  # of one class


def test_clouds_turn_about_the_vertical() -> None:
    batch, x = Batch((4, 4), 2), torch.randn(8, 3)
    found = changed(x, batch, Recipe(1, turn=math.pi), np.random.default_rng(0))
    assert torch.allclose(found[:, 2], x[:, 2], atol=1e-6)
    assert torch.allclose(torch.cdist(found[:4], found[:4]), torch.cdist(x[:4], x[:4]), atol=1e-5)
    assert not torch.allclose(found, x)
    alike = torch.linalg.lstsq(x[:4, :2], found[:4, :2]).solution
    assert not torch.allclose(x[4:, :2] @ alike, found[4:, :2], atol=1e-3)  # each cloud by an angle of its own


def test_clouds_scale_and_move() -> None:
    batch, x = Batch((2000,), 2), torch.ones(2000, 3)
    scaled = changed(x, batch, Recipe(1, scale=0.25), np.random.default_rng(1))
    assert 0.8 <= float(scaled[0, 0]) <= 1.25 and torch.unique(scaled).numel() == 1
    moved = changed(x, batch, Recipe(1, jitter=0.1), np.random.default_rng(1))
    assert float(moved.std()) == pytest.approx(0.1, rel=0.05)
    assert changed(x, batch, Recipe(1), np.random.default_rng(1)) is x


def test_recipes_by_data(few_digits: GraphSet) -> None:
    assert recipe_of(few_digits) is RECIPES["images"]
    assert recipe_of(load_graphs("shapes-64")) is RECIPES["solids"]
    assert recipe_of(replace(few_digits, edge_index=np.zeros((2, 0), np.int64))) == Recipe(60)
