"""Pareto dominance over arrays of objectives, all maximised: fronts, ranks, crowding and hypervolume.

A row dominates another one if it is nowhere worse and somewhere better. Infinite values are allowed, NaN is not.
"""

from __future__ import annotations

from collections.abc import Sequence

import moocore
import numpy as np
from numpy.typing import ArrayLike, NDArray


def front(objectives: ArrayLike) -> NDArray[np.bool_]:
    """Mark the rows of [n, objectives] that no other row dominates; [n].

    Only the first of several equal rows is marked.
    """
    return np.asarray(moocore.is_nondominated(_places(objectives), maximise=True), dtype=bool)


def ranks(objectives: ArrayLike) -> NDArray[np.int64]:
    """Rank the rows of [n, objectives] by nondominated sorting; [n].

    The front has rank 0, the front of the other rows rank 1, and so on. Equal rows have equal ranks.
    """
    return np.asarray(moocore.pareto_rank(_places(objectives), maximise=True), dtype=np.int64)


def hypervolume(objectives: ArrayLike, reference: Sequence[float]) -> float:
    """Volume of the points between a finite reference and the rows of [n, objectives] that exceed it everywhere.

    Raises ValueError for a reference that is not finite or has another number of objectives.
    """
    points, corner = _checked(objectives), np.asarray(reference, dtype=np.float64)
    if corner.shape != points.shape[1:] or not np.isfinite(corner).all():
        raise ValueError(f"the reference of {points.shape[1]} objectives must be as many finite numbers: {reference}")
    # Rows that reach the reference in some objective enclose no volume, whatever their other objectives are.
    inside = points[(points > corner).all(axis=1)]
    if np.isinf(inside).any():
        return float(np.inf)
    return float(moocore.hypervolume(inside, ref=corner, maximise=True)) if len(inside) else 0.0


def covering(objectives: ArrayLike, chosen: Sequence[int], count: int) -> list[int]:
    """Choose `count` rows of the front of [n, finite objectives], or as many as there are, beside those chosen before.

    Each is the row that adds most hypervolume to those before it; of equal ones the first. The reference is the front's
    worst value of each objective, so that an end of the front, good in one objective alone, adds nothing.
    """
    points, members = _checked(objectives), np.flatnonzero(front(objectives)).tolist()
    nadir = points[members].min(axis=0, initial=np.inf)
    left = [place for place in members if place not in chosen]
    found: list[int] = []
    while left and len(found) < count:
        before = [*chosen, *found]
        found.append(max(left, key=lambda place: hypervolume(points[[*before, place]], nadir)))
        left.remove(found[-1])
    return found


def crowding(objectives: ArrayLike, of_rank: NDArray[np.int64]) -> NDArray[np.float64]:
    """Crowding distance of the rows of [n, objectives] among those of equal rank; [n].

    The sum over the objectives of the gap between both neighbours, as a share of the rank's range; infinite at the
    ends (Deb et al. 2002, NSGA-II).
    """
    points = _checked(objectives)
    distance = np.zeros(len(points))
    if not len(points):
        return distance
    for column in points.T:
        order = np.lexsort((column, of_rank))
        values, group = column[order], of_rank[order]
        starts = np.flatnonzero(np.diff(group, prepend=group[:1] - 1))
        ends = np.append(starts[1:], len(group)) - 1
        span = np.repeat(values[ends] - values[starts], ends - starts + 1)
        gap = np.zeros(len(values))
        gap[1:-1] = values[2:] - values[:-2]
        share = np.divide(gap, span, out=np.zeros_like(gap), where=span > 0)
        share[starts] = share[ends] = np.inf
        distance[order] += share
    return distance


def _places(objectives: ArrayLike) -> NDArray[np.float64]:
    """[n, objectives] with each value replaced by its place among the distinct values of its column.

    Dominance depends on order alone, so the result is the same. The library needs finite values: infinities are its
    sentinels, and three objectives with infinite values crash it.
    """
    columns = [np.unique(column, return_inverse=True)[1] for column in _checked(objectives).T]
    return np.stack(columns, axis=1).astype(np.float64)


def _checked(objectives: ArrayLike) -> NDArray[np.float64]:
    """An array [n, objectives] of numbers. Raises ValueError for any other shape, and for NaN."""
    points = np.asarray(objectives, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] == 0:
        raise ValueError(f"objectives must be an array [n, objectives], not {list(points.shape)}")
    if np.isnan(points).any():
        raise ValueError("objectives must not be NaN")
    return points
