"""Images: the embedded digits, raw files in their published layouts, the user's file, and one line for every error."""

import gzip
import os
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

from fgnas.errors import UserError
from fgnas.tasks import images
from fgnas.tasks.images import load_images


def test_digits() -> None:
    data = load_images("digit-images")
    assert data.pixels.shape == (1797, 1, 8, 8) and data.classes == 10
    assert [int(mask.sum()) for mask in (data.train, data.val, data.test)] == [1000, 400, 397]
    assert not (data.train & data.val).any() and not (data.val & data.test).any()
    pixels, labels = data.split("train")
    assert len(labels) == 1000 and abs(pixels.mean()) < 1e-4 and abs(pixels.std() - 1) < 1e-4


@pytest.mark.skipif("FGNAS_DATA_ROOT" not in os.environ, reason="FGNAS_DATA_ROOT names no raw data")
def test_mnist() -> None:
    data = load_images("mnist-test")
    assert data.pixels.shape == (10000, 1, 28, 28) and data.classes == 10
    assert [int(mask.sum()) for mask in (data.train, data.val, data.test)] == [6000, 2000, 2000]
    assert np.bincount(data.labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FGNAS_DATA_ROOT", str(tmp_path))
    for read in (images._mnist, images._cifar):
        read.cache_clear()
    return tmp_path


def test_cifar_in_its_published_layout(root: Path) -> None:
    folder = root / "cifar-10-batches-py"
    folder.mkdir()
    rng = np.random.default_rng(1)
    for name, count in (*((f"data_batch_{number}", 2000) for number in range(1, 6)), ("test_batch", 300)):
        batch = {b"data": rng.integers(0, 256, (count, 3072), np.uint8), b"labels": rng.integers(0, 10, count).tolist()}
        (folder / name).write_bytes(pickle.dumps(batch, protocol=2))
    data = load_images("cifar10")
    assert data.pixels.shape == (10300, 3, 32, 32)
    assert [int(mask.sum()) for mask in (data.train, data.val, data.test)] == [5000, 5000, 300]
    images._cifar.cache_clear()


def test_a_pickle_that_would_run_code(root: Path) -> None:
    folder = root / "cifar-10-batches-py"
    folder.mkdir()
    (folder / "data_batch_1").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(UserError, match="data_batch_1: it holds a (os|posix).system"):
        load_images("cifar10")


def test_damaged_raw_files(root: Path) -> None:
    folder = root / "MNIST" / "raw"
    folder.mkdir(parents=True)
    with pytest.raises(UserError, match="t10k-images-idx3-ubyte.gz: No such file"):
        load_images("mnist-test")
    (folder / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(struct.pack(">4I", 0x801, 1, 2, 2) + bytes(4)))
    with pytest.raises(UserError, match="its first word is 0x801"):
        load_images("mnist-test")


def test_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FGNAS_DATA_ROOT", raising=False)
    images._mnist.cache_clear()
    with pytest.raises(UserError, match="mnist-test is read from .FGNAS_DATA_ROOT/MNIST/raw: set that variable"):
        load_images("mnist-test")
    with pytest.raises(UserError, match="unknown images 'faces'; known: digit-images, mnist-test, cifar10"):
        load_images("faces")


def content(**changes: object) -> dict[str, object]:
    place = np.arange(6)
    fields = {
        "x": np.arange(6 * 16).reshape(6, 4, 4).astype(np.uint8), "y": place % 3,
        "train_mask": place < 3, "val_mask": place == 3, "test_mask": place > 3,
    }  # fmt: skip
    return {name: value for name, value in (fields | changes).items() if value is not None}


def test_a_file_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    np.savez(path, **content())
    data = load_images(path)
    assert data.pixels.shape == (6, 1, 4, 4) and data.classes == 3 and data.label == "mine"
    np.savez(path, **content(x=np.random.default_rng(0).random((6, 4, 4, 3))))
    assert load_images(path).pixels.shape == (6, 3, 4, 4)


@pytest.mark.parametrize(("changes", "message"), [
    ({"y": None, "val_mask": None}, "lacks y, val_mask: it must hold x, y, train_mask, val_mask, test_mask"),
    ({"x": np.zeros(6)}, "x must be numbers"),
    ({"x": np.full((6, 4, 4), np.nan)}, "x holds values that are not finite"),
    ({"x": np.zeros((6, 4, 5))}, "images must be square, not 4 x 5"),
    ({"y": np.zeros(5, int)}, "y must be 6 whole numbers from 0"),
    ({"y": np.full(6, -1)}, "y must be 6 whole numbers from 0"),
    ({"train_mask": np.zeros(6, bool)}, "train_mask must be 6 truth values, one or more of them true"),
    ({"test_mask": np.arange(6) > 2}, "an image is in two splits"),
])  # fmt: skip
def test_faults_of_a_file(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    path = tmp_path / "mine.npz"
    np.savez(path, **content(**changes))
    with pytest.raises(UserError) as caught:
        load_images(path)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_no_npz(tmp_path: Path) -> None:
    (tmp_path / "mine.npz").write_bytes(b"no archive")
    with pytest.raises(UserError, match="cannot read the images"):
        load_images(tmp_path / "mine.npz")
