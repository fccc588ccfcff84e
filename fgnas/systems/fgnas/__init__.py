"""FGNAS: per-layer structure, parallelism and fixed-point widths, on a pipeline with units for each layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fgnas.systems.fgnas.options import Options

if TYPE_CHECKING:
    from pathlib import Path

    from fgnas.engine.contracts import Composition
    from fgnas.hardware.specification import Specification
    from fgnas.systems.fgnas.delivery import Delivered
    from fgnas.tasks.nodes import GraphData

__all__ = ["Options", "back_end", "compose"]


def compose(options: Options, data: GraphData | None = None) -> Composition:
    """The search that the options describe; `data`, if given, is not loaded again."""
    from fgnas.systems.fgnas.composition import composed

    return composed(options, data)


class _BackEnd:
    """The back end of designs, whatever hardware they name; nothing heavy is imported before it is used."""

    offered = "fgnas.api.designs"

    def built(self, entry: dict[str, Any]) -> bool:
        """Always."""
        return True

    def open(self, entry: dict[str, Any], folder: Path) -> Delivered:
        """A leader's design with its weights."""
        from fgnas.systems.fgnas.delivery import opened

        return opened(entry, folder)

    def write(
        self, delivered: Delivered, data: GraphData, directory: Path, specification: Specification | None = None
    ) -> list[Path]:
        """Lower the design for the data's graph and write its project."""
        from fgnas.systems.fgnas.delivery import written

        return written(delivered, data, directory, specification)


back_end = _BackEnd()
