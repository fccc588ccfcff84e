"""Fronts, ranks and hypervolume: small cases by hand, and properties checked by brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgnas.pareto import covering, crowding, front, hypervolume, ranks

VALUES = st.sampled_from([-np.inf, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, np.inf])


@st.composite
def points(draw, values=VALUES, most=25):
    """[n, objectives] with many ties; n may be 0."""
    count = draw(st.integers(1, 4))
    rows = draw(st.lists(st.lists(values, min_size=count, max_size=count), max_size=most))
    return np.array(rows).reshape(-1, count)


def dominates(one, other) -> bool:
    return bool((one >= other).all() and (one > other).any())


@given(points())
def test_front_by_brute_force(objectives) -> None:
    expected = [
        not any(dominates(other, row) for other in objectives)
        and not any((other == row).all() for other in objectives[:place])
        for place, row in enumerate(objectives)
    ]
    assert front(objectives).tolist() == expected


@given(points())
def test_ranks_by_peeling_fronts(objectives) -> None:
    expected = np.full(len(objectives), -1)
    for rank in itertools.count():
        left = np.flatnonzero(expected < 0)
        if not len(left):
            break
        for place in left:
            if not any(dominates(objectives[other], objectives[place]) for other in left):
                expected[place] = -2
        expected[expected == -2] = rank
    assert ranks(objectives).tolist() == expected.tolist()


@given(points(st.integers(-3, 3).map(float), most=8))
def test_hypervolume_by_counting_unit_cubes(objectives) -> None:
    """Corners are integers, so the volume is the number of unit cubes below some row."""
    cubes = itertools.product(range(-1, 3), repeat=objectives.shape[1])
    count = sum(any((row >= np.array(cube) + 1).all() for row in objectives) for cube in cubes)
    assert hypervolume(objectives, [-1.0] * objectives.shape[1]) == count


def test_no_rows() -> None:
    assert front(np.zeros((0, 2))).tolist() == ranks(np.zeros((0, 2))).tolist() == []
    assert hypervolume(np.zeros((0, 2)), [0, 0]) == 0


def test_infinite_volumes() -> None:
    assert hypervolume([[np.inf, 1]], [0, 0]) == np.inf
    # The row reaches the reference in its second objective, so it encloses nothing.
    assert hypervolume([[np.inf, 0], [2, 3]], [0, 0]) == 6


def test_a_front_is_covered_from_its_knee_and_its_ends_come_last() -> None:
    #              the best    beaten   close to it  the knee  cheap    the cheapest
    objectives = [[9.0, 0.0], [8.0, 0.0], [8.9, 1.0], [8.0, 6.0], [3, 8.0], [1.0, 9.0]]
    assert covering(objectives, [0, 1], 9) == [3, 4, 2, 5]
    assert covering(objectives, [0, 3], 2) == [4, 2]
    assert covering(objectives, [], 1) == [3]
    assert covering(objectives, [], 0) == covering(np.zeros((0, 2)), [], 3) == []


@given(points(st.integers(-3, 3).map(float), most=8), st.integers(0, 4))
def test_covering_takes_what_adds_most(objectives, count) -> None:
    chosen, members = [0][: len(objectives)], np.flatnonzero(front(objectives))
    found = covering(objectives, chosen, count)
    assert len(found) == min(count, len(set(members) - set(chosen))) == len(set(found) - set(chosen))
    for place, one in enumerate(found):
        before = [*chosen, *found[:place]]
        volumes = [
            hypervolume(objectives[[*before, other]], objectives[members].min(axis=0))
            for other in (one, *(set(members) - set(before)))
        ]
        assert volumes[0] == max(volumes) and one in members


@pytest.mark.parametrize("objectives", [[1.0, 2.0], [[], []], [[0.0, np.nan]], 3.0])
def test_other_arrays_are_refused(objectives) -> None:
    for function in (front, ranks):
        with pytest.raises(ValueError, match="objectives must"):
            function(objectives)


@pytest.mark.parametrize("reference", [[0.0], [0.0, np.inf], [0.0, np.nan], [0.0, 0.0, 0.0]])
def test_other_references_are_refused(reference) -> None:
    with pytest.raises(ValueError, match="reference"):
        hypervolume([[1.0, 1.0]], reference)


def test_twenty_thousand_rows_with_three_objectives() -> None:
    """At the size of a long search, the marked rows dominate every other row and not each other."""
    objectives = np.random.default_rng(0).random((20_000, 3))
    found = objectives[front(objectives)]
    assert 50 < len(found) < 1000
    below = (objectives[:, None, :1] <= found[None, :, :1]).squeeze()
    for column in (1, 2):
        below &= objectives[:, column, None] <= found[None, :, column]
    assert below.any(axis=1).all()
    assert front(found).all()


def test_crowding_by_hand() -> None:
    """Gaps between neighbours as shares of the range: 6 / 10 in both objectives for the middle row of rank 0."""
    rows = np.array([[0, 10], [4, 4], [10, 0], [1, 1]])
    found = crowding(rows, np.array([0, 0, 0, 1]))
    assert found.tolist() == [np.inf, 2.0, np.inf, np.inf]
    assert crowding(np.empty((0, 2)), np.empty(0, np.int64)).tolist() == []
