"""Fronts against cases by hand and against a comparison of all pairs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgnas.engine.front import front, fronts
from fgnas.engine.trial import Trial


def trial(number: int, val: float, latency: int, lut: int, feasible: bool = True) -> Trial:
    costs = {"latency_cycles": latency, "lut": lut}
    return Trial(number, number + 1, (), {}, str(number), "", "", feasible, {"val": val}, costs, True, False)


TRIALS = [
    trial(0, 0.8, 90, 40),
    trial(1, 0.7, 50, 60),
    trial(2, 0.7, 50, 60),  # equal to the one before
    trial(3, 0.6, 70, 30),  # slower and worse than 1, but smaller
    trial(4, 0.9, 10, 10, feasible=False),
    trial(5, 0.5, 95, 50),
]


@pytest.mark.parametrize(
    "costs, expected",
    [(["latency_cycles"], [0, 1]), (["lut"], [0, 3]), (["latency_cycles", "lut"], [0, 1, 3])],
)
def test_front_by_hand(costs, expected) -> None:
    assert [found.trial for found in front(TRIALS, "val", costs)] == expected


def test_no_trials_have_no_front() -> None:
    assert front([], "val", ["lut"]) == [] == front(TRIALS[4:5], "val", ["lut"])


def test_fronts_are_named_by_their_costs() -> None:
    found = fronts(TRIALS, "val", [["lut"], ["latency_cycles", "lut"]])
    assert list(found) == ["lut", "latency_cycles and lut"]
    assert found["lut"][0] == {
        "trial": 0, "design_hash": "0", "scores": {"val": 0.8}, "costs": {"latency_cycles": 90, "lut": 40},
    }  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4), st.booleans()), max_size=30))
def test_fronts_are_those_of_comparing_all_pairs(rows) -> None:
    """A trial is left out if an earlier one of the ranking is at least as good; order and ties are checked too."""
    trials = [trial(number, *row) for number, row in enumerate(rows)]
    for costs in (["latency_cycles"], ["lut", "latency_cycles"]):
        feasible = [found for found in trials if found.feasible]
        expected: list[Trial] = []
        for found in sorted(feasible, key=lambda t: (-t.scores["val"], *(t.costs[cost] for cost in costs), t.trial)):
            if not any(all(better.costs[cost] <= found.costs[cost] for cost in costs) for better in expected):
                expected.append(found)
        assert front(trials, "val", costs) == expected
