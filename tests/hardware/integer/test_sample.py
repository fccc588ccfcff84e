"""Neighbours in integers: by hand, with ties and equal points, and against a search over all pairs."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.sample import Sample, nearest
from fgnas.hardware.integer.value import Rows, Value
from fgnas.networks.points.graphs import nearest as of_floats
from fgnas.networks.points.graphs import random_neighbours

NONE = IntegerGraph(sp.csr_matrix((0, 1), dtype=np.int64), np.zeros(1, np.int64), np.zeros(0, np.int64),
                    np.zeros(0, np.int64))  # fmt: skip


def test_ties_and_equal_points_by_hand() -> None:
    """The smaller place is nearer; a point is not always first among equal ones."""
    cloud = np.array([[0], [2], [1], [1], [4]])
    assert nearest(cloud, 3).tolist() == [[0, 2, 3], [1, 2, 3], [2, 3, 0], [2, 3, 0], [4, 1, 2]]


@given(st.integers(0, 2**31), st.integers(1, 40), st.integers(1, 5), st.sampled_from([2, 127, 32767]))
@settings(deadline=None, max_examples=80)
def test_against_all_pairs(seed: int, points: int, columns: int, largest: int) -> None:
    """Python's own integers, sorted by distance and place; few values make ties and equal points."""
    rng = np.random.default_rng(seed)
    cloud = rng.integers(-largest, largest + 1, (points, columns))
    k = int(rng.integers(1, points + 1))
    rows = cloud.tolist()
    wanted = [
        [place for _, place in sorted((sum((a - b) ** 2 for a, b in zip(one, other, strict=True)), place)
                                      for place, other in enumerate(rows))[:k]]
        for one in rows
    ]  # fmt: skip
    assert nearest(cloud, k).tolist() == wanted


def test_it_is_the_float_search_where_floats_are_exact() -> None:
    cloud = np.random.default_rng(1).integers(-9, 10, (2, 30, 3))
    found = Sample("nearest", 30, 7).run([cloud.reshape(60, 3)], NONE)
    assert found.tolist() == of_floats(torch.from_numpy(cloud).double(), 7).flatten(end_dim=1).tolist()


def test_random_neighbours_are_those_of_training() -> None:
    found = Sample("random", 12, 4, seed=3, ordinal=2).run([np.zeros((24, 5), np.int64)], NONE)
    assert found.tolist() == 2 * random_neighbours(12, 4, 3, 2).tolist()


def test_sparse_features_are_read() -> None:
    cloud = np.random.default_rng(2).integers(-9, 10, (10, 3))
    one = Sample("nearest", 10, 3)
    assert np.array_equal(one.run([sp.csr_matrix(cloud)], NONE), one.run([cloud], NONE))


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="a cloud of 4 points has no 5 neighbours"):
        Sample("nearest", 4, 5)
    with pytest.raises(ValueError, match="reads rows of nodes, not of edges"):
        Sample("nearest", 4, 2).value([Value(Rows.EDGES, 3, FixedPoint(8, 4))])
