"""Batch norm of networks that share weights: its statistics belong to one of them at a time."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

EPSILON = 1e-5
"""Added to a variance by batch norm, PyTorch's default."""


class Norm(nn.Module):
    """Batch norm over all nodes of a batch; statistics are the batch's, or those of the last measured batch.

    Statistics belong to a subnet: those of another one make its outputs worthless, so none are kept with the weights.
    """

    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))
        self.mean: Tensor | None = None
        self.variance: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        """x [..., w] with w leading features, normalised."""
        flat = x.flatten(end_dim=-2)
        weight, bias = self.weight[: x.shape[-1]], self.bias[: x.shape[-1]]
        if self.mean is None:
            found = functional.batch_norm(flat, None, None, weight, bias, training=True)
        else:
            found = functional.batch_norm(flat, self.mean, self.variance, weight, bias)
        return found.reshape(x.shape)

    def folded(self, width: int) -> tuple[Tensor, Tensor]:
        """The norm of measured statistics as x * scale + shift: the [width] leading features of both."""
        assert self.mean is not None and self.variance is not None
        scale = self.weight[:width] / torch.sqrt(self.variance[:width] + EPSILON)
        return scale, self.bias[:width] - self.mean[:width] * scale

    def measure(self, x: Tensor) -> None:
        """Take the statistics of x [..., w] for later batches."""
        flat = x.flatten(end_dim=-2)
        self.variance, self.mean = torch.var_mean(flat, dim=0, correction=0)
