"""MaGNAS: subnets of a vision-GNN supernet, and the exact mapping of their steps to the units of a platform."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fgnas.systems.magnas.options import Options

if TYPE_CHECKING:
    from pathlib import Path

    from fgnas.engine.contracts import Composition
    from fgnas.systems.magnas.delivery import Delivered
    from fgnas.tasks.images import ImageData

__all__ = ["Options", "back_end", "compose"]


class _BackEnd:
    """The kernels' back end; nothing heavy is imported before it is used."""

    offered = None

    def built(self, entry: dict[str, Any]) -> bool:
        """Whether a step of the mapping runs on a kernel."""
        return not set(entry["kernels"]).isdisjoint(entry["mapping"]["units"])

    def open(self, entry: dict[str, Any], folder: Path) -> Delivered:
        """A leader's subnet with its mapping."""
        from fgnas.systems.magnas.delivery import opened_entry

        return opened_entry(entry, folder)

    def write(
        self, delivered: Delivered, data: ImageData | None, directory: Path, specification: object = None
    ) -> list[Path]:
        """Write a project for every kernel that the mapping needs; each kernel has its own specification."""
        from fgnas.systems.magnas.delivery import written

        return written(delivered, directory)


back_end = _BackEnd()


def compose(options: Options, data: ImageData | None = None) -> Composition:
    """The search that the options describe; `data`, if given, is not loaded again."""
    from fgnas.systems.magnas.composition import composed

    return composed(options, data)
