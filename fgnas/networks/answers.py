"""What logits of nodes are compared with, and what they are worth: a class of each node, or targets of their graphs,
whose results are the means of their nodes' logits."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from fgnas.networks.batch import Reals
from fgnas.tasks.collection import Kind, metric
from fgnas.tasks.nodes import GraphData
from fgnas.tasks.pooled import PooledData, means_of

QUALITIES: dict[Kind, str] = {
    "classes": "accuracy", "labels": "area under the ROC curve", "values": "variance explained",
}  # fmt: skip
"""Names of what `Answers.quality` returns, by the kind of targets."""
Float64s = NDArray[np.float64]


class Answers(Protocol):
    """Logits of some nodes are [nodes, classes], or [nodes, networks, classes] of several networks at once."""

    def gradient(self, logits: Reals) -> Reals:
        """The gradient of each network's mean loss, from logits [nodes, networks, classes]."""
        ...

    def losses(self, logits: Reals) -> Float64s:
        """[networks] mean losses."""
        ...

    def loss(self, logits: Tensor) -> Tensor:
        """The mean loss of one network."""
        ...

    def quality(self, logits: NDArray[Any]) -> Float64s:
        """[networks] how good logits are, or one number of one network; higher is better, and 1 is perfect."""
        ...

    def beliefs(self, logits: Tensor) -> Tensor:
        """What a network says, as a target of others: see `divergence`."""
        ...

    def divergence(self, logits: Tensor, beliefs: Tensor) -> Tensor:
        """How far logits are from what another network says, without labels."""
        ...


class OfNodes:
    """A class for each node.

    Attributes:
        labels: [nodes].
    """

    def __init__(self, labels: NDArray[np.int64]) -> None:
        self.labels = labels

    def gradient(self, logits: Reals) -> Reals:
        """That of the cross entropy."""
        gradient: Reals = _probabilities(logits)
        gradient[np.arange(len(self.labels)), :, self.labels] -= 1
        return gradient / np.float32(len(self.labels))

    def losses(self, logits: Reals) -> Float64s:
        """Cross entropies."""
        likelihood = _probabilities(logits.astype(np.float64))[np.arange(len(self.labels)), :, self.labels]
        return np.array([-np.log(np.maximum(own, 1e-300)).mean() for own in likelihood.T])

    def loss(self, logits: Tensor) -> Tensor:
        """The cross entropy."""
        return functional.cross_entropy(logits, torch.from_numpy(self.labels).to(logits.device))

    def quality(self, logits: NDArray[Any]) -> Float64s:
        """The accuracy, 0 to 1; among equal logits the lowest index wins."""
        right = self.labels == logits.argmax(-1).T
        return right.sum(-1) / max(1, len(self.labels))

    def beliefs(self, logits: Tensor) -> Tensor:
        """[nodes, classes] probabilities."""
        return torch.softmax(logits, 1)

    def divergence(self, logits: Tensor, beliefs: Tensor) -> Tensor:
        """The mean cross entropy with the probabilities."""
        return functional.cross_entropy(logits, beliefs)


class OfGraphs:
    """Targets of graphs, whose nodes lie one graph behind the other.

    Classes have a cross entropy, numbers in deviations of those that train a squared error, labels a binary cross
    entropy; what is unknown does not count.

    Attributes:
        sizes: [graphs] nodes of each.
        targets: [graphs, T], NaN where unknown.
    """

    def __init__(self, sizes: NDArray[np.int64], targets: Float64s, kind: Kind) -> None:
        self.sizes, self.kind = sizes, kind
        self.known, self.targets = ~np.isnan(targets), np.nan_to_num(targets)
        if kind == "classes":
            self.targets = np.eye(int(self.targets.max(initial=0)) + 1)[self.targets[:, 0].astype(np.int64)]
        self.count = max(1, int(self.known.sum()))

    def pooled(self, logits: NDArray[Any]) -> NDArray[Any]:
        """[graphs, ...] results: the mean over the nodes of each graph."""
        return means_of(logits, self.sizes)

    def _pooled(self, logits: Tensor) -> Tensor:
        graph = torch.from_numpy(np.repeat(np.arange(len(self.sizes)), self.sizes)).to(logits.device)
        sums = torch.zeros((len(self.sizes), logits.shape[1]), dtype=logits.dtype, device=logits.device)
        return sums.index_add(0, graph, logits) / torch.from_numpy(self.sizes).to(logits)[:, None]

    def _wanted(self, classes: int) -> Float64s:
        """[graphs, 1, classes] the targets; of classes one-hot."""
        missing = classes - self.targets.shape[1]
        return np.pad(self.targets, ((0, 0), (0, missing)))[:, None]

    def gradient(self, logits: Reals) -> Reals:
        """Each node has its share of its graph's."""
        results = self.pooled(logits)
        wanted = self._wanted(results.shape[-1]).astype(np.float32)
        if self.kind == "values":
            of_results = 2 * (results - wanted)
        else:
            of_results = (_probabilities(results) if self.kind == "classes" else _logistic(results)) - wanted
        of_results *= self.known[:, None] / self.count
        return np.repeat(of_results / self.sizes.astype(np.float32)[:, None, None], self.sizes, axis=0)

    def losses(self, logits: Reals) -> Float64s:
        """The mean over what is known."""
        results = self.pooled(logits.astype(np.float64))
        wanted = self._wanted(results.shape[-1])
        if self.kind == "values":
            each = (results - wanted) ** 2
        elif self.kind == "labels":
            each = np.logaddexp(0, results) - wanted * results
        else:
            shifted = results - results.max(-1, keepdims=True)
            likelihood = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
            each = -(likelihood * wanted).sum(-1, keepdims=True)
        return (each * self.known[:, None]).sum((0, 2)) / self.count

    def loss(self, logits: Tensor) -> Tensor:
        """The mean over what is known."""
        results, known = self._pooled(logits), torch.from_numpy(self.known).to(logits.device)
        wanted = torch.from_numpy(self._wanted(results.shape[1])[:, 0]).to(results)
        if self.kind == "classes":
            return functional.cross_entropy(results[known[:, 0]], wanted[known[:, 0]])
        of_kind = functional.mse_loss if self.kind == "values" else functional.binary_cross_entropy_with_logits
        return of_kind(results[known], wanted[known])

    def quality(self, logits: NDArray[Any]) -> Float64s:
        """The accuracy; the mean area under the ROC curve; of numbers the share of the variance of those which train
        that is explained, 1 - (RMSE / deviation)^2."""
        results = self.pooled(logits.astype(np.float64))
        each = results.transpose(1, 0, 2) if results.ndim == 3 else results[None]
        found = np.array([self._quality(one) for one in each])
        return found if results.ndim == 3 else found[0]

    def _quality(self, results: Float64s) -> float:
        """That of one network's results [graphs, classes]."""
        if self.kind == "classes":
            known = self.known[:, 0]
            return float((results[known].argmax(1) == self.targets[known].argmax(1)).mean())
        found = metric(self.kind, np.where(self.known, self.targets, np.nan), results)
        return 1.0 - found**2 if self.kind == "values" else found

    def beliefs(self, logits: Tensor) -> Tensor:
        """[graphs, classes] probabilities; of numbers the results."""
        results = self._pooled(logits)
        if self.kind == "values":
            return results
        return torch.softmax(results, 1) if self.kind == "classes" else torch.sigmoid(results)

    def divergence(self, logits: Tensor, beliefs: Tensor) -> Tensor:
        """The mean cross entropy with the probabilities; of numbers the mean squared difference."""
        results = self._pooled(logits)
        if self.kind == "classes":
            return functional.cross_entropy(results, beliefs)
        of_kind = functional.mse_loss if self.kind == "values" else functional.binary_cross_entropy_with_logits
        return of_kind(results, beliefs)


def quality_of(data: GraphData) -> str:
    """The name of what `Answers.quality` returns."""
    return QUALITIES[data.kind if isinstance(data, PooledData) else "classes"]


def answers_of(data: GraphData, split: str | None = None) -> Answers:
    """The answers for the nodes of "train", "val" or "test", or for all."""
    nodes = np.arange(data.nodes) if split is None else np.flatnonzero(getattr(data, split))
    if not isinstance(data, PooledData):
        return OfNodes(data.labels[nodes])
    graphs = np.unique(data.labels[nodes])
    targets = (data.targets_of_graphs[graphs] - data.centre) / data.scale
    return OfGraphs(data.sizes[graphs], targets, data.kind)


def _probabilities(logits: NDArray[Any]) -> NDArray[Any]:
    """Softmax over the last axis."""
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def _logistic(values: NDArray[Any]) -> NDArray[Any]:
    return 1 / (1 + np.exp(-values))
