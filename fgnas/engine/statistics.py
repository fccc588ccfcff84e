"""What trials and repeated runs say: the Pareto front, and how far chance alone reaches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

FRONTS = {
    "latency": ("latency_cycles",),
    "lut": ("lut",),
    "latency and lut": ("latency_cycles", "lut"),
}
"""What accuracy is held against."""

RESAMPLES = 10_000
CONFIDENCE = 0.95


def pareto_front(trials: Sequence[dict[str, Any]], costs: Sequence[str]) -> list[dict[str, Any]]:
    """Feasible trials that none beats in validation accuracy and every cost at once, most accurate first.

    Of designs that are equal in all of them, the earliest trial stands for the others.
    """
    feasible = [trial for trial in trials if trial["feasible"]]
    order = sorted(feasible, key=lambda trial: (-trial["val"], *(trial[cost] for cost in costs), trial["trial"]))
    front: list[dict[str, Any]] = []
    for trial in order:
        if not any(all(better[cost] <= trial[cost] for cost in costs) for better in front):
            front.append(trial)
    return front


def pareto_fronts(trials: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The content of pareto.json: by what accuracy is held against, the trials of the front."""
    kept = ("trial", "design_hash", "val", "latency_cycles", "lut", "ff", "dsp", "bram36")
    return {
        name: [{key: trial[key] for key in kept} for trial in pareto_front(trials, costs)]
        for name, costs in FRONTS.items()
    }


def difference(ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]]) -> dict[str, float]:
    """Difference of means with its bootstrap interval.

    Each argument holds, for every search seed, the values of its retrainings. Seeds are drawn with replacement, and
    values within each: retrainings of one winner are no independent searches.
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
