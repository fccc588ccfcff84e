"""Ratios to a reference, with a clock that is made by hand."""

import time
from collections.abc import Callable

import pytest
import torch

from fgnas.hardware.measured import timing
from fgnas.hardware.measured.timing import BESIDE, NEARBY, Block, low_ns, quiet, ratios, spans


class Clock:
    """A clock that work moves; `drift` makes all work slower with every nanosecond that has passed."""

    def __init__(self, drift: float = 0.0) -> None:
        self.now, self.drift = 0.0, drift

    def read(self) -> int:
        return int(self.now)

    def work(self, spent: float) -> Callable[[], None]:
        def run() -> None:
            self.now += spent * (1 + self.drift * self.now)
        return run


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(time, "perf_counter_ns", found.read)
    return found


def test_a_block_by_hand(clock: Clock) -> None:
    """Three runs to warm up do not count; the block continues until it has enough runs and enough time."""
    spent = iter([900.0, 900.0, 900.0, *[100.0, 300.0, 200.0] * 10])
    runs = []

    def work() -> None:
        runs.append(1)
        clock.now += next(spent)

    assert low_ns(work, Block(warm=3, runs=3, milliseconds=0)) == pytest.approx(140) and len(runs) == 6
    assert low_ns(clock.work(1000), Block(warm=0, runs=2, milliseconds=0.005)) == 1000
    assert clock.now == 2700 + 600 + 5000


def test_ratios_by_hand(clock: Clock) -> None:
    found = list(ratios([lambda: clock.work(500), lambda: clock.work(4000)], clock.work(1000), Block(0, 1, 0)))
    assert [(one.ratio, one.nanoseconds, one.reference) for one in found] == [(0.5, 500, 1000), (4, 4000, 1000)]


@pytest.mark.parametrize("nearby", [BESIDE, NEARBY])
def test_a_drift_cancels(nearby: int, clock: Clock) -> None:
    """A machine that becomes slower by half over the blocks: times change, ratios by what it does within a few."""
    clock.drift = 1e-9
    found = list(ratios([lambda: clock.work(1e6)] * 300, clock.work(1e6), Block(0, 1, 0), nearby))
    assert found[-1].nanoseconds > 1.5 * found[0].nanoseconds
    # A ratio is to the first of the blocks nearby; two runs, each slower by a thousandth, lie between two blocks.
    assert max(abs(one.ratio - 1) for one in found) < 2e-3 * (nearby - 1)


def test_a_disturbance_of_the_reference_does_not_count(clock: Clock) -> None:
    """Every other block of the reference takes twice the time: the ratios are to the others."""
    spent = iter([1000, 2000] * 5)

    def reference() -> None:
        clock.now += next(spent)

    found = list(ratios([lambda: clock.work(500)] * 9, reference, Block(0, 1, 0)))
    assert [one.ratio for one in found] == [0.5] * 9


def test_the_reference_of_long_ago_does_not_count(clock: Clock) -> None:
    spent = iter([1000] + [2000] * (NEARBY + 1))

    def reference() -> None:
        clock.now += next(spent)

    found = list(ratios([lambda: clock.work(500)] * (NEARBY + 1), reference, Block(0, 1, 0), NEARBY))
    assert [one.ratio for one in found] == [0.5] * (NEARBY - 1) + [0.25] * 2


def test_one_round_is_compared_with_what_is_beside_it() -> None:
    assert timing.nearby_of(1) == BESIDE == 2 and timing.nearby_of(2) == timing.nearby_of(3) == NEARBY


def test_work_is_made_when_its_turn_comes(clock: Clock) -> None:
    made = []

    def make() -> timing.Work:
        made.append(clock.now)
        return clock.work(10)

    next(ratios([make, make], clock.work(10), Block(0, 1, 0)))
    assert made == [10]


def test_quiet_restores_the_threads() -> None:
    before = torch.get_num_threads()
    with quiet(1):
        assert torch.get_num_threads() == 1 and torch.is_inference_mode_enabled()
    assert torch.get_num_threads() == before and not torch.is_inference_mode_enabled()


def test_spans_by_hand(clock: Clock) -> None:
    """Every piece once a round; its nanoseconds are its ratio times the reference's median."""
    runs = []

    def counted(name: int, spent: float) -> timing.Work:
        work = clock.work(spent)
        return lambda: (runs.append(name), work())

    works = [counted(0, 500), counted(1, 3000), counted(2, 1000)]
    assert spans(works, clock.work(2000), Block(0, 1, 0), rounds=3) == [500, 3000, 1000]
    turns = [tuple(runs[first : first + 3]) for first in (0, 3, 6)]
    assert all(sorted(turn) == [0, 1, 2] for turn in turns) and len(set(turns)) > 1
