"""Load data from Python, by name or from a file."""

from __future__ import annotations

import os

from fgnas.tasks import nodes
from fgnas.tasks.nodes import GraphData

Data = str | os.PathLike[str] | GraphData
"""A name, a path, a reference, or loaded data."""


def load(name: str | os.PathLike[str], split: str | None = None, normalise: bool = False) -> GraphData:
    """Data by name or from a file; `split` such as "60/20/20" makes masks, `normalise` scales rows to sum to 1."""
    return nodes.load(nodes.reference(name, split, normalise))


def data_of(data: Data) -> GraphData:
    """Return the data, loading it if necessary."""
    return data if isinstance(data, GraphData) else nodes.load(data)
