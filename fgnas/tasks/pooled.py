"""Tasks of whole graphs as one graph of all their nodes: a result is the mean of the logits of a graph's nodes."""

from __future__ import annotations

import functools
import os
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fgnas.errors import UserError
from fgnas.tasks import files, molecules, nodes, sources
from fgnas.tasks.collection import PARTS, Collection, Kind, Reals
from fgnas.tasks.fingerprint import fingerprint_of
from fgnas.tasks.nodes import GraphData, build

TOGETHER = 64
"""Graphs that hardware runs in one start, unless as many are asked for."""
GRAPHS = "#graphs="
"""Behind a name: as many graphs in a start."""
CALIBRATED_ON = 256
"""Graphs that choose scales."""


@dataclass(frozen=True, eq=False)
class PooledData(GraphData):
    """B graphs with targets of their own, their nodes one graph behind the other; masks are those of the nodes.

    Attributes:
        labels: [N] the graph of each node, ascending.
        classes: outputs of a network: the number of classes, or T.
        targets_of_graphs: [B, T]; NaN where unknown.
        kind: of the targets.
        centre, scale: [T] numbers are learnt as multiples of `scale` from `centre`: those that train have the mean 0
            and the deviation 1.
        largest: |S(i)| of all graphs that there are: others than those of a start run on hardware that is built for it.
        chosen: whether these graphs were chosen from others: a start has all of them.
    """

    _: KW_ONLY
    targets_of_graphs: Reals
    kind: Kind
    centre: Reals
    scale: Reals
    largest: int
    chosen: bool = False

    @property
    def label(self) -> str:
        """A short name for people and for folders; for a file, its stem."""
        return nodes.label_of(whole_name(self.name))

    @property
    def deviation(self) -> float:
        """The RMSE of a network that says the mean of the numbers that train, on these."""
        return float(np.sqrt((self.scale**2).mean()))

    @property
    def largest_neighbourhood(self) -> int:
        """That of all graphs."""
        return self.largest

    @functools.cached_property
    def sizes(self) -> NDArray[np.int64]:
        """[B] nodes of each graph."""
        return np.bincount(self.labels, minlength=len(self.targets_of_graphs))

    @functools.cached_property
    def fingerprint(self) -> str:
        """A hash of all arrays; it identifies the data in a run's configuration."""
        return fingerprint_of((
            self.features.indptr, self.features.indices, self.features.data, self.indptr, self.sources,
            self.labels, self.train, self.val, self.test, self.targets_of_graphs,
        ))  # fmt: skip

    def results(self, values: NDArray[Any]) -> Reals:
        """[B, classes] what graphs are answered, from the logits [N, classes] of their nodes as real numbers: their
        means, of numbers in the units of the targets."""
        means = means_of(values.astype(np.float64), self.sizes)
        return means * self.scale + self.centre if self.kind == "values" else means

    def predicted(self, values: NDArray[Any]) -> NDArray[Any]:
        """What is predicted of graphs, from the same: [B] classes, the lowest of equal ones; [B, T] labels, 0 or 1; or
        [B, T] numbers in the units of the targets."""
        results = self.results(values)
        if self.kind == "values":
            return results
        return results.argmax(axis=1) if self.kind == "classes" else (results > 0).astype(np.int64)

    def graphs_of(self, split: str) -> NDArray[np.int64]:
        """The graphs of "train", "val" or "test"."""
        return np.unique(self.labels[getattr(self, split)])

    @functools.cache  # noqa: B019 - parts live as long as their data
    def only(self, splits: tuple[str, ...]) -> PooledData:
        """The graphs of some splits alone."""
        return self.part(np.sort(np.concatenate([self.graphs_of(one) for one in splits])))

    @functools.cached_property
    def start(self) -> PooledData:
        """The graphs that hardware runs together: the largest that test, so that others have room in its memories; or
        those that were chosen."""
        if self.chosen:
            return self
        rows = self.graphs_of("test")
        largest = np.argsort(-self.sizes[rows], kind="stable")[: _counted(self.name)[1] or TOGETHER]
        return self.part(rows[np.sort(largest)])

    @functools.cached_property
    def calibrating(self) -> PooledData:
        """The graphs that choose scales: some that train, evenly spaced."""
        rows = self.graphs_of("train")
        return self.part(rows[:: max(1, -(-len(rows) // CALIBRATED_ON))])

    def part(self, rows: NDArray[np.int64] | Sequence[int]) -> PooledData:
        """Some of the graphs, `rows` ascending."""
        place = np.full(len(self.targets_of_graphs), -1, np.int64)
        place[rows] = np.arange(len(rows))
        kept = np.flatnonzero(place[self.labels] >= 0)
        node = np.full(self.nodes, -1, np.int64)
        node[kept] = np.arange(len(kept))
        edges = node[self.targets] >= 0
        return replace(
            self, features=self.features[kept], indptr=np.concatenate([[0], np.cumsum(self.degrees[kept])]),
            sources=node[self.sources[edges]], labels=place[self.labels[kept]],
            targets_of_graphs=self.targets_of_graphs[rows], remarks=(), chosen=True,
            **{split: getattr(self, split)[kept] for split in PARTS},
        )  # fmt: skip


def reference(
    name: str | os.PathLike[str], split: str | None = None, normalise: bool = False, graphs: int | None = None
) -> str:
    """As `fgnas.tasks.nodes.reference`; with `graphs` a start has as many. Raises UserError where an option does not
    apply."""
    own, before = _counted(os.fspath(name))
    found, count = nodes.reference(own, split, normalise), graphs or before
    if count and found in nodes.NAMES:
        raise UserError(f"--graphs is for data of many graphs, and {own} is one")
    return f"{found}{GRAPHS}{count}" if count else found


def referenced(options: dict[str, Any], default: str) -> dict[str, Any]:
    """Options by name, with one reference to the data in place of those that belong to it."""
    found = dict(options)
    split, normalise, graphs = (found.pop(name, None) for name in ("split", "normalise", "graphs"))
    if found.get("dataset") is not None or split is not None or normalise or graphs is not None:
        found["dataset"] = reference(found.get("dataset") or default, split, bool(normalise), graphs)
    return found


def named(name: str) -> bool:
    """Whether data can be found by the name alone, without a file."""
    own = whole_name(name)
    return own in nodes.NAMES or sources.has_graphs(own)


def whole_name(name: str) -> str:
    """A reference without the number of graphs in a start."""
    return _counted(name)[0]


def _counted(name: str) -> tuple[str, int | None]:
    """A reference without the number of graphs in a start, and that number."""
    own, found, count = name.rpartition(GRAPHS)
    return (own, int(count)) if found and count.isdecimal() else (name, None)


def load(name: str | os.PathLike[str]) -> GraphData:
    """Data by name, path or reference: a graph, or many with targets of their own. Raises UserError, with a fix, where
    it cannot be loaded."""
    own, count = _counted(os.fspath(name))
    found = _load(own)
    if count is None:
        return found
    if not isinstance(found, PooledData):
        raise UserError(f"--graphs is for data of many graphs, and {found.label} is one")
    return _with_start(found, count)


@functools.lru_cache(maxsize=4)
def _with_start(data: PooledData, count: int) -> PooledData:
    """The data with so many graphs in a start."""
    return replace(data, name=f"{data.name}{GRAPHS}{count}")


def _load(name: str) -> GraphData:
    """Data without a number of graphs in a start."""
    if sources.has_graphs(name):
        return _named(name)
    name = nodes.reference(name)
    if (path := nodes.path_of(name)) is None:
        if name not in nodes.NAMES:
            raise nodes.unknown(name, sources.KNOWN)
    elif path.is_file():
        status = path.stat()
        stamp = status.st_mtime_ns, status.st_size
        if _holds_graphs(path, stamp):
            return _of_file(name, stamp)
    return nodes.load(name)


@functools.lru_cache(maxsize=2)
def _named(name: str) -> PooledData:
    return of_collection(sources.load(name))


@functools.lru_cache(maxsize=4)
def _holds_graphs(path: Path, stamp: tuple[int, int]) -> bool:
    """Whether a file names the graph of each node; only the names of an archive's arrays are read."""
    if zipfile.is_zipfile(path) and path.suffix == ".npz":
        with zipfile.ZipFile(path) as archive:
            names = {Path(one).stem for one in archive.namelist()}
    else:
        names = {key for key, value in files.fields_of(path).items() if value is not None}
    return not names.isdisjoint(sources.GRAPHS)


@functools.lru_cache(maxsize=2)
def _of_file(name: str, stamp: tuple[int, int]) -> PooledData:
    """The user's graphs; a file that has changed is read again."""
    return of_collection(sources.load(name))


def start_of(data: GraphData) -> GraphData:
    """What hardware runs in one start: the data, or some of its graphs."""
    return data.start if isinstance(data, PooledData) else data


def calibrating_of(data: GraphData) -> GraphData:
    """What chooses the scales of numbers: the data, or some of its graphs."""
    return data.calibrating if isinstance(data, PooledData) else data


def examined_of(data: GraphData, splits: Sequence[str]) -> GraphData:
    """What answers for some splits: the data, or their graphs alone."""
    return data.only(tuple(splits)) if isinstance(data, PooledData) else data


def said_of(data: GraphData) -> dict[str, float]:
    """What turns the quality of numbers into an RMSE; nothing for other targets."""
    return {"deviation": data.deviation} if isinstance(data, PooledData) and data.kind == "values" else {}


def of_collection(data: Collection) -> PooledData:
    """The graphs that models are imported for. Raises UserError for what designs do not read, and for a part without
    a target."""
    if data.graph is None:
        raise UserError(f"{data.label} is one graph, whose nodes have the targets")
    if data.edge_weight is not None:
        raise UserError(f"{data.label} has weights of edges, which designs do not read: leave them out")
    masks = {name: getattr(data, name) for name in PARTS}
    for fault in target_faults(data.targets, masks):
        raise UserError(f"{data.label}: {fault}")
    train, val, test = (mask[data.graph] for mask in masks.values())
    x = data.features
    features = categories(x, train) if data.name in molecules.SOURCES else x.copy()  # which `build` changes
    centre, scale = np.zeros(1), np.ones(1)
    if data.kind == "values":
        centre, scale = spread_of(data.targets[masks["train"]])
    normalise = "normalise=" in data.name.partition("#")[2]
    own = build(data.name, features, data.edge_index, data.graph, train, val, test, data.outputs, normalise)
    parts = {one.name: getattr(own, one.name) for one in fields(own)}
    return PooledData(**parts, targets_of_graphs=data.targets, kind=data.kind, centre=centre, scale=scale,
                      largest=own.largest_neighbourhood)  # fmt: skip


def target_faults(targets: Reals, masks: dict[str, NDArray[np.bool_]]) -> Iterator[str]:
    """Faults of splits of graphs with targets [B, T], NaN where unknown: those of their masks, a target that a split
    knows of no graph."""
    yield from mask_faults(masks)
    for name, mask in masks.items():
        known = (~np.isnan(targets[mask])).any(axis=0)
        if not known.all():
            yield f"target {known.argmin()} is known of no graph that is to {name}"


def mask_faults(masks: dict[str, NDArray[np.bool_]]) -> Iterator[str]:
    """Faults of masks: an empty one, a graph in two."""
    for name, mask in masks.items():
        if not mask.any():
            yield f"no graph is to {name}"
    if np.any(np.sum(list(masks.values()), axis=0, dtype=int) > 1):
        yield "a graph is in two splits"


def means_of(values: NDArray[Any], sizes: NDArray[np.int64]) -> NDArray[Any]:
    """[graphs, ...] means of the rows of each graph, one graph behind the other."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    shape = (-1, *[1] * (values.ndim - 1))
    return np.asarray(np.add.reduceat(values, starts, axis=0) / sizes.astype(values.dtype).reshape(shape))


def spread_of(trained: Reals) -> tuple[Reals, Reals]:
    """[T] mean and deviation of numbers [graphs, T]; those that never vary have the deviation 1."""
    deviation = np.nanstd(trained, axis=0)
    return np.nanmean(trained, axis=0), np.where(deviation > 0, deviation, 1.0)


def categories(x: sp.csr_matrix, train: NDArray[np.bool_]) -> sp.csr_matrix:
    """A column of ones for each category but 0 that nodes which train have, in place of columns of categories: a row
    has few non-zeros, and formats keep each of them."""
    dense = x.toarray()
    return sp.hstack([
        sp.csr_matrix((column[:, None] == np.setdiff1d(column[train], 0)).astype(np.float32)) for column in dense.T
    ]).tocsr()  # fmt: skip
