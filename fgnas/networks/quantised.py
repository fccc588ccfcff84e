"""Accuracy of a design in the integers of its hardware, and the same numbers in float for a second opinion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fgnas.design import Design, Layer
from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware import wire
from fgnas.hardware.integer.designs import network_of
from fgnas.hardware.integer.quantised import integer_logits, logits_of
from fgnas.hardware.integer.tables import argument_format
from fgnas.hardware.kinds import kind_of
from fgnas.network import ATTENTION_VECTORS, LayerParameters, Network, multiplied
from fgnas.networks.answers import answers_of
from fgnas.networks.model import ACTIVATIONS
from fgnas.networks.scatter import PAIR_FUNCTIONS
from fgnas.tasks.nodes import GraphData
from fgnas.tasks.pooled import examined_of
from fgnas.tasks.sampling import layer_graphs


def quantised_accuracy(
    design: Design, network: Network, data: GraphData, splits: Sequence[str] = ("val", "test")
) -> dict[str, float]:
    """Accuracy, 0 to 1, on each of the named splits, or the quality of another kind of targets (see
    `fgnas.networks.answers`); a search only asks for "val"."""
    data = examined_of(data, splits)
    integers = network_of(design, network, data.width_in, data.classes, kind_of(design).rounding)
    values = logits_of(integers, data, design.rates) * integers.output.number.step
    return {split: float(answers_of(data, split).quality(values[getattr(data, split)])) for split in splits}


def logit_step(design: Design, network: Network, data: GraphData) -> float:
    """The value of one step of the codes that `quantised_logits` returns."""
    return network_of(design, network, data.width_in, data.classes, kind_of(design).rounding).output.number.step


def quantised_logits(design: Design, network: Network, data: GraphData) -> Codes:
    """[N, classes] integer logits of a design on the hardware that it is for."""
    return integer_logits(design, network, data, kind_of(design).rounding)


def fake_quantised_logits(
    design: Design, network: Network, data: GraphData, stages: dict[str, Tensor] | None = None
) -> Tensor:
    """[N, classes] real logits of a float64 forward pass that is rounded where the hardware rounds.

    `stages` receives the values of "0.linear", "0.aggregate", "0.activate", "1.linear", …, each [N, k * d].

    It works on values instead of codes and shares no code with lowering, so that the two check each other. float64
    represents every sum of products exactly; float32 does not.
    """
    features = torch.from_numpy(data.features.toarray())
    x = fake_quantise(features, design.layers[0].value_format(network.input_scale))
    stages = {} if stages is None else stages
    graphs = layer_graphs(data, design.rates)
    for index, (layer, parameters, graph) in enumerate(zip(design.layers, network.layers, graphs, strict=True)):
        layer, parameters = multiplied(layer, parameters)
        value = layer.value_format(parameters.value_scale)
        if layer.gathers_first:
            x = fake_quantise(_aggregate(layer, x, graph), layer.value_format(parameters.scale_of_gathered))
            stages[f"{index}.gathered"] = x
        weight = fake_quantise(parameters.weight.reshape(x.shape[1], -1), layer.weight_format(parameters.weight_scale))
        output = layer.value_format(parameters.output_scale)
        argument = value if layer.mlp else argument_format(layer.activation, value, output)
        bias = fake_quantise(parameters.bias, argument)
        h = fake_quantise(x @ weight, value)
        y = h if layer.gathers_first else _messages(layer, parameters, h, graph)
        extra = 0 if layer.activation or layer.mlp else wire.logit_extra_bits(value.width)
        y = rounded(y, argument.fraction_bits + extra)
        stages |= {f"{index}.linear": h, f"{index}.aggregate": y}
        heads = layer.k
        if parameters.mlp is not None:
            read, second = torch.relu(clip(y + bias, argument)), parameters.mlp
            stages[f"{index}.relu"] = read
            value, heads = layer.value_format(second.value_scale), 1
            argument = argument_format(layer.activation, value, output)
            h = fake_quantise(read @ fake_quantise(second.weight, layer.weight_format(second.weight_scale)), value)
            bias, y = fake_quantise(second.bias, argument), rounded(h, argument.fraction_bits)
            stages[f"{index}.second"] = h
        if layer.activation is not None:
            u = clip(y + bias, argument)
            x = fake_quantise(ACTIVATIONS[layer.activation](u), output)
            stages[f"{index}.activate"] = x
    logit = FixedPoint(wire.LOGIT_BITS, value.fraction_bits + wire.logit_extra_bits(value.width))
    of_heads = y.view(data.nodes, heads, data.classes)
    return clip(rounded(of_heads.mean(1), logit.fraction_bits) + bias, logit)


def _messages(layer: Layer, parameters: LayerParameters, h: Tensor, graph: GraphData) -> Tensor:
    """[N, features] aggregate of H, not rounded."""
    return _attend(layer, parameters, h, graph) if layer.attends else _aggregate(layer, h, graph)


def _aggregate(layer: Layer, h: Tensor, data: GraphData) -> Tensor:
    """[N, features] aggregate of H, not rounded."""
    degrees = torch.from_numpy(data.degrees)
    sources, targets = torch.from_numpy(data.sources), torch.from_numpy(data.targets)
    steps = 2.0**wire.COEFFICIENT_FRACTION_BITS
    coefficients = torch.ones(len(sources), dtype=torch.float64)
    if layer.attention == "gcn":
        coefficients = torch.round(steps / torch.sqrt((degrees[targets] * degrees[sources]).double())) / steps
    messages = coefficients[:, None] * h[sources]
    index = targets[:, None].expand_as(messages)
    reduce = "amax" if layer.aggregation == "max" else "sum"
    y = torch.zeros_like(h).scatter_reduce(0, index, messages, reduce, include_self=False)
    return y / degrees[:, None] if layer.aggregation == "mean" else y


def _attend(layer: Layer, parameters: LayerParameters, h: Tensor, data: GraphData) -> Tensor:
    """[N, features] aggregate of H weighted by scores, not rounded."""
    heads = h.view(len(h), layer.k, -1)
    sources, targets = torch.from_numpy(data.sources), torch.from_numpy(data.targets)
    scores = _fivefold_scores(layer, parameters, heads, sources, targets)
    index = targets[:, None].expand_as(scores)
    none = torch.zeros(heads.shape[:2], dtype=torch.float64)
    largest = none.scatter_reduce(0, index, scores, "amax", include_self=False)
    steps = 2.0**wire.COEFFICIENT_FRACTION_BITS
    coefficients = torch.round(steps * torch.exp((scores - largest[targets]) / 5)) / steps
    messages = coefficients[:, :, None] * heads[sources]
    index = targets[:, None, None].expand_as(messages)
    reduce = "amax" if layer.aggregation == "max" else "sum"
    total = torch.zeros_like(heads).scatter_reduce(0, index, messages, reduce, include_self=False)
    denominator = none.index_add(0, targets, coefficients)
    if layer.aggregation == "mean":
        denominator = denominator * torch.from_numpy(data.degrees)[:, None]
    return (total / denominator[:, :, None]).view(len(h), -1)


def _fivefold_scores(
    layer: Layer, parameters: LayerParameters, heads: Tensor, sources: Tensor, targets: Tensor
) -> Tensor:
    """[edges, k] five times the score of each edge, because the slope 0.2 has no exact value."""
    value, weight = layer.value_format(parameters.value_scale), layer.weight_format(parameters.weight_scale)
    given = (getattr(parameters, name) for name in ATTENTION_VECTORS)
    vectors = [fake_quantise(vector, weight) for vector in given if vector is not None]
    if layer.pair:
        source, target, factor = vectors
        number = layer.value_format(parameters.scale_of_pairs)
        paired = fake_quantise(heads[targets] * target + heads[sources] * source, number)
        functions = fake_quantise(PAIR_FUNCTIONS[layer.attention](paired), layer.function_format(number))
        return 5 * fake_quantise((functions * factor).sum(2), layer.score_format(parameters.scale_of_scores))
    if layer.dot:
        queries = fake_quantise(heads * vectors[0], value)
        products = (queries[targets] * heads[sources]).sum(2)
        return 5 * fake_quantise(products, layer.score_format(parameters.scale_of_scores))
    r, *rest = (fake_quantise((heads * vector).sum(2), value) for vector in vectors)
    if layer.attention == "linear":
        return 5 * fake_quantise(1 + torch.tanh(r), layer.score_format(parameters.value_scale))[sources]
    (s,) = rest
    sums = [s[targets] + r[sources], *([s[sources] + r[targets]] if layer.attention == "gat-sym" else [])]
    return sum((torch.where(z >= 0, 5 * z, z) for z in sums), torch.zeros(()))


def fake_quantise(values: Tensor | NDArray[np.float32], number: FixedPoint) -> Tensor:
    """The nearest values in the format, as float64."""
    return clip(rounded(torch.as_tensor(values).double(), number.fraction_bits), number)


def rounded(values: Tensor, fraction_bits: int) -> Tensor:
    """Values rounded to the nearest multiples of 2**-fraction_bits, ties to even."""
    return torch.round(values * 2.0**fraction_bits) / 2.0**fraction_bits


def clip(values: Tensor, number: FixedPoint) -> Tensor:
    """Values saturated to the range of the format."""
    return values.clamp(number.minimum * number.step, number.maximum * number.step)
