"""One set of weights for all networks of operations.

*Sliced*: the n-th combine of every network uses parts of the n-th matrix. It takes the leading rows of its matrix for
its outputs, and for every part of its input (a message may put several side by side) the leading columns of the part's
own block. So a path is the final network. *Aligned*, the paper's: weights of its own for every operation at every
position, with a linear map behind it to one width.

Every step adds the gradients of a few random paths (single path, uniform; Guo et al., 2020, which HGNAS follows,
section 3.3).
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from fgnas.files import replace_file, torch_bytes
from fgnas.networks.norm import Norm
from fgnas.networks.points import targets
from fgnas.networks.points.graphs import Batch
from fgnas.networks.points.model import DROPOUT, State, readout, started, step
from fgnas.networks.points.operations import MESSAGES, WIDTHS, Aggregate, Combine, PointNetwork, Tail
from fgnas.networks.points.training import Recipe, changed, graphs_of, keep_memory, release_memory
from fgnas.networks.points.work import Cloud
from fgnas.tasks.points import GraphSet, Ints

PARTS = 4
"""Blocks of columns of a matrix; further parts of an input share them in turn."""
MEASURED_GRAPHS = 200
"""Training graphs from which the statistics of a path are taken."""

Draw = Callable[[np.random.Generator], Sequence[PointNetwork]]
"""The paths of one step."""


class SlicedDense(nn.Module):
    """relu(norm(W x)) of which leading outputs, and leading columns of every part of the input, are used."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, PARTS, max(WIDTHS)))
        nn.init.kaiming_normal_(self.weight, nonlinearity="relu")
        self.norm = Norm(outputs)

    def forward(self, x: Tensor, parts: Sequence[int], outputs: int) -> Tensor:
        """[n, outputs] of x [n, sum of the widths of its parts]."""
        blocks = [self.weight[:outputs, place % PARTS, :width] for place, width in enumerate(parts)]
        return functional.relu(self.norm(functional.linear(x, torch.cat(blocks, dim=1))))


class PointSupernet(nn.Module):
    """Base of all supernets: the tail, and the statistics of one path at a time."""

    def __init__(self, cloud: Cloud, tail: Tail) -> None:
        super().__init__()
        self.cloud, self.layout = cloud, tail
        sizes = (2 * tail.embedding, *tail.hidden)
        self.hidden = nn.ModuleList(nn.Linear(*pair, bias=False) for pair in itertools.pairwise(sizes))
        self.norms = nn.ModuleList(Norm(width) for width in tail.hidden)
        self.logits = nn.Linear(sizes[-1], cloud.classes)

    def forward(self, x: Tensor, batch: Batch, network: PointNetwork) -> Tensor:
        """[B, classes] logits of points x [n, F] on the path of a network in canonical form."""
        x = readout(self.embedded(started(x, batch), network), batch)
        for layer, norm in zip(self.hidden, self.norms, strict=True):
            x = functional.dropout(functional.relu(norm(layer(x))), DROPOUT, self.training)
        found: Tensor = self.logits(x)
        return found

    def embedded(self, state: State, network: PointNetwork) -> Tensor:
        """[n, embedding] the features of the points behind the operations and the tail's first layer."""
        raise NotImplementedError

    def measure(self, x: Tensor, batch: Batch, network: PointNetwork) -> None:
        """Take a path's statistics from training graphs, for later batches."""
        norms = [one for one in self.modules() if isinstance(one, Norm)]
        hooks = [one.register_forward_pre_hook(lambda norm, given: norm.measure(given[0])) for one in norms]
        with torch.no_grad():
            self(x, batch, network)
        for hook in hooks:
            hook.remove()

    def forget(self) -> None:
        """Drop the statistics."""
        for one in self.modules():
            if isinstance(one, Norm):
                one.mean = one.variance = None


class Sliced(PointSupernet):
    """A path takes slices of the matrices, so that it is the final network."""

    def __init__(self, positions: int, cloud: Cloud, tail: Tail) -> None:
        super().__init__(cloud, tail)
        self.layers = nn.ModuleList(SlicedDense(max(WIDTHS)) for _ in range(positions))
        self.embedding = SlicedDense(tail.embedding)

    def embedded(self, state: State, network: PointNetwork) -> Tensor:
        """As `PointSupernet.embedded`."""
        parts: tuple[int, ...] = (self.cloud.width,)
        combines = iter(self.layers)
        for one in network.operations:
            if isinstance(one, Combine):
                state.change(next(combines)(state.x, parts, one.features))
                parts = (one.features,)
                continue
            step(state, one)
            parts = parts_behind(one, parts) if isinstance(one, Aggregate) else parts
        found: Tensor = self.embedding(state.x, parts, self.layout.embedding)
        return found


class Aligned(PointSupernet):
    """Every operation has weights of its own at every position, and a linear map behind it to one width (HGNAS, section
    3.3); the final network has no such maps."""

    WIDTH = 64
    """Features of a point between positions; the paper names no number."""

    def __init__(self, positions: int, cloud: Cloud, tail: Tail) -> None:
        super().__init__(cloud, tail)
        self.entry = nn.Linear(cloud.width, self.WIDTH)
        self.positions = nn.ModuleList(
            nn.ModuleDict({name: AlignedDense(self.WIDTH, width) for name, width in aligned_widths(self.WIDTH).items()})
            for _ in range(positions)
        )
        self.embedding = SlicedDense(tail.embedding)

    def embedded(self, state: State, network: PointNetwork) -> Tensor:
        """As `PointSupernet.embedded`."""
        state.x = self.entry(state.x)
        for place, one in enumerate(network.operations):
            layers = self.positions[place]
            assert isinstance(layers, nn.ModuleDict)
            if isinstance(one, Combine):
                state.change(layers[str(one.features)](state.x))
                continue
            step(state, one)
            if isinstance(one, Aggregate):
                message = layers[one.message]
                assert isinstance(message, AlignedDense)
                state.x = message.align(state.x)
        found: Tensor = self.embedding(state.x, (self.WIDTH,), self.layout.embedding)
        return found


class AlignedDense(nn.Module):
    """relu(norm(W x)) of a width, and the map from it to the width between positions."""

    def __init__(self, width: int, features: int) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(width, features, bias=False), Norm(features)
        self.align = nn.Linear(features, width)

    def forward(self, x: Tensor) -> Tensor:
        """[n, width]."""
        found: Tensor = self.align(functional.relu(self.norm(self.linear(x))))
        return found


def aligned_widths(width: int) -> dict[str, int]:
    """Features behind each combine, and behind an aggregate of each message."""
    messages = {name: whole * width + more for name, (whole, more) in MESSAGES.items()}
    return {str(one): one for one in WIDTHS} | messages


SUPERNETS: dict[str, type[PointSupernet]] = {"sliced": Sliced, "aligned": Aligned}


def supernet_of(kind: str, positions: int, cloud: Cloud, tail: Tail) -> PointSupernet:
    """The supernet of a kind for networks of up to so many operations."""
    return SUPERNETS[kind](positions, cloud, tail)  # type: ignore[call-arg, arg-type]


def parts_behind(one: Aggregate, parts: tuple[int, ...]) -> tuple[int, ...]:
    """Widths of the parts of a message of points whose features have these parts."""
    whole, more = MESSAGES[one.message]
    return parts * whole + (1,) * more


@dataclass(frozen=True)
class SupernetRecipe:
    """The training of a supernet.

    Attributes:
        epochs: passes over the training graphs.
        kind: sliced or aligned.
        paths: networks of a step, whose gradients are added.
        alone: batch, rates and changes of the clouds, as of a network that trains alone.
    """

    epochs: int
    alone: Recipe
    kind: str = "sliced"
    paths: int = 4


def train(
    data: GraphSet, model: PointSupernet, recipe: SupernetRecipe, draw: Draw, seed: int, checkpoint: Path,
    on_epoch: Callable[[int], None] = lambda epoch: None,
) -> PointSupernet:  # fmt: skip
    """Train a supernet from its present weights. It continues after the checkpoint's last whole epoch, to the same
    bits."""
    keep_memory()
    alone = recipe.alone
    optimiser = torch.optim.AdamW(model.parameters(), alone.learning_rate, weight_decay=alone.weight_decay, fused=True)
    trained, start = np.flatnonzero(data.train), 0
    steps = math.ceil(len(trained) / alone.batch)
    if checkpoint.is_file():
        state = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        start = state["epochs"]
    for epoch in range(start, recipe.epochs):
        # An epoch depends on its own number alone, so a resumed training repeats it exactly.
        rng = np.random.default_rng([seed, epoch])
        torch.manual_seed(int(rng.integers(2**31)))
        for number, chosen in enumerate(np.array_split(rng.permutation(trained), steps)):
            for group in optimiser.param_groups:
                group["lr"] = alone.rate(epoch * steps + number, recipe.epochs * steps)
            _step(model, optimiser, data, chosen, alone, draw(rng), rng)
        _save(checkpoint, model, optimiser, epoch + 1)
        release_memory()
        on_epoch(epoch + 1)
    return model.eval()


def _step(
    model: PointSupernet, optimiser: torch.optim.Optimizer, data: GraphSet, chosen: Ints, recipe: Recipe,
    paths: Sequence[PointNetwork], rng: np.random.Generator,
) -> None:  # fmt: skip
    """One update by the gradients of all paths on the same graphs, those at these places."""
    x, batch, labels = graphs_of(data, chosen)
    x = changed(x, batch, recipe, rng)
    model.train()
    optimiser.zero_grad(set_to_none=True)
    for path in paths:
        targets.loss(data, model(x, batch, path), labels, recipe.smoothing).backward()
    optimiser.step()


def _save(checkpoint: Path, model: PointSupernet, optimiser: torch.optim.Optimizer, epochs: int) -> None:
    """Replace the checkpoint, whole or not at all."""
    state = {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "epochs": epochs}
    replace_file(checkpoint, torch_bytes(_interned(state)))


def _interned(value: Any) -> Any:
    """The same values with one object for equal names: a pickle of loaded ones has the bytes of one of new ones."""
    if isinstance(value, dict):
        return {sys.intern(name) if isinstance(name, str) else name: _interned(one) for name, one in value.items()}
    return [_interned(one) for one in value] if isinstance(value, list) else value


def accuracy(model: PointSupernet, network: PointNetwork, data: GraphSet, split: str = "val") -> float:
    """A path's quality, with its own statistics from training graphs; see `targets.quality`."""
    model.eval()
    x, batch, _ = graphs_of(data, np.flatnonzero(data.train)[:MEASURED_GRAPHS])
    model.measure(x, batch, network)
    graphs = _batches(data, split)
    with torch.no_grad():
        found = targets.quality(data, ((model(x, batch, network), labels) for x, batch, labels in graphs))
    model.forget()
    return found


def _batches(data: GraphSet, split: str) -> Iterator[tuple[Tensor, Batch, Tensor]]:
    chosen = np.flatnonzero(getattr(data, split))
    for first in range(0, len(chosen), MEASURED_GRAPHS):
        yield graphs_of(data, chosen[first : first + MEASURED_GRAPHS])
