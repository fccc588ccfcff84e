"""The memories of a network of points: addresses of values, layouts of their rows, and which stay in the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from fgnas.errors import UserError
from fgnas.hardware.array.engine import MOST_ROW, MOST_TABLE_WORDS, MOST_TILES, most_of
from fgnas.hardware.array.points.layouts import Layout
from fgnas.hardware.array.programme import Target

TABLE, OWN = Target.TABLE, Target.OWN


class NoRoomError(UserError):
    """A memory is too small for the values that it must hold at the same time."""


class Room:
    """Words of a memory, given where they fit first.

    Attributes:
        name: of the memory.
        size: words that it can have.
        base: words that are taken from the beginning.
        behind: the first place that may be given behind so many words.
    """

    def __init__(
        self, name: str, size: int, base: int = 0, behind: Callable[[int], int] = lambda words: words
    ) -> None:  # fmt: skip
        self.name, self.size, self.base, self.taken, self.most = name, size, base, dict[int, int](), base
        self.behind = behind

    def give(self, words: int) -> int:
        """The first word of a free stretch. Raises NoRoomError where there is none."""
        at = self.behind(self.base)
        for first, end in sorted(self.taken.items()):
            if first - at >= words:
                break
            at = max(at, self.behind(end))
        if at + words > self.size:
            raise NoRoomError(f"the network needs {at + words:,} {self.name}, an array has {self.size:,}: choose fewer "
                              f"points, narrower layers or more units")  # fmt: skip
        self.taken[at] = at + words
        self.most = max(self.most, at + words)
        return at

    def free(self, first: int) -> None:
        """Take a stretch back."""
        del self.taken[first]


@dataclass
class PlacedValue:
    """The addresses of a value, and the layout of its rows.

    Attributes:
        layout: of a row; of units side by side that of all.
        words: of a row, in a unit that holds all of it.
        wide: units that hold a row's words side by side.
        base: {memory: first word}.
    """

    layout: Layout
    words: int
    wide: int = 1
    base: dict[Target, int] = field(default_factory=dict)

    @property
    def held(self) -> int:
        """Words of a row in each of the units that hold it."""
        return -(-self.words // self.wide)


class Paging(NamedTuple):
    """Which weights and rows stay in the tables; the others are loaded when they are read.

    Attributes:
        weights: whether weights are loaded before each product; else once, before any cloud.
        held: words of the widest rows that are in the tables from when they are made; the words of wider rows are
            copied there when they are read, and only as many as are read together.
        tiles: upper limit of the words of a row that a product makes together.
        table: upper limit of the words of a table.
    """

    weights: bool = False
    held: int = MOST_ROW
    tiles: int = MOST_TILES
    table: int = MOST_TABLE_WORDS


PAGINGS = (Paging(), *(
    Paging(True, *rows, table)
    for table in (MOST_TABLE_WORDS, most_of(neighbours=True).table_words)
    for rows in ((MOST_ROW, 8), (16, 8), (8, 8), (4, 8), (2, 8), (0, 8), (0, 4), (0, 1))
))  # fmt: skip
"""From the fastest to the one that needs the least memory; then the same with the largest tables that there are."""


def parts_of(words: int, most: int = MOST_TILES) -> Iterator[tuple[int, int]]:
    """First word and words of the parts of a row that one descriptor makes."""
    for first in range(0, words, most):
        yield first, min(most, words - first)
