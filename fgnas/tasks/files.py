"""A graph from the user's file, read without executing anything in it, and checked.

Every fault is reported in one line that names it.
"""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fgnas.errors import UserError

SUFFIXES = (".pt", ".pth", ".npz")
Masks = tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]
"""Masks of train, val and test nodes, each [N]."""
MASKS = ("train_mask", "val_mask", "test_mask")
SPARSE_FIELDS = ("x_data", "x_indices", "x_indptr")

MOST_NODES, MOST_COLUMNS = 1 << 20, 1 << 14
"""Limits of the accelerator's beats: 20 bits for a source, 14 for a column."""


@dataclass(frozen=True, eq=False)
class GraphFile:
    """The checked content of a file.

    Attributes:
        features: [N, width_in] CSR float32, not scaled.
        edge_index: [2, E] int64, sources in the first row, targets in the second.
        labels: [N] int64; -1 where unknown.
        masks: None where the file has none.
    """

    features: sp.csr_matrix
    edge_index: NDArray[np.int64]
    labels: NDArray[np.int64]
    masks: Masks | None


@dataclass(frozen=True)
class Split:
    """Percentages of train, validation and test nodes, and the seed that draws them."""

    shares: tuple[int, int, int]
    seed: int = 0

    @classmethod
    def parse(cls, text: str) -> Split:
        """A split from "60/20/20" or "60/20/20:SEED". Raises UserError for other texts."""
        found = re.fullmatch(r"(\d{1,3})/(\d{1,3})/(\d{1,3})(?::(\d{1,9}))?", text)
        shares = tuple(map(int, found.groups()[:3])) if found else ()
        if found is None or sum(shares) != 100 or 0 in shares:
            raise UserError(f"--split is {text!r}: give three percentages above 0 that sum to 100, such as 60/20/20")
        return cls((shares[0], shares[1], shares[2]), int(found[4] or 0))

    def __str__(self) -> str:
        return "/".join(map(str, self.shares)) + f":{self.seed}"

    def masks(self, labels: NDArray[np.int64]) -> Masks:
        """[N] masks of train, val and test, drawn per class among the labelled nodes; each class has a train node."""
        rng = np.random.default_rng(self.seed)
        train, val, test = (np.zeros(len(labels), bool) for _ in MASKS)
        for label in np.unique(labels[labels >= 0]):
            nodes = rng.permutation(np.flatnonzero(labels == label))
            ends = np.rint(np.cumsum(self.shares) / 100 * len(nodes)).astype(int)
            ends[0] = max(1, ends[0])
            for mask, part in zip((train, val, test), np.split(nodes, ends[:2]), strict=True):
                mask[part] = True
        return train, val, test


def read(path: Path) -> GraphFile:
    """Read and check a file. Raises UserError with the first fault."""
    return checked(path, fields_of(path))


def fields_of(path: Path) -> dict[str, Any]:
    """The fields of a file by name, unchecked. Raises UserError if the file cannot be read."""
    if not path.is_file():
        raise UserError(f"the data file {path} does not exist")
    return _read_npz(path) if path.suffix == ".npz" else _read_torch(path)


def checked(path: Path, fields: dict[str, Any]) -> GraphFile:
    """The checked fields of a file. Raises UserError with the first fault."""
    try:
        return check(fields)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _read_npz(path: Path) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            fields: dict[str, Any] = {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise UserError(f"{path} is not an .npz archive of plain arrays ({error})") from None
    if sparse := [name for name in SPARSE_FIELDS if name in fields]:
        if len(sparse) < len(SPARSE_FIELDS) or "x" in fields:
            raise UserError(f"{path}: give x, or all of {', '.join(SPARSE_FIELDS)}")
        fields["x"] = _sparse([fields.pop(name) for name in SPARSE_FIELDS], fields.pop("x_shape", None), path)
    return fields


def _sparse(parts: list[NDArray[Any]], shape: NDArray[Any] | None, path: Path) -> sp.csr_matrix:
    """The CSR matrix of x_data, x_indices and x_indptr; without x_shape its last stored column sets its width."""
    data, indices, indptr = parts
    try:
        matrix = sp.csr_matrix((data, indices, indptr), None if shape is None else tuple(map(int, shape)))
        matrix.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise UserError(f"{path}: x_data, x_indices and x_indptr are not a CSR matrix ({error})") from None
    return matrix


def _read_torch(path: Path) -> dict[str, Any]:
    """The fields of a `Data` or of a dict of tensors, loaded with the weights-only unpickler."""
    import torch
    from torch_geometric.data import Data
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import GlobalStorage

    try:
        with torch.serialization.safe_globals([Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]), quiet():
            content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged or hostile pickle can raise nearly anything
        if stranger := re.search(r"(?:GLOBAL|global:?) (?!GLOBAL)([\w.]+)", str(error)):
            fix = "save a Data of plain tensors"
            if "Batch" in stranger[1] or "DynamicInheritance" in stranger[1]:
                fix = "save the graphs of a Batch as a list, batch.to_data_list()"
            raise UserError(f"{path} contains {stranger[1]}, and nothing in a data file is executed: {fix}") from None
        raise UserError(f"{path} was not saved by torch.save, or is damaged ({type(error).__name__})") from None
    if isinstance(content, tuple) and len(content) > 1 and isinstance(content[1], dict):
        return graphs_of(path, content[0], content[1])
    if isinstance(content, tuple) and len(content) > 1 and content[1] is None:  # a dataset of one graph
        content = content[0]
    if isinstance(content, list | tuple) and content and all(isinstance(one, Data | dict) for one in content):
        return _together(path, [one.to_dict() if isinstance(one, Data) else one for one in content])
    if isinstance(content, Data):
        content = content.to_dict()
    if not isinstance(content, dict):
        raise UserError(f"{path} contains a {type(content).__name__}: save one torch_geometric.data.Data, or a list of "
                        f"them")  # fmt: skip
    return {name: _plain(value) for name, value in content.items()}


def graphs_of(path: Path, data: Any, slices: dict[str, Any]) -> dict[str, Any]:
    """The fields of a dataset's graphs as of one file; `data` and `slices` as PyG's `InMemoryDataset` has them."""
    whole = data if isinstance(data, dict) else data.to_dict()
    if "x" not in slices or whole.get("x") is None:
        raise UserError(f"{path}: its graphs have no x: save them with features of their nodes")
    found = []
    for place in range(len(slices["x"]) - 1):
        one = {}
        for name, ends in slices.items():
            if whole.get(name) is not None:
                first, end = int(ends[place]), int(ends[place + 1])
                one[name] = whole[name][:, first:end] if name == "edge_index" else whole[name][first:end]
        found.append(one)
    return _together(path, found)


def _together(path: Path, graphs: list[dict[str, Any]]) -> dict[str, Any]:
    """The fields of several graphs as those of one, with the graph of each node."""
    names = [name for name in ("x", "edge_index", "edge_weight", "edge_attr", "y") if graphs[0].get(name) is not None]
    parts = [{name: _plain(graph.get(name)) for name in names} for graph in graphs]
    if any(part[name] is None or sp.issparse(part[name]) for part in parts for name in names) or "x" not in names:
        raise UserError(f"{path}: its graphs do not all have {', '.join(names) or 'x'}, as dense tensors")
    sizes = np.array([len(part["x"]) for part in parts])
    for part, first in zip(parts, np.cumsum(sizes) - sizes, strict=True):
        if "edge_index" in part:
            part["edge_index"] = part["edge_index"] + first
        if "y" in part:
            part["y"] = part["y"].reshape(1, -1)
    try:
        found = {name: np.concatenate([part[name] for part in parts], axis=int(name == "edge_index")) for name in names}
    except ValueError as error:
        raise UserError(f"{path}: its graphs do not have as many columns each ({error})") from None
    if "y" in found and found["y"].shape[1] == 1:
        found["y"] = found["y"][:, 0]
    return found | {"graph": np.repeat(np.arange(len(parts)), sizes)}


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress the warnings of torch: they repeat the messages of this package, or do not help the reader."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _plain(value: Any) -> Any:
    """A tensor as an array, a sparse tensor as a CSR matrix; anything else unchanged."""
    import torch

    if not isinstance(value, torch.Tensor):
        return value
    if value.layout == torch.strided:
        return (value.float() if value.dtype == torch.bfloat16 else value).detach().numpy()
    coo = value.detach().to_sparse_coo().coalesce()
    return sp.csr_matrix((coo.values().numpy(), tuple(coo.indices().numpy())), shape=tuple(coo.shape))


def check(fields: dict[str, Any]) -> GraphFile:
    """The checked fields x, edge_index, y and masks. Raises UserError with the first fault."""
    for name in ("x", "edge_index", "y"):
        if fields.get(name) is None:
            have = ", ".join(sorted(map(str, fields))) or "nothing"
            raise UserError(f"{name} is missing; the file has {have}")
    if fields.get("graph") is not None:
        raise UserError("the file has several graphs, whose targets models are imported for (`fgnas import`), but a "
                        "design is for one graph with a class for each node")  # fmt: skip
    for name in ("edge_attr", "edge_weight"):
        if fields.get(name) is not None:
            raise UserError(f"the file has {name}, but the accelerator has no edge features: leave it out")
    features = features_of(fields["x"])
    nodes = features.shape[0]
    labels = _labels(fields["y"], nodes)
    return GraphFile(features, edges_of(fields["edge_index"], nodes), labels, _masks(fields, labels))


def _array(name: str, value: Any, kinds: str, dimensions: int) -> NDArray[Any]:
    """`value`, checked to be an array of one of the kinds, in numpy's letters, and with so many dimensions."""
    words = {"f": "floats", "iu": "integers", "fiub": "numbers", "iub": "booleans"}[kinds]
    if not isinstance(value, np.ndarray):
        raise UserError(f"{name} is a {type(value).__name__}, not an array")
    if value.dtype.kind not in kinds:
        raise UserError(f"{name} is {value.dtype}, not {words}")
    if value.ndim != dimensions:
        raise UserError(f"{name} has the shape {list(value.shape)}, not {dimensions} dimension{'s'[: dimensions > 1]}")
    return value


def features_of(x: Any) -> sp.csr_matrix:
    """Checked features. Raises UserError with the first fault."""
    if not sp.issparse(x):
        x = _array("x", x, "fiub", 2)
    if x.dtype.kind not in "fiub":
        raise UserError(f"x is {x.dtype}, not numbers")
    nodes, columns = x.shape
    if not nodes or not columns:
        raise UserError(f"x has the shape [{nodes}, {columns}]: there is nothing to classify")
    if nodes > MOST_NODES or columns > MOST_COLUMNS:
        raise UserError(f"x has the shape [{nodes}, {columns}]; the kernel takes up to [{MOST_NODES}, {MOST_COLUMNS}]")
    matrix = sp.csr_matrix(x, dtype=np.float32)
    if bad := np.flatnonzero(~np.isfinite(matrix.data)).tolist():
        node = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        column, value = matrix.indices[bad[0]], matrix.data[bad[0]]
        more = f", and {len(bad) - 1} more are not either" if len(bad) > 1 else ""
        raise UserError(f"x[{node}, {column}] is {value}, which is not finite{more}: fix them, or set them to 0")
    return matrix


def _labels(y: Any, nodes: int) -> NDArray[np.int64]:
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    y = _array("y", y, "iu", 1)
    if len(y) != nodes:
        raise UserError(f"y has {len(y)} labels for {nodes} nodes")
    if y.min() < -1:
        raise UserError(f"y[{y.argmin()}] is {y.min()}: labels are 0 and above, or -1 where unknown")
    if y.max() < 1:
        raise UserError("y has fewer than two classes")
    if y.max() >= max(2, nodes):
        raise UserError(f"y[{y.argmax()}] is {y.max()}, more classes than the graph has nodes")
    return y.astype(np.int64)


def edges_of(edge_index: Any, nodes: int) -> NDArray[np.int64]:
    """Checked edges. Raises UserError with the first fault."""
    edges = _array("edge_index", edge_index, "iu", 2)
    if edges.shape[0] != 2:
        raise UserError(f"edge_index has the shape {list(edges.shape)}, not [2, edges]: sources, then targets")
    if edges.size and (edges.min() < 0 or edges.max() >= nodes):
        row, place = np.argwhere((edges < 0) | (edges >= nodes))[0].tolist()
        raise UserError(f"edge_index[{row}, {place}] is {edges[row, place]}, but nodes are 0 to {nodes - 1}")
    return edges.astype(np.int64)


def _masks(fields: dict[str, Any], labels: NDArray[np.int64]) -> Masks | None:
    there = [name for name in MASKS if fields.get(name) is not None]
    if not there:
        return None
    if missing := [name for name in MASKS if name not in there]:
        raise UserError(f"the file has {there[0]} but no {missing[0]}: save all three, or none and give --split")
    masks = []
    for name in MASKS:
        value = fields[name]
        if isinstance(value, np.ndarray) and value.ndim == 2:
            raise UserError(f"{name} contains {value.shape[1]} splits: save one of them, such as {name}[:, 0]")
        mask = _array(name, value, "iub", 1)
        if len(mask) != len(labels):
            raise UserError(f"{name} has {len(mask)} entries for {len(labels)} nodes")
        if not np.isin(mask, (0, 1)).all():
            raise UserError(f"{name} contains {mask.max()}: masks are one boolean per node, not lists of nodes")
        masks.append(mask.astype(bool))
        check_mask(name, masks[-1], labels)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        if both := int((masks[one] & masks[other]).sum()):
            raise UserError(f"{both} nodes are in both {MASKS[one]} and {MASKS[other]}")
    return masks[0], masks[1], masks[2]


def check_mask(name: str, mask: NDArray[np.bool_], labels: NDArray[np.int64]) -> None:
    """Raise UserError where a mask selects no node, or a node without a label."""
    if not mask.any():
        raise UserError(f"{name} selects no node")
    if (unknown := mask & (labels < 0)).any():
        raise UserError(f"{name} selects node {int(unknown.argmax())}, which has no label (y is -1)")
