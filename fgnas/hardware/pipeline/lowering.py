"""Lowering: a design, its trained weights and a graph's shape become the accelerator.

Formats, shifts, codes and tables are those of the integer network's operations; lanes and padding are added here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from fgnas.design import Design, Layer, columns_of
from fgnas.fixedpoint import Codes
from fgnas.hardware.arithmetic import Arithmetic
from fgnas.hardware.integer.apply import Apply
from fgnas.hardware.integer.attend import Attend
from fgnas.hardware.integer.combine import Combine
from fgnas.hardware.integer.designs import network_of
from fgnas.hardware.integer.gather import Gather
from fgnas.hardware.integer.network import IntegerNetwork
from fgnas.hardware.integer.operation import Operation
from fgnas.hardware.integer.rescale import Rescale
from fgnas.hardware.integer.scores.function import FunctionScores
from fgnas.hardware.integer.scores.nodes import NodeScores
from fgnas.hardware.integer.scores.pair import PairScores
from fgnas.hardware.integer.scores.product import ProductScores
from fgnas.hardware.integer.value import Value
from fgnas.hardware.pipeline.accelerator import Accelerator, LayerAccelerator, Scores
from fgnas.hardware.pipeline.binding import Multipliers, bind_multipliers
from fgnas.hardware.pipeline.geometry import OneDesign, geometry, of_one_design
from fgnas.hardware.shape import GraphShape
from fgnas.network import Network

ROUNDING = Arithmetic(divides=True, adds_heads=False)
"""Where the pipeline rounds."""


def lower(design: Design, network: Network, shape: GraphShape, dataset: str = "", name: str = "") -> Accelerator:
    """The accelerator of a design. Raises UserError where the weights do not fit the design."""
    integers = network_of(design, network, shape.width_in, shape.classes, ROUNDING)
    halves = [half for place, layer in enumerate(design.layers) for half in _halves(place, layer, integers)]
    whole = design.model_copy(update={"layers": tuple(half.layer for half in halves)})
    geometries = geometry(columns_of([whole]), shape)
    bound = bind_multipliers(geometries, np.array([design.dsp]))
    layers: list[LayerAccelerator] = []
    for index, half in enumerate(halves):
        own = [group for group in bound if group.layer == index]
        rows = _places(layers[-1]) if layers else np.arange(shape.width_in)
        layers.append(_layer(index, half, of_one_design(geometries[index]), own, rows))
    return Accelerator(
        name or design.hash, dataset, design, shape, network.input_scale, tuple(layers), integers
    )


@dataclass(frozen=True, eq=False)
class _Half:
    """The part of a design's layer that is a layer of the accelerator.

    Attributes:
        layer: the layer that gives its geometry.
        given: the value that its product reads.
        combine: the product.
        gather: the aggregation; a Rescale of every row if there is none.
        apply: bias and activation.
        scores: the scores that weight the messages; None without.
    """

    layer: Layer
    given: Value
    combine: Combine
    gather: Gather | Attend | Rescale
    apply: Apply
    scores: Operation | None = None


def _halves(place: int, layer: Layer, integers: IntegerNetwork) -> list[_Half]:
    """A layer as it is; but one of aggregation mlp as two: sums that pass a relu, and the second product, of every row
    by itself. The first has as many features in the last layer, too: the heads' classes."""
    steps = {step.name.partition(".")[2]: step for step in integers.steps if step.layer == place}
    end = "activate" if "activate" in steps else "logits"

    def half(layer: Layer, names: tuple[str, str, str], scores: str = "") -> _Half:
        combine, gather, apply = (steps[name].operation for name in names)
        given = integers.values[steps[names[0]].inputs[0]]
        return _Half(layer, given, cast(Combine, combine), cast(Gather, gather), cast(Apply, apply),
                     steps[scores].operation if scores in steps else None)  # fmt: skip

    if "second" not in steps:
        return [half(layer, ("linear", "aggregate", end), "scores")]
    last, d = layer.d is None, integers.values[steps["linear"].name].columns // layer.k
    sums = layer.model_copy(
        update={"aggregation": "add", "activation": "relu", "d": d, "t_act": layer.t_act or 1}
    )
    product = layer.model_copy(
        update={"attention": "constant", "aggregation": "add", "t_attn": None, "k": 1 if last else layer.k}
    )
    return [half(sums, ("linear", "aggregate", "relu"), "scores"), half(product, ("second", "rescale", end))]


def _layer(
    index: int, half: _Half, shape: OneDesign, bound: list[Multipliers], rows: NDArray[np.int64]
) -> LayerAccelerator:
    layer, combine, apply, scores = half.layer, half.combine, half.apply, half.scores
    dsp = {group.stage: int(group.dsp[0]) for group in bound}
    pad = shape.d_padded - shape.d
    codes = np.pad(combine.weight.reshape(-1, layer.k, shape.d), ((0, 0), (0, 0), (0, pad)))
    bias = apply.bias
    if not shape.last:
        bias = np.pad(bias.reshape(layer.k, -1), ((0, 0), (0, pad))).ravel()
    # A head's features stay together; only in a last layer without scores do a class's heads.
    order = (0, 2, 1) if shape.last and not layer.attends else (0, 1, 2)
    return LayerAccelerator(
        index=index,
        geometry=shape,
        input_format=half.given.number,
        weight_format=combine.number,
        value_format=combine.output,
        output_format=combine.output if shape.last else apply.output,
        linear_shift=combine.shift,
        aggregate_shift=half.gather.shift,
        linear_dsp=dsp["linear"],
        score_dsp=dsp["score"],
        aggregate_dsp=dsp["aggregate"],
        weight=_spread_rows(codes.transpose(order).reshape(len(codes), -1), rows, shape.input_width),
        bias=bias,
        attention_target=getattr(scores, "target", None),  # a kind of scores has those vectors that it reads
        attention_source=getattr(scores, "source", None),
        attention_factor=getattr(scores, "factor", None),
        exponential_table=half.gather.table if isinstance(half.gather, Attend) else None,
        activation_table=None if shape.last else apply.table,
        scores=None if scores is None else _scores(layer, scores),
        second=isinstance(half.gather, Rescale),
    )


def _scores(layer: Layer, scores: Operation) -> Scores:
    if isinstance(scores, PairScores):
        return Scores(layer.attention, scores.output, scores.table, dot=True, pair=scores.pair,
                      function=scores.function)  # fmt: skip
    if isinstance(scores, ProductScores):
        return Scores(layer.attention, scores.output, dot=True)
    if isinstance(scores, FunctionScores):
        return Scores(layer.attention, scores.output, scores.table)
    assert isinstance(scores, NodeScores)
    return Scores(layer.attention, scores.output, symmetric=scores.symmetric)


def _places(layer: LayerAccelerator) -> NDArray[np.int64]:
    """[k * d] place of each feature of a hidden layer in its padded row."""
    shape = layer.geometry
    return (np.arange(shape.k)[:, None] * shape.d_padded + np.arange(shape.d)).ravel()


def _spread_rows(weight: Codes, rows: NDArray[np.int64], input_width: int) -> Codes:
    """[input_width, features] weights with their rows at `rows`, and zeros where the input is padding."""
    spread = np.zeros((input_width, weight.shape[1]), np.int64)
    spread[rows] = weight
    return spread
