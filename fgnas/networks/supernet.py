"""A supernet of message-passing networks: one set of weights, of which every network is a slice.

Source: G-CoS, sections IV-D and V-A. Widths and heads are slices of shared weights; the vectors of an attention are
shared among networks with the same type of attention alone. An update adds the gradients of several uniform networks,
where the paper's has one.
"""

from __future__ import annotations

import functools
import hashlib
import io
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fgnas.design import MLP, VECTORS, Design
from fgnas.errors import UserError
from fgnas.files import replace_file
from fgnas.fixedpoint import FixedPoint
from fgnas.network import LayerParameters, Network, SecondProduct
from fgnas.networks import kernels
from fgnas.networks.answers import Answers, answers_of
from fgnas.networks.batch import BETAS, COMPILED, Batch, Csr, Pass, Reals
from fgnas.networks.calibration import INPUT_REACH, SCALES, best_scale, calibrated_logits, gathered_samples, thinned
from fgnas.networks.model import Architecture, Child, Field, Step, glorot, keep_mask, kept_unless_large, rates_of
from fgnas.networks.training import input_scale
from fgnas.tasks.nodes import GraphData

WITH_VECTORS = tuple(name for name in COMPILED if name in VECTORS)
"""Attentions that it trains whose scores have weights of their own."""
SAVED_EVERY = 10
"""Updates between two checkpoints."""

Draw = Callable[[int, np.random.Generator], list[Architecture]]
"""Draws so many uniform networks."""


@dataclass(frozen=True)
class SupernetRecipe:
    """The training of a supernet.

    Attributes:
        updates: steps of Adam, each with the gradient on all training nodes.
        paths: uniform networks whose gradients an update adds up.
        learning_rate: of the first update; it falls to zero along half a cosine. With a constant rate the last few
            updates decide which networks look good.
    """

    updates: int = 600
    paths: int = 16
    learning_rate: float = 0.0025
    weight_decay: float = 5e-4
    dropout: float = 0.6

    def rate(self, update: int) -> float:
        """The learning rate of an update, counted from 0."""
        return self.learning_rate * (1 + math.cos(math.pi * update / self.updates)) / 2


@dataclass(frozen=True)
class Bounds:
    """The shape of a supernet: for each layer the most heads and features, the attentions with vectors, and whether
    some aggregation is mlp."""

    width_in: int
    heads: tuple[int, ...]
    features: tuple[int, ...]
    attentions: tuple[str, ...]
    mlp: bool = False


class Supernet:
    """The shared weights in one flat array, and views of its parts.

    Attributes:
        flat: all weights.
        weights: for each layer [rows, heads, features]; rows are [width_in], or [heads, features] of the layer before.
        biases: for each layer [heads, features], of the last [classes].
        vectors: for each layer {attention: [2, heads, features]} of the sending and of the receiving node.
        seconds: for each layer the weight of the second product, [heads, features, heads, features], of the last
            [heads, features, classes], and the bias before it, [heads, features]; none where no aggregation is mlp.
    """

    def __init__(self, bounds: Bounds, flat: Reals | None = None) -> None:
        self.bounds = bounds
        sizes = list(zip(bounds.heads, bounds.features, strict=True))
        rows: list[tuple[int, ...]] = [(bounds.width_in,), *sizes[:-1]]
        shapes: list[tuple[int, ...]] = [(*before, *own) for before, own in zip(rows, sizes, strict=True)]
        shapes += [*sizes[:-1], sizes[-1][1:]]
        shapes += [(2, *own) for own in sizes for _ in bounds.attentions]
        behind: list[tuple[int, ...]] = [*sizes[:-1], sizes[-1][1:]]
        if bounds.mlp:
            shapes += [shape for own, then in zip(sizes, behind, strict=True) for shape in ((*own, *then), own)]
        ends = list(itertools.accumulate(math.prod(shape) for shape in shapes))
        self.flat = np.zeros(ends[-1], np.float32) if flat is None else flat
        parts = [part.reshape(shape) for part, shape in zip(np.split(self.flat, ends[:-1]), shapes, strict=True)]
        layers = len(sizes)
        self.weights, self.biases = parts[:layers], parts[layers : 2 * layers]
        rest = iter(parts[2 * layers :])
        self.vectors = [{name: next(rest) for name in bounds.attentions} for _ in range(layers)]
        self.seconds = [(next(rest), next(rest)) for _ in range(layers * bounds.mlp)]

    @classmethod
    def initial(cls, bounds: Bounds, rng: np.random.Generator) -> Supernet:
        """Glorot's weights for the widest network, zero biases."""
        found = cls(bounds)
        for weight in found.weights:
            rows = math.prod(weight.shape[:-2])
            weight[...] = glorot(rng, rows, math.prod(weight.shape[-2:])).reshape(weight.shape)
        for vectors in found.vectors:
            for pair in vectors.values():
                for vector in pair:
                    vector[...] = glorot(rng, *vector.shape)
        for weight, bias in found.seconds:
            weight[...] = glorot(rng, bias.size, weight.size // bias.size).reshape(weight.shape)
        return found

    def slices(self, architecture: Architecture) -> Iterator[Reals]:
        """Views of the parts of one network, layer by layer: weight, bias, the vectors of its attention, and the weight
        and the bias of its second product. The bias behind a layer's last product is that of all networks."""
        before: tuple[slice, ...] = (slice(None),)
        for place, layer in enumerate(architecture):
            own = slice(layer["k"]), slice(layer["d"])  # None, in the last layer, is all classes
            behind: tuple[slice, ...] = own if place < len(architecture) - 1 else (slice(None),)
            mlp = layer["aggregation"] == MLP
            yield self.weights[place][(*before, *own)]
            yield self.seconds[place][1][own] if mlp else self.biases[place][behind]
            if layer["attention"] in WITH_VECTORS:
                yield from self.vectors[place][layer["attention"]][(slice(None), *own)]
            if mlp:
                yield self.seconds[place][0][(*own, *behind)]
                yield self.biases[place][behind]
            before = own

    def network(self, architecture: Architecture, data: GraphData) -> Network:
        """One network with copies of its weights, not calibrated."""
        parts, layers = self.slices(architecture), []
        for layer in architecture:
            weight, bias = next(parts), next(parts)
            weight = weight.reshape(-1, *weight.shape[-2:]).copy()
            of_sender, of_receiver = (
                (next(parts).copy(), next(parts).copy()) if layer["attention"] in WITH_VECTORS else (None, None)
            )
            second = None
            if layer["aggregation"] == MLP:
                second = SecondProduct(next(parts).reshape(bias.size, -1).copy(), next(parts).ravel().copy())
            layers.append(LayerParameters(weight, bias.ravel().copy(), of_sender, of_receiver, mlp=second))
        return Network(tuple(layers), input_scale(data))


def train(
    data: GraphData,
    bounds: Bounds,
    draw: Draw,
    recipe: SupernetRecipe,
    seed: int,
    checkpoint: Path,
    on_update: Callable[[int], None] = lambda update: None,
) -> Supernet:
    """Train a supernet; it continues after the last checkpoint, to the same bits."""
    state = _State.load(checkpoint, bounds) or _State.initial(bounds, np.random.default_rng([seed, 0]))
    for update in range(state.updates, recipe.updates):
        # An update depends on its own number alone, so a resumed training repeats it exactly.
        rng = np.random.default_rng([seed, 1 + update])
        gradient = _gradient_of_all(state.supernet, draw(recipe.paths, rng), data, recipe, rng)
        state.step(gradient, recipe)
        if state.updates % SAVED_EVERY == 0 or state.updates == recipe.updates:
            state.save(checkpoint)
        on_update(state.updates)
    return state.supernet


@dataclass(eq=False)
class _State:
    """A supernet in training, with the means of Adam."""

    supernet: Supernet
    mean: Reals
    square: Reals
    updates: int

    @classmethod
    def initial(cls, bounds: Bounds, rng: np.random.Generator) -> _State:
        supernet = Supernet.initial(bounds, rng)
        return cls(supernet, np.zeros_like(supernet.flat), np.zeros_like(supernet.flat), 0)

    @classmethod
    def load(cls, path: Path, bounds: Bounds) -> _State | None:
        """The state in a checkpoint; None where there is none."""
        if not path.is_file():
            return None
        arrays = _arrays(path.read_bytes())
        return cls(Supernet(bounds, arrays["flat"]), arrays["mean"], arrays["square"], int(arrays["updates"]))

    def save(self, path: Path) -> None:
        """Replace the checkpoint, whole or not at all."""
        buffer = io.BytesIO()
        np.savez(
            buffer, flat=self.supernet.flat, mean=self.mean, square=self.square, updates=np.int64(self.updates)
        )  # fmt: skip
        replace_file(path, buffer.getvalue())

    def step(self, gradient: Reals, recipe: SupernetRecipe) -> None:
        """One step of Adam along the gradient."""
        rate = recipe.rate(self.updates)
        self.updates += 1
        arrays = (self.supernet.flat, gradient, self.mean, self.square)
        kernels.adam(*arrays, rate, recipe.weight_decay, self.updates, BETAS)


@kept_unless_large(32)
def _training(data: GraphData, rates: tuple[float, ...]) -> tuple[Field, Csr, Answers]:
    """The receptive field of the training nodes, its features and what is wanted of them, where layers keep these
    shares of the edges."""
    field = Field(data, np.flatnonzero(data.train), len(rates), rates=rates)
    return field, Csr.of(field.features), answers_of(data, "train")


def _gradient_of_all(
    supernet: Supernet, paths: Sequence[Architecture], data: GraphData, recipe: SupernetRecipe,
    rng: np.random.Generator,
) -> Reals:  # fmt: skip
    """The gradient of the summed losses of some paths; those that see the same edges are one computation."""
    found = []
    for rates in dict.fromkeys(map(rates_of, paths)):
        own = [path for path in paths if rates_of(path) == rates]
        found.append(_gradient(supernet, own, *_training(data, rates), recipe, rng))
    return functools.reduce(np.add, found)


def _gradient(
    supernet: Supernet, paths: Sequence[Architecture], field: Field, features: Csr, wanted: Answers,
    recipe: SupernetRecipe, rng: np.random.Generator,
) -> Reals:  # fmt: skip
    """The gradient of the summed losses of some paths, which see the same dropout of the features."""
    batch = batch_of(supernet, paths)
    seen = features.dropped(rng, recipe.dropout)
    hidden = zip(field.blocks[:-1], batch.layouts[:-1], strict=True)
    masks = [keep_mask(rng, (len(block.target_degrees), layout.width), recipe.dropout) for block, layout in hidden]
    at_work = Pass(batch, field, seen, masks)
    at_work.backward(wanted.gradient(at_work.logits))
    found = Supernet(supernet.bounds)
    for number, path in enumerate(paths):
        for whole, part in zip(found.slices(path), batch.gradients(number), strict=True):
            whole += part.reshape(whole.shape)
    return found.flat


def batch_of(supernet: Supernet, paths: Sequence[Architecture]) -> Batch:
    """Networks side by side, with copies of their slices."""
    return Batch([child_of(supernet, path) for path in paths])


def child_of(supernet: Supernet, architecture: Architecture) -> Child:
    """A network with copies of its slices."""
    child: Child = object.__new__(Child)  # without the random weights that a new one gets
    child.architecture, child.classes = architecture, supernet.bounds.features[-1]
    child.weights, child.biases, child.attention, child.seconds = [], [], [], []
    parts = (torch.from_numpy(np.array(part, np.float32)) for part in supernet.slices(architecture))
    for layer in architecture:
        weight, bias = next(parts), next(parts)
        child.weights.append(weight.reshape(-1, math.prod(weight.shape[-2:])))
        child.biases.append(bias.reshape(-1))
        child.attention.append((next(parts), next(parts)) if layer["attention"] in WITH_VECTORS else None)
        mlp = layer["aggregation"] == MLP
        child.seconds.append((next(parts).reshape(bias.numel(), -1), next(parts).reshape(-1)) if mlp else None)
    return child


def load(path: Path, bounds: Bounds, sha256: str) -> Supernet:
    """The supernet in a checkpoint. Raises UserError for another content."""
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise UserError(f"{path} is not the supernet of this run: it is damaged; start a new run")
    return Supernet(bounds, _arrays(content)["flat"])


def _arrays(content: bytes) -> dict[str, NDArray[Any]]:
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


@torch.no_grad()
def accuracies(supernet: Supernet, design: Design, data: GraphData) -> dict[str, float]:
    """Validation accuracy of a design with the supernet's weights: rounded in its formats ("val"), and in float.

    Every tensor has the scale of its own least rounding error, the first step of calibration.
    """
    field, wanted = _validation(data, design.rates)
    child, steps = child_of(supernet, design.architecture()), list[Step]()
    logits = child(field, steps=steps)
    scales = {(0, "input"): _input_scale(data, design.layers[0].value_format())}
    for place, (layer, step) in enumerate(zip(design.layers, steps, strict=True)):
        values = [thinned(step.h.numpy())]
        if step.z is not None or step.second is not None:
            values.append(thinned((step.y + child.biases[place]).numpy()))
        scales[place, "value"] = best_scale(layer.value_format, values)
        vectors = [child.weights[place], *(child.attention[place] or ())]
        weights = thinned(np.concatenate([vector.numpy().ravel() for vector in vectors]))
        scales[place, "weight"] = best_scale(layer.weight_format, [weights])
        if (second := child.seconds[place]) is not None and step.second is not None:
            scales[place, "mlp_weight"] = best_scale(layer.weight_format, [thinned(second[0].numpy())])
            scales[place, "mlp_value"] = best_scale(layer.value_format, [thinned((step.second + second[1]).numpy())])
        if step.z is not None:
            scales[place, "output"] = best_scale(layer.value_format, [thinned(step.z.numpy())])
    for (place, name), values in gathered_samples(child, field, steps).items():
        if (layer := design.layers[place]).gathers_first:
            scales[place, name] = best_scale(layer.weight_format if name == "weight" else layer.value_format, values)
    found = {"val": calibrated_logits(design, child, field, scales), "float_val": logits}
    return {name: float(wanted.quality(values.numpy())) for name, values in found.items()}


@kept_unless_large(32)
def _validation(data: GraphData, rates: tuple[float, ...]) -> tuple[Field, Answers]:
    return Field(data, np.flatnonzero(data.val), len(rates), rates=rates), answers_of(data, "val")


@functools.lru_cache(maxsize=32)
def _input_scale(data: GraphData, number: FixedPoint) -> int:
    """The scale of the features in a format, given without a scale."""
    middle = input_scale(data)
    offered = range(min(SCALES.start, middle - INPUT_REACH), max(SCALES.stop, middle + INPUT_REACH + 1))

    def scaled(scale: int) -> FixedPoint:
        return FixedPoint(number.width, number.fraction_bits + scale)

    return best_scale(scaled, [thinned(data.features.data)], offered)
