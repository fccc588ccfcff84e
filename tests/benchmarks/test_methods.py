"""Ways to search: which searches the tables need, and what the page makes of their results."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from fgnas.tasks.nodes import load

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def methods(monkeypatch):
    pytest.importorskip("diskcache", reason="needs diskcache: pip install 'fgnas[dev]'")
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("methods")


def result(test: float, cycles: int = 80_000) -> dict:
    costs = {"latency_cycles": cycles, "lut": 8_000, "ff": 8_000, "dsp": 40}
    return {
        "test": [test, test], "prices": costs, "delivered_test": test,
        "cheapest": {"saved": "lut", "prices": costs | {"lut": 6_000}, "val": test - 0.01, "test": test - 0.002},
        "leaders": [[[test], costs]], "trainings": 300, "children": 310,
    }  # fmt: skip


def test_rows_of_ten_seeds_have_every_method_and_the_others_two(methods) -> None:
    asked = list(methods.rows(None, range(1, 14)))
    assert len(asked) == len({one.key for one in asked})
    of_row = {number: [one for one in asked if one.number == number] for number in range(1, 14)}
    assert all(len(of_row[number]) == 10 * len(methods.METHODS) for number in (1, 6, 12, 13))
    assert all(len(of_row[number]) == 3 * 2 for number in (2, 3, 4, 5, 7, 8, 9, 10, 11))
    assert {one.method for one in methods.rows(["reinforce"], [12])} == {"reinforce"}


def test_a_search_is_bounded_by_trainings_or_by_children(methods) -> None:
    bounded = methods.Wanted(12, methods.DEFAULT, 4, 100).options()
    assert (bounded.trainings, bounded.seed, bounded.method, bounded.latency_ms) == (100, 4, "evolution", 1.0)
    whole = methods.Wanted(12, methods.BASELINE, 0, None).options()
    assert (whole.trainings, whole.children, whole.target) == (None, 1_000, "pipeline")


def test_a_tie_and_a_win_on_the_page(methods) -> None:
    record = {}
    for seed in range(10):
        record[methods.Wanted(12, methods.BASELINE, seed).key] = result(0.80)
        record[methods.Wanted(12, methods.ARCHITECTURES, seed).key] = result(0.80, 60_000)
        record[methods.Wanted(12, methods.DEFAULT, seed).key] = result(0.82, 60_000)
    lines = {line["method"]: line for line in methods.compared(12, record)}
    assert lines["random architectures"]["gap"]["difference"] == pytest.approx(0.0)
    assert lines["evolution"]["gap"]["low"] == pytest.approx(0.02)
    (saved,) = methods.cheapest(record)
    assert saved["shares"] == pytest.approx([0.75, 1.0, 1.0, 1.0]) and saved["val"] == pytest.approx(-0.01)
    assert saved["test"]["difference"] == pytest.approx(-0.002) and saved["searches"] == 10
    # Accuracy above one half times the cycles below 100,000, each as a share.
    assert lines["evolution"]["volume"] == pytest.approx(0.32 * 0.4)
    assert lines["evolution"]["volume_gaps"]["random architectures"]["difference"] == pytest.approx(0.02 * 0.4)
    assert methods.together(record) == [], "the other rows are missing"
    for number in (1, 6, 13):
        for seed in range(10):
            for method in (methods.BASELINE, methods.ARCHITECTURES, methods.DEFAULT):
                found = result(0.8 if method == methods.DEFAULT else 0.8 - seed / 100)
                record[methods.Wanted(number, method, seed).key] = found
    gains = methods.together(record)[0]["gap"]
    assert gains["difference"] == pytest.approx((0.02 + 3 * 0.045) / 4) and gains["low"] > 0.02
    text = methods.page(record)
    assert "| 12 | cora, 1.0 ms, 100,000 LUT and FF, 100 DSP | 71.5% | 82.00% ± 0.00% (10) |" in text
    assert "| 12 | 10 | 75% | 100% | 100% | 100% | 75% | -1.00% | -0.20%" in text


def test_equal_time_is_counted_in_trainings(methods) -> None:
    seconds = {methods.BASELINE: 20.0, methods.ARCHITECTURES: 35.0, methods.DEFAULT: 40.0}
    record = {methods.timed_key(name): {"seconds": found, "trainings": 300} for name, found in seconds.items()}
    assert methods.trainings_of_equal_time(record) == {
        methods.BASELINE: 600, methods.ARCHITECTURES: 350, methods.DEFAULT: 300,
    }  # fmt: skip
    assert {one.trainings for one in methods.equal_time(record, [12])} == {600}


def test_a_split_is_read_back_as_the_same_graph(methods, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(methods, "FILES", tmp_path)
    monkeypatch.setattr(methods, "load", lambda name: digits)
    digits = load("digits")
    found, wanted = load(str(methods.split_file("digits", 1))), methods.split(digits, 1)
    assert (found.features != wanted.features).nnz == 0
    for name in ("indptr", "sources", "labels", "train", "val", "test"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    assert not (found.test & digits.test).any()
