"""Losses, their gradients and qualities of nodes and of graphs, by hand and against torch."""

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from fgnas.networks.answers import Answers, OfGraphs, OfNodes, answers_of
from fgnas.tasks.collection import Kind, metric
from fgnas.tasks.nodes import load

SIZES = np.array([1, 3, 2, 4])
NAN = float("nan")
TARGETS: dict[Kind, Any] = {
    "classes": [[0.0], [2.0], [NAN], [1.0]],
    "values": [[0.5, -1.0], [NAN, 2.0], [0.0, 0.0], [1.5, NAN]],
    "labels": [[1.0, 0.0], [0.0, NAN], [1.0, 1.0], [0.0, 1.0]],
}
WIDTHS: dict[Kind, int] = {"classes": 3, "values": 2, "labels": 2}


def of(kind: Kind) -> OfGraphs:
    return OfGraphs(SIZES, np.array(TARGETS[kind]), kind)


def drawn(classes: int, networks: int = 2, nodes: int = 10) -> np.ndarray:
    return np.random.default_rng(classes).normal(size=(nodes, networks, classes)).astype(np.float32)


def check_against_autograd(answers: Answers, logits: np.ndarray) -> None:
    """Gradients and losses of several networks are those that torch finds for each."""
    gradient, losses = answers.gradient(logits), answers.losses(logits)
    assert gradient.dtype == np.float32 and losses.shape == (logits.shape[1],)
    for place in range(logits.shape[1]):
        own = torch.from_numpy(logits[:, place].copy()).requires_grad_()
        loss = answers.loss(own)
        loss.backward()
        assert own.grad is not None
        np.testing.assert_allclose(gradient[:, place], own.grad.numpy(), atol=1e-6)
        assert losses[place] == pytest.approx(float(loss), abs=1e-5)
        assert answers.quality(logits)[place] == answers.quality(logits[:, place])


@pytest.mark.parametrize("kind", TARGETS)
def test_graphs_against_autograd(kind: Kind) -> None:
    check_against_autograd(of(kind), drawn(WIDTHS[kind]))


def test_nodes_against_autograd() -> None:
    check_against_autograd(OfNodes(np.array([0, 2, 1, 1])), drawn(3, nodes=4))


def test_a_result_is_the_mean_of_its_nodes() -> None:
    logits = np.arange(10.0)[:, None]
    assert of("values").pooled(logits).tolist() == [[0], [2], [4.5], [7.5]]


def test_qualities_by_hand() -> None:
    """Of three known classes two are right; numbers explain 1 - their mean square; what is unknown does not count."""
    classes = np.repeat([[1, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 0]], SIZES, axis=0)
    assert of("classes").quality(classes) == pytest.approx(2 / 3)
    exact = np.repeat(np.nan_to_num(TARGETS["values"], nan=7.0), SIZES, axis=0)
    assert of("values").quality(exact) == 1.0
    assert of("values").quality(exact + 0.5) == pytest.approx(1 - 0.25)
    results = np.array([[0.9, 0.1], [0.2, 0.9], [0.1, 0.8], [0.0, 0.3]])
    wanted = metric("labels", np.array(TARGETS["labels"]), results)
    assert of("labels").quality(np.repeat(results, SIZES, axis=0)) == wanted == pytest.approx((3 / 4 + 1.0) / 2)


@pytest.mark.parametrize("kind", TARGETS)
def test_nothing_is_nearer_to_a_network_than_itself(kind: Kind) -> None:
    answers, logits = of(kind), torch.from_numpy(drawn(WIDTHS[kind])[:, 0])
    beliefs = answers.beliefs(logits)
    own = answers.divergence(logits, beliefs)
    for place in range(10):
        moved = logits.clone()
        moved[place] += torch.tensor([0.5, -0.25, 0.0][: WIDTHS[kind]])
        assert answers.divergence(moved, beliefs) > own


def test_nodes_have_their_own_data() -> None:
    data = load("digits")
    answers = answers_of(data, "val")
    assert isinstance(answers, OfNodes) and np.array_equal(answers.labels, data.labels[data.val])
    logits = torch.randn(1797, 10)
    assert torch.equal(answers_of(data).beliefs(logits), functional.softmax(logits, 1))
