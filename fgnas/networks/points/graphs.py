"""Graphs of points: nearest neighbours, random ones and given edges, and what aggregates do over them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from fgnas.networks.points.operations import PARTS, Aggregate
from fgnas.networks.points.reductions import Distances, Extreme, Sum, taken
from fgnas.tasks.neighbours import hashed_neighbours

INDEX_BITS = 32
"""Bits of a key below those of a distance."""
GATHERED = 2**19
"""Numbers that a gather of neighbours' features holds, where it holds those of many clouds."""


@dataclass(frozen=True, eq=False)
class Batch:
    """The points of several graphs, graph after graph.

    Attributes:
        sizes: points of each graph.
        neighbours: k of a graph that a network makes.
        edges: [2, E] sources and targets by place in the batch; None where a network makes the graph.
        listed: whether graphs that a network makes are lists of edges, too, and graphs of equal sizes are as any.
    """

    sizes: tuple[int, ...]
    neighbours: int
    edges: Tensor | None = None
    listed: bool = False

    @functools.cached_property
    def equal(self) -> bool:
        """Whether all graphs have as many points, so that they fill an array."""
        return not self.listed and len(set(self.sizes)) == 1

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
    """The interface of a graph of n points for aggregates."""

    def reduce(self, one: Aggregate, x: Tensor) -> Tensor:
        """[n, width] messages of the neighbours of points x [n, C], reduced."""
        ...


@dataclass(frozen=True, eq=False)
class Neighbours:
    """As many neighbours of every point.

    Attributes:
        sources: [n, k] places of the neighbours.
        points: points of a cloud; features of its neighbours are gathered at once.
    """

    sources: Tensor
    points: int

    def as_edges(self) -> Edges:
        """The same as a list of edges."""
        count, k = self.sources.shape
        return Edges(self.sources.flatten(), torch.arange(count).repeat_interleave(k))

    def reduce(self, one: Aggregate, x: Tensor) -> Tensor:
        """As `Graph.reduce`. Many clouds whose gradient nobody asks for are gathered a few at a time, which stay in the
        processor's cache."""
        rows = max(self.points, GATHERED // (self.sources.shape[1] * x.shape[1]))
        if len(x) <= rows or (torch.is_grad_enabled() and x.requires_grad):
            return _reduced(one, x, x, self.sources)
        blocks = zip(x.split(rows), self.sources.split(rows), strict=True)
        return torch.cat([_reduced(one, x, own, sources) for own, sources in blocks])


def _reduced(one: Aggregate, x: Tensor, own: Tensor, sources: Tensor) -> Tensor:
    """[m, width] messages from rows of x [n, C] at sources [m, k] to points with features [m, C], reduced. Neighbours
    are reduced before x_i is taken off: their messages have no rows of their own, but for distances."""
    parts, k = PARTS[one.message], sources.shape[1]
    learning = torch.is_grad_enabled() and x.requires_grad
    largest = one.reducer in ("max", "min")
    of_rows = "distance" in parts or (largest and parts != ("target",))
    near = taken(x, sources) if of_rows and not learning else None
    source = _sources(one.reducer, x, sources, near) if {"source", "relative"} & set(parts) else None
    repeated = own * k if one.reducer == "sum" else own
    found = []
    for part in parts:
        if part == "distance":
            apart = Distances.apply(x, sources)[:, :, None] if near is None else _apart(near, own)
            found.append(_over(one.reducer, apart))
        elif part == "target":
            found.append(repeated)
        else:
            assert source is not None
            found.append(source if part == "source" else source - repeated)
    return found[0] if len(found) == 1 else torch.cat(found, dim=1)


def _apart(near: Tensor, own: Tensor) -> Tensor:
    """[m, k, 1] distances of neighbours [m, k, C] from their points [m, C]."""
    return (near - own[:, None]).norm(dim=-1, keepdim=True)


def _sources(reducer: str, x: Tensor, sources: Tensor, near: Tensor | None) -> Tensor:
    """[m, C] the neighbours' features, reduced; a sum reads them without a copy. Without gathered ones it learns."""
    if reducer in ("max", "min"):
        extreme: Tensor = Extreme.apply(x, sources, reducer == "max") if near is None else _over(reducer, near)
        return extreme
    learning = torch.is_grad_enabled() and x.requires_grad
    total: Tensor = Sum.apply(x, sources) if learning else embedding_bag(sources, x, mode="sum")
    return total / sources.shape[1] if reducer == "mean" else total


def _over(reducer: str, messages: Tensor) -> Tensor:
    """[n, C] messages [n, k, C], reduced."""
    match reducer:
        case "sum":
            return messages.sum(dim=1)
        case "mean":
            return messages.mean(dim=1)
        case "max":
            return messages.amax(dim=1)
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
    """[..., width] the message of that name from points x_j to points x_i [..., C]; see `operations.PARTS`."""
    relative = source - target
    found = {"source": source, "target": target, "relative": relative}
    parts = [relative.norm(dim=-1, keepdim=True) if part == "distance" else found[part] for part in PARTS[name]]
    return torch.cat(parts, dim=-1)


@torch.no_grad()
def nearest(x: Tensor, k: int) -> Tensor:
    """[B, N, min(k, N)] the nearest points of every point of clouds x [B, N, C] within its cloud; of equal distances
    the smaller index is nearer."""
    points = x.shape[1]
    squares = (x * x).sum(dim=2)
    distances = torch.baddbmm(squares[:, :, None] + squares[:, None], x, x.transpose(1, 2), alpha=-2).clamp_(min=0)
    # Bits of numbers that are not negative have their order, so that a key is a distance and behind it an index.
    keys = distances.float().view(torch.int32).to(torch.int64)
    keys.bitwise_left_shift_(INDEX_BITS).add_(torch.arange(points))
    return keys.topk(min(k, points), dim=2, largest=False).values.bitwise_and_((1 << INDEX_BITS) - 1)


def random_neighbours(points: int, k: int, seed: int, ordinal: int) -> Tensor:
    """[N, min(k, N)] as `fgnas.tasks.neighbours.hashed_neighbours`."""
    return torch.from_numpy(hashed_neighbours(points, min(k, points), seed, ordinal))
