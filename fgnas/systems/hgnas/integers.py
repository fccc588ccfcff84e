"""The front end of networks of operations: trained weights, and clouds that calibrate, become an integer network.

Tensors have scales of their own (`fgnas.networks.scaled`). A dense layer takes the statistics of its norm into weights
and bias. Graphs of nearest neighbours are made from codes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from fgnas.errors import UserError
from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.integer import interpreter
from fgnas.hardware.integer.add import Add
from fgnas.hardware.integer.concatenate import Concatenate
from fgnas.hardware.integer.neighbourhood import Neighbourhood
from fgnas.hardware.integer.network import FEATURES, IntegerNetwork
from fgnas.hardware.integer.sample import Sample as IntegerSample
from fgnas.networks.points.graphs import Batch
from fgnas.networks.points.model import GRAPH_SEED, Dense, PointModel, State, readout, started, step
from fgnas.networks.points.operations import (
    PARTS,
    Aggregate,
    Combine,
    Connect,
    EdgeConv,
    Join,
    Operation,
    Sample,
)
from fgnas.networks.points.training import graphs_of
from fgnas.networks.points.work import Cloud
from fgnas.networks.scaled import READOUT, Clouds, Numbers, ScaledBuilder, fitted, logits
from fgnas.tasks.points import GraphSet

CALIBRATED_ON = 64
"""Training clouds from which scales are taken."""
PASSES = 2
"""Passes over all scales."""


def network_of(model: PointModel, data: GraphSet, bits: int = 8, passes: int = PASSES) -> IntegerNetwork:
    """The integers of a trained network in formats of so many bits, whose scales are changed in so many passes.

    Raises UserError for clouds of unequal numbers of points and for data with edges.
    """
    return formats_of(model, data, bits, passes)[0]


def formats_of(
    model: PointModel, data: GraphSet, bits: int = 8, passes: int = PASSES
) -> tuple[IntegerNetwork, Numbers]:
    """`network_of`, and the formats of its tensors by name."""
    cloud, given = _calibrating(data)
    with torch.no_grad():
        wanted = torch.softmax(model(given.x, given.batch), dim=1).numpy()
        return fitted(lambda numbers: built(model, cloud, given, bits, numbers), given.clouds, wanted, passes)


def with_formats(model: PointModel, data: GraphSet, bits: int, numbers: Numbers) -> IntegerNetwork:
    """The integers of a trained network in these formats."""
    cloud, given = _calibrating(data)
    with torch.no_grad():
        return built(model, cloud, given, bits, dict(numbers))


@dataclass(frozen=True, eq=False)
class Given:
    """Clouds [B, N, F] that choose scales, and the same as points of a batch."""

    clouds: Clouds
    x: Tensor
    batch: Batch


def _calibrating(data: GraphSet) -> tuple[Cloud, Given]:
    """The shape of the data's clouds, and its first training clouds, on which formats are chosen."""
    if data.points is None or data.edge_index is not None:
        raise UserError(f"{data.name} has no clouds of equal numbers of points: hardware makes graphs of those alone")
    cloud = Cloud(data.points, data.width_in, data.neighbours, data.classes)
    x, batch, _ = graphs_of(data, np.flatnonzero(data.train)[:CALIBRATED_ON])
    return cloud, Given(x.numpy().reshape(-1, data.points, data.width_in), x, batch)


def built(model: PointModel, cloud: Cloud, given: Given, bits: int, numbers: Numbers) -> IntegerNetwork:
    """The network with these formats; a tensor that has none gets the one of the smallest error."""
    builder = _Builder(cloud.width, bits, numbers, cloud=cloud)
    builder.begin(given.x)
    state = started(given.x, given.batch)
    for place, one in enumerate(model.network.operations):
        builder.operation(place, one, state, model)
    return _tail(builder, model, state)


@dataclass(kw_only=True)
class _Builder(ScaledBuilder):
    """Appends the steps of a network, and works the float network beside them to see what its tensors hold.

    Attributes:
        at, before: names of the current value, and of the value before the last change.
        sampled: the sample that aggregates read, made when the first of them asks.
        joined: values behind EdgeConvs.
    """

    cloud: Cloud
    at: str = FEATURES
    before: str | None = None
    sampled: tuple[str, str] | str | None = None
    drawn: int = 0
    joined: list[str] = field(default_factory=list)

    def change(self, name: str) -> None:
        """Other features."""
        self.before, self.at = self.at, name

    def operation(self, place: int, one: Operation, state: State, model: PointModel) -> None:
        """Append an operation, and work it in floats."""
        match one:
            case Sample():
                self.sampled = (one.function, self.at)
                step(state, one)
            case Combine():
                layer = model.layers[str(place)]
                assert isinstance(layer, Dense)
                self.change(self.dense(str(place), *layer.folded(), self.at, state.x))
                state.change(layer(state.x))
            case Connect():
                before = state.x
                step(state, one)
                if state.x is not before:
                    self._skip(str(place), state.x)
            case Aggregate():
                before = state.x
                step(state, one)
                if state.x is not before:
                    self._aggregate(str(place), one, state.x)
            case EdgeConv():
                layer = model.layers[str(place)]
                assert isinstance(layer, Dense)
                self._edgeconv(str(place), layer, state)
            case Join():
                step(state, one)
                self._join(str(place), state.x)

    def neighbours(self) -> str:
        """The name of the current neighbours' indices."""
        assert self.sampled is not None, "a canonical form samples before it aggregates"
        if isinstance(self.sampled, tuple):
            function, at = self.sampled
            ordinal, self.drawn = self.drawn, self.drawn + (function == "random")
            made = IntegerSample(
                "nearest" if function == "nearest" else "random", self.cloud.points,
                min(self.cloud.neighbours, self.cloud.points), GRAPH_SEED, ordinal if function == "random" else 0,
            )  # fmt: skip
            self.sampled = self.add(f"neighbours{sum(isinstance(one.operation, IntegerSample) for one in self.steps)}",
                                    made, at)  # fmt: skip
        return self.sampled

    def _aggregate(self, name: str, one: Aggregate, x: Tensor) -> None:
        neighbours, at, parts = self.neighbours(), self.at, PARTS[one.message]
        number = given = self.values[at].number
        if one.reducer == "sum" or set(parts) - {"source", "target"}:  # else they have no larger numbers
            # Never finer than x, which is subtracted from what is rounded to this format.
            number = replace(number, fraction_bits=min(given.fraction_bits, self.format(name, x.numpy()).fraction_bits))
        names = list[str]()
        for part in parts:
            whole = f"{name}.{part}.rounded" if len(parts) > 1 else name
            if part == "relative" and one.reducer != "sum":
                found = self.reduced(f"{whole}.source", one.reducer, "source", at, neighbours, number)
                less = Add(given.fraction_bits - number.fraction_bits, number, minus=True)
                names.append(self.add(whole, less, found, at))
            else:
                names.append(self.reduced(whole, one.reducer, part, at, neighbours, number))
        if len(names) > 1:
            self.add(name, Concatenate(), *names)
        self.change(name)

    def reduced(
        self, name: str, reducer: str, part: str, at: str, neighbours: str, number: FixedPoint
    ) -> str:  # fmt: skip
        """Append what neighbours send, reduced to a row in a format; returns its name."""
        shift = self.values[at].number.fraction_bits - number.fraction_bits
        made = Neighbourhood(self.cloud.points, reducer, part, shift)  # type: ignore[arg-type]
        return self.rounded(name, self.add(f"{name}.exact", made, at, neighbours), number)

    def _skip(self, name: str, x: Tensor) -> None:
        """The current value plus the one before it, added in the finer of their fraction bits, then rounded."""
        assert self.before is not None, "a canonical form has a skip where there is something to add"
        self.change(self.added(name, self.at, self.before, self.format(name, x.numpy())))

    def _edgeconv(self, name: str, layer: Dense, state: State) -> None:
        """relu((W1 - W2) x_i + b + max_j W2 x_j): products of points are gathered, whatever the float network does."""
        graph = state.read()
        weight, bias = layer.folded()
        own, other = weight.chunk(2, dim=1)
        mine, theirs = functional.linear(state.x, own - other) + bias, functional.linear(state.x, other)
        largest = graph.reduce(Aggregate("max", "source"), theirs) if graph is not None else theirs
        output = functional.relu(mine + largest)
        number = self.format(name, output.numpy())
        here = self.dense(f"{name}.own", own - other, bias, self.at, state.x, relu=False)
        there = self.product(f"{name}.other", other, self.at, self.format(f"{name}.other", theirs.numpy()))
        found = self.reduced(f"{name}.max", "max", "source", there, self.neighbours(), number)
        shift = self.values[here].number.fraction_bits - number.fraction_bits
        total = self.add(f"{name}.sum", Add(shift, number), found, here)
        self.change(self.activated(name, total, torch.zeros(len(bias)), number, number))
        self.joined.append(name)
        state.change(output)
        state.joined.append(output)

    def _join(self, name: str, x: Tensor) -> None:
        number = self.format(name, x.numpy())
        names = [self.rounded(f"{name}.{one}", one, number) for one in self.joined]
        self.change(self.add(name, Concatenate(), *names))


def _tail(builder: _Builder, model: PointModel, state: State) -> IntegerNetwork:
    """The tail: a dense layer, the maximum and the mean of every cloud, dense layers, logits."""
    tail = model.tail
    x = tail.embedding(state.x)
    at = builder.dense("embedding", *tail.embedding.folded(), builder.at, state.x)
    x = readout(x, state.batch)
    names = [builder.readout(f"readout.{reducer}", reducer, at) for reducer in ("max", "mean")]
    at = builder.add("readout", Concatenate(), *names, graph=READOUT)
    for place, layer in enumerate(tail.hidden):
        assert isinstance(layer, Dense)
        at = builder.dense(f"hidden{place}", *layer.folded(), at, x, graph=READOUT)
        x = layer(x)
    builder.logits(tail.logits.weight, tail.logits.bias, at, x)
    return builder.network()


def accuracy(integers: IntegerNetwork, data: GraphSet, split: str) -> float:
    """Share of the clouds of "train", "val" or "test" whose largest logit is their class's, 0 to 1."""
    clouds, labels = data.clouds(split)
    return float((interpreter.predict(logits(integers, clouds)) == labels).mean())
