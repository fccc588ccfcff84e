"""Numbers side by side in beats: by hand, and any widths against Python's integers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fgnas.hardware.array.bits import packed, signed, unpacked


def test_by_hand() -> None:
    """Three numbers of five bits from the lowest bit on: 1 + 2 * 2**5 + 31 * 2**10 = 0x7C41; the last bit is free."""
    beats = packed(np.array([[1, 2, 31], [-1, 0, 0]]), 5, 3)
    assert beats.tolist() == [[0x41, 0x7C, 0], [0x1F, 0, 0]]
    assert unpacked(beats, 5, 3).tolist() == [[1, 2, 31], [31, 0, 0]]
    assert signed(unpacked(beats, 5, 3), 5).tolist() == [[1, 2, -1], [-1, 0, 0]]


def test_nothing() -> None:
    assert packed(np.zeros((0, 4), np.int64), 9, 16).shape == (0, 16)
    assert unpacked(np.zeros((0, 16), np.uint8), 9, 4).shape == (0, 4)


@given(st.data(), st.integers(1, 56), st.integers(1, 20))
def test_any_widths(data: st.DataObject, bits: int, fields: int) -> None:
    """A beat is the integer whose digits are the numbers, in little-endian bytes."""
    row = st.lists(st.integers(0, (1 << bits) - 1), min_size=fields, max_size=fields)
    numbers = np.array(data.draw(st.lists(row, min_size=1, max_size=4)))
    size = -(-bits * fields // 8) + data.draw(st.integers(0, 3))
    beats = packed(numbers, bits, size)
    wanted = [sum(int(one) << (place * bits) for place, one in enumerate(row)) for row in numbers]
    assert [int.from_bytes(one.tobytes(), "little") for one in beats] == wanted
    np.testing.assert_array_equal(unpacked(beats, bits, fields), numbers)
