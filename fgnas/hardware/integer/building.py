"""Builder of integer networks for all front ends: a layer's formats, and its product, bias and activation as steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware import wire
from fgnas.hardware.integer.apply import Apply
from fgnas.hardware.integer.combine import Combine
from fgnas.hardware.integer.network import FEATURES, IntegerNetwork, Step
from fgnas.hardware.integer.operation import Operation
from fgnas.hardware.integer.tables import activation_table, argument_format

Reals = NDArray[np.float32]


@dataclass(frozen=True)
class Formats:
    """The formats of a layer: of H, of its activation's argument, and of Z."""

    value: FixedPoint
    argument: FixedPoint
    output: FixedPoint

    @classmethod
    def of(cls, activation: str | None, value: FixedPoint, output: FixedPoint) -> Formats:
        """With the argument that an activation reads; None for the last layer, which has none."""
        return cls(value, argument_format(activation, value, output), output)

    def shift(self, last: bool) -> int:
        """Right shift that takes messages with H's fraction bits to those of the argument, or of logits in a last
        layer."""
        extra = wire.logit_extra_bits(self.value.width) if last else 0
        return self.value.fraction_bits - self.argument.fraction_bits - extra


class Builder:
    """Appends the steps of a network, layer by layer.

    Attributes:
        at: the value that the next step reads.
        number: the format of what the next product reads.
    """

    def __init__(self, width_in: int, number: FixedPoint) -> None:
        self.width_in, self.features, self.number = width_in, number, number
        self.steps: list[Step] = []
        self.at = FEATURES

    def network(self) -> IntegerNetwork:
        """The network of all steps that were appended."""
        return IntegerNetwork(self.width_in, self.features, tuple(self.steps))

    def add(self, place: int, name: str, operation: Operation, *inputs: str) -> None:
        """Append a step of a layer. It reads the named values, or else the current one."""
        self.steps.append(Step(f"{place}.{name}", operation, inputs or (self.at,), place, place))
        self.at = self.steps[-1].name

    def combine(self, place: int, name: str, codes: Codes, weight: FixedPoint, value: FixedPoint) -> None:
        """Append a product with codes [columns in, columns out] of a format, whose results have the format `value`."""
        shift = self.number.fraction_bits + weight.fraction_bits - value.fraction_bits
        self.add(place, name, Combine(codes, weight, shift, value))
        self.number = value

    def finish(self, place: int, activation: str | None, bias: Reals, formats: Formats) -> None:
        """Append bias and activation of a layer; of the last one the logits."""
        if activation is not None:
            self.activate(place, "activate", activation, bias, formats)
            return
        value = formats.value
        extra = wire.logit_extra_bits(value.width)
        logit = FixedPoint(wire.LOGIT_BITS, value.fraction_bits + extra)
        self._apply(place, "logits", Apply(value.quantise(bias), extra, logit, "linear", None, logit))

    def activate(self, place: int, name: str, activation: str, bias: Reals, formats: Formats) -> None:
        """Append bias and activation."""
        table = activation_table(activation, formats.argument, formats.output)
        codes = formats.argument.quantise(bias)
        self._apply(place, name, Apply(codes, 0, formats.argument, activation, table, formats.output))

    def saturate(self, place: int, name: str, columns: int, number: FixedPoint) -> None:
        """Append a change to a format whose fraction bits the rows have already."""
        self._apply(place, name, Apply(np.zeros(columns, np.int64), 0, number, "linear", None, number))

    def _apply(self, place: int, name: str, operation: Apply) -> None:
        self.add(place, name, operation)
        self.number = operation.output
