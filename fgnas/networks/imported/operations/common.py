"""Conversions that all families use: constants to arrays, tensors to sums of terms, and dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from fgnas.networks.imported.expressions import Affine
from fgnas.networks.imported.nodes import Reals, Spread
from fgnas.networks.imported.symbols import Call, Peak, Symbol


def reals(constant: Any) -> Reals:
    """A constant in double precision."""
    if isinstance(constant, Tensor):
        return np.asarray(constant.detach().to_dense() if constant.is_sparse else constant.detach()).astype(np.float64)
    return np.asarray(constant, np.float64)


def is_symbol(one: Any) -> bool:
    """Whether an argument depends on features."""
    return isinstance(one, Symbol)


def affine(call: Call, one: Any) -> Affine:
    """A tensor as a sum of terms; a maximum becomes a node. Raises UserError for others."""
    if isinstance(one, Affine):
        return one
    if isinstance(one, Peak):
        return largest(call, one)
    kinds = {
        "Lowered": "an exponential", "Total": "a sum of exponentials", "Weights": "a softmax over neighbours",
        "Weighted": "messages with attention", "Product": "the product of two values that depend on features",
        "Mask": "a comparison", "Pile": "values that are stacked", "Final": "a softmax of classes",
    }  # fmt: skip
    raise call.refused(f"{kinds[type(one).__name__]} meets {call.name}, which is not supported")


def largest(call: Call, peak: Peak) -> Affine:
    """The largest row of every neighbourhood as a tensor; 0 of one without rows."""
    import scipy.sparse as sp

    one, index = peak.of, peak.index
    if one.origin is not None and one.node is None:
        base, choice = one.origin
        node, column = call.workshop.made(base), choice.indices.astype(np.int64)
    else:
        node, column = call.workshop.made(one), np.arange(one.rows)
    pairs = np.unique(np.stack([index, column]), axis=1)
    empty = np.setdiff1d(np.arange(peak.rows), index)
    row, column = np.concatenate([pairs[0], empty]), np.concatenate([pairs[1], np.zeros(len(empty), np.int64)])
    value = np.concatenate([np.ones(pairs.shape[1]), np.zeros(len(empty))])
    order = np.argsort(row, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=peak.rows))])
    matrix = sp.csr_matrix((value[order], column[order], indptr), (peak.rows, node.rows))
    made = Spread(call.place, peak.rows, node.columns, given=(node,), matrix=matrix, reduce="max")
    found = call.workshop.of_node(made, one.shape)
    if not peak.picked:
        return found
    return call.workshop.left(found, call.workshop.choice(index, peak.rows), call.place)


def viewed(one: Affine, shape: tuple[int, ...], place: str) -> Affine:
    """The same rows with other dimensions behind them."""
    origin = None if one.origin is None else (viewed(one.origin[0], shape, place), one.origin[1])
    return Affine(place, one.rows, shape, one.terms, one.bias, origin, one.node)


def dimension(place: int, tensor: Affine) -> int:
    """A dimension counted from 0, that of rows."""
    return place % (len(tensor.shape) + 1)
