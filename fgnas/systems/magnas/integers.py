"""The front end of calls: the layers of a call, its parameters and their scales become an integer network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware.integer import interpreter
from fgnas.hardware.integer.building import Builder, Formats
from fgnas.hardware.integer.gather import Gather
from fgnas.hardware.integer.graph import integer_graph, rows_alone
from fgnas.hardware.integer.network import IntegerNetwork
from fgnas.network import Network
from fgnas.tasks.nodes import GraphData


@dataclass(frozen=True)
class Product:
    """A layer of a call as its hardware computes it: a map, messages that are reduced, a bias, and a relu but in the
    last.

    Attributes:
        outputs: columns that it gives.
        value, weight: formats of features and of weights, of scale 0.
        reduce: how the messages of a row are combined.
    """

    outputs: int
    value: FixedPoint
    weight: FixedPoint
    reduce: Literal["add", "max"] = "add"


def network_of(products: Sequence[Product], width_in: int, network: Network) -> IntegerNetwork:
    """The integer network of a call on rows with so many features.

    Steps are those of a design's layer without scores: linear, aggregate and activate, of the last layer logits.
    """
    builder = Builder(width_in, _scaled(products[0].value, network.input_scale))
    for place, (one, parameters) in enumerate(zip(products, network.layers, strict=True)):
        last = place == len(products) - 1
        activation = None if last else "relu"
        value, weight = _scaled(one.value, parameters.value_scale), _scaled(one.weight, parameters.weight_scale)
        formats = Formats.of(activation, value, _scaled(one.value, parameters.output_scale))
        codes = weight.quantise(parameters.weight)
        builder.combine(place, "linear", codes.reshape(len(codes), -1), weight, value)
        builder.add(place, "aggregate", Gather(one.reduce, shift=formats.shift(last)))
        builder.finish(place, activation, parameters.bias, formats)
    return builder.network()


def codes_of(integers: IntegerNetwork, data: GraphData) -> Codes:
    """[n, outputs] what hardware gives for a call's input: the first layer has its graph, in all further ones every row
    receives from itself alone."""
    graph = integer_graph(data, integers.number)
    layers = 1 + max(step.layer for step in integers.steps)
    return interpreter.run(integers, (graph, *[rows_alone(graph)] * (layers - 1)))


def integer_bits(number: FixedPoint) -> int:
    """Bits of a format of scale 0 before the point, without the sign."""
    return number.width - 1 - number.fraction_bits


def _scaled(number: FixedPoint, scale: int) -> FixedPoint:
    """The format of values that are stored as x * 2**scale."""
    return FixedPoint(number.width, number.fraction_bits + scale)
