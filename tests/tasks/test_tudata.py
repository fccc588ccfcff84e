"""Graphs of the TU collection by name, and datasets as PyG saves them: right, or one line that says what is missing."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.datasets import TUDataset

from fgnas.errors import UserError
from fgnas.tasks import nodes, sources

GRAPHS, NODES = 20, 3


def write(folder: Path, name: str = "RINGS", labels: bool = True, kinds: int = 2) -> Path:
    """Triangles with two classes, in the collection's files, which count from 1."""
    raw = folder / "TUDataset" / name / "raw"
    raw.mkdir(parents=True)
    first = np.arange(GRAPHS * NODES)
    behind = first // NODES * NODES + (first + 1) % NODES
    pairs = np.concatenate([np.stack([first, behind], 1), np.stack([behind, first], 1)]) + 1
    (raw / f"{name}_A.txt").write_text("".join(f"{a}, {b}\n" for a, b in pairs))
    (raw / f"{name}_graph_indicator.txt").write_text("".join(f"{one // NODES + 1}\n" for one in first))
    (raw / f"{name}_graph_labels.txt").write_text("".join(f"{1 - 2 * (one % 2)}\n" for one in range(GRAPHS)))
    (raw / f"{name}_edge_labels.txt").write_text("".join(f"{one % kinds}\n" for one in range(len(pairs))))
    if labels:
        (raw / f"{name}_node_labels.txt").write_text("".join(f"{one % NODES + 4}\n" for one in first))
    return raw


def test_a_data_set_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As PyG's own class has it."""
    write(tmp_path)
    monkeypatch.setenv("FGNAS_DATA_ROOT", str(tmp_path))
    data = sources.load("tu:RINGS")
    assert (data.rows, data.outputs, data.kind, data.label) == (GRAPHS, 2, "classes", "tu:RINGS")
    assert [int(one.sum()) for one in (data.train, data.val, data.test)] == [16, 2, 2]
    own = TUDataset(str(tmp_path / "TUDataset"), "RINGS")
    np.testing.assert_array_equal(data.features.toarray(), np.concatenate([one.x.numpy() for one in own]))
    np.testing.assert_array_equal(data.targets[:, 0], [int(one.y) for one in own])
    assert data.edge_index.shape[1] == sum(one.num_edges for one in own)
    np.testing.assert_array_equal(data.edge_features, np.concatenate([one.edge_attr.numpy() for one in own]))
    other = sources.load(nodes.reference("tu:RINGS", "50/25/25:3"))
    assert int(other.train.sum()) == 10 and other.name == "tu:RINGS#split=50/25/25:3"
    saved = sources.load(nodes.reference(own.processed_paths[0], "50/25/25:3"))
    np.testing.assert_array_equal(saved.targets, other.targets)
    np.testing.assert_array_equal(saved.edge_index, other.edge_index)
    np.testing.assert_array_equal(saved.edge_features, other.edge_features)


def test_a_single_label_of_edges_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, kinds=1)
    monkeypatch.setenv("FGNAS_DATA_ROOT", str(tmp_path))
    data = sources.load("tu:RINGS")
    assert data.edge_weight is None and data.edge_features is None


def test_what_is_missing_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FGNAS_DATA_ROOT", str(tmp_path))
    write(tmp_path, "BARE", labels=False)
    (write(tmp_path, "TORN") / "TORN_graph_indicator.txt").write_text("x\n")
    for name, told in (("MUTAG", "TUDataset/MUTAG/raw"), ("BARE", "no labels of nodes"), ("TORN", "is no data set"),
                       ("", "there is no")):  # fmt: skip
        with pytest.raises(UserError, match=told) as caught:
            sources.load(f"tu:{name}")
        assert "\n" not in str(caught.value)
    with pytest.raises(UserError, match="unknown dataset 'tu:MUTAG'"):
        nodes.load("tu:MUTAG")


def test_a_dataset_of_one_graph_is_a_graph(tmp_path: Path) -> None:
    place = torch.arange(12) % 3
    masks = {f"{name}_mask": place == number for number, name in enumerate(("train", "val", "test"))}
    one = Data(x=torch.rand(12, 4), edge_index=torch.randint(0, 12, (2, 30)), y=torch.arange(12) % 2, **masks)
    InMemoryDataset.save([one], str(tmp_path / "one.pt"))
    data = sources.load(str(tmp_path / "one.pt"))
    assert (data.rows, data.graph, data.outputs) == (12, None, 2)
    bare = [Data(edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([1]), num_nodes=2) for _ in range(4)]
    InMemoryDataset.save(bare, str(tmp_path / "bare.pt"))
    with pytest.raises(UserError, match="its graphs have no x"):
        sources.load(str(tmp_path / "bare.pt"))
