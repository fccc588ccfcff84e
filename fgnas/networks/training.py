"""Training of a network with Adam, validated in every epoch; the best epoch by validation accuracy or loss is kept."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from fgnas.errors import UserError
from fgnas.files import canonical_json
from fgnas.network import ATTENTION_VECTORS, LayerParameters, Network, SecondProduct
from fgnas.networks.answers import Answers, answers_of
from fgnas.networks.batch import COMPILED, Batch, Csr, Pass, Reals
from fgnas.networks.model import Architecture, Child, Field, keep_mask, kept_unless_large, rates_of
from fgnas.options import CHECKPOINTS
from fgnas.tasks.nodes import GraphData
from fgnas.tasks.pooled import PooledData


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters of a training, and its device, whose sums differ.

    Rates are those of the FGNAS paper (Table I and section IV-C); dropout, epochs and checkpoint were compared on
    random splits (docs/results/recipe.md). `retrain_epochs` are those of a leader, `checkpoint` what the kept epoch is
    best in, one of `CHECKPOINTS`.
    """

    epochs: int = 200
    retrain_epochs: int = 400
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    dropout: float = 0.6
    device: str = "cpu"
    checkpoint: str = CHECKPOINTS[0]


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained network.

    Attributes:
        network: parameters of the best epoch.
        val: float validation accuracy of that epoch, 0 to 1, or its quality (`fgnas.networks.answers`), whatever it was
            chosen by.
        epoch: its index, from 0.
    """

    network: Network
    val: float
    epoch: int


def recipe_for(dataset: str, device: str = "cpu") -> Recipe:
    """The recipe for a dataset."""
    return Recipe(weight_decay=1e-3 if dataset == "pubmed" else 5e-4, device=device)


def recipe_of(data: GraphData, device: str = "cpu") -> Recipe:
    """The recipe for data; graphs with targets of their own are many, and their networks see all of each."""
    recipe = recipe_for(data.name, device)
    return replace(recipe, dropout=0.0) if isinstance(data, PooledData) else recipe


def of_repetition(recipe: Recipe, repetition: int) -> Recipe:
    """The recipe of a search's own training, repetition 0, or of a retraining."""
    return replace(recipe, epochs=recipe.retrain_epochs) if repetition else recipe


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
    return _seed_of(run_seed, architecture, repetition)


def input_seed(run_seed: int, repetition: int = 0) -> int:
    """The seed of the dropout on the input, for all networks of a run and repetition."""
    return _seed_of("inputs", run_seed, repetition)


def _seed_of(*facts: object) -> int:
    return int.from_bytes(hashlib.sha256(canonical_json(list(facts)).encode()).digest()[:8], "big")


@kept_unless_large(8)
def _fields(data: GraphData, rates: tuple[float, ...], device: str) -> tuple[Field, Answers, Field, Answers]:
    """Receptive field and answers of the training nodes, then those of the validation nodes; `rates` as of `Field`."""
    layers = len(rates)
    train, val = np.flatnonzero(data.train), np.flatnonzero(data.val)
    return (
        Field(data, train, layers, device=device, rates=rates), answers_of(data, "train"),
        Field(data, val, layers, device=device, rates=rates), answers_of(data, "val"),
    )  # fmt: skip


def train(
    data: GraphData, architecture: Architecture, seed: int, recipe: Recipe, input_seed: int | None = None
) -> Trained:
    """Train one network; a pure function of its arguments with equal versions. See `train_many`."""
    return train_many(data, [architecture], [seed], recipe, seed if input_seed is None else input_seed)[0]


def train_many(
    data: GraphData, architectures: Sequence[Architecture], seeds: Sequence[int], recipe: Recipe, input_seed: int
) -> list[Trained]:
    """Train networks with as many layers at once, each with its own seed, bit by bit as it would be trained alone.

    Dropout on the input comes from `input_seed`: all networks see the same features in the same epoch, so that luck
    with them is no difference between networks. On a GPU they are trained one by one, with inputs of their own; so is
    everywhere a network with an attention that has no compiled loop.
    """
    if recipe.device != "cpu":
        return [train_with_torch(data, one, seed, recipe) for one, seed in zip(architectures, seeds, strict=True)]
    compiled = [all(layer["attention"] in COMPILED for layer in one) for one in architectures]
    sampling = [rates_of(architecture) for architecture in architectures]
    found: dict[int, Trained] = {}
    with _blas().limit(limits=1, user_api="blas"):
        for n in (n for n, whole in enumerate(compiled) if not whole):
            found[n] = train_with_torch(data, architectures[n], seeds[n], recipe)
        for rates in dict.fromkeys(sampling):  # networks of one computation see the same edges
            places = [n for n, own in enumerate(sampling) if own == rates and compiled[n]]
            if places:
                chosen, own_seeds = [architectures[n] for n in places], [seeds[n] for n in places]
                found |= zip(places, _trained_together(data, chosen, own_seeds, recipe, input_seed), strict=True)
    return [found[n] for n in range(len(architectures))]


@functools.cache
def _blas() -> ThreadpoolController:
    """The libraries of matrix products, which must run in one thread: others do the rest, and it decides last bits."""
    return ThreadpoolController()


def _trained_together(
    data: GraphData, architectures: Sequence[Architecture], seeds: Sequence[int], recipe: Recipe, input_seed: int
) -> list[Trained]:
    train_field, wanted, val_field, val_wanted = _fields(data, rates_of(architectures[0]), recipe.device)
    rngs = [np.random.default_rng(seed) for seed in seeds]
    children = [Child(one, data.width_in, data.classes, rng) for one, rng in zip(architectures, rngs, strict=True)]
    batch = Batch(children)
    features, val_features = Csr.of(train_field.features), Csr.of(val_field.features)
    # Never the stream of a network with the same number.
    inputs = np.random.default_rng([input_seed, 1])
    rows = [len(block.target_degrees) for block in train_field.blocks[:-1]]
    all_kept = [np.ones((len(block.target_degrees), 1), np.float32) for block in val_field.blocks[:-1]]
    merits, found = np.full(len(batch), -np.inf), np.zeros((2, len(batch)))
    for epoch in range(recipe.epochs):
        seen = features.dropped(inputs, recipe.dropout)
        at_work = Pass(batch, train_field, seen, _masks(batch, rngs, rows, recipe.dropout))
        at_work.backward(wanted.gradient(at_work.logits))
        batch.step(recipe.learning_rate, recipe.weight_decay)
        logits = Pass(batch, val_field, val_features, all_kept).logits
        quality = val_wanted.quality(logits)
        merit = quality if recipe.checkpoint == "accuracy" else -val_wanted.losses(logits)
        for n in np.flatnonzero(merit > merits).tolist():
            batch.keep(n)
            merits[n], found[:, n] = merit[n], (quality[n], epoch)
    for place, child in enumerate(children):
        batch.restore(place, child)
    return [
        Trained(to_network(child, data), float(quality), int(epoch))
        for child, quality, epoch in zip(children, *found, strict=True)
    ]


def _masks(batch: Batch, rngs: Sequence[np.random.Generator], rows: Sequence[int], dropout: float) -> list[Reals]:
    """Dropout of the hidden values of each layer, every network's from its own generator."""
    masks = [np.empty((count, layout.width), np.float32) for count, layout in zip(rows, batch.layouts, strict=False)]
    for n, rng in enumerate(rngs):
        for mask, layout in zip(masks, batch.layouts, strict=False):
            own = mask[:, layout.columns[n]]
            own[...] = keep_mask(rng, own.shape, dropout)
    return masks


def train_with_torch(data: GraphData, architecture: Architecture, seed: int, recipe: Recipe) -> Trained:
    """Train one network by autograd: on a GPU, or with an attention that has no compiled loop."""
    train_field, wanted, val_field, val_wanted = _fields(data, rates_of(architecture), recipe.device)
    rng = np.random.default_rng(seed)
    child = Child(architecture, data.width_in, data.classes, rng, device=recipe.device)
    parameters = list(child.parameters())
    optimiser = torch.optim.Adam(parameters, lr=recipe.learning_rate, weight_decay=recipe.weight_decay, fused=True)
    best, best_quality, best_epoch, kept = -math.inf, 0.0, 0, [p.detach().clone() for p in parameters]
    for epoch in range(recipe.epochs):
        optimiser.zero_grad()
        logits = child(train_field, rng, recipe.dropout)
        wanted.loss(logits).backward()
        optimiser.step()
        with torch.no_grad():
            logits = child(val_field)
            quality = float(val_wanted.quality(logits.cpu().numpy()))
            merit = quality if recipe.checkpoint == "accuracy" else -float(val_wanted.loss(logits))
            if merit > best:
                best, best_quality, best_epoch = merit, quality, epoch
                for copy, parameter in zip(kept, parameters, strict=True):
                    copy.copy_(parameter)
    with torch.no_grad():
        for copy, parameter in zip(kept, parameters, strict=True):
            parameter.copy_(copy)
    return Trained(to_network(child, data), best_quality, best_epoch)


def to_network(child: Child, data: GraphData) -> Network:
    """The parameters of a child as plain arrays, with the input scale of the data."""
    layers = []
    for index, layer in enumerate(child.architecture):
        weight = _array(child.weights[index]).reshape(len(child.weights[index]), layer["k"], -1)
        vectors: dict[str, Any] = dict(zip(ATTENTION_VECTORS, map(_array, child.attention[index] or ()), strict=False))
        pair = child.seconds[index]
        second = None if pair is None else SecondProduct(_array(pair[0]), _array(pair[1]))
        layers.append(LayerParameters(weight, _array(child.biases[index]), **vectors, mlp=second))
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
            for name, vector in zip(ATTENTION_VECTORS, child.attention[index] or (), strict=False):
                vector.copy_(torch.from_numpy(getattr(layer, name)))
            if (second := child.seconds[index]) is not None and layer.mlp is not None:
                for tensor, values in zip(second, (layer.mlp.weight, layer.mlp.bias), strict=True):
                    tensor.copy_(torch.from_numpy(values))
    return child


def float_accuracy(architecture: Architecture, network: Network, data: GraphData) -> dict[str, float]:
    """Accuracies of the float network, 0 to 1, on "val" and "test"; of graphs with other targets their quality, see
    `fgnas.networks.answers`."""
    child = restored(architecture, network, data)
    result = {}
    with torch.no_grad():
        for split in ("val", "test"):
            nodes = np.flatnonzero(getattr(data, split))
            if not len(nodes):  # the graphs of a start all test
                continue
            logits = child(Field(data, nodes, len(architecture), rates=rates_of(architecture))).numpy()
            result[split] = float(answers_of(data, split).quality(logits))
    return result
