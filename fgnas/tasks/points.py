"""Tasks of whole graphs: point clouds whose graph a network makes, and sets of graphs with edges of their own.

`digit-points` needs only scikit-learn; `shapes` is made here and synthetic. `mnist-points`, `modelnet10`, `modelnet40`
and `mr` are read from `$FGNAS_DATA_ROOT`; nothing is downloaded. Names that end in .npz are files of the user
(docs/data.md). `fgnas.tasks.sources` has molecules, graphs of the TU collection, and files with targets of any kind.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.errors import UserError
from fgnas.tasks import molecules, sentences, shapes, sources
from fgnas.tasks.collection import Collection, Kind
from fgnas.tasks.digits import digits
from fgnas.tasks.fingerprint import fingerprint_of
from fgnas.tasks.images import DIGITS_COUNTS, MNIST_COUNTS, SPLITS, drawn_masks, raw_folder, read_idx
from fgnas.tasks.nodes import UNDIVIDED
from fgnas.tasks.pooled import mask_faults, spread_of, target_faults
from fgnas.tasks.surfaces import Surface, mesh

Ints = NDArray[np.int64]

EMBEDDED = "digit-points"
MODELNETS = {"modelnet10": "ModelNet10", "modelnet40": "ModelNet40"}
MODELNET_POINTS = 1024
MNIST_POINTS = 256
SHAPES_POINTS = (64, 1024)
"""The fewest and the most points of a part."""
SHAPES_DEFAULT = 256
SHAPES_EACH = (100, 40, 40)
"""Parts of each family to train, validate and test."""
SAMPLE_SEED = 0
MASKS = tuple(f"{split}_mask" for split in SPLITS)


@dataclass(frozen=True, eq=False)
class GraphSet:
    """B graphs or point clouds with their targets, split three ways.

    Attributes:
        name: the reference with which `load_graphs` finds the data again, in any process.
        features: [n, F] float32 of all points, graph after graph.
        starts: [B + 1] where the points of each graph begin.
        labels: [B] int64 classes; of another kind [B, T] float64, NaN where unknown.
        classes: outputs of a network: the number of classes, or T.
        train, val, test: [B] bool, disjoint.
        neighbours: k of a graph that a network makes; a point is among its own k.
        edge_index: [2, E] int64 sources above targets, as in PyG, by place in `features`; None where a network makes
            the graph.
        synthetic: whether the data was made by a programme.
        kind: of the targets.
    """

    name: str
    features: NDArray[np.float32]
    starts: Ints
    labels: NDArray[Any]
    classes: int
    train: NDArray[np.bool_]
    val: NDArray[np.bool_]
    test: NDArray[np.bool_]
    neighbours: int
    edge_index: Ints | None = None
    synthetic: bool = False
    kind: Kind = "classes"

    @property
    def label(self) -> str:
        """A short name for people and for folders; for a file, its stem."""
        return Path(self.name).stem

    @property
    def width_in(self) -> int:
        """F, features of a point."""
        return int(self.features.shape[1])

    @functools.cached_property
    def sizes(self) -> Ints:
        """[B] points of each graph."""
        return np.diff(self.starts)

    @property
    def points(self) -> int | None:
        """N, where all graphs have as many points; else None."""
        return int(self.sizes[0]) if (self.sizes == self.sizes[0]).all() else None

    @functools.cached_property
    def spread(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """[T] mean and deviation of the numbers that train; those that never vary have the deviation 1."""
        return spread_of(self.labels[self.train].astype(np.float64))

    @property
    def deviation(self) -> float:
        """The RMSE of a network that says the mean of the numbers that train, on these."""
        return float(np.sqrt((self.spread[1] ** 2).mean()))

    def held_out(self, place: int, folds: int, seed: int) -> GraphSet:
        """The same graphs, where one of so many random parts of those for training and validation validates, and the
        others train."""
        used = np.random.default_rng(seed).permutation(np.flatnonzero(self.train | self.val))
        val = np.zeros_like(self.val)
        val[np.array_split(used, folds)[place]] = True
        return replace(self, train=(self.train | self.val) & ~val, val=val)

    def clouds(self, split: str) -> tuple[NDArray[np.float32], Ints]:
        """[graphs, N, F] features and [graphs] labels of "train", "val" or "test", of clouds of equal N."""
        assert self.points is not None, "clouds of unequal N do not fill an array"
        mask = getattr(self, split)
        return self.features.reshape(len(self.labels), self.points, -1)[mask], self.labels[mask]

    @functools.cached_property
    def fingerprint(self) -> str:
        """A hash of all arrays; it identifies the data in a run's configuration."""
        edges = np.zeros((2, 0), np.int64) if self.edge_index is None else self.edge_index
        neighbours = np.array(self.neighbours)
        return fingerprint_of((
            self.features, self.starts, self.labels, self.train, self.val, self.test, edges, neighbours,
        ))  # fmt: skip


def load_graphs(name: str | os.PathLike[str]) -> GraphSet:
    """Graphs by name, or from an `.npz`. Raises UserError, with a fix, where they cannot be loaded.

    "shapes" has 256 points a part, "shapes-N" has N.
    """
    name = os.fspath(name)
    if name in BUILT_IN:
        return BUILT_IN[name]()
    if sized := re.fullmatch(r"shapes(?:-(\d+))?", name):
        return _shapes(int(sized[1] or SHAPES_DEFAULT))
    if sources.has_graphs(name):
        return _named(name)
    if Path(name).suffix in (".pt", ".pth"):
        return of_collection(sources.load(name))
    if Path(name).suffix != ".npz":
        known = ", ".join((*BUILT_IN, "shapes", "shapes-N", *molecules.SOURCES, f"{UNDIVIDED}NAME"))
        raise UserError(f"unknown graphs {name!r}; known: {known}, and files that end in .npz or .pt")
    return _of_file(Path(name).expanduser().absolute())


@functools.lru_cache(maxsize=2)
def _named(name: str) -> GraphSet:
    """Graphs that others have collected."""
    return of_collection(sources.load(name))


def of_collection(data: Collection) -> GraphSet:
    """The graphs that models are imported for. Raises UserError for a single graph, and for what networks of operations
    do not read."""
    if data.graph is None:
        raise UserError(f"{data.label} is one graph, and networks of operations are for sets of graphs")
    if data.edge_weight is not None:
        raise UserError(f"{data.label} has weights of edges, which networks of operations do not read: leave them out")
    labels, masks = data.targets, {name: getattr(data, name) for name in SPLITS}
    for fault in target_faults(labels, masks):
        raise UserError(f"{data.label}: {fault}")
    if data.kind == "classes":
        if np.isnan(labels).any():
            raise UserError(f"{data.label} has graphs of unknown class: leave them out")
        labels = labels[:, 0].astype(np.int64)
        for fault in _split_faults(labels, masks):
            raise UserError(f"{data.label}: {fault}")
    sizes = np.bincount(data.graph, minlength=data.rows)
    return GraphSet(
        name=data.name, features=data.features.toarray().astype(np.float32), starts=_starts(sizes), labels=labels,
        classes=data.outputs, train=data.train, val=data.val, test=data.test,
        neighbours=default_neighbours(int(sizes.min())), edge_index=data.edge_index, kind=data.kind,
    )  # fmt: skip


def _starts(sizes: Ints) -> Ints:
    """[B + 1] where graphs of these sizes begin, one behind the other."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def default_neighbours(points: int) -> int:
    """k of clouds of so many points: 20 at 1,024, 8 at 64 (HGNAS, section 4.1; DGCNN), all points at most."""
    return min(points, 20 if points >= MODELNET_POINTS else 16 if points >= MNIST_POINTS else 8)


def of_clouds(
    name: str, clouds: NDArray[Any], labels: NDArray[Any], masks: Sequence[NDArray[np.bool_]], synthetic: bool = False
) -> GraphSet:
    """A set of clouds [B, N, F] whose graphs a network makes."""
    count, points, width = clouds.shape
    labels = np.asarray(labels, np.int64)
    return GraphSet(
        name=name, features=np.ascontiguousarray(clouds, np.float32).reshape(-1, width),
        starts=np.arange(count + 1) * points, labels=labels, classes=int(labels.max()) + 1, train=masks[0],
        val=masks[1], test=masks[2], neighbours=default_neighbours(points), synthetic=synthetic,
    )  # fmt: skip


@functools.cache
def _digits() -> GraphSet:
    """scikit-learn's 1,797 handwritten digits as 64 points of column, row and ink, each from -1 to 1."""
    shades, labels = digits()
    row, column = np.divmod(np.arange(64), 8)
    places = np.stack([column, row], axis=1) / 3.5 - 1
    ink = shades[:, :, None] / 8 - 1
    clouds = np.concatenate([np.broadcast_to(places, (len(ink), 64, 2)), ink], axis=2)
    return of_clouds(EMBEDDED, clouds, labels, drawn_masks(len(ink), *DIGITS_COUNTS))


@functools.cache
def _mnist() -> GraphSet:
    """MNIST's 10,000 test images as 256 points of column, row and ink, drawn by ink; a split of their own."""
    folder = raw_folder("mnist-points", "MNIST", "raw", embedded=EMBEDDED)
    pixels = read_idx(folder / "t10k-images-idx3-ubyte.gz", 3)
    labels = read_idx(folder / "t10k-labels-idx1-ubyte.gz", 1)
    rng = np.random.default_rng(SAMPLE_SEED)
    clouds = np.stack([_of_ink(image, rng) for image in pixels])
    return of_clouds("mnist-points", clouds, labels, drawn_masks(len(labels), *MNIST_COUNTS))


def _of_ink(image: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.float64]:
    """[256, 3] points within the pixels of an image [28, 28], as many as their ink has it."""
    ink = image.ravel().astype(np.float64)
    place = rng.choice(len(ink), MNIST_POINTS, p=ink / ink.sum())
    row, column = np.divmod(place, image.shape[1])
    within = rng.uniform(-0.5, 0.5, (MNIST_POINTS, 2))
    centred = (np.stack([column, row], axis=1) + within + 0.5) / (image.shape[1] / 2) - 1
    return np.concatenate([centred, ink[place, None] / 127.5 - 1], axis=1)


@functools.lru_cache(maxsize=2)
def _shapes(points: int) -> GraphSet:
    """The synthetic parts of `fgnas.tasks.shapes`, each from a seed of its own."""
    least, most = SHAPES_POINTS
    if not least <= points <= most:
        raise UserError(f"shapes have {least} to {most} points, not {points}")
    each, families = sum(SHAPES_EACH), len(shapes.FAMILIES)
    labels = np.repeat(np.arange(families), each)
    clouds = np.stack([
        shapes.part(family, points, np.random.default_rng([shapes.VERSION, family, number]))
        for family in range(families) for number in range(each)
    ])  # fmt: skip
    split = np.tile(np.repeat(np.arange(len(SPLITS)), SHAPES_EACH), families)
    name = "shapes" if points == SHAPES_DEFAULT else f"shapes-{points}"
    return of_clouds(name, clouds, labels, [split == one for one in range(len(SPLITS))], synthetic=True)


@functools.cache
def _modelnet(name: str) -> GraphSet:
    """A ModelNet of the user's: 1,024 points of each mesh by area, in the unit ball. A tenth of the published training
    meshes, drawn once, validates."""
    folder = raw_folder(name, MODELNETS[name], "raw", embedded=EMBEDDED)
    families = sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    found = [(family, split, path) for family in families for split in ("train", "test")
             for path in sorted((folder / family / split).glob("*.off"))]  # fmt: skip
    if not found:
        raise UserError(f"{name}: {folder} has no FAMILY/train/*.off: unpack {MODELNETS[name]}.zip there")
    clouds = np.stack([
        shapes.in_unit_ball(read_off(path).draw(MODELNET_POINTS, np.random.default_rng([SAMPLE_SEED, number])))
        for number, (_, _, path) in enumerate(found)
    ])  # fmt: skip
    labels = np.array([families.index(family) for family, _, _ in found])
    test = np.array([split == "test" for _, split, _ in found])
    val = ~test & (np.random.default_rng(SAMPLE_SEED).random(len(test)) < 0.1)
    for fault in _split_faults(labels, {"train": ~test & ~val, "val": val, "test": test}):
        raise UserError(f"{name}: {folder}: {fault}")
    return of_clouds(name, clouds, labels, (~test & ~val, val, test))


def read_off(path: Path) -> Surface:
    """The surface of an OFF file; faces of more than three corners become fans. Raises UserError for a damaged file."""
    try:
        words = path.read_text().removeprefix("OFF").split()  # some files lack the line break behind OFF
        vertices, count = int(words[0]), int(words[1])
        places = np.array(words[3 : 3 + 3 * vertices], np.float64).reshape(vertices, 3)
        rest, triangles, at = np.array(words[3 + 3 * vertices :], np.float64).astype(np.int64), list[list[int]](), 0
        for _ in range(count):
            corners = rest[at + 1 : at + 1 + rest[at]].tolist()
            triangles += [[corners[0], *corners[one : one + 2]] for one in range(1, len(corners) - 1)]
            at += 1 + int(rest[at])
        found = mesh(places, np.array(triangles, np.int64).reshape(-1, 3))
        if not np.linalg.norm(found.crosses(), axis=1).sum() > 0:
            raise ValueError("its faces have no area")
        return found
    except (OSError, ValueError, IndexError) as error:
        raise UserError(f"cannot read the mesh {path}: {getattr(error, 'strerror', None) or error}") from None


@functools.cache
def _sentences() -> GraphSet:
    """The user's copy of MR."""
    found = sentences.read(raw_folder("mr", "mr", embedded=EMBEDDED))
    masks = [found.splits == one for one in range(len(SPLITS))]
    return GraphSet(
        name="mr", features=found.features, starts=_starts(found.sizes), labels=found.labels,
        classes=len(sentences.FILES), train=masks[0], val=masks[1], test=masks[2],
        neighbours=default_neighbours(int(found.sizes.min())), edge_index=found.edges,
    )  # fmt: skip


BUILT_IN: dict[str, Callable[[], GraphSet]] = {
    EMBEDDED: _digits, "mnist-points": _mnist, **{name: functools.partial(_modelnet, name) for name in MODELNETS},
    "mr": _sentences,
}  # fmt: skip


def _of_file(path: Path) -> GraphSet:
    """The user's `.npz`: `points` [B, N, F], or `x`, `edge_index` and `graph`; `y` and a mask for each split over B."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            content = {name: archive[name] for name in archive.files}
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read the graphs {path}: {getattr(error, 'strerror', None) or error}") from None
    own = ("points",) if "points" in content else ("x", "edge_index", "graph")
    if "graph" in content and "y" in content and (content["y"].dtype.kind == "f" or content["y"].ndim > 1):
        return of_collection(sources.load(str(path)))  # targets that are no classes
    needed = (*own, "y", *MASKS)
    if missing := [name for name in needed if name not in content]:
        raise UserError(f"{path} lacks {', '.join(missing)}: it must hold points or x, edge_index and graph, and "
                        f"{', '.join(('y', *MASKS))}")  # fmt: skip
    masks = {name: content[name] for name in MASKS}
    for fault in _given_faults(content):
        raise UserError(f"{path}: {fault}")
    for fault in _set_faults(content["y"], masks, _graphs(content)):
        raise UserError(f"{path}: {fault}")
    labels = content["y"].astype(np.int64)
    if "points" in content:
        return of_clouds(str(path), content["points"], labels, tuple(masks.values()))
    return _of_edges(path, content, labels, tuple(masks.values()))


def _graphs(content: dict[str, NDArray[Any]]) -> int:
    """B."""
    return len(content["points"]) if "points" in content else int(content["graph"].max()) + 1


def _of_edges(
    path: Path, content: dict[str, NDArray[Any]], labels: Ints, masks: Sequence[NDArray[np.bool_]]
) -> GraphSet:
    """A set of graphs with edges of their own, its points sorted by graph."""
    order = np.argsort(content["graph"], kind="stable")
    place = np.argsort(order)
    sizes = np.bincount(content["graph"], minlength=len(labels))
    return GraphSet(
        name=str(path), features=np.asarray(content["x"], np.float32)[order], starts=_starts(sizes), labels=labels,
        classes=int(labels.max()) + 1, train=masks[0], val=masks[1], test=masks[2],
        neighbours=default_neighbours(int(sizes.min())), edge_index=place[content["edge_index"]].astype(np.int64),
    )  # fmt: skip


def _given_faults(content: dict[str, NDArray[Any]]) -> Iterator[str]:
    """Faults of the arrays of points or of graphs, one line each; only the first one is certain to be its own."""
    name, dimensions = ("points", 3) if "points" in content else ("x", 2)
    x = content[name]
    if x.ndim != dimensions or x.dtype.kind not in "uif" or not x.size:
        wanted = "[B, N, F]" if name == "points" else "[n, F]"
        yield f"{name} must be numbers {wanted}, not {x.dtype} {x.shape}"
        return
    if not np.isfinite(x).all():
        yield f"{name} holds values that are not finite"
    if name == "points":
        return
    graph, edges = content["graph"], content["edge_index"]
    if graph.shape != x.shape[:1] or graph.dtype.kind not in "ui" or len(np.unique(graph)) != graph.max() + 1:
        yield f"graph must name the graph of each of {len(x)} points, whole numbers from 0 with none left out"
        return
    if edges.ndim != 2 or len(edges) != 2 or edges.dtype.kind not in "ui":
        yield f"edge_index must be whole numbers [2, E], not {edges.dtype} {edges.shape}"
    elif edges.size and (edges.min() < 0 or edges.max() >= len(x)):
        yield f"edge_index must name points 0 to {len(x) - 1}"
    elif (graph[edges[0]] != graph[edges[1]]).any():
        yield "an edge joins two graphs"


def _set_faults(labels: NDArray[Any], masks: dict[str, NDArray[Any]], graphs: int) -> Iterator[str]:
    """Faults of the labels and masks of so many graphs, one line each."""
    if labels.shape != (graphs,) or labels.dtype.kind not in "ui" or labels.min(initial=0) < 0:
        yield f"y must be {graphs} whole numbers from 0, not {labels.dtype} {labels.shape}"
    for name, mask in masks.items():
        if mask.shape != (graphs,) or mask.dtype != bool:
            yield f"{name} must be {graphs} truth values, not {mask.dtype} {mask.shape}"
    yield from _split_faults(labels, dict(zip(SPLITS, masks.values(), strict=True)))


def _split_faults(labels: NDArray[Any], masks: dict[str, NDArray[Any]]) -> Iterator[str]:
    """Faults of splits: those of their masks, too few classes, a class that does not train."""
    yield from mask_faults(masks)
    if labels.max() < 1:
        yield "y has fewer than two classes"
    missing = np.setdiff1d(np.arange(labels.max() + 1), labels[masks["train"]])
    if len(missing):
        yield f"class {missing[0]} is missing among the graphs that train"
