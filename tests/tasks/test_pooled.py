"""Graphs with targets of their own as one graph of all their nodes."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from edge_graphs import GRAPHS, WIDTH, write_graphs

from fgnas.errors import UserError
from fgnas.tasks import pooled, sources
from fgnas.tasks.nodes import build, load
from fgnas.tasks.pooled import PooledData, categories, of_collection


@pytest.fixture
def data(tmp_path: Path) -> PooledData:
    found = pooled.load(write_graphs(tmp_path))
    assert isinstance(found, PooledData)
    return found


def test_a_graph_of_all_nodes(data: PooledData) -> None:
    """No edge joins two graphs, every node has a loop, and masks are those of its graph."""
    assert data.width_in == WIDTH and data.classes == 1 and len(data.sizes) == GRAPHS
    assert np.array_equal(data.labels[data.sources], data.labels[data.targets])
    assert (data.sources == data.targets).sum() == data.nodes
    part = data.labels % 4
    for split, mask in (("train", part < 2), ("val", part == 2), ("test", part == 3)):
        assert np.array_equal(getattr(data, split), mask)
        assert np.array_equal(data.graphs_of(split), np.unique(data.labels[mask]))
    trained = data.targets_of_graphs[data.graphs_of("train")]
    assert data.centre == pytest.approx(trained.mean()) and data.scale == pytest.approx(trained.std())


def test_a_part_is_what_its_graphs_alone_make(data: PooledData) -> None:
    whole = sources.load(data.name)
    rows = np.array([0, 3, 7, 40])
    alone, part = of_collection(whole).part(rows), whole.part(rows)
    wanted = build("", part.features, part.edge_index, part.graph, *[np.ones(len(part.graph), bool)] * 3,
                   normalise=False)  # fmt: skip
    for name in ("indptr", "sources", "labels"):
        assert np.array_equal(getattr(alone, name), getattr(wanted, name)), name
    assert np.array_equal(alone.features.toarray(), part.features.toarray())
    assert np.array_equal(alone.targets_of_graphs, part.targets)
    assert alone.fingerprint != data.fingerprint and data.part(np.arange(GRAPHS)).fingerprint == data.fingerprint
    assert (alone.centre, alone.scale) == (data.centre, data.scale)


def test_a_start_has_the_largest_graphs_that_test(data: PooledData) -> None:
    two = pooled.load(pooled.reference(data.name, graphs=2))
    assert isinstance(two, PooledData)
    assert np.array_equal(np.sort(two.start.sizes), np.sort(data.sizes[3::4])[-2:])
    assert np.array_equal(data.start.targets_of_graphs, data.targets_of_graphs[3::4]) and data.start.test.all()
    assert pooled.start_of(data) is data.start and pooled.examined_of(data, ("val",)).val.all()
    digits = load("digits")
    assert pooled.start_of(digits) is pooled.calibrating_of(digits) is pooled.examined_of(digits, ()) is digits


def test_graphs_that_choose_scales_are_few_and_train(data: PooledData, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pooled, "CALIBRATED_ON", 5)
    assert len(data.calibrating.sizes) == 5 and data.calibrating.train.all()


def test_a_node_file_is_no_set_of_graphs(tmp_path: Path) -> None:
    edges, place = np.array([[0, 1, 2], [1, 2, 0]]), np.arange(3)
    np.savez(tmp_path / "nodes.npz", x=np.eye(3), edge_index=edges, y=place % 2, train_mask=place == 0,
             val_mask=place == 1, test_mask=place == 2)  # fmt: skip
    assert not isinstance(pooled.load(tmp_path / "nodes.npz"), PooledData)


def test_a_column_for_each_category_that_trains() -> None:
    x = sp.csr_matrix(np.array([[6, 0], [8, 1], [6, 1], [53, 2]], np.float32))
    found = categories(x, np.array([True, True, True, False]))
    assert found.toarray().tolist() == [[1, 0, 0], [0, 1, 1], [1, 0, 1], [0, 0, 0]]


def test_faults_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="unknown dataset 'esoll'; did you mean esol"):
        pooled.load("esoll")
    with np.load(write_graphs(tmp_path)) as archive:
        content = dict(archive)
    np.savez(tmp_path / "weighted.npz", **content, edge_weight=np.ones(content["edge_index"].shape[1]))
    with pytest.raises(UserError, match="weighted has weights of edges, which designs do not read"):
        pooled.load(tmp_path / "weighted.npz")
    content["y"][content["val_mask"]] = np.nan
    np.savez(tmp_path / "unknown.npz", **content)
    with pytest.raises(UserError, match="target 0 is known of no graph that is to val"):
        pooled.load(tmp_path / "unknown.npz")
