"""The combined report of the checks of several calls."""

from fgnas.tools.calls import together

FIRST = {
    "nodes": 5, "logits": 40, "mismatches": 2, "first_mismatch": {"node": 3}, "cycles": 100, "predicted_cycles": 103,
    "cycle_difference": -3, "beats_read": 7, "status": 0, "phase_cycles": [3, 9], "seconds": 0.25,
}  # fmt: skip
LAST = {
    "nodes": 5, "logits": 15, "mismatches": 0, "cycles": 60, "predicted_cycles": 58, "cycle_difference": 2,
    "beats_read": 4, "status": 8, "phase_cycles": [2, 6], "seconds": 0.5,
}  # fmt: skip


def test_differences_do_not_cancel_out() -> None:
    """Cycles too few in a call and too many in another are five wrong ones; logits count where a call has them."""
    calls = [{}, {"logits": {"rows": [0, 5], "column": 0}}]
    assert together(calls, [FIRST, LAST]) == {
        "calls": 2, "results": 55, "nodes": 5, "logits": 15, "mismatches": 2, "first_mismatch": {"node": 3},
        "cycles": 160, "predicted_cycles": 161, "cycle_difference": 5, "beats_read": 11, "status": 8, "seconds": 0.75,
    }  # fmt: skip


def test_calls_without_a_fault() -> None:
    """g++ counts other things than the simulator, and says None where nothing differs."""
    right = {"nodes": 2, "logits": 6, "mismatches": 0, "failed_checks": 0, "first_mismatch": None, "seconds": 0.1}
    calls = [{}, *({"logits": {"rows": [first, first + 2], "column": 0}} for first in (0, 2))]
    said = {"calls": 3, "results": 18, "nodes": 4, "logits": 12, "seconds": 0.3}
    assert together(calls, [right] * 3) == right | said
