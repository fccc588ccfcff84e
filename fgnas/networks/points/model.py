"""A network of operations with its weights, in torch: rows that its operations change one after the other."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional

from fgnas.networks.points.graphs import Batch, Edges, Graph, Neighbours, nearest, random_neighbours
from fgnas.networks.points.operations import (
    Aggregate,
    Combine,
    Connect,
    EdgeConv,
    Join,
    Operation,
    PointNetwork,
    Sample,
    Tail,
    widths,
)
from fgnas.networks.points.reductions import Extreme, Sum, taken

GRAPH_SEED = 0
"""Seed of random neighbours: one for all trainings, since hardware and every device draw the same."""
DROPOUT = 0.5
"""Dropout of a tail's hidden layers, while training (DGCNN)."""


class Dense(nn.Module):
    """relu(norm(W x + b)) of rows [n, C]."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(inputs, outputs, bias=False), nn.BatchNorm1d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        """[n, outputs]."""
        found: Tensor = functional.relu(self.norm(self.linear(x)))
        return found

    def folded(self) -> tuple[Tensor, Tensor]:
        """[outputs, inputs] and [outputs] weights and bias with the norm's statistics in them."""
        norm = self.norm
        assert norm.running_var is not None and norm.running_mean is not None
        scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
        return self.linear.weight * scale[:, None], norm.bias - norm.running_mean * scale


@dataclass
class State:
    """The rows of a batch between two operations.

    Attributes:
        x: [n, C] features.
        batch: whose points these are.
        before: [n, C'] features before the last change; None before the first.
        graph: that aggregates read, made when the first of them asks; None without.
        drawn: random graphs that were made.
        joined: features behind every EdgeConv.
    """

    x: Tensor
    batch: Batch
    before: Tensor | None = None
    graph: LazyGraph | None = None
    drawn: int = 0
    joined: list[Tensor] = field(default_factory=list)

    def change(self, x: Tensor) -> None:
        """Other features."""
        self.before, self.x = self.x, x

    def read(self) -> Graph | None:
        """The graph of an aggregate. A random one has the number of those that were read before it, so that samples
        which nobody reads change nothing."""
        return None if self.graph is None else self.graph.made(self)


class LazyGraph:
    """A sample, made from the features of its place when it is read first."""

    def __init__(self, function: str, x: Tensor) -> None:
        self.function, self.graph = function, None
        self.x: Tensor | None = x

    graph: Graph | None

    def made(self, state: State) -> Graph:
        """The graph."""
        if self.graph is None:
            assert self.x is not None, "features are held until the graph is made"
            batch, x, k = state.batch, self.x, state.batch.neighbours
            if self.function == "nearest":
                make = functools.partial(nearest, k=k)
            else:
                make, x = functools.partial(_random, k=k, ordinal=state.drawn), x.new_zeros(len(x), 1)
                state.drawn += 1
            found = Neighbours(batch.each(make, x), max(batch.sizes))
            self.graph, self.x = found.as_edges() if batch.listed else found, None
        return self.graph


def _random(x: Tensor, k: int, ordinal: int) -> Tensor:
    return random_neighbours(x.shape[1], k, GRAPH_SEED, ordinal).expand(len(x), -1, -1)


def started(x: Tensor, batch: Batch) -> State:
    """The rows of a batch before the first operation."""
    state = State(x, batch)
    if batch.edges is not None:
        state.graph = LazyGraph("given", x)
        state.graph.graph = Edges(*batch.edges)
    return state


def step(state: State, one: Operation) -> None:
    """Work an operation without weights."""
    match one:
        case Sample():
            state.graph = LazyGraph(one.function, state.x)
        case Connect():
            if one.function == "skip" and state.before is not None and state.before.shape == state.x.shape:
                state.change(state.x + state.before)
        case Aggregate():
            if not one.changes_nothing and (graph := state.read()) is not None:
                state.change(graph.reduce(one, state.x))
        case Join():
            state.change(torch.cat(state.joined, dim=1))


class PointModel(nn.Module):
    """The weights of a network. Its combines and EdgeConvs have one `Dense` each, at their place in the operations."""

    def __init__(self, network: PointNetwork, width_in: int, classes: int) -> None:
        super().__init__()
        self.network = network
        given = [width_in, *widths(network.operations, width_in)]
        self.layers = nn.ModuleDict({
            str(place): Dense(width * (2 if isinstance(one, EdgeConv) else 1), one.features)
            for place, (one, width) in enumerate(zip(network.operations, given, strict=False))
            if isinstance(one, (Combine, EdgeConv))
        })  # fmt: skip
        self.tail = TailModel(network.tail, given[-1], classes)

    def forward(self, x: Tensor, batch: Batch) -> Tensor:
        """[B, classes] logits of points x [n, F]."""
        found: Tensor = self.tail(self.rows(x, batch), batch)
        return found

    def rows(self, x: Tensor, batch: Batch) -> Tensor:
        """[n, C] features of the points behind all operations."""
        state = started(x, batch)
        for place, one in enumerate(self.network.operations):
            if isinstance(one, Combine):
                state.change(self._dense(place)(state.x))
            elif isinstance(one, EdgeConv):
                state.change(self._edges(state, place, one))
                state.joined.append(state.x)
            else:
                step(state, one)
        return state.x

    def _dense(self, place: int) -> Dense:
        found = self.layers[str(place)]
        assert isinstance(found, Dense)
        return found

    def _edges(self, state: State, place: int, one: EdgeConv) -> Tensor:
        """[n, features] an EdgeConv. It trains without a row for each edge, and then computes as it says."""
        graph, dense = state.read(), self._dense(place)
        assert isinstance(graph, Neighbours), "a baseline samples before its first EdgeConv"
        if self.training:
            return learned_edges(dense, state.x, graph.sources)
        if one.fused:
            weight, bias = dense.folded()
            own, other = weight.chunk(2, dim=1)
            largest = taken(functional.linear(state.x, other), graph.sources).amax(dim=1)
            return functional.relu(functional.linear(state.x, own - other, bias) + largest)
        target = state.x[:, None].expand(-1, graph.sources.shape[1], -1)
        messages = torch.cat([target, taken(state.x, graph.sources) - target], dim=2)
        return dense(messages.flatten(end_dim=1)).reshape(*messages.shape[:2], -1).amax(dim=1)


def learned_edges(dense: Dense, x: Tensor, sources: Tensor) -> Tensor:
    """[n, features] the maximum over neighbours of relu(norm(W [x_i, x_j - x_i])), while training.

    W [x_i, x_j - x_i] is u_i + v_j: the norm's statistics over edges follow from u, from v and from the sum of v over
    each point's neighbours, and the maximum, where the norm's factor is negative the minimum, is that of v.
    """
    norm, edges = dense.norm, sources.numel()
    own, other = dense.linear.weight.chunk(2, dim=1)
    u, v = functional.linear(x, own - other), functional.linear(x, other)
    degree = torch.bincount(sources.flatten(), minlength=len(x)).to(x.dtype)
    mean_u, mean_v = u.mean(dim=0), degree @ v / edges
    u, v = u - mean_u, v - mean_v
    variance = (u * u).mean(dim=0) + (degree @ (v * v) + 2 * (u * Sum.apply(v, sources)).sum(dim=0)) / edges
    _remember(norm, mean_u + mean_v, variance * edges / (edges - 1))
    best = Extreme.apply(v, sources, True)
    if bool((norm.weight < 0).any()):
        best = torch.where(norm.weight < 0, Extreme.apply(v, sources, False), best)
    return functional.relu((u + best) * (norm.weight / torch.sqrt(variance + norm.eps)) + norm.bias)


@torch.no_grad()
def _remember(norm: nn.BatchNorm1d, mean: Tensor, variance: Tensor) -> None:
    """Move a norm's running statistics, as it does itself."""
    assert norm.running_mean is not None and norm.running_var is not None
    assert norm.num_batches_tracked is not None and norm.momentum is not None
    norm.running_mean.lerp_(mean, norm.momentum)
    norm.running_var.lerp_(variance, norm.momentum)
    norm.num_batches_tracked.add_(1)


class TailModel(nn.Module):
    """The weights of a tail."""

    def __init__(self, tail: Tail, width: int, classes: int) -> None:
        super().__init__()
        self.embedding = Dense(width, tail.embedding)
        sizes = (2 * tail.embedding, *tail.hidden)
        self.hidden = nn.ModuleList(Dense(*pair) for pair in zip(sizes, sizes[1:], strict=False))
        self.logits = nn.Linear(sizes[-1], classes)

    def forward(self, x: Tensor, batch: Batch) -> Tensor:
        """[B, classes] logits of points x [n, C]."""
        x = readout(self.embedding(x), batch)
        for layer in self.hidden:
            x = functional.dropout(layer(x), DROPOUT, self.training)
        found: Tensor = self.logits(x)
        return found


def readout(x: Tensor, batch: Batch) -> Tensor:
    """[B, 2 C] the maximum and the mean of each graph's points x [n, C], side by side."""
    if batch.equal:
        clouds = x.reshape(len(batch.sizes), batch.sizes[0], -1)
        return torch.cat([clouds.amax(dim=1), clouds.mean(dim=1)], dim=1)
    place = batch.graph_of[:, None].expand_as(x)
    empty = x.new_zeros(len(batch.sizes), x.shape[1])
    reduced = (empty.scatter_reduce(0, place, x, name, include_self=False) for name in ("amax", "mean"))
    return torch.cat(list(reduced), dim=1)


def batch_of(clouds: Tensor | Sequence[Tensor], neighbours: int, edges: Tensor | None = None) -> tuple[Tensor, Batch]:
    """Points [n, F] and their batch of clouds [B, N, F], or of one [N, F] each."""
    return torch.cat(list(clouds)), Batch(tuple(len(one) for one in clouds), neighbours, edges)
