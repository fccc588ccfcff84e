"""Messages of neighbours in integers: by hand, and against Python's own numbers one by one."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.neighbourhood import Neighbourhood, mean_of, root
from fgnas.hardware.integer.sample import PLACES
from fgnas.hardware.integer.value import Rows, Value

NONE = IntegerGraph(sp.csr_matrix((0, 1), dtype=np.int64), np.zeros(1, np.int64), np.zeros(0, np.int64),
                    np.zeros(0, np.int64))  # fmt: skip
REDUCERS, PARTS = ("sum", "mean", "max", "min"), ("source", "target", "relative", "distance")
X = np.array([[0, 3], [4, 0], [1, 1]])
PLACE = np.array([[0, 1], [1, 2], [2, 0]])


@pytest.mark.parametrize(("reducer", "part", "wanted"), [
    ("sum", "source", [[4, 3], [5, 1], [1, 4]]), ("max", "source", [[4, 3], [4, 1], [1, 3]]),
    ("min", "source", [[0, 0], [1, 0], [0, 1]]), ("mean", "source", [[2, 2], [2, 0], [0, 2]]),
    ("sum", "relative", [[4, -3], [-3, 1], [-1, 2]]), ("max", "relative", [[4, 0], [0, 1], [0, 2]]),
    ("min", "relative", [[0, -3], [-3, 0], [-1, 0]]), ("mean", "relative", [[2, -1], [-2, 0], [-1, 1]]),
    ("sum", "target", [[0, 6], [8, 0], [2, 2]]), ("max", "distance", [[5], [3], [2]]),
    ("min", "distance", [[0], [0], [0]]), ("sum", "distance", [[5], [3], [2]]),
])  # fmt: skip
def test_messages_by_hand(reducer: str, part: str, wanted: list[list[int]]) -> None:
    """Means are rounded to even: 1.5, 0.5 and 2.5. Distances are the roots of 25, 10 and 5."""
    found = Neighbourhood(3, reducer, part).run([X, PLACE], NONE)  # type: ignore[arg-type]
    assert found.tolist() == wanted


@given(st.integers(0, 2**31), st.sampled_from(REDUCERS), st.sampled_from(PARTS))
@settings(deadline=None, max_examples=120)
def test_against_pythons_integers(seed: int, reducer: str, part: str) -> None:
    """Two clouds; places are within each."""
    rng = np.random.default_rng(seed)
    points, columns = int(rng.integers(1, 9)), int(rng.integers(1, 4))
    k = int(rng.integers(1, points + 1))
    x, places = rng.integers(-130, 130, (2 * points, columns)), rng.integers(0, points, (2 * points, k))
    found = Neighbourhood(points, reducer, part).run([x, places], NONE)  # type: ignore[arg-type]
    for row in range(2 * points):
        mine, first = x[row].tolist(), row // points * points
        sources = [x[first + place].tolist() for place in places[row]]
        assert found[row].tolist() == reduced_by_hand(reducer, part, mine, sources)


def reduced_by_hand(reducer: str, part: str, mine: list[int], sources: list[list[int]]) -> list[int]:
    """One row, a number at a time."""
    if part == "distance":
        squares = [sum((a - b) ** 2 for a, b in zip(one, mine, strict=True)) for one in sources]
        return [reduce_by_hand(reducer, [nearest_root(one) for one in squares])]
    messages = [mine] * len(sources) if part == "target" else sources
    found = [reduce_by_hand(reducer, [one[column] for one in messages]) for column in range(len(mine))]
    if part == "relative":
        found = [a - (len(sources) if reducer == "sum" else 1) * b for a, b in zip(found, mine, strict=True)]
    return found


def reduce_by_hand(reducer: str, values: list[int]) -> int:
    """A mean is the sum times the nearest multiple of a power of two, then rounded to even."""
    if reducer in ("max", "min"):
        return max(values) if reducer == "max" else min(values)
    if reducer == "sum":
        return sum(values)
    k, fraction = len(values), 0
    while round(Fraction(2 ** (fraction + 1), k)) <= 511:
        fraction += 1
    return round(Fraction(sum(values) * round(Fraction(2**fraction, k)), 2**fraction))


def nearest_root(square: int) -> int:
    """The whole number nearest to a root."""
    low = isqrt(square)
    return low if square - low * low <= (low + 1) ** 2 - square - 1 else low + 1


@given(st.integers(0, 2**40))
def test_roots_are_the_nearest(square: int) -> None:
    found = int(root(np.array([square]))[0])
    assert (2 * found - 1) ** 2 < 4 * square or found == 0
    assert 4 * square < (2 * found + 1) ** 2


@pytest.mark.parametrize("k", range(1, 33))
def test_a_mean_is_close(k: int) -> None:
    """Within half a code and the error of its factor, which has nine bits."""
    totals = np.arange(-127 * k, 127 * k + 1)
    assert np.abs(mean_of(totals, k) - totals / k).max() <= 0.5 + 127 / 256


def test_its_value() -> None:
    one = Neighbourhood(4, "max", "distance")
    x, places = Value(Rows.NODES, 5, FixedPoint(8, 3)), Value(Rows.NODES, 2, PLACES)
    assert one.value([x, places]).columns == 1 and one.value([x, places]).number.fraction_bits == 3
    with pytest.raises(ValueError, match="and the places of their neighbours"):
        one.value([x, x])
