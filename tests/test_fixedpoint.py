"""Formats and roundings, by hand and against exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgnas.fixedpoint import FixedPoint, divide_even, shift_right_even


def test_the_papers_format():
    """Equation 2 with bi = 1, bf = 2: step 1/4, range [-2, 1.75]."""
    number = FixedPoint.of(1, 2)
    assert (number.width, number.step) == (4, 0.25)
    assert number.value([number.minimum, number.maximum]).tolist() == [-2.0, 1.75]


def test_quantise_rounds_ties_to_even_and_saturates():
    number = FixedPoint.of(1, 1)
    assert number.quantise([0.25, 0.75, 1.25, -0.25, -0.75, 9, -9]).tolist() == [0, 2, 2, 0, -2, 3, -4]
    with pytest.raises(ValueError, match="NaN"):
        number.quantise([float("nan")])


def test_a_scale_moves_the_point_only():
    plain, scaled = FixedPoint.of(1, 2), FixedPoint.of(1, 2, scale=3)
    assert (plain.width, plain.maximum) == (scaled.width, scaled.maximum)
    assert scaled.quantise(0.1).tolist() == plain.quantise(0.8).tolist()


def test_requantise_by_hand():
    # 5 and 7 sixteenths are 1.25 and 1.75 quarters; 6 is a tie.
    assert FixedPoint.of(1, 2).requantise([5, 6, 7, 200], 4).tolist() == [1, 2, 2, 7]


@given(st.integers(-(2**40), 2**40), st.integers(-4, 12))
def test_shift_is_the_exact_quotient_rounded_to_even(code, shift):
    assert int(shift_right_even(code, shift)) == round(Fraction(code) / Fraction(2) ** shift)


@given(st.integers(-(2**40), 2**40), st.integers(1, 2**20))
def test_division_is_the_exact_quotient_rounded_to_even(numerator, denominator):
    assert int(divide_even(numerator, denominator)) == round(Fraction(numerator, denominator))


def test_arrays_keep_their_shape():
    assert FixedPoint.of(2, 2).quantise(np.zeros((2, 3))).shape == (2, 3)
