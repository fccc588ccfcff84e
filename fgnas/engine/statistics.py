"""Pareto fronts of trials, and the difference of two searches with its confidence interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fgnas.pareto import front

FRONTS = {
    "latency": ("latency_cycles",),
    "lut": ("lut",),
    "latency and lut": ("latency_cycles", "lut"),
}
"""The costs of each front, beside accuracy."""

RESAMPLES = 10_000
CONFIDENCE = 0.95


def pareto_front(trials: Sequence[dict[str, Any]], costs: Sequence[str]) -> list[dict[str, Any]]:
    """Feasible trials that no other one beats in validation accuracy and every cost at once, most accurate first.

    Among designs that are equal in all of them, only the earliest trial is on the front.
    """
    feasible = [trial for trial in trials if trial["feasible"]]
    order = sorted(feasible, key=lambda trial: (-trial["val"], *(trial[cost] for cost in costs), trial["trial"]))
    objectives = [[trial["val"], *(-trial[cost] for cost in costs)] for trial in order]
    marked = front(np.reshape(objectives, (len(order), 1 + len(costs))))
    return [trial for trial, kept in zip(order, marked, strict=True) if kept]


def pareto_fronts(trials: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The content of pareto.json: the trials of each front by its name."""
    kept = ("trial", "design_hash", "val", "latency_cycles", "lut", "ff", "dsp", "bram36")
    return {
        name: [{key: trial[key] for key in kept} for trial in pareto_front(trials, costs)]
        for name, costs in FRONTS.items()
    }


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
