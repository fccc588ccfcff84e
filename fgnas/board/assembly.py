"""The RTL of a whole system: a project's kernel, the bridge to its line, memory, and the pins of a board."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from fgnas.backends.render import render
from fgnas.board import protocol
from fgnas.board.boards import Board
from fgnas.board.sdram import MODULE, Chip, controller
from fgnas.errors import UserError
from fgnas.hardware import ports, wire
from fgnas.paths import templates_directory
from fgnas.tools.calls import calls_of
from fgnas.tools.verilator import read_sources

PLACE = "board"
"""The folder of a project's boards."""
SYSTEM, PINS, PACKAGE = "board_system", "board_top", "board_pkg"
MODULES = (
    "board_line_in", "board_line_out", "board_frame_in", "board_frame_out", "board_bridge", "board_run",
    "board_switch",
)  # fmt: skip
KERNELS = ("fgnas_block_ram",)
"""Modules of kernels that the board's use, too."""
BANK_BEATS = 1024
"""Beats of a bank of block RAMs; board_memory.sv says the same."""
STEPS = 1 << 16
"""A bit on the line lasts this many cycles over its step."""
CONNECTED = {
    *(f"{ports.READ}_{name}" for name in ("ARREADY", "RDATA", "RRESP", "RLAST", "RVALID")),
    *(f"{ports.WRITE}_{name}" for name in ("AWREADY", "WREADY", "BRESP", "BVALID")),
}
"""Inputs of the kernel's memory ports that the memory drives; the others rest."""


class Memory(Protocol):
    """Main memory of a system.

    Attributes:
        beat_bytes: bytes of a beat of its port.
        template: the text that connects it, among the templates.
        ports: (direction, range, name) of the pins that it adds to the system.
        on_chip: whether it times every beat as the latency model supposes.
    """

    @property
    def beat_bytes(self) -> int: ...
    @property
    def template(self) -> str: ...
    @property
    def ports(self) -> tuple[tuple[str, str, str], ...]: ...
    @property
    def on_chip(self) -> bool: ...
    @property
    def bytes(self) -> int: ...
    def sources(self, clock_hz: int) -> dict[str, str]:
        """{file: text} of the modules that it needs beside those of every system."""


@dataclass(frozen=True)
class OnChip:
    """Banks of block RAMs: main memory on the chip."""

    banks: int
    beat_bytes: int
    template: ClassVar[str] = "board/memory/on_chip.sv.j2"
    ports: ClassVar[tuple[tuple[str, str, str], ...]] = ()
    on_chip: ClassVar[bool] = True

    @property
    def bytes(self) -> int:
        """Bytes of all banks."""
        return self.banks * BANK_BEATS * self.beat_bytes

    def sources(self, clock_hz: int) -> dict[str, str]:
        """Its own module, whose blocks of RAM may be the kernel's, too."""
        return {
            **{f"{name}.sv": _template("rtl", name) for name in KERNELS},
            "board_memory.sv": _template("board/rtl", "board_memory"),
        }


@dataclass(frozen=True)
class OffChip:
    """An SDRAM beside the FPGA, behind LiteDRAM's controller."""

    chip: Chip
    beat_bytes: int
    template: ClassVar[str] = "board/memory/sdram.sv.j2"
    ports: ClassVar[tuple[tuple[str, str, str], ...]] = (
        ("output", "", "sdram_cke_o"), ("output", "", "sdram_cs_no"), ("output", "", "sdram_ras_no"),
        ("output", "", "sdram_cas_no"), ("output", "", "sdram_we_no"), ("output", "[1:0]", "sdram_ba_o"),
        ("output", "[12:0]", "sdram_a_o"), ("output", "[1:0]", "sdram_dm_o"), ("output", "[15:0]", "sdram_dq_o"),
        ("output", "", "sdram_dq_drive_o"), ("input", "[15:0]", "sdram_dq_i"),
    )  # fmt: skip
    on_chip: ClassVar[bool] = False

    @property
    def bytes(self) -> int:
        """Bytes of the chip."""
        return self.chip.bytes

    def sources(self, clock_hz: int) -> dict[str, str]:
        """The controller."""
        return {f"{MODULE}.v": controller(self.chip, clock_hz, 8 * self.beat_bytes)}


@dataclass(frozen=True)
class System:
    """The clock, line and memory that a system is built for.

    Attributes:
        clock_hz: of the kernel and all around it.
        baud: bits a second on the line.
        memory: main memory.
    """

    clock_hz: int
    baud: int
    memory: Memory

    @property
    def bit_step(self) -> int:
        """65536 over the cycles of a bit."""
        return round(STEPS * self.baud / self.clock_hz)

    def check(self) -> None:
        """Raise UserError where the line is too fast for the clock."""
        if self.clock_hz < 4 * self.baud:
            raise UserError(f"a line of {self.baud:,} baud needs a clock of at least {4e-6 * self.baud:g} MHz")


def system_for(
    directory: Path, board: Board, clock_mhz: float | None = None, memory_kb: int | None = None, sdram: bool = False
) -> System:
    """The system of a project on a board, with the board's defaults for what is not asked for."""
    if sdram and memory_kb is not None:
        raise UserError("--memory-kb is for memory on the chip: leave out --sdram")
    memory = off_chip(directory, board) if sdram else on_chip(directory, memory_kb)
    system = System(round(1e6 * (clock_mhz or board.kernel_mhz)), board.baud, memory)
    system.check()
    return system


def needed_bytes(directory: Path) -> int:
    """Memory that a project's graph takes, and of several calls the largest: its regions, each in whole pages."""
    folders = [call["folder"] for call in calls_of(directory)] or [directory]
    return max(_needed(folder) for folder in folders)


def _needed(folder: Path) -> int:
    summary = read_summary(folder)
    names = [one["name"] for one in summary["registers"] if one["bits"] == wire.ADDRESS_BITS]
    sizes = [(folder / "vectors" / f"{name}.bin").stat().st_size for name in names]
    return sum(max(1, -(-size // ports.PAGE_BYTES)) for size in sizes) * ports.PAGE_BYTES


def read_summary(folder: Path) -> dict[str, Any]:
    """The project's report/accelerator.json. Raises UserError where there is no project."""
    path = folder / "report" / "accelerator.json"
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        raise UserError(f"{folder} is no project, or a damaged one: write it with `fgnas hls`") from None


def beat_bytes_of(directory: Path) -> int:
    """Bytes of a beat of the kernel's memory port."""
    found = re.search(r"int unsigned BeatBytes = (\d+)", _rtl(directory, "fgnas_pkg.sv"))
    if found is None:
        raise UserError(f"{directory / 'rtl'} is damaged: write the project again with `fgnas hls`")
    return int(found[1])


def _rtl(directory: Path, name: str) -> str:
    try:
        return (directory / "rtl" / name).read_text(encoding="utf-8")
    except OSError:
        raise UserError(f"{directory} has no rtl/{name}; write a project with `fgnas hls`") from None


def on_chip(directory: Path, memory_kb: int | None = None) -> OnChip:
    """Memory on the chip for a project's graph, or of the size that is asked for, in whole banks."""
    beat_bytes = beat_bytes_of(directory)
    needed = needed_bytes(directory)
    if memory_kb is not None and 1024 * memory_kb < needed:
        raise UserError(f"--memory-kb {memory_kb} is too little: the project's graph takes {-(-needed // 1024)} KB")
    wanted = needed if memory_kb is None else 1024 * memory_kb
    return OnChip(-(-wanted // (BANK_BEATS * beat_bytes)), beat_bytes)


def off_chip(directory: Path, board: Board) -> OffChip:
    """The board's SDRAM. Raises UserError where it has none, or too small a one."""
    if board.sdram is None:
        raise UserError(f"{board.name} has no SDRAM: leave out --sdram")
    memory = OffChip(board.sdram.chip, beat_bytes_of(directory))
    if needed_bytes(directory) > memory.bytes:
        raise UserError(f"{board.name} has {memory.bytes:,} bytes; the graph takes {needed_bytes(directory):,}")
    return memory


def design_of(directory: Path) -> str:
    """A hash of a project's RTL without comments and spaces, as 8 hexadecimal digits: it identifies the kernel."""
    digest = hashlib.sha256()
    for path in read_sources(directory / "rtl" / "files.f"):
        text = re.sub(r"//[^\n]*|/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        digest.update(" ".join(text.split()).encode())
    return digest.hexdigest()[:8]


def write_system(directory: Path, folder: Path, system: System, board: Board | None = None) -> list[Path]:
    """Write the RTL of a project's system to `folder`, and list it in files.f; returns the files in compile order.

    With a board the list ends with its top, which has the board's pins and awaits its clock from `board_pll`.
    """
    system.check()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    own = read_sources(directory / "rtl" / "files.f")
    files = [Path(shutil.copyfile(path, folder / path.name)) for path in own]
    there = {path.name for path in files}
    values: dict[str, Any] = {
        "protocol": protocol, "system": system, "memory": system.memory, "clock_hz": system.clock_hz,
        "bit_step": system.bit_step, "design": design_of(directory), "connected": CONNECTED, "board": board,
        "kernel_ports": ports.ports_of(8 * system.memory.beat_bytes),
    }  # fmt: skip
    texts = {f"{PACKAGE}.sv": render(f"board/rtl/{PACKAGE}.sv.j2", **values)}
    texts |= {f"{name}.sv": _template("board/rtl", name) for name in MODULES}
    texts |= system.memory.sources(system.clock_hz)
    tops = (SYSTEM, *([PINS] if board else []))
    texts |= {f"{name}.sv": render(f"board/rtl/{name}.sv.j2", **values) for name in tops}
    for name, text in texts.items():
        if name not in there:
            files.append(folder / name)
            files[-1].write_text(text, encoding="utf-8")
    (folder / "files.f").write_text("".join(f"{path.name}\n" for path in files), encoding="utf-8")
    return files


def _template(folder: str, name: str) -> str:
    return (templates_directory() / folder / f"{name}.sv").read_text(encoding="utf-8")
