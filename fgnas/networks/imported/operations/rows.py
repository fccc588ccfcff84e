"""Rows that are chosen, and rows that are added or reduced: messages, neighbourhoods, pools."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from torch import Tensor

from fgnas.networks.imported.expressions import Affine
from fgnas.networks.imported.nodes import Attend, EdgeProducts, Ints, Merge, Node, Spread
from fgnas.networks.imported.operations.common import affine, dimension, is_symbol, reals
from fgnas.networks.imported.symbols import (
    Call,
    Lowered,
    Peak,
    Pile,
    Product,
    Symbol,
    Total,
    Weighted,
    operation,
)


@operation("index_select", "index")
def chosen(call: Call) -> Symbol:
    """Rows by their index."""
    x, index = call.given[0], call.given[-1]
    if call.name == "index":
        if len(index) != 1 or is_symbol(index[0]):
            raise call.refused("an index of columns, or one that depends on features, is not supported")
        index = index[0]
    elif is_symbol(index) or (isinstance(x, Affine) and dimension(call.given[1], x) != 0):
        raise call.refused("a choice of columns by index, or by features, is not supported")
    named = np.asarray(index)
    named = np.flatnonzero(named) if named.dtype == bool else named.astype(np.int64).ravel()
    if isinstance(x, Peak) and not x.picked and np.array_equal(named, x.index):
        return Peak(x.of, x.index, x.rows, True)
    if isinstance(x, Total) and not x.picked and np.array_equal(named, x.peak.index):
        return Total(x.peak, True)
    one = affine(call, x)
    choice = call.workshop.choice(named % max(1, one.rows), one.rows)
    found = call.workshop.left(one, choice, call.place)
    found.origin = (one, choice)
    return found


@operation("scatter_add_", "scatter_add", "index_add", "index_add_")
def gathered(call: Call) -> Symbol:
    """Rows that are added where an index says."""
    onto, _, index, x = call.given[:4]
    if is_symbol(onto) or (isinstance(onto, Tensor) and bool((onto != 0).any())):
        raise call.refused("rows that are added onto others in place are not supported")
    target, rows = _target(call, index, x), call.result.shape[0]
    if isinstance(x, Lowered) and x.raised and np.array_equal(target, x.peak.index):
        return Total(x.peak)
    if isinstance(x, Weighted):
        return attended(call, x, target, rows)
    one = affine(call, x)
    matrix = sp.csr_matrix((np.ones(one.rows), (target, np.arange(one.rows))), (rows, one.rows))
    return call.workshop.left(one, call.workshop.matrix(matrix), call.place)


@operation("scatter_reduce_", "scatter_reduce")
def reduced(call: Call) -> Symbol:
    """The largest of rows where an index says; their mean or sum."""
    onto, _, index, x, how = call.given[:5]
    if is_symbol(onto) or call.argument(5, "include_self", True) and bool((onto != 0).any()):
        raise call.refused("rows that are reduced with others in place are not supported")
    target, rows = _target(call, index, x), call.result.shape[0]
    if how == "amax":
        return Peak(affine(call, x), target, rows)
    if how == "amin":
        one = call.workshop.scaled(affine(call, x), -1.0, call.place)
        return call.workshop.scaled(affine(call, Peak(one, target, rows)), -1.0, call.place)
    if how not in ("sum", "mean"):
        raise call.refused(f"aggregation {how} is not supported: use add, mean, max or min")
    one = affine(call, x)
    count = np.bincount(target, minlength=rows) if how == "mean" else np.ones(rows)
    value = 1.0 / np.maximum(count, 1)[target]
    matrix = sp.csr_matrix((value, (target, np.arange(one.rows))), (rows, one.rows))
    return call.workshop.left(one, call.workshop.matrix(matrix), call.place)


def _target(call: Call, index: Any, x: Any) -> Ints:
    """[edges] where each row goes."""
    if is_symbol(index):
        raise call.refused("an index that depends on features is not supported")
    named = np.asarray(index)
    first = named.reshape(len(named), math.prod(named.shape[1:]))
    if named.ndim > 1 and not (first == first[:, :1]).all():
        raise call.refused("an index that differs by column is not supported")
    return np.asarray(first[:, 0], np.int64)


@operation("exp")
def raised(call: Call) -> Symbol:
    """The exponential of scores below their largest."""
    x = call.given[0]
    if isinstance(x, Lowered):
        return Lowered(x.peak, True)
    raise call.refused("an exponential that is no softmax over neighbours is not supported")


def attended(call: Call, messages: Weighted, target: Ints, rows: int) -> Affine:
    """Messages with attention: rows weighted by a softmax over the edges of each target."""
    peak, value = messages.weights.peak, messages.value
    if not np.array_equal(target, peak.index):
        raise call.refused("a softmax over other neighbourhoods than those that are added is not supported")
    if value.origin is not None and value.node is None:
        node, sources = call.workshop.made(value.origin[0]), value.origin[1].indices.astype(np.int64)
    else:
        node, sources = call.workshop.made(value), np.arange(value.rows)
    order, scores = np.argsort(target, kind="stable"), call.workshop.made(peak.of)
    alone = np.setdiff1d(np.arange(rows), target)
    if len(alone):  # a node without neighbours gets a row of zeros
        padded = sp.vstack([sp.identity(node.rows), sp.csr_matrix((1, node.rows))], format="csr")
        sources = np.append(sources, node.rows)
        node = Spread(call.place, node.rows + 1, node.columns, given=(node,), matrix=call.workshop.matrix(padded))
        every, edge = np.concatenate([target, alone]), np.concatenate([np.arange(len(target)), np.full(len(alone), -1)])
        order = edge[np.argsort(every, kind="stable")]
        target = every
    indptr = np.concatenate([[0], np.cumsum(np.bincount(target, minlength=rows))]).astype(np.int64)
    made = Attend(call.place, rows, node.columns, value=node, scores=reordered(scores, order, call),
                  indptr=indptr, sources=sources[order])  # fmt: skip
    return call.workshop.of_node(made, value.shape)


def reordered(node: Node, order: Ints, call: Call) -> Node:
    """Rows of edges in another order; a row that −1 names is any."""
    if isinstance(node, EdgeProducts):
        return EdgeProducts(node.place, len(order), node.columns, node.bias, node.function, node.query, node.key,
                            node.targets[order], node.sources[order])  # fmt: skip
    if isinstance(node, Spread) and node.is_copy:
        return replace(node, rows=len(order), given=(reordered(node.given[0], order, call),),
                       matrix=call.workshop.identity(len(order)))  # fmt: skip
    if isinstance(node, Spread) and node.reduce == "add":
        matrix = call.workshop.matrix(_choice(order, node.rows) @ node.matrix)
        return Spread(node.place, len(order), node.columns, node.bias, node.function, node.given, matrix)
    inputs = node.inputs
    if isinstance(node, Merge) and all(one.rows == node.rows for one in inputs):
        return replace(node.on([reordered(one, order, call) for one in inputs]), rows=len(order))
    matrix = call.workshop.matrix(_choice(order, node.rows))
    return Spread(node.place, len(order), node.columns, given=(node,), matrix=matrix)


def _choice(order: Ints, rows: int) -> sp.csr_matrix:
    """The rows that an order names; an empty one for −1."""
    here = np.flatnonzero(order >= 0)
    return sp.csr_matrix((np.ones(len(here)), (here, order[here])), (len(order), rows))


@operation("sum", "mean")
def summed(call: Call) -> Symbol:
    """The sum or the mean of rows, of heads, or of the products that a score is made of."""
    x, dims = call.given[0], call.argument(1, "dim", None)
    if isinstance(x, Product):
        return _scored(call, x, dims)
    if isinstance(x, Pile):
        total = call.workshop.added(x.each, call.place)
        return total if call.name == "sum" else call.workshop.scaled(total, 1.0 / len(x.each), call.place)
    one = affine(call, x)
    every = [dims] if isinstance(dims, int) else list(dims) if dims else list(range(len(one.shape) + 1))
    places = sorted(dimension(place, one) for place in every)
    if 0 in places:
        if places != [0]:
            raise call.refused("a sum of rows and columns together is not supported")
        factor = 1.0 / one.rows if call.name == "mean" else 1.0
        found = call.workshop.left(one, call.workshop.matrix(np.full((1, one.rows), factor)), call.place)
        if call.result.ndim == len(one.shape):
            raise call.refused("a sum of all rows without keepdim=True is not supported: use PyG's global pooling")
        return found
    kept = np.arange(one.columns).reshape(one.shape)
    moved = np.moveaxis(kept, [place - 1 for place in places], range(-len(places), 0))
    moved = moved.reshape(*moved.shape[: moved.ndim - len(places)], -1)
    groups = moved.reshape(-1, moved.shape[-1])
    matrix = np.zeros((one.columns, len(groups)))
    matrix[groups, np.arange(len(groups))[:, None]] = 1.0 / groups.shape[1] if call.name == "mean" else 1.0
    return call.workshop.right(one, matrix, call.shape, call.place)


def _scored(call: Call, product: Product, dims: Any) -> Symbol:
    """The products of the two ends of every edge."""
    last = [dims] if isinstance(dims, int) else list(dims or ())
    a, b = product.a, product.b
    if [place % (len(a.shape) + 1) for place in last] != [len(a.shape)] or call.name != "sum":
        raise call.refused("a product of two values that depend on features is supported as the score of an edge alone")
    (query, targets), (key, sources) = (_end(call, one) for one in (a, b))
    heads = int(np.prod(a.shape[:-1]))
    made = EdgeProducts(call.place, a.rows, heads, query=query, key=key, targets=targets, sources=sources)
    return call.workshop.of_node(made, call.shape)


def _end(call: Call, one: Affine) -> tuple[Node, Ints]:
    """The node whose rows are chosen for edges, and which."""
    if one.origin is None:
        return call.workshop.made(one), np.arange(one.rows)
    return call.workshop.made(one.origin[0]), one.origin[1].indices.astype(np.int64)


@operation("max", "amax")
def peaked(call: Call) -> Any:
    """The largest of all rows, or of values that are stacked."""
    x, dim = call.given[0], call.argument(1, "dim")
    several = isinstance(call.result, tuple | list)
    if isinstance(x, Pile):
        nodes = [call.workshop.made(one) for one in x.each]
        found = call.workshop.of_node(call.workshop.stacked(nodes, "max", call.place), x.each[0].shape)
        return (found, None) if several else found
    one = affine(call, x)
    place = dim if isinstance(dim, int) else (dim or [0])[0]
    values = call.result[0] if several else call.result
    if dimension(place, one) != 0 or values.ndim == len(one.shape):
        raise call.refused("a maximum over columns, or over all rows without keepdim=True, is not supported")
    found = affine(call, Peak(one, np.zeros(one.rows, np.int64), 1))
    return (found, None) if several else found


@operation("spmm", "_sparse_mm", "sparse_mm")
def spread(call: Call) -> Symbol:
    """A sparse matrix times rows."""
    matrix, x = call.given[:2]
    if is_symbol(matrix) or not is_symbol(x):
        raise call.refused("a sparse matrix that depends on features is not supported")
    return call.workshop.left(affine(call, x), call.workshop.matrix(sp.csr_matrix(reals(matrix))), call.place)
