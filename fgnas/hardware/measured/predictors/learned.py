"""Training for the predictors that are networks: batches, steps, and weights as arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Step = Callable[[nn.Module, Tensor], Tensor]
"""The loss of a model on the samples at these places."""


@dataclass(frozen=True)
class Training:
    """How a predictor is trained: AdamW, and a rate that falls along a cosine."""

    epochs: int
    batch: int
    rate: float
    weight_decay: float = 1e-2


def train(model: nn.Module, count: int, plan: Training, loss: Step, seed: int) -> None:
    """Train a model on so many samples. It predicts in double precision, whose last bits alone depend on what is
    predicted together."""
    rng = np.random.default_rng(seed)
    optimiser = torch.optim.AdamW(model.parameters(), plan.rate, weight_decay=plan.weight_decay)
    batches = -(-count // plan.batch)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, plan.epochs * batches)
    model.train()
    for _ in range(plan.epochs):
        for chosen in np.array_split(rng.permutation(count), batches):
            optimiser.zero_grad()
            loss(model, torch.from_numpy(chosen)).backward()
            optimiser.step()
            schedule.step()
    model.eval().double()


def weights(model: nn.Module) -> dict[str, NDArray[Any]]:
    """A model's weights as arrays."""
    return {name: value.detach().numpy() for name, value in model.state_dict().items()}


def load(model: nn.Module, arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> None:
    """Give a model its weights, in double precision."""
    model.double()
    model.load_state_dict({name: torch.from_numpy(arrays[prefix + name]) for name in model.state_dict()})
    model.eval()
