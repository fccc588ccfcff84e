"""Masks: forbidden options never occur, the others form a distribution, and no feasible design is lost."""

import numpy as np
import pytest
import torch

from fgnas.costs import feasible
from fgnas.hardware.specification import Specification
from fgnas.searchers.learning.masks import Bounds, Fixed
from fgnas.searchers.learning.policy import Policy
from fgnas.space import Choice, Space
from fgnas.systems.fgnas.space import find_space
from fgnas.systems.fgnas.target import PipelineTarget

TWO = Space("two", 1, (Choice("k", (1, 2), "architecture"), Choice("t_in", (1, 2, 3), "hardware")))


def test_a_fixed_choice_is_certain():
    policy = Policy(TWO, 8, torch.Generator().manual_seed(0), Fixed(TWO, {1: 2}))
    assert set(policy.sample(100, torch.Generator().manual_seed(0))[:, 1]) == {2}
    log_probability, entropy = policy(np.array([[0, 2], [1, 2]], np.int16))
    assert log_probability.exp().tolist() == pytest.approx([0.5, 0.5])
    assert entropy.tolist() == pytest.approx([np.log(2)] * 2)


def test_bounds_keep_feasible_designs_and_raise_their_share(cora):
    space = find_space("fgnas", dsp=100)
    specification = Specification(latency_ms=1.0, lut=30_000, dsp=100)
    target, limits = PipelineTarget(space, cora, specification), specification.bounds()
    drawn = space.draw(20_000, np.random.default_rng(0))
    kept = drawn[feasible(target.price(drawn), limits)]
    bounds = Bounds(space, target, limits)
    allowed = np.stack([
        bounds(kept, column)[np.arange(len(kept)), kept[:, column]] | (kept[:, column] < 0)
        for column in range(len(space.decisions))
    ])  # fmt: skip
    assert len(kept) > 20 and allowed.all(axis=0).mean() > 0.95
    masked = Policy(space, 8, torch.Generator().manual_seed(0), bounds).sample(300, torch.Generator().manual_seed(0))
    assert feasible(target.price(masked), limits).mean() > 20 * len(kept) / len(drawn)
