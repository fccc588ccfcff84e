"""The fraction bits of products, against every choice tried."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from fgnas.fixedpoint import FixedPoint
from fgnas.networks.imported.quantising import SCALES, Reals, _product_bits

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
