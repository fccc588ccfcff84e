"""Aggregation by gather and scatter in torch, for GPUs, on which the compiled loops do not run.

On a CPU this is slower than the loops. Equal maxima share the gradient, and the device chooses the order of sums, so
networks that are trained on a GPU differ in their bits from those trained on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fgnas.design import GATV2_SLOPE
from fgnas.networks.kernels import NEGATIVE_SLOPE

Rounding = Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Edges:
    """The edges of a block as tensors on the device.

    Attributes:
        targets, sources: [edges] rows of the result, and of the layer's input.
        places: [rows] positions of the targets among the rows of the input.
    """

    targets: Tensor
    sources: Tensor
    places: Tensor

    @property
    def rows(self) -> int:
        """Number of rows of the result."""
        return len(self.places)


def _gat(products: Sequence[Tensor], edges: Edges) -> Tensor:
    s, r = products
    return _leaky(s[edges.places[edges.targets]] + r[edges.sources])


def _gat_sym(products: Sequence[Tensor], edges: Edges) -> Tensor:
    s, r = products
    targets = edges.places[edges.targets]
    return _leaky(s[targets] + r[edges.sources]) + _leaky(s[edges.sources] + r[targets])


def _linear(products: Sequence[Tensor], edges: Edges) -> Tensor:
    (r,) = products
    return torch.tanh(r[edges.sources])


def _leaky(z: Tensor) -> Tensor:
    return torch.nn.functional.leaky_relu(z, NEGATIVE_SLOPE)


def _same(values: Tensor) -> Tensor:
    return values


def dot_scores(
    heads: Tensor, vector: Tensor, edges: Edges, of_query: Rounding = _same, of_score: Rounding = _same
) -> Tensor:
    """[edges, heads] the products of the receiving node's features, times the `vector` [heads, d], with those of the
    sending node, from `heads` [nodes, heads, d]; the queries and the scores may be rounded."""
    queries = of_query(heads[edges.places] * vector)
    return of_score((queries[edges.targets] * heads[edges.sources]).sum(2))


PAIR_FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gene-linear": torch.tanh, "gatv2": lambda p: torch.nn.functional.leaky_relu(p, GATV2_SLOPE),
}  # fmt: skip
"""The function of two nodes' features, by the attention whose scores are made of it."""


def pair_scores(
    attention: str, heads: Tensor, vectors: Sequence[Tensor], edges: Edges, of_pair: Rounding = _same,
    of_function: Rounding = _same, of_score: Rounding = _same,
) -> Tensor:  # fmt: skip
    """[edges, heads] sums of factors [heads, d] times the attention's function of both nodes' features, each times its
    vector [heads, d]; the `vectors` are that of the sending node, that of the receiving node, and the factors. The
    argument of the function, its results and the scores may be rounded."""
    functions = of_function(PAIR_FUNCTIONS[attention](of_pair(paired(heads, vectors, edges))))
    return of_score((functions * vectors[2]).sum(2))


def paired(heads: Tensor, vectors: Sequence[Tensor], edges: Edges) -> Tensor:
    """[edges, heads, d] the argument of the function of `pair_scores`."""
    source, target = vectors[:2]
    return (heads[edges.places] * target)[edges.targets] + (heads * source)[edges.sources]


SCORES: dict[str, Callable[[Sequence[Tensor], Edges], Tensor]] = {
    "gat": _gat, "linear": _linear, "gat-sym": _gat_sym,
}  # fmt: skip
"""[edges, heads] the scores of an attention, from the products of all nodes with its vectors, [nodes, heads], that of
the receiving node first; those of cos are `dot_scores`, those of `PAIRS` `pair_scores`."""


def edge_softmax(scores: Tensor, edges: Edges) -> Tensor:
    """[edges, heads] softmax of [edges, heads] scores over each row."""
    index = edges.targets[:, None].expand_as(scores)
    largest = scores.new_zeros(edges.rows, scores.shape[1]).scatter_reduce(0, index, scores, "amax", include_self=False)
    weights = torch.exp(scores - largest.detach()[edges.targets])
    total = scores.new_zeros(edges.rows, scores.shape[1]).index_add(0, edges.targets, weights)
    return weights / total[edges.targets]


def weighted(alpha: Tensor, h: Tensor, edges: Edges, maximum: bool) -> Tensor:
    """[rows, heads * d] sum or maximum over each row of alpha[e, head] h[j], from h [nodes, heads * d]."""
    heads = h.view(len(h), alpha.shape[1], -1)
    messages = (alpha[:, :, None] * heads[edges.sources]).view(len(alpha), -1)
    zero = messages.new_zeros(edges.rows, messages.shape[1])
    if not maximum:
        return zero.index_add(0, edges.targets, messages)
    return zero.scatter_reduce(0, edges.targets[:, None].expand_as(messages), messages, "amax", include_self=False)
