"""Choices among a finished run's leaders: the best, the cheapest that is as good within the error, and their front.

Pure functions of the entries of leaders.json, whose retrained scores are means over fresh seeds, or over data that was
held out in turn. The test split has no part in any choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fgnas import pareto

Entry = dict[str, Any]


def merit(score: float, costs: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """A score less what costs count beside it, each times its weight (HGNAS, equation 4); without weights the score."""
    return score - sum(weight * costs[name] for name, weight in weights.items())


def spread_of(entry: Entry) -> dict[str, Any]:
    """The scores that rank an entry: its mean, deviation and values over seeds, or over what was held out in turn."""
    found: dict[str, Any] = entry["folds"] if "folds" in entry else entry["retrained_val"]
    return found


def standard_error(entry: Entry) -> float:
    """The standard error of an entry's mean; 0 for a single score."""
    found = spread_of(entry)
    return float(found["std"] / np.sqrt(len(found["values"])))


def as_good(entries: Sequence[Entry]) -> list[Entry]:
    """The entries whose mean is within one standard error of that of the first, which is the best."""
    least = spread_of(entries[0])["mean"] - standard_error(entries[0])
    return [entry for entry in entries if spread_of(entry)["mean"] >= least]


def cheapest(entries: Sequence[Entry], cost: str) -> Entry:
    """The entry of the lowest cost that is as good as the first within its standard error; of equals the best."""
    return min(as_good(entries), key=lambda entry: (entry["costs"][cost], entry["rank"]))


def front(entries: Sequence[Entry], costs: Sequence[str]) -> list[Entry]:
    """The entries that no other beats in the mean that ranks them and in all the costs at once, best first."""
    objectives = [[spread_of(entry)["mean"], *(-entry["costs"][cost] for cost in costs)] for entry in entries]
    return [entry for entry, kept in zip(entries, pareto.front(objectives), strict=True) if kept]


def front_costs(config: dict[str, Any]) -> list[str]:
    """The names of the costs of a run's fronts, each once."""
    return list(dict.fromkeys(cost for costs in config["fronts"] for cost in costs))
