"""The benchmark of HGNAS: what it compares, and how it counts."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from fgnas.networks.points.operations import TAILS, Aggregate, Combine, Connect, PointNetwork, Sample

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
TAIL = TAILS["small"]


@pytest.fixture
def hgnas(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("hgnas")


def test_equal_and_other_outputs(hgnas: ModuleType) -> None:
    """An identity changes no bit; a sum over neighbours does."""
    short = (Sample("nearest"), Aggregate("max", "relative"), Combine(16))
    listed = (Connect("identity"), *short)
    assert hgnas.same_outputs(PointNetwork(listed, TAIL), PointNetwork(short, TAIL), 3)
    other = (Sample("nearest"), Aggregate("sum", "relative"), Combine(16))
    assert not hgnas.same_outputs(PointNetwork(other, TAIL), PointNetwork(short, TAIL), 3)


def test_intervals_by_hand(hgnas: ModuleType) -> None:
    """Student's 12.71 times the deviation of two values over the root of two."""
    assert hgnas.interval([0.95, 0.97]) == "96.00 ± 12.71"
    assert hgnas.interval([0.5]) == "50.00"


def test_every_part_has_jobs(hgnas: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    class Folder:
        @staticmethod
        def verdict() -> object:
            return type("Verdict", (), {"reference_ms": 0.6})

    monkeypatch.setattr(hgnas, "device", lambda name: Folder)
    for part in hgnas.PARTS:
        names = [name for name, _ in hgnas.jobs([part], 2)]
        assert names and len(set(names)) == len(names)
