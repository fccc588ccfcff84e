"""Data that Python names, loads or hands over."""

from __future__ import annotations

import os
from typing import Any

from fgnas.errors import UserError
from fgnas.tasks import pooled, sources
from fgnas.tasks.collection import Collection, of_nodes
from fgnas.tasks.degrees import Degrees
from fgnas.tasks.nodes import GraphData

Data = str | os.PathLike[str] | GraphData
"""A name, a path, a reference, or loaded data."""


def data_of(data: Data) -> GraphData:
    """Return the data, loading it if necessary."""
    return data if isinstance(data, GraphData) else pooled.load(data)


def sized_of(data: Data | Degrees) -> GraphData | Degrees:
    """What a price is for: the data, loaded if necessary; the graphs of one start; sizes of a graph as they are."""
    return data if isinstance(data, Degrees) else pooled.start_of(data_of(data))


def collection_of(data: Any) -> Collection:
    """The data that a model is imported for, loaded if necessary. Raises UserError for what is no data."""
    if isinstance(data, Collection):
        return data
    if isinstance(data, pooled.PooledData):
        return sources.load(pooled.whole_name(data.name))  # as it was before categories became columns
    if isinstance(data, GraphData):
        return of_nodes(data)
    if isinstance(data, str | os.PathLike):
        return sources.load(os.fspath(data))
    raise UserError(f"data is of type {type(data).__name__}: give a name such as 'cora', what fgnas.load returns, "
                    f"or a file such as 'graph.pt', which torch.save(data, 'graph.pt') writes of a PyG Data")
