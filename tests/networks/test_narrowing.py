"""The narrowest widths that are good: by hand, and none narrower in any part."""

from hypothesis import given
from hypothesis import strategies as st

from fgnas.networks.narrowing import narrowest

OFFERED = range(4, 11)


def test_by_hand():
    """The second part needs 8 bits, the first 5."""
    seen = []
    good = lambda widths: seen.append(widths) or (widths[0] >= 5 and widths[1] >= 8)  # noqa: E731
    assert narrowest(2, OFFERED, good) == (5, 8)
    assert seen[:4] == [(10, 10), (9, 9), (8, 8), (7, 7)]


def test_nothing_is_good():
    assert narrowest(3, OFFERED, lambda widths: False) is None


@given(st.lists(st.integers(4, 10), min_size=1, max_size=5))
def test_every_part_is_as_narrow_as_it_can_be(least):
    good = lambda widths: all(a >= b for a, b in zip(widths, least, strict=True))  # noqa: E731
    assert narrowest(len(least), OFFERED, good) == tuple(least)
