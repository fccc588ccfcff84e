"""Fronts drawn by hand, and intervals that contain the difference they were made from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgnas.engine.statistics import difference, pareto_front, pareto_fronts


def trial(number, val, latency, lut, feasible=True):
    prices = {"latency_cycles": latency, "lut": lut, "ff": 1, "dsp": 1, "bram36": 1}
    return {"trial": number, "design_hash": str(number), "val": val, "feasible": feasible, **prices}


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
def test_front_by_hand(costs, expected):
    assert [found["trial"] for found in pareto_front(TRIALS, costs)] == expected


def test_all_fronts_have_names_and_prices():
    fronts = pareto_fronts(TRIALS)
    assert set(fronts) == {"latency", "lut", "latency and lut"}
    assert fronts["lut"][0]["lut"] == 40 and fronts["lut"][0]["val"] == 0.8


def test_a_clear_difference_excludes_zero_and_no_difference_does_not():
    low, high = [[0.70, 0.72], [0.71, 0.73]], [[0.80, 0.82], [0.81, 0.83]]
    clear = difference(high, low)
    assert clear["difference"] == pytest.approx(0.1)
    assert 0 < clear["low"] < 0.1 < clear["high"]
    same = difference(low, low)
    assert same["low"] < 0 < same["high"] and same["difference"] == 0


def test_equal_values_leave_nothing_to_chance():
    found = difference([[0.5] * 3] * 2, [[0.25] * 2])
    assert found["low"] == found["high"] == found["difference"] == 0.25


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4), st.booleans()), max_size=30))
def test_fronts_are_those_of_comparing_all_pairs(rows):
    """Order and ties included: a trial is left out if an earlier one of the ranking is at least as good."""
    trials = [trial(number, *row) for number, row in enumerate(rows)]
    for costs in (["latency_cycles"], ["lut", "latency_cycles"]):
        feasible = [found for found in trials if found["feasible"]]
        expected = []
        for found in sorted(feasible, key=lambda t: (-t["val"], *(t[cost] for cost in costs), t["trial"])):
            if not any(all(better[cost] <= found[cost] for cost in costs) for better in expected):
                expected.append(found)
        assert pareto_front(trials, costs) == expected
