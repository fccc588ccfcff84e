"""The protocol between host and board, as data: frames, operations, statuses and the board's registers.

A frame lies between two flags, with escapes as in RFC 1662 (HDLC-like framing), and ends with the CRC-32 of IEEE 802.3.
The SystemVerilog package of the board and the tables of docs/board.md are made from this module.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fgnas.hardware.wire import REGISTER_ADDRESS_BITS, REGISTER_BITS, Field, Layout

FLAG, ESCAPE, FLIP = 0x7E, 0x7D, 0x20
"""The byte around frames, the byte before an escaped one, and what that is combined with."""
PAYLOAD_BYTES = 960
"""At most, in a frame: whole beats of every width."""
WORD_BYTES = REGISTER_BITS // 8
KERNEL_REGISTER_BYTES = 1 << REGISTER_ADDRESS_BITS
CRC_BYTES = 4
MAGIC = int.from_bytes(b"fgna", "little")
LONGEST = 4096
"""Bytes between two flags at most: no frame has more, whatever is escaped in it."""
VERSION = 1
NUMBERS = 256
"""Frames are counted modulo this."""

REQUEST = Layout((
    Field("number", 8, "number of the frame"),
    Field("operation", 8, "what to do"),
    Field("length", 16, "bytes to read or write"),
    Field("address", 32, "of the first byte, in memory or among the registers"),
))  # fmt: skip
"""The header of a frame to the board; a write's bytes follow it."""
ANSWER = Layout((
    Field("number", 8, "that of the frame"),
    Field("status", 8, "what became of it"),
    Field("expected", 8, "the number that the next frame must have"),
    Field("length", 16, "bytes that follow"),
))  # fmt: skip
"""The header of an answer; the bytes that were read follow it."""


@dataclass(frozen=True)
class Value:
    """A number with a meaning."""

    name: str
    number: int
    about: str


OPERATIONS = (
    Value("greet", 0, "the next frame has the number behind this one"),
    Value("read", 1, "read memory, in whole beats"),
    Value("write", 2, "write memory, in whole beats"),
    Value("read_register", 3, "read a register of the kernel or of the board"),
    Value("write_register", 4, "write an argument of the kernel, or start it"),
    Value("reset", 5, "reset the kernel and the memory's controller, in the middle of a run, too"),
)
STATUSES = (
    Value("done", 0, "executed, now or when the same frame came before"),
    Value("damaged", 1, "the frame is damaged, and its number may be wrong"),
    Value("unexpected", 2, "another number is expected"),
    Value("busy", 3, "the kernel runs or the memory is not ready: try again"),
    Value("outside", 4, "outside the memory or the registers, not in whole beats, or not to be written"),
    Value("unknown", 5, "no such operation"),
    Value("silent", 6, "kernel or memory did not answer; both were reset"),
)
GREET, READ, WRITE, READ_REGISTER, WRITE_REGISTER, RESET = (one.number for one in OPERATIONS)
DONE, DAMAGED, UNEXPECTED, BUSY, OUTSIDE, UNKNOWN, SILENT = (one.number for one in STATUSES)


@dataclass(frozen=True)
class BoardRegister:
    """A word that the board itself holds, read only."""

    name: str
    offset: int
    about: str


REGISTERS = tuple(
    BoardRegister(name, 2 * KERNEL_REGISTER_BYTES + WORD_BYTES * place, about)
    for place, (name, about) in enumerate((
        ("magic", f"{MAGIC:#x}: a board of fgnas"),
        ("version", "of these frames and registers"),
        ("beat_bytes", "bytes of a beat of memory"),
        ("memory_bytes", "size of the memory"),
        ("clock", "of the kernel, in Hz"),
        ("design", "which RTL the kernel is made of: a hash"),
        ("state", "bit 0 the kernel runs, bit 1 the memory is ready, bit 2 it keeps the time of the model"),
        ("cycles_low", "of the kernel's last run, from its start to its interrupt"),
        ("cycles_high", "their upper 32 bits"),
        ("damaged", "damaged frames since the reset"),
        ("dropped", "frames since the reset that came too early"),
    ))
)  # fmt: skip
OFFSETS = {register.name: register.offset for register in REGISTERS}
RUNNING, READY, TIMED = 1 << 0, 1 << 1, 1 << 2
"""Bits of the register `state`."""


def packed(layout: Layout, **values: int) -> bytes:
    """The bytes of a header, the first field first."""
    whole, at = 0, 0
    for field in layout.fields:
        whole |= (values[field.name] & ((1 << field.bits) - 1)) << at
        at += field.bits
    return whole.to_bytes(layout.bits // 8, "little")


def unpacked(layout: Layout, content: bytes) -> dict[str, int]:
    """The fields of a header at the begin of `content`."""
    whole = int.from_bytes(content[: layout.bits // 8], "little")
    return {field.name: whole >> layout.place(field.name)[0] & ((1 << field.bits) - 1) for field in layout.fields}


def framed(content: bytes) -> bytes:
    """A frame as it goes over the line: flags, escapes and CRC around its content."""
    whole = content + zlib.crc32(content).to_bytes(CRC_BYTES, "little")
    return bytes((FLAG,)) + escaped(whole) + bytes((FLAG,))


def escaped(content: bytes) -> bytes:
    """Content without flags."""
    for special in (ESCAPE, FLAG):
        content = content.replace(bytes((special,)), bytes((ESCAPE, special ^ FLIP)))
    return content


def request(number: int, operation: int, address: int = 0, payload: bytes = b"", length: int | None = None) -> bytes:
    """A frame to the board; `length` is that of the payload unless something is read."""
    size = len(payload) if length is None else length
    return framed(packed(REQUEST, number=number, operation=operation, length=size, address=address) + payload)


@dataclass(frozen=True)
class Answer:
    """The board's answer to a frame."""

    number: int
    status: int
    expected: int
    payload: bytes


def answer(number: int, status: int, expected: int, payload: bytes = b"") -> bytes:
    """An answer's frame."""
    header = packed(ANSWER, number=number, status=status, expected=expected, length=len(payload))
    return framed(header + payload)


def read_answer(content: bytes) -> Answer | None:
    """The answer in the content of a frame, None where its length contradicts it."""
    at = ANSWER.bits // 8
    if len(content) < at:
        return None
    fields = unpacked(ANSWER, content)
    if fields.pop("length") != len(content) - at:
        return None
    return Answer(**fields, payload=content[at:])


class Frames:
    """Splits the bytes of a line into the contents of whole and undamaged frames.

    Attributes:
        damaged: frames that were neither empty nor right.
    """

    def __init__(self) -> None:
        self.damaged = 0
        self._begun = bytearray()

    def feed(self, received: bytes) -> Iterator[bytes]:
        """The contents of the frames that end within `received`."""
        first, *others = received.split(bytes((FLAG,)))
        self._begun += first[: LONGEST - len(self._begun)]
        for part in others:
            if (content := checked(bytes(self._begun))) is not None:
                yield content
            elif self._begun:
                self.damaged += 1
            self._begun = bytearray(part[:LONGEST])


def checked(received: bytes) -> bytes | None:
    """The content of a frame between its flags; None where it is damaged."""
    parts = received.split(bytes((ESCAPE,)))
    if any(not part for part in parts[1:]):
        return None
    whole = parts[0] + b"".join(bytes((part[0] ^ FLIP,)) + part[1:] for part in parts[1:])
    content, crc = whole[:-CRC_BYTES], whole[-CRC_BYTES:]
    return content if content and zlib.crc32(content).to_bytes(CRC_BYTES, "little") == crc else None


def names(values: tuple[Value, ...]) -> dict[int, str]:
    """{number: name}."""
    return {value.number: value.name for value in values}


def tables() -> dict[str, list[tuple[Any, ...]]]:
    """Rows of the tables of docs/board.md, by what they list."""
    fields = {"request": REQUEST, "answer": ANSWER}
    rows: dict[str, list[tuple[Any, ...]]] = {
        name: [(f"`{one.name}`", str(one.bits // 8), one.about) for one in layout.fields]
        for name, layout in fields.items()
    }
    for name, values in (("operations", OPERATIONS), ("statuses", STATUSES)):
        rows[name] = [(str(one.number), f"`{one.name}`", one.about) for one in values]
    rows["registers"] = [(f"0x{one.offset:X}", f"`{one.name}`", one.about) for one in REGISTERS]
    return rows
