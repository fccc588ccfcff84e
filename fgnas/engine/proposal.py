"""Proposals: the rows of a batch to evaluate, with infeasible ones treated as the searcher asks."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fgnas.costs import Costs, feasible, plain
from fgnas.engine.contracts import Composition, Objectives, Searcher
from fgnas.engine.survey import MAX_FRUITLESS_DRAWS, Nearest
from fgnas.errors import UserError
from fgnas.space import Rows

DRAWS_AT_ONCE = 2_000
MAX_FRUITLESS_EPISODES = 20_000
"""Draws without a feasible one before a search gives up, for a searcher that learns from every small batch."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """Rows to evaluate.

    Attributes:
        rows: [m, decisions].
        costs: the costs of each, by name.
        feasible: [m] whether each keeps every limit.
        draws: [m] index of each among this batch's draws, counted from 1, ascending.
        drawn: how many draws the batch took.
        asked: the rows of the last request, if the searcher is told about all of them.
    """

    rows: Rows
    costs: list[dict[str, int | float]]
    feasible: NDArray[np.bool_]
    draws: NDArray[np.int64]
    drawn: int
    asked: Rows | None = None

    def told(self, objectives: Objectives) -> tuple[Rows, Objectives]:
        """The rows and objectives that the searcher is told."""
        if self.asked is None:
            return self.rows, objectives
        every = np.zeros((len(self.asked), objectives.shape[1]))
        every[self.draws - 1 - (self.drawn - len(self.asked))] = objectives
        return self.asked, every


def propose(
    searcher: Searcher, parts: Composition, count: int, batch: int, seen: Set[bytes] | None = None
) -> Proposal:
    """One to `count` rows to evaluate. Raises UserError if no feasible one is found.

    A searcher whose infeasible rows are redrawn gets rows in `seen` redrawn, too; there are no rows if no others are
    found.
    """
    if searcher.infeasible == "accept":
        asked = searcher.ask(count)
        costs = parts.target.price(asked)
        ok = feasible(costs, parts.limits)
        return Proposal(asked, [plain(costs, i) for i in range(len(asked))], ok, np.arange(1, count + 1), count)
    if searcher.infeasible == "zero":
        return episodes(searcher, parts, count, batch)
    return redrawn(searcher, parts, count, seen)


def episodes(searcher: Searcher, parts: Composition, count: int, batch: int) -> Proposal:
    """Draw batches up to the first with a feasible row; the searcher is told zeros for the others."""
    nearest = Nearest(parts.limits)
    for drawn in range(0, MAX_FRUITLESS_EPISODES, batch):
        asked = searcher.ask(batch)
        costs = parts.target.price(asked)
        ok = feasible(costs, parts.limits)
        if ok.any():
            places = np.flatnonzero(ok)[:count]
            priced = [plain(costs, int(i)) for i in places]
            return Proposal(asked[places], priced, ok[places], drawn + places + 1, drawn + batch, asked)
        nearest.see(costs)
        searcher.tell(asked, np.zeros((batch, len(parts.objectives))))
    raise UserError(f"no feasible design in {MAX_FRUITLESS_EPISODES:,} draws: {nearest}")


def redrawn(searcher: Searcher, parts: Composition, count: int, seen: Set[bytes] | None = None) -> Proposal:
    """The first `count` feasible rows, redrawn in batches that grow to 2,000.

    With `seen` none of them is in it and no two are equal; there are fewer if many draws find no other, or if the
    searcher has no more.
    """
    rows: list[Rows] = []
    priced: list[dict[str, int | float]] = []
    draws: list[int] = []
    drawn, fruitless, size = 0, 0, 4 * count
    known, repeated = None if seen is None else set(seen), False
    nearest = Nearest(parts.limits)
    while len(draws) < count:
        asked = searcher.ask(size)
        if not len(asked):
            break
        costs: Costs = parts.target.price(asked)
        fits = np.flatnonzero(feasible(costs, parts.limits))
        accepted = (fits if known is None else unseen(asked, fits, known))[: count - len(draws)]
        repeated |= len(fits) > 0
        if known is not None:
            known.update(asked[place].tobytes() for place in accepted)
        for place in map(int, accepted):
            rows.append(asked[place])
            priced.append(plain(costs, place))
            draws.append(drawn + place + 1)
        drawn += size
        fruitless = 0 if len(accepted) else fruitless + size
        if not len(fits):
            nearest.see(costs)
        if fruitless >= MAX_FRUITLESS_DRAWS:
            if known is not None and repeated:
                break
            raise UserError(f"no feasible design in {fruitless:,} draws: {nearest}")
        size = min(4 * size, DRAWS_AT_ONCE)
    chosen = np.array(rows, np.int16).reshape(-1, len(parts.space.decisions))
    return Proposal(chosen, priced, np.ones(len(draws), bool), np.array(draws, np.int64), draws[-1] if draws else drawn)


def unseen(rows: Rows, places: NDArray[np.int64], seen: Set[bytes]) -> NDArray[np.int64]:
    """The places of rows that are not in `seen`, each row once."""
    first: dict[bytes, int] = {}
    for place in map(int, places):
        first.setdefault(rows[place].tobytes(), place)
    return np.array([place for name, place in first.items() if name not in seen], np.int64)
