"""Masks: the options that a policy may choose after the earlier decisions, by fixed choices or bounds on costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from fgnas.costs import Limit, excess
from fgnas.engine.contracts import Space, Target
from fgnas.space import Rows, offered

Mask = Callable[[Rows, int], NDArray[np.bool_]]
"""(rows [n, decisions], column) -> [n, options] whether each option is allowed; reads only earlier columns."""


class Fixed:
    """Some decisions are fixed, the others free."""

    def __init__(self, space: Space, options: Mapping[int, int]) -> None:
        self.sizes = [len(decision.options) for decision in space.decisions]
        self.options = options

    def __call__(self, rows: Rows, column: int) -> NDArray[np.bool_]:
        """The fixed option alone, or all."""
        allowed = np.ones((len(rows), self.sizes[column]), bool)
        if column in self.options:
            allowed[:] = False
            allowed[:, self.options[column]] = True
        return allowed


class Bounds:
    """The options after which every limit, by itself, can still be kept.

    A cost in cycles is bounded from below by the fastest completion of a row, every other cost by the smallest one (see
    `Decision`). Costs are monotone in these decisions except for rounding, so a candidate exactly at a limit may be
    lost. Two bounds that hold separately may not hold together, so rows are still redrawn after the mask. Results are
    cached, because a policy that learns returns to the same decisions.
    """

    def __init__(self, space: Space, target: Target, limits: tuple[Limit, ...]) -> None:
        self.space, self.target, self.limits = space, target, limits
        timed = {cost.name for cost in target.costs if cost.unit == "cycles"}
        self.by_time = tuple(limit for limit in limits if limit.cost in timed)
        self.by_size = tuple(limit for limit in limits if limit.cost not in timed)
        self.fastest = np.array([decision.fastest for decision in space.decisions], np.int16)
        self.smallest = np.array([decision.smallest for decision in space.decisions], np.int16)
        self.known: dict[bytes, NDArray[np.bool_]] = {}

    def __call__(self, rows: Rows, column: int) -> NDArray[np.bool_]:
        """Allow all options if none is allowed: redrawing drops such a row."""
        names = [row.tobytes() for row in rows[:, :column]]
        missing = {name: row for row, name in enumerate(names) if name not in self.known}
        if missing:
            found = self._allowed(rows[list(missing.values()), :column], column, rows.shape[1])
            self.known.update(zip(missing, found, strict=True))
        return np.stack([self.known[name] for name in names])

    def _allowed(self, prefixes: Rows, column: int, width: int) -> NDArray[np.bool_]:
        """[prefixes, options] the allowed options for distinct beginnings of rows."""
        count = len(self.space.decisions[column].options)
        tried = np.empty((len(prefixes) * count, width), np.int16)
        tried[:, :column] = np.repeat(prefixes, count, axis=0)
        tried[:, column] = np.tile(np.arange(count), len(prefixes))
        allowed = self._holds(tried, column, self.fastest, self.by_time)
        allowed &= self._holds(tried, column, self.smallest, self.by_size)
        allowed = allowed.reshape(len(prefixes), count)
        allowed[~allowed.any(axis=1)] = True
        return allowed

    def _holds(
        self, tried: Rows, column: int, rest: NDArray[np.int16], limits: tuple[Limit, ...]
    ) -> NDArray[np.bool_]:
        """[n] whether the limits are kept with the later columns as in `rest`."""
        if not limits:
            return np.ones(len(tried), bool)
        completed = tried.copy()
        for later in range(column + 1, len(rest)):
            here = offered(self.space.decisions, completed, later)
            completed[:, later] = np.where(here, rest[later], -1)
        over = excess(self.target.price(completed), limits)
        return np.logical_and.reduce([values <= 1 for values in over.values()])
