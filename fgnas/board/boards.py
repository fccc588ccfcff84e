"""Boards as data: the part, its pins, and what is around it. One file a board, here or the user's own."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from fgnas.board.sdram import Chip
from fgnas.errors import UserError
from fgnas.files import read_text

KNOWN = Path(__file__).parent / "known"


@dataclass(frozen=True)
class Sdram:
    """An SDRAM on a board: its chip, and {signal: pins}, of several with the lowest bit first."""

    chip: Chip
    pins: dict[str, list[str]]


@dataclass(frozen=True)
class Board:
    """A board with an ECP5.

    Attributes:
        name: the file's name.
        about: what it is, in words.
        part: the maker's name of the FPGA.
        nextpnr: options that name the part, its package and speed.
        clock_mhz: of the oscillator.
        kernel_mhz: clock of the kernel unless another is asked for.
        baud: bits a second on the line.
        load: the command that loads a bitstream, which is its last argument.
        pins: {signal of board_top: pin}.
        pulls: {signal: UP or DOWN}; the others have none.
        held: {signal: pin} that are held high.
        sdram: the memory beside the FPGA, if there is one.
    """

    name: str
    about: str
    part: str
    nextpnr: tuple[str, ...]
    clock_mhz: float
    kernel_mhz: float
    baud: int
    load: str
    pins: dict[str, str]
    pulls: dict[str, str] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)
    sdram: Sdram | None = None

    def sites(self, with_sdram: bool) -> dict[str, str]:
        """{signal: pin} of every port of board_top."""
        found = self.pins | self.held
        if with_sdram and self.sdram is not None:
            for name, pins in self.sdram.pins.items():
                several = len(pins) > 1
                found |= {f"sdram_{name}" + (f"[{bit}]" if several else ""): pin for bit, pin in enumerate(pins)}
        return found


SDRAM_SIGNALS = ("clk", "cke", "cs_n", "ras_n", "cas_n", "we_n", "ba", "a", "dm", "dq")
SIGNALS = ("clock", "line_in", "line_out", "reset", "running", "locked")
"""Those that every board has."""


def known() -> list[str]:
    """Names of the boards that come with fgnas."""
    return sorted(path.stem for path in KNOWN.glob("*.toml"))


def find_board(name: str) -> Board:
    """A board by name, or from a file of the user's own. Raises UserError for one that cannot be read."""
    path = KNOWN / f"{name}.toml"
    if name.endswith(".toml"):
        path = Path(name)
    elif not path.is_file():
        raise UserError(f"unknown board {name!r}; known: {', '.join(known())}, or a file of your own (NAME.toml)")
    try:
        table = tomllib.loads(read_text(path, "board"))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path} is no TOML: {error}") from None
    names = {one.name for one in fields(Board)} - {"name"}
    needed = names - {"pulls", "held", "sdram"}
    if wrong := sorted(set(table) - names):
        raise UserError(f"{path}: unknown {wrong[0]}; a board has {', '.join(sorted(names))}")
    if missing := sorted(needed - set(table)):
        raise UserError(f"{path} lacks {missing[0]}; a board has {', '.join(sorted(names))}")
    board = _board(table | {"name": path.stem}, path)
    if absent := [one for one in SIGNALS if one not in board.pins]:
        raise UserError(f"{path} has no pin for {absent[0]}; every board has {', '.join(SIGNALS)}")
    if wrong := [name for name in ("clock_mhz", "kernel_mhz", "baud") if not 0 < getattr(board, name) < math.inf]:
        raise UserError(f"{path}: {wrong[0]} is {getattr(board, wrong[0])}, not a number above zero")
    return board


def _board(table: dict[str, Any], path: Path) -> Board:
    """The board of a table whose keys are right. Raises UserError where a value has another type."""
    sdram = table.get("sdram")
    if isinstance(sdram, dict):
        pins = sdram.get("pins")
        if set(sdram) != {"chip", "pins"} or not isinstance(pins, dict) or set(pins) != set(SDRAM_SIGNALS):
            raise UserError(f"{path}: an sdram has chip and pins, the latter for {', '.join(SDRAM_SIGNALS)}")
        table = table | {"sdram": {"chip": {"module": sdram["chip"]}, "pins": pins}}
    try:
        return TypeAdapter(Board).validate_python(table)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UserError(f"{path}: {place} is {first['input']!r}: {first['msg'].lower()}") from None
