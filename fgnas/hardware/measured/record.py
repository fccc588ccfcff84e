"""Record of the measurements on a device, a line each: a killed measurement loses only the line that it was writing."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fgnas.errors import UserError
from fgnas.files import canonical_json
from fgnas.networks.points.operations import PointNetwork


@dataclass(frozen=True)
class Measured:
    """A network with its measurements.

    Attributes:
        network: in canonical form.
        ratios: its time over the reference's, round by round.
        milliseconds: of a run, in the round of the least ratio.
        memory: bytes that a run needs; None where that was not measured.
    """

    network: PointNetwork
    ratios: tuple[float, ...]
    milliseconds: float
    memory: int | None = None

    @property
    def ratio(self) -> float:
        """The least of the rounds, which other programmes disturbed least."""
        return min(self.ratios)


@dataclass(frozen=True)
class Line:
    """One measurement: of the network at a place of the list, its time in a round or its memory. Raises ValueError for
    what is neither."""

    place: int
    round: int | None = None
    ratio: float | None = None
    milliseconds: float | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        timed = self.round is not None
        counts = (self.place, self.round if timed else self.memory)
        amounts = (self.ratio, self.milliseconds)
        if not (
            all(isinstance(one, int) and one >= 0 for one in counts)
            and all(isinstance(one, int | float) and 0 < one < math.inf if timed else one is None for one in amounts)
            and not (timed and self.memory is not None)
        ):
            raise ValueError(f"neither a time nor a memory: {self.to_json()}")

    def to_json(self) -> str:
        """One line."""
        return canonical_json({name: value for name, value in vars(self).items() if value is not None})


def read_lines(path: Path, networks: int) -> list[Line]:
    """The whole lines of a record of so many networks; a last one that a killed process left half written is cut off
    the file.

    Raises UserError for any other line that is wrong.
    """
    if not path.is_file():
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        path.write_bytes(whole)
    try:
        lines = [Line(**json.loads(line)) for line in whole.splitlines()]
        if beyond := [line for line in lines if line.place >= networks]:
            raise ValueError(f"network {beyond[0].place} of {networks}")
        return lines
    except (TypeError, ValueError) as error:
        raise UserError(f"{path} is damaged ({error}): measure again, with another --out") from None


def gathered(networks: Sequence[PointNetwork], lines: Sequence[Line]) -> list[Measured]:
    """The networks that were timed, in the order of the list."""
    timed, memory = defaultdict[int, list[Line]](list), dict[int, int]()
    for line in lines:
        if line.memory is not None:
            memory[line.place] = line.memory
        else:
            timed[line.place].append(line)
    found = []
    for place in sorted(timed):
        mine = sorted(timed[place], key=lambda line: line.round or 0)
        times = [(line.ratio, line.milliseconds) for line in mine
                 if line.ratio is not None and line.milliseconds is not None]  # fmt: skip
        ratios = tuple(ratio for ratio, _ in times)
        found.append(Measured(networks[place], ratios, min(times)[1], memory.get(place)))
    return found
