"""Graphs with targets of their own: searched by fgnas and g-cos, and built."""

import json
from pathlib import Path

import numpy as np
import pytest
from edge_graphs import write_graphs

import fgnas
from fgnas.cli import main
from fgnas.networks.answers import answers_of
from fgnas.networks.quantised import logit_step
from fgnas.tasks.collection import metric
from fgnas.tasks.pooled import PooledData

SMALL = {"leaders": 1, "retrain_seeds": 1, "epochs": 30, "retrain_epochs": 40, "workers": 1}
SEARCHES = {
    "fgnas": {"children": 3, "target": "any"},
    "g-cos": {"children": 10, "updates": 20, "beat_bits": 128},
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("system", "kind"), [
    ("fgnas", "values"), ("g-cos", "classes"), pytest.param("fgnas", "labels", marks=pytest.mark.slow),
    pytest.param("g-cos", "values", marks=pytest.mark.slow),
])  # fmt: skip
def test_searched_and_built(folder: Path, system: str, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A start has the graphs that test: its price is the project's, its codes say how good the network is."""
    run = fgnas.search(str(write_graphs(folder, kind)), system=system, run="run", **SMALL, **SEARCHES[system])
    best, design = run.best, run.design("best")
    assert set(best["delivered"]["quantised"]) == {"val", "test"}
    assert best["deviation"] > 0 if kind == "values" else "deviation" not in best
    data, accelerator = design.data(), design.lower()
    assert isinstance(data, PooledData) and accelerator.data.nodes == data.start.nodes
    assert accelerator.price()["latency_cycles"] == best["costs"]["latency_cycles"]
    results = accelerator.logits() * accelerator.logit_step
    assert accelerator.logit_step == logit_step(design.choices, design.network, data)
    answered = data.start.results(results)
    assert answered.shape == (12, data.classes)
    predicted = accelerator.predict()
    assert predicted.shape == ((12,) if kind == "classes" else answered.shape)
    assert np.array_equal(predicted, {"values": answered, "classes": answered.argmax(1), "labels": answered > 0}[kind])
    train = data.graphs_of("train")
    others = data.part(np.sort(train[np.argsort(data.sizes[train])][:3]))
    assert len(accelerator.predict(others)) == 3 and others.start is others
    if kind == "values":
        error = metric("values", data.start.targets_of_graphs, answered)
        assert 1 - (error / best["deviation"]) ** 2 == pytest.approx(best["delivered"]["quantised"]["test"])
    quality = answers_of(data, "test").quality(results)  # all twelve graphs that test are in the start
    assert quality == best["delivered"]["quantised"]["test"] == design.accuracy()["quantised"]["test"]
    assert main(["hls", "run", "--quiet"]) == 0
    assert main(["csim", "hls/best", "--quiet"]) == 0
    assert main(["report", "hls/best", "--dataset", data.name]) == 0
    assert f"{quality:.1%}".replace("%", " %") in Path("hls/best/report.html").read_text()
    assert "mismatches: 0" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("system", SEARCHES)
def test_rtl_of_one_graph_at_a_time(folder: Path, system: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A start of one graph is written, and the accelerator runs any other."""
    path = write_graphs(folder)
    run = fgnas.search(str(path), system=system, run="run", **SMALL, **SEARCHES[system])
    data = run.design("best").data()
    assert isinstance(data, PooledData)
    assert main(["hls", "run", "--graphs", "1", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["sim", "hls/best", "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["mismatches"] == 0 and found["cycles"] == found["predicted_cycles"]
    assert found["logits"] == int(data.start.sizes.max())
    accelerator = run.design("best").lower(fgnas.load(path))
    whole = accelerator.logits()
    ends = np.cumsum(data.start.sizes)
    for place in range(3):
        one = accelerator.logits(data.start.part(np.array([place])))
        assert np.array_equal(one, whole[ends[place] - len(one) : ends[place]])


def test_the_number_of_graphs_in_a_start(folder: Path) -> None:
    path = str(write_graphs(folder))
    two = fgnas.tasks.pooled.load(fgnas.tasks.pooled.reference(path, graphs=2))
    assert isinstance(two, PooledData) and len(two.start.sizes) == 2 and two.label == "values"
    whole = fgnas.load(path)
    assert two.fingerprint == whole.fingerprint and len(whole.start.sizes) == 12


def test_faults_are_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        (["search", "--dataset", "digits", "--graphs", "2"], "--graphs is for data of many graphs, and digits is one"),
        (["search", "--dataset", "esoll"], "did you mean esol?"),
        (["search", "--dataset", "esol#graphs=two"], "unknown dataset 'esol#graphs=two'"),
        (["search", "--dataset", "values.npz", "--graphs", "0"], "--graphs"),
    ):
        assert main(words) == 2
        told = capsys.readouterr().err
        assert said in told and len(told.splitlines()) == 1
