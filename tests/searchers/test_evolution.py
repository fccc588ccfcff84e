"""Evolution in steps that can be followed by hand."""

import numpy as np
from twins import assert_continues

from fgnas.searchers.evolution import Evolution, EvolutionSettings
from fgnas.space import Choice, Space
from fgnas.systems.fgnas.space import find_space

SPACE = Space("three", 1, (Choice("a", (0, 1), "x"), Choice("b", (0, 1, 2), "x"), Choice("only", (7,), "x")))


def grown(space, objectives, sample=2, seed=0):
    """Evolution with a full population of rows with these objectives."""
    searcher = Evolution(space, seed, EvolutionSettings(population=len(objectives), sample=sample))
    searcher.tell(searcher.ask(len(objectives)), np.array(objectives, float))
    return searcher


def test_the_first_children_are_uniform_draws():
    searcher, rng = Evolution(SPACE, 3), np.random.default_rng(3)
    assert np.array_equal(searcher.ask(40), SPACE.draw(40, rng))
    searcher.tell(SPACE.draw(49, rng), np.zeros((49, 1)))
    assert len(np.unique(searcher.ask(100), axis=0)) == 6


def test_a_child_differs_from_its_parent_in_one_decision_with_a_choice():
    searcher = grown(SPACE, [[0.1], [0.9], [0.3]], sample=200)
    best = searcher.rows[1]
    children = searcher.ask(600)
    assert ((children != best).sum(axis=1) == 1).all() and (children[:, 2] == 0).all()
    changed = (children[:, 0] != best[0]).mean()
    assert 0.4 < changed < 0.6
    assert set(children[children[:, 1] != best[1], 1]) == {0, 1, 2} - {best[1]}


def test_a_sample_of_one_makes_every_member_a_parent():
    searcher = grown(SPACE, [[0.1], [0.9], [0.3]], sample=1)
    searcher.rows = np.array([[0, 0, 0], [1, 1, 0], [0, 2, 0]], np.int16)
    children = {tuple(row) for row in searcher.ask(400).tolist()}
    assert {(1, 0, 0), (0, 1, 0), (1, 2, 0)} <= children


def test_the_oldest_leave_however_fit_they_are():
    searcher = grown(SPACE, [[0.9], [0.1], [0.2]])
    before = searcher.rows
    new = np.array([[1, 2, 0]], np.int16)
    searcher.tell(new, np.array([[0.0]]))
    assert np.array_equal(searcher.rows, np.concatenate([before[1:], new]))
    assert searcher.objectives[:, 0].tolist() == [0.1, 0.2, 0.0]


def test_of_several_objectives_the_front_wins_and_of_equals_the_youngest():
    searcher = grown(SPACE, [[0.9, -5.0], [0.5, -1.0], [0.5, -5.0], [0.9, -5.0]], sample=100)
    assert searcher._order().tolist() == [3, 1, 0, 2]


def test_decisions_without_effect_stay_absent():
    space = find_space("fgnas")
    searcher = grown(space, [[value] for value in np.linspace(0, 1, 20)], sample=3)
    children = searcher.ask(500)
    for column in range(children.shape[1]):
        assert np.array_equal(children[:, column] >= 0, space.offered(children, column))
        assert children[:, column].max() < len(space.decisions[column].options)


def test_it_continues_from_its_state():
    searcher = grown(SPACE, [[0.2], [0.4], [0.6]])
    searcher.ask(5)
    assert_continues(searcher, Evolution(SPACE, 9, searcher.settings), 6, lambda rows: rows[:, :1].astype(float))
