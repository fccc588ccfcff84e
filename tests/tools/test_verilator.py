"""The compiler flags of a simulator, by the cycles that it will run."""

import pytest

from fgnas.tools.verilator import (
    MAKE_FLAGS,
    MIDDLE_CYCLES,
    MIDDLE_MAKE_FLAGS,
    QUICK_CYCLES,
    QUICK_MAKE_FLAGS,
    flags_for,
)


@pytest.mark.parametrize(("cycles", "flags"), [
    (0, QUICK_MAKE_FLAGS), (QUICK_CYCLES, QUICK_MAKE_FLAGS), (QUICK_CYCLES + 1, MIDDLE_MAKE_FLAGS),
    (MIDDLE_CYCLES, MIDDLE_MAKE_FLAGS), (MIDDLE_CYCLES + 1, MAKE_FLAGS),
])  # fmt: skip
def test_a_longer_run_gets_a_better_build(cycles: int, flags: str) -> None:
    assert flags_for(cycles) == flags
