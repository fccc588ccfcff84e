"""NSGA-II in steps that can be followed by hand."""

import itertools

import numpy as np
from twins import assert_continues

from fgnas import pareto
from fgnas.engine.contracts import Problem
from fgnas.searchers.breeding.rows import crossed, positions
from fgnas.searchers.nsga2 import Nsga2, Nsga2Settings, order, searcher
from fgnas.searchers.random import RandomSearch
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


WHOLE = Space("whole", 0, tuple(Choice(name, (0, 1, 2, 3, 4), "x", where="design") for name in "abcd"))
"""625 designs that decide nothing by layer."""
GAINS = np.array([[0, 5, 8, 10, 11], [0, 1, 6, 7, 9], [0, 4, 5, 9, 10], [3, 0, 2, 8, 9]], float)
COSTS = np.array([[0, 2, 4, 9, 16], [1, 0, 3, 8, 11], [0, 5, 6, 7, 15], [0, 4, 1, 5, 14]], float)
EVALUATIONS = 120


def table(rows):
    """[n, 2] what a design gains and, negated, what it costs: the sum over its decisions."""
    return np.stack([GAINS[range(4), rows].sum(axis=1), -COSTS[range(4), rows].sum(axis=1)], axis=1)


def distinct_volume(search):
    """The hypervolume of the first distinct designs that a searcher asks for, generation by generation."""
    found = {}
    while len(found) < EVALUATIONS:
        batch = {}
        while len(batch) < search.batch:
            batch |= {bytes(row): row for row in search.ask(search.batch) if bytes(row) not in found}
        rows = np.stack(list(batch.values())[: min(search.batch, EVALUATIONS - len(found))])
        found |= {bytes(row): row for row in rows}
        search.tell(rows, table(rows))
    return pareto.hypervolume(table(np.stack(list(found.values()))), (0, -56))


def test_a_layer_is_one_position_and_a_decision_of_the_whole_design_another():
    mixed = Space("mixed", 2, (*SPACE.choices, *WHOLE.choices[2:]))
    assert [one.name for one in mixed.decisions] == ["c", "d", "0.a", "0.b", "1.a", "1.b"]
    assert positions(mixed).tolist() == [0, 1, 2, 2, 3, 3]
    assert positions(SPACE).tolist() == [0, 0, 1, 1, 2, 2]
    assert positions(WHOLE).tolist() == [0, 1, 2, 3]


def test_decisions_of_the_whole_design_are_crossed_and_redrawn_one_by_one():
    mother, father = np.zeros((2_000, 4), np.int16), np.full((2_000, 4), 4, np.int16)
    children = crossed(WHOLE, mother, father, np.random.default_rng(0))
    assert set(np.unique(children)) == {0, 4} and len(np.unique(children, axis=0)) == 16
    search = told([[value] for value in (3.0, 1.0, 2.0)], WHOLE, breeding=0.0, crossover=0.0, mutation=1.0)
    changed = (search.ask(2_000) != search.rows[0]).sum(axis=1)
    # One decision is drawn again, and is another with probability 4/5.
    assert changed.max() == 1 and 0.77 < changed.mean() < 0.83


def test_it_beats_random_search_on_decisions_of_the_whole_design():
    """On the mean over 20 seeds, for equal numbers of distinct designs."""
    bred = [distinct_volume(Nsga2(WHOLE, seed, Nsga2Settings(20))) for seed in range(20)]
    drawn = [distinct_volume(RandomSearch(WHOLE, seed)) for seed in range(20)]
    best = pareto.hypervolume(table(np.array(list(itertools.product(range(5), repeat=4)))), (0, -56))
    # All decisions drawn again at once, as one position, would be worth 92 per cent of it, as uniform draws are.
    assert np.mean(drawn) < 0.93 * best and np.mean(bred) > 0.97 * best
