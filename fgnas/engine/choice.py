"""Choices among a finished run's leaders: the best, the cheapest that is as good within the error, and their front.

Pure functions of the entries of leaders.json, whose retrained scores are means over fresh seeds. The test split has no
part in any choice.
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


def standard_error(entry: Entry) -> float:
    """The standard error of an entry's mean over its seeds; 0 for a single seed."""
    seeds = len(entry["retrained_val"]["values"])
    return float(entry["retrained_val"]["std"] / np.sqrt(seeds))


def as_good(entries: Sequence[Entry]) -> list[Entry]:
    """The entries whose mean is within one standard error of that of the first, which is the best."""
    least = entries[0]["retrained_val"]["mean"] - standard_error(entries[0])
    return [entry for entry in entries if entry["retrained_val"]["mean"] >= least]


def cheapest(entries: Sequence[Entry], cost: str) -> Entry:
    """The entry of the lowest cost that is as good as the first within its standard error; of equals the best."""
    return min(as_good(entries), key=lambda entry: (entry["costs"][cost], entry["rank"]))


def front(entries: Sequence[Entry], costs: Sequence[str]) -> list[Entry]:
    """The entries that no other beats in retrained mean and in all the costs at once, best first."""
    objectives = [[entry["retrained_val"]["mean"], *(-entry["costs"][cost] for cost in costs)] for entry in entries]
    return [entry for entry, kept in zip(entries, pareto.front(objectives), strict=True) if kept]


def front_costs(config: dict[str, Any]) -> list[str]:
    """The names of the costs of a run's fronts, each once."""
    return list(dict.fromkeys(cost for costs in config["fronts"] for cost in costs))
