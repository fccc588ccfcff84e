"""Rounding that a design leaves open and that each kind of hardware defines."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Arithmetic:
    """Where hardware rounds.

    Attributes:
        divides: whether a mean without scores is divided behind the sum; else its coefficients are divided and
            rounded.
        adds_heads: whether the heads of a last layer share a sum where they can: then their mean rounds once, else
            every head's row is rounded before it.
    """

    divides: bool
    adds_heads: bool
