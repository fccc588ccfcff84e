"""Age-regularised evolution (Real et al., AAAI 2019): the fittest of a few has a child, the oldest dies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fgnas import pareto
from fgnas.engine.contracts import BATCH, Objectives, Problem, Space
from fgnas.searchers.breeding.population import Population
from fgnas.searchers.breeding.rows import with_one_change
from fgnas.space import Rows


@dataclass(frozen=True)
class EvolutionSettings:
    """The parameters of evolution.

    Attributes:
        population: number of the latest children that may be parents; the first ones are drawn uniformly.
        sample: number of them that compete to be the parent of one child.
    """

    population: int = 50
    sample: int = 10


class Evolution(Population):
    """Every child is a parent with one decision changed. A parent is the fittest of a sample of the population.

    Children leave the population by age, not by fitness, so luck in one training does not last. With several objectives
    the fitness is the rank by nondominated sorting; of equally fit candidates the youngest wins.
    """

    batch = BATCH

    def __init__(self, space: Space, seed: int, settings: EvolutionSettings | None = None) -> None:
        super().__init__(space, seed)
        self.settings = settings or EvolutionSettings()

    def ask(self, count: int) -> Rows:
        """[count, decisions] uniform rows until the population is full, then mutated parents."""
        if len(self.rows) < self.settings.population:
            return self.space.draw(count, self.rng)
        competing = self.rng.integers(0, len(self.rows), (count, self.settings.sample))
        order = self._order()
        parents = self.rows[order[np.argsort(order)[competing].min(axis=1)]]
        return with_one_change(self.space, parents, self.rng)

    def _order(self) -> NDArray[np.int64]:
        """[population] from the fittest to the least fit, of equals the youngest first."""
        rank = pareto.ranks(self.objectives)
        return np.lexsort((-np.arange(len(rank)), rank))

    def tell(self, rows: Rows, objectives: Objectives) -> None:
        """Take the children into the population; the oldest leave it."""
        self.add(rows, objectives)
        self.keep(np.arange(len(self.rows))[-self.settings.population :])


def searcher(problem: Problem) -> Evolution:
    """Evolution on a problem."""
    return Evolution(problem.space, problem.seed)
