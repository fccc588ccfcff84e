"""The difference between two searches with its confidence interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

RESAMPLES = 10_000
CONFIDENCE = 0.95


def difference(ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]]) -> dict[str, float]:
    """Difference of means with its bootstrap interval.

    Each argument holds, for every search seed, the values of its retrainings. Seeds are drawn with replacement, and
    then values within each seed, because retrainings of one winner are not independent searches.
    """
    rng = np.random.default_rng(0)
    gaps = _resampled_means(ours, rng) - _resampled_means(theirs, rng)
    low, high = np.quantile(gaps, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    gap = np.mean([np.mean(values) for values in ours]) - np.mean([np.mean(values) for values in theirs])
    return {"difference": float(gap), "low": float(low), "high": float(high), "confidence": CONFIDENCE}


def _resampled_means(groups: Sequence[Sequence[float]], rng: np.random.Generator) -> np.ndarray:
    """[RESAMPLES] means over resampled groups of means over resampled values."""
    means = np.stack([rng.choice(np.asarray(g), (RESAMPLES, len(groups), len(g))).mean(axis=2) for g in groups])
    chosen = rng.integers(0, len(groups), (RESAMPLES, len(groups)))
    return means[chosen, np.arange(RESAMPLES)[:, None], np.arange(len(groups))].mean(axis=1)
