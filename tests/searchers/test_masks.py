"""Masks: what is forbidden never comes, what remains is still a distribution, and no feasible design is lost."""

import numpy as np
import pytest
import torch

from fgnas.hardware.pipeline.pricing import Pricer, Specification
from fgnas.searchers.masks import Bounds, Fixed
from fgnas.searchers.policy import Policy
from fgnas.systems.fgnas.space import find_space
from fgnas.space import Choice, Space

TWO = Space("two", 1, (Choice("k", (1, 2), "architecture"), Choice("t_in", (1, 2, 3), "hardware")))


def test_a_fixed_choice_is_certain():
    policy = Policy(TWO, 8, torch.Generator().manual_seed(0), Fixed(TWO, {1: 2}))
    assert set(policy.sample(100, torch.Generator().manual_seed(0))[:, 1]) == {2}
    log_probability, entropy = policy(np.array([[0, 2], [1, 2]], np.int8))
    assert log_probability.exp().tolist() == pytest.approx([0.5, 0.5])
    assert entropy.tolist() == pytest.approx([np.log(2)] * 2)


def test_bounds_keep_feasible_designs_and_raise_their_share(cora):
    space, specification = find_space("fgnas"), Specification(latency_ms=1.0, lut=30_000, dsp=100)
    pricer = Pricer(cora)
    drawn = space.draw(20_000, np.random.default_rng(0))
    feasible = drawn[pricer.price(space.columns(drawn), 100).feasible(specification)]
    bounds = Bounds(space, pricer, specification, 100)
    allowed = np.stack([
        bounds(feasible, column)[np.arange(len(feasible)), feasible[:, column]] | (feasible[:, column] < 0)
        for column in range(len(space.decisions))
    ])  # fmt: skip
    assert len(feasible) > 20 and allowed.all(axis=0).mean() > 0.95
    masked = Policy(space, 8, torch.Generator().manual_seed(0), bounds).sample(300, torch.Generator().manual_seed(0))
    share = pricer.price(space.columns(masked), 100).feasible(specification).mean()
    assert share > 20 * len(feasible) / len(drawn)
