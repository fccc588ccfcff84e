"""Data sets of the TU Dortmund collection (Morris et al., 2020) by name, from their raw files as PyG reads them.

Features of nodes and of edges are their labels, one-hot, as PyG's `TUDataset` has them by default.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fgnas.errors import UserError
from fgnas.tasks.files import graphs_of, quiet
from fgnas.tasks.nodes import UNDIVIDED

FOLDER = "TUDataset"
SPLIT = "80/10/10"
"""Per cent of the graphs that train, validate and test, where the user gives none: the collection has no split."""


def fields_of(name: str) -> tuple[Path, dict[str, Any]]:
    """The folder of a data set "tu:NAME", and its graphs as the fields of one file. Raises UserError where there are
    none."""
    from torch_geometric.io import read_tu_data

    own = name.removeprefix(UNDIVIDED)
    folder = _folder(own)
    try:
        with quiet():
            data, slices, sizes = read_tu_data(str(folder), own)
    except Exception as error:  # damaged files can raise nearly anything
        reason = " ".join(str(error).split())[:160]
        raise UserError(f"{folder} is no data set of this collection ({type(error).__name__}: {reason})") from None
    if not sizes["num_node_labels"]:
        raise UserError(f"{name} has no labels of nodes, and so no features: save its graphs with features of your own")
    data.x = data.x[:, sizes["num_node_attributes"] :]
    labels = None if data.edge_attr is None else data.edge_attr[:, sizes["num_edge_attributes"] :]
    data.edge_attr = labels if labels is not None and labels.shape[1] > 1 else None  # one label says nothing
    if data.edge_attr is None:
        slices.pop("edge_attr", None)
    return folder, graphs_of(folder, data, slices)


def _folder(own: str) -> Path:
    """The folder of the raw files: below $FGNAS_DATA_ROOT, or in the user's cache."""
    roots = [Path(root) for root in (os.environ.get("FGNAS_DATA_ROOT"),) if root]
    roots.append(Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "fgnas")
    places = [root / FOLDER / own / "raw" for root in roots]
    edges = f"{own}_A.txt"
    found = next((place for place in places if (place / edges).is_file()), None)
    if not own or found is None:
        raise UserError(f"{UNDIVIDED}{own}: there is no {places[0] / edges}; set FGNAS_DATA_ROOT to a folder that has "
                        f"{FOLDER}/{own}/raw, as PyG's TUDataset makes it, or put the files there")  # fmt: skip
    return found
