"""Integer networks whose tensors have scales of their own: formats by what a float network holds, and steps in them.

Every tensor has a power-of-two scale: first the one with the smallest squared error on the clouds that calibrate, then
its neighbour as long as that brings the classes closer to the float network's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware import wire
from fgnas.hardware.integer import interpreter
from fgnas.hardware.integer.add import Add
from fgnas.hardware.integer.apply import Apply
from fgnas.hardware.integer.combine import Combine
from fgnas.hardware.integer.gather import Gather
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.network import FEATURES, IntegerNetwork, Step
from fgnas.hardware.integer.operation import Operation
from fgnas.hardware.integer.rescale import Rescale
from fgnas.hardware.integer.tables import activation_table
from fgnas.hardware.integer.value import EXACT_BITS, Rows, Value

Reals = NDArray[np.float64]
Clouds = NDArray[np.float32]
"""[B, N, F] features of the points of clouds."""
Numbers = dict[str, FixedPoint]
"""The format of each tensor, by its name."""

CLOUDS, READOUT = 0, 1
"""The graphs of a network: the points of all clouds, and the clouds that they belong to."""
SCALES = range(-8, 24)
"""Fraction bits that a tensor may have."""
VALUES_SEEN = 65_536
"""Values of a tensor that choose its scale; a larger tensor is sampled evenly."""
RUN_TOGETHER = 50


def fitted(
    built: Callable[[Numbers], IntegerNetwork], clouds: Clouds, wanted: Clouds, passes: int
) -> tuple[IntegerNetwork, Numbers]:
    """The network that `built` makes with formats, to which it adds those that are missing, with scales that were
    changed in so many passes over all of them, as long as its classes come closer to the probabilities [B, classes]
    that are wanted for the clouds; and its formats."""
    numbers: Numbers = {}
    found = built(numbers)
    least = _distance(found, clouds, wanted) if passes else 0.0
    for name in list(numbers) * passes:
        for step_by in (-1, 1):
            moved = FixedPoint(numbers[name].width, numbers[name].fraction_bits + step_by)
            other = built(numbers | {name: moved})
            if (distance := _distance(other, clouds, wanted)) < least:
                found, least, numbers[name] = other, distance, moved
    return found, numbers


def _distance(integers: IntegerNetwork, clouds: Clouds, wanted: Clouds) -> float:
    """The cross entropy of the classes that integers say, below those of the float network."""
    found = torch.from_numpy(integers.output.number.value(logits(integers, clouds)))
    return float(-(torch.from_numpy(wanted) * torch.log_softmax(found, dim=1)).sum(dim=1).mean())


def chosen(values: Reals | Clouds, bits: int) -> FixedPoint:
    """The format of so many bits with the smallest squared error on these values; of equal ones the coarser."""
    flat = np.asarray(values, np.float64).ravel()
    flat = flat[:: max(1, len(flat) // VALUES_SEEN)]
    formats = [FixedPoint(bits, fraction) for fraction in SCALES]
    errors = [float(((one.value(one.quantise(flat)) - flat) ** 2).sum()) for one in formats]
    return formats[int(np.argmin(errors))]


@dataclass
class ScaledBuilder:
    """Appends the steps of a network for rows with so many features.

    Attributes:
        formats: of tensors, by name; further ones are added.
        every: the format of those; None: that of the smallest error.
    """

    width: int
    bits: int
    formats: Numbers
    every: FixedPoint | None = None
    steps: list[Step] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)

    def begin(self, x: Tensor) -> str:
        """The features, of which these are examples; returns their name."""
        self.values[FEATURES] = Value(Rows.NODES, self.width, self.format(FEATURES, x.numpy()))
        return FEATURES

    def network(self) -> IntegerNetwork:
        """The network of all steps that were appended."""
        return IntegerNetwork(self.width, self.values[FEATURES].number, tuple(self.steps))

    def format(self, name: str, values: Reals | Clouds) -> FixedPoint:
        """The format of a tensor with these values: the one that it has, or a further one."""
        if name not in self.formats:
            self.formats[name] = self.every or chosen(values, self.bits)
        return self.formats[name]

    def add(self, name: str, operation: Operation, *inputs: str, graph: int = CLOUDS) -> str:
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

    def dense(
        self, name: str, weight: Tensor, bias: Tensor, at: str, x: Tensor, relu: bool = True, graph: int = CLOUDS
    ) -> str:
        """Append W x + b, or relu of it, whose input in floats is x; returns the name of its value."""
        output = functional.linear(x, weight) + bias
        output = functional.relu(output) if relu else output
        number = self.format(name, np.concatenate([output.numpy().ravel(), bias.numpy()]))
        # Products are saturated behind the bias alone, so that one pass through a unit makes the result.
        h = self.product(f"{name}.product", weight, at, FixedPoint(EXACT_BITS, number.fraction_bits), graph)
        if relu:
            return self.activated(name, h, bias, number, number, graph)
        return self.add(name, Apply(number.quantise(bias.numpy()), 0, number, "linear", None, number), h, graph=graph)

    def product(self, name: str, weight: Tensor, at: str, value: FixedPoint, graph: int = CLOUDS) -> str:
        """Append a product with [outputs, inputs] weights, rounded to a format; returns its name."""
        number = self.format(f"{name}.weight", weight.numpy())
        shift = self.values[at].number.fraction_bits + number.fraction_bits - value.fraction_bits
        return self.add(name, Combine(number.quantise(weight.numpy().T), number, shift, value), at, graph=graph)

    def activated(
        self, name: str, at: str, bias: Tensor, value: FixedPoint, output: FixedPoint, graph: int = CLOUDS
    ) -> str:
        """Append a bias and a relu from one format to another; returns its name."""
        table = activation_table("relu", value, output)
        codes = value.quantise(bias.numpy())
        return self.add(name, Apply(codes, 0, value, "relu", table, output), at, graph=graph)

    def added(self, name: str, one: str, other: str, number: FixedPoint) -> str:
        """Append one + other in a format; returns its name."""
        first = self.rounded(f"{name}.first", one, number)
        shift = self.values[other].number.fraction_bits - number.fraction_bits
        return self.add(name, Add(shift, number), first, other)

    def readout(self, name: str, reducer: str, at: str) -> str:
        """Append the maximum or the mean of the rows of every cloud, in their format; returns its name."""
        gather = Gather(mean="rounded", shift=wire.COEFFICIENT_FRACTION_BITS) if reducer == "mean" else Gather("max")
        exact = self.add(f"{name}.exact", gather, at, graph=READOUT)
        return self.rounded(name, exact, self.values[at].number, READOUT)

    def logits(self, weight: Tensor, bias: Tensor, at: str, x: Tensor) -> str:
        """Append the logits W x + b of clouds whose rows in floats are x; returns their name."""
        product = functional.linear(x, weight)
        seen = np.concatenate([product.numpy().ravel(), (product + bias).numpy().ravel()])
        value = self.format("logits", seen)
        extra = wire.logit_extra_bits(value.width)
        logit = FixedPoint(wire.LOGIT_BITS, value.fraction_bits + extra)
        h = self.product("logits.product", weight, at, value, READOUT)
        if extra:
            h = self.add("logits.shifted", Rescale(-extra), h, graph=READOUT)
        codes = value.quantise(bias.numpy())
        return self.add("logits", Apply(codes, extra, logit, "linear", None, logit), h, graph=READOUT)


def graphs(integers: IntegerNetwork, clouds: Clouds) -> tuple[IntegerGraph, IntegerGraph]:
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


def logits(integers: IntegerNetwork, clouds: Clouds) -> Codes:
    """[B, classes] codes for clouds [B, N, F]."""
    parts = [clouds[first : first + RUN_TOGETHER] for first in range(0, len(clouds), RUN_TOGETHER)]
    return np.concatenate([interpreter.run(integers, graphs(integers, part)) for part in parts])
