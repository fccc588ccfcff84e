"""Data for imported models: one graph with a target for each node, or several with a target for each graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fgnas.errors import UserError
from fgnas.tasks.fingerprint import fingerprint_of
from fgnas.tasks.nodes import GraphData

Kind = Literal["classes", "values", "labels"]
"""Kind of targets: one class, real numbers, or several binary labels."""
Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
PARTS = ("train", "val", "test")


@dataclass(frozen=True, eq=False)
class Collection:
    """Nodes or graphs with targets.

    Attributes:
        name: of the data, unambiguous. label: the same in short.
        features: [n, F] CSR float32, of all nodes.
        edge_index: [2, E] sources, then targets, as the file has them.
        edge_weight: [E], or None.
        graph: [n] the graph of each node in ascending order; None where nodes have the targets.
        targets: [rows, T]; NaN where unknown. rows are those of graphs, or of nodes.
        kind: of the targets.
        train, val, test: [rows] masks.
        nodes: the same data as designs take it, where they do.
        edge_features: [E, A], or None.
    """

    name: str
    label: str
    features: sp.csr_matrix
    edge_index: Ints
    edge_weight: NDArray[np.float32] | None
    graph: Ints | None
    targets: Reals
    kind: Kind
    train: Bools
    val: Bools
    test: Bools
    nodes: GraphData | None = None
    edge_features: NDArray[np.float32] | None = None

    @property
    def rows(self) -> int:
        """Nodes or graphs that have targets."""
        return len(self.targets)

    @property
    def outputs(self) -> int:
        """Numbers of a result."""
        if self.kind == "classes":
            return int(np.nanmax(self.targets)) + 1 if self.nodes is None else self.nodes.classes
        return int(self.targets.shape[1])

    @property
    def fingerprint(self) -> str:
        """A hash of the content."""
        if self.nodes is not None:
            return self.nodes.fingerprint
        parts = [self.features.indptr, self.features.indices, self.features.data, self.edge_index, self.targets,
                 self.train, self.val, self.test]  # fmt: skip
        parts += [one for one in (self.edge_weight, self.graph, self.edge_features) if one is not None]
        return fingerprint_of(parts)

    def part(self, rows: Ints) -> Collection:
        """Some of the graphs, in order. Raises UserError where nodes have the targets."""
        if self.graph is None:
            raise UserError(f"{self.label} is one graph: no part of it is taken")
        place = np.full(int(self.graph[-1]) + 1, -1, np.int64)
        place[rows] = np.arange(len(rows))
        kept = np.flatnonzero(place[self.graph] >= 0)
        order = kept[np.argsort(place[self.graph[kept]], kind="stable")]
        node = np.full(len(self.graph), -1, np.int64)
        node[order] = np.arange(len(order))
        edges = np.flatnonzero(node[self.edge_index[1]] >= 0)
        return replace(
            self, features=self.features[order], edge_index=node[self.edge_index[:, edges]],
            edge_weight=None if self.edge_weight is None else self.edge_weight[edges],
            graph=place[self.graph[order]], targets=self.targets[rows], train=self.train[rows], val=self.val[rows],
            test=self.test[rows],
            edge_features=None if self.edge_features is None else self.edge_features[edges],
        )  # fmt: skip


def of_nodes(data: GraphData) -> Collection:
    """A graph whose nodes have classes; with self-loops only where the original data has them."""
    keep = np.ones(len(data.sources), bool) if data.looped else data.sources != data.targets
    targets = np.where(data.labels >= 0, data.labels, np.nan).astype(np.float64)
    return Collection(
        data.name, data.label, data.features, np.stack([data.sources[keep], data.targets[keep]]), None, None,
        targets[:, None], "classes", data.train, data.val, data.test, data,
    )  # fmt: skip


def scores(collection: Collection, results: Reals) -> dict[str, float]:
    """How good results [rows, outputs] are on each part: the accuracy of classes, the root of the mean squared error
    of numbers, the mean area under the ROC curve of labels; parts without targets are left out."""
    found = {}
    for name in PARTS[1:]:
        mask = getattr(collection, name)
        if mask.any():
            found[name] = metric(collection.kind, collection.targets[mask], results[mask])
    return found


def metric(kind: Kind, targets: Reals, results: Reals) -> float:
    """One figure of results against targets; NaN among these are left out."""
    if kind == "classes":
        known = ~np.isnan(targets[:, 0])
        return float((results[known].argmax(axis=1) == targets[known, 0]).mean())
    if kind == "values":
        return float(np.sqrt(np.nanmean((results - targets) ** 2)))
    areas = [_area(targets[:, one], results[:, one]) for one in range(targets.shape[1])]
    defined = [one for one in areas if one is not None]
    return float(np.mean(defined)) if defined else float("nan")


def _area(targets: Reals, results: Reals) -> float | None:
    """The area under the ROC curve: the share of pairs of a yes and a no in the right order, ties counted half; None
    without such pairs."""
    known = ~np.isnan(targets)
    yes, no = results[known][targets[known] == 1], results[known][targets[known] == 0]
    if not len(yes) or not len(no):
        return None
    _, place, counts = np.unique(np.concatenate([yes, no]), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[place]
    return float((ranks[: len(yes)].sum() - len(yes) * (len(yes) + 1) / 2.0) / (len(yes) * len(no)))


METRICS = {"classes": "accuracy", "values": "RMSE", "labels": "ROC-AUC"}
"""Name of the measure that `metric` returns, by the kind of targets."""
