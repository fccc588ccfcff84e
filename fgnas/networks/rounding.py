"""Forward pass of a network in float, rounded at the places where the accelerator rounds.

Calibration runs it thousands of times to choose scales, and fine-tuning trains through it. Coefficients and logits are
not rounded, and sums are float32, so the results are close to those of the accelerator but not equal to the last bit.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fgnas.design import Design, Layer
from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.integer.tables import argument_format
from fgnas.network import Network
from fgnas.networks.model import ACTIVATIONS, Child, Field

Rounding = Callable[[Tensor, FixedPoint], Tensor]


@dataclass(frozen=True)
class Formats:
    """Number formats of a layer, with their scales; `output` is None for the last layer, `score` unless edges have
    scores of their own, `pair` and `function` for all but gene-linear, `gathered` unless a layer gathers first. Those
    of a second product are read where a layer has one."""

    weight: FixedPoint
    value: FixedPoint
    output: FixedPoint | None
    score: FixedPoint | None
    second_weight: FixedPoint
    second_value: FixedPoint
    pair: FixedPoint | None = None
    function: FixedPoint | None = None
    gathered: FixedPoint | None = None

    @classmethod
    def of(
        cls, layer: Layer, weight_scale: int, value_scale: int, output_scale: int, score_scale: int | None = None,
        second_weight_scale: int = 0, second_value_scale: int = 0, pair_scale: int | None = None,
    ) -> Formats:  # fmt: skip
        """The formats of a layer with its scales; the last layer ignores `output_scale`, all but cos and gene-linear
        `score_scale`, and all but gene-linear `pair_scale`."""
        output = None if layer.activation is None else layer.value_format(output_scale)
        score = layer.score_format(value_scale if score_scale is None else score_scale) if layer.dot else None
        pair = layer.value_format(value_scale if pair_scale is None else pair_scale) if layer.pair else None
        return cls(
            layer.weight_format(weight_scale), layer.value_format(value_scale), output, score,
            layer.weight_format(second_weight_scale), layer.value_format(second_value_scale), pair,
            None if pair is None else layer.function_format(pair),
        )  # fmt: skip

    @classmethod
    def of_network(cls, design: Design, network: Network) -> list[Formats]:
        """The formats of every layer, with the scales of a network."""
        return [
            cls.of(
                layer, scales.weight_scale, scales.value_scale, scales.output_scale, scales.score_scale,
                *((0, 0) if scales.mlp is None else (scales.mlp.weight_scale, scales.mlp.value_scale)),
                scales.pair_scale,
            ).gathering(layer, scales.scale_of_gathered)
            for layer, scales in zip(design.layers, network.layers, strict=True)
        ]  # fmt: skip

    def gathering(self, layer: Layer, scale: int) -> Formats:
        """With the format of the sums of a layer that gathers first."""
        return replace(self, gathered=layer.value_format(scale)) if layer.gathers_first else self

    def argument(self, layer: Layer) -> FixedPoint:
        """The format of the layer's activation's argument and of the bias before it."""
        value = self.second_value if layer.mlp else self.value
        return value if self.output is None else argument_format(layer.activation, value, self.output)


def quantised(values: Tensor, number: FixedPoint) -> Tensor:
    """The nearest values in the format, same shape."""
    return (values / number.step).round().clamp(number.minimum, number.maximum) * number.step


def straight_through(values: Tensor, number: FixedPoint) -> Tensor:
    """Rounded values with the gradient of clipping alone, because rounding has none (Bengio et al., 2013)."""
    clipped = values.clamp(number.minimum * number.step, number.maximum * number.step)
    return clipped + (quantised(values, number) - clipped).detach()


def rounded_logits(
    design: Design,
    child: Child,
    field: Field,
    formats: Sequence[Formats],
    first_product: Callable[[Tensor], Tensor],
    rounding: Rounding,
    drop: Callable[[Tensor], Tensor] = lambda values: values,
) -> Tensor:
    """[targets, classes] logits of a child on a field, rounded except for coefficients and the logits themselves.

    `first_product` multiplies the rounded features by the rounded weights of the first layer, `rounding` is `quantised`
    or `straight_through`, and `drop` is applied to the output of each hidden layer.
    """
    z = y = bias = child.biases[0]
    heads = 1
    for index, (layer, block, number) in enumerate(zip(design.layers, field.blocks, formats, strict=True)):
        heads, weights = layer.k, child.weights[index]
        if number.gathered is not None:
            z = rounding(block.aggregate(z, layer.attention, layer.aggregation), number.gathered)
            if layer.d is None:  # as `fgnas.network.multiplied` has it
                weights, heads = weights.view(len(weights), heads, -1).mean(1), 1
        weights = rounding(weights, number.weight)
        h = rounding(first_product(weights) if index == 0 else z @ weights, number.value)
        argument = number.argument(layer)
        bias = rounding(child.biases[index], number.value if layer.mlp else argument)
        if number.gathered is not None:
            y = h
        elif (vectors := child.attention[index]) is None:
            y = block.aggregate(h, layer.attention, layer.aggregation)
        else:
            rounded = [rounding(vector, number.weight) for vector in vectors]
            y = block.attend(h, rounded, layer.attention, layer.aggregation, *of_edges(number, rounding))
        if (second := child.seconds[index]) is not None:
            read, heads = torch.relu(rounding(y + bias, number.value)), 1
            y = rounding(read @ rounding(second[0], number.second_weight), number.second_value)
            bias = rounding(second[1], argument)
        if layer.activation is not None and number.output is not None:
            z = drop(rounding(ACTIVATIONS[layer.activation](rounding(y + bias, argument)), number.output))
    return y.view(len(y), heads, -1).mean(1) + bias


def of_edges(number: Formats, rounding: Rounding) -> list[Callable[[Tensor], Tensor]]:
    """How what the scores of edges are made of is rounded, and then the scores; of other attentions nothing is."""
    if number.score is None:
        return []
    parts = [number.value] if number.pair is None or number.function is None else [number.pair, number.function]
    return [functools.partial(_rounded, rounding, one) for one in (*parts, number.score)]


def _rounded(rounding: Rounding, number: FixedPoint, values: Tensor) -> Tensor:
    return rounding(values, number)
