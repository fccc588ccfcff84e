"""Smaller hardware for trained networks: narrower formats, and the lanes or the array that cost least."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fgnas.design import Design
from fgnas.engine.contracts import Outcome
from fgnas.engine.jobs import Workers
from fgnas.systems.fgnas.solved import Narrows
from fgnas.systems.fgnas.trainer import DesignTrainer


class Narrowed:
    """An architecture's designs in narrower formats, scored with the float networks of its retrainings."""

    def __init__(self, hardware: Narrows, trainer: DesignTrainer) -> None:
        self.hardware, self.trainer, self.saved = hardware, trainer, hardware.saved

    def variants(self, row: NDArray[np.int16]) -> list[tuple[Design, dict[str, int | float]]]:
        """The designs of an architecture's hardware within the limits, with their costs."""
        return self.hardware.variants(row)

    def score(self, jobs: Sequence[tuple[Sequence[Design], int, Outcome]], workers: Workers) -> list[list[float]]:
        """Quantised validation accuracies of designs with one network, by job."""
        return self.trainer.rescore(jobs, workers)
