"""The host's end of the line against a board without hardware: whatever the line does, a frame is executed once."""

import os
import pty
import random

import pytest
from bridges import Bridge, Faults

from fgnas.board import line as line_module
from fgnas.board import protocol
from fgnas.board.line import LineError, Link, Request, open_line
from fgnas.board.platform import Platform, Registers
from fgnas.errors import UserError
from fgnas.hardware import wire

BAUD = 10**9


@pytest.fixture(autouse=True)
def in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_module, "QUIET_S", 0.0)


def platform(bridge: Bridge, timeout_s: float = 0.001) -> Platform:
    return Platform(Link(bridge, BAUD, timeout_s))


def test_memory_and_registers() -> None:
    bridge = Bridge(bytearray(8192))
    board = platform(bridge)
    content = random.Random(1).randbytes(4000)
    board.write(64, content)
    assert board.read(64, 4000) == content == bytes(bridge.memory[64:4064]) and not any(bridge.memory[4064:])
    board.write_register(0x10, 0x12345678)
    assert board.read_register(0x10) == 0x12345678
    assert board.facts == {"beat_bytes": 16, "memory_bytes": 8192, "clock": 50_000_000, "design": 7}


def test_buffers_lie_on_pages_of_their_own() -> None:
    board = platform(Bridge(bytearray(3 * 4096)))
    one, two = board.allocate((4096,), "u1"), board.allocate((1,), "u1")
    assert (one.device_address, two.device_address) == (0, 4096)
    one.freebuffer()
    assert board.allocate((100,), "<i2").device_address == 0
    with pytest.raises(UserError, match="no room for 8,192 more"):
        board.allocate((8192,), "u1")


@pytest.mark.parametrize("seed", range(4))
def test_ten_thousand_faults_between_them(seed: int) -> None:
    """2,500 faults a seed, in both directions: memory and registers end as on a faultless line, all in turn."""
    bridge, chance = Bridge(bytearray(4096)), random.Random(seed)
    board, expected = platform(bridge), bytearray(4096)
    bridge.down, bridge.up = Faults(2 * seed, 0.25), Faults(2 * seed + 1, 0.25)
    writes = 0
    while bridge.down.count + bridge.up.count < 2500:
        address, size = 16 * chance.randrange(200), 16 * chance.randrange(1, 57)
        content = chance.randbytes(size)
        expected[address : address + size] = content
        board.write(address, content)
        board.write_register(0x10, writes)
        writes += 1
        assert board.read_register(0x10) == writes - 1
        assert board.read(address, size) == content
    assert bridge.memory == expected
    started = [address for operation, address in bridge.executed if operation == protocol.WRITE_REGISTER]
    assert len(started) == writes, "each register write was executed once"


@pytest.mark.parametrize("first", [0, 54, 133, 235])
@pytest.mark.parametrize("operation, window", [(protocol.WRITE, 2), (protocol.WRITE, 8), (protocol.READ, 2)])
def test_several_under_way_on_a_bad_line(
    window: int, operation: int, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the number of the first frame."""
    monkeypatch.setattr(line_module.time, "time", lambda: first)
    bridge = Bridge(bytearray(random.Random(3).randbytes(4096)))
    link = Link(bridge, BAUD, 0.001)
    before = bytes(bridge.memory)
    bridge.down, bridge.up = Faults(5, 0.2), Faults(6, 0.2)
    writes = operation == protocol.WRITE
    asked = [
        Request(operation, at, *((bytes((at // 16,)) * 16,) if writes else (b"", 16))) for at in range(0, 4096, 16)
    ]
    answers = link.ask(asked, window)
    if writes:
        assert bridge.memory == b"".join(bytes((place,)) * 16 for place in range(256))
    else:
        assert b"".join(answers) == before
    assert link.repeated


def test_nobody_there() -> None:
    bridge = Bridge(bytearray(16), down=lambda content: b"")
    with pytest.raises(LineError, match="does not answer"):
        platform(bridge)


def test_what_is_refused() -> None:
    board = platform(Bridge(bytearray(4096)))
    with pytest.raises(LineError, match="outside the memory"):
        board.write(4096, bytes(16))
    with pytest.raises(LineError, match="outside the memory"):
        board.link.ask([Request(protocol.READ, 8, length=16)])
    with pytest.raises(LineError, match="no such operation"):
        board.link.ask([Request(77)])
    with pytest.raises(ValueError, match="3 frames that read cannot be under way together: 2 can"):
        board.link.ask([Request(protocol.READ, 0, length=16)] * 3, 3)


def test_a_board_at_work() -> None:
    bridge = Bridge(bytearray(4096))
    board = platform(bridge)
    bridge.running = True
    with pytest.raises(LineError, match="busy"):
        board.read(0, 16)
    registers = Registers(board)
    with pytest.raises(LineError, match="busy"):
        registers.write(0, wire.START)
    registers.write(0, wire.STOP)
    assert not bridge.running and board.read(0, 16) == bytes(16)


def test_a_board_that_was_reset_in_between() -> None:
    bridge = Bridge(bytearray(4096))
    board = platform(bridge)
    bridge._expected = (bridge._expected + 100) % 256
    with pytest.raises(LineError, match="was reset"):
        board.read(0, 16)
    assert board.read(0, 16) == bytes(16)


def test_a_board_with_another_bitstream_than_before() -> None:
    bridge = Bridge(bytearray(4096))
    board = platform(bridge)
    bridge.registers[protocol.OFFSETS["design"]] += 1
    bridge._expected = (bridge._expected + 100) % 256
    with pytest.raises(LineError, match="was reset"):
        board.read(0, 16)
    for _ in range(2):
        with pytest.raises(UserError, match="another bitstream than it did"):
            board.read(0, 16)


@pytest.mark.parametrize("sent", range(3))
def test_a_request_that_is_interrupted(sent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever has been sent and received of it, the next request is answered with what belongs to it."""
    bridge = Bridge(bytearray(range(256)) * 16)
    board, left = platform(bridge), iter(range(sent))
    receive = bridge.receive

    def interrupted(timeout_s: float) -> bytes:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return receive(timeout_s)

    monkeypatch.setattr(bridge, "receive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        board.read(0, 4096)
    monkeypatch.setattr(bridge, "receive", receive)
    assert board.read(16, 2000) == (bytes(range(256)) * 8)[16:2016]
    board.write(32, bytes(960))
    assert board.read(0, 4096) == bytes(range(32)) + bytes(960) + (bytes(range(256)) * 16)[992:]


def test_another_version() -> None:
    bridge = Bridge(bytearray(16))
    bridge.registers[protocol.OFFSETS["version"]] += 1
    with pytest.raises(UserError, match="build its bitstream again"):
        platform(bridge)


@pytest.mark.parametrize("port", ["socket://localhost", "socket://:1", "socket://localhost:x", "socket://h:99999"])
def test_a_socket_without_a_number(port: str) -> None:
    with pytest.raises(UserError, match="write socket://HOST:PORT"):
        open_line(port, BAUD)


def test_ports_where_nobody_is() -> None:
    with pytest.raises(UserError, match="nobody listens"):
        open_line("socket://127.0.0.1:1", BAUD)
    pytest.importorskip("serial")
    with pytest.raises(UserError, match="cannot open the serial port /dev/no-such"):
        open_line("/dev/no-such", 3_000_000)


def test_a_port_has_one_host() -> None:
    pytest.importorskip("serial")
    port = os.ttyname(pty.openpty()[1])
    first = open_line(port, 115_200)
    with pytest.raises(UserError, match=f"cannot open the serial port {port}"):
        open_line(port, 115_200)
    first.close()
    open_line(port, 115_200).close()
