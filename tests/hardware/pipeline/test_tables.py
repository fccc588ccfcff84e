"""Contents of tables, worked out by hand."""

import numpy as np
import pytest

from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.integer.tables import exponential_table, score_table


def test_scores_of_linear_by_hand() -> None:
    """Four bits, r in halves from -4 to 3.5: 1 + tanh(r) in quarters, and 1.75 is the largest code."""
    found = score_table(FixedPoint(4, 1), FixedPoint(4, 2))
    # tanh of 0, 0.5, 1, 1.5 is 0, 0.46, 0.76, 0.91; that of -0.5, -1, -1.5 is the negative.
    assert found[:4].tolist() == [4, 6, 7, 7]
    assert found[:12:-1].tolist() == [2, 1, 0]
    assert found.min() == 0 and found[4:8].tolist() == [7] * 4 and found[8:13].tolist() == [0] * 5


@pytest.mark.parametrize("width", range(2, 11))
def test_exponentials_reach_every_difference_of_linear_scores(width: int) -> None:
    """D is 5 times the largest code at most, whose coefficient is that of exp(-2)."""
    score = FixedPoint(width, width - 2)
    table = exponential_table(score, 5 * score.maximum)
    assert len(table) == 5 * score.maximum + 1
    assert table[0] == 256 and table[-1] == round(256 * np.exp(-score.value(score.maximum)))
