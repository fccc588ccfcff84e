"""The host's end of the serial line: frames out, answers in, each frame repeated until it is answered.

A frame has the number behind that of the frame before, and the board executes it once, however often it comes. So
whatever the line loses or damages, a frame that is answered was executed, and in its turn.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fgnas.board import protocol
from fgnas.board.protocol import Answer, Frames
from fgnas.errors import UserError
from fgnas.extras import require

SOCKET = "socket://"
TIMEOUT_S = 1.0
"""Seconds without an answer after which a frame is sent again, beyond the time that its bytes take on the line."""
TRIES, GREETINGS = 32, 5
"""Times that a frame is sent to a board that has answered, and to one that has not."""
WINDOW = 8
"""Frames that write memory and are under way together; the board holds one and executes one."""
READ_WINDOW = 2
"""The same of frames whose answers are longer than they are."""
QUIET_S, BABBLE_S = 0.05, 1.0
"""A line on which nothing came for this long, beyond the time of a frame, has no more answers under way; and how long
that is awaited, beyond the time of all frames under way."""
LONGEST_BITS = 20 * (protocol.PAYLOAD_BYTES + 32)
"""Bits of the longest frame on the line, if all of its bytes have escapes."""


class LineError(UserError):
    """The board does not answer, or not as a board of fgnas does."""


class LineClosed(LineError):
    """The other end of the line is gone."""


class Line(Protocol):
    """Bytes to and from a board."""

    def send(self, content: bytes) -> None:
        """Send all of it."""

    def receive(self, timeout_s: float) -> bytes:
        """The bytes received so far; waits for the first one for `timeout_s` seconds at most."""

    def close(self) -> None:
        """Give the line back."""


class SocketLine:
    """A TCP connection, as a simulated board serves it."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), timeout=10)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, content: bytes) -> None:
        """Send all of it."""
        self._socket.settimeout(None)
        try:
            self._socket.sendall(content)
        except ConnectionError:
            raise LineClosed("the board closed the connection") from None

    def receive(self, timeout_s: float) -> bytes:
        """The bytes received so far; waits for the first one for `timeout_s` seconds at most."""
        self._socket.settimeout(max(timeout_s, 1e-4))
        try:
            content = self._socket.recv(1 << 16)
        except TimeoutError:
            return b""
        except ConnectionError:
            content = b""
        if not content:
            raise LineClosed("the board closed the connection")
        return content

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


class SerialLine:
    """A serial port of the machine, through pyserial."""

    def __init__(self, port: str, baud: int) -> None:
        require("serial", "board")
        import serial

        try:
            self._port: Any = serial.Serial(port, baud, exclusive=True)  # two hosts would lose count of the frames
        except (serial.SerialException, ValueError) as error:
            raise UserError(f"cannot open the serial port {port}: {error}") from None
        self._port.reset_input_buffer()

    def send(self, content: bytes) -> None:
        """Send all of it."""
        self._port.write(content)

    def receive(self, timeout_s: float) -> bytes:
        """The bytes received so far; waits for the first one for `timeout_s` seconds at most."""
        self._port.timeout = timeout_s
        first = self._port.read(1)
        return bytes(first + self._port.read(self._port.in_waiting)) if first else b""

    def close(self) -> None:
        """Close the port."""
        self._port.close()


def open_line(port: str, baud: int) -> Line:
    """The line at a serial port, or at socket://HOST:PORT. Raises UserError where there is none."""
    if not port.startswith(SOCKET):
        return SerialLine(port, baud)
    host, _, number = port.removeprefix(SOCKET).rpartition(":")
    if not host or not number.isdigit() or int(number) > 65535:
        raise UserError(f"{port} is no socket: write {SOCKET}HOST:PORT")
    try:
        return SocketLine(host, int(number))
    except OSError as error:
        raise UserError(f"nobody listens at {port} ({error.strerror or error}); `fgnas board DIR --sim` does") from None


@dataclass(frozen=True)
class Request:
    """A frame without its number; `length` is that of the payload unless something is read."""

    operation: int
    address: int = 0
    payload: bytes = b""
    length: int | None = None

    def frame(self, number: int) -> bytes:
        """Its bytes on the line."""
        return protocol.request(number % protocol.NUMBERS, self.operation, self.address, self.payload, self.length)

    @property
    def answered(self) -> int:
        """Bytes of the answer's payload."""
        return self.length or 0


class Link:
    """Requests to a board, in order and each exactly once.

    Attributes:
        sent: bytes sent.
        received: bytes received.
        repeated: frames that were sent again.
        on_greeting: called behind a greeting that a request began with, as the board may be another one then.
    """

    def __init__(self, line: Line, baud: int, timeout_s: float = TIMEOUT_S) -> None:
        self.sent = self.received = self.repeated = 0
        self._line, self._baud, self._timeout_s = line, baud, timeout_s
        self._frames, self._waiting = Frames(), list[bytes]()
        self.on_greeting: Callable[[], None] = lambda: None
        self._number, self._in_step = 0, False
        self.greet()

    def greet(self) -> None:
        """Begin to count frames anew, after whatever was on the line before."""
        self._in_step = False
        self._drain()
        self._number = int(time.time()) % protocol.NUMBERS
        self._ask([Request(protocol.GREET)], 1, GREETINGS)
        self._in_step = True

    def ask(self, requests: Sequence[Request], window: int = 1) -> list[bytes]:
        """The payload of the answer to each request; `window` frames are under way together.

        Of frames that read, READ_WINDOW. Raises LineError where the board does not answer or refuses; the next request
        greets it first, as behind one that was interrupted.
        """
        if window > READ_WINDOW and any(one.answered for one in requests):
            raise ValueError(f"{window} frames that read cannot be under way together: {READ_WINDOW} can")
        if not self._in_step:
            self.greet()
            try:
                self.on_greeting()
            except BaseException:
                self._in_step = False
                raise
        self._in_step = False
        answers = self._ask(requests, window, TRIES)
        self._in_step = True
        return answers

    def _ask(self, requests: Sequence[Request], window: int, tries_allowed: int) -> list[bytes]:
        answers: list[bytes] = []
        next_one = tries = 0  # the first request that is not under way; tries since the last success
        while len(answers) < len(requests):
            while next_one < min(len(answers) + window, len(requests)):
                self._send(requests[next_one].frame(self._number + next_one - len(answers)))
                next_one += 1
            before = len(answers)
            under_way = requests[before:next_one]
            answer = self._answer(under_way)
            if answer is None or not self._take(answer, under_way[0], answers):
                # Frames behind the one that failed may have been executed: the last answer tells.
                answer = self._drain(answer) if answer is None or window > 1 else answer
                self._catch_up(answer, under_way, answers)
                self.repeated += next_one - len(answers)
                next_one = len(answers)
                self._pause(answer)
            tries = 0 if len(answers) > before else tries + 1
            if tries == tries_allowed:
                raise LineError(_no_success(answer, tries))
        return answers

    def _take(self, answer: Answer, request: Request, answers: list[bytes]) -> bool:
        """Whether an answer is that to the request with the next number, whose payload is then added."""
        if answer.status in (protocol.OUTSIDE, protocol.UNKNOWN, protocol.SILENT):
            about = next(one.about for one in protocol.STATUSES if one.number == answer.status)
            raise LineError(f"the board refuses: {about}")
        right = answer.number == self._number % protocol.NUMBERS and len(answer.payload) == request.answered
        if answer.status != protocol.DONE or not right:
            return False
        answers.append(answer.payload)
        self._number += 1
        return True

    def _catch_up(self, answer: Answer | None, under_way: Sequence[Request], answers: list[bytes]) -> None:
        """Go on where the board stands, which has executed some of the frames under way without an answer."""
        if under_way[0].operation == protocol.GREET:
            return  # what came answers frames of before
        executed = 0 if answer is None else (answer.expected - self._number) % protocol.NUMBERS
        if executed > len(under_way):
            raise LineError("the board was reset in between: start again")
        # One that was executed last is answered when it comes again. What several have read is read anew.
        if executed > 1:
            self._number += executed
            answers += [b""] * (0 if under_way[0].answered else executed)

    def _pause(self, answer: Answer | None) -> None:
        """Leave a board that is busy some time."""
        if answer is not None and answer.status == protocol.BUSY:
            time.sleep(self._timeout_s / TRIES)

    @property
    def damaged(self) -> int:
        """Answers that came damaged."""
        return self._frames.damaged

    def _send(self, frame: bytes) -> None:
        self._line.send(frame)
        self.sent += len(frame)

    def _answer(self, open_ones: Sequence[Request]) -> Answer | None:
        """The next answer that is not older than the open requests; None if none comes in time."""
        bytes_open = sum(2 * (len(one.payload) + one.answered) + 64 for one in open_ones)
        end = time.monotonic() + self._timeout_s + 10 * bytes_open / self._baud
        while (left := end - time.monotonic()) > 0:
            if not self._waiting:
                self._receive(left)
                continue
            answer = protocol.read_answer(self._waiting.pop(0))
            if answer is not None and not self._is_old(answer):
                return answer
        return None

    def _is_old(self, answer: Answer) -> bool:
        """Whether it was sent before frames were answered that were answered since."""
        told = answer.number if answer.status == protocol.DONE else answer.expected
        return 0 < (self._number - told) % protocol.NUMBERS <= protocol.NUMBERS // 2

    def _receive(self, timeout_s: float) -> bool:
        """Take in what has come; whether anything did."""
        content = self._line.receive(timeout_s)
        self.received += len(content)
        self._waiting += self._frames.feed(content)
        return bool(content)

    def _drain(self, last: Answer | None = None) -> Answer | None:
        """Take in the answers that are under way; the last one, or `last` without one."""
        frame_s = LONGEST_BITS / self._baud
        end = time.monotonic() + BABBLE_S + WINDOW * frame_s
        while self._receive(QUIET_S + frame_s) and time.monotonic() < end:
            pass
        for content in self._waiting:
            answer = protocol.read_answer(content)
            if answer is not None and not self._is_old(answer):
                last = answer
        self._waiting.clear()
        return last

    def close(self) -> None:
        """Give the line back."""
        self._line.close()


def _no_success(answer: Answer | None, tries: int) -> str:
    """Why the last of `tries` tries failed, in words."""
    if answer is None:
        return "the board does not answer: is a bitstream of `fgnas board` loaded, and is this its serial port?"
    return f"the board answers {protocol.names(protocol.STATUSES).get(answer.status)!r} to {tries} tries"
