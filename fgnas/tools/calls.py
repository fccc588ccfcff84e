"""Checks of a project whose network is several calls: they run in turn, and one report combines their results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fgnas.backends.project import CALL_LIST, CALLS
from fgnas.errors import UserError

ADDED = (
    "mismatches", "failed_checks", "protocol_errors", "cycles", "predicted_cycles", "beats_read", "phase_differences",
    "seconds", "build_seconds", "run_seconds",
)  # fmt: skip
"""Fields of a check's report that add up over calls."""
FIRST = ("first_mismatch", "status")
"""Fields that describe the first wrong call."""
OF_A_CALL = ("phase_cycles", "cycles_per_second", "beat_cycles")
"""Fields that mean nothing of several."""


def calls_of(directory: Path) -> list[dict[str, Any]]:
    """The calls of a project, in order: name, folder and predicted cycles; none where its network is one."""
    place = directory / CALL_LIST
    if not place.is_file():
        if (directory / CALLS).is_dir():
            raise UserError(f"{place} is missing: write the project again with `fgnas hls` or `fgnas encode`")
        return []
    try:
        calls = [{**one, "folder": directory / one["folder"]} for one in json.loads(place.read_text())["calls"]]
        if not any("logits" in one for one in calls):
            raise KeyError("logits")
        return calls
    except (ValueError, KeyError, TypeError):
        raise UserError(f"{place} is damaged: write the project again with `fgnas hls`") from None


def together(calls: Sequence[dict[str, Any]], reports: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The report of calls from those of each: counts and cycles of all, `logits` of those whose results are the
    network's, its `nodes`, and `results`, the compared results of all of them."""
    last = {name: value for name, value in reports[-1].items() if name not in OF_A_CALL}
    found = {name: round(sum(one[name] for one in reports), 3) for name in ADDED if name in last}
    if "cycle_difference" in last:
        found["cycle_difference"] = sum(abs(one["cycle_difference"]) for one in reports)
    logits = [(call["logits"]["rows"], one["logits"]) for call, one in zip(calls, reports, strict=True)
              if "logits" in call]  # fmt: skip
    found |= {"nodes": max(rows[1] for rows, _ in logits), "logits": sum(count for _, count in logits)}
    for name in FIRST:
        wrong = [one[name] for one in reports if one.get(name)]
        found |= {name: wrong[0]} if wrong else {}
    return {"calls": len(reports), "results": sum(one["logits"] for one in reports), **last, **found}
