"""The benchmark of random networks of points: what it draws, and some of its builds with two networks each."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from fgnas.hardware.array import reference

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    pytest.importorskip("diskcache", reason="needs diskcache: pip install 'fgnas[dev]'")
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("array_neighbours")


@pytest.mark.parametrize("number", [2, *(pytest.param(one, marks=pytest.mark.slow) for one in (5, 11, 30))])
def test_what_is_drawn(bench, number: int) -> None:
    """One engine has all that its networks need; a seed gives the same ones again; some points coincide."""
    made, again = bench.drawn_for(7, number, 2), bench.drawn_for(7, number, 2)
    assert made.engine == again.engine and made.engine.units == bench.UNITS[number % 8] and made.refusals == ()
    for one, other in zip(made.cases, again.cases, strict=True):
        assert one.encoded.engine == made.engine and one.network == other.network
        assert all(np.array_equal(one.encoded.regions[name], region) for name, region in other.encoded.regions.items())
        first, *_ = one.clouds
        assert len(np.unique(first, axis=0)) <= len(first) - len(first) // 3
        assert bench.POINTS[0] <= one.data.points <= bench.POINTS[1] and 1 <= one.data.neighbours <= one.data.points
        assert np.array_equal(reference.run(one.encoded), one.interpreted)


@pytest.mark.slow
@pytest.mark.parametrize("number", [2, 9])
def test_networks_share_a_build(bench, number: int, tmp_path: Path) -> None:
    """All logits in C++ and RTL, and all phases; the page says so."""
    engine = bench.measured(11, number, tmp_path, networks=2)
    for network in engine["networks"]:
        wrong = ("interpreter", "rtl_mismatches", "cpp_mismatches", "failed_checks", "phase_differences", "status")
        assert [network[name] for name in wrong] == [0] * len(wrong)
    assert [one["built"] for one in engine["networks"]] == [True, False] and engine["warnings"] == 0
    page = bench.page({"shown": ["engine"], "engine": engine, "seed": 11})
    assert "| mismatches in C++; in RTL | 0; 0 |" in page and "| networks refused | 0 |" in page
