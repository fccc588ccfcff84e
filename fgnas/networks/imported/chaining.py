"""Nodes as a chain of layers, where a model is one: sums of rows of one value's products, with a bias and a function.

An array holds the values of such a chain on the chip. A product without a sum gets one that takes every row as it is,
and a sum without a product is made of copies; sums change places with the products behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeGuard

import numpy as np
import scipy.sparse as sp

from fgnas.networks.imported.fusing import fused
from fgnas.networks.imported.nodes import Input, Matrix, Merge, Node, Reals, Spread, ordered
from fgnas.networks.imported.quantising import blocks

NARROW = 4
"""Rows that are so many times shorter than those of the product are summed first, as copies, in a layer of their own:
fewer numbers are added, and these are not rounded before."""


class Term(NamedTuple):
    """What a layer adds up: the rows of `given`, times `weights` [columns, columns], summed by a `matrix` of the graph;
    None is what changes nothing. `place`: the module of the weights; `passed`: nodes in front of the layer's."""

    given: Node
    weights: Reals | None
    matrix: Matrix | None
    place: str
    passed: tuple[Node, ...] = ()


class Layer(NamedTuple):
    """A layer of a chain: the node whose results are its own, what it reads, and its terms, whose weights differ."""

    node: Node
    given: Node
    terms: tuple[Term, ...]

    def on(self, given: Node) -> Node:
        """The layer as nodes that read another value."""
        (first, *further), node = self.terms, self.node
        if further or first.weights is None or first.matrix is None or NARROW * given.columns > node.columns:
            return self._made(given)
        plain = Node(node.place, node.rows, given.columns)
        copied = Layer(plain, given, (first._replace(weights=None),))._made(given)
        return Layer(node, copied, (first._replace(matrix=None),))._made(copied)

    def _made(self, given: Node) -> Node:
        """The products of its terms, and their sum."""
        node, rows = self.node, given.rows
        products, matrices = list[Node](), list[Matrix]()
        for one in self.terms:
            weights = np.eye(node.columns) if one.weights is None else one.weights
            products.append(Merge(one.place, rows, node.columns, given=(given,), weights=(weights,)))
            matrices.append(sp.identity(rows, format="csr") if one.matrix is None else one.matrix)
        matrix = matrices[0] if len(matrices) == 1 else sp.hstack(matrices, format="csr")
        return Spread(node.place, node.rows, node.columns, node.bias, node.function, tuple(products), matrix)


def chained(last: Node) -> Node:
    """The same value of as few nodes as possible, in the form of a chain where it is one."""
    last = fused(last)
    layers, passed, node = list[Layer](), {id(last)}, last
    while (found := _layer(node)) is not None:
        layers.append(found)
        passed |= {id(found.given)} | {id(one) for term in found.terms for one in term.passed}
        node = found.given
    if not isinstance(node, Input) or len(passed) != len(ordered(last)):
        return last
    for layer in reversed(layers):
        node = layer.on(node)
    return node


def _layer(node: Node) -> Layer | None:
    """The layer whose results a node's are; None of other nodes."""
    if isinstance(node, Merge):
        offered = [_summed(node, one, weights) for one, weights in zip(node.given, node.weights, strict=True)]
    elif isinstance(node, Spread) and node.reduce == "add":
        offered = [_multiplied(node, one, matrix) for one, matrix in zip(node.given, blocks(node), strict=True)]
    else:
        return None
    common = set.intersection(*({id(term.given) for term in terms} for terms in offered))
    # What was made last comes first: the others are further away.
    given = next((term.given for term in offered[0] if id(term.given) in common), None)
    if given is None:
        return None
    terms = [next(one for one in terms if one.given is given) for terms in offered]
    return Layer(node, given, _together(terms))


def _summed(node: Merge, given: Node, weights: Reals) -> list[Term]:
    """What a product may be: of what it reads, or of what is summed in front of it."""
    found = [Term(given, weights, None, node.place)]
    if _is_sum(given) and given.plain:  # A X W is the same either way
        found.append(Term(given.given[0], weights, given.matrix, node.place, (given,)))
    return found[::-1]


def _multiplied(node: Spread, given: Node, matrix: Matrix) -> list[Term]:
    """What a sum may be: of what it reads, or of what is multiplied in front of it."""
    found = [Term(given, None, matrix, node.place)]
    if isinstance(given, Merge) and len(given.given) == 1 and given.plain:
        found.append(Term(given.given[0], given.weights[0], matrix, given.place, (given,)))
    return found[::-1]


def _together(terms: Sequence[Term]) -> tuple[Term, ...]:
    """The terms, those with the same weights in one."""
    found: list[Term] = []
    for term in terms:
        place = next((place for place, one in enumerate(found) if _same(one.weights, term.weights)), None)
        if place is None:
            found.append(term)
            continue
        before, rows = found[place], term.given.rows
        own = [sp.identity(rows, format="csr") if one.matrix is None else one.matrix for one in (before, term)]
        found[place] = before._replace(matrix=own[0] + own[1], passed=before.passed + term.passed)
    return tuple(found)


def _same(one: Reals | None, other: Reals | None) -> bool:
    if one is None or other is None:
        return one is other
    return one is other or np.array_equal(one, other)


def _is_sum(node: Node) -> TypeGuard[Spread]:
    """Whether a node is a sum of rows of one value."""
    return isinstance(node, Spread) and node.reduce == "add" and len(node.given) == 1
