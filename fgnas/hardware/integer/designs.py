"""The front end of designs: a design, its trained weights and hardware's arithmetic become an integer network."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fgnas.design import Design, Layer
from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.arithmetic import Arithmetic
from fgnas.hardware.integer.attend import Attend
from fgnas.hardware.integer.building import Builder, Formats
from fgnas.hardware.integer.gather import Gather, Mean, Reduction
from fgnas.hardware.integer.heads import MeanOfHeads
from fgnas.hardware.integer.network import IntegerNetwork
from fgnas.hardware.integer.operation import Operation
from fgnas.hardware.integer.rescale import Rescale
from fgnas.hardware.integer.scores.function import FunctionScores
from fgnas.hardware.integer.scores.nodes import NodeScores
from fgnas.hardware.integer.scores.pair import PairScores
from fgnas.hardware.integer.scores.product import ProductScores
from fgnas.hardware.integer.tables import (
    exponential_table,
    largest_difference,
    pair_table,
    score_table,
)
from fgnas.network import LayerParameters, Network, SecondProduct, multiplied


def network_of(design: Design, network: Network, width_in: int, classes: int, rounding: Arithmetic) -> IntegerNetwork:
    """The integer network of a design on graphs with so many features and classes.

    Values are called "LAYER.STEP": linear, scores, aggregate, activate; of a layer that gathers first sums,
    gathered, linear, rescale, activate; of a second product second; in the last layer mean and logits. Raises UserError
    where the weights do not fit the design.
    """
    network.check(design, width_in, classes)
    builder = _Builder(rounding, width_in, design.layers[0].value_format(network.input_scale))
    for place, (layer, parameters) in enumerate(zip(design.layers, network.layers, strict=True)):
        builder.layer(place, layer, parameters)
    return builder.network()


class _Builder(Builder):
    """Appends the steps of a design, layer by layer."""

    def __init__(self, rounding: Arithmetic, width_in: int, number: FixedPoint) -> None:
        super().__init__(width_in, number)
        self.rounding = rounding

    def layer(self, place: int, layer: Layer, parameters: LayerParameters) -> None:
        """The steps of one layer of the design."""
        layer, parameters = multiplied(layer, parameters)
        value, output = layer.value_format(parameters.value_scale), layer.value_format(parameters.output_scale)
        # The relu between the two products of mlp needs no table: its result has the format of its argument.
        formats = (
            Formats(value, value, value) if parameters.mlp is not None
            else Formats.of(layer.activation, value, output)
        )  # fmt: skip
        if layer.gathers_first:
            self._gather(place, layer, len(parameters.weight), layer.value_format(parameters.scale_of_gathered))
        weight = layer.weight_format(parameters.weight_scale)
        codes = weight.quantise(parameters.weight)
        self.combine(place, "linear", codes.reshape(len(codes), -1), weight, value)
        if layer.gathers_first:
            self.add(place, "rescale", Rescale(formats.shift(layer.activation is None)))
            self.finish(place, layer.activation, parameters.bias, formats)
            return
        if parameters.mlp is None:
            self._aggregate(place, layer, parameters, formats)
            self.finish(place, layer.activation, parameters.bias, formats)
            return
        self._aggregate(place, layer, parameters, formats, hidden=True)
        self.activate(place, "relu", "relu", parameters.bias, formats)
        self._second(place, layer, parameters.mlp, output)

    def _second(self, place: int, layer: Layer, second: SecondProduct, output: FixedPoint) -> None:
        """The product behind the relu of aggregation mlp, and what follows it."""
        value, weight = layer.value_format(second.value_scale), layer.weight_format(second.weight_scale)
        self.combine(place, "second", weight.quantise(second.weight), weight, value)
        formats = Formats.of(layer.activation, value, output)
        self.add(place, "rescale", Rescale(formats.shift(layer.activation is None)))
        self.finish(place, layer.activation, second.bias, formats)

    def _gather(self, place: int, layer: Layer, columns: int, gathered: FixedPoint) -> None:
        """The sums of a layer's rows of X, in a format of their own."""
        gather = Gather("add", layer.attention == "gcn", self._mean(layer.aggregation == "mean"))
        shift = self.number.fraction_bits + gather.fraction_bits - gathered.fraction_bits
        self.add(place, "sums", replace(gather, shift=shift))
        self.saturate(place, "gathered", columns, gathered)

    def _aggregate(
        self, place: int, layer: Layer, parameters: LayerParameters, formats: Formats, hidden: bool = False
    ) -> None:
        """The messages of a layer, and the mean of its heads where it is the last."""
        last = layer.activation is None and not hidden
        shift, mean = formats.shift(last), layer.aggregation == "mean"
        reduce: Reduction = "max" if layer.aggregation == "max" else "add"
        averaged = layer.k if last else 1
        if layer.attends:
            h, score = self.at, layer.score_format(parameters.scale_of_scores)
            self.add(place, "scores", _scores(layer, parameters, formats.value, score))
            table = exponential_table(score, largest_difference(layer.attention, score))
            self.add(place, "aggregate", Attend(table, reduce, mean, shift), h, self.at)
        else:
            together = averaged if self.rounding.adds_heads and reduce == "add" else 1
            gather = Gather(reduce, layer.attention == "gcn", self._mean(mean), together)
            finer = gather.fraction_bits + together.bit_length() - 1
            self.add(place, "aggregate", replace(gather, shift=shift + finer))
            averaged //= together
        if averaged > 1:
            self.add(place, "mean", MeanOfHeads(averaged))

    def _mean(self, mean: bool) -> Mean:
        return "none" if not mean else "divided" if self.rounding.divides else "rounded"


def _scores(layer: Layer, parameters: LayerParameters, value: FixedPoint, score: FixedPoint) -> Operation:
    """The operation that computes the scores of a layer's edges."""
    weight = layer.weight_format(parameters.weight_scale)
    source, target, factor = (
        np.zeros((layer.k, 0), np.int64) if one is None else weight.quantise(one)
        for one in (parameters.attention_source, parameters.attention_target, parameters.attention_factor)
    )
    if layer.pair:
        pair = layer.value_format(parameters.scale_of_pairs)
        function = layer.function_format(pair)
        to_pair = value.fraction_bits + weight.fraction_bits - pair.fraction_bits
        to_score = function.fraction_bits + weight.fraction_bits - score.fraction_bits
        table = pair_table(layer.attention, pair, function)
        return PairScores(source, target, factor, weight, to_pair, pair, table, function, to_score, score)
    if layer.dot:
        return ProductScores(source, weight, value, 2 * value.fraction_bits - score.fraction_bits, score)
    if layer.attention == "linear":
        return FunctionScores(source, weight, value, score_table(value, score), score)
    return NodeScores(source, target, weight, value, layer.attention == "gat-sym")
