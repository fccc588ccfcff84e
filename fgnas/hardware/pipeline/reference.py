"""The integer reference: the definition of "right", in NumPy, exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from fgnas.fixedpoint import Codes, FixedPoint, divide_even, shift_right_even
from fgnas.hardware.integer.graph import IntegerGraph, rows_alone
from fgnas.hardware.pipeline.accelerator import Accelerator, LayerAccelerator


@dataclass
class Trace:
    """The results of every stage, to name the first mismatch between two levels.

    Attributes:
        stages: "0.linear", "0.aggregate", "0.activate", "1.linear", … -> [N, features] codes. Between "linear" and
            "aggregate" gat has "target_scores", "source_scores" and "row_maximum", [N, k]; cos has "queries",
            [N, features], in the place of the first two, gene-linear "functions", [edges, features]. The last is
            "head_mean", [N, classes]. Numbers are those of the accelerator's layers.
    """

    stages: dict[str, Codes] = field(default_factory=dict)


def run(
    accelerator: Accelerator, graph: IntegerGraph, trace: Trace | None = None, further: Sequence[IntegerGraph] = ()
) -> Codes:
    """[N, classes] logits as integers; `further` are the graphs of the design's layers behind the first, where they
    have their own."""
    stages = trace.stages if trace is not None else {}
    x: Codes | sp.csr_matrix = graph.features
    graphs = (graph, *(further or (graph,) * accelerator.design_layer(len(accelerator.layers) - 1)))
    for layer in accelerator.layers:
        graph = graphs[accelerator.design_layer(layer.index)]
        if layer.second:
            graph = rows_alone(graph)
        h = linear(layer, x)
        stages[f"{layer.index}.linear"] = h
        if layer.geometry.gat and trace is not None:
            for name, codes in _parts_of_scores(layer, graph, h).items():
                stages[f"{layer.index}.{name}"] = codes
            stages[f"{layer.index}.row_maximum"] = row_maximum(graph, exponents(layer, graph, h))
        y = aggregate(layer, graph, h)
        stages[f"{layer.index}.aggregate"] = y
        if layer.geometry.last:
            stages[f"{layer.index}.head_mean"] = head_mean(layer, accelerator.logit_format, y)
            return stages[f"{layer.index}.head_mean"]
        x = activate(layer, y)
        stages[f"{layer.index}.activate"] = x
    raise AssertionError("an accelerator has a last layer")


def linear(layer: LayerAccelerator, x: Codes | sp.csr_matrix) -> Codes:
    """[N, features] H = RQ of the exact sum of products."""
    # float64 products and sums of these widths stay far below 2**53, so BLAS is exact here.
    product = x @ layer.weight if sp.issparse(x) else _exact_matmul(np.asarray(x), layer.weight)
    return layer.value_format.saturate(shift_right_even(product, layer.linear_shift))


def scores(layer: LayerAccelerator, h: Codes) -> tuple[Codes, Codes]:
    """[N, k] s and [N, k] r: RQ of the exact products of H with the attention vectors; s is 0 without a target's."""
    heads = _heads(layer, h)
    vectors = (0 if one is None else one for one in (layer.attention_target, layer.attention_source))
    exact = ((heads * vector).sum(axis=2) for vector in vectors)
    s, r = (layer.value_format.saturate(shift_right_even(x, layer.weight_format.fraction_bits)) for x in exact)
    return s, r


def _parts_of_scores(layer: LayerAccelerator, graph: IntegerGraph, h: Codes) -> dict[str, Codes]:
    """What an edge's score is made of, by name."""
    if layer.scores is not None and layer.scores.pair is not None:
        return {"functions": functions(layer, graph, h)}
    if layer.scores is not None and layer.scores.dot:
        return {"queries": queries(layer, h)}
    return dict(zip(("target_scores", "source_scores"), scores(layer, h), strict=True))


def queries(layer: LayerAccelerator, h: Codes) -> Codes:
    """[N, k, d] what the features of the sending nodes meet in cos's scores: H times the vector, RQ into H's format."""
    assert layer.attention_source is not None
    exact = _heads(layer, h) * layer.attention_source
    return layer.value_format.saturate(shift_right_even(exact, layer.weight_format.fraction_bits))


def functions(layer: LayerAccelerator, graph: IntegerGraph, h: Codes) -> Codes:
    """[edges, k, d] gene-linear's tanh, from a table, of RQ of the exact sums of both nodes' features times their
    vectors."""
    heads, scores = _heads(layer, h), layer.scores
    assert scores is not None and scores.pair is not None and scores.table is not None
    assert layer.attention_source is not None and layer.attention_target is not None
    exact = heads[graph.sources] * layer.attention_source + heads[_targets(graph)] * layer.attention_target
    shift = layer.value_format.fraction_bits + layer.weight_format.fraction_bits - scores.pair.fraction_bits
    return scores.table[scores.pair.saturate(shift_right_even(exact, shift)) & (len(scores.table) - 1)]


def edge_scores(layer: LayerAccelerator, graph: IntegerGraph, h: Codes) -> Codes:
    """[edges, k] RQ of exact products: of the receiving nodes' queries with the sending nodes' features (cos), or of
    the functions of both with their factors (gene-linear)."""
    assert layer.scores is not None
    value, number = layer.value_format, layer.scores.format
    if layer.scores.function is not None:
        assert layer.attention_factor is not None
        exact = (functions(layer, graph, h) * layer.attention_factor).sum(axis=2)
        fraction_bits = layer.scores.function.fraction_bits + layer.weight_format.fraction_bits
    else:
        exact = np.einsum("ekf,ekf->ek", queries(layer, h)[_targets(graph)], _heads(layer, h)[graph.sources])
        fraction_bits = 2 * value.fraction_bits
    return number.saturate(shift_right_even(exact, fraction_bits - number.fraction_bits))


def _heads(layer: LayerAccelerator, h: Codes) -> Codes:
    """[N, k, d] the features of each head."""
    return h.reshape(len(h), layer.geometry.k, layer.geometry.d_padded)[:, :, : layer.geometry.d]


def exponents(layer: LayerAccelerator, graph: IntegerGraph, h: Codes) -> Codes:
    """[edges, k] five times the score, exact: 5 LeakyReLU(s + r), of gat-sym both ways round; or 5 (1 + tanh(r)) of
    linear, from its table; or 5 z of an edge's own score z."""
    assert layer.scores is not None
    if layer.scores.dot:
        return 5 * edge_scores(layer, graph, h)
    s, r = scores(layer, h)
    if layer.scores.table is not None:
        return 5 * layer.scores.table[r & (len(layer.scores.table) - 1)][graph.sources]
    found = _fivefold(s[_targets(graph)] + r[graph.sources])
    return found + _fivefold(s[graph.sources] + r[_targets(graph)]) if layer.scores.symmetric else found


def _fivefold(z: Codes) -> Codes:
    """5 LeakyReLU(z), whose slope 0.2 has no exact code."""
    return np.where(z >= 0, 5 * z, z)


def row_maximum(graph: IntegerGraph, exponent: Codes) -> Codes:
    """[N, k] the largest of each row's [edges, k] exponents."""
    return np.maximum.reduceat(exponent, graph.indptr[:-1], axis=0) if graph.nodes else exponent


def coefficients(layer: LayerAccelerator, graph: IntegerGraph, h: Codes) -> Codes:
    """[edges, k] coefficients: 256 exp(score - its maximum over the row), from the table; not normalised."""
    assert layer.exponential_table is not None
    exponent = exponents(layer, graph, h)
    difference = row_maximum(graph, exponent)[_targets(graph)] - exponent
    end = len(layer.exponential_table)
    return np.where(difference < end, layer.exponential_table[np.minimum(difference, end - 1)], 0)


def aggregate_gat(layer: LayerAccelerator, graph: IntegerGraph, h: Codes) -> Codes:
    """[N, features] Y = sum or maximum of c h over the sum of c; a mean also divides by the degree."""
    nodes, degrees = graph.nodes, np.diff(graph.indptr)
    if not nodes:
        return h
    c = coefficients(layer, graph, h)
    heads = h.reshape(nodes, layer.geometry.k, layer.geometry.d_padded)
    y = np.empty_like(heads)
    for head in range(layer.geometry.k):
        if layer.geometry.maximum:
            messages = c[:, head, None] * heads[graph.sources, head]
            total = np.maximum.reduceat(messages, graph.indptr[:-1], axis=0)
        else:
            total = sp.csr_matrix((c[:, head], graph.sources, graph.indptr), shape=(nodes, nodes)) @ heads[:, head]
        denominator = np.add.reduceat(c[:, head], graph.indptr[:-1])
        if layer.geometry.mean:
            denominator = denominator * degrees
        y[:, head] = divide_even(total << -layer.aggregate_shift, denominator[:, None])
    return y.reshape(h.shape)


def aggregate(layer: LayerAccelerator, graph: IntegerGraph, h: Codes) -> Codes:
    """[N, features] Y: rounded once, not saturated."""
    if layer.geometry.gat:
        return aggregate_gat(layer, graph, h)
    nodes, degrees = graph.nodes, np.diff(graph.indptr)
    weights = graph.gcn if layer.weighted else np.ones(len(graph.sources), np.int64)
    if layer.geometry.maximum:
        messages = weights[:, None] * h[graph.sources]
        total = np.maximum.reduceat(messages, graph.indptr[:-1], axis=0) if nodes else h
    else:
        adjacency = sp.csr_matrix((weights, graph.sources, graph.indptr), shape=(nodes, nodes))
        total = adjacency @ h
    shift = layer.aggregate_shift
    if not layer.geometry.mean:
        return shift_right_even(total, shift)
    return divide_even(total << max(0, -shift), degrees[:, None] << max(0, shift))


def activate(layer: LayerAccelerator, y: Codes) -> Codes:
    """[N, features] Z = table[U], U = saturate(Y + b); without a table Z is U."""
    argument = layer.argument_format
    u = argument.saturate(y + layer.bias)
    return u if layer.activation_table is None else layer.activation_table[u & ((1 << argument.width) - 1)]


def head_mean(layer: LayerAccelerator, logit_format: FixedPoint, y: Codes) -> Codes:
    """[N, classes] logits = RNE(sum over heads / k) + b at the logits' fraction bits, saturated."""
    if layer.geometry.gat:
        total = y.reshape(len(y), layer.geometry.k, layer.geometry.d_padded).sum(axis=1)[:, : layer.geometry.d]
    else:
        total = y.reshape(len(y), layer.geometry.d, layer.geometry.k).sum(axis=2)
    mean = shift_right_even(total, layer.geometry.k.bit_length() - 1)
    extra = logit_format.fraction_bits - layer.value_format.fraction_bits
    return logit_format.saturate(mean + (layer.bias << extra))


def _targets(graph: IntegerGraph) -> Codes:
    """[edges] the node whose row contains each edge."""
    return np.repeat(np.arange(graph.nodes), np.diff(graph.indptr))


def _exact_matmul(x: Codes, weight: Codes) -> Codes:
    return (x.astype(np.float64) @ weight.astype(np.float64)).astype(np.int64)
