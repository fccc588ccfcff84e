"""Searches in MLflow and TensorBoard: the values are those of the trials, also of a search that is continued."""

import importlib.util
import json
from pathlib import Path

import pytest

import fgnas
from fgnas import systems
from fgnas.cli import main
from fgnas.errors import UserError
from fgnas.exchange import tracking

OPTIONS = {"system": "shelves", "method": "evolution", "leaders": 2, "retrain_seeds": 1, "workers": 1}


@pytest.fixture
def shelves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The toy system of tests/shelves.py."""
    monkeypatch.setitem(systems.SYSTEMS, "shelves", "shelves")
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Notes:
    """A watcher of the user's own."""

    def __init__(self) -> None:
        self.before: list[int] = []
        self.seen: list[int] = []
        self.best: list[str] = []

    def begin(self, store, trials):
        self.before.append(len(trials))

    def see(self, trials):
        self.seen += [trial.trial for trial in trials]

    def end(self, store, best):
        self.best.append(best["design_hash"])


def test_a_watcher_sees_every_trial_once(shelves: Path) -> None:
    notes = Notes()
    fgnas.search(children=40, track=[notes], run="a", **OPTIONS)
    run = fgnas.search(children=60, track=[notes], run="a", resume=True)
    assert notes.before == [0, 40] and notes.seen == list(range(60))
    assert notes.best[-1] == run.best["design_hash"] and len(notes.best) == 2
    unwatched = fgnas.search(children=60, run="b", **OPTIONS)
    assert (unwatched.folder / "trials.jsonl").read_bytes() == (run.folder / "trials.jsonl").read_bytes()


def test_trials_as_steps_of_tensorboard(shelves: Path) -> None:
    pytest.importorskip("tensorboard", reason="needs tensorboard: pip install 'fgnas[tracking]'")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    fgnas.search(children=40, track=["tensorboard"], run="a", **OPTIONS)
    run = fgnas.search(children=60, track=["tensorboard"], run="a", resume=True)
    found = EventAccumulator(str(run.folder / "tensorboard"), size_guidance={"scalars": 0}).Reload()
    trials = run.trials()
    curves = {"scores/strength": [trial.scores["strength"] for trial in trials],
              "costs/grams": [trial.costs["grams"] for trial in trials]}  # fmt: skip
    for name, values in curves.items():
        events = found.Scalars(name)
        assert [event.step for event in events] == list(range(60))
        assert [event.value for event in events] == pytest.approx(values, rel=1e-6)  # single precision
    best = [event.value for event in found.Scalars("scores/best_strength")]
    assert best == sorted(best) and best[-1] == pytest.approx(max(curves["scores/strength"]), rel=1e-6)
    delivered = found.Scalars("delivered/loaded_test")[-1]
    assert delivered.value == pytest.approx(run.best["delivered"]["loaded"]["test"], rel=1e-6)


def test_a_run_of_mlflow_goes_on_when_its_search_does(shelves: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow", reason="needs mlflow: pip install 'fgnas[tracking]'")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setattr(tracking, "AT_ONCE", 7)
    mlflow.set_tracking_uri((shelves / "there").as_uri())
    fgnas.search(children=40, track=["mlflow"], run="a", **OPTIONS)
    run = fgnas.search(children=60, track=["mlflow"], run="a", resume=True)
    client = mlflow.MlflowClient()
    (found,) = client.search_runs([client.get_experiment_by_name("fgnas").experiment_id])
    assert found.info.run_name == "a" and found.info.status == "FINISHED"
    assert found.data.params["system"] == "shelves" and found.data.params["method"] == "evolution"
    history = client.get_metric_history(found.info.run_id, "strength")
    values = {one.step: one.value for one in history}
    assert values == {trial.trial: trial.scores["strength"] for trial in run.trials()}
    assert found.data.metrics["loaded_test"] == run.best["delivered"]["loaded"]["test"]
    kept = Path(client.download_artifacts(found.info.run_id, "best.json"))
    assert json.loads(kept.read_text()) == run.best


def test_what_is_missing_is_told(shelves: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for name, package in (("mlflow", "mlflow"), ("tensorboard", "tensorboard")):
        with pytest.raises(UserError, match=rf"{package} is missing; fix: pip install 'fgnas\[tracking\]'"):
            fgnas.search(children=5, track=[name], **OPTIONS)
    assert not Path("runs").exists()
    with pytest.raises(UserError, match="unknown tracker 'paper'; known: mlflow, tensorboard"):
        fgnas.search(children=5, track=["paper"], **OPTIONS)


def test_from_the_command_line(shelves: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tensorboard", reason="needs tensorboard: pip install 'fgnas[tracking]'")
    words = ["search", "--system", "shelves", "--method", "random", "--children", "12", "--workers", "1", "--quiet"]
    assert main([*words, "--track", "tensorboard", "--run", "a"]) == 0
    assert list(Path("runs/a/tensorboard").iterdir())
    assert main([*words, "--track", "paper"]) == 2
    assert "invalid choice: 'paper'" in capsys.readouterr().err
