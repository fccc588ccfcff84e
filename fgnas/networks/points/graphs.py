"""Graphs of points: nearest neighbours, random ones and given edges, and what aggregates do over them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from fgnas.networks.points.operations import Aggregate
from fgnas.tasks.neighbours import hashed_neighbours

INDEX_BITS = 32
"""Bits of a key below those of a distance."""


@dataclass(frozen=True, eq=False)
class Batch:
    """The points of several graphs, graph after graph.

    Attributes:
        sizes: points of each graph.
        neighbours: k of a graph that a network makes.
        edges: [2, E] sources and targets by place in the batch; None where a network makes the graph.
    """

    sizes: tuple[int, ...]
    neighbours: int
    edges: Tensor | None = None

    @functools.cached_property
    def equal(self) -> bool:
        """Whether all graphs have as many points."""
        return len(set(self.sizes)) == 1

    @functools.cached_property
    def graph_of(self) -> Tensor:
        """[n] the graph of each point."""
        return torch.repeat_interleave(torch.arange(len(self.sizes)), torch.tensor(self.sizes))

    def each(self, make: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        """[n, k] what `make` finds for clouds [B, N, C], indices within a cloud, as places in the batch."""
        if self.equal:
            count, points = len(self.sizes), self.sizes[0]
            within = make(x.reshape(count, points, -1))
            return (within + points * torch.arange(count)[:, None, None]).reshape(count * points, -1)
        starts = itertools.accumulate(self.sizes, initial=0)
        clouds = zip(x.split(self.sizes), starts, strict=False)
        return torch.cat([make(one[None])[0] + start for one, start in clouds])


class Graph(Protocol):
    """What an aggregate asks of a graph of n points."""

    def reduce(self, one: Aggregate, x: Tensor) -> Tensor:
        """[n, width] messages of the neighbours of points x [n, C], reduced."""
        ...


@dataclass(frozen=True, eq=False)
class Neighbours:
    """As many neighbours of every point.

    Attributes:
        sources: [n, k] places of the neighbours.
    """

    sources: Tensor

    def reduce(self, one: Aggregate, x: Tensor) -> Tensor:
        """As `Graph.reduce`."""
        target = x[:, None].expand(-1, self.sources.shape[1], -1)
        messages = target if one.message == "target" else message(one.message, x[self.sources], target)
        match one.reducer:
            case "sum":
                return messages.sum(dim=1)
            case "mean":
                return messages.mean(dim=1)
            case "max":
                return messages.amax(dim=1)
            case _:
                return messages.amin(dim=1)


@dataclass(frozen=True, eq=False)
class Edges:
    """Neighbours by edges; a point without one receives zeros.

    Attributes:
        sources, targets: [E] the ends of each edge.
    """

    sources: Tensor
    targets: Tensor

    def reduce(self, one: Aggregate, x: Tensor) -> Tensor:
        """As `Graph.reduce`."""
        messages = message(one.message, x[self.sources], x[self.targets])
        name = {"sum": "sum", "mean": "mean", "max": "amax", "min": "amin"}[one.reducer]
        found = messages.new_zeros(len(x), messages.shape[1])
        return found.scatter_reduce(
            0, self.targets[:, None].expand_as(messages), messages, name, include_self=False
        )


def message(name: str, source: Tensor, target: Tensor) -> Tensor:
    """[..., width] the message of that name from points x_j to points x_i [..., C]; see `operations.MESSAGES`."""
    if name in ("source", "target"):
        return source if name == "source" else target
    relative = source - target
    match name:
        case "relative":
            return relative
        case "source-relative":
            return torch.cat([source, relative], dim=-1)
        case "target-relative":
            return torch.cat([target, relative], dim=-1)
    distance = relative.norm(dim=-1, keepdim=True)
    return distance if name == "distance" else torch.cat([target, source, relative, distance], dim=-1)


def nearest(x: Tensor, k: int) -> Tensor:
    """[B, N, min(k, N)] the nearest points of every point of clouds x [B, N, C] within its cloud; of equal distances
    the smaller index is nearer."""
    points = x.shape[1]
    squares = (x * x).sum(dim=2)
    distances = squares[:, :, None] + squares[:, None] - 2 * torch.bmm(x, x.transpose(1, 2))
    # Bits of numbers that are not negative have their order, so that a key is a distance and behind it an index.
    bits = distances.clamp(min=0).float().contiguous().view(torch.int32).to(torch.int64)
    keys = (bits << INDEX_BITS) + torch.arange(points)
    return keys.topk(min(k, points), dim=2, largest=False).values & ((1 << INDEX_BITS) - 1)


def random_neighbours(points: int, k: int, seed: int, ordinal: int) -> Tensor:
    """[N, min(k, N)] as `fgnas.tasks.neighbours.hashed_neighbours`."""
    return torch.from_numpy(hashed_neighbours(points, min(k, points), seed, ordinal))
