"""Uniform draws, none of them twice: random search over architectures, where a target solves the hardware."""

from __future__ import annotations

from fgnas.engine.contracts import Problem
from fgnas.searchers.random import RandomSearch


class DistinctSearch(RandomSearch):
    """Draws rows as random search does; the engine drops those that have been children."""

    distinct = True


def searcher(problem: Problem) -> DistinctSearch:
    """Random search without repetition on a problem."""
    return DistinctSearch(problem.space, problem.seed)
