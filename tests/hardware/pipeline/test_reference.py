"""The integer reference: by hand on four nodes, then against exact fractions on random graphs."""

import math
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import plain_layer, random_accelerator, random_design, random_graph

from fgnas.design import Attention, Design
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.interpreter import predict
from fgnas.hardware.pipeline import reference
from fgnas.hardware.pipeline.accelerator import Accelerator, LayerAccelerator
from fgnas.hardware.pipeline.encoding import encode
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.shape import GraphShape
from fgnas.network import LayerParameters, Network
from fgnas.tasks.nodes import GraphData


def round_even(value: Fraction) -> int:
    """Python's own rounding of a fraction: to nearest, ties to even."""
    return round(value)


def saturate(value: int, bits: int) -> int:
    return max(-(1 << (bits - 1)), min((1 << (bits - 1)) - 1, value))


def slow_logits(accelerator: Accelerator, graph: IntegerGraph) -> list[list[int]]:
    """The accelerator's arithmetic in exact fractions, one number at a time."""
    rows = [[int(v) for v in row] for row in graph.features.toarray()]
    for layer in accelerator.layers:
        h = [[_linear(layer, row, f) for f in range(layer.geometry.features)] for row in rows]
        y = [[_aggregate(layer, graph, h, i, f) for f in range(layer.geometry.features)] for i in range(graph.nodes)]
        if layer.geometry.last:
            return [[_logit(layer, row, c) for c in range(layer.geometry.d)] for row in y]
        rows = [[_activate(layer, value, f) for f, value in enumerate(row)] for row in y]
    raise AssertionError


def _linear(layer: LayerAccelerator, row: list[int], f: int) -> int:
    exact = sum(Fraction(x) * int(layer.weight[c, f]) for c, x in enumerate(row)) / Fraction(2) ** layer.linear_shift
    return saturate(round_even(exact), layer.value_format.width)


def _coefficients(layer: LayerAccelerator, graph: IntegerGraph, h: list[list[int]], i: int, head: int) -> list[int]:
    """256 exp(score - maximum) in floating point, which is safe because no entry is near a tie."""

    def score(node: int, vectors: np.ndarray) -> int:
        first, d = head * layer.geometry.d_padded, layer.geometry.d
        exact = sum(h[node][first + f] * int(vectors[head, f]) for f in range(d))
        return saturate(round_even(Fraction(exact) / Fraction(2) ** layer.weight_format.fraction_bits),
                        layer.value_format.width)  # fmt: skip

    sources = graph.sources[graph.indptr[i] : graph.indptr[i + 1]]
    step = layer.value_format.step

    def leaky(z: int) -> float:
        return z * step * (1.0 if z >= 0 else 0.2)

    if layer.attention == "linear":
        # 1 + tanh in steps of 2**(2 - width), which the codes of a number of that width end at.
        fine = 1 << (layer.value_format.width - 2)
        parts = [round((1 + math.tanh(score(j, layer.attention_source) * step)) * fine) for j in sources]
        real = [min(part, 2 * fine - 1) / fine for part in parts]
    elif layer.attention == "cos":
        real = [_dot_score(layer, h[i], h[j], head) for j in sources]
    elif layer.attention == "gene-linear":
        real = [_pair_score(layer, h[i], h[j], head) for j in sources]
    else:
        real = [leaky(score(i, layer.attention_target) + score(j, layer.attention_source)) for j in sources]
    if layer.attention == "gat-sym":
        turned = (leaky(score(j, layer.attention_target) + score(i, layer.attention_source)) for j in sources)
        real = [one + other for one, other in zip(real, turned, strict=True)]
    return [round(256 * math.exp(value - max(real))) for value in real]


def _dot_score(layer: LayerAccelerator, target: list[int], source: list[int], head: int) -> float:
    assert layer.scores is not None and layer.attention_source is not None
    first, total = head * layer.geometry.d_padded, 0
    for f in range(layer.geometry.d):
        scaled = Fraction(target[first + f] * int(layer.attention_source[head, f]))
        query = round_even(scaled / Fraction(2) ** layer.weight_format.fraction_bits)
        total += saturate(query, layer.value_format.width) * source[first + f]
    real = Fraction(total) / Fraction(2) ** (2 * layer.value_format.fraction_bits)
    number = layer.scores.format
    return saturate(round_even(real * Fraction(2) ** number.fraction_bits), number.width) * number.step


def _pair_score(layer: LayerAccelerator, target: list[int], source: list[int], head: int) -> float:
    assert layer.scores is not None and layer.scores.pair is not None
    first, total, wanted = head * layer.geometry.d_padded, Fraction(0), layer.scores.pair
    step = Fraction(1, 1 << (layer.value_format.width - 1))  # of tanh
    for f in range(layer.geometry.d):
        both = target[first + f] * int(layer.attention_target[head, f])
        both += source[first + f] * int(layer.attention_source[head, f])
        exact = Fraction(both) / Fraction(2) ** (layer.value_format.fraction_bits + layer.weight_format.fraction_bits)
        paired = saturate(round_even(exact * Fraction(2) ** wanted.fraction_bits), wanted.width) * wanted.step
        function = saturate(round(math.tanh(paired) / step), layer.value_format.width)
        total += function * step * int(layer.attention_factor[head, f])
    real, number = total / Fraction(2) ** layer.weight_format.fraction_bits, layer.scores.format
    return saturate(round_even(real * Fraction(2) ** number.fraction_bits), number.width) * number.step


def _aggregate_gat(layer: LayerAccelerator, graph: IntegerGraph, h: list[list[int]], i: int, f: int) -> int:
    c = _coefficients(layer, graph, h, i, f // layer.geometry.d_padded)
    values = [h[j][f] for j in graph.sources[graph.indptr[i] : graph.indptr[i + 1]]]
    messages = [a * b for a, b in zip(c, values, strict=True)]
    total = Fraction(max(messages) if layer.geometry.maximum else sum(messages), sum(c))
    if layer.aggregation == "mean":
        total /= len(messages)
    return round_even(total * (16 if layer.geometry.last else 1))


def _aggregate(layer: LayerAccelerator, graph: IntegerGraph, h: list[list[int]], i: int, f: int) -> int:
    if layer.geometry.gat:
        return _aggregate_gat(layer, graph, h, i, f)
    edges = range(graph.indptr[i], graph.indptr[i + 1])
    denominator = 256 if layer.attention == "gcn" else 1
    messages = [(int(graph.gcn[e]) if denominator == 256 else 1) * h[graph.sources[e]][f] for e in edges]
    total = Fraction(max(messages) if layer.geometry.maximum else sum(messages), denominator)
    if layer.aggregation == "mean":
        total /= len(messages)
    return round_even(total * (16 if layer.geometry.last else 1))


def _activate(layer: LayerAccelerator, y: int, f: int) -> int:
    u = saturate(y + int(layer.bias[f]), layer.value_format.width)
    assert layer.activation_table is not None
    return int(layer.activation_table[u % len(layer.activation_table)])


def _logit(layer: LayerAccelerator, row: list[int], c: int) -> int:
    g = layer.geometry
    heads = sum(row[h * g.d_padded + c if g.gat else c * g.k + h] for h in range(g.k))
    return saturate(round_even(Fraction(heads, g.k)) + 16 * int(layer.bias[c]), 16)


def test_by_hand(four_nodes: GraphData) -> None:
    """Unit weights, plain sums: node 1 sums itself, 0 once and 2 twice."""
    design = Design(schema=1, dsp=0, layers=(plain_layer(d=None, activation=None, t_act=None),))
    weight = np.array([[[1, 0]], [[0, 1]], [[1, 1]]], np.float32)
    network = Network((LayerParameters(weight, np.array([0, -1], np.float32)),), input_scale=0)
    accelerator = lower(design, network, GraphShape.of(four_nodes))
    logits = reference.run(accelerator, encode(accelerator, four_nodes))
    # X in halves: rows 1 0 1 | 0 1 1 | 2 0 0 | 0 0 0, so H = X W in halves: 2 1 | 1 2 | 2 0 | 0 0.
    sums = np.array([[2 + 1, 1 + 2], [1 + 2 + 2 * 2, 2 + 1], [2 + 2 * 1, 0 + 2 * 2], [0, 0]])
    np.testing.assert_array_equal(logits, 16 * (sums + [0, -2]))
    assert predict(logits).tolist() == [0, 0, 0, 0]


def test_prediction_takes_the_lowest_of_equals() -> None:
    assert predict(np.array([[1, 3, 3], [2, 2, 2]])).tolist() == [1, 0]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1 << 30), layers=st.integers(1, 3), nodes=st.integers(1, 8))
def test_random_designs_against_fractions(seed: int, layers: int, nodes: int) -> None:
    rng = np.random.default_rng(seed)
    small = {"d": 4, "k": 2}
    design = random_design(rng, layers, tuple(small if i < layers - 1 else {"k": 4} for i in range(layers)))
    data = random_graph(rng, nodes, 6, 3, 2 * nodes)
    accelerator = random_accelerator(rng, design, data)
    graph = encode(accelerator, data)
    assert reference.run(accelerator, graph).tolist() == slow_logits(accelerator, graph)


@pytest.mark.parametrize("aggregation", ["add", "mean", "max"])
@pytest.mark.parametrize("attention", get_args(Attention))
def test_every_aggregation_against_fractions(attention: str, aggregation: str) -> None:
    rng = np.random.default_rng(7)
    choice = {"attention": attention, "aggregation": aggregation, "t_attn": 4 if attention == "gat" else None, "af": 6}
    design = random_design(rng, 2, (choice | {"d": 4, "k": 1}, choice | {"k": 2}))
    data = random_graph(rng, 12, 9, 4, 40)
    accelerator = random_accelerator(rng, design, data)
    graph = encode(accelerator, data)
    assert reference.run(accelerator, graph).tolist() == slow_logits(accelerator, graph)
