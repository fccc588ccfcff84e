"""Preferences: shares counted by hand, and chance held against the whole of a small space."""

import numpy as np
import pytest

from fgnas.hardware.pipeline.pricing import Pricer, Specification
from fgnas.report.preferences import feasible_shares, preferences
from fgnas.systems.fgnas.space import find_space


def trial(attention: str, t_attn: int | None) -> dict:
    return {"design": {"layers": [{"attention": attention, "t_attn": t_attn, "d": None}]}}


CHOICES = {"attention": ("constant", "gat"), "t_attn": (1, 2), "d": (4, 8)}


def test_first_and_last_fifth() -> None:
    """Ten trials: the first two are constant and gat, the last two both gat."""
    plain = trial("constant", None)
    trials = [plain, trial("gat", 1), *[plain] * 6, trial("gat", 1), trial("gat", 2)]
    attention, lanes = preferences(trials, CHOICES)
    assert [(o.value, o.uniform, o.first, o.last) for o in attention.options] == [
        ("constant", 0.5, 0.5, 0.0), ("gat", 0.5, 0.5, 1.0),
    ]  # fmt: skip
    assert attention.moved == 0.5
    # Of the designs in which the choice has an effect only.
    assert [(o.value, o.first, o.last) for o in lanes.options] == [(1, 1.0, 0.5), (2, 0.0, 0.5)]


def test_a_choice_without_effect_in_a_fifth_has_no_shares_there() -> None:
    trials = [trial("gat", 1), *[trial("constant", None)] * 4]
    lanes = preferences(trials, CHOICES)[1]
    assert [(o.first, o.last) for o in lanes.options] == [(1.0, None), (0.0, None)]
    assert lanes.moved == 0


def test_no_trials_no_preferences() -> None:
    assert preferences([], CHOICES) == []


def test_chance_is_that_of_the_feasible_designs(four_nodes) -> None:
    """A space small enough to draw it all: shares are counted, not estimated."""
    space = find_space("fgnas").restrict(attention=("constant", "gat"), k=(1, 2), d=(4, 8))
    pricer = Pricer(four_nodes)
    free = feasible_shares(space, pricer, Specification(), 10)
    assert free[0, "attention"]["gat"] == pytest.approx(0.5, abs=0.02)
    assert free[0, "t_attn"] == pytest.approx({1: 0.25, 2: 0.25, 4: 0.25, 8: 0.25}, abs=0.03)
    # A limit that only designs without attention keep: gat's share falls to what is left of it.
    samples = space.draw(4000, np.random.default_rng(3))
    gat = samples[:, [d.name for d in space.decisions].index("0.attention")] == 1
    luts = pricer.price(space.columns(samples), 10).lut
    limit = int(luts[gat].min()) - 1
    assert (luts <= limit).any()
    assert feasible_shares(space, pricer, Specification(lut=1), 10) == {}
    tight = feasible_shares(space, pricer, Specification(lut=limit), 10)
    assert tight[0, "attention"]["gat"] < 0.02
