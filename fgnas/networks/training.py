"""Training of a network with Adam, validated in every epoch; the best epoch by validation accuracy or loss is kept."""

from __future__ import annotations

import functools
import hashlib
import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

from fgnas.errors import UserError
from fgnas.files import canonical_json
from fgnas.network import LayerParameters, Network
from fgnas.networks.model import Architecture, Child, Field
from fgnas.options import CHECKPOINTS
from fgnas.tasks.nodes import GraphData


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters of a training (FGNAS paper, Table I and section IV-C), and its device, whose sums differ.

    `checkpoint`: what the kept epoch is best in, one of `CHECKPOINTS`.
    """

    epochs: int = 200
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    dropout: float = 0.5
    device: str = "cpu"
    checkpoint: str = CHECKPOINTS[0]


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained network.

    Attributes:
        network: parameters of the best epoch.
        val: float validation accuracy of that epoch, 0 to 1, whatever it was chosen by.
        epoch: its index, from 0.
    """

    network: Network
    val: float
    epoch: int


def recipe_for(dataset: str, device: str = "cpu") -> Recipe:
    """The paper's recipe for a dataset."""
    return Recipe(weight_decay=1e-3 if dataset == "pubmed" else 5e-4, device=device)


def check_device(device: str) -> None:
    """Raise UserError where torch does not have the device."""
    if device != "cpu" and not torch.cuda.is_available():
        raise UserError(
            f"--device {device}: this torch ({torch.__version__}) finds no GPU; leave --device out, or install a CUDA "
            "build of torch on a machine with a GPU"
        )


def child_seed(run_seed: int, architecture: Architecture, repetition: int = 0) -> int:
    """The seed of a network in a run. It depends only on the arguments, so trainings can be shared and repeated.

    The search uses repetition 0; retraining uses the others as fresh seeds.
    """
    text = canonical_json([run_seed, architecture, repetition])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


@functools.lru_cache(maxsize=8)
def _fields(data: GraphData, layers: int, device: str) -> tuple[Field, torch.Tensor, Field, torch.Tensor]:
    """Receptive field and labels of the training nodes, then those of the validation nodes."""
    train, val = np.flatnonzero(data.train), np.flatnonzero(data.val)
    return (
        Field(data, train, layers, device=device), torch.from_numpy(data.labels[train]).to(device),
        Field(data, val, layers, device=device), torch.from_numpy(data.labels[val]).to(device),
    )  # fmt: skip


def train(data: GraphData, architecture: Architecture, seed: int, recipe: Recipe) -> Trained:
    """Train one network; a pure function of its arguments with one thread and equal versions."""
    train_field, train_labels, val_field, val_labels = _fields(data, len(architecture), recipe.device)
    rng = np.random.default_rng(seed)
    child = Child(architecture, data.width_in, data.classes, rng, device=recipe.device)
    parameters = list(child.parameters())
    optimiser = torch.optim.Adam(parameters, lr=recipe.learning_rate, weight_decay=recipe.weight_decay, fused=True)
    best, best_right, best_epoch, kept = -math.inf, 0, 0, [p.detach().clone() for p in parameters]
    for epoch in range(recipe.epochs):
        optimiser.zero_grad()
        logits = child(train_field, rng, recipe.dropout)
        cross_entropy(logits, train_labels).backward()
        optimiser.step()
        with torch.no_grad():
            logits = child(val_field)
            right = int((logits.argmax(1) == val_labels).sum())
            merit = right if recipe.checkpoint == "accuracy" else -float(cross_entropy(logits, val_labels))
            if merit > best:
                best, best_right, best_epoch = merit, right, epoch
                for copy, parameter in zip(kept, parameters, strict=True):
                    copy.copy_(parameter)
    with torch.no_grad():
        for copy, parameter in zip(kept, parameters, strict=True):
            parameter.copy_(copy)
    return Trained(to_network(child, data), best_right / max(1, len(val_labels)), best_epoch)


def to_network(child: Child, data: GraphData) -> Network:
    """The parameters of a child as plain arrays, with the input scale of the data."""
    layers = []
    for index, layer in enumerate(child.architecture):
        weight = _array(child.weights[index]).reshape(len(child.weights[index]), layer["k"], -1)
        source, target = map(_array, pair) if (pair := child.attention[index]) else (None, None)
        layers.append(LayerParameters(weight, _array(child.biases[index]), source, target))
    return Network(tuple(layers), input_scale(data))


def _array(parameter: torch.Tensor) -> NDArray[np.float32]:
    return parameter.detach().cpu().numpy().astype(np.float32)


def input_scale(data: GraphData) -> int:
    """The scale s of the stored input x * 2**s, which brings the mean stored feature just below one half."""
    mean = float(data.features.data.mean()) if data.features.nnz else 0.5
    return math.floor(math.log2(0.5 / mean)) if mean > 0 else 0


def restored(architecture: Architecture, network: Network, data: GraphData) -> Child:
    """The child with the parameters of a network."""
    child = Child(architecture, data.width_in, data.classes, np.random.default_rng(0))
    with torch.no_grad():
        for index, layer in enumerate(network.layers):
            child.weights[index].copy_(torch.from_numpy(layer.weight.reshape(len(layer.weight), -1)))
            child.biases[index].copy_(torch.from_numpy(layer.bias))
            if (pair := child.attention[index]) is not None:
                assert layer.attention_source is not None and layer.attention_target is not None
                pair[0].copy_(torch.from_numpy(layer.attention_source))
                pair[1].copy_(torch.from_numpy(layer.attention_target))
    return child


def float_accuracy(architecture: Architecture, network: Network, data: GraphData) -> dict[str, float]:
    """Accuracies of the float network, 0 to 1, on "val" and "test"."""
    child = restored(architecture, network, data)
    result = {}
    with torch.no_grad():
        for split in ("val", "test"):
            nodes = np.flatnonzero(getattr(data, split))
            predicted = child(Field(data, nodes, len(architecture))).argmax(1).numpy()
            result[split] = float((predicted == data.labels[nodes]).mean())
    return result
