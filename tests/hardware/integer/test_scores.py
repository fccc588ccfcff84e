"""Scores of pairs of nodes by hand: gatv2 on two nodes, and the tables of both functions."""

import numpy as np
import scipy.sparse as sp

from fgnas.design import PAIRS
from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.scores.pair import PairScores
from fgnas.hardware.integer.tables import PAIR_FUNCTIONS, pair_table
from fgnas.hardware.integer.value import Rows, Value

NUMBER = FixedPoint(5, 1)
"""Halves from -8 to 7.5."""


def test_the_slope_is_a_shift() -> None:
    """Codes of a table by their unsigned bits: -1, -2, -3 and -6 are quarters below zero, ties to even."""
    table = pair_table("gatv2", NUMBER, NUMBER)
    assert table[:16].tolist() == list(range(16))
    assert table[[31, 30, 29, 26, 22, 16]].tolist() == [0, 0, -1, -2, -2, -4]
    assert pair_table("gene-linear", NUMBER, FixedPoint(5, 4))[[0, 1, 31, 16]].tolist() == [0, 7, -7, -16]
    assert tuple(PAIR_FUNCTIONS) == PAIRS


def test_gatv2_by_hand() -> None:
    """Two nodes that see each other: a . leaky(t h_i + s h_j), with halves, t = (1, 2), s = (1, -1) and a = (2, 1)."""
    graph = IntegerGraph(sp.csr_matrix((2, 1), dtype=np.int64), np.array([0, 2, 4]), np.array([0, 1, 0, 1]), np.ones(4))
    whole = FixedPoint(5, 0)
    scores = PairScores(
        np.array([[1, -1]]), np.array([[1, 2]]), np.array([[2, 1]]), whole, 0, NUMBER,
        pair_table("gatv2", NUMBER, NUMBER), NUMBER, 0, FixedPoint(8, 1),
    )  # fmt: skip
    assert scores.value([Value(Rows.NODES, 2, NUMBER)]) == Value(Rows.EDGES, 1, FixedPoint(8, 1))
    h = np.array([[1, 2], [-3, -4]])
    # Node 0 from 0: 2 and 4 - 2 = 2, so 2 * 2 + 2; from 1: -2, which leaves 0, and 4 + 4, so 8.
    # Node 1 from 0: -2, which leaves 0, and -8 - 2 = -10, which leaves -2; from 1: -6, -2, and -8 + 4, -1, so -5.
    assert scores.run([h], graph).ravel().tolist() == [5 * 6, 5 * 8, 5 * -2, 5 * -5]
