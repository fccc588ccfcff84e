"""Rows dealt to the groups of units, so that every group has nearly the same work in every phase that shares them."""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Deal:
    """N rows in m groups.

    Attributes:
        group: [N] the group of each row.
        ordinal: [N] its place within the group, from 0 to the depth.
        counts: [m] rows of each group.
    """

    group: Ints
    ordinal: Ints
    counts: Ints

    @property
    def groups(self) -> int:
        """m."""
        return len(self.counts)

    @property
    def depth(self) -> int:
        """Rows of the fullest group."""
        return int(self.counts.max(initial=0))

    @property
    def position(self) -> Ints:
        """[N] places of all rows, numbered across the groups: ordinal * m + group."""
        return self.ordinal * self.groups + self.group

    def backwards(self) -> Deal:
        """The same groups with their rows in the opposite order; places without a row come first."""
        return Deal(self.group, self.depth - 1 - self.ordinal, self.counts)

    def rows(self) -> Ints:
        """[m, depth] rows of each group in order; -1 where it has none."""
        return np.asarray(rows_of(self.group, self.ordinal, self.counts))


def deal_for_logits(loads: Ints, groups: int) -> Deal:
    """`deal` with the largest row of a group last, for results that leave row by row across the groups.

    A large row holds back the rows that come after it: they would wait for it in the queues, and leave late.
    """
    return deal(loads, groups).backwards()


def deal(loads: Ints, groups: int) -> Deal:
    """Deal rows with the [N, d] loads to groups, largest row first, each to the group whose worst load stays least.

    A load is compared by its share of that load's total. One more load counts the rows, so that groups also have nearly
    equally many. Rows of a group keep the order in which they were dealt: rows larger than the mean come first, in
    falling order.
    """
    return Deal(*dealt(np.asarray(loads, np.float64), groups))


@numba.njit(cache=True)
def rows_of(group: Ints, ordinal: Ints, counts: Ints) -> Ints:  # pragma: no cover - compiled
    """`Deal.rows`."""
    found = np.full((len(counts), counts.max()), -1, np.int64)
    for row in range(len(group)):
        found[group[row], ordinal[row]] = row
    return found


@numba.njit(cache=True)
def dealt(loads: NDArray[np.float64], groups: int) -> tuple[Ints, Ints, Ints]:  # pragma: no cover - compiled
    """The fields of `deal`."""
    nodes, kinds = loads.shape
    shares, largest = np.empty((nodes, kinds + 1)), np.zeros(nodes)
    for kind in range(kinds + 1):
        total = loads[:, kind].sum() if kind < kinds else float(nodes)
        for row in range(nodes):
            shares[row, kind] = (loads[row, kind] if kind < kinds else 1.0) / max(total, 1.0)
            largest[row] = max(largest[row], shares[row, kind])
    return _deal(shares, np.argsort(-largest, kind="mergesort"), groups)


@numba.njit(cache=True)
def _deal(shares: NDArray[np.float64], order: Ints, groups: int) -> tuple[Ints, Ints, Ints]:  # pragma: no cover
    nodes, kinds = shares.shape
    group, ordinal = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    held, counts = np.zeros((groups, kinds)), np.zeros(groups, np.int64)
    for row in order:
        best, least, least_sum = 0, np.inf, np.inf
        for g in range(groups):
            worst, total = 0.0, 0.0
            for kind in range(kinds):
                load = held[g, kind] + shares[row, kind]
                worst = max(worst, load)
                total += load
            if worst < least or (worst == least and total < least_sum):
                best, least, least_sum = g, worst, total
        group[row], ordinal[row] = best, counts[best]
        counts[best] += 1
        for kind in range(kinds):
            held[best, kind] += shares[row, kind]
    return group, ordinal, counts
