"""Rows by hardware: which searches the page needs, what it makes of their results, and a row's prices."""

import importlib
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def targets(monkeypatch):
    pytest.importorskip("diskcache", reason="needs diskcache: pip install 'fgnas[dev]'")
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("targets")


def result(test: float, cycles: dict, array: dict | None = None) -> dict:
    costs = {"latency_cycles": 50_000, "lut": 9_000, "bram36": 36.5}
    return {"test": [test, test], "prices": costs, "design": {"array": array}, "cycles": cycles,
            "leaders": [[[test + 0.01], costs], [[test - 0.005], costs | {"latency_cycles": 40_000}]]}  # fmt: skip


def test_every_row_is_searched_for_every_hardware(targets) -> None:
    assert sorted(targets.ORDER) == list(range(1, 14))
    found = list(targets.searches(list(targets.ORDER), list(targets.SEARCHED), 2, 300))
    assert len(found) == len({key for key, _, _ in found}) == 13 * 3 * 2
    assert {options.target for _, _, options in found} == {"solved-cycles", "array", "any"}
    assert {options.beat_bits for _, _, options in found} == {128}
    number, options = next((number, options) for _, number, options in found)
    assert (number, options.latency_ms, options.lut, options.dsp, options.trainings) == (4, 0.8, 100_000, 100, 300)


def test_costs_are_compared_where_both_run(targets) -> None:
    ours = {"latency_cycles": np.array([50.0, 80.0, 30.0, 9.0]), "lut": np.array([4.0] * 4), "bram36": np.ones(4)}
    theirs = {"latency_cycles": np.array([100.0, 40.0, 30.0, 1.0]), "lut": np.array([2.0] * 4), "bram36": np.ones(4)}
    scored = np.array([True, True, False, True])
    found = targets.compared(ours, theirs, np.array([True, True, True, False]), scored)
    assert (found["both"], found["at_most"], found["with_scores"]) == (3, 2, 1)
    assert found["shares"] == {"cycles": [0.5, 1.0, 2.0], "LUTs": [2.0] * 3, "block RAM": [1.0] * 3}
    none = targets.compared(ours, theirs, np.zeros(4, bool), scored)
    assert (none["both"], none["at_most"], none["with_scores"]) == (0, 0, 0) and set(none["shares"].values()) == {None}


def test_a_line_of_each_search(targets) -> None:
    same = {"pipeline": 60_000, "array": 50_000, "either": 50_000}
    record = {
        "options": {"trainings": 300, "seeds": 1},
        targets.search_key(4, "array", 0, 300): result(0.81, same, {"units": 8}),
        targets.search_key(4, "either", 0, 300): result(0.82, same | {"pipeline": None}, {"units": 8}),
        targets.search_key(4, "pipeline", 0, 300): result(0.80, same),
        targets.search_key(1, "array", 0, 300): {"error": "nothing fits"},
        targets.known_key(1): result(0.79, same | {"array": None}),
        targets.known_key(4): result(0.1, same),
    }
    text = targets.page(record)
    assert "| 4 | array | 1 | 81.00% | 50,000 | 50,000 | 9,000 | 36.5 | 1 | 60,000 | 50,000 | 50,000 |" in text
    assert "| 4 | either | 1 | 82.00% | 50,000 | 40,000 | 9,000 | 36.5 | 1 | – | 50,000 | 50,000 |" in text
    assert "| 1 | array | 1 (1 found nothing) | – | – | – | – | – | 0 | – | – | – |" in text
    assert "| 1 | pipeline* | 1 | 79.00% |" in text and "| 4 | pipeline | 1 | 80.00% |" in text
    assert "takes on an array this share of its cycles: 83% in row 4." in text
    assert "Not searched with all three yet: rows 1, 2, 3, 5," in text


def test_a_network_goes_to_each_hardware(targets, monkeypatch) -> None:
    """Small rows of digits: the better of both is the better of both, and a delivered network comes back as it is."""
    rows = [("digits", targets.ROWS[3][1])]
    monkeypatch.setattr(targets, "ROWS", rows)
    monkeypatch.setattr(targets, "DRAWS", 40)
    found = targets.prices_of(1)
    assert found["either_is_best"] and 0 < found["beside"]["array"]["both"] <= found["architectures"] <= 40
    assert found["fewest"]["either"] == min(found["fewest"]["pipeline"], found["fewest"]["array"])
    parts = targets.composed(1, "array")
    drawn = parts.space.draw(40, np.random.default_rng(1))
    row = drawn[np.flatnonzero(parts.feasible(drawn))[:1]]
    design = parts.space.candidate(row[0])
    assert (targets.row_of(parts, design) == row).all()
    told = targets.with_others({"design": design.to_dict()}, 1)["cycles"]
    assert told["array"] == parts.target.price(row)["latency_cycles"][0]
    assert told["either"] == min(one for one in (told["pipeline"], told["array"]) if one is not None)
    assert targets.with_others({"error": "nothing fits"}, 1) == {"error": "nothing fits"}
