"""Reductions of neighbours' features whose gradients hold no row of features for each edge.

PyTorch's own gradients of a gather and a reduction make several tensors of [n, k, C]. These read the features again and
add to the neighbours' rows, one neighbour of all points after another.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag


def taken(x: Tensor, places: Tensor) -> Tensor:
    """[n, k, C] rows of x at places [n, k]."""
    return x.index_select(0, places.flatten()).view(*places.shape, -1)


class Sum(torch.autograd.Function):
    """[n, C] sums of the rows of x [n, C] at sources [n, k]."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, sources: Tensor) -> Tensor:
        """The sums."""
        ctx.save_for_backward(sources)
        return embedding_bag(sources, x, mode="sum")

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """A point's gradient goes to each of its neighbours."""
        (sources,) = ctx.saved_tensors
        found = torch.zeros_like(gradient)
        for places in sources.t().contiguous():
            found.index_add_(0, places, gradient)
        return found, None


class Extreme(torch.autograd.Function):
    """[n, C] the largest or smallest features of the rows of x [n, C] at sources [n, k]."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, sources: Tensor, largest: bool) -> Tensor:
        """The features."""
        near = taken(x, sources)
        found = near.amax(dim=1) if largest else near.amin(dim=1)
        ctx.save_for_backward(x, sources, found)
        return found

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        """The gradient of a feature goes to the first neighbour that has it."""
        x, sources, found = ctx.saved_tensors
        *others, last = sources.t().contiguous()
        rows = last[:, None].expand_as(found)
        for places in reversed(others):
            rows = torch.where(x.index_select(0, places) == found, places[:, None], rows)
        return torch.zeros_like(x).scatter_add_(0, rows, gradient), None, None


class Distances(torch.autograd.Function):
    """[n, k] distances from the rows of x [n, C] to those at sources [n, k]."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, sources: Tensor) -> Tensor:
        """The distances."""
        found = (taken(x, sources) - x[:, None]).norm(dim=-1)
        ctx.save_for_backward(x, sources, found)
        return found

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Along the line between both points; none where they are equal."""
        x, sources, found = ctx.saved_tensors
        pull = torch.where(found > 0, gradient / found, 0.0)
        to_points = x * pull.sum(dim=1, keepdim=True) - embedding_bag(sources, x, per_sample_weights=pull, mode="sum")
        weight = x.new_zeros(len(x)).index_add_(0, sources.flatten(), pull.flatten())
        for places, along in zip(sources.t().contiguous(), pull.t().contiguous(), strict=True):
            to_points.index_add_(0, places, x * along[:, None], alpha=-1)
        return to_points.addcmul_(x, weight[:, None]), None
