"""A population: rows with their objectives, from which children come. Searchers say who breeds and who stays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.engine.contracts import Infeasible, Objectives, Space
from fgnas.space import Rows


class Population:
    """Rows by age with their objectives; infeasible children are drawn again, and none is a child twice."""

    infeasible: Infeasible = "redraw"
    distinct = True

    def __init__(self, space: Space, seed: int) -> None:
        self.space, self.rng = space, np.random.default_rng(seed)
        self.rows: Rows = np.empty((0, len(space.decisions)), np.int16)
        self.objectives: Objectives = np.empty((0, 0))

    def add(self, rows: Rows, objectives: Objectives) -> None:
        """Append children."""
        known = self.objectives if len(self.objectives) else np.empty((0, objectives.shape[1]))
        self.rows, self.objectives = np.concatenate([self.rows, rows]), np.concatenate([known, objectives])

    def keep(self, best: NDArray[np.int64]) -> None:
        """Only the rows at these places stay, in the order of their age."""
        places = np.sort(best)
        self.rows, self.objectives = self.rows[places], self.objectives[places]

    def state(self) -> dict[str, Any]:
        """The population by age, and the random state."""
        return {"rows": self.rows, "objectives": self.objectives, "rng": self.rng.bit_generator.state}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.rows, self.objectives = state["rows"], state["objectives"]
        self.rng.bit_generator.state = state["rng"]
