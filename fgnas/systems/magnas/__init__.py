"""MaGNAS: subnets of a vision-GNN supernet, and the exact mapping of their steps to the units of a platform."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fgnas.systems.magnas.options import Options

if TYPE_CHECKING:
    from fgnas.engine.contracts import BackEnd, Composition
    from fgnas.tasks.images import ImageData

__all__ = ["Options", "back_end", "compose"]

back_end: BackEnd | None = None
"""No subnet is built yet."""


def compose(options: Options, data: ImageData | None = None) -> Composition:
    """The search that the options describe; `data`, if given, is not loaded again."""
    from fgnas.systems.magnas.composition import composed

    return composed(options, data)
