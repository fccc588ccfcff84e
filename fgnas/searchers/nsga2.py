"""NSGA-II (Deb et al., 2002) as MaGNAS runs it over architectures (section 4.2): generations, ranks and crowding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fgnas import pareto
from fgnas.engine.contracts import Objectives, Problem, Space
from fgnas.searchers.breeding.population import Population
from fgnas.searchers.breeding.rows import crossed, positions, redrawn
from fgnas.space import Rows

GENERATIONS = 10
"""A search has at least so many generations, as long as each has FEWEST candidates."""
FEWEST = 10


@dataclass(frozen=True)
class Nsga2Settings:
    """The parameters of MaGNAS, section 4.2.

    Attributes:
        population: candidates of a generation, and survivors of it.
        breeding: share of the population that has children.
        crossover: probability that a child has two parents.
        mutation: probability that the decisions of one position, a layer or one of the whole design, are drawn again.
    """

    population: int = 100
    breeding: float = 0.3
    crossover: float = 0.5
    mutation: float = 0.4


class Nsga2(Population):
    """The best of parents and children survive: by nondominated rank, then by crowding distance."""

    def __init__(self, space: Space, seed: int, settings: Nsga2Settings | None = None) -> None:
        super().__init__(space, seed)
        self.settings = settings or Nsga2Settings()
        self.batch = self.settings.population

    @staticmethod
    def planned(children: int) -> int:
        """The population of a search for this many children."""
        return min(Nsga2Settings.population, max(FEWEST, children // GENERATIONS))

    def ask(self, count: int) -> Rows:
        """[count, decisions] uniform rows at first, then children of the best."""
        if not len(self.rows):
            return self.space.draw(count, self.rng)
        breeding = order(self.objectives)[: max(1, round(self.settings.breeding * len(self.rows)))]
        mothers, fathers = self.rows[self.rng.choice(breeding, (2, count))]
        two = self.rng.random(count) < self.settings.crossover
        children = np.where(two[:, None], crossed(self.space, mothers, fathers, self.rng), mothers)
        groups = positions(self.space)
        changed = self.rng.integers(0, groups.max() + 1, count)
        changed[self.rng.random(count) >= self.settings.mutation] = -1
        return redrawn(self.space, children, groups == changed[:, None], self.rng)

    def tell(self, rows: Rows, objectives: Objectives) -> None:
        """Take the children in; the best of all survive, in the order of their age."""
        self.add(rows, objectives)
        self.keep(order(self.objectives)[: self.settings.population])


def order(objectives: Objectives) -> NDArray[np.int64]:
    """[n] from best to worst: by rank, then by crowding distance; of equals the youngest first."""
    ranks = pareto.ranks(objectives)
    return np.lexsort((-np.arange(len(ranks)), -pareto.crowding(objectives, ranks), ranks))


def searcher(problem: Problem) -> Nsga2:
    """NSGA-II on a problem."""
    return Nsga2(problem.space, problem.seed, Nsga2Settings(Nsga2.planned(problem.children)))
