"""fgnas for Python: search, import, price, train, lower, write, simulate, synthesise; map.

The command line calls this package and adds only parsing and tables. Cycles count the whole graph, latencies are
milliseconds, accuracies 0 to 1. Impossible requests raise `fgnas.UserError` with one line.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fgnas.errors import UserError

if TYPE_CHECKING:
    from fgnas.api.data import load
    from fgnas.api.designs import Accelerator, Design, import_model, prices, read_designs, sample
    from fgnas.api.devices import measure, price_network
    from fgnas.api.mappings import map_network, measure_platform
    from fgnas.api.pricing import price_lines, specification
    from fgnas.api.projects import Project, doctor, passed
    from fgnas.api.runs import Run, search
    from fgnas.tasks.nodes import GraphData

__all__ = [
    "Accelerator", "Design", "GraphData", "Project", "Run", "UserError",
    "doctor", "import_model", "load", "map_network", "measure", "measure_platform", "passed", "price_lines",
    "price_network", "prices", "read_designs", "sample", "search", "specification",
]  # fmt: skip

_HOMES = {
    "fgnas.api.data": ("load",),
    "fgnas.api.designs": ("Accelerator", "Design", "import_model", "prices", "read_designs", "sample"),
    "fgnas.api.devices": ("measure", "price_network"),
    "fgnas.api.mappings": ("map_network", "measure_platform"),
    "fgnas.api.pricing": ("price_lines", "specification"),
    "fgnas.api.projects": ("Project", "doctor", "passed"),
    "fgnas.api.runs": ("Run", "search"),
    "fgnas.tasks.nodes": ("GraphData",),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a name's module when it is first used: torch alone takes seconds, and pricing needs none of it."""
    for home, names in _HOMES.items():
        if name in names:
            found = getattr(importlib.import_module(home), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
