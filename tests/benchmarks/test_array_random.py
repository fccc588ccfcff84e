"""The benchmark of arrays at random sizes: what it draws, and two of its builds with three networks each."""

import importlib
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def arrays(monkeypatch):
    pytest.importorskip("diskcache", reason="needs diskcache: pip install 'fgnas[dev]'")
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("array_random")


@pytest.mark.parametrize("number", [2, 4])
def test_what_is_drawn(arrays, number: int) -> None:
    """One engine takes all networks as they were arranged; a seed gives the same ones again."""
    engine, cases = arrays.cases_of(number)
    assert {case.array.engine for case in cases} == {engine}
    assert engine.units == arrays.UNITS[number] and engine.bits in arrays.BITS
    of_name = {case.data.name: case.data for case in cases}
    assert list(of_name) == ["sparse", "dense", "hub", "few rows", "one node"]
    assert of_name["few rows"].nodes < engine.units and of_name["one node"].nodes == 1
    assert of_name["hub"].degrees.max() > arrays.HUB
    assert (of_name["sparse"].non_zeros == 0).any() and of_name["sparse"].degrees.min() == 1
    again = arrays.cases_of(number)[1]
    for one, other in zip(cases, again, strict=True):
        assert one.array.source.design == other.array.source.design and one.array.engine == other.array.engine
        assert one.data.fingerprint == other.data.fingerprint
        assert all(np.array_equal(a.weight, b.weight)
                   for a, b in zip(one.network.layers, other.network.layers, strict=True))  # fmt: skip


@pytest.mark.parametrize("number", [1, 5])
def test_networks_share_a_build(arrays, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one and of two units: all logits in RTL and C++, all phases; and a logit that is wrong is found in both."""
    found = arrays.measured(number, tmp_path, networks=3)["networks"]
    assert [one["graph"] for one in found] == ["sparse", "dense", "hub"]
    assert [one["built"] for one in found] == [True, False, False]
    right = {"rtl_mismatches": 0, "protocol_errors": 0, "cycle_difference": 0, "phase_differences": 0,
             "cpp_mismatches": 0, "failed_checks": 0}  # fmt: skip
    for one in found:
        assert {name: one[name] for name in right} == right
        assert one["logits"] >= 2 * one["nodes"] and one["different_logits"] > 10

    case = arrays.cases_of(number, 3)[1][1]
    run = arrays.reference.run_region

    def wrong(encoded) -> np.ndarray:
        region = run(encoded)
        region[0, 0] ^= 1
        return region

    monkeypatch.setattr(arrays.reference, "run_region", wrong)
    changed = arrays.ran(case, tmp_path, tmp_path / "wrong")
    assert (changed["rtl_mismatches"], changed["cpp_mismatches"], changed["built"]) == (1, 1, False)
