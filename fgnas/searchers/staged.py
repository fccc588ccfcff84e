"""HGNAS's search in two stages: functions first, judged by random operations, then operations (HGNAS, algorithm 1).

A space for it has decisions of the kinds "function" and "operation", and one of the kind "stage" that no draw makes:
with its option a row asks to be scored by weights of its own functions, which the second stage does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.engine.contracts import Infeasible, Objectives, Problem
from fgnas.errors import UserError
from fgnas.space import Rows

KINDS = ("function", "operation", "stage")
TRIED = 200
"""Random rows of a set of functions from which it is known whether the set has enough within the limits."""


@dataclass(frozen=True)
class StagedSettings:
    """The parameters of the search.

    Attributes:
        population: rows of a generation, and those that live (HGNAS, section 4.1).
        parents: the best of them, which breed.
        sets: sets of functions that the first stage judges.
        each: random rows that judge a set; the mean of their scores is the set's.
        mutation: probability that a decision of a mutated child is drawn again.
        weight: what each further objective counts beside the first, in the second stage (equation 4).
    """

    population: int = 20
    parents: int = 10
    sets: int = 60
    each: int = 8
    mutation: float = 0.1
    weight: float = 0.05


class Staged:
    """Evolution over sets of functions, then over the operations of the best set."""

    infeasible: Infeasible = "redraw"
    distinct = True

    def __init__(self, problem: Problem, settings: StagedSettings) -> None:
        space = problem.space
        kinds = [decision.kind for decision in space.decisions]
        if missing := [kind for kind in KINDS if kind not in kinds]:
            raise UserError(f"space {space.name} has no decisions of the kind {missing[0]}: choose another --method")
        self.space, self.problem, self.settings = space, problem, settings
        self.functions, self.operations, self.stage = (np.array([one == kind for one in kinds]) for kind in KINDS)
        self.rng = np.random.default_rng(problem.seed)
        self.sets: Rows = np.empty((0, len(kinds)), np.int16)
        self.set_scores = np.empty(0)
        self.current: Rows | None = None
        self.rows: Rows = np.empty((0, len(kinds)), np.int16)
        self.scores = np.empty(0)

    @property
    def first_stage(self) -> bool:
        """Whether sets of functions are judged."""
        return len(self.sets) < self.settings.sets

    @property
    def batch(self) -> int:
        """The rows of a set, then those of a generation."""
        return self.settings.each if self.first_stage else self.settings.population

    def ask(self, count: int) -> Rows:
        """[count, decisions] random rows of the set that is judged; then children with the best set's functions."""
        if self.first_stage:
            self.current = self._next_set() if self.current is None else self.current
            return self._with_functions(self.space.draw(count, self.rng), self.current)
        best = self.sets[self.set_scores.argmax()]
        children = self.space.draw(count, self.rng) if len(self.rows) < self.settings.population else self._bred(count)
        found = self._with_functions(children, best)
        found[:, self.stage] = 0
        return found

    def tell(self, rows: Rows, objectives: Objectives) -> None:
        """Take a set's score, or a generation, of which the best and those before live."""
        if self.first_stage:
            assert self.current is not None
            self.sets = np.concatenate([self.sets, self.current[None]])
            self.set_scores = np.append(self.set_scores, objectives[:, 0].mean())
            self.current = None
            return
        fitness = objectives[:, 0] + self.settings.weight * objectives[:, 1:].sum(axis=1)
        rows, scores = np.concatenate([self.rows, rows]), np.append(self.scores, fitness)
        live = np.sort(np.argsort(-scores, kind="stable")[: self.settings.population])
        self.rows, self.scores = rows[live], scores[live]

    def _next_set(self) -> NDArray[np.int16]:
        """[decisions] a row with the functions of a new set: random ones first, then children of the best sets. A set
        whose random rows hardly keep the limits is not judged."""
        while True:
            if len(self.sets) < self.settings.population:
                found = self.space.draw(1, self.rng)
            else:
                found = self._children(self.sets, self.set_scores, self.functions, 1)
            tried = self._with_functions(self.space.draw(TRIED, self.rng), found[0])
            if self.problem.feasible(tried).sum() >= self.settings.each:
                return found[0]

    def _bred(self, count: int) -> Rows:
        return self._children(self.rows, self.scores, self.operations, count)

    def _children(self, rows: Rows, scores: NDArray[np.float64], where: NDArray[np.bool_], count: int) -> Rows:
        """Half of them crossed from two of the best, half mutated from one, in the decisions `where`."""
        best = rows[np.argsort(-scores, kind="stable")[: self.settings.parents]]
        mothers, fathers = best[self.rng.integers(0, len(best), (2, count))]
        crossing = (self.rng.random(count) < 0.5)[:, None]
        from_father = self.rng.random(mothers.shape) < 0.5
        again = self.rng.random(mothers.shape) < self.settings.mutation
        mutated = np.where(again, self.space.draw(count, self.rng), mothers)
        children = np.where(crossing, np.where(from_father, fathers, mothers), mutated)
        return self.space.repaired(np.where(where, children, mothers))

    def _with_functions(self, rows: Rows, functions: NDArray[np.int16]) -> Rows:
        return np.where(self.functions, functions, rows)

    def state(self) -> dict[str, Any]:
        """Both stages, and the random state."""
        return {
            "sets": self.sets, "set_scores": self.set_scores, "current": self.current, "rows": self.rows,
            "scores": self.scores, "rng": self.rng.bit_generator.state,
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.sets, self.set_scores, self.current = state["sets"], state["set_scores"], state["current"]
        self.rows, self.scores = state["rows"], state["scores"]
        self.rng.bit_generator.state = state["rng"]


def searcher(problem: Problem) -> Staged:
    """The staged search on a problem: of its children a third judges sets of functions, 480 at most."""
    settings = StagedSettings()
    sets = max(1, min(settings.sets, problem.children // 3 // settings.each))
    weight = problem.options.get("weight")
    return Staged(problem, StagedSettings(sets=sets, weight=settings.weight if weight is None else weight))
