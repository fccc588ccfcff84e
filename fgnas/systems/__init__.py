"""Systems: each is a module with `Options`, `compose` and `back_end`, found by name. This is the only list of them.

Others install theirs under the entry point group `fgnas.systems`, each naming such a module.
"""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import cast

from fgnas.engine.contracts import System
from fgnas.errors import UserError

GROUP = "fgnas.systems"
DEFAULT = "fgnas"
SYSTEMS = {
    "fgnas": "fgnas.systems.fgnas",
    "g-cos": "fgnas.systems.gcos",
    "magnas": "fgnas.systems.magnas",
    "hgnas": "fgnas.systems.hgnas",
}
"""Name -> module."""


def names() -> list[str]:
    """The names of all systems; nothing is imported."""
    return sorted({*SYSTEMS, *(point.name for point in entry_points(group=GROUP))})


def find(name: str) -> System:
    """A system's module by its name. Raises UserError for an unknown one."""
    if name in SYSTEMS:
        return cast(System, importlib.import_module(SYSTEMS[name]))
    for point in entry_points(group=GROUP):
        if point.name == name:
            return cast(System, point.load())
    raise UserError(f"unknown system {name!r}; known: {', '.join(names())}")
