"""Merge: rows of several values side by side, times a matrix of weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fgnas.fixedpoint import Codes, FixedPoint, shift_right_even
from fgnas.hardware.integer.combine import product
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.operation import Given, Operation
from fgnas.hardware.integer.value import Value, exact


@dataclass(frozen=True, eq=False)
class Merge(Operation):
    """Y = RNE(sum of X_k W_k): the exact sum of the products of several values, rounded once, not saturated.

    Attributes:
        weights: [columns of X_k, columns] codes of each W_k.
        numbers: formats of the W_k. Those of X_k and W_k together have as many fraction bits for every k.
        shift: right shift that takes the sum to Y's fraction bits; may be negative.
    """

    weights: tuple[Codes, ...]
    numbers: tuple[FixedPoint, ...]
    shift: int

    def value(self, given: Sequence[Value]) -> Value:
        """[rows, columns] exact."""
        if len(given) != len(self.weights) or [one.columns for one in given] != [len(one) for one in self.weights]:
            raise ValueError(f"{len(self.weights)} matrices do not fit the {len(given)} values that they meet")
        bits = {one.number.fraction_bits + weight.fraction_bits
                for one, weight in zip(given, self.numbers, strict=True)}  # fmt: skip
        if len(bits) > 1 or len({one.rows for one in given}) > 1:
            raise ValueError("products that are added have as many fraction bits and rows of one kind")
        return exact(given[0].rows, self.weights[0].shape[1], bits.pop() - self.shift)

    def run(self, given: Sequence[Given], graph: IntegerGraph) -> Codes:
        """[rows, columns] codes."""
        products = [product(one, weight) for one, weight in zip(given, self.weights, strict=True)]
        return shift_right_even(np.sum(products, axis=0), self.shift)
