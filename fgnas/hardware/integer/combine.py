"""Combine: every row times a matrix of weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from fgnas.fixedpoint import Codes, FixedPoint, shift_right_even
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.operation import Given, Operation, check_shift, one_of
from fgnas.hardware.integer.value import Value


@dataclass(frozen=True, eq=False)
class Combine(Operation):
    """H = RQ(X W): the exact sums of products, rounded and saturated once.

    Attributes:
        weight: [columns in, columns out] codes.
        number: format of W.
        shift: right shift that takes a sum of products to H's fraction bits; may be negative.
        output: format of H.
    """

    weight: Codes
    number: FixedPoint
    shift: int
    output: FixedPoint

    def value(self, given: Sequence[Value]) -> Value:
        """[rows, columns out] in H's format."""
        x = one_of(given, "a combination", len(self.weight))
        check_shift("a combination", x.number.fraction_bits + self.number.fraction_bits, self.shift, self.output)
        return Value(x.rows, self.weight.shape[1], self.output)

    def run(self, given: Sequence[Given], graph: IntegerGraph) -> Codes:
        """[rows, columns out] codes."""
        return self.output.saturate(shift_right_even(product(given[0], self.weight), self.shift))


def product(x: Given, weight: Codes) -> Codes:
    """[rows, columns out] the exact product."""
    if sp.issparse(x):
        return np.asarray(x @ weight)
    # float64 products and sums of these widths stay far below 2**53, so BLAS is exact here.
    return (np.asarray(x).astype(np.float64) @ weight.astype(np.float64)).astype(np.int64)
