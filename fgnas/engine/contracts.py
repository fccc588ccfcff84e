"""The three contracts of a search: a space, a searcher, an evaluator."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from fgnas.design import Design
from fgnas.engine.evaluator import Score
from fgnas.hardware.pipeline.pricing import Prices
from fgnas.space import Columns, Indices

Infeasible = Literal["redraw", "zero", "accept"]
"""What becomes of a sample that breaks a constraint: it is thrown away and the searcher asked again; the searcher is
told a reward of 0 for it; or it is evaluated like any other."""


class Space(Protocol):
    """Says what may be chosen."""

    def draw(self, count: int, rng: np.random.Generator) -> Indices:
        """[count, decisions] samples, uniform per offered choice."""

    def columns(self, indices: Indices) -> Columns:
        """Samples as arrays of values, for pricing."""

    def design(self, row: NDArray[np.int8], dsp: int) -> Design:
        """One sample as a design."""


class Searcher(Protocol):
    """Is asked for samples and told their rewards."""

    @property
    def infeasible(self) -> Infeasible:
        """What it wants done with samples that break a constraint; it may change from batch to batch."""

    def ask(self, count: int) -> Indices:
        """[count, decisions] samples."""

    def tell(self, samples: Indices, rewards: NDArray[np.float64]) -> None:
        """The rewards [m], 0 to 1, of m samples, in the order they were asked for."""

    def state(self) -> dict[str, Any]:
        """Everything that decides what comes next: tensors and plain values."""

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""


class Evaluator(Protocol):
    """Prices a sample: cheap constraints first, the expensive objective only where they hold."""

    def check(self, samples: Indices) -> tuple[Prices, NDArray[np.bool_]]:
        """What n samples cost, and whether each keeps every constraint."""

    def evaluate(self, designs: list[Design]) -> list[Score]:
        """The objective of designs that keep every constraint, in order."""
