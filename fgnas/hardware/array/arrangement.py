"""How a network is arranged on an array: every choice from which its engine, its price and its programme are made."""

from __future__ import annotations

from dataclasses import dataclass

from fgnas.hardware import wire
from fgnas.hardware.array.engine import LANES


@dataclass(frozen=True)
class Arrangement:
    """The choices, each the least by default.

    Attributes:
        units: of LANES multipliers each.
        columns: n of every hidden layer's aggregation; by default as many as have columns.
        passes, slices: parts of the first layer's columns, and of its rows of W.
        results: words of H a cycle.
        finished: lanes that an epilogue finishes in a cycle.
        blocks: of the rows of H.
        whole: whether memories have powers of two as depths.
        shared: units that share a table.
        split: k of the last aggregation.
        beat_bits: width of the memory port.
        paired: whether two products share a DSP slice.
    """

    units: int
    columns: tuple[int, ...] = ()
    passes: int = 1
    results: int = 1
    finished: int = LANES
    slices: int = 1
    blocks: int = 1
    whole: bool = False
    shared: int = 1
    split: int = 1
    beat_bits: int = wire.BEAT_BITS
    paired: bool = False

    @property
    def whole_sums(self) -> bool:
        """Whether no sums go on from partial ones, which an engine finishes in whole words."""
        return self.slices == self.blocks == 1

    @property
    def doublings(self) -> int:
        """Doublings of words of H a cycle, of lanes that are finished in a cycle, and of units that share a table."""
        return (self.results * self.finished * self.shared).bit_length() - 1
