"""Models trained in PyG: imported whole and proven, or refused by the name of a layer."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv

from fgnas import progress
from fgnas.backends.pipeline import write_project
from fgnas.cli import main
from fgnas.errors import UserError
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.shape import GraphShape
from fgnas.networks.pyg import Imported, import_model, of_trace, trace_module
from fgnas.tasks.nodes import GraphData, build, load
from fgnas.tools.csim import run_csim
from fgnas.tools.simulate import run_simulation

WIDTH, CLASSES = 12, 4


class Net(nn.Module):
    """Convolutions with a function between each two of them."""

    def __init__(self, *layers, act=F.relu, end=None, between=None):
        super().__init__()
        self.layers, self.act, self.end, self.between = nn.ModuleList(layers), act, end, between

    def forward(self, x, edge_index):
        for place, layer in enumerate(self.layers):
            if place:
                x = self.act(x)
                x = self.between(x) if self.between is not None else x
            x = layer(F.dropout(x, 0.6, self.training), edge_index)
        return self.end(x) if self.end is not None else x


def gcn(data, hidden=16):
    return Net(GCNConv(data.width_in, hidden), GCNConv(hidden, data.classes), end=lambda x: x.log_softmax(1))


def gat(data, hidden=8, heads=8):
    first = GATConv(data.width_in, hidden, heads, dropout=0.6)
    return Net(first, GATConv(heads * hidden, data.classes, dropout=0.6), act=F.elu)


def trained(model, data, epochs=100):
    """Adam as in PyG's examples; the weights of the last epoch."""
    torch.manual_seed(0)
    for module in model.modules():
        if hasattr(module, "reset_parameters"):
            module.reset_parameters()
    x, keep = torch.from_numpy(data.features.toarray()), data.sources != data.targets
    edges = torch.from_numpy(np.stack([data.sources[keep], data.targets[keep]]))
    labels, train = torch.from_numpy(data.labels), torch.from_numpy(data.train)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in range(epochs):
        optimiser.zero_grad()
        F.cross_entropy(model(x, edges)[train], labels[train]).backward()
        optimiser.step()
    return model.eval()


@pytest.fixture(scope="module")
def graph() -> GraphData:
    """A random graph on which nothing is trained."""
    rng = np.random.default_rng(5)
    x, edges = rng.random((30, WIDTH)).astype(np.float32), rng.integers(0, 30, (2, 50))
    everyone = np.ones(30, bool)
    return build("random", x, edges, np.arange(30) % CLASSES, everyone, everyone, everyone)


@pytest.fixture(scope="module")
def looped(graph: GraphData) -> GraphData:
    """The same graph, come with a self-loop at every node."""
    edges = np.stack([graph.sources, graph.targets])
    return build("looped", graph.features, edges, graph.labels, graph.train, graph.val, graph.test)


def imported(model: nn.Module, data: GraphData, bits: int = 10) -> Imported:
    torch.manual_seed(1)
    return of_trace(trace_module(model, data), data, bits, 20)


def assert_exact(found: Imported, data: GraphData, folder: Path, quick: bool = True) -> None:
    """C++ and RTL give the reference's logits."""
    accelerator = lower(found.design, found.network, GraphShape.of(data), data.name)
    write_project(accelerator, data, folder)
    cpp = run_csim(folder, ("-O0",) if quick else ())
    assert (cpp["nodes"], cpp["mismatches"], cpp["failed_checks"]) == (data.nodes, 0, 0)
    rtl = run_simulation(folder)
    assert (rtl["nodes"], rtl["mismatches"], rtl["protocol_errors"]) == (data.nodes, 0, 0)


@pytest.mark.parametrize(
    "layers, act, expected",
    [
        (lambda: [GCNConv(WIDTH, 8), GCNConv(8, CLASSES)], F.relu, ["gcn add 1 relu", "gcn add 1 None"]),
        (lambda: [GCNConv(WIDTH, 8, aggr="max"), GCNConv(8, CLASSES, aggr="mean", bias=False)], torch.tanh,
         ["gcn max 1 tanh", "gcn mean 1 None"]),
        (lambda: [GATConv(WIDTH, 4, 2), GATConv(8, 4, 4), GATConv(16, CLASSES, 2, False)], F.elu,
         ["gat add 2 elu", "gat add 4 elu", "gat add 2 None"]),
        (lambda: [GATConv(WIDTH, 4, aggr="mean"), GCNConv(4, 4), GCNConv(4, 4), GCNConv(4, CLASSES)], torch.sigmoid,
         ["gat mean 1 sigmoid", "gcn add 1 sigmoid", "gcn add 1 sigmoid", "gcn add 1 None"]),
    ],
)  # fmt: skip
def test_what_a_model_becomes(graph, layers, act, expected):
    found = imported(Net(*layers(), act=act), graph)
    described = [f"{layer.attention} {layer.aggregation} {layer.k} {layer.activation}" for layer in found.design.layers]
    assert described == expected


def test_sage_with_self_loops(graph, looped):
    """Without root weight, on edges that hold the node itself, it is a mean over the accelerator's neighbourhood."""
    def model():
        return Net(SAGEConv(WIDTH, 8, root_weight=False), SAGEConv(8, CLASSES, root_weight=False, aggr="add"))

    found = imported(model(), looped)
    assert [(layer.attention, layer.aggregation) for layer in found.design.layers] == [
        ("constant", "mean"), ("constant", "add"),
    ]  # fmt: skip
    with pytest.raises(UserError, match=r"layer layers.0 \(SAGEConv\): its neighbourhoods lack the node itself"):
        imported(model(), graph)


def test_bits_are_what_was_asked_for(graph):
    for bits in range(2, 11):
        design = imported(Net(GCNConv(WIDTH, 4), GCNConv(4, CLASSES)), graph, bits).design
        assert {layer.value_format().width for layer in design.layers} == {bits}
        assert {layer.weight_format().width for layer in design.layers} == {bits}
    with pytest.raises(UserError, match="--bits is 11"):
        import_model("x.pt2", graph, bits=11)


REFUSED = {
    "one layer": (lambda: Net(GCNConv(WIDTH, CLASSES)), "the model has 1 convolutions"),
    "five layers": (
        lambda: Net(*[GCNConv(WIDTH, WIDTH) for _ in range(4)], GCNConv(WIDTH, CLASSES)), "the model has 5",
    ),
    "another convolution": (
        lambda: Net(GCNConv(WIDTH, 8), GINConv(nn.Linear(8, CLASSES))), r"layer layers.1 \(GINConv\)",
    ),
    "a linear layer": (
        lambda: Net(GCNConv(WIDTH, 8), GCNConv(8, CLASSES), between=nn.Linear(8, 8)), r"layer between \(Linear\)",
    ),
    "a batch norm": (
        lambda: Net(GCNConv(WIDTH, 8), GCNConv(8, CLASSES), between=nn.BatchNorm1d(8)), r"between \(BatchNorm1d\)",
    ),
    "no activation": (lambda: Net(GCNConv(WIDTH, 8), GCNConv(8, CLASSES), act=lambda x: x), "no activation between"),
    "another activation": (
        lambda: Net(GCNConv(WIDTH, 8), GCNConv(8, CLASSES), act=F.gelu), "between the layers layers.0 and layers.1",
    ),
    "another elu": (
        lambda: Net(GCNConv(WIDTH, 8), GCNConv(8, CLASSES), act=nn.ELU(0.5)), "between the layers layers.0",
    ),
    "another end": (
        lambda: Net(GCNConv(WIDTH, 8), GCNConv(8, CLASSES), end=lambda x: 2 * x), "more than its convolutions",
    ),
    "improved": (lambda: Net(GCNConv(WIDTH, 8, improved=True), GCNConv(8, CLASSES)), "layers.0 .*improved is True"),
    "not normalised": (lambda: Net(GCNConv(WIDTH, 8, normalize=False), GCNConv(8, CLASSES)), "normalize is False"),
    "no loops": (
        lambda: Net(GCNConv(WIDTH, 8, add_self_loops=False), GCNConv(8, CLASSES)), "layers.0 .*lack the node itself",
    ),
    "aggr": (lambda: Net(GCNConv(WIDTH, 8, aggr="median"), GCNConv(8, CLASSES)), "aggr is median"),
    "min": (lambda: Net(GCNConv(WIDTH, 8, aggr="min"), GCNConv(8, CLASSES)), "aggr is min; add, mean and max are"),
    "three heads": (lambda: Net(GATConv(WIDTH, 8, 3), GCNConv(24, CLASSES)), r"layers.0 \(GATConv\): heads is 3"),
    "hidden mean of heads": (
        lambda: Net(GATConv(WIDTH, 8, 2, concat=False), GCNConv(8, CLASSES)), "concat is False in a hidden layer",
    ),
    "last heads side by side": (
        lambda: Net(GCNConv(WIDTH, 8), GATConv(8, CLASSES // 2, 2)), "concat is True in the last layer",
    ),
    "slope": (lambda: Net(GATConv(WIDTH, 8, negative_slope=0.1), GCNConv(8, CLASSES)), "negative_slope is 0.1"),
    "residual": (lambda: Net(GATConv(WIDTH, 8, residual=True), GCNConv(8, CLASSES)), "residual"),
    "root weight": (lambda: Net(SAGEConv(WIDTH, 8), GCNConv(8, CLASSES)), r"SAGEConv\): root_weight is True"),
    "project": (
        lambda: Net(SAGEConv(WIDTH, 8, project=True, root_weight=False), GCNConv(8, CLASSES)), "project is True",
    ),
    "sage max": (
        lambda: Net(SAGEConv(WIDTH, 8, aggr="max", root_weight=False), GCNConv(8, CLASSES)), "the maximum before",
    ),
    "classes": (lambda: Net(GCNConv(WIDTH, 8), GCNConv(8, 9)), "12 features and 9 classes, but looped has 12 and 4"),
    "features": (lambda: Net(GCNConv(9, 8), GCNConv(8, CLASSES)), "does not run on this data"),
    "too wide": (lambda: Net(GCNConv(WIDTH, 1025), GCNConv(1025, CLASSES)), "the model: layers.0.d"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_expressed_is_named(graph, looped, case):
    make, message = REFUSED[case]
    with pytest.raises(UserError, match=message):
        imported(make(), graph if case == "no loops" else looped)


def test_an_exported_program_becomes_the_same(graph, looped, tmp_path):
    for data, model in (
        (graph, Net(GATConv(WIDTH, 4, 2), GCNConv(8, 8, bias=False), GATConv(8, CLASSES, 2, False), act=F.elu)),
        (looped, Net(SAGEConv(WIDTH, 8, root_weight=False), GCNConv(8, CLASSES), act=torch.tanh)),
    ):
        keep = np.ones(len(data.sources), bool) if data.looped else data.sources != data.targets
        edges = torch.from_numpy(np.stack([data.sources[keep], data.targets[keep]]))
        program = torch.export.export(model.eval(), (torch.from_numpy(data.features.toarray()), edges))
        torch.export.save(program, tmp_path / "model.pt2")
        found, expected = import_model(str(tmp_path / "model.pt2"), data, dsp=20), imported(model, data)
        assert found.design == expected.design
        assert found.network.to_bytes() == expected.network.to_bytes()


@pytest.mark.parametrize(
    "model, message",
    [
        (lambda: Net(SAGEConv(WIDTH, 8, aggr="max", root_weight=False), GCNConv(8, CLASSES)), "maximum before"),
        (lambda: Net(SAGEConv(WIDTH, 8), GCNConv(8, CLASSES)), r"layers.0 \(SAGEConv\): root_weight is True"),
        (lambda: Net(GATConv(WIDTH, 8, negative_slope=0.1), GCNConv(8, CLASSES)), "more than its convolutions"),
        (lambda: Net(GCNConv(WIDTH, 8), GCNConv(8, CLASSES), between=nn.Linear(8, 8)), r"layer between \(Linear\)"),
        (lambda: Net(GCNConv(WIDTH, 8), GINConv(nn.Linear(8, CLASSES))), r"layer layers.1 \(GINConv\)"),
        (lambda: Net(GCNConv(WIDTH, 8), GCNConv(8, CLASSES), act=lambda x: x), "2 convolutions with 0 activations"),
    ],
)
def test_exported_programs_that_cannot_be_expressed(looped, tmp_path, model, message):
    edges = torch.from_numpy(np.stack([looped.sources, looped.targets]))
    program = torch.export.export(model().eval(), (torch.from_numpy(looped.features.toarray()), edges))
    torch.export.save(program, tmp_path / "model.pt2")
    with pytest.raises(UserError, match=message):
        import_model(str(tmp_path / "model.pt2"), looped)


@pytest.mark.slow
@pytest.mark.parametrize("make", [gcn, lambda data: gat(data, 4, 4)], ids=["gcn", "gat"])
def test_a_model_trained_on_digits(make, tmp_path):
    data = load("digits")
    model = trained(make(data), data, 100)
    found = imported(model, data)
    assert found.accuracy["float"]["test"] > 0.8
    assert abs(found.accuracy["quantised"]["test"] - found.accuracy["float"]["test"]) <= 0.01
    assert_exact(found, data, tmp_path / "p")


@pytest.mark.slow
@pytest.mark.parametrize("make", [gcn, gat])
def test_a_model_trained_on_cora(make, cora, tmp_path):
    found = imported(trained(make(cora), cora, 200), cora)
    assert found.accuracy["float"]["test"] > 0.78
    assert abs(found.accuracy["quantised"]["test"] - found.accuracy["float"]["test"]) <= 0.01
    assert_exact(found, cora, tmp_path / "p", quick=False)


MODELS = """
from torch_geometric.nn import GCN, GCNConv
def make(): return GCN(64, 8, 2, 10)
two = 2
def broken(): raise RuntimeError("no such day")
"""


def test_from_the_command_line(tmp_path, monkeypatch, capsys):
    """A module beside the user, its weights in a file; and the project has those weights."""
    from torch_geometric.nn import GCN

    monkeypatch.chdir(tmp_path)
    (tmp_path / "fgnas_test_models.py").write_text(MODELS)
    torch.manual_seed(3)
    model = GCN(64, 8, 2, 10)
    torch.save(model.state_dict(), "state.pt")
    command = ["import", "fgnas_test_models:make", "--weights", "state.pt", "--dataset", "digits", "--bits", "8"]
    assert main([*command, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["design_file"] == "make.json" and set(result["quantised"]) == {"val", "test"}
    entry = json.loads(Path("make.json").read_text())
    assert entry["design_hash"] == result["design_hash"] and entry["fingerprint"] == load("digits").fingerprint
    assert main(["hls", "make.json"]) == 0
    with np.load("hls/make/weights.npz") as weights:
        np.testing.assert_array_equal(weights["0.weight"][:, 0], model.convs[0].lin.weight.detach().numpy().T)
    assert main(["price", "make.json"]) == 0
    assert main(["hls", "make.json", "--dataset", "cora"]) == 2
    Path("make.npz").write_bytes(b"")
    assert main(["hls", "make.json"]) == 2
    assert "SHA-256" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["nothing"], "neither a .pt2 file nor module:factory"),
        (["gone.pt2"], "gone.pt2 does not exist"),
        (["text.pt2"], "was not saved by torch.export.save"),
        (["fgnas_gone:make"], "No module named"),
        (["fgnas_test_models:gone"], "no attribute"),
        (["fgnas_test_models:two"], "does not return a model"),
        (["fgnas_test_models:broken"], "no such day"),
        (["fgnas_test_models:make", "--weights", "gone.pt"], "cannot read the weights gone.pt"),
        (["fgnas_test_models:make", "--weights", "text.pt2"], "contains no plain state_dict"),
        (["fgnas_test_models:make", "--weights", "empty.pt"], "are not this model's"),
        (["text.pt2", "--weights", "empty.pt"], "contains its own"),
        (["fgnas_test_models:make", "--bits", "1"], "--bits"),
    ],
)
def test_models_that_are_none(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "QUIET_S", 3600)  # on a slow machine the wait has a line of its own
    (tmp_path / "fgnas_test_models.py").write_text(MODELS)
    (tmp_path / "text.pt2").write_text("hello")
    torch.save({}, tmp_path / "empty.pt")
    assert main(["import", *arguments, "--dataset", "digits"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and message in err
    assert not list(tmp_path.glob("*.json"))
