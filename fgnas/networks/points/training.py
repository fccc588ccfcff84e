"""Training of one network of operations alone, and its accuracy on a split."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from fgnas.networks.points import targets
from fgnas.networks.points.graphs import Batch
from fgnas.networks.points.model import PointModel
from fgnas.networks.points.operations import PointNetwork
from fgnas.tasks.points import GraphSet, Ints

SCORED_TOGETHER = 200
"""Graphs of a batch when a network is scored."""
COORDINATES = 3
"""Leading features of a cloud of three dimensions that turns, scales and moves."""


@dataclass(frozen=True)
class Recipe:
    """How a network is trained: AdamW, a rate that rises in the first twentieth and falls along a cosine.

    Attributes:
        smoothing: share of a label that goes to all classes (0.2 in DGCNN's published training).
        turn, scale, jitter: changes of a training cloud: radians about the vertical to either side, factors up to
            1 + scale and down to its inverse, deviation of a coordinate.
    """

    epochs: int
    batch: int = 32
    learning_rate: float = 2e-3
    weight_decay: float = 0.05
    smoothing: float = 0.1
    turn: float = 0.0
    scale: float = 0.0
    jitter: float = 0.0

    def rate(self, step: int, steps: int) -> float:
        """The rate of learning at one of so many steps."""
        rising = min(1.0, (step + 1) / (steps / 20 + 1))
        return self.learning_rate * (1 + math.cos(math.pi * step / steps)) / 2 * rising


RECIPES = {"images": Recipe(60, scale=0.1, jitter=0.02), "solids": Recipe(60, turn=math.pi, scale=0.25, jitter=0.01)}
"""Recipes of points of an image, which keep their columns, rows and ink apart, and of points of a solid's surface."""


def recipe_of(data: GraphSet) -> Recipe:
    """The recipe of a set: a cloud of three coordinates within the unit ball is a solid's."""
    if data.points is None or data.edge_index is not None or data.width_in != COORDINATES:
        return Recipe(60)
    return RECIPES["solids" if np.linalg.norm(data.features, axis=1).max() <= 1 + 1e-5 else "images"]


TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3
"""Parameters of glibc's mallopt."""
KEPT, PADDING = 2**28, 2**26
"""Bytes of the largest block on the heap and of what stays free at its end, and bytes by which it grows."""


@functools.cache
def keep_memory() -> None:
    """Let this process keep the memory of tensors that are free, for the next ones, until `release_memory`.

    glibc gives large blocks back to the system, which clears every page of them when it hands them out again: a tenth
    of the processor time of a training, and a third beside other programmes. Without glibc nothing changes.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    for parameter, value in ((MMAP_THRESHOLD, KEPT), (TRIM_THRESHOLD, KEPT), (TOP_PAD, PADDING)):
        mallopt(parameter, value)


def release_memory() -> None:
    """Give memory that is free back to the system: blocks of many sizes leave holes that add up."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def train(
    network: PointNetwork, data: GraphSet, recipe: Recipe, seed: int,
    on_epoch: Callable[[int], None] = lambda epoch: None,
) -> PointModel:  # fmt: skip
    """Train a network on the training graphs; it returns ready for evaluation. One seed fixes it."""
    keep_memory()
    torch.manual_seed(seed)
    model = PointModel(network, data.width_in, data.classes)
    optimiser = torch.optim.AdamW(
        model.parameters(), recipe.learning_rate, weight_decay=recipe.weight_decay, fused=True
    )
    for epoch in range(recipe.epochs):
        train_epoch(model, optimiser, data, recipe, epoch, np.random.default_rng([seed, epoch]))
        on_epoch(epoch + 1)
    return model.eval()


def train_epoch(
    model: nn.Module, optimiser: torch.optim.Optimizer, data: GraphSet, recipe: Recipe, epoch: int,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """Train a network, which takes points and their batch, for an epoch, which depends on its own generator alone."""
    torch.manual_seed(int(rng.integers(2**31)))
    trained = np.flatnonzero(data.train)
    steps = math.ceil(len(trained) / recipe.batch)
    for step, chosen in enumerate(np.array_split(rng.permutation(trained), steps)):
        for group in optimiser.param_groups:
            group["lr"] = recipe.rate(epoch * steps + step, recipe.epochs * steps)
        x, batch, labels = graphs_of(data, chosen)
        optimiser.zero_grad()
        targets.loss(data, model(changed(x, batch, recipe, rng), batch), labels, recipe.smoothing).backward()
        optimiser.step()
    release_memory()


def accuracy(model: nn.Module, data: GraphSet, split: str) -> float:
    """The quality of a network on "train", "val" or "test", see `targets.quality`: of classes the share that is right.
    """
    graphs = _batches(data, np.flatnonzero(getattr(data, split)))
    with torch.no_grad():
        return targets.quality(data, ((model(x, batch), labels) for x, batch, labels in graphs))


def graphs_of(data: GraphSet, chosen: Ints) -> tuple[Tensor, Batch, Tensor]:
    """Points [n, F], their batch and the labels of the graphs at these places: [graphs] classes, or [graphs, T]."""
    sizes = data.sizes[chosen]
    ends = np.cumsum(sizes)
    places = np.arange(ends[-1]) + np.repeat(data.starts[chosen] - (ends - sizes), sizes)
    edges = None
    if data.edge_index is not None:
        behind = np.full(len(data.features), -1)
        behind[places] = np.arange(len(places))
        links = behind[data.edge_index]
        edges = torch.from_numpy(links[:, (links >= 0).all(axis=0)])
    batch = Batch(tuple(sizes.tolist()), data.neighbours, edges)
    labels = torch.from_numpy(data.labels[chosen])
    return torch.from_numpy(data.features[places]), batch, labels if data.kind == "classes" else labels.float()


def changed(x: Tensor, batch: Batch, recipe: Recipe, rng: np.random.Generator) -> Tensor:
    """Points [n, F] of training clouds, each turned about its vertical, scaled and jittered by a recipe."""
    if not (recipe.turn or recipe.scale or recipe.jitter):
        return x
    count = len(batch.sizes)
    angle = rng.uniform(-recipe.turn, recipe.turn, count)
    factor = (1 + recipe.scale) ** rng.uniform(-1, 1, count)
    matrix = np.zeros((count, COORDINATES, COORDINATES))
    matrix[:, 0, 0] = matrix[:, 1, 1] = np.cos(angle)
    matrix[:, 1, 0], matrix[:, 2, 2] = np.sin(angle), 1
    matrix[:, 0, 1] = -matrix[:, 1, 0]
    each = torch.from_numpy(matrix * factor[:, None, None]).float()[batch.graph_of]
    noise = torch.from_numpy(rng.normal(0, recipe.jitter, (len(x), COORDINATES))).float()
    return torch.bmm(each, x[:, :COORDINATES, None])[:, :, 0] + noise


def _batches(data: GraphSet, chosen: Ints) -> Iterator[tuple[Tensor, Batch, Tensor]]:
    for first in range(0, len(chosen), SCORED_TOGETHER):
        yield graphs_of(data, chosen[first : first + SCORED_TOGETHER])
