"""The paper's controller and the disjoint search, in steps small enough to check by hand."""

import numpy as np
import pytest
import torch

from fgnas.errors import UserError
from fgnas.searchers.disjoint import Disjoint, architecture_of, finest, with_choices
from fgnas.searchers.learning.paper import PaperReinforce
from fgnas.space import Choice, Space
from fgnas.systems.fgnas.space import find_space

TWO = Space("two", 1, (Choice("k", (1, 2), "architecture"), Choice("t_in", (1, 2, 3), "hardware")))


def parameters(searcher):
    return torch.cat([p.detach().flatten().clone() for p in searcher.policy.parameters()])


def test_the_papers_policy_stands_still_on_zeros_and_its_baseline_follows():
    searcher = PaperReinforce(TWO, 0)
    before = parameters(searcher)
    searcher.tell(searcher.ask(5), np.zeros((5, 1)))
    assert torch.equal(parameters(searcher), before) and searcher.baseline == 0
    searcher.tell(searcher.ask(5), np.array([[0], [0], [0.5], [0], [0]]))
    assert not torch.equal(parameters(searcher), before)
    assert searcher.baseline == pytest.approx(0.1 * 0.1)
    searcher.tell(searcher.ask(5), np.full((5, 1), 0.8))
    assert searcher.baseline == pytest.approx(0.9 * 0.01 + 0.1 * 0.8)


def test_the_papers_step_is_plain_ascent():
    """theta + 0.1 grad of (1 / m) sum (R - b) log pi, with b = 0 at first."""
    searcher, twin = PaperReinforce(TWO, 0), PaperReinforce(TWO, 0)
    samples, rewards = searcher.ask(5), np.array([0.2, 0, 0, 0.6, 0])
    searcher.tell(samples, rewards[:, None])
    objective = (torch.from_numpy(rewards).float() * twin.policy(samples)[0]).sum() / 5
    step = torch.autograd.grad(objective, list(twin.policy.parameters()), allow_unused=True)
    moved = [p if g is None else p + 0.1 * g for p, g in zip(twin.policy.parameters(), step, strict=True)]
    torch.testing.assert_close(parameters(searcher), torch.cat([p.detach().flatten() for p in moved]))


def test_the_finest_formats_have_ten_bits():
    space = find_space("fgnas")
    design = space.design(with_choices(space, finest(space), 1, np.random.default_rng(0))[0], 100)
    assert {(layer.ai, layer.af, layer.wi, layer.wf) for layer in design.layers} == {(3, 6, 3, 6)}


def test_disjoint_takes_the_best_architecture_that_can_be_built():
    """k = 2 is better, but only k = 1 fits."""
    searcher = Disjoint(TWO, 0, 50, lambda samples: samples[:, 0] == 0)
    assert searcher.infeasible == "accept"
    samples = np.array([[0, 0], [1, 0]] * 5, np.int16)
    searcher.tell(samples, samples[:, :1] * 0.5 + 0.2)
    assert searcher.infeasible == "redraw" and searcher.fixed == {0: 0}
    assert set(searcher.ask(50)[:, 0]) == {0} and len(set(searcher.ask(50)[:, 1])) == 3


def test_disjoint_without_anything_to_build_says_so():
    searcher = Disjoint(TWO, 0, 50, lambda samples: np.zeros(len(samples), bool))
    with pytest.raises(UserError, match="none of the 2 architectures"):
        searcher.tell(np.array([[0, 0], [1, 0]] * 5, np.int16), np.linspace(0, 1, 10)[:, None])


def test_choices_are_held_and_the_rest_is_offered_rightly():
    space = find_space("fgnas")
    row = space.draw(1, np.random.default_rng(3))[0].tolist()
    choices = architecture_of(space, row)
    samples = with_choices(space, choices, 200, np.random.default_rng(0))
    for column, decision in enumerate(space.decisions):
        assert np.array_equal(samples[:, column] >= 0, space.offered(samples, column))
        assert column not in choices or set(samples[:, column]) == {choices[column]}
        assert column in choices or len(set(samples[:, column].tolist())) in (1, len(decision.options))
