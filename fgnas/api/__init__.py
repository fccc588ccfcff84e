"""fgnas for Python: search, import, price, train, lower, write, simulate, synthesise; map.

The command line calls this package and adds only parsing and tables. Cycles count the whole graph, latencies are
milliseconds, accuracies 0 to 1. Impossible requests raise `fgnas.UserError` with one line.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fgnas.errors import UserError

if TYPE_CHECKING:
    from fgnas.api.designs import Accelerator, Design, prices, read_designs, sample
    from fgnas.api.devices import measure, price_network, price_on_array
    from fgnas.api.encoding import encode
    from fgnas.api.exchange import to_onnx
    from fgnas.api.imports import ImportedNetwork, import_model, is_imported
    from fgnas.api.loading import load
    from fgnas.api.mappings import map_cuts, map_network, measure_platform
    from fgnas.api.networks import PointAccelerator, PointDesign
    from fgnas.api.pricing import price_lines, specification
    from fgnas.api.projects import Project, doctor, passed
    from fgnas.api.runs import Run, candidates, compare, search
    from fgnas.tasks.degrees import Degrees
    from fgnas.tasks.nodes import GraphData

__all__ = [
    "Accelerator", "Degrees", "Design", "GraphData", "ImportedNetwork", "PointAccelerator", "PointDesign", "Project",
    "Run", "UserError", "candidates", "compare", "doctor", "encode", "import_model", "is_imported", "load", "map_cuts",
    "map_network", "measure", "measure_platform", "passed", "price_lines", "price_network", "price_on_array", "prices",
    "read_designs", "sample", "search", "specification", "to_onnx",
]  # fmt: skip

_HOMES = {
    "fgnas.api.designs": ("Accelerator", "Design", "prices", "read_designs", "sample"),
    "fgnas.api.devices": ("measure", "price_network", "price_on_array"),
    "fgnas.api.encoding": ("encode",),
    "fgnas.api.exchange": ("to_onnx",),
    "fgnas.api.imports": ("ImportedNetwork", "import_model", "is_imported"),
    "fgnas.api.loading": ("load",),
    "fgnas.api.mappings": ("map_cuts", "map_network", "measure_platform"),
    "fgnas.api.networks": ("PointAccelerator", "PointDesign"),
    "fgnas.api.pricing": ("price_lines", "specification"),
    "fgnas.api.projects": ("Project", "doctor", "passed"),
    "fgnas.api.runs": ("Run", "candidates", "compare", "search"),
    "fgnas.tasks.degrees": ("Degrees",),
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
