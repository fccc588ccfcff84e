"""Rows of X in slices: together they are the rows, and each slice has its own columns alone."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from support import random_graph

from fgnas.hardware.array.entries import sliced
from fgnas.hardware.array.placing import readout


def test_slices_by_hand() -> None:
    """Columns 0 to 6 in slices of three: the last has one column, and the second row is empty in the first."""
    x = sp.csr_matrix(np.array([[1, 0, 2, 3, 0, 0, 4], [0, 0, 0, 0, 5, 0, 6]]))
    found = [tuple(one.tolist() for one in sliced(x, 3, piece)) for piece in range(3)]
    assert found == [
        ([0, 2, 2], [0, 2], [1, 2]),
        ([0, 1, 2], [0, 1], [3, 5]),
        ([0, 1, 2], [0, 0], [4, 6]),
    ]


@given(seed=st.integers(0, 10_000), width=st.integers(1, 12))
def test_slices_together_are_the_rows(seed: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 4, (int(rng.integers(0, 9)), int(rng.integers(1, 30))))
    again = np.zeros((len(x), x.shape[1] + width), np.int64)
    for piece in range(-(-x.shape[1] // width)):
        indptr, columns, values = sliced(sp.csr_matrix(x), width, piece)
        assert np.all(columns < width) and np.all(columns >= 0)
        row = np.repeat(np.arange(len(x)), np.diff(indptr))
        again[row, piece * width + columns] += values
    assert np.array_equal(again[:, : x.shape[1]], x) and not again[:, x.shape[1] :].any()


@given(seed=st.integers(0, 10_000), count=st.integers(1, 6))
def test_a_readout_has_every_node_in_the_row_of_its_graph(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    data = random_graph(rng, count + int(rng.integers(0, 20)), 3, 2, 10)
    graphs = rng.permutation(np.concatenate([np.arange(count), rng.integers(0, count, data.nodes - count)]))
    rows = readout(data, graphs)
    assert rows.nodes == count and np.array_equal(np.sort(rows.sources), np.arange(data.nodes))
    assert np.array_equal(graphs[rows.sources], rows.targets)
