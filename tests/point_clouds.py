"""Small clouds of points for tests of HGNAS."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from fgnas.hardware.integer.network import IntegerNetwork
from fgnas.networks.points import training
from fgnas.networks.points.model import PointModel
from fgnas.networks.points.operations import PointNetwork
from fgnas.systems.hgnas.integers import network_of
from fgnas.tasks.points import GraphSet, of_clouds


def write_clouds(folder: Path) -> Path:
    """A file of balls and flat discs, 60 of 10 points, a third of them in each split."""
    rng, place = np.random.default_rng(0), folder / "clouds.npz"
    y = np.arange(60) % 2
    points = rng.normal(size=(60, 10, 3)) * np.where(y[:, None, None] == 1, [1, 1, 0.2], 1)
    masks = {f"{split}_mask": np.arange(60) // 20 == one for one, split in enumerate(("train", "val", "test"))}
    np.savez(place, points=points, y=y, **masks)
    return place


def warmed(network: PointNetwork, data: GraphSet, seed: int = 0) -> PointModel:
    """Random weights, with statistics of the training clouds."""
    torch.manual_seed(seed)
    model = PointModel(network, data.width_in, data.classes)
    x, batch, _ = training.graphs_of(data, np.flatnonzero(data.train))
    with torch.no_grad():
        for _ in range(30):
            model(x, batch)
    return model.eval()


def tied_clouds(rng: np.random.Generator, points: int, width: int, k: int) -> GraphSet:
    """Clouds on a coarse grid: many points coincide, and many distances are equal."""
    place = np.arange(24)
    made = rng.integers(-3, 4, (24, points, width)) / 4
    data = of_clouds("made", made, place % 3, [place < 12, (place >= 12) & (place < 20), place >= 20])
    return replace(data, neighbours=k)


def integers_of(network: PointNetwork, data: GraphSet, passes: int = 0) -> IntegerNetwork:
    """The integers of a network with random weights; passes change formats from what is nearest."""
    return network_of(warmed(network, data), data, 8, passes=passes)
