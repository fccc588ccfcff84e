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


def test_sets_of_functions(hgnas: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks of a set share its functions, and ask for weights of their own; none is in two sets."""
    ranks = importlib.import_module("hgnas_ranks")
    monkeypatch.setattr(ranks, "SETS", 2)
    monkeypatch.setattr(ranks, "EACH", 5)
    sets = ranks.drawn(hgnas.compose(hgnas.Options()), (7,))
    assert [len(one) for one in sets] == [5, 5]
    assert all(len({one.supernet for one in mine}) == 1 for mine in sets)
    assert sets[0][0].functions != sets[1][0].functions
    assert len({one.training_key for mine in sets for one in mine}) == 10


def test_tau_is_that_within_sets(hgnas: ModuleType) -> None:
    """Two sets that are ranked well, of which the better one has the lower scores: tau is 1, and not less."""
    ranks = importlib.import_module("hgnas_ranks")
    first = [{"score": 0.1 * place, "alone": [0.5 + place, 0.6 + place]} for place in range(4)]
    second = [{"score": 0.9 + one["score"], "alone": [0.1 * value for value in one["alone"]]} for one in first]
    assert ranks.averaged([first, second])["tau"] == pytest.approx(1.0)
    assert ranks.averaged([first, second[::-1]])["taus"] == pytest.approx([1.0, 1.0])
