"""Graph attention on stored edges: softmax coefficients, and messages weighted by them, each with its gradient.

These are compiled loops over the edges, because gather and scatter through autograd take several times as long.
Arrays over edges are [edges, heads], in rows by target. Features are [nodes, heads * d], those of a head side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fgnas.networks import kernels


class EdgeSoftmax(torch.autograd.Function):
    """alpha[e, head]: the softmax over the edges e = (j, i) of row i of LeakyReLU(s[i] + r[j]).

    `places` [rows] are the positions of the targets among the rows of s [nodes, heads].
    """

    @staticmethod
    def forward(ctx: Any, s: Tensor, r: Tensor, indptr: Any, sources: Any, places: Any) -> Tensor:
        alpha = torch.empty((len(sources), s.shape[1]), dtype=s.dtype)
        ctx.rising = np.empty(alpha.shape, np.bool_)
        kernels.scores(indptr, sources, places, s.detach().numpy(), r.detach().numpy(), alpha.numpy(), ctx.rising)
        alpha.exp_()  # torch has a vectorised exponential
        kernels.normalise(indptr, alpha.numpy())
        ctx.edges, ctx.nodes, ctx.alpha = (indptr, sources, places), len(s), alpha
        return alpha

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        shape = (ctx.nodes, ctx.alpha.shape[1])
        of_s, of_r = (torch.zeros(shape, dtype=ctx.alpha.dtype) for _ in range(2))
        gradient = gradients[0].contiguous().numpy()
        alpha = ctx.alpha.detach().numpy()
        kernels.softmax_backward(*ctx.edges, alpha, ctx.rising, gradient, of_s.numpy(), of_r.numpy())
        return of_s, of_r, None, None, None


class WeightedSum(torch.autograd.Function):
    """out[i] = sum over the edges e = (j, i) of row i of alpha[e] h[j], head by head."""

    @staticmethod
    def forward(ctx: Any, alpha: Tensor, h: Tensor, indptr: Any, sources: Any) -> Tensor:
        out = torch.zeros((len(indptr) - 1, h.shape[1]), dtype=h.dtype)
        ctx.arrays = (indptr, sources, alpha.detach().numpy(), h.detach().numpy())
        kernels.weighted_sum(*ctx.arrays, _starts(alpha, h), out.numpy())
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        *_, alpha, h = ctx.arrays
        of_alpha, of_h = np.empty_like(alpha), np.zeros_like(h)
        arrays = (*ctx.arrays, _starts(alpha, h), gradients[0].contiguous().numpy(), of_alpha, of_h)
        kernels.weighted_sum_backward(*arrays)
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
        kernels.weighted_maximum(indptr, *ctx.arrays, _starts(alpha, h), out.numpy(), ctx.winner)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        *_, alpha, h = ctx.arrays
        of_alpha, of_h = np.zeros_like(alpha), np.zeros_like(h)
        arrays = (*ctx.arrays, _starts(alpha, h), ctx.winner, gradients[0].contiguous().numpy(), of_alpha, of_h)
        kernels.weighted_maximum_backward(*arrays)
        return torch.from_numpy(of_alpha), torch.from_numpy(of_h), None, None


def _starts(alpha: Any, h: Any) -> NDArray[np.int64]:
    """[heads + 1] first column of each head."""
    return np.arange(alpha.shape[1] + 1) * (h.shape[1] // alpha.shape[1])
