"""The controller: a proper distribution that samples as it scores."""

import itertools
import math

import numpy as np
import pytest
import torch

from fgnas.searchers.learning.policy import Policy, categorical
from fgnas.space import Choice, Space
from fgnas.systems.fgnas.space import find_space

SMALL = Space(
    "small",
    1,
    (
        Choice("attention", ("gcn", "gat"), "architecture"),
        Choice("t_attn", (1, 2, 4), "hardware", only_if=("attention", "gat")),
        Choice("k", (1, 2), "architecture"),
    ),
)
PAIRS = itertools.product(range(3), range(2))
ROWS = np.array([[0, -1, k] for k in range(2)] + [[1, t, k] for t, k in PAIRS], np.int16)
"""Every sample of SMALL."""


def shaken(space, seed=0, scale=2.0):
    """A policy that is not uniform."""
    policy = Policy(space, 8, torch.Generator().manual_seed(seed))
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(scale * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(seed)))
    return policy


def test_untrained_it_is_uniform_over_what_is_offered():
    log_probability, entropy = Policy(SMALL, 8, torch.Generator().manual_seed(0))(ROWS)
    expected = [-math.log(4)] * 2 + [-math.log(12)] * 6
    assert log_probability.tolist() == pytest.approx(expected)
    assert entropy.tolist() == pytest.approx([math.log(4)] * 2 + [math.log(12)] * 6)


def test_probabilities_of_all_samples_sum_to_one():
    assert shaken(SMALL)(ROWS)[0].exp().sum().item() == pytest.approx(1, abs=1e-5)


def test_it_samples_as_it_scores():
    policy, count = shaken(SMALL, scale=0.5), 40_000
    drawn = policy.sample(count, torch.Generator().manual_seed(1))
    for row, probability in zip(ROWS, policy(ROWS)[0].exp().tolist(), strict=True):
        found = (drawn == row).all(axis=1).mean()
        assert abs(found - probability) < 5 * math.sqrt(probability / count)


def test_a_choice_without_effect_is_absent_and_moves_nothing():
    space = find_space("fgnas")
    drawn = shaken(space, scale=0.2).sample(500, torch.Generator().manual_seed(0))
    for column, decision in enumerate(space.decisions):
        assert np.array_equal(drawn[:, column] >= 0, space.offered(drawn, column))
        assert (drawn[:, column] < len(decision.options)).all()


def test_steps_that_are_never_offered_are_left_out():
    space = find_space("fgnas").restrict(attention=("constant", "gcn"))
    policy = Policy(space, 8, torch.Generator().manual_seed(0))
    left_out = {space.decisions[c].name for c in range(len(space.decisions)) if c not in policy.steps}
    assert left_out == {"0.t_attn", "1.t_attn"}


def test_equal_generators_give_equal_samples():
    policy = shaken(SMALL)
    first, again, other = (policy.sample(50, torch.Generator().manual_seed(seed)) for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_categorical_never_takes_the_impossible():
    logits = torch.tensor([[0.0, -torch.inf, 0.0]]).expand(1000, 3)
    drawn = categorical(logits, torch.Generator().manual_seed(0))
    assert set(drawn.tolist()) == {0, 2}
