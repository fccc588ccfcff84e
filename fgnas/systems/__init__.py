"""Systems: each is a module with `Options` and `compose`, found by name. This is the one list of them.

A system may also have `open_design`, which makes an entry of leaders.json a design that can be lowered and written.
Others install theirs under the entry point group `fgnas.systems`, each naming such a module.
"""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from types import ModuleType

from fgnas.errors import UserError

GROUP = "fgnas.systems"
DEFAULT = "fgnas"
SYSTEMS = {
    "fgnas": "fgnas.systems.fgnas",
}
"""Name -> module."""


def names() -> list[str]:
    """The names of all systems; nothing is imported."""
    return sorted({*SYSTEMS, *(point.name for point in entry_points(group=GROUP))})


def find(name: str) -> ModuleType:
    """A system's module by its name. Raises UserError for an unknown one."""
    if name in SYSTEMS:
        return importlib.import_module(SYSTEMS[name])
    for point in entry_points(group=GROUP):
        if point.name == name:
            return point.load()
    raise UserError(f"unknown system {name!r}; known: {', '.join(names())}")
