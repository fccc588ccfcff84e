"""The compiler flags of a simulator, by the cycles that it will run."""

import pytest

from fgnas.tools.verilator import (
    MIDDLE,
    MIDDLE_CYCLES,
    QUICK,
    QUICK_CYCLES,
    THOROUGH,
    Effort,
    effort_for,
)


@pytest.mark.parametrize(("cycles", "effort"), [
    (0, QUICK), (QUICK_CYCLES, QUICK), (QUICK_CYCLES + 1, MIDDLE),
    (MIDDLE_CYCLES, MIDDLE), (MIDDLE_CYCLES + 1, THOROUGH),
])  # fmt: skip
def test_a_longer_run_gets_a_better_build(cycles: int, effort: Effort) -> None:
    assert effort_for(cycles) == effort
