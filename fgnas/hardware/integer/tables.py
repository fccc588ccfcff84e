"""Contents of the tables of functions that integer networks look up, and the formats that they read."""

from __future__ import annotations

import numpy as np

from fgnas.activations import FUNCTIONS, PLAIN
from fgnas.design import OF_EDGES, TABLE_BITS
from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware import wire


def score_table(value: FixedPoint, score: FixedPoint) -> Codes:
    """[2**width] codes of 1 + tanh(r) in the format of linear's scores, indexed by the bits of r taken as unsigned.

    A softmax does not see the 1, and a number that is not negative passes a LeakyReLU as it is.
    """
    return score.quantise(1.0 + np.tanh(value.value(_by_bits(value))))


def tanh_table(argument: FixedPoint, function: FixedPoint) -> Codes:
    """[2**width] codes of tanh(r) in a format, indexed by the bits of r taken as unsigned."""
    return function.quantise(np.tanh(argument.value(_by_bits(argument))))


def exponential_table(score: FixedPoint, most: int | None = None) -> Codes:
    """c = RNE(256 exp(-D 2**-f / 5)) for D = 0, 1, … up to the last that is not zero, or that D can reach.

    `score` is the format of the scores' parts, `most` the largest D; by default gat's.
    """
    largest = 6 << score.width if most is None else most + 1  # gat: 5 z of the largest z, and |z| of the smallest
    reach = 5.0 * 2.0**score.fraction_bits * np.log(2.0 ** (wire.COEFFICIENT_FRACTION_BITS + 1))
    return exponentials(score.fraction_bits, min(largest, int(np.ceil(reach))))


def exponentials(fraction_bits: int, words: int) -> Codes:
    """[words] c = RNE(256 exp(-D 2**-fraction_bits / 5)) for D = 0, 1, …"""
    difference = np.arange(words, dtype=np.float64)
    step = 2.0**-fraction_bits
    return np.rint(2.0**wire.COEFFICIENT_FRACTION_BITS * np.exp(-difference * step / 5.0)).astype(np.int64)


def activation_table(activation: str, value: FixedPoint, output: FixedPoint) -> Codes:
    """[2**width] codes of act(U) in the output's format, indexed by the bits of U taken as unsigned."""
    return output.quantise(FUNCTIONS[activation](value.value(_by_bits(value))))


def _by_bits(number: FixedPoint) -> Codes:
    """[2**width] the codes of a format, by their bits taken as unsigned."""
    bits = np.arange(1 << number.width, dtype=np.int64)
    return np.where(bits > number.maximum, bits - (1 << number.width), bits)


def is_plain(activation: str | None, value: FixedPoint, output: FixedPoint) -> bool:
    """Whether the activation's table is max(0, U), or U, which needs no table."""
    return activation in PLAIN and output == value


def argument_format(activation: str | None, value: FixedPoint, output: FixedPoint) -> FixedPoint:
    """Format of an activation's argument U and of the bias: that of the values, but of wider ones that look up a table
    the TABLE_BITS highest bits. The last layer has no activation."""
    beyond = value.width - TABLE_BITS
    if activation is None or beyond <= 0 or is_plain(activation, value, output):
        return value
    return FixedPoint(TABLE_BITS, value.fraction_bits - beyond)


def largest_difference(attention: str, score: FixedPoint) -> int | None:
    """The most that five times a row's largest score can exceed another; None for gat's."""
    if attention == "gat-sym":  # two sums of two parts, five times the largest, and once the smallest
        return 20 * score.maximum - 4 * score.minimum
    if attention in OF_EDGES:
        return 5 * (score.maximum - score.minimum)
    return 5 * score.maximum if attention == "linear" else None
