"""Packing rows into beats: by hand, against a plain packer of lists, and that every row comes back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgnas.hardware.pipeline.packing import pack_rows

Beat = tuple[list[int], list[int]]
"""Lanes of the row that the beat ends or continues, and those of the head of the next row."""


def plain_beats(rows: list[list[int]], t_in: int) -> list[tuple[Beat, bool]]:
    """(beat, whether it ends a row): a plain packer; each row fills free lanes and ends in the first beat possible."""
    beats: list[tuple[Beat, bool]] = []
    for row in rows:
        left = list(row)
        if beats:
            (ending, head), _ = beats[-1]
            while left and len(ending) + len(head) < t_in:
                head.append(left.pop(0))
        while True:
            beats.append(((left[:t_in], []), len(left) <= t_in))
            left = left[t_in:]
            if beats[-1][1]:
                break
    return beats


def unpacked(beats: list[tuple[Beat, bool]]) -> list[list[int]]:
    """The rows, rebuilt from the beats as the datapath sums them."""
    rows, current = [], []
    for (ending, head), ends in beats:
        current = current + ending
        if ends:
            rows.append(current)
            current = head
        else:
            assert not head
    assert not current
    return rows


@pytest.mark.parametrize(
    ("non_zeros", "t_in", "starts", "ends"),
    [
        ([18, 18], 5, [0, 18], [3, 7]),  # 36 of 40 lanes
        ([4, 4, 4, 4, 4], 5, [0, 4, 8, 12, 16], [0, 1, 2, 3, 4]),
        ([7, 3, 5], 5, [0, 7, 10], [1, 2, 3]),  # a row that ends beside the end before it takes a beat to end
        ([1, 1, 1], 5, [0, 1, 5], [0, 1, 2]),
        ([0, 5, 0], 5, [0, 0, 5], [0, 1, 2]),  # the head of row 1 fills the beat of a row without anything
        ([0, 0, 0], 3, [0, 0, 3], [0, 1, 2]),
        ([3, 0, 2], 2, [0, 3, 4], [1, 2, 3]),
        ([3, 2, 1], 1, [0, 3, 5], [2, 4, 5]),
        ([], 4, [], []),
    ],
)
def test_by_hand(non_zeros: list[int], t_in: int, starts: list[int], ends: list[int]) -> None:
    packed = pack_rows(np.array(non_zeros, np.int64), t_in)
    assert (packed.starts.tolist(), packed.ends.tolist()) == (starts, ends)
    assert packed.row_beats.tolist() == np.diff([-1, *ends]).tolist()


@given(st.lists(st.integers(0, 14), max_size=40), st.integers(1, 5))
def test_every_row_comes_back(non_zeros: list[int], t_in: int) -> None:
    """Each beat holds at most t_in entries and ends at most one row; positions equal the plain packer's."""
    rows = [[100 * number + place for place in range(count)] for number, count in enumerate(non_zeros)]
    beats = plain_beats(rows, t_in)
    assert unpacked(beats) == rows
    packed = pack_rows(np.array(non_zeros, np.int64), t_in)
    assert packed.ends.tolist() == [number for number, (_, ends) in enumerate(beats) if ends]
    for start, row in zip(packed.starts.tolist(), rows, strict=True):
        for place, value in enumerate(row, start):
            (ending, head), _ = beats[place // t_in]
            assert (ending + head)[place % t_in] == value


@given(st.lists(st.integers(0, 30), max_size=60), st.integers(1, 5))
def test_never_more_beats_than_rows_apart(non_zeros: list[int], t_in: int) -> None:
    """The beats are at least the bound by lanes and by row ends, and at most those of unshared rows."""
    beats = len(non_zeros) and int(pack_rows(np.array(non_zeros, np.int64), t_in).ends[-1]) + 1
    assert max(len(non_zeros), -(-sum(non_zeros) // t_in)) <= beats
    assert beats <= sum(max(1, -(-count // t_in)) for count in non_zeros)
