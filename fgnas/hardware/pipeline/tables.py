"""The block RAM that synthesis builds for tables of functions.

A table's contents depend on the scales that training chose, and synthesis drops bits that never change. So the block
RAM of tables is exact for a lowered design; before training, formats without a scale are assumed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fgnas.activations import NAMES
from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware import wire
from fgnas.hardware.integer.tables import activation_table, exponential_table, is_plain
from fgnas.hardware.memories import BLOCK, rom_units
from fgnas.hardware.numbers import ceil_log2
from fgnas.hardware.pipeline.geometry import OneDesign


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


def table_of(name: str, contents: Codes, width: int, copies: int) -> Table:
    """A table with these contents; words beyond them are zero."""
    words = 1 << int(ceil_log2(len(contents)))
    filled = np.pad(contents, (0, words - len(contents)))
    bits = (filled[:, None] >> np.arange(width)) & 1
    return Table(name, words, width, int((bits.min(axis=0) != bits.max(axis=0)).sum()), copies)
