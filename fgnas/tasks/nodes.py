"""Node classification on one graph: built-in data, Planetoid, and the user's files. Sparse features stay sparse.

`digits` needs only scikit-learn. `cora`, `citeseer` and `pubmed` are read from
`$FGNAS_DATA_ROOT/Planetoid/<Name>/raw`, which may be read-only, or downloaded by PyG where that folder has no raw
files. Names that end in .pt, .pth or .npz are files of the user (docs/data.md).
"""

from __future__ import annotations

import difflib
import functools
import os
import pickle
import re
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fgnas.errors import UserError
from fgnas.tasks import files as datafile
from fgnas.tasks.digits import digits
from fgnas.tasks.files import MASKS, Split, check_mask
from fgnas.tasks.fingerprint import fingerprint_of

PLANETOID = {"cora": "Cora", "citeseer": "CiteSeer", "pubmed": "PubMed"}
NAMES = ("digits", *PLANETOID)

VALIDATION_NODES = 500
"""Validation nodes of Planetoid's split: those that follow the training nodes."""
DIGITS_NEIGHBOURS = 8
DIGITS_SPLIT_SEED = 0


@dataclass(frozen=True, eq=False)
class GraphData:
    """A node-classification task on one graph of N nodes.

    Attributes:
        name: the reference with which `load` finds the data again, in any process.
        features: [N, width_in] CSR float32. Rows of built-in data are scaled to sum to 1 (PyG's NormalizeFeatures).
            The stored entries are the non-zeros that the accelerator reads, in column order.
        indptr, sources: the neighbourhoods S(i), which are N(i) and i itself, as rows by target: node i receives from
            sources[indptr[i]:indptr[i + 1]], ascending. Each has exactly one self-loop; repeated edges are kept.
        labels: [N] int64.
        classes: number of classes.
        train, val, test: [N] bool.
        remarks: notes for the user about the conversion of the data.
        looped: whether the original data has exactly one self-loop at every node.
    """

    name: str
    features: sp.csr_matrix
    indptr: NDArray[np.int64]
    sources: NDArray[np.int64]
    labels: NDArray[np.int64]
    classes: int
    train: NDArray[np.bool_]
    val: NDArray[np.bool_]
    test: NDArray[np.bool_]
    remarks: tuple[str, ...] = ()
    looped: bool = False

    @property
    def label(self) -> str:
        """A short name for people and for folders; for a file, its stem."""
        return label_of(self.name)

    @property
    def nodes(self) -> int:
        """N."""
        return len(self.labels)

    @property
    def width_in(self) -> int:
        """Number of input features of a node."""
        return int(self.features.shape[1])

    @functools.cached_property
    def non_zeros(self) -> NDArray[np.int64]:
        """[N] number of stored features of each node."""
        return np.diff(self.features.indptr).astype(np.int64)

    @functools.cached_property
    def degrees(self) -> NDArray[np.int64]:
        """[N] |S(i)|, the self-loop included, repeated edges counted."""
        return np.diff(self.indptr)

    @property
    def largest_neighbourhood(self) -> int:
        """The largest |S(i)| that hardware is built for, 1 at least."""
        return int(self.degrees.max(initial=1))

    @functools.cached_property
    def targets(self) -> NDArray[np.int64]:
        """[edges] the target node of each entry of `sources`."""
        return np.repeat(np.arange(self.nodes), self.degrees)

    @functools.cached_property
    def fingerprint(self) -> str:
        """A hash of all arrays; it identifies the data in a run's configuration."""
        return fingerprint_of((
            self.features.indptr, self.features.indices, self.features.data, self.indptr, self.sources,
            self.labels, self.train, self.val, self.test,
        ))  # fmt: skip


def build(
    name: str,
    features: sp.spmatrix | NDArray[np.float32],
    edge_index: NDArray[np.int64],
    labels: NDArray[np.int64],
    train: NDArray[np.bool_],
    val: NDArray[np.bool_],
    test: NDArray[np.bool_],
    classes: int | None = None,
    normalise: bool = True,
    remarks: tuple[str, ...] = (),
) -> GraphData:
    """A task from raw arrays; `edge_index` [2, E] has sources in its first row and targets in its second, as in PyG.

    Every node gets exactly one self-loop in place of any in the input; repeated edges are kept. With `normalise`, every
    row of features is scaled so that its magnitudes sum to 1.
    """
    nodes = len(labels)
    features = sp.csr_matrix(features, dtype=np.float32)
    features.sum_duplicates()
    features.eliminate_zeros()
    features.sort_indices()
    if normalise:
        total = np.asarray(abs(features).sum(axis=1)).ravel()
        scale = np.divide(1.0, total, out=np.ones_like(total), where=total > 0)
        features.data *= np.repeat(scale.astype(np.float32), np.diff(features.indptr))
    source, target = np.asarray(edge_index, np.int64)
    keep = source != target
    loops, loops_given = np.arange(nodes), target[~keep]
    source, target = np.concatenate([source[keep], loops]), np.concatenate([target[keep], loops])
    order = np.lexsort((source, target))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(target, minlength=nodes))])
    return GraphData(
        name=name,
        features=features,
        indptr=indptr.astype(np.int64),
        sources=source[order],
        labels=np.asarray(labels, np.int64),
        classes=int(classes if classes is not None else labels.max() + 1),
        train=np.asarray(train, bool),
        val=np.asarray(val, bool),
        test=np.asarray(test, bool),
        remarks=remarks,
        looped=bool((np.bincount(loops_given, minlength=nodes) == 1).all()),
    )


UNDIVIDED = "tu:"
"""Prefix of the names of data without a split of its own: graphs of the TU collection."""


def label_of(reference: str) -> str:
    """A short name of data for people and for folders; for a file, its stem."""
    return Path(_parts(reference)[0]).stem


def reference(name: str | os.PathLike[str], split: str | None = None, normalise: bool = False) -> str:
    """A reference to data that is valid in every process: a built-in name, or a file's absolute path with options.

    `split` makes masks where the file has none: "60/20/20" gives the percentages of train, val and test nodes, and
    ":SEED" may follow. `normalise` scales the file's rows of features to sum to 1. Raises UserError where an option
    does not apply.
    """
    name = os.fspath(name)
    path, changes = _parts(name)
    if Path(path).suffix not in datafile.SUFFIXES and not path.startswith(UNDIVIDED):
        if split is not None or normalise:
            raise UserError(f"--split and --normalise are for data files; {name} has its own split and scaling")
        return name
    if split is not None:
        changes["split"] = str(Split.parse(split))
    if normalise:
        changes["normalise"] = "yes"
    whole = path if path.startswith(UNDIVIDED) else Path(path).expanduser().absolute()
    return "#".join([str(whole), *(f"{key}={value}" for key, value in sorted(changes.items()))])


def path_of(name: str) -> Path | None:
    """The file that a reference names; None for built-in data."""
    path = Path(_parts(name)[0])
    return path if path.suffix in datafile.SUFFIXES else None


def without_options(name: str) -> str:
    """The name or the path in a reference."""
    return _parts(name)[0]


def split_of(name: str) -> str | None:
    """The split in a reference; None without one."""
    return _parts(name)[1].get("split")


def _parts(name: str) -> tuple[str, dict[str, str]]:
    """The path in a reference, and its options."""
    path, changes = name, {}
    while found := re.fullmatch(r"(.*)#(split|normalise)=([^#]*)", path, re.DOTALL):
        path, changes[found[2]] = found[1], found[3]
    return path, changes


def load(name: str | os.PathLike[str]) -> GraphData:
    """Data by name, path or reference. Raises UserError, with a fix, where it cannot be loaded."""
    name = reference(name)
    if name in NAMES:
        return _built_in(name)
    path = Path(_parts(name)[0])
    if path.suffix not in datafile.SUFFIXES:
        raise unknown(name, NAMES)
    # A file that has changed is read again.
    stamp = (status.st_mtime_ns, status.st_size) if path.is_file() and (status := path.stat()) else None
    return _of_file(name, stamp)


def unknown(name: str, known: Sequence[str]) -> UserError:
    """The error for a name that is none of those known, with the one that it resembles."""
    near = difflib.get_close_matches(name.lower(), known, 1)
    meant = f"did you mean {near[0]}? " if near else ""
    return UserError(f"unknown dataset {name!r}; {meant}known: {', '.join(known)}, and files that end in "
                     f"{', '.join(datafile.SUFFIXES)}")  # fmt: skip


@functools.lru_cache(maxsize=4)
def _built_in(name: str) -> GraphData:
    return _digits() if name == "digits" else _planetoid(name)


@functools.lru_cache(maxsize=4)
def _of_file(name: str, stamp: tuple[int, int] | None) -> GraphData:
    """The user's data; rows of features are scaled only if the reference says so."""
    return of_content(name, datafile.read(Path(_parts(name)[0])))


def of_content(name: str, found: datafile.GraphFile) -> GraphData:
    """Data of a file's content, with the options of its reference."""
    path, changes = _parts(name)
    split, normalise = changes.get("split"), "normalise" in changes
    if split is not None and found.masks is not None:
        raise UserError(f"{path} already has masks: leave --split out")
    if split is None and found.masks is None:
        raise UserError(f"{path} has no train_mask, val_mask and test_mask: give --split, such as 60/20/20")
    masks = found.masks or Split.parse(split or "").masks(found.labels)
    for mask_name, mask in zip(MASKS, masks, strict=True):
        check_mask(mask_name, mask, found.labels)
    classes = int(found.labels.max()) + 1
    edges = found.edge_index
    remarks = _remarks(edges, len(found.labels))
    return build(name, found.features, edges, found.labels, *masks, classes, normalise, remarks)


def _remarks(edge_index: NDArray[np.int64], nodes: int) -> tuple[str, ...]:
    """Notes on how directed edges, repeated edges and self-loops are treated."""
    source, target = edge_index
    forward, backward = source * nodes + target, target * nodes + source
    kinds, counts = np.unique(forward, return_counts=True)
    directed, repeated = int((~np.isin(forward, backward)).sum()), int((counts - 1).sum())
    loops = int((source == target).sum())
    remarks = []
    if directed:
        remarks.append(f"{directed} of {len(source)} edges have no edge back: messages go from source to target only")
    if repeated:
        remarks.append(f"{repeated} edges are repetitions: each one counts in sums and in degrees")
    if loops:
        remarks.append(f"{loops} self-loops in the file are replaced by exactly one for every node")
    return tuple(remarks)


def _digits() -> GraphData:
    """scikit-learn's 1,797 handwritten digits as a symmetric k-nearest-neighbour graph.

    The split follows Planetoid: 20 training nodes per class, 500 validation nodes, 1,000 test nodes, drawn once.
    """
    shades, labels = digits()
    edges = _nearest_neighbours(shades, DIGITS_NEIGHBOURS)
    order = np.random.default_rng(DIGITS_SPLIT_SEED).permutation(len(labels))
    train_nodes = np.concatenate([order[labels[order] == label][:20] for label in range(10)])
    rest = order[~np.isin(order, train_nodes)]
    train, val, test = (np.zeros(len(labels), bool) for _ in range(3))
    train[train_nodes], val[rest[:500]], test[rest[500:1500]] = True, True, True
    return build("digits", shades.astype(np.float32), edges, labels, train, val, test)


def _nearest_neighbours(points: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """[2, edges] edges in both directions between each point, of small integers, and its `count` nearest points.

    Among equally near points the lowest index wins. scikit-learn's search leaves this open, and its choice depends on
    the number of threads.
    """
    nodes = len(points)
    squares = (points**2).sum(axis=1)
    distances = (squares[:, None] + squares - 2 * points @ points.T).astype(np.int64)
    keys = distances * nodes + np.arange(nodes)
    np.fill_diagonal(keys, np.iinfo(np.int64).max)
    nearest = np.argpartition(keys, count, axis=1)[:, :count]
    adjacent = np.zeros((nodes, nodes), bool)
    adjacent[np.arange(nodes)[:, None], nearest] = True
    return np.stack(np.nonzero(adjacent | adjacent.T)).astype(np.int64)


def _planetoid(name: str) -> GraphData:
    folder = _planetoid_folder(name)
    try:
        return _read_planetoid(name, folder)
    except Exception as error:  # a damaged pickle can raise nearly anything
        reason = f"{type(error).__name__}: {error}"
        raise UserError(f"{name}: cannot read the raw files in {folder} ({reason}); fetch them again") from None


def _read_planetoid(name: str, folder: Path) -> GraphData:
    """The graph in Planetoid's raw files, read as PyG's `read_planetoid_data` does, without importing torch.

    `allx` has the features of the first nodes, `tx` those of the test nodes in the order of `test.index`; a node of
    neither (CiteSeer has 15) has no features and the first class. Repeated edges and self-loops are removed.
    """

    def part(kind: str) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the pickles name modules that NumPy and SciPy have renamed
            return pickle.loads((folder / f"ind.{name}.{kind}").read_bytes(), encoding="latin1")

    tested = np.array((folder / f"ind.{name}.test.index").read_text().split(), np.int64)
    known, trained = part("allx"), len(part("y"))
    rows = np.concatenate([np.arange(known.shape[0]), tested])
    nodes = int(rows.max()) + 1
    places = sp.csr_matrix((np.ones(len(rows), np.float32), (rows, np.arange(len(rows)))), (nodes, len(rows)))
    features = places @ sp.vstack([sp.csr_matrix(known), sp.csr_matrix(part("tx"))]).tocsr()
    labels = np.zeros(nodes, np.int64)
    labels[rows] = np.concatenate([part("ally"), part("ty")]).argmax(axis=1)
    ends = np.array([(source, target) for source, targets in part("graph").items() for target in targets], np.int64)
    edges = np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0).T
    train, val, test = (np.zeros(nodes, bool) for _ in range(3))
    train[:trained], val[trained : trained + VALIDATION_NODES], test[tested] = True, True, True
    return build(name, features, edges, labels, train, val, test)


def _planetoid_folder(name: str) -> Path:
    """The folder with the raw files: the user's, or the one that PyG's download fills."""
    proper = PLANETOID[name]
    root = os.environ.get("FGNAS_DATA_ROOT")
    if root:
        folder = Path(root) / "Planetoid" / proper / "raw"
        if (folder / f"ind.{name}.graph").is_file():
            return folder
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "fgnas" / "Planetoid"
    folder = cache / proper / "raw"
    if not (folder / f"ind.{name}.test.index").is_file():
        _download(name, cache)
    return folder


def _download(name: str, cache: Path) -> None:
    """Download with PyG into a temporary folder first, so that a failed download leaves nothing behind."""
    from torch_geometric.datasets import Planetoid

    proper = PLANETOID[name]
    root = os.environ.get("FGNAS_DATA_ROOT")
    where = "set FGNAS_DATA_ROOT to a folder that contains " + f"Planetoid/{proper}/raw"
    if root:
        where = f"fix FGNAS_DATA_ROOT: {root} contains no Planetoid/{proper}/raw"
    try:
        (cache / proper).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            dataset = Planetoid(root=scratch, name=proper)
            os.replace(dataset.raw_dir, cache / proper / "raw")
    except Exception as error:  # urllib, ssl, socket and file errors alike
        reason = f"{type(error).__name__}: {error}"
        raise UserError(f"{name}: PyG could not download it ({reason}); connect to the internet, or {where}") from None
