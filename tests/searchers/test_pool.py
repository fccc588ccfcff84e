"""Algorithm 1 of G-CoS in steps that can be followed by hand."""

import numpy as np
from twins import assert_continues

from fgnas.engine.contracts import Problem
from fgnas.searchers.pool import Pool, PoolSettings, fitness, searcher
from fgnas.space import Choice, Space
from fgnas.systems.fgnas.space import find_space

SPACE = Space("four", 1, tuple(Choice(name, tuple(range(8)), "x") for name in "abcd"))
SMALL = PoolSettings(capacity=10, rate=0.2)


def told(values, settings=SMALL, space=SPACE):
    """A pool that was told about uniform rows with these objectives, two at a time."""
    pool = Pool(space, 0, settings)
    for first in range(0, len(values), pool.batch):
        batch = np.array(values[first : first + pool.batch], float)
        pool.tell(space.draw(len(batch), pool.rng), batch.reshape(len(batch), -1))
    return pool


def test_the_first_births_are_uniform_draws():
    pool, rng = Pool(SPACE, 3, SMALL), np.random.default_rng(3)
    assert pool.batch == 2
    assert np.array_equal(pool.ask(40), SPACE.draw(40, rng))


def test_the_least_fit_leave_when_the_pool_is_over_its_capacity():
    pool = told(range(10))
    assert pool.objectives[:, 0].tolist() == list(range(10))
    pool.tell(SPACE.draw(2, pool.rng), np.array([[0.5], [20.0]]))
    assert pool.objectives[:, 0].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 20]
    assert len(pool.rows) == 10


def test_of_equally_fit_designs_the_oldest_leave():
    pool = told([7] * 12)
    kept = pool.rows.copy()
    pool.tell(rows := SPACE.draw(2, pool.rng), np.array([[7.0], [7.0]]))
    assert np.array_equal(pool.rows, np.concatenate([kept[2:], rows]))


def test_the_fittest_have_a_mutant_each_in_turn():
    """With capacity 10 and rate 0.2 the two fittest; half of the decisions may change, each with an even chance."""
    pool = told([0, 5, 1, 4, 2, 3])
    children = pool.ask(2_000)
    for turn, parent in enumerate((1, 3)):
        changes = (children[turn::2] != pool.rows[parent]).sum(axis=1)
        assert changes.max() == 2
        # Two of four decisions may change, with probability 1/2 of 7/8: 0.875 changes on the average.
        assert 0.8 < changes.mean() < 0.95


def test_fitness_by_hand():
    """Accuracy, and 0.05 times the ratio by which a cost is below the reference or a score above it, at most 4."""
    objectives = np.array([[0.8, -100.0, 2.0], [0.8, -50.0, 1.0], [0.7, -1.0, 9.0], [0.6, 0.0, 0.0]])
    found = fitness(objectives, np.array([-100.0, 1.0]), PoolSettings())
    np.testing.assert_allclose(found, [0.8 + 0.05 * 3, 0.8 + 0.05 * 3, 0.7 + 0.05 * 8, 0.6 + 0.05 * 0])


def test_a_cost_of_nothing_counts_the_most():
    found = fitness(np.array([[0.5, 0.0]]), np.array([0.0]), PoolSettings())
    assert found.tolist() == [0.5 + 0.05 * 4]


def test_the_reference_is_the_median_of_the_first_births():
    pool = told([[0.5, -10], [0.5, -30], [0.5, -1000], [0.5, -1000]])
    assert pool.reference.tolist() == [-20]


def test_decisions_without_effect_stay_absent():
    space = find_space("fgnas")
    children = told(range(20), PoolSettings(capacity=20), space).ask(500)
    for column in range(children.shape[1]):
        assert np.array_equal(children[:, column] >= 0, space.offered(children, column))


def test_it_continues_from_its_state():
    pool = told([[0.2, -3], [0.4, -2], [0.6, -1]])
    assert_continues(pool, Pool(SPACE, 9, SMALL), 2, lambda rows: rows[:, :2] * [1.0, -1.0])


def test_lambda_is_an_option():
    given = {0.5: 0.5, 0.0: 0.0, None: PoolSettings().weight}
    for weight, wanted in given.items():
        problem = Problem(SPACE, None, (), None, 0, 10, {"weight": weight})
        assert searcher(problem).settings == PoolSettings(weight=wanted)
