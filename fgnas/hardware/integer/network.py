"""A network as a graph of integer operations."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.integer.operation import Operation
from fgnas.hardware.integer.value import Rows, Value

FEATURES = "features"
"""The value that every network begins with: X."""


@dataclass(frozen=True, eq=False)
class Step:
    """An operation in its place in a network.

    Attributes:
        name: the name of the value that it makes.
        operation: the operation.
        inputs: names of the values that it reads, in order.
        layer: the layer of the design that it belongs to, from 0.
        graph: the graph that it works on, by its place among those that a run is given.
    """

    name: str
    operation: Operation
    inputs: tuple[str, ...]
    layer: int = 0
    graph: int = 0


@dataclass(frozen=True, eq=False)
class IntegerNetwork:
    """Steps in an order in which each reads only earlier values; the last one makes the logits.

    Attributes:
        width_in: features of a node.
        number: format of the features.
        steps: the operations in order.

    Raises ValueError where a step reads a value that is not there, or one of another shape or format.
    """

    width_in: int
    number: FixedPoint
    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        if not self.steps:
            raise ValueError("a network has one operation at least")
        _ = self.values

    @functools.cached_property
    def values(self) -> dict[str, Value]:
        """The values by name: the features, then what the steps make."""
        found = {FEATURES: Value(Rows.NODES, self.width_in, self.number)}
        for step in self.steps:
            if step.name in found:
                raise ValueError(f"two values are called {step.name}")
            if missing := [name for name in step.inputs if name not in found]:
                raise ValueError(f"{step.name} reads {missing[0]}, which no step before it makes")
            try:
                found[step.name] = step.operation.value([found[name] for name in step.inputs])
            except ValueError as error:
                raise ValueError(f"{step.name}: {error}") from None
        return found

    @property
    def output(self) -> Value:
        """The logits."""
        return self.values[self.steps[-1].name]

    def readers(self, name: str) -> tuple[Step, ...]:
        """The steps that read a value."""
        return tuple(step for step in self.steps if name in step.inputs)
