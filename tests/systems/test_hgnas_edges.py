"""Networks over graphs with edges of their own: searched for an array, priced, and run there in calls."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from edge_graphs import write_graphs

import fgnas
from fgnas.cli import main
from fgnas.errors import UserError
from fgnas.networks.points import training
from fgnas.networks.points.graphs import Batch
from fgnas.networks.points.model import PointModel
from fgnas.networks.points.operations import TAILS, Aggregate, Combine, Connect, PointNetwork, Sample, Tail
from fgnas.networks.points.training import Recipe, graphs_of
from fgnas.systems.hgnas import edges
from fgnas.systems.hgnas.arrays import ArraySize
from fgnas.systems.hgnas.delivery import Delivered
from fgnas.tasks.points import load_graphs

EVERY = PointNetwork((
    Aggregate("sum", "source"), Combine(8), Connect("skip"), Aggregate("max", "target-relative"), Combine(16),
    Sample("random"), Aggregate("mean", "source-relative"), Combine(8), Connect("skip"), Aggregate("min", "source"),
    Combine(8),
), Tail(8, (8,)))  # fmt: skip
"""What an array has over edges: everything but distances and nearest neighbours."""
SMALL = ("--tail", "small", "--children", "24", "--epochs", "2", "--own-epochs", "1", "--retrain-epochs", "3",
         "--leaders", "2", "--finalists", "1", "--retrain-seeds", "2", "--workers", "1")  # fmt: skip


@pytest.mark.parametrize("kind", ["classes", "labels", "values"])
def test_integers_of_a_trained_network_are_the_array_s(tmp_path: Path, kind: str) -> None:
    data = load_graphs(write_graphs(tmp_path, kind))
    torch.set_num_threads(1)
    model = training.train(EVERY, data, Recipe(4, batch=8), seed=1)
    found = edges.on_array(model, data, 8)
    for split in ("val", "test"):
        exact = edges.quality(data, found.accuracy["float"][split])
        assert exact == pytest.approx(training.accuracy(model, data, split), abs=1e-5)
    design = fgnas.PointDesign(Delivered(EVERY, model.state_dict(), data.name, data.fingerprint))
    network = design.imported()
    assert np.array_equal(network.fitted().logits(), network.logits())
    assert network.logits().shape == (12, data.classes)


def test_a_graph_by_itself_gives_what_it_gives_among_others(tmp_path: Path) -> None:
    data = load_graphs(write_graphs(tmp_path))
    model = PointModel(EVERY, data.width_in, data.classes).eval()
    x, batch, _ = graphs_of(data, np.arange(6))
    with torch.no_grad():
        together = model(x, batch)
        for place in range(6):
            alone, own, _ = graphs_of(data, np.array([place]))
            assert own.edges is not None
            found = model(alone, Batch(own.sizes, own.neighbours, own.edges, listed=True))
            assert found[0].numpy() == pytest.approx(together[place].numpy(), abs=1e-5)


def test_a_price_is_exact_whatever_the_weights(tmp_path: Path) -> None:
    """Two models of a network, each with its own formats, take as many cycles on the array of the price."""
    data, size = load_graphs(write_graphs(tmp_path)), ArraySize(32, 128)
    graph = edges.collection(data)
    found = {edges.in_calls(EVERY, data, graph.part(np.array([3])), size).cycles for _ in range(2)}
    assert len(found) == 1
    median = edges.lowering(data, None, size)(EVERY)  # type: ignore[arg-type]
    trained = np.flatnonzero(data.train)
    own = trained[np.argsort(data.sizes[trained], kind="stable")[len(trained) // 2]]
    assert median.cycles == edges.in_calls(EVERY, data, graph.part(np.array([own])), size).cycles
    assert median.engine.units == 4


@pytest.mark.parametrize(
    ("operation", "words"), [(Aggregate("max", "full"), "sends distances"), (Sample("nearest"), "samples nearest")]
)
def test_what_no_array_has_over_edges_is_named(operation: object, words: str) -> None:
    with pytest.raises(UserError, match=rf"operation 1 {words}.*--design 2"):
        edges.check_importable(PointNetwork((Combine(8), operation), TAILS["small"]))  # type: ignore[arg-type]


def test_a_search_for_an_array(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every leader can be built, and the delivered one is written, and computes in C++ what its integers do."""
    monkeypatch.chdir(tmp_path)
    data = write_graphs(tmp_path)
    command = ["search", "--system", "hgnas", "--dataset", str(data), "--target", "array", "--multipliers", "16"]
    assert main([*command, "--latency-ms", "0.1", *SMALL, "--json"]) == 0
    best = json.loads(capsys.readouterr().out)
    assert best["kinds"] == ["float", "quantised"]
    assert best["deviation"] == pytest.approx(load_graphs(data).deviation)
    assert best["costs"]["latency_cycles"] <= 10_000
    drawn = [json.loads(line) for line in Path("runs/values-1/trials.jsonl").read_text(encoding="utf-8").splitlines()]
    assert all(one["costs"]["refused"] == 0 for one in drawn)
    for leader in json.loads(Path("runs/values-1/leaders.json").read_text(encoding="utf-8")):
        edges.check_importable(PointNetwork.from_dict(leader["design"]))
    assert main(["price", "runs/values-1/best.json", "--target", "array", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["latency_cycles"] == best["costs"]["latency_cycles"]
    assert main(["hls", "values-1"]) == 0
    assert "RMSE on" in capsys.readouterr().out
    assert main(["csim", "hls/best", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["mismatches"], found["failed_checks"], found["logits"]) == (0, 0, 12)
    moved = data.rename(tmp_path / "moved.npz")
    assert main(["hls", "values-1", "--out", "hls/moved"]) == 2
    assert "cannot read the graphs" in capsys.readouterr().err
    assert main(["hls", "values-1", "--out", "hls/moved", "--dataset", str(moved)]) == 0
    for name in ("programme.bin", "parameters.bin"):
        own = [Path("hls", one, "vectors", name) for one in ("best", "moved")]
        assert [one.is_file() for one in own] == [True, True]
        assert own[0].read_bytes() == own[1].read_bytes()


def test_faults_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write_graphs(tmp_path)
    given = ["search", "--system", "hgnas", "--dataset", str(data), "--target", "array"]
    assert main([*given, "--bits", "3"]) == 2
    assert capsys.readouterr().err == "fgnas: --bits is 3: give 4 to 10\n"
    assert main(["search", "--system", "hgnas", "--dataset", "esoll"]) == 2
    assert "esol, tox21, hiv, tu:NAME" in capsys.readouterr().err
    content, unknown = dict(np.load(data)), tmp_path / "unknown.npz"
    y = np.where(content["val_mask"], np.nan, content["y"])
    np.savez(unknown, **{**content, "y": y})
    assert main(["search", "--system", "hgnas", "--dataset", str(unknown)]) == 2
    assert capsys.readouterr().err == "fgnas: unknown: target 0 is known of no graph that is to val\n"
    weights = tmp_path / "weights.npz"
    np.savez(weights, **content, edge_weight=np.ones(content["edge_index"].shape[1], np.float32))
    assert main(["search", "--system", "hgnas", "--dataset", str(weights)]) == 2
    assert "has weights of edges" in capsys.readouterr().err
