"""Disjoint search: first the best architecture, ignoring hardware; then hardware and formats for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.engine.contracts import Infeasible, Objectives, Problem, Space
from fgnas.errors import UserError
from fgnas.searchers.learning.masks import Fixed
from fgnas.searchers.reinforce import Reinforce
from fgnas.space import Rows, offered

ARCHITECTURE_SHARE = 5
"""One of this many children is spent on the architecture: 200 of 1,000, as in the paper."""
HARDWARE_DRAWS = 5_000
"""Uniform draws of hardware before an architecture counts as infeasible."""


class Disjoint:
    """Two searches, one after the other, each with the learning controller.

    The first evaluates architectures in the finest formats (10 bits) and accepts any cost. The second keeps
    the best of them for which feasible hardware was found; the paper keeps the very best, which under tight
    constraints may leave nothing to search.
    """

    def __init__(self, space: Space, seed: int, children: int, check: Callable[[Rows], NDArray[np.bool_]]) -> None:
        self.space, self.seed, self.check = space, seed, check
        self.left = self.planned(children)
        self.tried: list[list[int]] = []
        self.rewards: list[float] = []
        self.fixed = finest(space)
        self._begin()

    @staticmethod
    def planned(children: int) -> int:
        """How many of the children are spent on the architecture."""
        return max(1, children // ARCHITECTURE_SHARE)

    @property
    def infeasible(self) -> Infeasible:
        """Rows that break a limit are accepted while architectures are searched."""
        return "accept" if self.left > 0 else "redraw"

    @property
    def batch(self) -> int:
        """The number of rows between two updates of its controller."""
        return self.searcher.batch

    def ask(self, count: int) -> Rows:
        """[count, decisions] rows."""
        return self.searcher.ask(count)

    def tell(self, rows: Rows, objectives: Objectives) -> None:
        """Learn; after the last architecture, turn to hardware."""
        self.searcher.tell(rows, objectives)
        if self.left > 0:
            self.tried += rows.tolist()
            self.rewards += objectives[:, 0].tolist()
            self.left -= len(rows)
            if self.left <= 0:
                self.fixed = self.buildable()
                self._begin()

    def buildable(self) -> dict[int, int]:
        """The choices of the best architecture with hardware that keeps every constraint."""
        rng = np.random.default_rng(self.seed)
        seen: set[tuple[tuple[int, int], ...]] = set()
        for place in np.argsort(-np.array(self.rewards), kind="stable"):
            choices = architecture_of(self.space, self.tried[place])
            if (key := tuple(choices.items())) in seen:
                continue
            seen.add(key)
            if self.check(with_choices(self.space, choices, HARDWARE_DRAWS, rng)).any():
                return choices
        raise UserError(
            f"disjoint search: none of the {len(seen)} architectures found has hardware that keeps every constraint; "
            "relax the tightest, or give more --children"
        )

    def _begin(self) -> None:
        phase = 0 if self.left > 0 else 1
        # An odd seed, which the first phase of no run uses.
        self.searcher = Reinforce(self.space, 2 * self.seed + phase, mask=Fixed(self.space, self.fixed))

    def state(self) -> dict[str, Any]:
        """The phase it is in, the results of the first, and the controller."""
        return {
            "left": self.left, "tried": self.tried, "rewards": self.rewards, "fixed": self.fixed,
            "searcher": self.searcher.state(),
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.left, self.tried, self.rewards = state["left"], state["tried"], state["rewards"]
        self.fixed = state["fixed"]
        self._begin()
        self.searcher.restore(state["searcher"])


def finest(space: Space) -> dict[int, int]:
    """Column -> option: most bits everywhere, and the first option of choices that do not affect accuracy."""
    options = {"precision": -1, "hardware": 0}
    return {
        column: options[decision.kind] % len(decision.options)
        for column, decision in enumerate(space.decisions)
        if decision.kind in options
    }


def architecture_of(space: Space, row: Sequence[int]) -> dict[int, int]:
    """Column -> option of a row's architecture."""
    return {column: row[column] for column, decision in enumerate(space.decisions) if decision.kind == "architecture"}


def with_choices(space: Space, choices: dict[int, int], count: int, rng: np.random.Generator) -> Rows:
    """[count, decisions] uniform rows among those with these choices."""
    rows = space.draw(count, rng)
    for column, decision in enumerate(space.decisions):
        drawn = np.full(count, choices[column]) if column in choices else rng.integers(0, len(decision.options), count)
        rows[:, column] = np.where(offered(space.decisions, rows, column), drawn, -1)
    return rows


def searcher(problem: Problem) -> Disjoint:
    """Disjoint search on a problem."""
    return Disjoint(problem.space, problem.seed, problem.children, problem.feasible)
