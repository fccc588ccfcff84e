"""HGNAS: networks for point clouds, searched operation by operation (its devices and its array are not here yet)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fgnas.systems.hgnas.options import Options

if TYPE_CHECKING:
    from fgnas.engine.contracts import Composition
    from fgnas.tasks.points import GraphSet

__all__ = ["Options", "back_end", "compose"]

back_end = None


def compose(options: Options, data: GraphSet | None = None) -> Composition:
    """The search that the options describe; `data`, if given, is not loaded again."""
    from fgnas.systems.hgnas.composition import composed

    return composed(options, data)
