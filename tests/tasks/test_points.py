"""Graph sets: embedded digits, synthetic parts, published layouts, the user's file, one line a fault."""

import gzip
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fgnas.errors import UserError
from fgnas.tasks import points
from fgnas.tasks.points import load_graphs, read_off
from fgnas.tasks.shapes import FAMILIES, part


def test_digits() -> None:
    data = load_graphs("digit-points")
    assert (data.points, data.width_in, data.classes, data.neighbours, data.synthetic) == (64, 3, 10, 8, False)
    assert [int(mask.sum()) for mask in (data.train, data.val, data.test)] == [1000, 400, 397]
    clouds, labels = data.clouds("val")
    assert clouds.shape == (400, 64, 3) and clouds.dtype == np.float32 and len(labels) == 400
    assert clouds[0, 1, :2].tolist() == pytest.approx([-1 + 1 / 3.5, -1])  # second column of the first row
    assert (clouds.min(), clouds.max()) == (-1, 1)


def test_shapes() -> None:
    data = load_graphs("shapes-64")
    assert (data.points, data.classes, data.neighbours, data.synthetic) == (64, len(FAMILIES), 8, True)
    assert np.bincount(data.labels[data.train]).tolist() == [100] * 16
    clouds, _ = data.clouds("train")
    assert np.linalg.norm(clouds, axis=2).max(axis=1) == pytest.approx(1.0)
    assert len(np.unique(clouds.reshape(len(clouds), -1), axis=0)) == len(clouds)  # no part twice
    assert load_graphs("shapes").points == 256


@pytest.mark.parametrize("family", range(len(FAMILIES)), ids=list(FAMILIES))
def test_a_part_is_that_of_its_seed(family: int) -> None:
    first, again, other = (part(family, 64, np.random.default_rng([1, seed])) for seed in (0, 0, 1))
    assert np.array_equal(first, again) and not np.allclose(first, other)
    assert np.isfinite(first).all() and first.shape == (64, 3)


@pytest.mark.parametrize("size", [63, 1025])
def test_shapes_of_another_size(size: int) -> None:
    with pytest.raises(UserError, match=f"64 to 1024 points, not {size}"):
        load_graphs(f"shapes-{size}")


@pytest.mark.skipif("FGNAS_DATA_ROOT" not in os.environ, reason="FGNAS_DATA_ROOT names no raw data")
def test_mnist() -> None:
    data = load_graphs("mnist-points")
    assert (data.points, data.width_in, data.neighbours) == (256, 3, 16) and len(data.labels) == 10000
    clouds, _ = data.clouds("test")
    assert clouds[..., :2].min() >= -1 and clouds[..., :2].max() <= 1 and clouds[..., 2].min() > -1


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FGNAS_DATA_ROOT", str(tmp_path))
    for read in (points._mnist, points._modelnet):
        read.cache_clear()
    return tmp_path


CUBE = "8 6 0\n" + "\n".join(f"{x} {y} {z}" for x in (0, 2) for y in (0, 2) for z in (0, 2)) + """
4 0 1 3 2
4 4 6 7 5
4 0 4 5 1
4 2 3 7 6
4 0 2 6 4
4 1 5 7 3
"""


def test_mnist_is_drawn_by_ink(root: Path) -> None:
    folder = root / "MNIST" / "raw"
    folder.mkdir(parents=True)
    images = np.zeros((10000, 28, 28), np.uint8)
    images[:, 27, 0] = 200
    header = struct.pack(">4I", 0x803, 10000, 28, 28)
    (folder / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(header + images.tobytes(), 1))
    labels = np.arange(10000, dtype=np.uint8) % 10
    header = struct.pack(">2I", 0x801, 10000)
    (folder / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(header + labels.tobytes()))
    clouds, _ = load_graphs("mnist-points").clouds("val")
    x, y, ink = np.moveaxis(clouds, 2, 0)
    assert x.max() <= -1 + 1 / 14 + 1e-6 and y.min() >= 1 - 1 / 14 - 1e-6  # the last row, the first column
    assert ink == pytest.approx(200 / 127.5 - 1)


def test_modelnet_in_its_published_layout(root: Path) -> None:
    rng = np.random.default_rng(0)
    for family in ("chair", "desk"):
        for split, count in (("train", 30), ("test", 4)):
            folder = root / "ModelNet10" / "raw" / family / split
            folder.mkdir(parents=True)
            for number in range(count):
                (folder / f"{family}_{number:04}.off").write_text(("OFF" if rng.random() < 0.5 else "OFF\n") + CUBE)
    data = load_graphs("modelnet10")
    assert (data.points, data.neighbours, data.classes) == (1024, 20, 2) and int(data.test.sum()) == 8
    assert data.val.any() and (data.train ^ data.val ^ data.test).all()
    clouds, labels = data.clouds("test")
    assert labels.tolist() == [0] * 4 + [1] * 4 and np.linalg.norm(clouds, axis=2).max() == pytest.approx(1.0)


def test_faces_of_a_mesh(tmp_path: Path) -> None:
    (tmp_path / "cube.off").write_text("OFF\n" + CUBE)
    found = read_off(tmp_path / "cube.off")
    assert len(found.corners) == 12 and np.linalg.norm(found.crosses(), axis=1).sum() / 2 == pytest.approx(24)


@pytest.mark.parametrize(
    "content", ["", "3 1 0\n0 0 0\n1 0 0", "3 1 0\n0 0 0 1 0 0 0 1 0\n3 0 1 7", "3 0 0\n0 0 0 1 0 0 0 1 0"]
)
def test_a_damaged_mesh(tmp_path: Path, content: str) -> None:
    (tmp_path / "one.off").write_text(f"OFF\n{content}\n")
    with pytest.raises(UserError, match="cannot read the mesh .*one.off"):
        read_off(tmp_path / "one.off")


@pytest.mark.parametrize("name, place", [("modelnet40", "ModelNet40/raw"), ("mnist-points", "MNIST/raw")])
def test_raw_files_are_missing(name: str, place: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=place):
        load_graphs(name)
    monkeypatch.delenv("FGNAS_DATA_ROOT")
    with pytest.raises(UserError, match="use digit-points, which needs none"):
        load_graphs(name)


def cloud_file() -> dict[str, Any]:
    """The content of a valid file of clouds."""
    y = np.arange(12) % 2
    masks = {f"{split}_mask": np.arange(12) // 4 == place for place, split in enumerate(("train", "val", "test"))}
    return {"points": np.random.default_rng(0).random((12, 10, 3)), "y": y, **masks}


def graph_file() -> dict[str, Any]:
    """The content of a valid file of graphs with edges: points of 12 graphs, out of order."""
    content = cloud_file()
    del content["points"]
    graph = np.arange(60) % 12
    edges = np.array([(a, b) for a in range(60) for b in range(60) if a % 12 == b % 12]).T
    return {"x": np.arange(60.0)[:, None], "graph": graph, "edge_index": edges, **content}


def test_a_file_of_clouds(tmp_path: Path) -> None:
    np.savez(tmp_path / "clouds.npz", **cloud_file())
    data = load_graphs(tmp_path / "clouds.npz")
    assert (data.label, data.points, data.neighbours, data.classes) == ("clouds", 10, 8, 2)
    assert data.edge_index is None
    assert np.array_equal(data.clouds("train")[0], cloud_file()["points"][:4].astype(np.float32))
    assert load_graphs(str(tmp_path / "clouds.npz")).fingerprint == data.fingerprint


def test_parts_that_are_held_out_in_turn(tmp_path: Path) -> None:
    """Every cloud that trains or validates is in one part; the test split stays, and a seed fixes the parts."""
    np.savez(tmp_path / "clouds.npz", **cloud_file())
    data = load_graphs(tmp_path / "clouds.npz")
    used = data.train | data.val
    parts = [data.held_out(place, 3, 5) for place in range(3)]
    assert np.array_equal(np.sum([one.val for one in parts], axis=0), used.astype(int))
    assert all(np.array_equal(one.train | one.val, used) and not (one.train & one.val).any() for one in parts)
    assert all(np.array_equal(one.test, data.test) for one in parts)
    assert np.array_equal(data.held_out(1, 3, 5).val, parts[1].val)
    assert any((data.held_out(1, 3, seed).val != parts[1].val).any() for seed in range(6, 16))


def test_a_file_of_graphs(tmp_path: Path) -> None:
    """Points are sorted by graph; edges still join the same ones."""
    np.savez(tmp_path / "graphs.npz", **graph_file())
    data = load_graphs(tmp_path / "graphs.npz")
    assert data.starts.tolist() == list(range(0, 61, 5)) and data.edge_index is not None
    assert data.features[:5, 0].tolist() == [0, 12, 24, 36, 48]
    found = {tuple(pair) for pair in data.features[data.edge_index, 0].T.astype(int).tolist()}
    assert found == {tuple(pair) for pair in graph_file()["edge_index"].T.tolist()}


@pytest.mark.parametrize(
    "change, message",
    [
        ({"points": np.zeros((12, 3))}, "points must be numbers"),
        ({"points": np.full((12, 2, 3), np.nan)}, "not finite"),
        ({"y": np.zeros(11, int)}, "y must be 12 whole numbers"),
        ({"y": np.array([0] * 11 + [1])}, "class 1 is missing among the graphs that train"),
        ({"y": np.zeros(12, int)}, "y has fewer than two classes"),
        ({"val_mask": np.zeros(12, bool)}, "no graph is to val"),
        ({"val_mask": np.ones(12, bool)}, "in two splits"),
        ({"test_mask": np.ones(12, int)}, "test_mask must be 12 truth values"),
        ({"points": None}, "lacks x, edge_index, graph"),
        ({"y": None}, "lacks y"),
    ],
)  # fmt: skip
def test_a_wrong_file_of_clouds(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    content = {name: value for name, value in (cloud_file() | change).items() if value is not None}
    np.savez(tmp_path / "wrong.npz", **content)
    with pytest.raises(UserError, match=f"wrong.npz.*{message}"):
        load_graphs(tmp_path / "wrong.npz")


@pytest.mark.parametrize(
    "change, message",
    [
        ({"y": np.arange(11) % 2}, "y must be 12 whole numbers"),
        ({"graph": np.where(np.arange(60) % 12 == 3, 4, np.arange(60) % 12)}, "graph must name"),
        ({"edge_index": np.array([[0], [1]])}, "joins two graphs"),
        ({"edge_index": np.array([[0], [60]])}, "edge_index must name points 0 to 59"),
        ({"edge_index": np.zeros((3, 4), int)}, "edge_index must be whole numbers"),
        ({"x": np.zeros((0, 2))}, "x must be numbers"),
    ],
)
def test_a_wrong_file_of_graphs(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    np.savez(tmp_path / "wrong.npz", **(graph_file() | change))
    with pytest.raises(UserError, match=f"wrong.npz.*{message}"):
        load_graphs(tmp_path / "wrong.npz")


def test_unknown_names(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="known: digit-points, mnist-points, modelnet10, modelnet40, mr, shapes"):
        load_graphs("digits")
    with pytest.raises(UserError, match="cannot read the graphs"):
        load_graphs(tmp_path / "missing.npz")
