"""Graph attention on stored edges: softmax coefficients, and messages weighted by them, each with its gradient.

These are compiled loops over the edges, because gather and scatter through autograd take several times as long.
Arrays over edges are [edges, heads], in rows by target. Features are [nodes, heads * d], those of a head side by side.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

NEGATIVE_SLOPE = 0.2
"""Slope of the LeakyReLU on scores, as in PyG's GATConv."""

compiled: Any = numba.njit(cache=True)
compiled_with_any_order_of_sums: Any = numba.njit(cache=True, fastmath={"reassoc"})
"""Dot products may use vector instructions; the order of their sums depends only on the processor."""


class EdgeSoftmax(torch.autograd.Function):
    """alpha[e, head]: the softmax over the edges e = (j, i) of row i of LeakyReLU(s[i] + r[j]).

    `places` [rows] are the positions of the targets among the rows of s [nodes, heads].
    """

    @staticmethod
    def forward(ctx: Any, s: Tensor, r: Tensor, indptr: Any, sources: Any, places: Any) -> Tensor:
        alpha = torch.empty((len(sources), s.shape[1]), dtype=s.dtype)
        ctx.rising = np.empty(alpha.shape, np.bool_)
        _scores(indptr, sources, places, s.detach().numpy(), r.detach().numpy(), alpha.numpy(), ctx.rising)
        alpha.exp_()  # torch has a vectorised exponential
        _normalise(indptr, alpha.numpy())
        ctx.edges, ctx.nodes, ctx.alpha = (indptr, sources, places), len(s), alpha
        return alpha

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        shape = (ctx.nodes, ctx.alpha.shape[1])
        of_s, of_r = (torch.zeros(shape, dtype=ctx.alpha.dtype) for _ in range(2))
        gradient = gradients[0].contiguous().numpy()
        _softmax_backward(*ctx.edges, ctx.alpha.detach().numpy(), ctx.rising, gradient, of_s.numpy(), of_r.numpy())
        return of_s, of_r, None, None, None


class WeightedSum(torch.autograd.Function):
    """out[i] = sum over the edges e = (j, i) of row i of alpha[e] h[j], head by head."""

    @staticmethod
    def forward(ctx: Any, alpha: Tensor, h: Tensor, indptr: Any, sources: Any) -> Tensor:
        out = torch.zeros((len(indptr) - 1, h.shape[1]), dtype=h.dtype)
        ctx.arrays = (indptr, sources, alpha.detach().numpy(), h.detach().numpy())
        _sum_forward(*ctx.arrays, out.numpy())
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        *_, alpha, h = ctx.arrays
        of_alpha, of_h = np.empty_like(alpha), np.zeros_like(h)
        _sum_backward(*ctx.arrays, gradients[0].contiguous().numpy(), of_alpha, of_h)
        return torch.from_numpy(of_alpha), torch.from_numpy(of_h), None, None


class WeightedMaximum(torch.autograd.Function):
    """out[i, f] = max over the edges e = (j, i) of row i of alpha[e, head of f] h[j, f].

    The first of equal messages gets the gradient.
    """

    @staticmethod
    def forward(ctx: Any, alpha: Tensor, h: Tensor, indptr: Any, sources: Any) -> Tensor:
        out = torch.empty((len(indptr) - 1, h.shape[1]), dtype=h.dtype)
        ctx.winner = np.empty(tuple(out.shape), np.int32)
        ctx.arrays = (sources, alpha.detach().numpy(), h.detach().numpy())
        _max_forward(indptr, *ctx.arrays, out.numpy(), ctx.winner)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        *_, alpha, h = ctx.arrays
        of_alpha, of_h = np.zeros_like(alpha), np.zeros_like(h)
        _max_backward(*ctx.arrays, ctx.winner, gradients[0].contiguous().numpy(), of_alpha, of_h)
        return torch.from_numpy(of_alpha), torch.from_numpy(of_h), None, None


@compiled
def _scores(indptr: Any, sources: Any, places: Any, s: Any, r: Any, out: Any, rising: Any) -> None:
    """LeakyReLU(s + r) minus its maximum over the row."""
    slope = out.dtype.type(NEGATIVE_SLOPE)
    for i in range(len(indptr) - 1):
        target, first, end = places[i], indptr[i], indptr[i + 1]
        for head in range(s.shape[1]):
            largest = out.dtype.type(-np.inf)
            for edge in range(first, end):
                z = s[target, head] + r[sources[edge], head]
                rising[edge, head] = z >= 0
                score = z if z >= 0 else slope * z
                out[edge, head] = score
                largest = max(largest, score)
            for edge in range(first, end):
                out[edge, head] -= largest


@compiled
def _normalise(indptr: Any, alpha: Any) -> None:
    for i in range(len(indptr) - 1):
        for head in range(alpha.shape[1]):
            total = alpha.dtype.type(0)
            for edge in range(indptr[i], indptr[i + 1]):
                total += alpha[edge, head]
            for edge in range(indptr[i], indptr[i + 1]):
                alpha[edge, head] /= total


@compiled
def _softmax_backward(
    indptr: Any, sources: Any, places: Any, alpha: Any, rising: Any, gradient: Any, of_s: Any, of_r: Any
) -> None:
    slope, one = alpha.dtype.type(NEGATIVE_SLOPE), alpha.dtype.type(1)
    for i in range(len(indptr) - 1):
        target = places[i]
        for head in range(alpha.shape[1]):
            mean = alpha.dtype.type(0)
            for edge in range(indptr[i], indptr[i + 1]):
                mean += alpha[edge, head] * gradient[edge, head]
            for edge in range(indptr[i], indptr[i + 1]):
                of_score = alpha[edge, head] * (gradient[edge, head] - mean)
                of_z = of_score * (one if rising[edge, head] else slope)
                of_s[target, head] += of_z
                of_r[sources[edge], head] += of_z


@compiled
def _sum_forward(indptr: Any, sources: Any, alpha: Any, h: Any, out: Any) -> None:
    d = h.shape[1] // alpha.shape[1]
    for i in range(len(indptr) - 1):
        for edge in range(indptr[i], indptr[i + 1]):
            source = sources[edge]
            for head in range(alpha.shape[1]):
                weight = alpha[edge, head]
                for f in range(head * d, (head + 1) * d):
                    out[i, f] += weight * h[source, f]


@compiled_with_any_order_of_sums
def _sum_backward(indptr: Any, sources: Any, alpha: Any, h: Any, gradient: Any, of_alpha: Any, of_h: Any) -> None:
    d = h.shape[1] // alpha.shape[1]
    for i in range(len(indptr) - 1):
        for edge in range(indptr[i], indptr[i + 1]):
            source = sources[edge]
            for head in range(alpha.shape[1]):
                weight, product = alpha[edge, head], alpha.dtype.type(0)
                for f in range(head * d, (head + 1) * d):
                    of_h[source, f] += weight * gradient[i, f]
                    product += gradient[i, f] * h[source, f]
                of_alpha[edge, head] = product


@compiled
def _max_forward(indptr: Any, sources: Any, alpha: Any, h: Any, out: Any, winner: Any) -> None:
    d = h.shape[1] // alpha.shape[1]
    for i in range(len(indptr) - 1):
        for head in range(alpha.shape[1]):
            for edge in range(indptr[i], indptr[i + 1]):
                source, weight = sources[edge], alpha[edge, head]
                for f in range(head * d, (head + 1) * d):
                    message = weight * h[source, f]
                    if edge == indptr[i] or message > out[i, f]:
                        out[i, f] = message
                        winner[i, f] = edge


@compiled
def _max_backward(sources: Any, alpha: Any, h: Any, winner: Any, gradient: Any, of_alpha: Any, of_h: Any) -> None:
    d = h.shape[1] // alpha.shape[1]
    for i in range(winner.shape[0]):
        for f in range(winner.shape[1]):
            edge, head = winner[i, f], f // d
            of_h[sources[edge], f] += alpha[edge, head] * gradient[i, f]
            of_alpha[edge, head] += gradient[i, f] * h[sources[edge], f]
