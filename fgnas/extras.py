"""Packages that only some commands need, and the extras that install them."""

from __future__ import annotations

import importlib.util

from fgnas.errors import UserError


def require(package: str, extra: str) -> None:
    """Raise UserError where an optional package is missing, and name the extra that installs it."""
    if importlib.util.find_spec(package) is None:
        raise UserError(f"the package {package} is missing; fix: pip install 'fgnas[{extra}]'")
