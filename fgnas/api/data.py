"""Data from Python: by name, from a file, or loaded already."""

from __future__ import annotations

import os

from fgnas.tasks import nodes
from fgnas.tasks.nodes import GraphData

Data = str | os.PathLike[str] | GraphData
"""A name, a path or a reference, or data that was loaded."""


def load(name: str | os.PathLike[str], split: str | None = None, normalise: bool = False) -> GraphData:
    """Data by name or from a file; `split` such as "60/20/20" makes masks, `normalise` scales rows to sum to 1."""
    return nodes.load(nodes.reference(name, split, normalise))


def data_of(data: Data) -> GraphData:
    """The data, loaded where it is not yet."""
    return data if isinstance(data, GraphData) else nodes.load(data)
