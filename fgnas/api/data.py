"""Data that Python names, loads or hands over."""

from __future__ import annotations

import os

from fgnas.tasks import nodes
from fgnas.tasks.nodes import GraphData

Data = str | os.PathLike[str] | GraphData
"""A name, a path, a reference, or loaded data."""


def data_of(data: Data) -> GraphData:
    """Return the data, loading it if necessary."""
    return data if isinstance(data, GraphData) else nodes.load(data)
