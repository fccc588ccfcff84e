"""The fraction bits of products, against every choice tried, and the coefficients of sums."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from fgnas.fixedpoint import FixedPoint
from fgnas.networks.imported.quantising import SCALES, Reals, _product_bits, coefficients_of

WEIGHTS = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.one_of(
    st.floats(-4, 4), st.floats(-1e-5, 1e-5), st.floats(-1e6, 1e6), st.sampled_from([0.0, 0.5, -1.0, 128.0, -128.0]),
))  # fmt: skip


def every_choice(weights: list[Reals], own: list[int], bits: int) -> int:
    """The first of all choices with the smallest error."""
    def error(together: int) -> float:
        numbers = [FixedPoint(bits, together - one) for one in own]
        return sum(float(((number.value(number.quantise(one)) - one) ** 2).sum()) * 4.0**-fraction
                   for number, one, fraction in zip(numbers, weights, own, strict=True))  # fmt: skip

    return min((min(own) + scale for scale in SCALES), key=error)


@pytest.mark.parametrize(("weight", "fraction"), [(0.0, -12), (1.0, 0), (127.0, 0), (128.0, -7), (-128.0, -7)])
def test_one_weight(weight: float, fraction: int) -> None:
    """Of the scales that are exact, the coarsest."""
    assert _product_bits([np.array([[weight]])], [0], 8) == fraction


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(WEIGHTS, st.integers(-6, 16)), min_size=1, max_size=3), st.integers(2, 16))
def test_every_choice_tried_is_no_better(given: list[tuple[Reals, int]], bits: int) -> None:
    weights, own = [one for one, _ in given], [fraction for _, fraction in given]
    assert _product_bits(weights, own, bits) == every_choice(weights, own, bits)


def test_the_coefficients_of_a_mean_have_the_right_sum() -> None:
    """35 times 1 / 35 in 8 bits: each is 7 or 8, and together they are 1; other rows are rounded one by one."""
    rows = [np.full(35, 1 / 35), np.array([0.3, 0.7]), np.array([0.5]), np.full(3, -1 / 3), np.full(9, 4.0)]
    matrix = sp.block_diag([one[None] for one in rows], format="csr")
    codes = np.split(coefficients_of(matrix, 8), np.cumsum([len(one) for one in rows])[:-1])
    assert set(codes[0].tolist()) == {7, 8} and codes[0].sum() == 256
    assert [one.tolist() for one in codes[1:4]] == [[77, 179], [128], [-85, -86, -85]]
    assert codes[4].tolist() == [511] * 9  # they saturate
    assert len(coefficients_of(sp.csr_matrix((3, 4)), 8)) == 0


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 300), st.floats(0.001, 1.0), st.integers(0, 9))
def test_a_row_of_one_coefficient(count: int, value: float, bits: int) -> None:
    """Its codes are the two nearest, and their sum is the nearest to that of the coefficients."""
    codes = coefficients_of(sp.csr_matrix(np.full((1, count), value)), bits)
    exact = value * 2**bits
    assert set(codes.tolist()) <= {np.floor(exact), np.ceil(exact)} or exact > 511
    assert exact > 511 or abs(codes.sum() - count * exact) <= 0.5 + 1e-6


def test_a_coefficient_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot quantise NaN"):
        coefficients_of(sp.csr_matrix(np.array([[1.0, np.nan]])), 8)
