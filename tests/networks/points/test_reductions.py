"""Reductions of neighbours against PyTorch's own gradients of the same formulas, in double precision."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import relu

from fgnas.networks.points.graphs import Neighbours
from fgnas.networks.points.model import Dense, learned_edges
from fgnas.networks.points.operations import MESSAGES, REDUCERS, Aggregate
from fgnas.networks.points.reductions import Distances, Extreme, Sum, taken

POINTS, K = 40, 5


def drawn(width: int) -> tuple[Tensor, Tensor]:
    """Features of points that ask for a gradient, and neighbours of each, the point itself among them."""
    generator = torch.Generator().manual_seed(0)
    sources = torch.randint(POINTS, (POINTS, K), generator=generator)
    sources[:, 0] = torch.arange(POINTS)
    return torch.randn(POINTS, width, generator=generator, dtype=torch.float64).requires_grad_(), sources


def test_two_points_by_hand() -> None:
    x = torch.tensor([[0.0, 1], [3, 5]], requires_grad=True)
    sources = torch.tensor([[0, 1], [1, 1]])
    assert Sum.apply(x, sources).tolist() == [[3, 6], [6, 10]]
    assert Extreme.apply(x, sources, False).tolist() == [[0, 1], [3, 5]]
    found = Distances.apply(x, sources)
    assert found.tolist() == [[0, 5], [0, 0]]
    found.sum().backward()
    assert x.grad is not None
    assert torch.allclose(x.grad, torch.tensor([[-0.6, -0.8], [0.6, 0.8]]))


@pytest.mark.parametrize("largest", (True, False))
def test_of_equal_features_the_first_neighbour_has_the_gradient(largest: bool) -> None:
    x = torch.ones(3, 1, requires_grad=True)
    Extreme.apply(x, torch.tensor([[2, 1], [1, 0], [1, 1]]), largest).sum().backward()
    assert x.grad is not None
    assert x.grad.flatten().tolist() == [0, 2, 1]


def test_gradients_are_those_of_finite_differences() -> None:
    x, sources = drawn(3)
    for function in (lambda x: Sum.apply(x, sources), lambda x: Extreme.apply(x, sources, True)):
        assert torch.autograd.gradcheck(function, (x,))
    apart = (torch.arange(POINTS)[:, None] + torch.arange(1, K + 1)) % POINTS
    assert torch.autograd.gradcheck(lambda x: Distances.apply(x, apart), (x,))


@pytest.mark.parametrize("reducer", REDUCERS)
@pytest.mark.parametrize("name", MESSAGES)
def test_training_and_evaluation_reduce_alike(reducer: str, name: str) -> None:
    x, sources = drawn(4)
    one, graph = Aggregate(reducer, name), Neighbours(sources, POINTS)
    learned = graph.reduce(one, x)
    with torch.no_grad():
        assert torch.equal(learned, graph.reduce(one, x))


@pytest.mark.parametrize("reducer", REDUCERS)
def test_a_few_clouds_at_a_time_give_the_same(reducer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, sources = drawn(4)
    one = Aggregate(reducer, "full")
    with torch.no_grad():
        whole = Neighbours(sources, POINTS).reduce(one, x)
        monkeypatch.setattr("fgnas.networks.points.graphs.GATHERED", 100)
        assert torch.equal(Neighbours(sources, 7).reduce(one, x), whole)


@pytest.mark.parametrize("negative", (False, True))
def test_an_edge_convolution_trains_as_it_says(negative: bool) -> None:
    torch.manual_seed(1)
    x, sources = drawn(3)
    short, plain = (Dense(6, 8).double().train() for _ in range(2))
    if negative:
        torch.nn.init.normal_(short.norm.weight)
    plain.load_state_dict(short.state_dict())
    target = x[:, None].expand(-1, K, -1)
    messages = torch.cat([target, taken(x, sources) - target], dim=2)
    edges = plain.norm(plain.linear(messages.flatten(end_dim=1))).reshape(POINTS, K, -1)
    wanted, found = relu(edges.amax(dim=1)), learned_edges(short, x, sources)
    assert torch.allclose(found, wanted)
    weights = torch.randn(found.shape, dtype=torch.float64)
    gradients = [
        torch.autograd.grad((out * weights).sum(), (x, *dense.parameters())) for out, dense in
        ((found, short), (wanted, plain))
    ]  # fmt: skip
    assert all(torch.allclose(*pair) for pair in zip(*gradients, strict=True))
    assert all(torch.allclose(*pair) for pair in zip(short.buffers(), plain.buffers(), strict=True))
