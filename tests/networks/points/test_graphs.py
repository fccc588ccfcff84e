"""Graphs of points: ties, keys, random neighbours, messages and reductions, by hand and against dense sums."""

import pytest
import torch

from fgnas.networks.points.graphs import Batch, Edges, Neighbours, message, nearest, random_neighbours
from fgnas.networks.points.operations import MESSAGES, REDUCERS, Aggregate


def test_the_nearest_of_a_line() -> None:
    """Points at 0, 1, 2, 5: of equal distances the smaller index is nearer."""
    found = nearest(torch.tensor([[[0.0], [1], [2], [5]]]), 3)
    assert found.tolist() == [[[0, 1, 2], [1, 0, 2], [2, 1, 0], [3, 2, 1]]]


def test_equal_points_go_by_index() -> None:
    assert nearest(torch.ones(1, 5, 2), 2).tolist() == [[[0, 1]] * 5]


def test_no_more_neighbours_than_points() -> None:
    assert nearest(torch.randn(2, 3, 4), 8).shape == (2, 3, 3)
    assert random_neighbours(3, 8, 0, 0).shape == (3, 3)


def test_random_neighbours_follow_from_their_hash() -> None:
    found = random_neighbours(64, 8, 0, 0)
    assert torch.equal(found, random_neighbours(64, 8, 0, 0)) and found[:, 0].tolist() == list(range(64))
    others = [random_neighbours(64, 8, 1, 0), random_neighbours(64, 8, 0, 1)]
    assert all((found != other).float().mean() > 0.8 for other in others)
    share = torch.bincount(random_neighbours(64, 64, 3, 2)[:, 1:].flatten(), minlength=64) / (64 * 63)
    assert share.max() < 0.025 and share.min() > 0.008  # 1 / 64 each


def test_clouds_of_a_batch_are_apart() -> None:
    x = torch.randn(7, 2)
    found = Batch((3, 4), 2).each(lambda clouds: nearest(clouds, 2), x)
    assert torch.equal(found, torch.cat([nearest(x[None, :3], 2)[0], nearest(x[None, 3:], 2)[0] + 3]))
    equal = Batch((3, 3), 2).each(lambda clouds: nearest(clouds, 2), x[:6])
    assert torch.equal(equal, torch.cat([nearest(x[None, :3], 2)[0], nearest(x[None, 3:6], 2)[0] + 3]))


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_have_their_width(name: str) -> None:
    source, target = torch.tensor([[3.0, 4]]), torch.tensor([[0.0, 0]])
    wanted = {"source": [3, 4], "target": [0, 0], "relative": [3, 4], "distance": [5], "source-relative": [3, 4, 3, 4],
              "target-relative": [0, 0, 3, 4], "full": [0, 0, 3, 4, 3, 4, 5]}  # fmt: skip
    found = message(name, source, target)
    assert found.tolist() == [wanted[name]]
    assert Aggregate("max", name).width(2) == found.shape[1]


@pytest.mark.parametrize("reducer", REDUCERS)
@pytest.mark.parametrize("name", MESSAGES)
def test_edges_and_neighbours_agree(reducer: str, name: str) -> None:
    sources = torch.tensor([[0, 2], [1, 0], [2, 2]])
    x = torch.randn(3, 4)
    one = Aggregate(reducer, name)
    edges = Edges(sources.flatten(), torch.arange(3).repeat_interleave(2))
    assert torch.allclose(Neighbours(sources, 4).reduce(one, x), edges.reduce(one, x))


def test_a_point_without_an_edge_receives_zeros() -> None:
    found = Edges(torch.tensor([0]), torch.tensor([1])).reduce(Aggregate("max", "source"), torch.full((2, 1), -3.0))
    assert found.tolist() == [[0], [-3]]
