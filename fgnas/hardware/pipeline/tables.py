"""Tables of functions: their contents, and the block RAM that synthesis builds for them.

A table's contents depend on the scales that training chose, and synthesis drops bits that never change. So the block
RAM of tables is exact for a lowered design; before training, formats without a scale are assumed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fgnas.activations import FUNCTIONS, NAMES, PLAIN
from fgnas.design import TABLE_BITS
from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware import wire
from fgnas.hardware.memories import BLOCK, rom_units
from fgnas.hardware.pipeline.geometry import OneDesign, ceil_log2


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


@dataclass(frozen=True)
class Table:
    """A read-only memory of a layer.

    Attributes:
        name: of the function.
        words: a power of two.
        width: bits of a word.
        varying: those of them that are not the same in every word; synthesis builds no others.
        copies: one for each value that is looked up in a cycle.
    """

    name: str
    words: int
    width: int
    varying: int
    copies: int

    def halves(self, family: str) -> int:
        """RAMB18s of all copies, a RAMB36 counting as two; 0 where synthesis builds the table from LUTs."""
        return self.copies * rom_units(BLOCK[family, False], self.words, self.varying)


def layer_tables(layer: OneDesign, value: FixedPoint, output: FixedPoint) -> list[Table]:
    """The tables of a lowered layer whose values and outputs have these formats."""
    found: list[Table] = []
    if layer.gat:
        found.append(table_of("exponential", exponential_table(value), wire.COEFFICIENT_BITS, layer.group_heads))
    if not layer.last:
        name = NAMES[layer.activation]
        if not is_plain(name, value, output):
            found.append(table_of(name, activation_table(name, value, output), value.width, layer.t_act))
    return found


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


def table_of(name: str, contents: Codes, width: int, copies: int) -> Table:
    """A table with these contents; words beyond them are zero."""
    words = 1 << int(ceil_log2(len(contents)))
    filled = np.pad(contents, (0, words - len(contents)))
    bits = (filled[:, None] >> np.arange(width)) & 1
    return Table(name, words, width, int((bits.min(axis=0) != bits.max(axis=0)).sum()), copies)
