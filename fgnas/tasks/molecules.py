"""MoleculeNet's molecules as graphs: raw files that RDKit reads, with the features that PyG gives atoms and bonds.

Molecules are divided by their scaffolds (Bemis and Murcko), as DeepChem does: sets of molecules with one scaffold, the
largest first, fill the training part up to 80 %, then the validation part up to 90 %; the rest tests.
"""

from __future__ import annotations

import csv
import functools
import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fgnas.errors import UserError
from fgnas.tasks.collection import Collection, Kind
from fgnas.tasks.fingerprint import fingerprint_of

FOLDER = "MoleculeNet"
TRAIN, VALIDATED = 0.8, 0.9
"""Shares of the molecules that train, and that train or validate."""


@dataclass(frozen=True)
class Source:
    """A raw file: its name, its columns of molecules and of targets, and what these are."""

    file: str
    molecule: str
    targets: tuple[str, ...]
    kind: Kind


TOX21 = ("NR-AR", "NR-AR-LBD", "NR-AhR", "NR-Aromatase", "NR-ER", "NR-ER-LBD", "NR-PPAR-gamma", "SR-ARE", "SR-ATAD5",
         "SR-HSE", "SR-MMP", "SR-p53")  # fmt: skip
SOURCES = {
    "esol": Source("delaney-processed.csv", "smiles", ("measured log solubility in mols per litre",), "values"),
    "tox21": Source("tox21.csv", "smiles", TOX21, "labels"),
    "hiv": Source("HIV.csv", "smiles", ("HIV_active",), "labels"),
}


@functools.lru_cache(maxsize=2)
def molecules(name: str) -> Collection:
    """The molecules of a data set. Raises UserError, with a fix, where its file or RDKit is missing."""
    source, path = SOURCES[name], _path(name)
    cache = _cache(name, path)
    if not cache.is_file():
        _write(cache, _read(path, source))
    with np.load(cache, allow_pickle=False) as archive:
        found = {key: archive[key] for key in archive.files}
    train, val, test = (found["part"] == place for place in range(3))
    return Collection(
        name, name, sp.csr_matrix(found["x"].astype(np.float32)), found["edge_index"], None, found["graph"],
        found["targets"], source.kind, train, val, test, edge_features=found["edge_attr"].astype(np.float32),
    )  # fmt: skip


def _path(name: str) -> Path:
    """The raw file: below $FGNAS_DATA_ROOT, or where PyG has put it."""
    root, file = os.environ.get("FGNAS_DATA_ROOT"), SOURCES[name].file
    places = [Path(root) / FOLDER / name / "raw" / file] if root else []
    places.append(_home() / name / "raw" / file)
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise UserError(f"{name}: there is no {places[0]}; set FGNAS_DATA_ROOT to a folder that contains "
                        f"{FOLDER}/{name}/raw/{file}, or put the file there")  # fmt: skip
    return found


def _home() -> Path:
    """The folder of what is kept."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "fgnas" / FOLDER


def _cache(name: str, path: Path) -> Path:
    """Where the graphs of a raw file are kept, by its content."""
    digest = fingerprint_of([np.frombuffer(path.read_bytes(), np.uint8)])
    return _home() / f"{name}-bonds-{digest}.npz"


def _write(cache: Path, content: dict[str, Any]) -> None:
    cache.parent.mkdir(parents=True, exist_ok=True)
    scratch = cache.with_name(f".{cache.name}.{os.getpid()}.npz")
    np.savez_compressed(scratch, **content)
    os.replace(scratch, cache)


def _read(path: Path, source: Source) -> dict[str, NDArray[Any]]:
    """The graphs of a raw file; a row that RDKit does not read, or without an atom, is left out."""
    try:
        from rdkit import RDLogger
        from torch_geometric.utils import from_smiles
    except ImportError:
        raise UserError("molecules need RDKit: pip install 'fgnas[molecules]'") from None
    logger: Any = RDLogger
    logger.DisableLog("rdApp.*")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if missing := [one for one in (source.molecule, *source.targets) if rows and one not in rows[0]]:
        raise UserError(f"{path} has no column {missing[0]!r}")
    kept = [(row, graph) for row in rows if (graph := from_smiles(row[source.molecule].strip())).num_nodes]
    sizes = np.array([graph.num_nodes for _, graph in kept], np.int64)
    firsts = np.cumsum(sizes) - sizes
    edges = [graph.edge_index.numpy() + first for (_, graph), first in zip(kept, firsts, strict=True)]
    return {
        "x": np.concatenate([graph.x.numpy() for _, graph in kept]).astype(np.int64),
        "edge_index": np.concatenate(edges, axis=1).astype(np.int64),
        "edge_attr": np.concatenate([graph.edge_attr.numpy() for _, graph in kept]).astype(np.int64),
        "graph": np.repeat(np.arange(len(kept)), sizes),
        "targets": np.array([[float(row[one] or "nan") for one in source.targets] for row, _ in kept]),
        "part": parts_by_scaffold([row[source.molecule].strip() for row, _ in kept]),
    }  # fmt: skip


def parts_by_scaffold(smiles: list[str]) -> NDArray[np.int64]:
    """[molecules] 0 of those that train, 1 of those that validate, 2 of those that test."""
    from rdkit.Chem.Scaffolds import MurckoScaffold

    sets: dict[str, list[int]] = defaultdict(list)
    for place, one in enumerate(smiles):
        sets[MurckoScaffold.MurckoScaffoldSmiles(smiles=one, includeChirality=False)].append(place)
    found, counts = np.full(len(smiles), 2, np.int64), [0, 0]
    for members in sorted(sets.values(), key=lambda one: (len(one), -one[0]), reverse=True):
        if counts[0] + len(members) <= TRAIN * len(smiles):
            part = 0
        elif sum(counts) + len(members) <= VALIDATED * len(smiles):
            part = 1
        else:
            continue
        found[members] = part
        counts[part] += len(members)
    return found
