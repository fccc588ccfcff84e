"""Arrays that no design of layers is made for, as a kind of hardware that projects describe."""

from __future__ import annotations

from typing import Any

from fgnas.hardware.array.resources import written_resources


class WrittenArrays:
    """Arrays that are described by their summary alone; see `fgnas.hardware.kind.Described`."""

    name: str
    page: str
    traces = False

    def resources(self, summary: dict[str, Any], family: str) -> dict[str, float]:
        """LUT, FF, DSP and block RAM of a described array."""
        return written_resources(summary, family)
