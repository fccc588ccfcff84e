"""fgnas for Python: search, import, price, train, lower, write, simulate, synthesise; map.

The command line calls this package and adds only parsing and tables. Cycles count the whole graph, latencies are
milliseconds, accuracies 0 to 1. Impossible requests raise `fgnas.UserError` with one line.
"""

from fgnas.api.data import load
from fgnas.api.designs import (
    Accelerator,
    Design,
    import_model,
    prices,
    read_designs,
    sample,
    specification,
)
from fgnas.api.mappings import map_network
from fgnas.api.projects import Project, doctor, passed
from fgnas.api.runs import Run, search
from fgnas.errors import UserError
from fgnas.tasks.nodes import GraphData

__all__ = [
    "Accelerator", "Design", "GraphData", "Project", "Run", "UserError",
    "doctor", "import_model", "load", "map_network", "passed", "prices", "read_designs", "sample", "search",
    "specification",
]  # fmt: skip
