"""A board without hardware, which keeps the rules of board_bridge.sv, and faulty lines, for tests of the host."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from fgnas.board import protocol
from fgnas.board.line import Line
from fgnas.board.protocol import (
    BUSY,
    DAMAGED,
    DONE,
    FLAG,
    GREET,
    OUTSIDE,
    READ,
    READ_REGISTER,
    RESET,
    UNEXPECTED,
    UNKNOWN,
    WRITE,
    WRITE_REGISTER,
)

Fault = Callable[[bytes], bytes]
BEAT_BYTES = 16


@dataclass
class Bridge:
    """A board at the end of a line whose bytes `down` and `up` may change.

    Attributes:
        memory: its bytes.
        registers: words of the kernel and of the board.
        executed: (operation, address) of every frame that was executed.
        down, up: what the line does to the bytes to and from the board.
    """

    memory: bytearray
    registers: dict[int, int] = field(default_factory=dict)
    executed: list[tuple[int, int]] = field(default_factory=list)
    down: Fault = staticmethod(lambda content: content)
    up: Fault = staticmethod(lambda content: content)
    running: bool = False

    def __post_init__(self) -> None:
        self._received, self._answers = bytearray(), bytearray()
        self._expected, self._last, self._value = 0, b"", b""
        facts = {
            "magic": protocol.MAGIC, "version": protocol.VERSION, "beat_bytes": BEAT_BYTES,
            "memory_bytes": len(self.memory), "clock": 50_000_000, "design": 7, "state": protocol.READY,
        }  # fmt: skip
        self.registers |= {protocol.OFFSETS[name]: value for name, value in facts.items()}

    # The line's end at the host.

    def send(self, content: bytes) -> None:
        self._received += self.down(content)
        *whole, rest = self._received.split(bytes((FLAG,)))
        self._received = bytearray(rest)
        for part in whole:
            if part:
                self._answers += self.up(self._answer(bytes(part)))

    def receive(self, timeout_s: float) -> bytes:
        content, self._answers = bytes(self._answers), bytearray()
        return content

    def close(self) -> None:
        pass

    # The board.

    def _answer(self, part: bytes) -> bytes:
        content = protocol.checked(part)
        if content is None or len(content) < 8:
            return protocol.answer(0, DAMAGED, self._expected)
        asked, payload = protocol.unpacked(protocol.REQUEST, content), content[8:]
        with_payload = asked["operation"] in (WRITE, WRITE_REGISTER)
        if len(payload) != (asked["length"] if with_payload else 0):
            return protocol.answer(asked["number"], DAMAGED, self._expected)
        again = asked["number"] == (self._expected - 1) % 256 and content == self._last
        status = self._status(asked, again)
        found = b""
        if status == DONE:
            if not again:
                self._execute(asked, payload)
                self._expected = (asked["number"] + 1) % 256
                self._last = b"" if asked["operation"] == GREET else content
            if asked["operation"] == READ:
                found = bytes(self.memory[asked["address"] :][: asked["length"]])
            if asked["operation"] == READ_REGISTER:
                found = self._value
        return protocol.answer(asked["number"], status, self._expected, found)

    def _status(self, asked: dict[str, int], again: bool) -> int:
        operation, address, length = asked["operation"], asked["address"], asked["length"]
        if operation == GREET:
            return DONE
        if asked["number"] != self._expected and not again:
            return UNEXPECTED
        if operation in (READ, WRITE):
            within = address + length <= len(self.memory) and 0 < length <= protocol.PAYLOAD_BYTES
            if not within or address % BEAT_BYTES or length % BEAT_BYTES:
                return OUTSIDE
            return BUSY if self.running else DONE
        if operation in (READ_REGISTER, WRITE_REGISTER):
            if length != 4 or address % 4:
                return OUTSIDE
            return BUSY if self.running and operation == WRITE_REGISTER else DONE
        return DONE if operation == RESET else UNKNOWN

    def _execute(self, asked: dict[str, int], payload: bytes) -> None:
        self.executed.append((asked["operation"], asked["address"]))
        if asked["operation"] == WRITE:
            self.memory[asked["address"] : asked["address"] + len(payload)] = payload
        elif asked["operation"] == WRITE_REGISTER:
            self.registers[asked["address"]] = int.from_bytes(payload, "little")
        elif asked["operation"] == RESET:
            self.running = False
        elif asked["operation"] == READ_REGISTER:
            self._value = self.registers.get(asked["address"], 0).to_bytes(4, "little")


class Faults:
    """A line that damages, loses, repeats and floods, at random."""

    def __init__(self, seed: int, share: float) -> None:
        self.chance, self.share, self.count, self.before = random.Random(seed), share, 0, b""

    def __call__(self, content: bytes) -> bytes:
        chance, before, self.before = self.chance, self.before, content
        if chance.random() >= self.share or not content:
            return content
        self.count += 1
        place = chance.randrange(len(content))
        kind = chance.randrange(6)
        if kind == 0:
            return content[:place] + bytes((content[place] ^ 1 << chance.randrange(8),)) + content[place + 1 :]
        if kind == 1:
            return content[:place]
        if kind == 2:
            return content + content
        if kind == 3:
            return content + before
        if kind == 4:
            return chance.randbytes(chance.randrange(1, 60)) + content
        return b"" if chance.random() < 0.5 else content[place:]


class FaultyLine:
    """A line whose frames `down` and `up` change, each of them alone, in whatever pieces its bytes come.

    Attributes:
        line: the line behind it.
    """

    def __init__(self, line: Line, down: Fault, up: Fault) -> None:
        self.line, self.down, self.up = line, down, up
        self._begun = b""

    def send(self, content: bytes) -> None:
        self.line.send(self.down(content))

    def receive(self, timeout_s: float) -> bytes:
        """The frames that have come whole; waits for the first of them."""
        flag = bytes((FLAG,))
        while content := self.line.receive(timeout_s):
            *whole, self._begun = (self._begun + content).split(flag)
            if frames := [flag + part + flag for part in whole if part]:
                return b"".join(map(self.up, frames))
        return b""

    def close(self) -> None:
        self.line.close()
