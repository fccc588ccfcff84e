"""Functions that all kinds of scores use: the heads of a row, and the shape of a value of edges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware.integer.operation import Given, one_of
from fgnas.hardware.integer.value import Rows, Value


def of_heads(h: Given, vector: Codes) -> Codes:
    """[rows, heads, d] the columns of each head."""
    assert isinstance(h, np.ndarray)
    return h.reshape(len(h), *vector.shape)


def dots(h: Given, vector: Codes) -> Codes:
    """[rows, heads] exact products of rows with a vector [heads, d]."""
    return np.asarray((of_heads(h, vector) * vector).sum(axis=2))


def of_edges(given: Sequence[Value], vector: Codes, number: FixedPoint) -> Value:
    """[edges, heads] five times scores of a format, from rows of as many columns as a vector [heads, d] has."""
    one_of(given, "a score", vector.size)
    return Value(Rows.EDGES, len(vector), number)
