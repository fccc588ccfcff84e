"""The front end of designs: a design, its trained weights and hardware's arithmetic become an integer network."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fgnas.design import Design, Layer
from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware import wire
from fgnas.hardware.arithmetic import Arithmetic
from fgnas.hardware.integer.apply import Apply
from fgnas.hardware.integer.attend import Attend
from fgnas.hardware.integer.combine import Combine
from fgnas.hardware.integer.gather import Gather, Mean, Reduction
from fgnas.hardware.integer.heads import MeanOfHeads
from fgnas.hardware.integer.network import FEATURES, IntegerNetwork, Step
from fgnas.hardware.integer.operation import Operation
from fgnas.hardware.integer.rescale import Rescale
from fgnas.hardware.integer.scores.function import FunctionScores
from fgnas.hardware.integer.scores.nodes import NodeScores
from fgnas.hardware.integer.scores.pair import PairScores
from fgnas.hardware.integer.scores.product import ProductScores
from fgnas.hardware.integer.tables import (
    activation_table,
    argument_format,
    exponential_table,
    largest_difference,
    score_table,
    tanh_table,
)
from fgnas.network import LayerParameters, Network, SecondProduct, multiplied

Reals = NDArray[np.float32]


def network_of(design: Design, network: Network, width_in: int, classes: int, rounding: Arithmetic) -> IntegerNetwork:
    """The integer network of a design on graphs with so many features and classes.

    Values are called "LAYER.STEP": linear, scores, aggregate, activate; of a layer that gathers first sums,
    gathered, linear, rescale, activate; of a second product second; in the last layer mean and logits. Raises UserError
    where the weights do not fit the design.
    """
    network.check(design, width_in, classes)
    builder = _Builder(rounding, classes, design.layers[0].value_format(network.input_scale))
    for place, (layer, parameters) in enumerate(zip(design.layers, network.layers, strict=True)):
        builder.layer(place, layer, parameters)
    return IntegerNetwork(width_in, design.layers[0].value_format(network.input_scale), tuple(builder.steps))


@dataclass(frozen=True)
class _Formats:
    """The formats of a layer: of H, of its activation's argument, and of Z."""

    value: FixedPoint
    argument: FixedPoint
    output: FixedPoint


class _Builder:
    """Appends the steps of a design, layer by layer."""

    def __init__(self, rounding: Arithmetic, classes: int, number: FixedPoint) -> None:
        self.rounding, self.classes, self.number = rounding, classes, number
        self.steps: list[Step] = []
        self.at = FEATURES
        """The value that the next layer reads, in the format `number`."""

    def layer(self, place: int, layer: Layer, parameters: LayerParameters) -> None:
        """The steps of one layer of the design."""
        layer, parameters = multiplied(layer, parameters)
        value, output = layer.value_format(parameters.value_scale), layer.value_format(parameters.output_scale)
        # The relu between the two products of mlp needs no table: its result has the format of its argument.
        formats = (
            _Formats(value, value, value) if parameters.mlp is not None
            else _Formats(value, argument_format(layer.activation, value, output), output)
        )  # fmt: skip
        if layer.gathers_first:
            self._gather(place, layer, len(parameters.weight), layer.value_format(parameters.scale_of_gathered))
        weight = layer.weight_format(parameters.weight_scale)
        codes = weight.quantise(parameters.weight)
        h = self._add(place, "linear", self._combine(codes.reshape(len(codes), -1), weight, value), self.at)
        self.number = value
        if layer.gathers_first:
            self.at = self._add(place, "rescale", Rescale(_shift(formats, layer.activation is None)), h)
            self._finish(place, layer.activation, parameters.bias, formats)
            return
        if parameters.mlp is None:
            self._aggregate(place, layer, parameters, formats, h)
            self._finish(place, layer.activation, parameters.bias, formats)
            return
        self._aggregate(place, layer, parameters, formats, h, hidden=True)
        self._activate(place, "relu", "relu", parameters.bias, formats)
        self._second(place, layer, parameters.mlp, output)

    def _second(self, place: int, layer: Layer, second: SecondProduct, output: FixedPoint) -> None:
        """The product behind the relu of aggregation mlp, and what follows it."""
        value, weight = layer.value_format(second.value_scale), layer.weight_format(second.weight_scale)
        product = self._combine(weight.quantise(second.weight), weight, value)
        h = self._add(place, "second", product, self.at)
        formats = _Formats(value, argument_format(layer.activation, value, output), output)
        self.at = self._add(place, "rescale", Rescale(_shift(formats, layer.activation is None)), h)
        self._finish(place, layer.activation, second.bias, formats)

    def _gather(self, place: int, layer: Layer, columns: int, gathered: FixedPoint) -> None:
        """The sums of a layer's rows of X, in a format of their own."""
        gather = Gather("add", layer.attention == "gcn", self._mean(layer.aggregation == "mean"))
        shift = self.number.fraction_bits + gather.fraction_bits - gathered.fraction_bits
        self.at = self._add(place, "sums", replace(gather, shift=shift), self.at)
        plain = Apply(np.zeros(columns, np.int64), 0, gathered, "linear", None, gathered)
        self._apply(place, "gathered", plain)

    def _combine(self, codes: Codes, weight: FixedPoint, value: FixedPoint) -> Combine:
        shift = self.number.fraction_bits + weight.fraction_bits - value.fraction_bits
        return Combine(codes, weight, shift, value)

    def _aggregate(
        self, place: int, layer: Layer, parameters: LayerParameters, formats: _Formats, h: str, hidden: bool = False
    ) -> None:
        """The messages of a layer, and the mean of its heads where it is the last."""
        last = layer.activation is None and not hidden
        shift, mean = _shift(formats, last), layer.aggregation == "mean"
        reduce: Reduction = "max" if layer.aggregation == "max" else "add"
        averaged = layer.k if last else 1
        if layer.attends:
            score = layer.score_format(parameters.scale_of_scores)
            scores = self._add(place, "scores", _scores(layer, parameters, formats.value, score), h)
            table = exponential_table(score, largest_difference(layer.attention, score))
            self.at = self._add(place, "aggregate", Attend(table, reduce, mean, shift), h, scores)
        else:
            together = averaged if self.rounding.adds_heads and reduce == "add" else 1
            gather = Gather(reduce, layer.attention == "gcn", self._mean(mean), together)
            finer = gather.fraction_bits + together.bit_length() - 1
            self.at = self._add(place, "aggregate", replace(gather, shift=shift + finer), h)
            averaged //= together
        if averaged > 1:
            self.at = self._add(place, "mean", MeanOfHeads(averaged), self.at)

    def _mean(self, mean: bool) -> Mean:
        return "none" if not mean else "divided" if self.rounding.divides else "rounded"

    def _finish(self, place: int, activation: str | None, bias: Reals, formats: _Formats) -> None:
        """Bias and activation of a layer; of the last one the logits."""
        if activation is not None:
            self._activate(place, "activate", activation, bias, formats)
            return
        value = formats.value
        extra = wire.logit_extra_bits(value.width)
        logit = FixedPoint(wire.LOGIT_BITS, value.fraction_bits + extra)
        self._apply(place, "logits", Apply(value.quantise(bias), extra, logit, "linear", None, logit))

    def _activate(self, place: int, name: str, activation: str, bias: Reals, formats: _Formats) -> None:
        table = activation_table(activation, formats.argument, formats.output)
        codes = formats.argument.quantise(bias)
        self._apply(place, name, Apply(codes, 0, formats.argument, activation, table, formats.output))

    def _apply(self, place: int, name: str, operation: Apply) -> None:
        self.at, self.number = self._add(place, name, operation, self.at), operation.output

    def _add(self, place: int, name: str, operation: Operation, *inputs: str) -> str:
        self.steps.append(Step(f"{place}.{name}", operation, inputs, place, place))
        return self.steps[-1].name


def _shift(formats: _Formats, last: bool) -> int:
    """Right shift that takes messages with H's fraction bits to those of the argument, or of logits in a last layer."""
    extra = wire.logit_extra_bits(formats.value.width) if last else 0
    return formats.value.fraction_bits - formats.argument.fraction_bits - extra


def _scores(layer: Layer, parameters: LayerParameters, value: FixedPoint, score: FixedPoint) -> Operation:
    """What makes the scores of a layer's edges."""
    weight = layer.weight_format(parameters.weight_scale)
    source, target, factor = (
        np.zeros((layer.k, 0), np.int64) if one is None else weight.quantise(one)
        for one in (parameters.attention_source, parameters.attention_target, parameters.attention_factor)
    )
    if layer.pair:
        pair, function = layer.value_format(parameters.scale_of_pairs), layer.tanh_format()
        to_pair = value.fraction_bits + weight.fraction_bits - pair.fraction_bits
        to_score = function.fraction_bits + weight.fraction_bits - score.fraction_bits
        return PairScores(
            source, target, factor, weight, to_pair, pair, tanh_table(pair, function), function, to_score, score
        )
    if layer.dot:
        return ProductScores(source, weight, value, 2 * value.fraction_bits - score.fraction_bits, score)
    if layer.attention == "linear":
        return FunctionScores(source, weight, value, score_table(value, score), score)
    return NodeScores(source, target, weight, value, layer.attention == "gat-sym")
