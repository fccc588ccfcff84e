"""NSGA-II in steps that can be followed by hand."""

import numpy as np
from twins import assert_continues

from fgnas.engine.contracts import Problem
from fgnas.searchers.nsga2 import Nsga2, Nsga2Settings, order, searcher
from fgnas.space import Choice, Space
from fgnas.systems.fgnas.space import find_space

SPACE = Space("layers", 3, (Choice("a", (0, 1, 2), "x"), Choice("b", (0, 1, 2), "x")))
SQUARE = [[0.0, 4.0], [1.0, 3.0], [3.0, 1.0], [4.0, 0.0], [0.0, 0.0], [3.0, 0.5]]


def told(objectives, space=SPACE, **settings):
    search = Nsga2(space, 0, Nsga2Settings(**{"population": len(objectives), **settings}))
    search.tell(search.ask(len(objectives)), np.array(objectives, float))
    return search


def test_the_first_generation_is_uniform_draws():
    rng = np.random.default_rng(3)
    assert np.array_equal(Nsga2(SPACE, 3).ask(40), SPACE.draw(40, rng))


def test_rank_first_then_crowding():
    """The front's ends, then its members with distant neighbours; then the second and third front."""
    assert order(np.array(SQUARE)).tolist() == [3, 0, 2, 1, 5, 4]


def test_the_best_of_parents_and_children_survive():
    search = told(SQUARE[:4])
    parents = search.rows.copy()
    children = np.zeros((2, 6), np.int16)
    search.tell(children, np.array([[5.0, 5.0], [0.0, 0.0]]))
    assert search.objectives.tolist() == [[0, 4], [3, 1], [4, 0], [5, 5]]
    assert np.array_equal(search.rows, np.concatenate([parents[[0, 2, 3]], children[:1]]))


def test_only_the_best_breed_and_without_chance_a_child_is_its_mother():
    search = told(SQUARE, breeding=0.34, crossover=0.0, mutation=0.0)
    assert set(map(bytes, search.ask(100))) == {bytes(search.rows[0]), bytes(search.rows[3])}


def test_a_mutant_differs_in_one_layer():
    search = told(SQUARE, breeding=0.0, crossover=0.0, mutation=1.0)
    changed = (search.ask(2_000) != search.rows[3]).reshape(-1, 3, 2)
    assert changed.any(axis=2).sum(axis=1).max() == 1
    # Each decision of the chosen layer is redrawn, so it changes with probability 2/3.
    assert 0.62 < changed.sum() / 2_000 / 2 < 0.71


def test_a_child_of_two_parents_takes_whole_layers():
    search = told(SQUARE, breeding=0.34, crossover=1.0, mutation=0.0)
    children = search.ask(500).reshape(-1, 3, 2)
    parents = search.rows[[0, 3]].reshape(2, 3, 2)
    for layer in range(3):
        assert {tuple(pair) for pair in children[:, layer]} == {tuple(pair) for pair in parents[:, layer]}
    assert len(np.unique(children.reshape(500, 6), axis=0)) > 2


def test_decisions_without_effect_stay_absent():
    space = find_space("fgnas")
    children = told([[value] for value in range(20)], space).ask(500)
    for column in range(children.shape[1]):
        assert np.array_equal(children[:, column] >= 0, space.offered(children, column))


def test_a_short_search_has_small_generations():
    def population(children):
        return searcher(Problem(SPACE, None, (), None, 0, children)).batch

    assert [population(children) for children in (5, 100, 500, 5_000)] == [10, 10, 50, 100]


def test_it_continues_from_its_state():
    search = told(SQUARE)
    assert_continues(search, Nsga2(SPACE, 9, search.settings), 6, lambda rows: rows[:, :2].astype(float))
