"""Random search: uniform over the options that have an effect. The baseline of every other searcher."""

from __future__ import annotations

from typing import Any

import numpy as np

from fgnas.engine.contracts import BATCH, Infeasible, Objectives, Problem, Space
from fgnas.space import Rows


class RandomSearch:
    """Draws rows and learns nothing."""

    infeasible: Infeasible = "redraw"
    batch = BATCH

    def __init__(self, space: Space, seed: int) -> None:
        self.space = space
        self.rng = np.random.default_rng(seed)

    def ask(self, count: int) -> Rows:
        """[count, decisions] uniform rows."""
        return self.space.draw(count, self.rng)

    def tell(self, rows: Rows, objectives: Objectives) -> None:
        """Nothing to learn."""

    def state(self) -> dict[str, Any]:
        """The random state."""
        return {"rng": self.rng.bit_generator.state}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.rng.bit_generator.state = state["rng"]


def searcher(problem: Problem) -> RandomSearch:
    """Random search on a problem."""
    return RandomSearch(problem.space, problem.seed)
