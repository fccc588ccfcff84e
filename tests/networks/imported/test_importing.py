"""From a model to a project: the command line, its files, graphs of molecules, and weights of edges."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from pyg_models import ATTRIBUTES, OF_EDGES, Attributed, Categories, Pooled, Two, Weighted, settled
from torch import nn
from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.nn import GATConv, GCNConv, SAGEConv, global_add_pool, global_mean_pool

import fgnas
from fgnas.api import ImportedNetwork, import_model
from fgnas.api.data import collection_of
from fgnas.backends.project import rows_of
from fgnas.cli import main
from fgnas.hardware.integer import interpreter, stored
from fgnas.networks.imported.fusing import fused
from fgnas.networks.imported.importing import calibrated_on, imported
from fgnas.networks.imported.inputs import Given
from fgnas.networks.imported.nodes import Merge, ordered
from fgnas.networks.imported.reading import traced
from fgnas.networks.imported.tracing import trace_module
from fgnas.tasks import nodes, sources
from fgnas.tasks.collection import metric, scores
from fgnas.tasks.pooled import PooledData

NODES, WIDTH, CLASSES = 40, 8, 4
MODULE = """
from torch import nn
from torch_geometric.nn import SAGEConv
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = SAGEConv(8, 8), SAGEConv(8, 4)
    def forward(self, x, edge_index):
        return self.second(self.first(x, edge_index).relu(), edge_index)
"""


def graph(folder: Path, **further: np.ndarray) -> Path:
    """A ring of nodes in a file."""
    rng, near = np.random.default_rng(0), np.arange(NODES)
    edges = np.stack([np.concatenate([near, (near + 1) % NODES]), np.concatenate([(near + 1) % NODES, near])])
    place = near % 4
    np.savez(folder / "g.npz", x=rng.random((NODES, WIDTH)).astype(np.float32), edge_index=edges, y=near % CLASSES,
             train_mask=place < 2, val_mask=place == 2, test_mask=place == 3, **further)  # fmt: skip
    return folder / "g.npz"


def test_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """Import, price and project of a model that the pipeline does not run."""
    monkeypatch.chdir(tmp_path)
    graph(tmp_path)
    (tmp_path / "fgnas_own_model.py").write_text(MODULE)
    torch.manual_seed(1)
    torch.save(nn.ModuleDict({"first": SAGEConv(8, 8), "second": SAGEConv(8, 4)}).state_dict(), "w.pt")
    command = ["import", "fgnas_own_model:Net", "--weights", "w.pt", "--dataset", "g.npz", "--dsp", "16"]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["hardware"], found["design_file"]) == ("array", "Net.json")
    assert [one["layer"] for one in found["layers"]] == ["first", "second"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "next: fgnas hls Net.json" in shown and f"{found['cycles']:,} cycles" in shown
    assert main(["price", "Net.json", "--json"]) == 0
    price = json.loads(capsys.readouterr().out)
    assert price["latency_cycles"] == found["cycles"]
    assert price["calls"] == 1 and f"{price['latency_cycles']:,} cycles, " in shown
    assert main(["hls", "Net.json"]) == 0
    assert capsys.readouterr().err.startswith("next: fgnas csim hls/Net, fgnas sim hls/Net\n")
    assert main(["hls", "hls/Net"]) == main(["csim", "Net.json"]) == main(["sim", "Net.json"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "fgnas: hls/Net is a project already, not a run or a design: `fgnas csim hls/Net` checks it",
        *["fgnas: Net.json is a file, not a project: write one with `fgnas hls Net.json`"] * 2,
    ]
    network = ImportedNetwork.load("Net.json")
    assert (network.hash, network.logits().shape) == (found["network_hash"], (NODES, CLASSES))
    written = json.loads((tmp_path / "hls" / "Net" / "report" / "price.json").read_text())
    assert written["latency_cycles"] == found["cycles"]
    assert [one["name"] for one in written["phases"] if " 2 " in one["name"]] == [
        "combine 2 second, term 1", "combine 2 second, term 2", "aggregate 2 second"]  # fmt: skip
    assert main(["hls", "Net.json", "--flexible", "--out", "hls/roomy", "--multipliers", "16"]) == 0
    capsys.readouterr()
    assert main(["encode", "Net.json", "--on", "hls/roomy", "--json"]) == 0
    on = json.loads(capsys.readouterr().out)
    assert (on["calls"], on["new_cycles"]) == (1, found["cycles"]) and on["cycles"] >= found["cycles"]
    assert main(["report", "hls/Net-on-roomy"]) == 0


def test_what_the_pipeline_runs_becomes_a_design(tmp_path: Path) -> None:
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = GATConv(WIDTH, 4, 2), GCNConv(8, CLASSES)

        def forward(self, x, edge_index):
            return self.second(self.first(x, edge_index).relu(), edge_index)

    assert isinstance(import_model(Net(), graph(tmp_path)), fgnas.Design)


def test_a_file_keeps_every_number(tmp_path: Path) -> None:
    """The network has attention, so that the file also holds tables and matrices."""
    model = settled(Two(lambda width, out: GATConv(width, out, 2, concat=False), WIDTH, 8, CLASSES), 1)
    network = import_model(model, graph(tmp_path))
    assert isinstance(network, ImportedNetwork)
    stored.save(tmp_path / "n.npz", network.source.integers, network.source.graphs)
    found = stored.load(tmp_path / "n.npz")
    np.testing.assert_array_equal(interpreter.run(*found[:2]), network.logits())
    assert stored.save(tmp_path / "m.npz", *found) == stored.save(tmp_path / "n.npz", *found)


def test_loaded_data_is_what_its_name_means(tmp_path: Path) -> None:
    model = settled(Two(SAGEConv, WIDTH, 8, CLASSES), 1)
    loaded, named = (import_model(model, data) for data in (fgnas.load(graph(tmp_path)), graph(tmp_path)))
    assert isinstance(loaded, ImportedNetwork) and isinstance(named, ImportedNetwork)
    assert loaded.content == named.content and loaded.hash == named.hash
    assert repr(named).startswith("<ImportedNetwork two for /") and repr(named).count("\n") == 0
    assert ": 6 operations of 10 bits, float test accuracy 0." in repr(named) and len(repr(named)) < 400


UNTRAINED = Two(SAGEConv, WIDTH, 8, CLASSES)


@pytest.mark.parametrize(("source", "given", "message"), [
    (Two, {}, r"source is the class Two: give a trained model, Two\(\) with its weights"),
    (graph, {}, "source is the function graph: give the trained model that it returns"),
    (UNTRAINED.state_dict(), {}, "source is a state_dict: give the module that it belongs to"),
    (3, {}, "source is of type int: give a trained module, 'module:factory' or a .pt2 file"),
    (Path("gone.pt2"), {}, "the model gone.pt2 does not exist"),
    (UNTRAINED, {"weights": "w.pt"}, "weights are for module:factory: Two is a module, which has its own"),
    (UNTRAINED, {"data": Data(x=torch.ones(2, 2))}, r"data is of type Data: .* torch.save\(data, 'graph.pt'\)"),
    (UNTRAINED, {"bits": 3}, "--bits is 3: give 4 to 10"),
    (UNTRAINED, {"dsp": 0}, "--dsp is 0, but .* give --dsp 8 or more"),
])  # fmt: skip
def test_what_is_no_model_or_no_data(source, given, message: str, tmp_path: Path) -> None:
    with pytest.raises(fgnas.UserError, match=message):
        import_model(source, **{"data": graph(tmp_path), **given})


def test_weights_of_edges_are_coefficients(tmp_path: Path) -> None:
    """Other weights, other results, each the model's own."""
    results = []
    for seed in (1, 2):
        weight = np.random.default_rng(seed).random(2 * NODES).astype(np.float32)
        data = sources.load(str(graph(tmp_path, edge_weight=weight)))
        torch.manual_seed(0)
        model = Weighted(WIDTH, CLASSES).eval()
        found = imported(lambda given, model=model: traced(model, given), data, 10)
        assert found.apart < 1e-5
        results.append(found.network.values())
    assert np.abs(results[0] - results[1]).max() > 0.01


def bonded(place: int) -> Data:
    """A ring whose edges have features, and a target that depends on them."""
    one = ring(3 + place % 10, 0.0)
    features = torch.from_numpy(np.random.default_rng(place).random((len(one.x), ATTRIBUTES)).astype(np.float32))
    return Data(x=one.x, edge_index=one.edge_index, edge_attr=features, y=features.mean(dim=0)[:1])


@pytest.mark.parametrize("name", ["GINEConv", "GATConv, edge_dim"])
def test_features_of_edges_of_many_graphs(name: str, tmp_path: Path) -> None:
    """The integers are near the model's own results for the graphs that they hold, which other features change."""
    torch.save([bonded(place) for place in range(40)], tmp_path / "rings.pt")
    data = sources.load(nodes.reference(tmp_path / "rings.pt", "60/20/20"))
    assert data.edge_features is not None and data.edge_features.shape == (data.edge_index.shape[1], ATTRIBUTES)
    torch.manual_seed(5)
    model = settled(Attributed(OF_EDGES[name], WIDTH, 1), 5)
    part = data.part(np.flatnonzero(data.test)[:5])
    own, other = (
        model(x, edges, factor * torch.from_numpy(part.edge_features), batch).detach().numpy()
        for factor in (1.0, 0.0) for x, edges, batch in [map(torch.as_tensor, given(part))]
    )  # fmt: skip
    network = import_model(model, data, graphs=5)
    assert isinstance(network, ImportedNetwork)
    error = np.abs(network.logits() * network.logit_step - own).max()
    assert error < 0.06 * np.abs(own).max() and error < 0.5 * np.abs(other - own).max()
    found = ImportedNetwork.load(network.save(tmp_path / "n.json"))
    np.testing.assert_array_equal(found.logits(), network.logits())
    assert found.source.graphs[0].features.shape == (sum(part.edge_features.shape[:1]) + len(part.graph), WIDTH + 3)


@pytest.mark.slow
def test_categories_of_atoms_and_bonds_in_hardware(tmp_path: Path) -> None:
    """Integers of molecules, as PyG has them: embedded, imported, and the same in C++ and RTL."""
    rng = np.random.default_rng(3)
    for_all = [bonded(place) for place in range(40)]
    for one in for_all:
        one.x = torch.from_numpy(rng.integers(0, 5, one.x.shape))
        one.edge_attr = torch.from_numpy(rng.integers(0, 3, one.edge_attr.shape))
    torch.save(for_all, tmp_path / "rings.pt")
    data = sources.load(nodes.reference(tmp_path / "rings.pt", "60/20/20"))
    torch.manual_seed(4)
    model = settled(Categories((5,) * WIDTH, (3,) * ATTRIBUTES, 8, 1), 4)
    network = import_model(model, data, bits=8, graphs=2)
    assert isinstance(network, ImportedNetwork)
    project = network.write(tmp_path / "p")
    assert project.csim()["mismatches"] == 0
    found = project.simulate()
    assert (found["mismatches"], found["cycles"]) == (0, found["predicted_cycles"])


@pytest.mark.parametrize("name", ["GINEConv", "GATConv, edge_dim"])
def test_the_graphs_that_a_network_holds_change_no_number(name: str, tmp_path: Path) -> None:
    """Those in any places, alone or together, have the integers that they have among the first that test."""
    torch.save([bonded(place) for place in range(40)], tmp_path / "rings.pt")
    data = sources.load(nodes.reference(tmp_path / "rings.pt", "60/20/20"))
    model, first = settled(Attributed(OF_EDGES[name], WIDTH, 1), 5), np.flatnonzero(data.test)[:4].tolist()
    together, *alone = (import_model(model, data, graphs=one) for one in (4, *([place] for place in first)))
    assert isinstance(together, ImportedNetwork)
    np.testing.assert_array_equal(np.concatenate([one.logits() for one in alone]), together.logits())
    for places in ([], [-1], [40], [3, 3]):
        with pytest.raises(fgnas.UserError, match="--graphs names graphs by their places in rings, 0 to 39, each once"):
            import_model(model, data, graphs=places)


def test_a_mean_has_the_same_coefficients_whichever_graphs_a_network_holds(tmp_path: Path) -> None:
    """Graphs of 1 to 40 nodes: alone, a large one could have finer coefficients than beside a small one."""
    torch.save([ring(1 + place % 40, float(place % 7)) for place in range(120)], tmp_path / "rings.pt")
    data = sources.load(nodes.reference(tmp_path / "rings.pt", "60/20/20"))

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.head = GCNConv(WIDTH, 8), nn.Linear(8, 1)

        def forward(self, x, edge_index, batch):
            return self.head(global_mean_pool(self.conv(x, edge_index).relu(), batch))

    torch.manual_seed(6)
    model, first = Net().eval(), np.flatnonzero(data.test)[:12].tolist()
    together, *alone = (import_model(model, data, bits=8, graphs=one) for one in (12, *([place] for place in first)))
    assert isinstance(together, ImportedNetwork)
    np.testing.assert_array_equal(np.concatenate([one.logits() for one in alone]), together.logits())


def test_other_graphs_on_the_same_hardware(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """Built for one graph, with room; the vectors of others follow."""
    monkeypatch.chdir(tmp_path)
    torch.save([bonded(place) for place in range(40)], "rings.pt")
    (tmp_path / "fgnas_bonded_model.py").write_text(BONDED)
    command = ["import", "fgnas_bonded_model:net", "--dataset", "rings.pt", "--split", "60/20/20", "--dsp", "16"]
    assert main([*command, "--graphs", "1"]) == 0
    assert main(["hls", "net.json", "--flexible"]) == 0
    assert main([*command, "--graphs", "20:22", "--out", "others.json"]) == 0
    assert main(["encode", "others.json", "--on", "hls/net"]) == 0
    others = ImportedNetwork.load("others.json")
    assert others.logits().shape == (2, 1) and rows_of(Path("hls/others-on-net")) == "graphs"
    capsys.readouterr()
    for text in ("0", "2:", "5:5", ":3", "x", "1:2:3"):
        assert main([*command, "--graphs", text]) == 2
        assert "is neither a number of graphs from 1 on nor FIRST:END, such as 64:128" in capsys.readouterr().err
    assert main([*command, "--graphs", "39:41"]) == 2
    assert "by their places in rings, 0 to 39, each once: these are [39, 40]" in capsys.readouterr().err


POOLED = """
import torch
from torch import nn
from torch_geometric.nn import SAGEConv, global_mean_pool
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.head = SAGEConv(8, 8), nn.Linear(8, 1)
    def forward(self, x, edge_index, batch):
        return self.head(global_mean_pool(self.first(x, edge_index).relu(), batch))
def net():
    torch.manual_seed(1)
    return Net()
"""


def test_the_largest_graph_and_what_makes_others_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rings = [ring(3 + place % 10, place / 40) for place in range(40)]
    for one in rings:
        one.edge_index = torch.cat([one.edge_index, one.edge_index.flip(0)], dim=1)
    torch.save(rings, "rings.pt")
    (tmp_path / "fgnas_pooled_model.py").write_text(POOLED)
    command = ["import", "fgnas_pooled_model:net", "--dataset", "rings.pt", "--split", "60/20/20", "--dsp", "16"]
    assert main([*command, "--graphs", "largest"]) == main(["hls", "net.json"]) == 0
    network = ImportedNetwork.load("net.json")
    assert network.logits().shape == (1, 1) and network.source.graphs[0].nodes == 12
    prepare = fgnas.Project("hls/net").preparation()
    data = sources.load(nodes.reference(tmp_path / "rings.pt", "60/20/20"))
    first, other = (data.part(np.array([place])) for place in (9, 14))
    held = np.fromfile("hls/net/vectors/features.bin", np.uint8)
    np.testing.assert_array_equal(prepare(first.features.toarray(), first.edge_index)["features"].ravel(), held)
    assert len(prepare(other.features.toarray(), other.edge_index)["order"]) == 1
    with pytest.raises(fgnas.UserError, match="graphs is 'smallest': give 'largest', a number, or places"):
        import_model("fgnas_pooled_model:net", data, graphs="smallest")


BONDED = """
import torch
from torch import nn
from torch_geometric.nn import GINEConv, global_mean_pool
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.head = GINEConv(nn.Linear(8, 8), edge_dim=3), nn.Linear(8, 1)
    def forward(self, x, edge_index, edge_attr, batch):
        return self.head(global_mean_pool(self.conv(x, edge_index, edge_attr).relu(), batch))
def net():
    torch.manual_seed(1)
    return Net()
"""


def test_a_model_that_reads_no_features_of_edges_is_the_same_without_them(tmp_path: Path) -> None:
    torch.save([bonded(place) for place in range(40)], tmp_path / "rings.pt")
    data = sources.load(nodes.reference(tmp_path / "rings.pt", "60/20/20"))
    model = settled(Pooled(GCNConv, WIDTH, 1), 2)
    with_them, without = (import_model(model, one) for one in (data, replace(data, edge_features=None)))
    assert isinstance(with_them, ImportedNetwork) and isinstance(without, ImportedNetwork)
    assert with_them.hash == without.hash
    np.testing.assert_array_equal(with_them.logits(), without.logits())


def test_an_exported_program_names_the_features_of_edges(tmp_path: Path) -> None:
    features = np.random.default_rng(2).random((2 * NODES, ATTRIBUTES)).astype(np.float32)
    data = sources.load(str(graph(tmp_path, edge_weight=np.ones(2 * NODES), edge_attr=features)))
    model = settled(Attributed(OF_EDGES["GINEConv"], WIDTH, CLASSES), 5)
    arguments = (data.features.toarray(), data.edge_index, features)
    program = torch.export.export(model, tuple(map(torch.from_numpy, arguments)))
    torch.export.save(program, tmp_path / "gine.pt2")
    found, own = (import_model(one, data) for one in (tmp_path / "gine.pt2", model))
    assert isinstance(found, ImportedNetwork) and isinstance(own, ImportedNetwork)
    np.testing.assert_array_equal(found.logits(), own.logits())


def test_weights_and_features_of_edges_together(tmp_path: Path) -> None:
    """A single number for each edge is its weight, unless there are weights."""
    one, three = np.ones(2 * NODES), np.ones((2 * NODES, 3), np.float32)
    for further, shapes in (
        ({"edge_attr": one}, [(2 * NODES,), None]), ({"edge_attr": three}, [None, (2 * NODES, 3)]),
        ({"edge_weight": one, "edge_attr": one}, [(2 * NODES,), (2 * NODES, 1)]),
        ({"edge_weight": one[:, None], "edge_attr": three}, [(2 * NODES,), (2 * NODES, 3)]),
    ):  # fmt: skip
        data = sources.load(str(graph(tmp_path, **further)))
        assert [None if one is None else one.shape for one in (data.edge_weight, data.edge_features)] == shapes


def ring(nodes: int, value: float) -> Data:
    near = torch.arange(nodes)
    x = torch.from_numpy(np.random.default_rng(nodes).random((nodes, WIDTH)).astype(np.float32))
    return Data(x=x, edge_index=torch.stack([near, (near + 1) % nodes]), y=torch.tensor([value]))


@pytest.mark.parametrize("kept", ["list", "dataset"])
def test_graphs_of_a_file(kept: str, tmp_path: Path) -> None:
    """Saved as a list, or as PyG saves a dataset: the same graphs; the network holds some that test."""
    values = np.random.default_rng(3).random(40).astype(np.float32)
    if kept == "list":
        torch.save([ring(3 + place % 10, value) for place, value in enumerate(values)], tmp_path / "rings.pt")
    else:
        InMemoryDataset.save([ring(3 + place % 10, value) for place, value in enumerate(values)],
                             str(tmp_path / "rings.pt"))  # fmt: skip
    data = sources.load(nodes.reference(tmp_path / "rings.pt", "60/20/20"))
    assert (data.rows, data.kind, data.outputs) == (40, "values", 1)
    np.testing.assert_allclose(data.targets[:, 0], values)
    torch.manual_seed(2)
    model = settled(Pooled(lambda width, out: GCNConv(width, out), WIDTH, 1), 2)
    network = import_model(model, data, graphs=5)
    assert isinstance(network, ImportedNetwork) and network.logits().shape == (5, 1)
    own = model(*(torch.as_tensor(one) for one in given(data.part(np.flatnonzero(data.test)[:5])))).detach().numpy()
    np.testing.assert_allclose(network.logits() * network.logit_step, own, atol=0.08 * np.abs(own).max())
    assert rows_of(network.write(tmp_path / "p").directory) == "graphs"
    assert network.content["float"]["test"] == pytest.approx(network.content["quantised"]["test"], rel=0.05)


def test_graphs_of_every_size_choose_formats(tmp_path: Path) -> None:
    """The smallest and the largest of those that train, and as many of each size as there are."""
    torch.save([ring(3 + place % 30, 0.0) for place in range(90)], tmp_path / "rings.pt")
    data = sources.load(nodes.reference(tmp_path / "rings.pt", "60/20/20"))
    sizes, train = np.bincount(data.graph), np.flatnonzero(data.train)
    np.testing.assert_array_equal(calibrated_on(data), train)
    few = calibrated_on(data, 10)
    assert len(few) == 10 and np.isin(few, train).all() and (np.diff(few) > 0).all()
    assert {sizes[train].min(), sizes[train].max()} <= set(sizes[few])
    assert abs(np.median(sizes[few]) - np.median(sizes[train])) <= 3


def given(part):
    return part.features.toarray(), part.edge_index, part.graph


def test_many_graphs_are_loaded_for_designs_and_imported_as_they_are(tmp_path: Path) -> None:
    torch.save([ring(3 + place % 5, 0.0) for place in range(20)], tmp_path / "rings.pt")
    loaded = fgnas.load(tmp_path / "rings.pt", "60/20/20")
    assert isinstance(loaded, PooledData) and len(loaded.sizes) == 20
    whole = collection_of(loaded)
    assert whole.fingerprint == sources.load(loaded.name).fingerprint and whole.rows == 20


def test_the_help_names_all_data(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["import", "--help"])
    assert ", ".join(sources.KNOWN) in " ".join(capsys.readouterr().out.split())


def test_metrics_by_hand() -> None:
    nan = float("nan")
    assert metric("values", np.array([[1.0], [nan], [3.0]]), np.array([[1.0], [9.0], [1.0]])) == pytest.approx(2**0.5)
    assert metric("classes", np.array([[0.0], [1.0], [nan]]), np.eye(3)) == 1.0
    assert metric("labels", np.array([[0.0], [1.0], [1.0], [nan]]), np.array([[2.0], [2.0], [3.0], [0.0]])) == 0.75


def test_molecules_of_esol() -> None:
    """As many as PyG reads, divided by scaffolds; the known figure of a model that always says the mean."""
    pytest.importorskip("rdkit")
    try:
        data = sources.load("esol")
    except fgnas.UserError as error:
        pytest.skip(str(error))
    assert (data.rows, data.features.shape[1], data.kind) == (1128, 9, "values")
    assert data.edge_features is not None and data.edge_features.max(axis=0).tolist() == [12, 3, 1]  # aromatic bonds
    assert [int(one.sum()) for one in (data.train, data.val, data.test)] == [902, 113, 113]
    mean = np.full((1128, 1), data.targets[data.train].mean())
    error = float(np.sqrt(((data.targets[data.test] - mean[0, 0]) ** 2).mean()))
    assert scores(data, mean)["test"] == pytest.approx(error)


def test_a_loss_chooses_bits_layer_by_layer(tmp_path: Path) -> None:
    """On the pipeline and on the array: the validation part keeps it, a layer has fewer bits than it may."""
    data = sources.load(str(graph(tmp_path)))
    assert data.nodes is not None
    torch.manual_seed(4)
    for model in (Two(GCNConv, WIDTH, 8, CLASSES), Two(SAGEConv, WIDTH, 8, CLASSES)):
        found = import_model(settled(model, 4), data, loss=20.0)
        accuracy = found.accuracy(data.nodes) if isinstance(found, fgnas.Design) else found.content
        bits = ([1 + one.ai + one.af for one in found.choices.layers] if isinstance(found, fgnas.Design)
                else [one["bits"] for one in found.content["layers"] if one["bits"]])  # fmt: skip
        assert accuracy["quantised"]["val"] >= accuracy["float"]["val"] - 0.2 - 1e-9
        assert max(bits) < 10 and min(bits) >= 2
    with pytest.raises(fgnas.UserError, match="--loss is 0, but numbers of 4 bits lose"):
        narrow(settled(Pooled(GCNConv, WIDTH, 1), 2), tmp_path)


def narrow(model: nn.Module, folder: Path) -> None:
    """Import a model in four bits that is right about every graph: what it says is the target."""
    rings = [ring(3 + place % 10, 0.0) for place in range(40)]
    for one in rings:
        one.y = model(one.x, one.edge_index, torch.zeros(len(one.x), dtype=torch.long)).detach()[0]
    torch.save(rings, folder / "rings.pt")
    import_model(model, sources.load(nodes.reference(folder / "rings.pt", "60/20/20")), bits=4, loss=0.0)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_graphs_alike_are_the_same_network(count: int, tmp_path: Path) -> None:
    """Graphs of one size have equal counts, and one graph has a single one: the operations are the same."""
    torch.save([ring(6, float(value)) for value in range(40)], tmp_path / "rings.pt")
    data = sources.load(nodes.reference(tmp_path / "rings.pt", "60/20/20"))
    torch.manual_seed(2)
    model = settled(Deep6(), 2)
    several = import_model(model, data, graphs=count)
    assert isinstance(several, ImportedNetwork) and several.logits().shape == (count, 1)
    assert [one["becomes"] for one in several.content["layers"]] == [
        one["becomes"] for one in import_model(model, data, graphs=3).content["layers"]
    ]  # fmt: skip


class Deep6(nn.Module):
    """Six layers with skips, and the mean and the sum of a graph's nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(GCNConv(WIDTH, WIDTH) for _ in range(6))
        self.head = nn.Linear(2 * WIDTH, 1)

    def forward(self, x, edge_index, batch):
        for layer in self.layers:
            x = layer(x, edge_index).relu() + x
        return self.head(torch.cat([global_mean_pool(x, batch), global_add_pool(x, batch)], dim=1))


def test_a_skip_is_summed_once_before_its_product() -> None:
    """Six layers take six products, not one for each value that a sum holds."""
    torch.manual_seed(0)
    batch = torch.zeros(8, dtype=torch.long)
    edges = torch.stack([torch.arange(8), (torch.arange(8) + 1) % 8])
    found = trace_module(settled(Deep6(), 1), Given(torch.rand(8, WIDTH), edges, batch=batch))
    products = [node for node in ordered(fused(found.output)) if isinstance(node, Merge)]
    assert [(node.place, len(node.given)) for node in products[:6]] == [
        (f"layer layers.{layer} (GCNConv)", 1) for layer in range(6)
    ]  # fmt: skip
