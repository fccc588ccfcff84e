"""HGNAS: networks for point clouds, searched operation by operation for a measured device or for an array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fgnas.systems.hgnas.options import Options

if TYPE_CHECKING:
    from pathlib import Path

    from fgnas.engine.contracts import Composition
    from fgnas.hardware.specification import Specification
    from fgnas.systems.hgnas.delivery import Delivered
    from fgnas.tasks.points import GraphSet

__all__ = ["Options", "back_end", "compose"]


class _BackEnd:
    """The back end of networks of operations; nothing heavy is imported before it is used."""

    offered = "fgnas.api.networks"

    def built(self, entry: dict[str, Any]) -> bool:
        """Always."""
        return True

    def open(self, entry: dict[str, Any], folder: Path) -> Delivered:
        """A leader's network with its weights."""
        from fgnas.systems.hgnas.delivery import opened

        return opened(entry, folder)

    def write(
        self, delivered: Delivered, data: GraphSet, directory: Path, specification: Specification | None = None
    ) -> list[Path]:
        """Lower the network to its array and write the project."""
        from fgnas.backends.points import write_project
        from fgnas.systems.hgnas.delivery import on_array

        return write_project(on_array(delivered, data).project(), directory, specification or delivered.specification)


back_end = _BackEnd()


def compose(options: Options, data: GraphSet | None = None) -> Composition:
    """The search that the options describe; `data`, if given, is not loaded again."""
    from fgnas.systems.hgnas.composition import composed

    return composed(options, data)
