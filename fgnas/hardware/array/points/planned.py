"""A step of a programme before any engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fgnas.hardware.array.engine import Mode
from fgnas.hardware.array.points.products import Image
from fgnas.hardware.array.points.streams import Ends


@dataclass(frozen=True, eq=False)
class Planned:
    """A descriptor whose shifts are numbers of bits and whose mode is the mode.

    Attributes:
        name: its name for readers.
        fields: those of the descriptor by name.
        mode: the kernel mode.
        multiplications: that the network needs of it.
        image: the words of a load, which may still grow.
        stream: number of the stream that it reads; -1 of none.
        ends: where the rows of that stream end.
    """

    name: str
    fields: dict[str, Any]
    mode: Mode
    multiplications: int = 0
    image: Image | None = None
    stream: int = -1
    ends: Ends | None = None
