"""Image classification: embedded digits, MNIST and CIFAR-10 from raw files, and the user's `.npz`.

`digit-images` needs only scikit-learn. `mnist-test` and `cifar10` are read from `$FGNAS_DATA_ROOT/MNIST/raw` and
`$FGNAS_DATA_ROOT/cifar-10-batches-py`, in the layouts in which they are published; nothing is downloaded.
"""

from __future__ import annotations

import functools
import gzip
import os
import pickle
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.errors import UserError
from fgnas.tasks.digits import digits
from fgnas.tasks.fingerprint import fingerprint_of

SPLITS = ("train", "val", "test")
FIELDS = ("x", "y")
SPLIT_SEED = 0
DIGITS_COUNTS = (1000, 400)
MNIST_COUNTS = (6000, 2000)
CIFAR_VALIDATION = 5000


@dataclass(frozen=True, eq=False)
class ImageData:
    """Images of one size with their classes, split three ways.

    Attributes:
        name: the reference with which `load_images` finds the data again, in any process.
        pixels: [n, channels, height, width] float32, scaled so that each channel has mean 0 and deviation 1 over the
            training images.
        labels: [n] int64.
        classes: number of classes.
        train, val, test: [n] bool, disjoint.
    """

    name: str
    pixels: NDArray[np.float32]
    labels: NDArray[np.int64]
    classes: int
    train: NDArray[np.bool_]
    val: NDArray[np.bool_]
    test: NDArray[np.bool_]

    @property
    def label(self) -> str:
        """A short name for people and for folders; for a file, its stem."""
        return Path(self.name).stem

    def split(self, name: str) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Pixels and labels of "train", "val" or "test"."""
        mask = getattr(self, name)
        return self.pixels[mask], self.labels[mask]

    @functools.cached_property
    def fingerprint(self) -> str:
        """A hash of all arrays; it identifies the data in a run's configuration."""
        return fingerprint_of((self.pixels, self.labels, self.train, self.val, self.test))


def load_images(name: str | os.PathLike[str]) -> ImageData:
    """Images by name, or from an `.npz`. Raises UserError, with a fix, where they cannot be loaded."""
    name = os.fspath(name)
    if name in BUILT_IN:
        return BUILT_IN[name]()
    if Path(name).suffix != ".npz":
        raise UserError(f"unknown images {name!r}; known: {', '.join(BUILT_IN)}, and files that end in .npz")
    path = Path(name).expanduser().absolute()
    return _of_file(path)


def build_images(
    name: str, pixels: NDArray[Any], labels: NDArray[Any], masks: tuple[NDArray[np.bool_], ...]
) -> ImageData:
    """Images from raw arrays: pixels [n, channels, height, width] of any scale, and one mask [n] for each split."""
    train = masks[0]
    pixels = np.asarray(pixels, np.float32)
    mean = pixels[train].mean(axis=(0, 2, 3), keepdims=True)
    deviation = pixels[train].std(axis=(0, 2, 3), keepdims=True)
    scaled = (pixels - mean) / np.where(deviation > 0, deviation, 1)
    labels = np.asarray(labels, np.int64)
    return ImageData(name, scaled.astype(np.float32), labels, int(labels.max()) + 1, *masks)


def drawn_masks(count: int, train: int, val: int) -> tuple[NDArray[np.bool_], ...]:
    """Masks of the first `train`, the next `val` and the other images of a fixed random order."""
    order = np.random.default_rng(SPLIT_SEED).permutation(count)
    masks = tuple(np.zeros(count, bool) for _ in SPLITS)
    for mask, part in zip(masks, np.split(order, [train, train + val]), strict=True):
        mask[part] = True
    return masks


@functools.cache
def _digits() -> ImageData:
    """scikit-learn's 1,797 handwritten digits of 8 x 8 pixels: 1,000, 400 and 397."""
    shades, labels = digits()
    pixels = shades.reshape(-1, 1, 8, 8)
    return build_images("digit-images", pixels, labels, drawn_masks(len(pixels), *DIGITS_COUNTS))


@functools.cache
def _mnist() -> ImageData:
    """MNIST's 10,000 test images of 28 x 28 pixels under a split of their own: 6,000, 2,000 and 2,000."""
    folder = raw_folder("mnist-test", "MNIST", "raw")
    pixels = read_idx(folder / "t10k-images-idx3-ubyte.gz", 3)
    labels = read_idx(folder / "t10k-labels-idx1-ubyte.gz", 1)
    return build_images("mnist-test", pixels[:, None], labels, drawn_masks(len(pixels), *MNIST_COUNTS))


@functools.cache
def _cifar() -> ImageData:
    """CIFAR-10: the last 5,000 of its 50,000 training images validate, its 10,000 test images test."""
    folder = raw_folder("cifar10", "cifar-10-batches-py")
    batches = [_cifar_batch(folder / f"data_batch_{number}") for number in range(1, 6)]
    batches.append(_cifar_batch(folder / "test_batch"))
    pixels = np.concatenate([pixels for pixels, _ in batches]).reshape(-1, 3, 32, 32)
    labels = np.concatenate([labels for _, labels in batches])
    place, held = np.arange(len(labels)), len(labels) - len(batches[-1][1])
    train = place < held - CIFAR_VALIDATION
    return build_images("cifar10", pixels, labels, (train, ~train & (place < held), place >= held))


BUILT_IN: dict[str, Callable[[], ImageData]] = {"digit-images": _digits, "mnist-test": _mnist, "cifar10": _cifar}


def raw_folder(name: str, *parts: str, embedded: str = "digit-images") -> Path:
    """The folder of raw files below FGNAS_DATA_ROOT; `embedded` names data that needs none, for the message."""
    root = os.environ.get("FGNAS_DATA_ROOT")
    if not root:
        place = Path("$FGNAS_DATA_ROOT", *parts)
        raise UserError(f"{name} is read from {place}: set that variable, or use {embedded}, which needs none")
    return Path(root, *parts)


def read_idx(path: Path, dimensions: int) -> NDArray[np.uint8]:
    """The array of a gzipped IDX file."""
    try:
        content = gzip.decompress(path.read_bytes())
        magic, *shape = struct.unpack_from(f">{1 + dimensions}I", content)
        values = np.frombuffer(content, np.uint8, offset=4 * (1 + dimensions))
        if magic != 0x800 + dimensions:
            raise ValueError(f"its first word is {magic:#x}")
        return values.reshape(shape)
    except (OSError, EOFError, ValueError, struct.error) as error:
        raise UserError(f"cannot read the images {path}: {getattr(error, 'strerror', None) or error}") from None


class _ArraysOnly(pickle.Unpickler):
    """Reads what CIFAR-10's files hold, and nothing that could run code."""

    ALLOWED = {
        ("numpy.core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "_reconstruct"), ("numpy", "ndarray"),
        ("numpy", "dtype"), ("_codecs", "encode"),
    }  # fmt: skip

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.ALLOWED:
            raise pickle.UnpicklingError(f"it holds a {module}.{name}")
        return super().find_class(module, name)


def _cifar_batch(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pixels [n, 3072] and labels [n] of one batch."""
    try:
        with path.open("rb") as file:
            batch = _ArraysOnly(file, encoding="bytes").load()
        return np.asarray(batch[b"data"], np.uint8).reshape(-1, 3072), np.asarray(batch[b"labels"], np.int64)
    except (OSError, EOFError, KeyError, TypeError, ValueError, pickle.UnpicklingError) as error:
        raise UserError(f"cannot read the images {path}: {getattr(error, 'strerror', None) or error}") from None


def _of_file(path: Path) -> ImageData:
    """The user's `.npz`: x [n, height, width] or [n, height, width, channels], y [n], and a mask for each split."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            content = {name: archive[name] for name in archive.files}
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read the images {path}: {getattr(error, 'strerror', None) or error}") from None
    masks = [f"{split}_mask" for split in SPLITS]
    if missing := [name for name in (*FIELDS, *masks) if name not in content]:
        raise UserError(f"{path} lacks {', '.join(missing)}: it must hold {', '.join((*FIELDS, *masks))}")
    pixels, labels = content["x"], content["y"]
    for fault in _faults(pixels, labels, {name: content[name] for name in masks}):
        raise UserError(f"{path}: {fault}")
    pixels = pixels[:, None] if pixels.ndim == 3 else np.moveaxis(pixels, -1, 1)
    return build_images(str(path), pixels, labels, tuple(content[name] for name in masks))


def _faults(pixels: NDArray[Any], labels: NDArray[Any], masks: dict[str, NDArray[Any]]) -> Iterator[str]:
    """Faults of a file's arrays, one line each; only the first one is certain to be its own."""
    if pixels.ndim not in (3, 4) or pixels.dtype.kind not in "uif" or not pixels.size:
        shape = "[n, height, width] or [n, height, width, channels]"
        yield f"x must be numbers {shape}, not {pixels.dtype} {pixels.shape}"
    if not np.isfinite(pixels).all():
        yield "x holds values that are not finite"
    if labels.shape != pixels.shape[:1] or labels.dtype.kind not in "ui" or labels.min() < 0:
        yield f"y must be {len(pixels)} whole numbers from 0, not {labels.dtype} {labels.shape}"
    for name, mask in masks.items():
        if mask.shape != labels.shape or mask.dtype != bool or not mask.any():
            yield f"{name} must be {len(pixels)} truth values, one or more of them true"
    if np.any(np.sum(list(masks.values()), axis=0, dtype=int) > 1):
        yield "an image is in two splits"
    if pixels.shape[1] != pixels.shape[2]:
        yield f"images must be square, not {pixels.shape[1]} x {pixels.shape[2]}"
