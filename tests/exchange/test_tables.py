"""The trials of a run as CSV, Parquet and DataFrame: the same values in each, those of trials.jsonl."""

import csv
import importlib.util
from pathlib import Path

import numpy as np
import pytest

import fgnas
from fgnas.api import Run
from fgnas.cli import main
from fgnas.engine.store import RunStore
from fgnas.engine.trial import Trial
from fgnas.errors import UserError
from fgnas.exchange import tables


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    """A finished run of six trials, two of them leaders."""
    options = (["gcn", "gat"], [4, 8, 16], [[1, 2], [2, 1]])
    names = ("0.attention", "0.d", "order")
    decisions = [{"name": name, "options": list(some)} for name, some in zip(names, options, strict=True)]
    store = RunStore.create(tmp_path_factory.mktemp("tables") / "runs", "short", {"space": {"decisions": decisions}})
    trials = [
        Trial(place, 2 * place + 1, (place % 2, place % 3, -1 if place % 2 else 0), {"number": place}, f"d{place}",
              f"t{place // 2}", f"s{place}", place != 3, {"val": place / 8}, {"lut": 100 * place, "ms": place + 0.5},
              place % 2 == 0, False)
        for place in range(6)
    ]  # fmt: skip
    store.commit(trials, {})
    entries = [{"rank": rank, "trial": trial, "design_hash": f"d{trial}"} for rank, trial in ((1, 5), (2, 4))]
    store.write_json("leaders.json", entries)
    store.write_json("best.json", entries[0])
    return store


def test_columns_are_the_trials(store: RunStore) -> None:
    columns, trials = tables.columns_of(store), store.trials()
    assert columns["trial"] == list(range(6))
    assert columns["val"] == [trial.scores["val"] for trial in trials]
    assert columns["lut"] == [trial.costs["lut"] for trial in trials]
    for place, decision in enumerate(store.config()["space"]["decisions"]):
        for trial, cell in zip(trials, columns[decision["name"]], strict=True):
            assert cell == (None if trial.row[place] < 0 else tables._flat(decision["options"][trial.row[place]]))
    assert columns["order"] == ["1 2", None] * 3
    assert {rank for rank in columns["leader"] if rank} == {1, 2}
    best = store.best()
    assert best is not None and columns["design_hash"][columns["leader"].index(1)] == best["design_hash"]


def test_the_frame_keeps_kinds(store: RunStore) -> None:
    pandas = pytest.importorskip("pandas")
    found = Run.find("short", store.folder.parent).frame()
    assert found.index.tolist() == list(range(6)) and str(found["lut"].dtype) == "Int64"
    assert found["feasible"].dtype == "boolean" and str(found["leader"].dtype) == "Int64"
    assert found["leader"].notna().sum() == 2
    assert pandas.api.types.is_float_dtype(found["val"])


def test_csv_and_parquet_hold_the_same(
    store: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = tables.columns_of(store)
    monkeypatch.chdir(store.folder.parents[1])
    for name in ("x.csv", "x.parquet"):
        assert main(["trials", str(store.folder), "--out", str(tmp_path / name)]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path / "x.csv"), str(tmp_path / "x.parquet")]
    assert parquet.read_table(tmp_path / "x.parquet").to_pydict() == columns
    with (tmp_path / "x.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for name, values in columns.items():
        assert [row[name] for row in rows] == ["" if value is None else str(value) for value in values], name
    assert main(["trials", str(store.folder)]) == 0
    assert capsys.readouterr().out == (tmp_path / "x.csv").read_text()


def test_an_unfinished_run_has_a_table(store: RunStore, tmp_path: Path) -> None:
    for name in ("config.json", "trials.jsonl"):
        (tmp_path / name).write_bytes((store.folder / name).read_bytes())
    assert tables.columns_of(RunStore(tmp_path))["leader"] == [None] * 6


def test_options_of_every_kind_are_one_cell() -> None:
    columns = {"a": [1, "two", None], "b": [tables._flat((1, 2)), tables._flat(0.5), None]}
    assert tables.csv_of(columns) == "a,b\n1,1 2\ntwo,0.5\n,\n"
    assert tables._one_kind(columns["a"]) == ["1", "two", None]


@pytest.mark.parametrize(("package", "name"), [("pyarrow", "x.parquet"), ("pandas", None)])
def test_a_missing_package_is_named(package: str, name: str | None, tmp_path: Path, monkeypatch) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda one, *more: None if one == package else there(one, *more))
    with pytest.raises(UserError, match=rf"{package} is missing; fix: pip install 'fgnas\[tables\]'"):
        tables.frame({"trial": [0]}) if name is None else tables.write({"trial": [0]}, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"x.xls: give a name that ends with .csv or .parquet"):
        tables.write({"trial": [0]}, tmp_path / "x.xls")


def test_loading_names_a_run_or_data(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """fgnas.load(run) is the run, by name or folder; data keeps its meaning."""
    monkeypatch.chdir(store.folder.parents[1])
    assert fgnas.load(store.folder).trials() == store.trials()
    assert np.shape(fgnas.load("digits").features) == (1797, 64)
