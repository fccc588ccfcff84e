"""The words that a load brings: weights as the units read them, and biases. They are made when they are sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fgnas.fixedpoint import Codes
from fgnas.hardware.array.engine import LANES
from fgnas.hardware.array.points.layouts import Layout
from fgnas.hardware.array.programme import Operation, Region, Target
from fgnas.hardware.integer.combine import Combine
from fgnas.hardware.numbers import Ints


class Image:
    """Words of a load, one behind the other, for each of so many units of a group.

    Attributes:
        places: units of a group, whose words differ; 1: all have the same.
        words: of each.
    """

    def __init__(self, places: int = 1) -> None:
        self.places, self.words = places, 0
        self._parts: list[Callable[[], Codes]] = []

    def add(self, words: int, made: Callable[[], Codes]) -> int:
        """Append so many words, which `made` gives as [places, words, LANES]; returns the place of the first."""
        first = self.words
        self.words += words
        self._parts.append(made)
        return first

    def codes(self) -> Codes:
        """[places, words, LANES]."""
        return np.concatenate([made() for made in self._parts], axis=1)


def loading(image: Image) -> dict[str, Any]:
    """The fields of a load of weights into the tables, but for where they go."""
    return {"operation": Operation.LOAD, "tiles": 1, "count": image.words, "target": Target.TABLE,
            "region": Region.PARAMETERS}  # fmt: skip


def product_words(combine: Combine | None, source: Ints, first: int, tiles: int) -> Codes:
    """[places, elements * tiles, LANES] the weights that elements of a row [places, elements] meet, of words from the
    first on."""
    assert combine is not None, "a network that is priced alone has no weights to send"
    rows, columns = combine.weight.shape
    lane = first * LANES + np.arange(tiles * LANES)
    padded = np.pad(combine.weight, ((0, 1), (0, 1)))  # -1 names the zeros at the end
    held = padded[np.where(source < 0, rows, source)[..., None], np.where(lane < columns, lane, columns)]
    return np.asarray(held.reshape(len(source), -1, LANES))


def moving(held: Layout, wanted: Layout, first: int, tiles: int) -> Codes:
    """[1, elements * tiles, LANES] the weights that copy a row into another layout, of whose words these are made: 1
    where the columns are the same."""
    there = wanted.columns[first * LANES : (first + tiles) * LANES]
    same = (held.columns[:, None] == there) & (there >= 0)
    return same.astype(np.int64).reshape(1, -1, LANES)


def bias_words(bias: Codes, layout: Layout, first: int, tiles: int) -> Codes:
    """[1, tiles, LANES] biases of words of a row from the first on."""
    columns = layout.columns.reshape(-1)[first * LANES : (first + tiles) * LANES]
    return np.where(columns < 0, 0, bias[columns]).reshape(1, -1, LANES)
