"""The user's own data: accepted formats, and a one-line message for every error."""

import json
import os
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from fgnas.cli import main
from fgnas.errors import UserError
from fgnas.tasks.files import Split
from fgnas.tasks.nodes import load, reference
from fgnas.tasks.notes import untold

NODES = 40


def fields(**changes):
    """A small graph with masks; a change to None leaves the field out."""
    rng = np.random.default_rng(0)
    x = (rng.random((NODES, 6)) * (rng.random((NODES, 6)) < 0.5)).astype(np.float32)
    ends = rng.integers(0, NODES, (2, 60))
    nodes = np.arange(NODES)
    plain = {
        "x": x, "edge_index": np.concatenate([ends, ends[::-1]], axis=1), "y": nodes % 3,
        "train_mask": nodes < 20, "val_mask": (nodes >= 20) & (nodes < 30), "test_mask": nodes >= 30,
    }  # fmt: skip
    return {name: value for name, value in {**plain, **changes}.items() if value is not None}


NO_MASKS = {"train_mask": None, "val_mask": None, "test_mask": None}


def save(path: Path, content: dict) -> Path:
    """Write the fields as an .npz or as a PyG Data; returns the path."""
    if path.suffix == ".npz":
        np.savez(path, **content)
    else:
        torch.save(Data(**{name: torch.as_tensor(value) for name, value in content.items()}), path)
    return path


@pytest.mark.parametrize("suffix", [".npz", ".pt", ".pth"])
def test_a_file_is_taken_as_it_stands(tmp_path, suffix):
    content = fields()
    data = load(save(tmp_path / f"mine{suffix}", content))
    np.testing.assert_array_equal(data.features.toarray(), content["x"])
    assert (data.nodes, data.width_in, data.classes, data.label) == (NODES, 6, 3, "mine")
    for name in ("train", "val", "test"):
        np.testing.assert_array_equal(getattr(data, name), content[f"{name}_mask"])
    pairs = {(s, t) for s, t in content["edge_index"].T.tolist() if s != t} | {(n, n) for n in range(NODES)}
    assert set(zip(data.sources.tolist(), data.targets.tolist(), strict=True)) == pairs


def test_formats_agree(tmp_path):
    """Dense or sparse, array or tensor, Data or dict: the same content has the same fingerprint."""
    content = fields()
    csr = sp.csr_matrix(content["x"])
    parts = {"x": None, "x_data": csr.data, "x_indices": csr.indices, "x_indptr": csr.indptr, "x_shape": csr.shape}
    tensors = {name: torch.as_tensor(value) for name, value in content.items()}
    torch.save(tensors, tmp_path / "dict.pt")
    torch.save(Data(**tensors | {"x": tensors["x"].to_sparse_csr()}), tmp_path / "sparse.pt")
    torch.save(tensors | {"y": tensors["y"][:, None]}, tmp_path / "column.pt")
    files = [
        save(tmp_path / "a.npz", content), save(tmp_path / "b.pt", content),
        save(tmp_path / "c.npz", fields(**parts)), tmp_path / "dict.pt", tmp_path / "sparse.pt", tmp_path / "column.pt",
    ]  # fmt: skip
    assert len({load(path).fingerprint for path in files}) == 1


def test_rows_are_normalised_when_asked(tmp_path):
    x = np.array([[1.0, -3.0], [0.0, 0.0], [2.0, 0.0]] * 10, np.float32)
    nodes = np.arange(30)
    content = fields(x=x, y=nodes % 2, edge_index=np.zeros((2, 0), np.int64), train_mask=nodes < 10,
                     val_mask=nodes == 10, test_mask=nodes > 10)  # fmt: skip
    path = save(tmp_path / "a.npz", content)
    assert load(path).features.toarray()[:3].tolist() == x[:3].tolist()
    data = load(reference(path, normalise=True))
    assert data.features.toarray()[:3].tolist() == [[0.25, -0.75], [0, 0], [1, 0]]


def test_what_becomes_of_edges_is_said(tmp_path):
    edges = np.array([[0, 1, 1, 2, 2, 3], [1, 0, 2, 3, 3, 3]])
    data = load(save(tmp_path / "a.npz", fields(edge_index=edges)))
    assert [remark.split()[0] for remark in data.remarks] == ["3", "1", "1"]
    assert "no edge back" in data.remarks[0] and "repetitions" in data.remarks[1] and "self-loops" in data.remarks[2]
    assert data.sources[data.indptr[3] : data.indptr[4]].tolist() == [2, 2, 3]
    symmetric = np.array([[0, 1], [1, 0]])
    assert load(save(tmp_path / "b.npz", fields(edge_index=symmetric))).remarks == ()


def test_a_split_is_seeded_and_keeps_its_ratio(tmp_path):
    path = save(tmp_path / "a.npz", fields(**NO_MASKS))
    once, again, other = (load(reference(path, split)) for split in ("60/20/20", "60/20/20:0", "60/20/20:1"))
    assert once.fingerprint == again.fingerprint != other.fingerprint
    sizes = [int(mask.sum()) for mask in (once.train, once.val, once.test)]
    assert sum(sizes) == NODES and abs(sizes[0] - 24) <= 2 and abs(sizes[1] - 8) <= 2
    assert not (once.train & once.val).any() and not (once.val & once.test).any()
    assert set(once.labels[once.train]) == {0, 1, 2}


def test_unlabelled_nodes_stay_out_of_a_split():
    labels = np.array([0, 1, -1] * 10)
    masks = Split.parse("50/30/20").masks(labels)
    assert not any(mask[labels < 0].any() for mask in masks)
    assert sum(int(mask.sum()) for mask in masks) == 20


def test_a_reference_is_whole_and_is_its_own_reference(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(Path("a.npz"), fields(**NO_MASKS))
    name = reference("a.npz", "60/20/20", normalise=True)
    assert name == f"{tmp_path}/a.npz#normalise=yes#split=60/20/20:0" == reference(name)
    monkeypatch.chdir("/")
    assert load(name).name == name and load(name).label == "a"
    assert reference("cora") == "cora"


def test_a_rewritten_file_is_read_again(tmp_path):
    path = save(tmp_path / "a.npz", fields())
    before = load(path).fingerprint
    save(path, fields(y=(np.arange(NODES) + 1) % 3))
    os.utime(path, ns=(1, 1))
    assert load(path).fingerprint != before


NAN = np.where(np.arange(NODES * 6).reshape(NODES, 6) == 7, np.nan, 1.0)
NONE = np.zeros(NODES, bool)
WRONG = {
    "x missing": (fields(x=None), "x is missing; the file has edge_index"),
    "y missing": (fields(y=None), "y is missing"),
    "edges missing": (fields(edge_index=None), "edge_index is missing"),
    "x of text": (fields(x=np.full((NODES, 6), "a")), "x is <U1, not numbers"),
    "x flat": (fields(x=np.zeros(NODES)), "x has the shape [40]"),
    "x empty": (fields(x=np.zeros((NODES, 0))), "nothing to classify"),
    "x wide": (fields(x=np.zeros((NODES, 16_385), np.int8)), "takes up to [1048576, 16384]"),
    "x NaN": (fields(x=NAN), "x[1, 1] is nan, which is not finite: fix"),
    "x infinite": (fields(x=np.where(np.isnan(NAN), np.inf, 1)), "x[1, 1] is inf"),
    "y short": (fields(y=np.arange(5)), "y has 5 labels for 40 nodes"),
    "y floats": (fields(y=np.ones(NODES)), "y is float64, not integers"),
    "y of many": (fields(y=np.ones((NODES, 3), int)), "y has the shape [40, 3]"),
    "y negative": (fields(y=np.arange(NODES) - 2), "y[0] is -2"),
    "y of one class": (fields(y=np.zeros(NODES, int)), "fewer than two classes"),
    "y far out": (fields(y=np.arange(NODES) * 99), "more classes than the graph has nodes"),
    "y unknown in a mask": (fields(y=np.arange(NODES) % 3 - 1), "selects node 0, which has no label"),
    "edges turned": (fields(edge_index=np.zeros((9, 2), int)), "not [2, edges]"),
    "edges floats": (fields(edge_index=np.zeros((2, 9))), "edge_index is float64"),
    "edges out of range": (
        fields(edge_index=np.array([[0, 1], [2, 40]])), "edge_index[1, 1] is 40, but nodes are 0 to 39",
    ),
    "edges below": (fields(edge_index=np.array([[0, -1], [2, 3]])), "edge_index[0, 1] is -1"),
    "edge weights": (fields(edge_weight=np.ones(120)), "the file has edge_weight"),
    "one mask": (fields(val_mask=None), "train_mask but no val_mask"),
    "no mask": (fields(**NO_MASKS), "give --split"),
    "mask short": (fields(val_mask=np.ones(3, bool)), "val_mask has 3 entries for 40 nodes"),
    "mask of nodes": (fields(val_mask=np.arange(NODES)), "masks are one boolean per node"),
    "mask of floats": (fields(val_mask=np.ones(NODES)), "val_mask is float64"),
    "many splits": (fields(val_mask=np.ones((NODES, 10), bool)), "val_mask contains 10 splits"),
    "mask empty": (fields(val_mask=NONE), "val_mask selects no node"),
    "masks meet": (fields(val_mask=np.arange(NODES) < 21), "20 nodes are in both train_mask and val_mask"),
    "half sparse": (fields(x=None, x_data=np.ones(3)), "give x, or all of x_data"),
    "bad sparse": (
        fields(x=None, x_data=np.ones(3), x_indices=np.array([0, 1, 9]), x_indptr=np.array([0, 5])),
        "are not a CSR matrix",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said(tmp_path, case):
    content, message = WRONG[case]
    path = save(tmp_path / "bad.npz", content)
    with pytest.raises(UserError) as caught:
        load(path)
    assert message in str(caught.value) and str(path) in str(caught.value)


def test_pickles_are_not_executed(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "executed"),)

    torch.save({"x": Evil()}, tmp_path / "evil.pt")
    (tmp_path / "old.pt").write_bytes(pickle.dumps(Evil()))
    np.savez(tmp_path / "evil.npz", x=np.array([Evil()], object))
    for name in ("evil.pt", "old.pt", "evil.npz"):
        with pytest.raises(UserError, match=name):
            load(tmp_path / name)
    assert not (tmp_path / "executed").exists()
    with pytest.raises(UserError, match=r"contains posix\.mkdir, and nothing in a data file is executed"):
        load(tmp_path / "evil.pt")


def test_files_that_are_none(tmp_path):
    (tmp_path / "text.pt").write_text("hello")
    (tmp_path / "text.npz").write_text("hello")
    torch.save([torch.ones(1)], tmp_path / "list.pt")
    for name, message in (
        ("gone.npz", "does not exist"), ("text.pt", "not saved by torch.save"), ("text.npz", "is not an .npz archive"),
        ("list.pt", "contains a list"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=message):
            load(tmp_path / name)


@pytest.mark.parametrize("split", ["60/20", "60/20/30", "0/50/50", "a/b/c", "60/20/20:x"])
def test_a_split_that_is_none(split):
    with pytest.raises(UserError, match="--split is"):
        Split.parse(split)


def test_a_split_is_for_files_without_masks(tmp_path):
    path = save(tmp_path / "a.npz", fields())
    with pytest.raises(UserError, match="already has masks"):
        load(reference(path, "60/20/20"))
    with pytest.raises(UserError, match="--split and --normalise are for data files"):
        reference("cora", "60/20/20")


def test_the_documentation_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "data.md").read_text()
    (block,) = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    exec(block, {})
    data = load(reference("graph.npz", "60/20/20"))
    assert (data.nodes, data.width_in, data.classes) == (120, 16, 2)


@pytest.mark.slow
def test_from_a_file_to_a_project(tmp_path, monkeypatch, capsys):
    """Search in two processes, resume, price, evaluate, and write a project after the file has moved."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # notes are shown once
    rng = np.random.default_rng(1)
    x = rng.random((NODES, 6)).astype(np.float32)
    save(Path("mine.npz"), fields(**NO_MASKS, x=x, y=(x[:, 0] > x[:, 1]).astype(int), edge_index=np.array([[0], [1]])))
    chosen = ["--dataset", "mine.npz", "--split", "60/20/20"]
    options = ["--lut", "1000000", "--ff", "1000000", "--children", "2", "--workers", "2"]
    assert main(["search", *chosen, *options, "--latency-ms", "9", "--json"]) == 0
    out, err = capsys.readouterr()
    best = json.loads(out)
    assert best["run"] == "mine-1" and "mine: 1 of 1 edges have no edge back" in err
    assert best["dataset"] == f"{tmp_path}/mine.npz#split=60/20/20:0"
    config = json.loads(Path("runs/mine-1/config.json").read_text())
    assert config["identity"]["fingerprint"] == load(best["dataset"]).fingerprint
    assert main(["search", "--run", "mine-1", "--resume"]) == 0
    Path("design.json").write_text(json.dumps(best["design"]))
    assert main(["price", "design.json", *chosen]) == 0
    assert main(["evaluate", "design.json", *chosen, "--seeds", "1"]) == 0
    capsys.readouterr()
    Path("mine.npz").rename("moved.npz")
    assert main(["hls", "mine-1"]) == 2
    assert main(["hls", "mine-1", "--dataset", "moved.npz", "--split", "60/20/20:5"]) == 2
    assert "fingerprint differs" in capsys.readouterr().err
    assert main(["hls", "mine-1", "--dataset", "moved.npz", "--split", "60/20/20"]) == 0
    assert main(["csim", "hls/best", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["mismatches"] == 0


def test_notes_are_told_once_for_each_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By content, whatever the file is called; each time where nothing can be stored."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    edges = np.array([[0, 1, 1, 2], [1, 0, 2, 2]])
    first = load(save(tmp_path / "a.npz", fields(edge_index=edges)))
    assert first.remarks and untold(first) == first.remarks
    assert untold(first) == untold(load(save(tmp_path / "b.npz", fields(edge_index=edges)))) == ()
    other = load(save(tmp_path / "c.npz", fields(edge_index=edges[:, :3])))
    assert untold(other) == other.remarks != ()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert untold(other) == untold(other) == other.remarks
