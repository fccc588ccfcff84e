"""Lowering: a design, its trained weights and a graph's shape become the accelerator."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fgnas.design import Design, Layer
from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware.accelerator import Accelerator, LayerAccelerator
from fgnas.hardware.binding import Multipliers, bind_multipliers
from fgnas.hardware.geometry import (
    COEFFICIENT_FRACTION_BITS,
    LOGIT_EXTRA_BITS,
    GraphShape,
    LayerGeometry,
    geometry,
)
from fgnas.network import LayerParameters, Network
from fgnas.space import columns_of

ACTIVATIONS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "relu": lambda u: np.maximum(u, 0.0),
    "tanh": np.tanh,
    "sigmoid": lambda u: 1.0 / (1.0 + np.exp(-u)),
    "elu": lambda u: np.where(u > 0, u, np.expm1(np.minimum(u, 0.0))),
}


def lower(design: Design, network: Network, shape: GraphShape, dataset: str = "", name: str = "") -> Accelerator:
    """The accelerator of a design. Raises UserError where the weights do not fit the design."""
    network.check(design, shape.width_in, shape.classes)
    geometries = geometry(columns_of([design]), shape)
    bound = bind_multipliers(geometries, np.array([design.dsp]))
    layers: list[LayerAccelerator] = []
    input_format = design.layers[0].value_format(network.input_scale)
    for index, layer in enumerate(design.layers):
        own = [group for group in bound if group.layer == index]
        lowered = _layer(index, layer, network.layers[index], geometries[index], own, input_format)
        layers.append(lowered)
        input_format = lowered.output_format
    return Accelerator(
        name or design.hash, dataset, design, shape, network.input_scale, tuple(layers)
    )


def _layer(
    index: int,
    layer: Layer,
    parameters: LayerParameters,
    shape: LayerGeometry,
    bound: list[Multipliers],
    input_format: FixedPoint,
) -> LayerAccelerator:
    value = layer.value_format(parameters.value_scale)
    output = layer.value_format(parameters.output_scale)
    weight = layer.weight_format(parameters.weight_scale)
    fields = {field.name for field in dataclasses.fields(LayerAccelerator)}
    sizes = {
        name: int(array[0])
        for name, array in vars(shape).items()
        if name in fields and isinstance(array, np.ndarray)
    }
    dsp = {group.stage: int(group.dsp[0]) for group in bound}
    codes = weight.quantise(parameters.weight)
    denominator_bits = 0 if layer.attention == "constant" else COEFFICIENT_FRACTION_BITS
    # Hidden layers keep a head's features together; the last keeps a class's heads together.
    order = (0, 2, 1) if shape.last else (0, 1, 2)
    return LayerAccelerator(
        index=index,
        first=shape.first,
        last=shape.last,
        attention=layer.attention,
        aggregation=layer.aggregation,
        activation=layer.activation,
        **sizes,
        input_format=input_format,
        weight_format=weight,
        value_format=value,
        output_format=output,
        linear_shift=input_format.fraction_bits + weight.fraction_bits - value.fraction_bits,
        aggregate_shift=denominator_bits - (LOGIT_EXTRA_BITS if shape.last else 0),
        linear_dsp=dsp["linear"],
        aggregate_dsp=dsp["aggregate"],
        weight=codes.transpose(order).reshape(codes.shape[0], -1),
        bias=value.quantise(parameters.bias),
        activation_table=activation_table(layer.activation, value, output) if layer.activation else None,
    )


def activation_table(activation: str, value: FixedPoint, output: FixedPoint) -> Codes:
    """[2**width] codes of act(U) in the output's format, indexed by the bits of U taken as unsigned."""
    bits = np.arange(1 << value.width, dtype=np.int64)
    codes = np.where(bits > value.maximum, bits - (1 << value.width), bits)
    return output.quantise(ACTIVATIONS[activation](value.value(codes)))
