"""Random search: uniform over offered choices, drawn in arrays."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.engine.contracts import Infeasible
from fgnas.space import Indices, Space


class RandomSearch:
    """Learns nothing: the baseline of every other searcher."""

    infeasible: Infeasible = "redraw"

    def __init__(self, space: Space, seed: int) -> None:
        self.space = space
        self.rng = np.random.default_rng(seed)

    def ask(self, count: int) -> Indices:
        """[count, decisions] uniform samples."""
        return self.space.draw(count, self.rng)

    def tell(self, samples: Indices, rewards: NDArray[np.float64]) -> None:
        """Nothing to learn."""

    def state(self) -> dict[str, Any]:
        """The random state, as text: its integers have 128 bits."""
        return {"rng": json.dumps(self.rng.bit_generator.state)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self.rng.bit_generator.state = json.loads(state["rng"])
