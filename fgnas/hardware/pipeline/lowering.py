"""Lowering: a design, its trained weights and a graph's shape become the accelerator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fgnas.design import Design, Layer, columns_of
from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware import wire
from fgnas.hardware.integer.tables import (
    activation_table,
    argument_format,
    exponential_table,
    largest_difference,
    score_table,
    tanh_table,
)
from fgnas.hardware.pipeline.accelerator import Accelerator, LayerAccelerator, Scores
from fgnas.hardware.pipeline.binding import Multipliers, bind_multipliers
from fgnas.hardware.pipeline.geometry import OneDesign, geometry, of_one_design
from fgnas.hardware.shape import GraphShape
from fgnas.network import LayerParameters, Network, multiplied


def lower(design: Design, network: Network, shape: GraphShape, dataset: str = "", name: str = "") -> Accelerator:
    """The accelerator of a design. Raises UserError where the weights do not fit the design."""
    network.check(design, shape.width_in, shape.classes)
    pairs = zip(design.layers, network.layers, strict=True)
    unfolded = [half for pair in pairs for half in _halves(*multiplied(*pair), shape.classes)]
    whole = design.model_copy(update={"layers": tuple(layer for layer, _ in unfolded)})
    geometries = geometry(columns_of([whole]), shape)
    bound = bind_multipliers(geometries, np.array([design.dsp]))
    layers: list[LayerAccelerator] = []
    input_format = design.layers[0].value_format(network.input_scale)
    for index, (layer, parameters) in enumerate(unfolded):
        own = [group for group in bound if group.layer == index]
        rows = _places(layers[-1]) if layers else np.arange(shape.width_in)
        one = of_one_design(geometries[index])
        lowered = _layer(index, layer, parameters, one, own, input_format, rows)
        second = index > 0 and unfolded[index - 1][1].mlp is not None
        layers.append(replace(lowered, second=second))
        input_format = lowered.output_format
    return Accelerator(
        name or design.hash, dataset, design, shape, network.input_scale, tuple(layers)
    )


def _halves(layer: Layer, parameters: LayerParameters, classes: int) -> list[tuple[Layer, LayerParameters]]:
    """A layer as it is; but one of aggregation mlp as two: sums that pass a relu, and the second product, of every row
    by itself. The first has as many features in the last layer, too: the heads' classes."""
    if parameters.mlp is None:
        return [(layer, parameters)]
    last, second = layer.d is None, parameters.mlp
    sums = layer.model_copy(
        update={"aggregation": "add", "activation": "relu", "d": layer.d or classes, "t_act": layer.t_act or 1}
    )
    product = layer.model_copy(
        update={"attention": "constant", "aggregation": "add", "t_attn": None, "k": 1 if last else layer.k}
    )
    weight = second.weight.reshape(len(second.weight), product.k, -1)
    return [
        (sums, replace(parameters, output_scale=parameters.value_scale)),
        (product, LayerParameters(weight, second.bias, weight_scale=second.weight_scale,
                                  value_scale=second.value_scale, output_scale=parameters.output_scale)),
    ]  # fmt: skip


def _layer(
    index: int,
    layer: Layer,
    parameters: LayerParameters,
    shape: OneDesign,
    bound: list[Multipliers],
    input_format: FixedPoint,
    rows: NDArray[np.int64],
) -> LayerAccelerator:
    value = layer.value_format(parameters.value_scale)
    output = layer.value_format(parameters.output_scale)
    weight = layer.weight_format(parameters.weight_scale)
    gathered = layer.value_format(parameters.scale_of_gathered) if layer.gathers_first else None
    dsp = {group.stage: int(group.dsp[0]) for group in bound}
    score = layer.score_format(parameters.scale_of_scores)
    denominator_bits = wire.COEFFICIENT_FRACTION_BITS if layer.attention == "gcn" else 0
    pad = shape.d_padded - shape.d
    codes = np.pad(weight.quantise(parameters.weight), ((0, 0), (0, 0), (0, pad)))
    argument = argument_format(layer.activation, value, output)
    rounded_off = value.fraction_bits - argument.fraction_bits
    extra = wire.logit_extra_bits(value.width) if shape.last else 0
    bias = argument.quantise(parameters.bias)
    if not shape.last:
        bias = np.pad(bias.reshape(layer.k, -1), ((0, 0), (0, pad))).ravel()
    # A head's features stay together; only in a last layer without scores do a class's heads.
    order = (0, 2, 1) if shape.last and not layer.attends else (0, 1, 2)
    return LayerAccelerator(
        index=index,
        geometry=shape,
        input_format=input_format,
        weight_format=weight,
        value_format=value,
        output_format=output,
        linear_shift=(gathered or input_format).fraction_bits + weight.fraction_bits - value.fraction_bits,
        aggregate_shift=denominator_bits + rounded_off - extra,
        linear_dsp=dsp["linear"],
        score_dsp=dsp["score"],
        aggregate_dsp=dsp["aggregate"],
        weight=_spread_rows(codes.transpose(order).reshape(codes.shape[0], -1), rows, shape.input_width),
        bias=bias,
        attention_target=_vector(weight, parameters.attention_target),
        attention_source=_vector(weight, parameters.attention_source),
        attention_factor=_vector(weight, parameters.attention_factor),
        exponential_table=_exponential_table(layer.attention, score) if layer.attends else None,
        activation_table=activation_table(layer.activation, argument, output) if layer.activation else None,
        scores=_scores(layer, parameters, value, score) if layer.attends else None,
        gathered=gathered,
    )


def _exponential_table(attention: str, score: FixedPoint) -> Codes:
    return exponential_table(score, largest_difference(attention, score))


def _scores(layer: Layer, parameters: LayerParameters, value: FixedPoint, score: FixedPoint) -> Scores:
    if layer.pair:
        pair, function = layer.value_format(parameters.scale_of_pairs), layer.tanh_format()
        return Scores(
            layer.attention, score, tanh_table(pair, function), dot=True, pair=pair, function=function
        )  # fmt: skip
    table = score_table(value, score) if layer.attention == "linear" else None
    return Scores(layer.attention, score, table, layer.attention == "gat-sym", layer.dot)


def _vector(weight: FixedPoint, values: NDArray[np.float32] | None) -> Codes | None:
    return None if values is None else weight.quantise(values)


def _places(layer: LayerAccelerator) -> NDArray[np.int64]:
    """[k * d] place of each feature of a hidden layer in its padded row."""
    shape = layer.geometry
    return (np.arange(shape.k)[:, None] * shape.d_padded + np.arange(shape.d)).ravel()


def _spread_rows(weight: Codes, rows: NDArray[np.int64], input_width: int) -> Codes:
    """[input_width, features] weights with their rows at `rows`, and zeros where the input is padding."""
    spread = np.zeros((input_width, weight.shape[1]), np.int64)
    spread[rows] = weight
    return spread
