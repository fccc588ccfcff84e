"""Tensors in other shapes: views, columns side by side, parts of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from fgnas.networks.imported.expressions import Affine
from fgnas.networks.imported.nodes import Ints
from fgnas.networks.imported.operations.common import affine, dimension, is_symbol, viewed
from fgnas.networks.imported.symbols import Call, Final, Pile, Symbol, Weights, operation


@operation("clone", "detach", "alias", "contiguous", "_to_copy", "lift_fresh", "dropout", "detach_", "lift_fresh_copy",
           "native_dropout")  # fmt: skip
def same(call: Call) -> Any:
    """The tensor as it is: models run as they do after training."""
    return (call.given[0], None) if call.name == "native_dropout" else call.given[0]


@operation("view", "_unsafe_view", "reshape", "unsqueeze", "squeeze", "flatten")
def reshaped(call: Call) -> Symbol:
    """Other dimensions behind the rows."""
    x = call.given[0]
    if isinstance(x, Weights):
        return Weights(x.peak, call.shape)
    one = affine(call, x)
    if call.result.ndim == 0 or call.result.shape[0] != one.rows:
        if one.columns == 1 and one.rows == 1:
            return one
        raise call.refused(f"a view of {one.rows} rows as {call.result.shape[0] if call.result.ndim else 1} is not "
                           f"supported")  # fmt: skip
    return viewed(one, call.shape, call.place)


@operation("expand")
def repeated(call: Call) -> Symbol:
    """Columns that are repeated."""
    from fgnas.networks.imported.operations.linear import widened

    x = call.given[0]
    return Weights(x.peak, x.shape) if isinstance(x, Weights) else widened(call, affine(call, x))


@operation("repeat")
def tiled(call: Call) -> Symbol:
    """Columns that are repeated as a whole, dimension by dimension."""
    one, (rows, *times) = affine(call, call.given[0]), call.given[1]
    if rows != 1 or len(times) != len(one.shape):
        raise call.refused("rows that are repeated are not supported")
    return columns_of(call, one, np.tile(np.arange(one.columns).reshape(one.shape), times).ravel(), call.shape)


@operation("cat")
def beside(call: Call) -> Symbol:
    """Columns side by side."""
    tensors, dim = call.given[0], call.argument(1, "dim", 0)
    if not all(is_symbol(one) for one in tensors):
        raise call.refused("constants beside values that depend on features are not supported: give them with the "
                           "features")  # fmt: skip
    each = [affine(call, one) for one in tensors]
    place = dimension(dim, each[0])
    return _below(call, each) if place == 0 else _beside(call, each, place)


def _below(call: Call, each: Sequence[Affine]) -> Affine:
    """Tensors one below the other."""
    ends = np.cumsum([one.rows for one in each])
    parts = []
    for one, end in zip(each, ends, strict=True):
        here = sp.eye(ends[-1], one.rows, k=one.rows - end, format="csr")
        parts.append(call.workshop.left(one, call.workshop.matrix(here), call.place))
    return call.workshop.added(parts, call.place)


def _beside(call: Call, each: Sequence[Affine], place: int) -> Affine:
    """Tensors side by side in a dimension."""
    whole = np.empty(call.shape, np.int64)
    parts, first = [], 0
    for one in each:
        here = [slice(None)] * len(call.shape)
        here[place - 1] = slice(first, first + one.shape[place - 1])
        whole[tuple(here)] = np.arange(one.columns).reshape(one.shape)
        mask = np.zeros(call.shape, bool)
        mask[tuple(here)] = True
        first += one.shape[place - 1]
        matrix = np.zeros((one.columns, mask.size))
        matrix[whole[mask], np.flatnonzero(mask.ravel())] = 1.0
        parts.append(call.workshop.right(one, matrix, call.shape, call.place))
    return call.workshop.added(parts, call.place)


@operation("stack")
def piled(call: Call) -> Symbol:
    """Tensors side by side in a new dimension; of a new last one the largest or the sum may be taken."""
    tensors, dim = call.given[0], call.argument(1, "dim", 0)
    each = [affine(call, one) for one in tensors]
    shape, place = each[0].shape, dim % (len(each[0].shape) + 2)
    if place == len(shape) + 1:
        return Pile(tuple(each))
    if place == 0:
        raise call.refused("rows of several tensors, one below the other, are not supported")
    apart = (*shape[: place - 1], 1, *shape[place - 1 :])
    return _beside(call, [viewed(one, apart, call.place) for one in each], place)


@operation("slice", "select", "narrow")
def part(call: Call) -> Symbol:
    """Some columns, or some rows."""
    one = affine(call, call.given[0])
    dim = dimension(call.argument(1, "dim", 0), one)
    if call.name == "select":
        wanted: Any = call.given[2]
    elif call.name == "narrow":
        wanted = slice(call.given[2], call.given[2] + call.given[3])
    else:
        step = call.argument(4, "step", 1)
        wanted = slice(call.argument(2, "start"), call.argument(3, "end"), step)
    if dim == 0:
        rows = np.atleast_1d(np.arange(one.rows)[wanted])
        if call.name == "select":
            raise call.refused("one row that is taken out is not supported")
        if len(rows) == one.rows:
            return one
        return call.workshop.left(one, call.workshop.choice(rows, one.rows), call.place)
    here: list[Any] = [slice(None)] * len(one.shape)
    here[dim - 1] = wanted
    return columns_of(call, one, np.arange(one.columns).reshape(one.shape)[tuple(here)].ravel(), call.shape)


@operation("split", "split_with_sizes", "chunk", "unbind")
def divided(call: Call) -> Any:
    """Columns in parts."""
    one, found, first = affine(call, call.given[0]), [], 0
    dim = dimension(call.argument(1 if call.name == "unbind" else 2, "dim", 0), one)
    if dim == 0:
        raise call.refused("rows in parts are not supported")
    places = np.arange(one.columns).reshape(one.shape)
    for result in call.result:
        here: list[Any] = [slice(None)] * len(one.shape)
        width = 1 if call.name == "unbind" else result.shape[dim]
        here[dim - 1] = slice(first, first + width)
        first += width
        found.append(columns_of(call, one, places[tuple(here)].ravel(), tuple(result.shape[1:])))
    return found


@operation("permute", "transpose", "t")
def turned(call: Call) -> Symbol:
    """Dimensions behind the rows in another order."""
    one = affine(call, call.given[0])
    order = list(range(len(one.shape) + 1))
    if call.name == "permute":
        order = [place % len(order) for place in call.given[1]]
    else:
        a, b = (0, 1) if call.name == "t" else (place % len(order) for place in call.given[1:3])
        order[a], order[b] = order[b], order[a]
    if order[0] != 0:
        raise call.refused("rows that become columns are not supported")
    places = np.arange(one.columns).reshape(one.shape).transpose([place - 1 for place in order[1:]])
    return columns_of(call, one, places.ravel(), call.shape)


def columns_of(call: Call, one: Affine, places: Ints, shape: tuple[int, ...]) -> Affine:
    """Some columns of a tensor."""
    if np.array_equal(places, np.arange(one.columns)):
        return viewed(one, shape, call.place)
    matrix = (np.arange(one.columns)[:, None] == places).astype(np.float64)
    return call.workshop.right(one, matrix, shape, call.place)


@operation("_log_softmax", "_softmax", "log_softmax", "softmax")
def final(call: Call) -> Symbol:
    """A softmax of classes, which may end a model."""
    one = affine(call, call.given[0])
    if dimension(call.given[1], one) != 1 or len(one.shape) != 1:
        raise call.refused("a softmax over other dimensions than classes is not supported")
    return Final(one)
