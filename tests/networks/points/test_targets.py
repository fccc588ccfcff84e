"""Losses and qualities by the kind of targets, by hand."""

from pathlib import Path

import numpy as np
import pytest
import torch
from edge_graphs import write_graphs
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from fgnas.networks.points import targets
from fgnas.tasks.collection import metric
from fgnas.tasks.points import load_graphs


def test_classes(tmp_path: Path) -> None:
    data = load_graphs(write_graphs(tmp_path, "classes"))
    results, wanted = torch.tensor([[2.0, 1.0], [0.0, 1.0], [3.0, 0.0]]), torch.tensor([0, 0, 0])
    assert targets.quality(data, [(results[:2], wanted[:2]), (results[2:], wanted[2:])]) == 2 / 3
    expected = cross_entropy(results, wanted, label_smoothing=0.1)
    assert torch.equal(targets.loss(data, results, wanted, 0.1), expected)


def test_numbers(tmp_path: Path) -> None:
    """A network that says the mean of what trains explains no variance of it, and one that is right all."""
    data = load_graphs(write_graphs(tmp_path, "values"))
    centre, scale = data.spread
    trained = data.labels[data.train]
    assert (centre, scale) == (pytest.approx(trained.mean(axis=0)), pytest.approx(trained.std(axis=0)))
    wanted = torch.from_numpy(trained).float()
    mean, right = torch.zeros_like(wanted), targets.normal(data, wanted)
    assert targets.quality(data, [(mean, wanted)]) == pytest.approx(0.0, abs=1e-6)
    assert targets.quality(data, [(right, wanted)]) == pytest.approx(1.0, abs=1e-6)
    half = 0.5 * right
    error = metric("values", trained, (half.double().numpy() * scale + centre))
    assert targets.quality(data, [(half, wanted)]) == pytest.approx(1 - (error / scale[0]) ** 2, abs=1e-6)
    assert float(targets.loss(data, mean, wanted, 0.1)) == pytest.approx(1.0, abs=1e-5)
    assert data.deviation == pytest.approx(scale[0])


def test_labels(tmp_path: Path) -> None:
    """What is unknown counts neither in the loss nor in the area."""
    data = load_graphs(write_graphs(tmp_path, "labels"))
    nan = float("nan")
    results = torch.tensor([[2.0, 0.0], [1.0, 1.0], [0.0, 5.0]])
    wanted = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, nan]])
    assert targets.quality(data, [(results, wanted)]) == pytest.approx((0.5 + 1.0) / 2)
    known = ~wanted.isnan()
    expected = binary_cross_entropy_with_logits(results[known], wanted[known])
    assert torch.equal(targets.loss(data, results, wanted, 0.1), expected)
    unknown = torch.full_like(wanted, nan)
    assert float(targets.loss(data, results, unknown, 0.1)) == 0.0


@pytest.mark.parametrize("kind", ["classes", "labels", "values"])
def test_graphs_of_every_kind(tmp_path: Path, kind: str) -> None:
    data = load_graphs(write_graphs(tmp_path, kind))
    assert data.kind == kind
    assert data.classes == {"classes": 2, "labels": 2, "values": 1}[kind]
    assert data.labels.shape == ((48,) if kind == "classes" else (48, data.classes))
    assert [int(getattr(data, split).sum()) for split in ("train", "val", "test")] == [24, 12, 12]
    assert np.array_equal(np.repeat(np.arange(48), data.sizes), np.load(tmp_path / f"{kind}.npz")["graph"])
