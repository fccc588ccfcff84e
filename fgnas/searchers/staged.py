"""HGNAS's search in two stages: functions first, judged by random operations, then operations (HGNAS, algorithm 1).

A space for it has decisions of the kinds "function" and "operation". It may have one of the kind "stage", which no draw
makes: with its option a row asks to be scored by weights of its own functions, which the second stage does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.engine.contracts import Infeasible, Objectives, Problem
from fgnas.errors import UserError
from fgnas.space import Rows

NEEDED, STAGE = ("function", "operation"), "stage"
TRIED, SETS_TRIED = 200, 100
"""Random rows of a set of functions from which it is known whether the set has enough within the limits; and sets that
are tried before the one with the most is taken."""
MANY = 1_000
"""New candidates of which one at least keeps the limits, or there is no other."""
BREEDINGS, DRAWINGS = 10, 10
"""How often children, and then random rows, are made until enough are candidates that are not judged yet."""


@dataclass(frozen=True)
class StagedSettings:
    """The parameters of the search.

    Attributes:
        population: rows of a generation, and those that live (HGNAS, section 4.1).
        parents: the best of them, which breed.
        sets: sets of functions that the first stage judges.
        each: random rows that judge a set; the mean of their scores is the set's.
        mutation: probability that a decision of a mutated child is drawn again.
        weight: weight of each further objective relative to the first, in the second stage (equation 4).
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
        if missing := [kind for kind in NEEDED if kind not in kinds]:
            raise UserError(f"space {space.name} has no decisions of the kind {missing[0]}: choose another --method")
        self.space, self.problem, self.settings = space, problem, settings
        self.functions, self.operations, self.stage = (
            np.array([one == kind for one in kinds]) for kind in (*NEEDED, STAGE)
        )
        self.rng = np.random.default_rng(problem.seed)
        self.sets: Rows = np.empty((0, len(kinds)), np.int16)
        self.set_scores = np.empty(0)
        self.current: Rows | None = None
        self.rows: Rows = np.empty((0, len(kinds)), np.int16)
        self.scores = np.empty(0)
        self.known: set[str] = set()

    @staticmethod
    def planned(children: int) -> int:
        """How many sets of functions are judged: with a third of the children, 480 at most."""
        return max(1, min(StagedSettings.sets, children // 3 // StagedSettings.each))

    @property
    def first_stage(self) -> bool:
        """Whether sets of functions are judged."""
        return len(self.sets) < self.settings.sets

    @property
    def batch(self) -> int:
        """The rows of a set, then those of a generation."""
        return self.settings.each if self.first_stage else self.settings.population

    def ask(self, count: int) -> Rows:
        """[count, decisions] random rows of the set that is judged; then children with the best set's functions, of
        which none means a candidate that is judged already, as long as enough others are found. No row where none is:
        the set's candidates within the limits are all judged."""
        if self.first_stage:
            self.current = self._next_set() if self.current is None else self.current
            return self._with_functions(self.space.draw(count, self.rng), self.current)
        new, others = dict[str, NDArray[np.int16]](), list[NDArray[np.int16]]()
        for attempt in range(BREEDINGS + DRAWINGS):
            for row in self._offered(count, attempt < BREEDINGS):
                key = self.space.candidate(row).score_key
                if key in self.known or key in new:
                    others.append(row)
                else:
                    new[key] = row
            if len(new) >= count:
                break
        if not new or (len(new) >= MANY and not self.problem.feasible(np.stack(list(new.values()))).any()):
            return self.rows[:0]
        return np.stack([*new.values(), *others][:count])

    def _offered(self, count: int, breeding: bool) -> Rows:
        """[count, decisions] random rows, or children if there is a population, with the best set's functions."""
        best = self.sets[self.set_scores.argmax()]
        breeding &= len(self.rows) >= self.settings.population
        found = self._with_functions(self._bred(count) if breeding else self.space.draw(count, self.rng), best)
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
        self.known.update(self.space.candidate(row).score_key for row in rows)
        fitness = objectives[:, 0] + self.settings.weight * objectives[:, 1:].sum(axis=1)
        rows, scores = np.concatenate([self.rows, rows]), np.append(self.scores, fitness)
        live = np.sort(np.argsort(-scores, kind="stable")[: self.settings.population])
        self.rows, self.scores = rows[live], scores[live]

    def _next_set(self) -> NDArray[np.int16]:
        """[decisions] a row with the functions of a new set: random ones first, then children of the best sets. A set
        that hardly has candidates within the limits is not judged, unless the others that were tried have fewer."""
        most = tried = 0
        while most < self.settings.each and (not most or tried < SETS_TRIED):
            if len(self.sets) < self.settings.population:
                found = self.space.draw(1, self.rng)
            else:
                found = self._children(self.sets, self.set_scores, self.functions, 1)
            rows = self._with_functions(self.space.draw(TRIED, self.rng), found[0])
            keys = {self.space.candidate(row).score_key for row in rows[self.problem.feasible(rows)]}
            if len(keys) > most:
                best, most = found[0], len(keys)
            tried += 1
        return best

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
            "scores": self.scores, "known": sorted(self.known), "rng": self.rng.bit_generator.state,
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.sets, self.set_scores, self.current = state["sets"], state["set_scores"], state["current"]
        self.rows, self.scores, self.known = state["rows"], state["scores"], set(state["known"])
        self.rng.bit_generator.state = state["rng"]


def searcher(problem: Problem) -> Staged:
    """The staged search on a problem."""
    sets, weight = Staged.planned(problem.children), problem.options.get("weight")
    return Staged(problem, StagedSettings(sets=sets, weight=StagedSettings.weight if weight is None else weight))
