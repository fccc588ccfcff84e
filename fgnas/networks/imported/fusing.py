"""Nodes that are one in hardware become one: a bias and a function join the sums that they follow."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from fgnas.networks.imported.nodes import Input, Node, Spread, ordered


def fused(last: Node) -> Node:
    """The same value of as few nodes as possible."""
    nodes = ordered(last)
    readers = Counter(id(one) for node in nodes for one in {id(given): given for given in node.inputs}.values())
    made: dict[int, Node] = {}
    for node in nodes:
        own = node.on([made[id(one)] for one in node.inputs]) if node.inputs else node
        made[id(node)] = _joined(own, node, readers)
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
