"""Lowering: a design, its trained weights and a graph's shape become the accelerator."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fgnas.design import Design, Layer, columns_of
from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware import wire
from fgnas.hardware.pipeline.accelerator import Accelerator, LayerAccelerator, Scores
from fgnas.hardware.pipeline.binding import Multipliers, bind_multipliers
from fgnas.hardware.pipeline.geometry import GraphShape, OneDesign, geometry, of_one_design
from fgnas.hardware.pipeline.tables import activation_table, exponential_table, score_table
from fgnas.network import LayerParameters, Network


def lower(design: Design, network: Network, shape: GraphShape, dataset: str = "", name: str = "") -> Accelerator:
    """The accelerator of a design. Raises UserError where the weights do not fit the design."""
    network.check(design, shape.width_in, shape.classes)
    geometries = geometry(columns_of([design]), shape)
    bound = bind_multipliers(geometries, np.array([design.dsp]))
    layers: list[LayerAccelerator] = []
    input_format = design.layers[0].value_format(network.input_scale)
    for index, layer in enumerate(design.layers):
        own = [group for group in bound if group.layer == index]
        rows = _places(layers[-1]) if layers else np.arange(shape.width_in)
        one = of_one_design(geometries[index])
        lowered = _layer(index, layer, network.layers[index], one, own, input_format, rows)
        layers.append(lowered)
        input_format = lowered.output_format
    return Accelerator(
        name or design.hash, dataset, design, shape, network.input_scale, tuple(layers)
    )


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
    dsp = {group.stage: int(group.dsp[0]) for group in bound}
    score = layer.score_format(parameters.value_scale)
    denominator_bits = wire.COEFFICIENT_FRACTION_BITS if layer.attention == "gcn" else 0
    pad = shape.d_padded - shape.d
    codes = np.pad(weight.quantise(parameters.weight), ((0, 0), (0, 0), (0, pad)))
    bias = value.quantise(parameters.bias)
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
        linear_shift=input_format.fraction_bits + weight.fraction_bits - value.fraction_bits,
        aggregate_shift=denominator_bits - (wire.LOGIT_EXTRA_BITS if shape.last else 0),
        linear_dsp=dsp["linear"],
        score_dsp=dsp["score"],
        aggregate_dsp=dsp["aggregate"],
        weight=_spread_rows(codes.transpose(order).reshape(codes.shape[0], -1), rows, shape.input_width),
        bias=bias,
        attention_target=_vector(weight, parameters.attention_target),
        attention_source=_vector(weight, parameters.attention_source),
        exponential_table=_exponential_table(layer.attention, score) if layer.attends else None,
        activation_table=activation_table(layer.activation, value, output) if layer.activation else None,
        scores=_scores(layer, value, score) if layer.attends else None,
    )


def _exponential_table(attention: str, score: FixedPoint) -> Codes:
    return exponential_table(score, largest_difference(attention, score))


def largest_difference(attention: str, score: FixedPoint) -> int | None:
    """The most that five times a row's largest score can exceed another; None for gat's."""
    if attention == "gat-sym":  # two sums of two parts, five times the largest, and once the smallest
        return 20 * score.maximum - 4 * score.minimum
    return 5 * score.maximum if attention == "linear" else None


def _scores(layer: Layer, value: FixedPoint, score: FixedPoint) -> Scores:
    table = score_table(value, score) if layer.attention == "linear" else None
    return Scores(layer.attention, score, table, layer.attention == "gat-sym")


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
