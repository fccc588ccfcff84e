"""Confidence intervals contain the true difference."""

import pytest

from fgnas.engine.statistics import difference


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
