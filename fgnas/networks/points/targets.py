"""What a network's results are compared with: the loss that trains it, and its quality, by the kind of targets."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from fgnas.tasks.collection import metric
from fgnas.tasks.points import GraphSet

Pairs = Iterable[tuple[Tensor, Tensor]]
"""Results and targets, batch by batch."""


def loss(data: GraphSet, results: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    """The mean loss of results [B, outputs]: cross entropy of classes, which `smoothing` takes a share of, and of
    labels; squared errors of numbers, in deviations of those that train. What is unknown does not count."""
    if data.kind == "classes":
        return functional.cross_entropy(results, targets, label_smoothing=smoothing)
    if data.kind == "values":
        targets = normal(data, targets)
    known = ~targets.isnan()
    if not known.any():
        return results.sum() * 0.0
    of_kind = functional.mse_loss if data.kind == "values" else functional.binary_cross_entropy_with_logits
    return of_kind(results[known], targets[known])


def normal(data: GraphSet, targets: Tensor) -> Tensor:
    """Numbers with the mean 0 and the deviation 1 that those which train have."""
    centre, scale = (torch.from_numpy(one).float() for one in data.spread)
    return (targets - centre) / scale


def quality(data: GraphSet, pairs: Pairs) -> float:
    """How good results are, higher is better: the share of the right classes; the mean area under the ROC curve; of
    numbers the share of the variance of those which train that is explained, 1 - (RMSE / deviation)^2."""
    if data.kind == "classes":
        right = count = 0
        for results, targets in pairs:
            right += int((results.argmax(dim=1) == targets).sum())
            count += len(targets)
        return right / count
    found, wanted = _joined(pairs)
    if data.kind == "labels":
        return metric(data.kind, wanted, found)
    centre, scale = data.spread
    return explained(data, metric("values", wanted, found * scale + centre))


def explained(data: GraphSet, error: float) -> float:
    """The share of the variance that is explained by numbers with this RMSE."""
    return 1.0 - (error / data.deviation) ** 2


def _joined(pairs: Pairs) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """All results and all targets, [graphs, T] each."""
    each = list(pairs)
    found, wanted = (torch.cat([one[place] for one in each]).double().numpy() for place in (0, 1))
    return found, wanted
