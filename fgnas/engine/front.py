"""The Pareto fronts of a run: trials that no other trial dominates in the first score and the named costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fgnas import pareto
from fgnas.engine.trial import Trial


def front(trials: Sequence[Trial], ranking: str, costs: Sequence[str]) -> list[Trial]:
    """Feasible trials that no other dominates in the score and the costs, best score first.

    Among candidates that are equal in all of them, the earliest trial represents the others.
    """
    order = sorted(
        (trial for trial in trials if trial.feasible),
        key=lambda trial: (-trial.scores[ranking], *(trial.costs[cost] for cost in costs), trial.trial),
    )
    if not order:
        return []
    objectives = [[trial.scores[ranking], *(-trial.costs[cost] for cost in costs)] for trial in order]
    return [trial for trial, kept in zip(order, pareto.front(objectives), strict=True) if kept]


def fronts(
    trials: Sequence[Trial], ranking: str, costs: Sequence[Sequence[str]]
) -> dict[str, list[dict[str, Any]]]:
    """The content of pareto.json: the trials of each front, by the names of its costs."""
    return {
        " and ".join(names): [
            {"trial": trial.trial, "design_hash": trial.design_hash, "scores": trial.scores, "costs": trial.costs}
            for trial in front(trials, ranking, names)
        ]
        for names in costs
    }
