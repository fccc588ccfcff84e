"""Searchers: each module of this package with a function `searcher` is a method of that name.

Others install theirs under the entry point group `fgnas.searchers`, each naming such a function.
"""

from __future__ import annotations

import importlib
import pkgutil
from importlib.metadata import entry_points

from fgnas.engine.contracts import MakeSearcher
from fgnas.errors import UserError

GROUP = "fgnas.searchers"


def methods() -> list[str]:
    """The names of all searchers; nothing is imported."""
    own = [module.name for module in pkgutil.iter_modules(__path__) if not module.ispkg]
    return sorted({*own, *(point.name for point in entry_points(group=GROUP))})


def find(name: str) -> MakeSearcher:
    """The function that makes a searcher for a problem, by the method's name. Raises UserError for an unknown one."""
    if name not in methods():
        raise UserError(f"unknown method {name!r}; known: {', '.join(methods())}")
    for point in entry_points(group=GROUP):
        if point.name == name:
            return point.load()
    return importlib.import_module(f"{__name__}.{name}").searcher
