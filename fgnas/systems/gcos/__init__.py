"""G-CoS: networks of a supernet, searched together with the multiplier array that runs all of their layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fgnas.systems.fgnas import back_end
from fgnas.systems.gcos.options import Options

if TYPE_CHECKING:
    from fgnas.engine.contracts import Composition
    from fgnas.tasks.nodes import GraphData

__all__ = ["Options", "back_end", "compose"]


def compose(options: Options, data: GraphData | None = None) -> Composition:
    """The search that the options describe; `data`, if given, is not loaded again."""
    from fgnas.systems.gcos.composition import composed

    return composed(options, data)
