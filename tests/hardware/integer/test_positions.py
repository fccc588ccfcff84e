"""Positions: the same rows in every cloud."""

import numpy as np
import pytest
import scipy.sparse as sp

from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.positions import Positions
from fgnas.hardware.integer.value import Rows, Value

NUMBER = FixedPoint(4, 1)
NONE = IntegerGraph(sp.csr_matrix((0, 1), dtype=np.int64), np.zeros(1, np.int64), np.zeros(0, np.int64),
                    np.zeros(0, np.int64))  # fmt: skip


def test_every_cloud_has_the_same_rows() -> None:
    made = Positions(np.array([[1, -8], [7, 0], [2, 3]]), NUMBER)
    assert made.value([Value(Rows.NODES, 5, FixedPoint(8, 0))]) == Value(Rows.NODES, 2, NUMBER)
    assert made.run([np.zeros((6, 5), np.int64)], NONE).tolist() == [[1, -8], [7, 0], [2, 3]] * 2


def test_what_is_no_cloud_and_no_number() -> None:
    made = Positions(np.zeros((3, 2), np.int64), NUMBER)
    with pytest.raises(ValueError, match="whole clouds of 3"):
        made.run([np.zeros((4, 5), np.int64)], NONE)
    with pytest.raises(ValueError, match="nodes, not of edges"):
        made.value([Value(Rows.EDGES, 5, NUMBER)])
    with pytest.raises(ValueError, match="no number of the format"):
        Positions(np.full((3, 2), 8), NUMBER)
