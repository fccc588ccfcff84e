"""A board at the end of a line, with the face of PYNQ: registers, and buffers in the board's memory.

A project's driver.py works on it as it works on PYNQ: `flush` writes a buffer over the line, `invalidate` reads it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace, TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike

from fgnas.backends.rtl import TOP
from fgnas.board import protocol
from fgnas.board.assembly import design_of
from fgnas.board.line import READ_WINDOW, TIMEOUT_S, WINDOW, Link, Request, open_line
from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.ports import PAGE_BYTES

KERNEL = f"{TOP}_0"
"""The kernel's name in an overlay."""


class Buffer(np.ndarray):
    """An array with a place in the board's memory, as `pynq.allocate` returns it."""

    platform: Platform
    device_address: int

    def flush(self) -> None:
        """Write it to the board."""
        self.platform.write(self.device_address, self.tobytes())

    def invalidate(self) -> None:
        """Read it from the board."""
        content = self.platform.read(self.device_address, self.nbytes)
        self[...] = np.frombuffer(content, self.dtype).reshape(self.shape)

    def freebuffer(self) -> None:
        """Give its place back."""
        self.platform.free(self.device_address)


class Registers:
    """The kernel's registers."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    def read(self, offset: int) -> int:
        """The word at an offset."""
        return self._platform.read_register(offset)

    def write(self, offset: int, value: int) -> None:
        """Write the word at an offset. What stops a run resets the kernel: a board at work takes nothing else."""
        if offset == wire.CONTROL_REGISTERS[0].offset and value & wire.STOP:
            self._platform.reset()
        else:
            self._platform.write_register(offset, value)


class Platform:
    """A board: its memory, its registers, and what PYNQ has.

    Attributes:
        link: the line to it.
        facts: the board's own registers that never change, by name.
    """

    def __init__(self, link: Link) -> None:
        self.link = link
        self.facts = self._read_facts()
        link.on_greeting = self._check_same
        self._taken: dict[int, int] = {}  # {address: bytes}

    # What PYNQ has.

    def Overlay(self, bitstream: str) -> SimpleNamespace:  # noqa: N802 (PYNQ's name)
        """The bitstream that the board holds already; its kernel, by name."""
        return SimpleNamespace(**{KERNEL: Registers(self)})

    def allocate(self, shape: Sequence[int], dtype: DTypeLike) -> Buffer:
        """A buffer on a page of its own. Raises UserError where the board's memory is full."""
        buffer = np.zeros(shape, dtype).view(Buffer)
        buffer.platform = self
        buffer.device_address = self._place(buffer.nbytes)
        return buffer

    # Memory and registers.

    def read(self, address: int, size: int) -> bytes:
        """Bytes of memory; address and size in whole beats."""
        asked = [
            Request(protocol.READ, address + at, length=min(protocol.PAYLOAD_BYTES, size - at))
            for at in range(0, size, protocol.PAYLOAD_BYTES)
        ]
        return b"".join(self.link.ask(asked, READ_WINDOW))

    def write(self, address: int, content: bytes) -> None:
        """Write bytes to memory, in whole beats."""
        step = protocol.PAYLOAD_BYTES
        parts = range(0, len(content), step)
        self.link.ask([Request(protocol.WRITE, address + at, content[at : at + step]) for at in parts], WINDOW)

    def read_register(self, offset: int) -> int:
        """A word of the kernel's registers, or of the board's."""
        (word,) = self.link.ask([Request(protocol.READ_REGISTER, offset, length=protocol.WORD_BYTES)])
        return int.from_bytes(word, "little")

    def write_register(self, offset: int, value: int) -> None:
        """Write a word of the kernel's registers."""
        self.link.ask([Request(protocol.WRITE_REGISTER, offset, value.to_bytes(protocol.WORD_BYTES, "little"))])

    def register(self, name: str) -> int:
        """A register of the board, by name."""
        return self.read_register(protocol.OFFSETS[name])

    def _read_facts(self) -> dict[str, int]:
        if self.register("magic") != protocol.MAGIC or self.register("version") != protocol.VERSION:
            raise UserError("the board speaks, but not as this version of fgnas does: build its bitstream again")
        return {name: self.register(name) for name in ("beat_bytes", "memory_bytes", "clock", "design")}

    def _check_same(self) -> None:
        if self._read_facts() != self.facts:
            raise UserError("the board holds another bitstream than it did: connect to it again")

    @property
    def cycles(self) -> int:
        """Cycles of the kernel's last run, from its start to its interrupt."""
        return self.register("cycles_low") | self.register("cycles_high") << 32

    def reset(self) -> None:
        """Reset the kernel, in the middle of a run, too."""
        self.link.ask([Request(protocol.RESET)])

    def free(self, address: int) -> None:
        """Give the place of a buffer back."""
        del self._taken[address]

    def _place(self, size: int) -> int:
        """The first free pages for so many bytes."""
        pages = max(1, -(-size // PAGE_BYTES)) * PAGE_BYTES
        at = 0
        for taken, length in sorted(self._taken.items()):
            if taken - at >= pages:
                break
            at = taken + length
        if at + pages > self.facts["memory_bytes"]:
            raise UserError(
                f"the board's memory of {self.facts['memory_bytes']:,} bytes has no room for {size:,} more; "
                "fix: fgnas board DIR --memory-kb N, for a bitstream with more"
            )
        self._taken[at] = pages
        return at


class Connection:
    """An open board.

        with connect("/dev/ttyUSB0", 3_000_000) as board:
            kernel = board.kernel("hls/best")
            logits = kernel.run(**board.driver("hls/best").regions("hls/best/vectors"))
    """

    def __init__(self, platform: Platform) -> None:
        self.platform = platform

    def driver(self, directory: Path | str) -> ModuleType:
        """The driver of a project. Raises UserError without one."""
        return load_driver(Path(directory))

    def kernel(self, directory: Path | str, **options: Any) -> Any:
        """The kernel of a project, with the face that it has on PYNQ: `run`, `predict`, `close`.

        Raises UserError where the board holds another kernel than the project.
        """
        holds, wanted = f"{self.platform.facts['design']:08x}", design_of(Path(directory))
        if holds != wanted:
            raise UserError(
                f"the board holds kernel {holds}, and {directory} is of kernel {wanted}: load the bitstream that "
                f"`fgnas board {directory}` wrote"
            )
        try:
            return self.driver(directory).Kernel("", platform=self.platform, **options)
        except TypeError:
            raise UserError(f"{directory} has a driver of an older version: write the project again") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.platform.link.close()


def connect(port: str, baud: int, timeout_s: float = TIMEOUT_S) -> Connection:
    """Open the board at a serial port, or at socket://HOST:PORT. Raises UserError where none answers."""
    line = open_line(port, baud)
    try:
        return Connection(Platform(Link(line, baud, timeout_s)))
    except BaseException:
        line.close()
        raise


def driver_of(directory: Path) -> Path:
    """The driver.py of a project. Raises UserError without one."""
    path = directory / "driver.py"
    if not path.is_file():
        raise UserError(f"{directory} has no driver.py: write a project with `fgnas hls`")
    return path


def load_driver(directory: Path) -> ModuleType:
    """The module driver.py of a project. Raises UserError without one."""
    path = driver_of(directory)
    spec = importlib.util.spec_from_file_location("fgnas_project_driver", path)
    if spec is None or spec.loader is None:
        raise UserError(f"cannot load {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
