"""Preferences: shares counted by hand, and the share expected by chance over a whole small space."""

from dataclasses import replace

import numpy as np
import pytest

from fgnas.costs import Limit
from fgnas.report import preferences as module
from fgnas.report.preferences import feasible_shares, preferences
from fgnas.space import Decision
from fgnas.systems.fgnas import Options, compose
from fgnas.systems.fgnas.space import find_space

ATTENTION = Decision("0.attention", "attention", 0, ("constant", "gat"), "architecture")
LANES = Decision("0.t_attn", "t_attn", 0, (1, 2), "hardware")
FEATURES = Decision("0.d", "d", 0, (4, 8), "architecture")
DECISIONS = (ATTENTION, LANES, FEATURES)
PLAIN, ONE_LANE, TWO_LANES = (0, -1, -1), (1, 0, -1), (1, 1, -1)


def test_first_and_last_fifth() -> None:
    """Ten trials: the first two are constant and gat, the last two both gat."""
    rows = np.array([PLAIN, ONE_LANE, *[PLAIN] * 6, ONE_LANE, TWO_LANES])
    attention, lanes = preferences(rows, DECISIONS)
    assert (attention.decision, lanes.decision) == (ATTENTION, LANES)
    assert [(o.value, o.uniform, o.first, o.last) for o in attention.options] == [
        ("constant", 0.5, 0.5, 0.0), ("gat", 0.5, 0.5, 1.0),
    ]  # fmt: skip
    assert attention.moved == 0.5
    # Only designs in which the decision has an effect count.
    assert [(o.value, o.first, o.last) for o in lanes.options] == [(1, 1.0, 0.5), (2, 0.0, 0.5)]


def test_a_choice_without_effect_in_a_fifth_has_no_shares_there() -> None:
    lanes = preferences(np.array([ONE_LANE, *[PLAIN] * 4]), DECISIONS)[1]
    assert [(o.first, o.last) for o in lanes.options] == [(1.0, None), (0.0, None)]
    assert lanes.moved == 0


def test_shares_by_chance_are_named_by_decision() -> None:
    attention = preferences(np.array([PLAIN]), DECISIONS, {"0.attention": [0.25, 0.75]})[0]
    assert [option.feasible for option in attention.options] == [0.25, 0.75]


def test_no_trials_no_preferences() -> None:
    assert preferences(np.zeros((0, 3), int), DECISIONS) == []


def test_chance_is_that_of_the_feasible_designs(four_nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A space small enough to enumerate: shares are counted, not estimated."""
    monkeypatch.setattr(module, "CHANCE_BATCH", 4_000)
    monkeypatch.setattr(module, "CHANCE_DRAWS", 20_000)
    space = replace(find_space("fgnas").restrict(attention=("constant", "gat"), k=(1, 2), d=(4, 8)), dsp=10)
    parts = replace(compose(Options(target="pipeline"), four_nodes), space=space, limits=())
    parts.target.space = space
    free = feasible_shares(parts)
    assert free["0.attention"][1] == pytest.approx(0.5, abs=0.02)
    assert free["0.t_attn"] == pytest.approx([0.25] * 4, abs=0.03)
    # A limit that only designs without attention keep: the share of gat falls to that of its smallest designs.
    rows = space.draw(4000, np.random.default_rng(3))
    gat = rows[:, [decision.name for decision in space.decisions].index("0.attention")] == 1
    luts = parts.target.price(rows)["lut"]
    bound = luts[gat].min() - 1
    assert (luts <= bound).any()
    assert feasible_shares(replace(parts, limits=(Limit("lut", 1, str),))) == {}
    tight = feasible_shares(replace(parts, limits=(Limit("lut", bound, str),)))
    assert tight["0.attention"][1] < 0.02
