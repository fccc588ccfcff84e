"""Load data, or a run, from Python: by name or from a file."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from fgnas.api.runs import Run
from fgnas.errors import UserError
from fgnas.paths import RUNS
from fgnas.tasks import nodes, pooled


def load(name: str | os.PathLike[str], split: str | None = None, normalise: bool = False) -> Any:
    """Data by name or from a file, a `GraphData`; or the `Run` of that name or folder, finished or not. Many graphs
    with targets of their own are one of all their nodes, a `PooledData`.

    `split` such as "60/20/20" makes masks of a file's nodes, `normalise` scales its rows of features to sum to 1. A
    name of built-in data always means the data.
    """
    reference = nodes.reference(name, split, normalise)
    if not pooled.named(reference) and nodes.path_of(reference) is None:
        from fgnas.engine.store import RunStore  # which needs torch

        with contextlib.suppress(UserError):
            store = RunStore.find(RUNS, reference)
            return Run(store, store.best() or {})
    return pooled.load(reference)
