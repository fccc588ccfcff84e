"""The survey and the proposals: the feasible share, the nearest infeasible rows, the first feasible ones."""

from dataclasses import replace

import numpy as np
import pytest

from fgnas.costs import feasible, worst
from fgnas.engine import proposal, survey
from fgnas.engine.proposal import propose, redrawn
from fgnas.engine.survey import descended
from fgnas.errors import UserError
from fgnas.hardware.specification import Specification
from fgnas.searchers.learning.paper import PaperReinforce
from fgnas.searchers.random import RandomSearch
from fgnas.searchers.reinforce import searcher as reinforce


def test_proposals_are_the_first_feasible_draws(compose, space):
    parts = compose()
    found = propose(RandomSearch(space, 3), parts, 5, 5)
    twin = RandomSearch(space, 3)
    asked = np.concatenate([twin.ask(20), twin.ask(80), twin.ask(320)])
    places = np.flatnonzero(parts.feasible(asked))[:5]
    assert np.array_equal(found.rows, asked[places])
    assert found.draws.tolist() == (places + 1).tolist()


def test_every_draw_of_an_episode_is_told(compose, space):
    searcher, parts = PaperReinforce(space, 0), compose()
    found = propose(searcher, parts, 3, 5)
    ok = parts.feasible(found.asked)
    rows, objectives = found.told(np.full((len(found.rows), 1), 0.5))
    assert len(rows) == 5 and found.drawn % 5 == 0
    places = np.flatnonzero(ok)[:3]
    assert np.flatnonzero(objectives[:, 0]).tolist() == places.tolist()
    assert np.array_equal(rows[places], found.rows)


def test_episodes_are_bounded(compose, space, monkeypatch):
    monkeypatch.setattr(proposal, "MAX_FRUITLESS_EPISODES", 50)
    with pytest.raises(UserError, match="in 50 draws: in the nearest one lut"):
        propose(PaperReinforce(space, 0), compose(Specification(lut=100)), 3, 5)


def test_an_impossible_constraint_is_named_with_what_it_lacks(compose, space, monkeypatch):
    monkeypatch.setattr(proposal, "MAX_FRUITLESS_DRAWS", 2000)
    with pytest.raises(UserError, match=r"nearest one lut \d+ is over 100 \(by [\d.]+%\)"):
        propose(RandomSearch(space, 0), compose(Specification(latency_ms=1.0, lut=100)), 2, 2)


def test_survey_counts_each_constraint(compose, monkeypatch):
    for name in ("SURVEY_DRAWS", "ENOUGH"):
        monkeypatch.setattr(survey, name, 5000)
    parts = compose(Specification(latency_ms=0.0025, lut=10**6))
    found = survey.survey(parts.space, parts.target, parts.limits)
    assert found.draws == 5000 and found.binding == "latency_cycles"
    assert found.holds["lut"] == 1.0 and found.holds["latency_cycles"] == found.share
    assert 0.01 < found.share < 0.99 and parts.space.widest(found.found) == 16
    assert len(found.found) == round(found.share * 5000) and len(found.known) <= survey.KNOWN


def test_a_survey_ends_when_it_has_found_enough(compose, monkeypatch):
    monkeypatch.setattr(survey, "SURVEY_DRAWS", 5000)
    parts = compose(Specification())
    free = survey.survey(parts.space, parts.target, parts.limits)
    assert free.draws == len(free.found) == 5000 // 5
    assert free.share == 1.0 and free.binding is None and "none" in str(free)
    monkeypatch.setattr(survey, "ENOUGH", 5000)
    whole = survey.survey(parts.space, parts.target, parts.limits)
    assert whole.draws == 5000 and np.array_equal(whole.known, free.known)


def test_descent_moves_each_row_to_where_no_single_change_helps(compose, space):
    parts = compose(Specification(latency_ms=0.0002, lut=100, dsp=1), in_space=(tight := replace(space, dsp=1)))
    drawn = tight.draw(5, np.random.default_rng(0))
    before = drawn.copy()
    found = descended(drawn, tight, parts.target, parts.limits)
    assert np.array_equal(drawn, before)
    reached = worst(parts.target.price(found), parts.limits)
    assert (reached < worst(parts.target.price(drawn), parts.limits)).all() and (reached > 1).all()
    for column, decision in enumerate(tight.decisions):
        assert np.array_equal(found[:, column] >= 0, tight.offered(found, column))
        for option in range(len(decision.options)):
            changed = found.copy()
            changed[:, column] = option
            assert (worst(parts.target.price(tight.repaired(changed)), parts.limits) >= reached).all()


def rare(compose, space):
    """Limits that one design meets exactly and no uniform draw meets."""
    parts = compose(Specification(1e-5, 1_000))
    found = descended(space.draw(1, np.random.default_rng(7)), space, parts.target, parts.limits)
    costs = parts.target.price(found)
    cycles, lut = int(costs["latency_cycles"][0]), int(costs["lut"][0])
    specification = Specification(latency_ms=cycles / 100_000, lut=lut, dsp=20)
    drawn = space.draw(5_000, np.random.default_rng(0))
    assert not feasible(parts.target.price(drawn), specification.bounds()).any()
    return specification


def test_what_uniform_draws_miss_is_found_from_the_nearest(compose, space, problem_of, monkeypatch):
    for name in ("SURVEY_DRAWS", "MAX_FRUITLESS_DRAWS"):
        monkeypatch.setattr(survey, name, 500)
    parts = compose(rare(compose, space))
    found = survey.survey(parts.space, parts.target, parts.limits)
    assert found.share == 0 and len(found.known) and parts.feasible(found.known).all()
    assert "improving the nearest" in str(found)
    searcher = reinforce(replace(problem_of(parts, controller="conditioned"), survey=found))
    assert len(redrawn(searcher, parts, 5).rows) == 5


def test_what_nothing_meets_is_refused_with_what_it_lacks(compose, monkeypatch):
    for name in ("SURVEY_DRAWS", "MAX_FRUITLESS_DRAWS"):
        monkeypatch.setattr(survey, name, 500)
    parts = compose(Specification(latency_ms=1.0, lut=10))
    with pytest.raises(UserError, match=r"nor by improving the nearest: in the nearest one lut \d+ is over 10 \(by"):
        survey.survey(parts.space, parts.target, parts.limits)
