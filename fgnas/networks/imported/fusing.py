"""Nodes that are one in hardware become one: a bias and a function join the sums that they follow, and a product the
one in front of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from fgnas.networks.imported.nodes import Input, Merge, Node, Reals, Spread, ordered


def fused(last: Node) -> Node:
    """The same value of as few nodes as possible."""
    nodes = ordered(last)
    readers = Counter(id(one) for node in nodes for one in {id(given): given for given in node.inputs}.values())
    made: dict[int, Node] = {}
    alone: set[int] = set()
    for node in nodes:
        own = node.on([made[id(one)] for one in node.inputs]) if node.inputs else node
        made[id(node)] = _multiplied(_joined(own, node, readers), alone)
        if readers[id(node)] == 1:
            alone.add(id(made[id(node)]))
    return made[id(last)]


def _joined(node: Node, before: Node, readers: Counter[int]) -> Node:
    """A node, or what it copies with its bias and function."""
    if not isinstance(node, Spread) or node.reduce != "add" or not node.is_copy:
        return node
    (given,), (own,) = node.given, before.inputs
    alone = readers[id(own)] == 1 and not isinstance(given, Input) and given.function is None
    if not alone:
        return node
    bias = given.bias if node.bias is None else node.bias if given.bias is None else given.bias + node.bias
    return replace(given, bias=bias, function=node.function)


def _multiplied(node: Node, alone: set[int]) -> Node:
    """A product of what products in front of it read, where nothing else reads these and that multiplies no more.

    What a concatenation would put side by side in one format, such as the sum and the mean of a graph, so meets in a
    sum instead, each value in a format of its own.
    """
    if not isinstance(node, Merge):
        return node
    found: dict[int, tuple[Node, Reals]] = {}
    bias = np.zeros(node.columns) if node.bias is None else node.bias
    changed = False
    for one, weight in zip(node.given, node.weights, strict=True):
        if isinstance(one, Merge) and one.function is None and id(one) in alone and _is_less(one, node.columns):
            parts = [(own, before @ weight) for own, before in zip(one.given, one.weights, strict=True)]
            bias, changed = bias if one.bias is None else bias + one.bias @ weight, True
        else:
            parts = [(one, weight)]
        for own, product in parts:
            found[id(own)] = (own, product if id(own) not in found else found[id(own)][1] + product)
    if not changed:
        return node
    given, weights = zip(*found.values(), strict=True)
    return replace(node, given=given, weights=weights, bias=bias if bias.any() else None)


def _is_less(one: Merge, columns: int) -> bool:
    """Whether a product of so many columns takes no more multiplications a row than this product and one behind it."""
    width = sum(len(weight) for weight in one.weights)
    return width * columns <= (width + columns) * one.columns
