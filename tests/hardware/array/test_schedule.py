"""Dealing and packing: every row once and in order, balanced groups, and no group too far ahead."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgnas.hardware.array.cycles import Stream, compute_cycles
from fgnas.hardware.array.dealing import Deal, deal, deal_for_logits
from fgnas.hardware.array.packing import IDLE, Schedule, pack
from fgnas.hardware.array.programme import Target

ROWS = st.lists(st.integers(0, 9), min_size=1, max_size=40)


def rebuilt(schedule: Schedule, group: int) -> list[tuple[int, int]]:
    """(row by its place, chunks) that a group ends, in order; parts must follow each other."""
    ended: list[tuple[int, int]] = []
    expected = 0
    for ordinal, chunk, last in zip(
        schedule.ordinal[:, group], schedule.chunk[:, group], schedule.last[:, group], strict=True
    ):
        if ordinal == IDLE:
            assert not last
            continue
        assert (ordinal, chunk) == (len(ended), expected)
        expected += 1
        if last:
            ended.append((int(ordinal), expected))
            expected = 0
    assert expected == 0, "the last row ends"
    return ended


@given(lengths=ROWS, groups=st.sampled_from([1, 2, 4, 8]), k=st.sampled_from([1, 2, 4]))
def test_every_row_is_taken_once(lengths: list[int], groups: int, k: int) -> None:
    loads = np.array(lengths)
    dealt = deal(loads[:, None], groups)
    schedule = pack(loads, dealt, k)
    for group in range(groups):
        rows = dealt.rows()[group][: dealt.counts[group]]
        assert rebuilt(schedule, group) == [(at, max(1, -(-lengths[row] // k))) for at, row in enumerate(rows)]
    assert sorted(dealt.position.tolist()) == sorted(set(dealt.position.tolist())), "no place is given twice"


@pytest.mark.parametrize("dealing", [deal, deal_for_logits])
@given(lengths=ROWS, groups=st.sampled_from([1, 2, 4, 8]), ordered=st.sampled_from([1, 3, 15]))
def test_no_group_runs_ahead(dealing: Callable[..., Deal], lengths: list[int], groups: int, ordered: int) -> None:
    """Results that leave in order: as many rows for every group, and never more than `ordered` beyond the slowest."""
    loads = np.array(lengths)
    dealt = dealing(loads[:, None], groups)
    schedule = pack(loads, dealt, 1, ordered)
    ended = np.cumsum(schedule.last, axis=0)
    assert (ended[-1] == dealt.depth).all()
    assert (ended.max(axis=1) - ended.min(axis=1)).max() <= ordered
    for group in range(groups):
        assert len(rebuilt(schedule, group)) == dealt.depth


@given(lengths=ROWS, groups=st.sampled_from([1, 2, 4, 8]))
def test_logits_end_with_the_largest_rows(lengths: list[int], groups: int) -> None:
    loads = np.array(lengths)
    forwards, dealt = deal(loads[:, None], groups), deal_for_logits(loads[:, None], groups)
    assert (dealt.group.tolist(), dealt.depth) == (forwards.group.tolist(), forwards.depth)
    for before, rows in zip(forwards.rows(), dealt.rows(), strict=True):
        assert rows.tolist() == before[::-1].tolist()
        there = np.maximum(loads[rows[rows >= 0]], loads.mean())  # smaller ones weigh as much as a row counts
        assert (np.diff(there) >= 0).all() and (rows[len(rows) - len(there) :] >= 0).all()


def test_a_hub_at_the_end_holds_back_no_row() -> None:
    """A row of 40 among rows of one to four: as the first it delays all logits, as the last only its own."""
    loads = np.array([40, *np.tile([1, 2, 3, 4], 40)])
    ends = []
    for dealing in (deal, deal_for_logits):
        schedule = pack(loads, dealing(loads[:, None], 4), 1, 15)
        ends.append(compute_cycles(Stream(Target.LOGITS, 1, 16, 1, 1, 1), schedule.last.astype(bool)))
    assert ends[1] + 30 < ends[0]


def test_a_hub_makes_the_others_wait() -> None:
    """One row of 40 entries against rows of one: with three rows of lead, the other group idles until it ends."""
    dealt = Deal(np.array([0, *[1] * 10]), np.array([0, *range(10)]), np.array([1, 10]))
    schedule = pack(np.array([40, *[1] * 10]), dealt, 1, ordered=3)
    assert np.flatnonzero(schedule.last[:, 1])[:4].tolist() == [0, 1, 2, 40]
    assert schedule.slot_rows == 49, "then both end a row a slot; nine empty rows follow the hub"


@pytest.mark.parametrize("groups", [2, 4, 8, 16])
def test_groups_are_balanced(groups: int) -> None:
    """Rows as skewed as a citation graph's: both loads and the number of rows within two per cent of the mean."""
    rng = np.random.default_rng(groups)
    loads = np.stack([rng.integers(1, 40, 3000), np.minimum(1 + rng.zipf(2.2, 3000), 100)], axis=1)
    dealt = deal(loads, groups)
    for load in (*loads.T, np.ones(3000)):
        held = np.bincount(dealt.group, weights=load, minlength=groups)
        assert held.max() <= 1.02 * held.mean()


def test_no_row_and_fewer_rows_than_groups() -> None:
    assert pack(np.zeros(0, np.int64), deal(np.zeros((0, 1), np.int64), 4), 1).slot_rows == 0
    few = deal(np.array([[5], [3]]), 8)
    assert (few.depth, few.counts.sum()) == (1, 2)
    assert pack(np.array([5, 3]), few, 1, ordered=7).last.sum() == 8
