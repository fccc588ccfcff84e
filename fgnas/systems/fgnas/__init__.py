"""FGNAS: per-layer structure, parallelism and fixed-point widths, on a pipeline with units for each layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fgnas.systems.fgnas.options import Options

if TYPE_CHECKING:
    from pathlib import Path

    from fgnas.engine.contracts import Composition
    from fgnas.systems.fgnas.delivery import Delivered
    from fgnas.tasks.nodes import GraphData

__all__ = ["Options", "compose", "open_design"]


def compose(options: Options, data: GraphData | None = None) -> Composition:
    """The search that the options describe; `data` saves loading what they name."""
    from fgnas.systems.fgnas.composition import composed

    return composed(options, data)


def open_design(entry: dict[str, Any], folder: Path) -> Delivered:
    """An entry of a run's leaders.json, with its weights."""
    from fgnas.systems.fgnas.delivery import opened

    return opened(entry, folder)
