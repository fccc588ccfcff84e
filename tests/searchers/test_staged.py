"""The staged search: sets of functions are judged by random operations, then the best set's operations breed."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fgnas.errors import UserError
from fgnas.searchers.staged import Staged, StagedSettings, searcher
from fgnas.space import Choice, Rows, Space


class Listed(Space):
    """Rows whose candidates are lists of operations without those that are 0, as identities are left out."""

    def candidate(self, row: Any) -> Any:
        """A candidate with a key."""
        return SimpleNamespace(score_key=str([row[:3].tolist(), [one for one in row[3:].tolist() if one]]))


class Alike(Listed):
    """A space of which the rows with the first function 1 are one candidate."""

    def candidate(self, row: Any) -> Any:
        """A candidate with a key."""
        return SimpleNamespace(score_key="one") if row[0] == 1 else super().candidate(row)


class Few(Listed):
    """A space whose sets of functions have three candidates each at most."""

    def candidate(self, row: Any) -> Any:
        """A candidate with a key."""
        return SimpleNamespace(score_key=str(row[3] % (1 + min(row[0], 2))))


SPACE = Listed("staged", 6, (
    Choice("first", (0, 1, 2, 3), "function", where="design"),
    Choice("second", (0, 1, 2), "function", where="design"),
    Choice("own", ("own",), "stage", where="design", only_if=("first", -1)),
    Choice("operation", (0, 1, 2, 3), "operation"),
))  # fmt: skip
WIDE = Listed("wide", 6, (*SPACE.choices[:3], Choice("operation", tuple(range(40)), "operation")))
SETTINGS = StagedSettings(population=6, parents=3, sets=12, each=4)


def problem(feasible: Callable[[Rows], Any] = lambda rows: np.ones(len(rows), bool), **given: Any) -> Any:
    """A problem whose every row keeps the limits, unless `feasible` says otherwise."""
    return SimpleNamespace(space=SPACE, seed=3, children=300, options={}, feasible=feasible, **given)


def within(kind: type[Listed]) -> Any:
    """The problem in a space of another kind."""
    return SimpleNamespace(**vars(problem()) | {"space": kind(SPACE.name, SPACE.layers, SPACE.choices)})


def value(rows: Rows) -> Any:
    """[n, 2] the best functions are 3 and 2, the best operations all 3; the second objective is small."""
    score = 5.0 * rows[:, 0] + 5 * rows[:, 1] + rows[:, 3:].sum(axis=1)
    return np.stack([score, -0.01 * rows[:, 3]], axis=1)


def judged() -> Staged:
    """A search at the end of its first stage."""
    found = Staged(problem(), SETTINGS)
    while found.first_stage:
        rows = found.ask(found.batch)
        found.tell(rows, value(rows))
    return found


def test_a_batch_of_the_first_stage_is_a_set() -> None:
    found = Staged(problem(), SETTINGS)
    assert found.batch == 4
    rows = np.concatenate([found.ask(8), found.ask(8)])  # the engine asks again where rows break a limit
    assert len(np.unique(rows[:, :2], axis=0)) == 1 and (rows[:, 2] == -1).all()
    assert len(np.unique(rows[:, 3:], axis=0)) > 10
    found.tell(rows[:4], value(rows[:4]))
    assert found.set_scores.tolist() == [value(rows[:4])[:, 0].mean()]
    assert np.array_equal(found.sets[0, :2], rows[0, :2])


def test_the_second_stage_has_the_best_functions_and_asks_for_own_weights() -> None:
    found = judged()
    assert found.batch == 6 and len(found.sets) == 12
    best = found.sets[found.set_scores.argmax(), :2]
    for _ in range(10):
        rows = found.ask(6)
        assert (rows[:, :2] == best).all() and (rows[:, 2] == 0).all()
        found.tell(rows, value(rows))
    assert len(found.rows) == 6
    assert found.scores.min() > value(found.ask(500))[:, 0].mean()


def test_a_space_without_a_decision_of_the_stage() -> None:
    """Both stages, in rows of two functions and six operations."""
    space = Listed("shared", 6, (*SPACE.choices[:2], SPACE.choices[3]))
    found = Staged(SimpleNamespace(**vars(problem()) | {"space": space}), SETTINGS)
    while found.first_stage:
        rows = found.ask(found.batch)
        found.tell(rows, 1.0 * rows[:, :1])
    rows = found.ask(6)
    assert rows.shape == (6, 8) and (rows[:, :2] == found.sets[found.set_scores.argmax(), :2]).all()


def test_fitness_weighs_further_objectives() -> None:
    found = judged()
    rows = found.ask(6)
    found.tell(rows, np.array([[1.0, -4], [1.1, -1], [0, 0], [0, 0], [0, 0], [0, 0]]))
    assert sorted(found.scores.round(6).tolist()) == [0, 0, 0, 0, 0.8, 1.05]


def test_no_candidate_is_judged_twice_in_the_second_stage() -> None:
    found, seen = judged(), set[str]()
    for _ in range(20):
        rows = found.ask(6)
        keys = {SPACE.candidate(row).score_key for row in rows}
        assert len(keys) == 6 and not keys & seen
        seen |= keys
        found.tell(rows, value(rows))


def test_where_no_other_candidate_is_left_there_are_no_rows() -> None:
    found = judged()
    found.known = type("All", (set,), {"__contains__": lambda self, key: True})()
    assert found.ask(6).shape == (0, len(SPACE.decisions))


def test_where_no_other_candidate_keeps_the_limits_there_are_no_rows() -> None:
    """The searcher is asked for many rows: among few, rows within the limits might be missing by chance."""
    found = judged()
    wide = Staged(SimpleNamespace(**vars(found.problem) | {"space": WIDE}), SETTINGS)
    wide.restore(found.state())
    wide.problem.feasible = lambda rows: np.zeros(len(rows), bool)
    assert len(wide.ask(6)) == 6
    assert len(wide.ask(1_000)) == 0


def test_a_set_without_rows_within_the_limits_is_not_judged() -> None:
    found = Staged(problem(lambda rows: rows[:, 0] < 2), SETTINGS)
    while found.first_stage:
        rows = found.ask(found.batch)
        assert (rows[:, 0] < 2).all()
        found.tell(rows, value(rows))


def test_a_set_of_few_candidates_is_not_judged() -> None:
    """However many rows of them keep the limits."""
    found = Staged(within(Alike), SETTINGS)
    while found.first_stage:
        rows = found.ask(found.batch)
        assert (rows[:, 0] != 1).all()
        found.tell(rows, value(rows))


def test_where_every_set_has_few_candidates_the_one_with_the_most_is_judged() -> None:
    found = Staged(within(Few), SETTINGS)
    rows = found.ask(400)
    assert np.array_equal(rows[:, :2], np.repeat(rows[:1, :2], 400, axis=0))
    assert len({Few.candidate(found.space, row).score_key for row in rows}) == SETTINGS.each - 1


@pytest.mark.parametrize("batches", [5, 20])
def test_it_continues_from_its_state(batches: int) -> None:
    """In the first stage, and in the second."""
    found, twin = Staged(problem(), SETTINGS), Staged(problem(), SETTINGS)
    for _ in range(batches):
        rows = found.ask(found.batch)
        found.tell(rows, value(rows))
    twin.restore(found.state())
    for _ in range(8):
        rows, again = found.ask(found.batch), twin.ask(twin.batch)
        assert np.array_equal(rows, again)
        found.tell(rows, value(rows))
        twin.tell(again, value(again))


def test_its_default_and_its_weight() -> None:
    found = searcher(problem())
    assert (found.settings.sets, found.settings.weight) == (300 // 3 // 8, 0.05)
    given = problem()
    given.options, given.children = {"weight": 0.5}, 1480
    assert (searcher(given).settings.sets, searcher(given).settings.weight) == (60, 0.5)


def test_another_space_has_no_stages() -> None:
    other = problem()
    other.space = Space("four", 1, (Choice("a", (1, 2), "architecture"),))
    with pytest.raises(UserError, match="no decisions of the kind function"):
        searcher(other)
