"""How good predictions are, beside how well a measurement repeats itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.hardware.measured.record import Measured

BOUNDS = (0.01, 0.05, 0.10)
"""Relative errors within which predictions are counted (HGNAS, table 4)."""
NOISE_FLOOR = "half of the rounds against the others"
"""What stands beside predictors on pages: see `noise_floor`."""


@dataclass(frozen=True)
class Judged:
    """Errors of predictions, relative to what was measured.

    Attributes:
        mape: their mean.
        within: shares of the predictions within each of `BOUNDS`.
        rank: Spearman's correlation; 0 where all predictions or all measurements are equal.
        samples: how many were predicted.
    """

    mape: float
    within: tuple[float, ...]
    rank: float
    samples: int

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def judged(predicted: NDArray[np.float64], measured: NDArray[np.float64]) -> Judged:
    """The errors of n predictions of n measurements above zero."""
    from scipy.stats import spearmanr  # takes a second, which few commands need

    errors = np.abs(predicted - measured) / measured
    within = tuple(float((errors <= bound).mean()) for bound in BOUNDS)
    differ = min(np.ptp(predicted), np.ptp(measured)) > 0
    rank = float(spearmanr(predicted, measured).statistic) if differ else 0.0
    return Judged(float(errors.mean()), within, rank, len(errors))


def noise_floor(measured: Sequence[Measured]) -> Judged | None:
    """Every other round against the rounds between them, each half as it is measured: no prediction of half the rounds
    can be better. None with one round alone."""
    halves = [(min(one.ratios[::2]), min(one.ratios[1::2])) for one in measured if len(one.ratios) > 1]
    if not halves:
        return None
    first, second = np.array(halves).T
    return judged(first, second)
