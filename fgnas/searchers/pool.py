"""The evolutionary co-search of G-CoS (section IV-E, Algorithm 1): a pool grows by mutants and loses its worst."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.engine.contracts import Objectives, Problem, Space
from fgnas.searchers.breeding.population import Population
from fgnas.searchers.breeding.rows import redrawn
from fgnas.space import Rows


@dataclass(frozen=True)
class PoolSettings:
    """The parameters of Algorithm 1. Those that the paper leaves open are said to be ours.

    Attributes:
        capacity: p_max, the designs that stay in the pool; ours.
        rate: s, the share of the capacity that is born, or dies, at once.
        mutation: the share of a parent's decisions that a mutant may redraw, and the probability of each.
        weight: lambda, the weight of each further objective relative to its value in the first births; ours.
        most: the most that such an objective counts, as a multiple of that; ours. Without it a design that does
            nothing in no time would win.
    """

    capacity: int = 100
    rate: float = 0.2
    mutation: float = 0.5
    weight: float = 0.05
    most: float = 4.0

    @property
    def births(self) -> int:
        """The designs that are born, or die, at once."""
        return max(1, round(self.rate * self.capacity))


class Pool(Population):
    """The fittest of the pool have one mutant each; when the pool is over its capacity, the least fit leave it.

    Fitness is the first objective and, for each other one, `weight` times how much better it is than the median of the
    first births: for a cost the inverse ratio, as the paper's inverse latency.
    """

    def __init__(self, space: Space, seed: int, settings: PoolSettings | None = None) -> None:
        super().__init__(space, seed)
        self.settings = settings or PoolSettings()
        self.batch = self.settings.births
        self.reference: NDArray[np.float64] = np.empty(0)

    def ask(self, count: int) -> Rows:
        """[count, decisions] uniform rows at first, then mutants of the fittest in turn."""
        if not len(self.rows):
            return self.space.draw(count, self.rng)
        fittest = self._order()[: self.settings.births]
        parents = self.rows[fittest[np.arange(count) % len(fittest)]]
        share = self.settings.mutation
        # A random part of the decisions, of the same size in every mutant.
        may = self.rng.random(parents.shape).argsort(axis=1) < np.ceil(share * parents.shape[1])
        return redrawn(self.space, parents, may & (self.rng.random(parents.shape) < share), self.rng)

    def tell(self, rows: Rows, objectives: Objectives) -> None:
        """Take the births into the pool; the least fit leave while it is over its capacity."""
        if not len(self.rows):
            self.reference = np.median(objectives[:, 1:], axis=0)
        self.add(rows, objectives)
        while len(self.rows) > self.settings.capacity:
            self.keep(self._order()[: -min(self.settings.births, len(self.rows) - 1)])

    def _order(self) -> NDArray[np.int64]:
        """[pool] from the fittest to the least fit, of equals the youngest first."""
        fit = fitness(self.objectives, self.reference, self.settings)
        return np.lexsort((-np.arange(len(fit)), -fit))

    def state(self) -> dict[str, Any]:
        """The pool by age, the reference, and the random state."""
        return super().state() | {"reference": self.reference}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        super().restore(state)
        self.reference = state["reference"]


def fitness(objectives: Objectives, reference: NDArray[np.float64], settings: PoolSettings) -> NDArray[np.float64]:
    """[n] fitness of [n, objectives], with the `reference` [objectives - 1] of all but the first.

    A cost is told as a negative number, so it is better by reference / objective; anything else by the inverse.
    """
    others = objectives[:, 1:]
    above, below = np.where(others < 0, reference, others), np.where(others < 0, others, reference)
    better = np.divide(above, below, out=np.full(others.shape, settings.most), where=below != 0)
    return objectives[:, 0] + settings.weight * np.minimum(better, settings.most).sum(axis=1)


def searcher(problem: Problem) -> Pool:
    """Algorithm 1 on a problem, with the `weight` of its options."""
    weight = problem.options.get("weight")
    return Pool(problem.space, problem.seed, None if weight is None else PoolSettings(weight=weight))
