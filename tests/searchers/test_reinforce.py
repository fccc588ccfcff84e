"""The gradient estimate against the exact gradient, by enumeration; and learning increases the reward."""

import itertools

import numpy as np
import pytest
import torch

from fgnas.engine.store import RunStore
from fgnas.searchers.random import RandomSearch
from fgnas.searchers.reinforce import Reinforce, ReinforceSettings, advantages, surrogate
from fgnas.space import Choice, Space
from fgnas.systems.fgnas.space import find_space

TWO = Space("two", 1, (Choice("k", (1, 2), "architecture"), Choice("t_in", (1, 2, 3), "hardware")))
ALL = np.array(list(itertools.product(range(2), range(3))), np.int16)


def test_advantages():
    assert advantages(np.array([0.5, 0.5, 0.5])).tolist() == [0, 0, 0]
    assert advantages(np.array([1.0, 3.0])).tolist() == [-1, 1]


def test_the_estimate_is_unbiased_under_redrawing():
    """The mean of the estimate over all pairs of feasible samples is the gradient of E_F[R]."""
    policy = Reinforce(TWO, 0).policy
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(5)))
    feasible, rewards = ALL[[0, 2, 3, 5]], torch.tensor([0.1, 0.9, 0.4, 0.3])
    parameters = list(policy.parameters())

    def gradient(scalar):
        found = torch.autograd.grad(scalar, parameters, allow_unused=True)
        return torch.cat(
            [torch.zeros(p.numel()) if g is None else g.flatten() for g, p in zip(found, parameters, strict=True)]
        )

    share = torch.softmax(policy(feasible)[0], 0)
    exact = gradient((share * rewards).sum())
    mean = torch.zeros_like(exact)
    for pair in itertools.product(range(4), repeat=2):
        weights = rewards[list(pair)] - rewards[list(pair)].mean()
        estimate = gradient(surrogate(policy(feasible[list(pair)])[0], weights))
        mean += (share[pair[0]] * share[pair[1]]).detach() * estimate
    assert exact.norm() > 1e-3
    torch.testing.assert_close(mean, exact, rtol=1e-3, atol=1e-5)


def test_it_learns_which_option_pays():
    searcher = Reinforce(TWO, 0, ReinforceSettings(learning_rate=0.02))
    for _ in range(60):
        samples = searcher.ask(10)
        searcher.tell(samples, (samples[:, 1:] == 2).astype(float))
    assert (searcher.ask(200)[:, 1] == 2).mean() > 0.8


def test_it_learns_to_be_feasible_even_when_all_rewards_are_equal():
    searcher = Reinforce(TWO, 0, ReinforceSettings(acceptance=0.5, learning_rate=0.02))
    for _ in range(60):
        drawn = searcher.ask(60)
        accepted = drawn[drawn[:, 0] == 1][:10]
        searcher.tell(accepted, np.full((len(accepted), 1), 0.7))
    assert (searcher.ask(200)[:, 0] == 1).mean() > 0.8


def test_one_sample_alone_is_no_reason_to_fail():
    Reinforce(TWO, 0).tell(ALL[:1], np.array([[0.5]]))


@pytest.mark.parametrize("make", [Reinforce, RandomSearch])
def test_a_restored_searcher_goes_on_alike(make, tmp_path):
    space = find_space("fgnas")
    original = make(space, 7)
    original.tell(original.ask(5), np.linspace(0, 1, 5)[:, None])
    store = RunStore.create(tmp_path, "run", {})
    store.commit([], original.state())
    copy = make(space, 0)
    copy.restore(store.resume())
    for searcher in (original, copy):
        searcher.tell(searcher.ask(5), np.linspace(1, 0, 5)[:, None])
    assert np.array_equal(original.ask(20), copy.ask(20))


def test_random_search_is_uniform():
    drawn = RandomSearch(TWO, 0).ask(30_000)
    shares = [(drawn == row).all(axis=1).mean() for row in ALL]
    assert shares == pytest.approx([1 / 6] * 6, abs=0.012)
