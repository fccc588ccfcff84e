"""The front end of networks of operations: trained weights, and clouds that calibrate, become an integer network.

Every tensor has a power-of-two scale of its own: first the one with the smallest squared error on the training clouds,
then its neighbour as long as that brings the classes closer to the float network's. A dense layer takes the statistics
of its norm into weights and bias. Graphs of nearest neighbours are made from codes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from fgnas.errors import UserError
from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware import wire
from fgnas.hardware.integer import interpreter
from fgnas.hardware.integer.add import Add
from fgnas.hardware.integer.apply import Apply
from fgnas.hardware.integer.combine import Combine as Product
from fgnas.hardware.integer.concatenate import Concatenate
from fgnas.hardware.integer.gather import Gather
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.neighbourhood import Neighbourhood, Reducer
from fgnas.hardware.integer.network import FEATURES, IntegerNetwork, Step
from fgnas.hardware.integer.operation import Operation as IntegerOperation
from fgnas.hardware.integer.rescale import Rescale
from fgnas.hardware.integer.sample import Sample as IntegerSample
from fgnas.hardware.integer.tables import activation_table
from fgnas.hardware.integer.value import EXACT_BITS, Rows, Value
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
from fgnas.tasks.points import GraphSet

Reals = NDArray[np.float64]

CLOUDS, READOUT = 0, 1
"""The graphs of a network: the points of all clouds, and the clouds that they belong to."""
CALIBRATED_ON = 64
"""Training clouds from which scales are taken."""
SCALES = range(-8, 24)
"""Fraction bits that a tensor may have."""
PASSES = 2
"""Passes over all scales."""
VALUES_SEEN = 65_536
"""Values of a tensor that choose its scale; a larger tensor is sampled evenly."""
RUN_TOGETHER = 50


Numbers = dict[str, FixedPoint]
"""The format of each tensor, by its name."""


def network_of(model: PointModel, data: GraphSet, bits: int = 8, passes: int = PASSES) -> IntegerNetwork:
    """The integers of a trained network in formats of so many bits, whose scales are changed in so many passes.

    Raises UserError for clouds of unequal numbers of points and for data with edges.
    """
    cloud, given = _calibrating(data)
    with torch.no_grad():
        wanted = torch.softmax(model(given.x, given.batch), dim=1).numpy()
        numbers: Numbers = {}
        found = _built(model, cloud, given, bits, numbers)
        least = _distance(found, given.clouds, wanted)
        for name in list(numbers) * passes:
            for step_by in (-1, 1):
                moved = FixedPoint(bits, numbers[name].fraction_bits + step_by)
                other = _built(model, cloud, given, bits, numbers | {name: moved})
                if (distance := _distance(other, given.clouds, wanted)) < least:
                    found, least, numbers[name] = other, distance, moved
    return found


@dataclass(frozen=True, eq=False)
class _Given:
    """Clouds [B, N, F] that choose scales, and the same as points of a batch."""

    clouds: NDArray[np.float32]
    x: Tensor
    batch: Batch


def _calibrating(data: GraphSet) -> tuple[Cloud, _Given]:
    """What networks are for, and the first training clouds."""
    if data.points is None or data.edge_index is not None:
        raise UserError(f"{data.name} has no clouds of equal numbers of points: hardware makes graphs of those alone")
    cloud = Cloud(data.points, data.width_in, data.neighbours, data.classes)
    x, batch, _ = graphs_of(data, np.flatnonzero(data.train)[:CALIBRATED_ON])
    return cloud, _Given(x.numpy().reshape(-1, data.points, data.width_in), x, batch)


def _built(model: PointModel, cloud: Cloud, given: _Given, bits: int, numbers: Numbers) -> IntegerNetwork:
    """The network with these formats; a tensor that has none gets the one of the smallest error."""
    builder = _Builder(cloud, bits, numbers)
    builder.values[FEATURES] = Value(Rows.NODES, cloud.width, builder.format(FEATURES, given.x.numpy()))
    state = started(given.x, given.batch)
    for place, one in enumerate(model.network.operations):
        builder.operation(place, one, state, model)
    return _tail(builder, model, state)


def _distance(integers: IntegerNetwork, clouds: NDArray[np.float32], wanted: NDArray[np.float32]) -> float:
    """The cross entropy of the classes that integers say, below those of the float network."""
    found = torch.from_numpy(integers.output.number.value(logits(integers, clouds)))
    return float(-(torch.from_numpy(wanted) * torch.log_softmax(found, dim=1)).sum(dim=1).mean())


def chosen(values: Reals | NDArray[np.float32], bits: int) -> FixedPoint:
    """The format of so many bits with the smallest squared error on these values; of equal ones the coarser."""
    flat = np.asarray(values, np.float64).ravel()
    flat = flat[:: max(1, len(flat) // VALUES_SEEN)]
    formats = [FixedPoint(bits, fraction) for fraction in SCALES]
    errors = [float(((one.value(one.quantise(flat)) - flat) ** 2).sum()) for one in formats]
    return formats[int(np.argmin(errors))]


@dataclass
class _Builder:
    """Appends the steps of a network, and works the float network beside them to see what its tensors hold.

    Attributes:
        formats: of tensors, by name; further ones are added.
        at, before: names of the value at hand, and of the one before the last change.
        sampled: the sample that aggregates read, made when the first of them asks.
        joined: values behind EdgeConvs.
    """

    cloud: Cloud
    bits: int
    formats: Numbers
    steps: list[Step] = field(default_factory=list)
    at: str = FEATURES
    before: str | None = None
    sampled: tuple[str, str] | str | None = None
    drawn: int = 0
    joined: list[str] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)

    def format(self, name: str, values: Reals | NDArray[np.float32]) -> FixedPoint:
        """The format of a tensor with these values: the one that it has, or that of the smallest error."""
        if name not in self.formats:
            self.formats[name] = chosen(values, self.bits)
        return self.formats[name]

    def add(self, name: str, operation: IntegerOperation, *inputs: str, graph: int = CLOUDS) -> str:
        """Append a step; returns the name of its value."""
        self.steps.append(Step(name, operation, inputs, graph, graph))
        self.values[name] = operation.value([self.values[one] for one in inputs])
        return name

    def rounded(self, name: str, at: str, number: FixedPoint, graph: int = CLOUDS) -> str:
        """Append a change of a value to a format; returns its name."""
        columns = self.values[at].columns
        if shift := self.values[at].number.fraction_bits - number.fraction_bits:
            at = self.add(f"{name}.shifted", Rescale(shift), at, graph=graph)
        return self.add(name, Apply(np.zeros(columns, np.int64), 0, number, "linear", None, number), at, graph=graph)

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
                self.change(self.dense(str(place), layer, self.at, state.x))
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

    def dense(self, name: str, layer: Dense, at: str, x: Tensor, graph: int = CLOUDS) -> str:
        """Append relu(W x + b) with a norm in W and b; returns the name of its value."""
        weight, bias = layer.folded()
        output = functional.relu(functional.linear(x, weight) + bias)
        number = self.format(name, np.concatenate([output.numpy().ravel(), bias.numpy()]))
        # Products are saturated behind the bias alone, so that one pass through a unit makes the result.
        h = self.product(f"{name}.product", weight, at, FixedPoint(EXACT_BITS, number.fraction_bits), graph)
        return self.activated(name, h, bias, number, number, graph)

    def product(self, name: str, weight: Tensor, at: str, value: FixedPoint, graph: int = CLOUDS) -> str:
        """Append a product with [outputs, inputs] weights, rounded to a format; returns its name."""
        number = self.format(f"{name}.weight", weight.numpy())
        shift = self.values[at].number.fraction_bits + number.fraction_bits - value.fraction_bits
        return self.add(name, Product(number.quantise(weight.numpy().T), number, shift, value), at, graph=graph)

    def activated(
        self, name: str, at: str, bias: Tensor, value: FixedPoint, output: FixedPoint, graph: int = CLOUDS
    ) -> str:
        """Append a bias and a relu from one format to another; returns its name."""
        table = activation_table("relu", value, output)
        codes = value.quantise(bias.numpy())
        return self.add(name, Apply(codes, 0, value, "relu", table, output), at, graph=graph)

    def neighbours(self) -> str:
        """The name of the places of the neighbours at hand."""
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
            reducer: Reducer = one.reducer  # type: ignore[assignment]
            whole = f"{name}.{part}.rounded" if len(parts) > 1 else name
            if part == "relative" and reducer != "sum":
                made = Neighbourhood(self.cloud.points, reducer, "source")
                found = self.rounded(f"{whole}.source", self.add(f"{name}.{part}", made, at, neighbours), number)
                less = Add(given.fraction_bits - number.fraction_bits, number, minus=True)
                names.append(self.add(whole, less, found, at))
            else:
                made = Neighbourhood(self.cloud.points, reducer, part)  # type: ignore[arg-type]
                names.append(self.rounded(whole, self.add(f"{name}.{part}", made, at, neighbours), number))
        if len(names) > 1:
            self.add(name, Concatenate(), *names)
        self.change(name)

    def _skip(self, name: str, x: Tensor) -> None:
        """The value at hand and the one before it, added in the finer of their fraction bits, then rounded."""
        assert self.before is not None, "a canonical form has a skip where there is something to add"
        self.change(self._added(name, self.at, self.before, self.format(name, x.numpy())))

    def _added(self, name: str, one: str, other: str, number: FixedPoint) -> str:
        """Append one + other in a format; returns its name."""
        first = self.rounded(f"{name}.first", one, number)
        shift = self.values[other].number.fraction_bits - number.fraction_bits
        return self.add(name, Add(shift, number), first, other)

    def _edgeconv(self, name: str, layer: Dense, state: State) -> None:
        """(W1 - W2) x_i + max_j W2 x_j + b: the maximum of products of points, whatever the float network does."""
        graph = state.read()
        weight, bias = layer.folded()
        own, other = weight.chunk(2, dim=1)
        mine, theirs = functional.linear(state.x, own - other), functional.linear(state.x, other)
        largest = graph.reduce(Aggregate("max", "source"), theirs) if graph is not None else theirs
        both = mine + largest
        seen = np.concatenate([one.numpy().ravel() for one in (mine, theirs, both, both + bias)])
        value = self.format(f"{name}.sum", seen)
        first = self.product(f"{name}.own", own - other, self.at, value)
        second = self.product(f"{name}.other", other, self.at, value)
        found = self.add(f"{name}.max", Neighbourhood(self.cloud.points, "max", "source"), second, self.neighbours())
        total = self.add(f"{name}.sum", Add(0, value), first, found)
        output = functional.relu(both + bias)
        self.change(self.activated(name, total, bias, value, self.format(name, output.numpy())))
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
    at = builder.dense("embedding", tail.embedding, builder.at, state.x)
    number = builder.values[at].number
    x = readout(x, state.batch)
    names = []
    for reducer, gather in (("max", Gather("max")), ("mean", Gather(mean="rounded", shift=_MEAN_SHIFT))):
        exact = builder.add(f"readout.{reducer}.exact", gather, at, graph=READOUT)
        names.append(builder.rounded(f"readout.{reducer}", exact, number, READOUT))
    at = builder.add("readout", Concatenate(), *names, graph=READOUT)
    for place, layer in enumerate(tail.hidden):
        assert isinstance(layer, Dense)
        at = builder.dense(f"hidden{place}", layer, at, x, READOUT)
        x = layer(x)
    weight, bias = tail.logits.weight, tail.logits.bias
    product = functional.linear(x, weight)
    value = builder.format("logits", np.concatenate([product.numpy().ravel(), (product + bias).numpy().ravel()]))
    extra = wire.logit_extra_bits(value.width)
    logit = FixedPoint(wire.LOGIT_BITS, value.fraction_bits + extra)
    h = builder.product("logits.product", weight, at, value, READOUT)
    if extra:
        h = builder.add("logits.shifted", Rescale(-extra), h, graph=READOUT)
    codes = value.quantise(bias.numpy())
    builder.add("logits", Apply(codes, extra, logit, "linear", None, logit), h, graph=READOUT)
    return IntegerNetwork(builder.cloud.width, builder.values[FEATURES].number, tuple(builder.steps))


_MEAN_SHIFT = wire.COEFFICIENT_FRACTION_BITS


def graphs(integers: IntegerNetwork, clouds: NDArray[np.float32]) -> tuple[IntegerGraph, IntegerGraph]:
    """The graphs of clouds [B, N, F]: their points with features, and the points of each cloud."""
    count, points, width = clouds.shape
    rows = count * points
    # Dense codes in sparse form: a value of zero keeps its place.
    codes = integers.number.quantise(clouds.reshape(rows, width)).ravel()
    indptr, indices = np.arange(rows + 1) * width, np.tile(np.arange(width), rows)
    own = np.arange(rows)
    features = sp.csr_matrix((codes, indices, indptr), shape=(rows, width))
    alone = IntegerGraph(features, np.arange(rows + 1), own, np.ones(rows, np.int64))
    empty = sp.csr_matrix((count, width), dtype=np.int64)
    return alone, IntegerGraph(empty, np.arange(count + 1) * points, own, np.ones(rows, np.int64))


def logits(integers: IntegerNetwork, clouds: NDArray[np.float32]) -> Codes:
    """[B, classes] codes for clouds [B, N, F]."""
    parts = [clouds[first : first + RUN_TOGETHER] for first in range(0, len(clouds), RUN_TOGETHER)]
    return np.concatenate([interpreter.run(integers, graphs(integers, part)) for part in parts])


def accuracy(integers: IntegerNetwork, data: GraphSet, split: str) -> float:
    """Share of the clouds of "train", "val" or "test" whose largest logit is their class's, 0 to 1."""
    clouds, labels = data.clouds(split)
    return float((interpreter.predict(logits(integers, clouds)) == labels).mean())
