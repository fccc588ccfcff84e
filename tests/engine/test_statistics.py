"""Fronts that can be drawn by hand, and intervals that must hold what they are made of."""

import pytest

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
