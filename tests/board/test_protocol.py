"""Frames: flags, escapes, CRC, and what a damaged one is."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgnas.board import protocol
from fgnas.board.protocol import ANSWER, ESCAPE, FLAG, REQUEST, Frames, checked, framed, packed, read_answer, unpacked


def test_a_frame_by_hand() -> None:
    content = bytes.fromhex("05 04 04 00 10 00 00 00 7e 7d 00 01")
    crc = zlib.crc32(content).to_bytes(4, "little")
    assert protocol.request(5, protocol.WRITE_REGISTER, 0x10, bytes.fromhex("7e 7d 00 01")) == (
        bytes.fromhex("7e 05 04 04 00 10 00 00 00 7d5e 7d5d 00 01") + protocol.escaped(crc) + b"\x7e"
    )


def test_the_crc_is_that_of_ieee_802_3() -> None:
    """Its check value, of the catalogue of CRC algorithms (CRC-32/ISO-HDLC)."""
    assert zlib.crc32(b"123456789") == 0xCBF43926
    assert framed(b"123456789") == b"\x7e123456789" + bytes.fromhex("2639f4cb") + b"\x7e"


@given(st.binary(min_size=1, max_size=300))
def test_a_frame_comes_back(content: bytes) -> None:
    frame = framed(content)
    assert frame[0] == frame[-1] == FLAG and FLAG not in frame[1:-1]
    assert list(Frames().feed(frame)) == [content]


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=5), st.lists(st.integers(1, 7), min_size=1))
def test_bytes_come_in_any_portions(contents: list[bytes], portions: list[int]) -> None:
    line, frames, found, at = b"".join(map(framed, contents)), Frames(), [], 0
    for place in range(len(line)):
        step = portions[place % len(portions)]
        found += frames.feed(line[at : at + step])
        at += step
    assert found == contents and frames.damaged == 0


@given(st.binary(min_size=1, max_size=80), st.data())
def test_a_changed_byte_is_found(content: bytes, data: st.DataObject) -> None:
    frame = bytearray(framed(content))
    place = data.draw(st.integers(1, len(frame) - 2))
    frame[place] ^= data.draw(st.integers(1, 255))
    assert content not in list(Frames().feed(bytes(frame)))


@given(st.binary(max_size=200))
def test_noise_ends_with_the_next_flag(noise: bytes) -> None:
    assert list(Frames().feed(noise + framed(b"right")))[-1] == b"right"


def test_noise_without_a_flag_takes_no_memory() -> None:
    frames = Frames()
    for _ in range(100):
        assert not list(frames.feed(b"\x00" * 1000))
    assert list(frames.feed(framed(b"right"))) == [b"right"] and frames.damaged == 1


@pytest.mark.parametrize("received", [b"", b"\x7d", b"a\x7d\x7db", b"abc", b"\x00" * 4])
def test_what_is_no_frame(received: bytes) -> None:
    assert checked(received) is None


@given(st.integers(0, 255), st.integers(0, 6), st.integers(0, 65535), st.integers(0, 2**32 - 1))
def test_a_header_comes_back(number: int, operation: int, length: int, address: int) -> None:
    values = {"number": number, "operation": operation, "length": length, "address": address}
    assert unpacked(REQUEST, packed(REQUEST, **values)) == values


def test_an_answer_whose_length_is_wrong_is_none() -> None:
    header = packed(ANSWER, number=1, status=0, expected=2, length=3)
    assert read_answer(header + b"abc") == protocol.Answer(1, 0, 2, b"abc")
    assert read_answer(header + b"ab") is None and read_answer(b"") is None


def test_the_longest_frame_is_within_what_is_kept() -> None:
    """Every byte escaped."""
    most = REQUEST.bits // 8 + protocol.PAYLOAD_BYTES + protocol.CRC_BYTES
    assert 2 * most <= protocol.LONGEST and ESCAPE != FLAG
    assert all(protocol.PAYLOAD_BYTES % beat == 0 for beat in (16, 32, 64))
