"""Faults of a model or its data: one line that names the fault, exit code 2, and nothing written."""

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data

from fgnas import progress
from fgnas.cli import main

NODES, WIDTH, CLASSES = 24, 6, 3
MODELS = """
import torch
from torch import nn
from torch.nn import functional as F
from torch_geometric.nn import GCNConv, GATConv, SAGEConv, GINConv, PNAConv, global_mean_pool, JumpingKnowledge
from torch_geometric.nn import LayerNorm, PairNorm, ResGatedGraphConv, TopKPooling

class Net(nn.Module):
    def __init__(self, first, second, between=F.relu):
        super().__init__()
        self.first, self.second, self.between = first, second, between
    def forward(self, x, edge_index):
        return self.second(self.between(self.first(x, edge_index)), edge_index)

class Normed(Net):
    def forward(self, x, edge_index):
        return self.second(self.first(x), edge_index)

class Edged(Net):
    def forward(self, x, edge_index, edge_attr):
        return self.second(self.first(x, edge_index, edge_attr), edge_index)

class Pooled(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = GCNConv(6, 3)
    def forward(self, x, edge_index):
        return global_mean_pool(self.conv(x, edge_index), None)

class Batched(Pooled):
    def forward(self, x, edge_index, batch):
        return global_mean_pool(self.conv(x, edge_index), batch)

class Attributed(Pooled):
    def forward(self, x, edge_index, edge_attr):
        return self.conv(x, edge_index)

class Timed(Pooled):
    def forward(self, x, edge_index, time):
        return self.conv(x, edge_index)

class Raising(Pooled):
    def forward(self, x, edge_index):
        raise ValueError("no such day\\nand two lines")

class Pair(Pooled):
    def forward(self, x, edge_index):
        return x, self.conv(x, edge_index)

class Same(Pooled):
    def forward(self, x, edge_index):
        return torch.ones(len(x), 3)

class Deciding(Pooled):
    def forward(self, x, edge_index):
        return self.conv(x, edge_index) if float(x.sum()) > 0 else x

class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.join = GCNConv(6, 3), JumpingKnowledge("lstm", 3, 2)
    def forward(self, x, edge_index):
        h = self.conv(x, edge_index)
        return self.join([h, h])

class Topped(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.pool = GCNConv(6, 3), TopKPooling(3)
    def forward(self, x, edge_index):
        return self.pool(self.conv(x, edge_index), edge_index)[0]

def seeded(make):
    def made():
        torch.manual_seed(0)
        return make()
    return made

random = lambda: Net(SAGEConv(6, 4), SAGEConv(4, 3))
good = seeded(random)
normed = seeded(lambda: Net(SAGEConv(6, 4), GCNConv(4, 3), LayerNorm(4)))
rows = seeded(lambda: Net(SAGEConv(6, 4), GCNConv(4, 3), nn.LayerNorm(4)))
gated = seeded(lambda: Net(ResGatedGraphConv(6, 4), GCNConv(4, 3)))
paired = seeded(lambda: Net(SAGEConv(6, 4), GCNConv(4, 3), PairNorm()))
unit = seeded(lambda: Net(SAGEConv(6, 4, normalize=True), GCNConv(4, 3)))
median = seeded(lambda: Net(SAGEConv(6, 4, aggr="median"), GCNConv(4, 3)))
several = seeded(lambda: Net(PNAConv(6, 4, ["mean", "median"], ["identity"], torch.tensor([1, 2, 3])), GCNConv(4, 3)))
edged = seeded(lambda: Edged(GATConv(6, 4, edge_dim=2), GCNConv(4, 3)))
classes = seeded(lambda: Net(SAGEConv(6, 4), SAGEConv(4, 5)))
narrow = seeded(lambda: Net(SAGEConv(9, 4), SAGEConv(4, 3)))
wide = seeded(lambda: Normed(nn.BatchNorm1d(9), SAGEConv(9, 3)))
outer = seeded(lambda: Net(GCNConv(6, 4), SAGEConv(4, 3), lambda h: (h @ h.T) @ h))
divided = seeded(lambda: Net(GCNConv(6, 4), SAGEConv(4, 3), lambda h: h / h.sum(1, keepdim=True)))
picked = seeded(lambda: Net(GCNConv(6, 4), SAGEConv(4, 3), lambda h: h[h[:, 0] > 0]))
sorting = seeded(lambda: Net(GCNConv(6, 4), SAGEConv(4, 3), lambda h: h.sort(0)[0]))
raising = lambda: 1 / 0
number = 3
pooled, batched, attributed, timed = map(seeded, (Pooled, Batched, Attributed, Timed))
failing, pair, same, deciding, recurrent, topped = map(seeded, (Raising, Pair, Same, Deciding, Recurrent, Topped))
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    x, near = rng.random((NODES, WIDTH)).astype(np.float32), np.arange(NODES)
    edges = np.stack([np.concatenate([near, (near + 1) % NODES]), np.concatenate([(near + 1) % NODES, near])])
    y, place = np.arange(NODES) % CLASSES, np.arange(NODES) % 4
    masks = {"train_mask": place < 2, "val_mask": place == 2, "test_mask": place == 3}
    plain = {"x": x, "edge_index": edges, "y": y, **masks}
    np.savez(folder / "g.npz", **plain)
    np.savez(folder / "wide.npz", **plain, edge_attr=rng.random((2 * NODES, 3)))
    np.savez(folder / "some.npz", **plain, edge_attr=rng.random((3, 3)))
    np.savez(folder / "several.npz", **plain, edge_weight=rng.random((2 * NODES, 3)))
    np.savez(folder / "nan.npz", **plain, edge_weight=np.full(2 * NODES, np.nan))
    graph = np.repeat(np.arange(6), 4)
    inside = (graph[:, None] == graph[None]).nonzero()
    many = {"x": x, "edge_index": np.stack(inside), "graph": graph, "y": np.arange(6.0)}
    np.savez(folder / "graphs.npz", **many)
    np.savez(folder / "crossing.npz", **many | {"edge_index": edges})
    np.savez(folder / "unsorted.npz", **many | {"graph": graph[::-1].copy()})
    np.savez(folder / "short.npz", **many | {"y": np.arange(5.0)})
    data = Data(torch.from_numpy(x), torch.from_numpy(edges), y=torch.from_numpy(y))
    torch.save(Batch.from_data_list([data, data]), folder / "batch.pt")
    torch.save(data, folder / "unsplit.pt")
    (folder / "fgnas_faulty_models.py").write_text(MODELS)
    (folder / "fgnas_lacking.py").write_text("import fgnas_gone\n")
    (folder / "lone.py").write_text("")
    torch.save(torch.nn.Linear(2, 2), folder / "whole.pt")
    (folder / "text.pt2").write_text("hello")
    (folder / "text.pt").write_text("hello")
    (folder / "bytes.pt2").write_bytes(np.random.default_rng(1).bytes(5000))
    (folder / "evil.pt").write_bytes(pickle.dumps(print))
    torch.save({}, folder / "empty.pt")
    torch.save({"first.lin_l.weight": torch.zeros(9, 9)}, folder / "shape.pt")
    return folder


def model(name: str, *further: str) -> list[str]:
    return [f"fgnas_faulty_models:{name}", *further]


CASES: dict[str, tuple[list[str], str]] = {
    "nothing": (["nothing"], "neither a .pt2 file nor module:factory"),
    "weights alone": (["gcn.pt"], "name the function that makes their module"),
    "weights alone in a file": (["shape.pt"], "shape.pt holds weights alone: name the function that makes their"),
    "no weights alone": (["gone.pt"], "gone.pt does not exist, and by its name would hold weights alone"),
    "a whole model": (["whole.pt"], "whole.pt contains no plain state_dict but the object"),
    "text for weights alone": (["text.pt"], "'net.pt') writes one"),
    "weights alone of lightning": (["gcn.ckpt"], "--weights gcn.ckpt"),
    "no program": (["gone.pt2"], "gone.pt2 does not exist"),
    "a program of text": (["text.pt2"], "was not saved by torch.export.save"),
    "a program of bytes": (["bytes.pt2"], "was not saved by torch.export.save"),
    "a program and weights": (["text.pt2", "--weights", "empty.pt"], "contains its own"),
    "no module": (["fgnas_gone:make"], "No module named fgnas_gone here: run the command in the folder of fgnas_gone."),
    "a misspelt module": (["fgnas_faulty_model:good"], "here: did you mean fgnas_faulty_models?"),
    "a file for a module": (["fgnas_faulty_models.py:good"], "its module, fgnas_faulty_models:good"),
    "a module that needs another": (["fgnas_lacking:make"], "module fgnas_lacking imports fgnas_gone, which is not"),
    "no factory": (model("gone"), "module fgnas_faulty_models has no attribute gone; it has Net, "),
    "a misspelt factory": (model("Pooledd"), "has no attribute Pooledd; it has Pooled"),
    "a factory of a module without one": (["lone:make"], "attribute make; it has neither a function nor a class"),
    "a factory with arguments": (model("Net"), "name a function without arguments that returns the model"),
    "no function": (model("number"), "does not return a model"),
    "a factory that raises": (model("raising"), "ZeroDivisionError"),
    "random weights": (model("random"), "random weights: give --weights FILE"),
    "no weights": (model("good", "--weights", "gone.pt"), "cannot read the weights gone.pt"),
    "how to write weights": (model("good", "--weights", "gone.pt"), "torch.save(model.state_dict(), 'gone.pt') writes"),
    "a whole model for weights": (model("good", "--weights", "whole.pt"), "'net.pt') writes one"),
    "weights of text": (model("good", "--weights", "text.pt"), "contains no plain state_dict"),
    "weights that execute": (model("good", "--weights", "evil.pt"), "contains no plain state_dict"),
    "other weights": (model("good", "--weights", "empty.pt"), "are not this model's"),
    "weights of another shape": (model("good", "--weights", "shape.pt"), "are not this model's"),
    "one bit": (model("good", "--bits", "1"), "--bits is 1: give 4 to 10"),
    "too many bits": (model("good", "--bits", "11"), "--bits is 11: give 4 to 10"),
    "bits before anything is loaded": (["gone.pt2", "--bits", "99"], "--bits is 99: give 4 to 10"),
    "no multipliers": (model("good", "--dsp", "0"), "--dsp is 0, but this model runs on a multiplier array"),
    "three bits of a network": (model("good", "--bits", "3"), "--bits is 3: give 4 to 10"),
    "a layer norm": (model("normed"), "layer between (LayerNorm): "),
    "a layer norm has another": (model("normed"), "columns together is not supported; use BatchNorm1d"),
    "a layer norm of torch": (model("rows"), "(LayerNorm): a norm over the columns of a row: use BatchNorm1d"),
    "a pair norm": (model("paired"), "rows of 1 and of 24 meet in sub; use BatchNorm1d"),
    "gates": (model("gated"), "not supported; use a layer without gates, such as GraphConv or GATv2Conv"),
    "a norm of rows": (model("unit"), "layer first (SAGEConv): a norm of rows"),
    "a median": (model("median"), "layer first (SAGEConv): "),
    "a median of several": (model("several"), "layer first (PNAConv): "),
    "features of edges": (model("attributed"), "the data has no edge_attr"),
    "other features of edges": (model("edged", "--dataset", "wide.npz"), "layer first (GATConv) does not run on this"),
    "features of some edges": (model("good", "--dataset", "some.npz"), "edge_attr has the shape [3, 3], not a number"),
    "several weights": (model("good", "--dataset", "several.npz"), "edge_weight has 3 numbers for each edge, not one"),
    "other classes": (model("classes"), "5 numbers for each row, but g has 3 classes"),
    "other features": (model("narrow"), "does not run on this data: it takes 9 features, and the data has 6; give the"),
    "other features of a norm": (model("wide"), "layer first (BatchNorm1d) does not run on this data: it takes 9"),
    "a product of features": (model("outer"), "rows that become columns are not supported"),
    "a quotient of features": (model("divided"), "division by a value that depends on features"),
    "rows by features": (model("picked"), "the model"),
    "rows that are sorted": (model("sorting"), "rows that are sorted"),
    "a pool of nodes": (model("pooled"), "one row for the whole graph"),
    "a batch of one graph": (model("batched"), "forward() needs batch; the data has no graphs"),
    "an unknown argument": (model("timed"), "forward() needs time"),
    "a model that raises": (model("failing"), "no such day and two lines"),
    "two results": (model("pair"), "returns a tuple, not a tensor"),
    "no features": (model("same"), "does not depend on the features"),
    "a decision": (model("deciding"), "a sum of rows and columns together"),
    "an LSTM": (model("recurrent"), "layer join (JumpingKnowledge): "),
    "a pool that drops nodes": (model("topped"), "layer pool (TopKPooling): "),
    "weights that are not finite": (model("good", "--dataset", "nan.npz"), "not finite"),
    "no such data": (model("good", "--dataset", "gone.npz"), "gone.npz does not exist"),
    "a data set by another name": (model("good", "--dataset", "ESOL"), "did you mean esol? known: digits, cora"),
    "an unknown data set": (model("good", "--dataset", "mnist"), "pubmed, esol, tox21, hiv, tu:NAME, and files"),
    "a batch": (model("good", "--dataset", "batch.pt"), "batch.to_data_list()"),
    "no masks": (model("good", "--dataset", "unsplit.pt"), "give --split"),
    "graphs without masks": (model("batched", "--dataset", "graphs.npz"), "give --split"),
    "edges between graphs": (model("batched", "--dataset", "crossing.npz", "--split", "50/25/25"), "two graphs"),
    "graphs out of order": (model("batched", "--dataset", "unsorted.npz", "--split", "50/25/25"), "ascending order"),
    "targets of some": (model("batched", "--dataset", "short.npz", "--split", "50/25/25"), "each of the 6 graphs"),
    "outputs of graphs": (model("batched", "--dataset", "graphs.npz", "--split", "50/25/25"), "graphs has 1 targets"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_one_line(case: str, files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, message = CASES[case]
    monkeypatch.chdir(files)
    monkeypatch.setattr(progress, "QUIET_S", 3600)  # on a slow machine the wait has a line of its own
    given = arguments if "--dataset" in arguments else [*arguments, "--dataset", "g.npz"]
    assert main(["import", *given]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and message in err and err.startswith("fgnas: "), err
    assert not list(files.glob("*.json"))


def test_a_damaged_program_is_one_line_of_the_program_itself(files: Path) -> None:
    """torch logs a traceback of its own where it is loaded, past what Python calls standard error."""
    command = [sys.executable, "-m", "fgnas.cli", "import", "bytes.pt2", "--dataset", "g.npz", "--quiet"]
    here = str(Path(__file__).parents[3])
    ran = subprocess.run(command, cwd=files, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": here})
    assert ran.returncode == 2 and ran.stdout == "" and ran.stderr.count("\n") == 1, ran.stderr
    assert ran.stderr.startswith("fgnas: bytes.pt2 was not saved by torch.export.save")


def test_a_program_of_other_shapes_says_how_to_export_it(files: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    program = torch.export.export(torch.nn.Linear(6, 3), (torch.rand(7, 6),))
    torch.export.save(program, tmp_path / "fixed.pt2")
    monkeypatch.chdir(tmp_path)
    assert main(["import", "fixed.pt2", "--dataset", str(files / "g.npz")]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "export it on this data, or with dynamic shapes" in err


def test_there_are_forty() -> None:
    assert len(CASES) >= 40


def prepared(files: Path, folder: Path, change: Callable[[Path], None]) -> Path:
    """An imported network that was changed."""
    assert main(["import", *model("good"), "--dataset", str(files / "g.npz"), "--out", str(folder / "n.json")]) == 0
    change(folder)
    return folder / "n.json"


def without(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        content = json.loads((folder / "n.json").read_text())
        del content[name]
        (folder / "n.json").write_text(json.dumps(content))

    return change


@pytest.mark.parametrize(("change", "message"), [
    (lambda folder: (folder / "n.npz").write_bytes(b"PK"), "SHA-256 differs"),
    (lambda folder: (folder / "n.npz").unlink(), "cannot read"),
    (without("sha256"), "n.json has no sha256"),
    (without("dsp"), "n.json has no dsp"),
])  # fmt: skip
def test_files_that_were_damaged(
    change: Callable[[Path], None], message: str, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(files)
    path = prepared(files, tmp_path, change)
    capsys.readouterr()
    assert main(["hls", str(path)]) == 2
    err = capsys.readouterr().err
    assert message in err.splitlines()[-1]


def test_options_that_are_for_designs(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    path = str(prepared(files, tmp_path, lambda _: None))
    for further in (["--target", "pipeline"], ["--compiler", "bambu"], ["--repurposing", "off"],
                    ["--dataset", "digits"], ["--design", "2"]):  # fmt: skip
        assert main(["hls", path, *further]) == 2
    assert main(["encode", path, "--on", "p", "--design", "2"]) == main(["onnx", path, "--design", "2"]) == 2
