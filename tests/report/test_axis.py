"""Axes: round ticks inside, everything placed in order, and nothing beyond the ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgnas.report import axis


@pytest.mark.parametrize(("rough", "step"), [(0.7, 1), (1, 1), (1.2, 2), (0.021, 0.05), (6, 10), (3000, 5000)])
def test_steps_are_round(rough: float, step: float) -> None:
    assert axis.round_step(rough) == pytest.approx(step)


def test_linear_ends_at_ticks() -> None:
    found = axis.linear("x", 12, 93, "{:g}".format)
    assert (found.low, found.high) == (0, 100)
    assert [tick.label for tick in found.ticks] == ["0", "20", "40", "60", "80", "100"]
    assert [tick.place for tick in found.ticks] == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])


def test_logarithmic_ticks_are_one_two_five() -> None:
    found = axis.logarithmic("x", 9, 220, "{:g}".format)
    assert [tick.label for tick in found.ticks] == ["10", "20", "50", "100", "200"]
    assert found.place(20) - found.place(10) == pytest.approx(found.place(200) - found.place(100))


def test_accuracy_spreads_what_is_near_one() -> None:
    found = axis.accuracy("a", [0.1, 0.98])
    assert found.place(0.98) - found.place(0.96) > found.place(0.5) - found.place(0.48)
    assert {"30 %", "50 %", "90 %", "95 %"} <= {tick.label for tick in found.ticks}


def test_an_accuracy_of_one_has_a_place() -> None:
    found = axis.accuracy("a", [1.0, 0.9])
    assert found.place(0.9) < found.place(0.99) < found.place(1.0) <= 1


def test_a_limit_near_the_values_is_on_the_axis_and_a_far_one_is_not() -> None:
    assert axis.costs("LUT", [1000, 2000], 3000, str).high >= 3000
    assert axis.costs("LUT", [1000, 2000], 50_000, str).high < 5000


@given(st.lists(st.integers(1, 10**7), min_size=1, max_size=20), st.none() | st.integers(1, 10**7))
def test_costs_keep_their_order_and_lie_inside(values: list[int], limit: int | None) -> None:
    found = axis.costs("x", values, limit, str)
    places = [found.place(value) for value in sorted(values)]
    assert places == sorted(places)
    assert all(found.low <= value <= found.high for value in values)
    assert all(-1e-9 <= tick.place <= 1 + 1e-9 for tick in found.ticks)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_accuracies_keep_their_order(values: list[float]) -> None:
    found = axis.accuracy("a", values)
    places = [found.place(value) for value in sorted(values)]
    assert places == sorted(places) and places[0] >= 0 and places[-1] <= 1
