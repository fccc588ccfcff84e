"""Data that models are imported for, by name or from a file: a graph, or many graphs with targets of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fgnas.errors import UserError
from fgnas.tasks import files, molecules, nodes, tudata
from fgnas.tasks.collection import Collection, Kind, Reals, of_nodes
from fgnas.tasks.files import MASKS, Split

Floats = NDArray[np.float32]
OF_EDGES = ("edge_weight", "edge_attr")
"""Fields of a file about edges: weights, one number each, and features, which are weights where they are one number."""
GRAPHS = ("graph", "batch")
"""Fields of a file that name the graph of each node."""

KNOWN = (*nodes.NAMES, *molecules.SOURCES, f"{nodes.UNDIVIDED}NAME")
"""Names of data that models are imported for."""


def has_graphs(name: str) -> bool:
    """Whether a name is that of many graphs with targets of their own."""
    return name in molecules.SOURCES or name.startswith(nodes.UNDIVIDED)


def load(name: str) -> Collection:
    """Data by a name or a reference. Raises UserError, with a fix, where it cannot be loaded."""
    if name in molecules.SOURCES:
        return molecules.molecules(name)
    name = nodes.reference(name)
    if name.startswith(nodes.UNDIVIDED):
        folder, fields = tudata.fields_of(nodes.without_options(name))
        divided = name if nodes.split_of(name) else nodes.reference(name, tudata.SPLIT)
        return _of_graphs(divided, folder, fields)
    path = nodes.path_of(name)
    if path is None:
        if name not in nodes.NAMES:
            raise nodes.unknown(name, KNOWN)
        return of_nodes(nodes.load(name))
    fields = files.fields_of(path)
    if any(fields.get(one) is not None for one in GRAPHS):
        return _of_graphs(name, path, fields)
    if all(fields.get(one) is None for one in OF_EDGES):
        return of_nodes(nodes.load(name))
    weight, features = _of_edges(path, fields)
    found = files.checked(path, {key: value for key, value in fields.items() if key not in OF_EDGES})
    data = of_nodes(nodes.of_content(name, found))
    return replace(data, edge_index=found.edge_index, edge_weight=weight, nodes=None, edge_features=features)


def _of_edges(path: Path, fields: dict[str, Any]) -> tuple[Floats | None, Floats | None]:
    """[E] the weights of edges, and [E, A] their features. Raises UserError with the first fault."""
    found = {name: _numbers(path, name, fields) for name in OF_EDGES if fields.get(name) is not None}
    weight, features = (found.get(name) for name in OF_EDGES)
    if weight is not None and weight.shape[1] > 1:
        raise UserError(f"{path}: edge_weight has {weight.shape[1]} numbers for each edge, not one: features of edges "
                        f"are edge_attr")  # fmt: skip
    if weight is None and features is not None and features.shape[1] == 1:
        weight, features = features, None
    return None if weight is None else weight[:, 0], features


def _numbers(path: Path, name: str, fields: dict[str, Any]) -> Floats:
    """[E, columns] numbers of edges. Raises UserError where they are none."""
    value, edges = fields[name], np.shape(fields.get("edge_index", ((), ())))[-1]
    numbers = isinstance(value, np.ndarray) and value.dtype.kind in "fiub" and value.ndim in (1, 2)
    if not numbers or len(value) != edges or not np.size(value):
        raise UserError(f"{path}: {name} has the shape {list(np.shape(value))}, not a number, or several, for each of "
                        f"the {edges} edges")  # fmt: skip
    found: Floats = value.astype(np.float32).reshape(edges, -1)
    if not np.isfinite(found).all():
        raise UserError(f"{path}: {name} has numbers that are not finite")
    return found


def _of_graphs(name: str, path: Path, fields: dict[str, Any]) -> Collection:
    """Graphs with targets of their own. Raises UserError with the first fault."""
    weight, of_edges = _of_edges(path, fields)
    try:
        features, edges = files.features_of(fields.get("x")), fields.get("edge_index")
        edge_index = files.edges_of(edges, features.shape[0])
        graph = _graph(next(fields[one] for one in GRAPHS if fields.get(one) is not None), features.shape[0])
        if (graph[edge_index[0]] != graph[edge_index[1]]).any():
            raise UserError("edge_index has an edge between two graphs")
        targets, kind = _targets(fields.get("y"), int(graph[-1]) + 1)
        train, val, test = _masks(name, fields, targets, kind)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    return Collection(name, nodes.label_of(name), sp.csr_matrix(features), edge_index, weight, graph, targets, kind,
                      train, val, test, edge_features=of_edges)  # fmt: skip


def _graph(value: Any, count: int) -> NDArray[np.int64]:
    """[n] the graph of each node."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu" or value.shape != (count,):
        raise UserError(f"graph has the shape {list(np.shape(value))}, not one integer for each of the {count} nodes")
    found = value.astype(np.int64)
    steps = np.diff(found, prepend=0)
    if count == 0 or found[0] != 0 or (steps < 0).any() or (steps > 1).any():
        raise UserError("graph counts the graphs from 0 in ascending order, none left out: sort the nodes by graph")
    return found


def _targets(y: Any, graphs: int) -> tuple[Reals, Kind]:
    """[graphs, T] targets, and what they are."""
    if not isinstance(y, np.ndarray) or y.dtype.kind not in "fiub" or y.ndim > 2 or len(y) != graphs:
        raise UserError(f"y has the shape {list(np.shape(y))}, not a target, or several, for each of the {graphs} "
                        f"graphs")  # fmt: skip
    found = y.astype(np.float64).reshape(graphs, -1)
    if y.dtype.kind in "iub" and found.shape[1] == 1:
        if found.min() < -1 or found.max() < 1:
            raise UserError("y has fewer than two classes, or one below -1, which says that a class is unknown")
        return np.where(found < 0, np.nan, found), "classes"
    known = found[~np.isnan(found)]
    labels = found.shape[1] > 1 and np.isin(known, (0, 1)).all()
    return found, "labels" if labels else "values"


def _masks(name: str, fields: dict[str, Any], targets: Reals, kind: Kind) -> list[NDArray[np.bool_]]:
    """Masks of graphs: the file's, or drawn by the split of the reference, of classes class by class."""
    split, graphs = nodes.split_of(name), len(targets)
    there = [one for one in MASKS if fields.get(one) is not None]
    if len(there) == len(MASKS) and split is None:
        masks = [np.asarray(fields[one]).astype(bool).ravel() for one in MASKS]
        if any(len(one) != graphs for one in masks):
            raise UserError(f"masks have {[len(one) for one in masks]} entries for {graphs} graphs")
        return masks
    if split is None:
        raise UserError("it has no train_mask, val_mask and test_mask: give --split, such as 80/10/10")
    known = ~np.isnan(targets).all(axis=1)
    whole = targets[:, 0] if kind == "classes" else np.zeros(graphs)
    labels = np.where(known, np.nan_to_num(whole), -1).astype(np.int64)
    return list(Split.parse(split).masks(labels - min(0, int(labels[known].min(initial=0)))))
