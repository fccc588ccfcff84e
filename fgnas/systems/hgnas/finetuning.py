"""Fine-tuning of networks of operations: training continues with the roundings of their integers in the forward pass.

Graphs are those of rounded features. Norms are folded into their layers before, with the statistics of the training. A
rounding has no gradient, so that of its argument is used (Bengio et al., 2013).
"""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.integer.network import FEATURES, IntegerNetwork
from fgnas.networks.points import training
from fgnas.networks.points.graphs import Batch
from fgnas.networks.points.model import DROPOUT, Dense, PointModel, readout, started, step
from fgnas.networks.points.operations import Aggregate, Combine, Connect, EdgeConv, Join
from fgnas.networks.rounding import straight_through
from fgnas.networks.scaled import Numbers
from fgnas.progress import step as shown_step
from fgnas.systems.hgnas.integers import PASSES, accuracy, formats_of, with_formats
from fgnas.tasks.points import GraphSet

LOST = 0.005
"""Validation accuracy that a network may lose in integers before it is fine-tuned."""
EPOCHS, LEARNING_RATE = 12, 5e-4
STREAM = 1
"""Separates its random numbers from those of the training."""


def quantised(model: PointModel, data: GraphSet, bits: int, seed: int = 0, passes: int = PASSES) -> IntegerNetwork:
    """The integers of a trained network in formats of so many bits: calibrated, and fine-tuned where calibration loses
    more than `LOST` on the validation split and fine-tuning brings some of it back.

    A pure function of its arguments, in one thread. Raises UserError for clouds that no hardware takes.
    """
    calibrated, numbers = formats_of(model, data, bits, passes)
    before = accuracy(calibrated, data, "val")
    if training.accuracy(model, data, "val") - before <= LOST or not can_be_tuned(model):
        return calibrated
    with shown_step("fine-tune in integers"):
        tuned = with_formats(fine_tuned(model, numbers, data, seed), data, bits, numbers)
    return tuned if accuracy(tuned, data, "val") > before else calibrated


def can_be_tuned(model: PointModel) -> bool:
    """Whether a network is one of the space; a baseline's EdgeConvs are not fine-tuned."""
    return not any(isinstance(one, (EdgeConv, Join)) for one in model.network.operations)


def fine_tuned(model: PointModel, numbers: Numbers, data: GraphSet, seed: int) -> PointModel:
    """The weights of the epoch with the best rounded validation accuracy, the first of equals; the model itself counts
    as one. Formats stay. Norms of the result change nothing."""
    rounded = RoundedModel(model, numbers)
    recipe = replace(training.recipe_of(data), epochs=EPOCHS, learning_rate=LEARNING_RATE)
    optimiser = torch.optim.AdamW(rounded.parameters(), LEARNING_RATE, weight_decay=recipe.weight_decay, fused=True)
    best, kept = training.accuracy(rounded.eval(), data, "val"), copy.deepcopy(rounded.state_dict())
    for epoch in range(EPOCHS):
        rng = np.random.default_rng([seed, STREAM, epoch])
        training.train_epoch(rounded.train(), optimiser, data, recipe, epoch, rng)
        if (found := training.accuracy(rounded.eval(), data, "val")) > best:
            best, kept = found, copy.deepcopy(rounded.state_dict())
    rounded.load_state_dict(kept)
    return rounded.model()


class Folded(nn.Module):
    """W x + b, with a norm's statistics in both."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(weight.detach().clone()), nn.Parameter(bias.detach().clone())

    def forward(self, x: Tensor, weight: FixedPoint, output: FixedPoint) -> Tensor:
        """relu of rounded rows [n, C], rounded to a format; so are weights and bias."""
        total = functional.linear(x, straight_through(self.weight, weight), straight_through(self.bias, output))
        return straight_through(functional.relu(total), output)


class RoundedModel(nn.Module):
    """A network that rounds as its integers do, to the formats of their tensors."""

    def __init__(self, model: PointModel, numbers: Numbers) -> None:
        super().__init__()
        self.original, self.numbers = [model], numbers  # in a list: its parameters are not these
        self.layers = nn.ModuleDict({place: _folded(layer) for place, layer in model.layers.items()})
        self.embedding = _folded(model.tail.embedding)
        self.hidden = nn.ModuleList(_folded(layer) for layer in model.tail.hidden)
        self.logits = nn.Linear(model.tail.logits.in_features, model.tail.logits.out_features)
        self.logits.load_state_dict(model.tail.logits.state_dict())

    def forward(self, x: Tensor, batch: Batch) -> Tensor:
        """[B, classes] logits of points x [n, F]."""
        numbers = self.numbers
        number = numbers[FEATURES]
        state = started(straight_through(x, number), batch)
        for place, one in enumerate(self.original[0].network.operations):
            name, before = str(place), state.x
            if isinstance(one, Combine):
                state.change(self._layer(self.layers[name], name, state.x))
                number = numbers[name]
                continue
            step(state, one)
            if state.x is before:
                continue
            if name in numbers:
                fine = numbers[name]
                finest = min(number.fraction_bits, fine.fraction_bits)
                number = replace(fine, fraction_bits=finest) if isinstance(one, Aggregate) else fine
            assert isinstance(one, (Aggregate, Connect))
            state.x = straight_through(state.x, number)
        return self._tail(self._layer(self.embedding, "embedding", state.x), batch)

    def _layer(self, layer: nn.Module, name: str, x: Tensor) -> Tensor:
        found: Tensor = layer(x, self.numbers[f"{name}.product.weight"], self.numbers[name])
        return found

    def _tail(self, x: Tensor, batch: Batch) -> Tensor:
        x = straight_through(readout(x, batch), self.numbers["embedding"])
        for place, layer in enumerate(self.hidden):
            x = functional.dropout(self._layer(layer, f"hidden{place}", x), DROPOUT, self.training)
        weight = straight_through(self.logits.weight, self.numbers["logits.product.weight"])
        return functional.linear(x, weight, self.logits.bias)

    @torch.no_grad()
    def model(self) -> PointModel:
        """The float network with these weights, whose norms change nothing."""
        found = copy.deepcopy(self.original[0])
        for place, layer in found.layers.items():
            _unfold(layer, self.layers[place])
        _unfold(found.tail.embedding, self.embedding)
        for hidden, own in zip(found.tail.hidden, self.hidden, strict=True):
            _unfold(hidden, own)
        found.tail.logits.load_state_dict(self.logits.state_dict())
        return found.eval()


def _folded(layer: nn.Module) -> Folded:
    assert isinstance(layer, Dense)
    return Folded(*layer.folded())


def _unfold(layer: nn.Module, own: nn.Module) -> None:
    """Give a layer the weights of a folded one, and a norm without effect but for its bias."""
    assert isinstance(layer, Dense) and isinstance(own, Folded)
    norm = layer.norm
    assert norm.running_mean is not None and norm.running_var is not None
    layer.linear.weight.copy_(own.weight)
    norm.bias.copy_(own.bias)
    norm.weight.fill_(math.sqrt(1 + norm.eps))
    norm.running_mean.zero_()
    norm.running_var.fill_(1)
