"""Products with weights, sums, factors and norms whose statistics are known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from torch import Tensor

from fgnas.networks.imported.expressions import Affine
from fgnas.networks.imported.nodes import Function, Reals
from fgnas.networks.imported.operations.common import affine, is_symbol, reals, viewed
from fgnas.networks.imported.operations.functions import followed
from fgnas.networks.imported.symbols import Call, Lowered, Peak, Product, Symbol, Total, Weighted, Weights, operation


@operation("mm", "addmm", "linear")
def multiplied(call: Call) -> Symbol:
    """Rows times weights, or a matrix of the graph times rows."""
    bias, first, second = call.given if call.name == "addmm" else (None, *call.given[:2])
    if call.name == "linear":
        bias = call.argument(2, "bias")
    if is_symbol(first) and is_symbol(second):
        raise call.refused("a product of two matrices that depend on features is not supported")
    if not is_symbol(first):
        matrix = call.workshop.matrix(sp.csr_matrix(reals(first)))
        found = call.workshop.left(affine(call, second), matrix, call.place)
    else:
        weight = reals(second).T if call.name == "linear" else reals(second)
        found = call.workshop.right(affine(call, first), weight, call.shape, call.place, trained=True)
    if bias is None:
        return found
    if is_symbol(bias):
        return call.workshop.added([affine(call, bias), found], call.place)
    return call.workshop.shifted(found, np.broadcast_to(reals(bias), call.shape).ravel(), call.place)


@operation("embedding")
def embedded(call: Call) -> Symbol:
    """Rows of weights by category: a product with a one for each category."""
    weight, index = call.given[:2]
    found = call.inputs.categories(index, len(weight)) if isinstance(index, Affine) else None
    if found is None or is_symbol(weight):
        raise call.refused("an embedding is supported of a column of the features as it is given")
    return call.workshop.right(found, reals(weight), call.shape, call.place, trained=True)


@operation("add", "add_", "sub", "sub_", "rsub")
def added(call: Call) -> Symbol:
    """A sum or a difference."""
    a, b = call.given[:2]
    factor = float(call.named.get("alpha", call.given[2] if len(call.given) > 2 else 1.0))
    signs = {"rsub": (-factor, 1.0)}.get(call.name, (1.0, -factor if call.name.startswith("sub") else factor))
    if isinstance(b, Peak) and b.picked and call.name.startswith("sub") and b.of is a:
        return Lowered(b)
    if isinstance(a, Total) and not is_symbol(b):
        return a  # the little that keeps a quotient finite
    if is_symbol(a) and is_symbol(b):
        each = [widened(call, affine(call, one)) for one in (a, b)]
        each = [one if sign == 1.0 else call.workshop.scaled(one, sign, call.place)
                for one, sign in zip(each, signs, strict=True)]  # fmt: skip
        return call.workshop.added(each, call.place)
    pairs = [(a, signs[0]), (b, signs[1])]
    (symbol, own), (constant, other) = pairs if is_symbol(a) else reversed(pairs)
    found = widened(call, affine(call, symbol))
    found = found if own == 1.0 else call.workshop.scaled(found, own, call.place)
    columns = other * broadcast(call, constant)
    if len(columns) > 1 and not (columns == columns[:1]).all():
        raise call.refused("a constant with a number for each row and column is added, which is not supported: "
                           "give it with the features")  # fmt: skip
    return call.workshop.shifted(found, columns[0], call.place)


@operation("neg")
def negated(call: Call) -> Symbol:
    """Rows with the other sign."""
    return call.workshop.scaled(affine(call, call.given[0]), -1.0, call.place)


@operation("mul", "mul_", "div", "div_")
def times(call: Call) -> Symbol:
    """A product or a quotient number by number."""
    a, b = call.given[:2]
    quotient = call.name.startswith("div")
    if quotient and isinstance(a, Lowered) and a.raised and isinstance(b, Total) and b.picked:
        return Weights(a.peak, a.peak.of.shape)
    if quotient and is_symbol(b):
        raise call.refused("a division by a value that depends on features is not supported (a norm of rows?)")
    if is_symbol(a) and is_symbol(b):
        return _together(call, a, b)
    symbol, constant = (a, b) if is_symbol(a) else (b, a)
    factor = broadcast(call, constant)
    found = widened(call, affine(call, symbol))
    return factored(call, found, 1.0 / factor if quotient else factor, is_of_rows(call, constant))


def _together(call: Call, a: Any, b: Any) -> Symbol:
    """The product of two values that depend on features: messages with attention, or the parts of a score."""
    weights, value = (a, b) if isinstance(a, Weights) else (b, a)
    if isinstance(weights, Weights):
        heads = weights.peak.of.columns
        if weights.shape != (*weights.shape[:1], *[1] * (len(weights.shape) - 1)) and heads != 1:
            raise call.refused("a softmax over neighbours meets columns that are not those of its heads")
        return Weighted(weights, viewed(affine(call, value), call.shape, call.place))
    if a is b:
        return followed(call, a, Function("square", np.square))
    return Product(widened(call, affine(call, a)), widened(call, affine(call, b)))


def is_of_rows(call: Call, constant: Any) -> bool:
    """Whether a constant has a number for each row, such as a count: it has that on any graph, equal or not."""
    if not isinstance(constant, Tensor) or constant.ndim != call.result.ndim or constant.ndim < 2:
        return False
    columns = zip(constant.shape[1:], constant.stride()[1:], strict=True)
    return constant.shape[0] == call.result.shape[0] and all(size == 1 or stride == 0 for size, stride in columns)


def factored(call: Call, one: Affine, factor: Reals, of_rows: bool = False) -> Affine:
    """A tensor times constants [rows or 1, columns] that differ by row or by column."""
    if of_rows:
        each = np.broadcast_to(factor[:, 0], one.rows)
        return call.workshop.left(one, call.workshop.matrix(sp.diags(each)), call.place)
    if (factor == factor.flat[0]).all():
        return call.workshop.scaled(one, float(factor.flat[0]), call.place)
    if len(factor) == 1 or (factor == factor[:1]).all():
        return call.workshop.right(one, np.ascontiguousarray(factor[0]), one.shape, call.place)
    if not (factor == factor[:, :1]).all():
        raise call.refused("a constant with a number for each row and column is a factor, which is not supported")
    return call.workshop.left(one, call.workshop.matrix(sp.diags(factor[:, 0])), call.place)


def broadcast(call: Call, constant: Any) -> Reals:
    """[rows or 1, columns] a constant in the shape of the result."""
    whole, found = (call.result.shape[0], *call.shape), reals(constant)
    if found.ndim < len(whole) or found.shape[0] == 1:
        return np.broadcast_to(found, (1, *call.shape)).reshape(1, -1)
    return np.broadcast_to(found, whole).reshape(whole[0], math.prod(whole[1:]))


def widened(call: Call, one: Affine) -> Affine:
    """A tensor in the shape of the result, where its columns are repeated."""
    if one.rows != call.result.shape[0]:
        raise call.refused(f"rows of {one.rows} and of {call.result.shape[0]} meet in {call.name}")
    if one.shape == call.shape:
        return one
    place = np.broadcast_to(np.arange(one.columns).reshape(one.shape), call.shape).ravel()
    matrix = (np.arange(one.columns)[:, None] == place).astype(np.float64)
    return call.workshop.right(one, matrix, call.shape, call.place)


@operation("native_batch_norm", "_native_batch_norm_legit_no_training", "batch_norm", "cudnn_batch_norm")
def normalised(call: Call) -> Any:
    """A batch norm with the statistics of its training: a factor and a number for each column."""
    x, weight, bias, mean, variance = call.given[:5]
    if mean is None or variance is None:
        raise call.refused("a norm without statistics of its training is not supported: set track_running_stats=True")
    epsilon = float(call.given[-1] if call.name != "batch_norm" else call.given[7])
    factor = (1.0 if weight is None else reals(weight)) / np.sqrt(reals(variance) + epsilon)
    offset = (0.0 if bias is None else reals(bias)) - reals(mean) * factor
    found = affine(call, x)
    scaled = call.workshop.right(found, factor, found.shape, call.place)
    moved = call.workshop.shifted(scaled, offset, call.place)
    return (moved, None, None) if isinstance(call.result, tuple | list) else moved
