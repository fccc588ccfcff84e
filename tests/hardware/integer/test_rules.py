"""Matrices by rules: of graphs that can be checked by hand."""

import numpy as np
import pytest

from fgnas.hardware.integer.rules import (
    BETWEEN,
    FINE,
    GRAPHS,
    NO_NODE,
    NODES,
    NOT_IN_ORDER,
    ONE_WAY,
    POOL,
    SELF_LOOP,
    TWICE,
    Rules,
    codes_of,
    entries_of,
    neighbours_of,
)

EDGES = np.array([[1, 2, 0, 1, 4, 3], [0, 1, 1, 2, 3, 4]])
"""0 - 1 - 2, and 3 - 4."""
GRAPH = np.array([0, 0, 0, 1, 1])


def test_neighbours_ascend() -> None:
    problem, found = neighbours_of(EDGES, GRAPH)
    assert problem == FINE
    assert found.indptr.tolist() == [0, 1, 3, 4, 5, 6]
    assert found.sources.tolist() == [1, 0, 2, 1, 4, 3]
    assert found.starts.tolist() == [0, 3, 5]


@pytest.mark.parametrize("edges, graph, problem", [
    ([[0], [5]], GRAPH, NO_NODE), ([[-1], [0]], GRAPH, NO_NODE), ([[0], [0]], GRAPH, SELF_LOOP),
    ([[0, 0, 1, 1], [1, 1, 0, 0]], GRAPH, TWICE), ([[0], [1]], GRAPH, ONE_WAY), ([[2, 3], [3, 2]], GRAPH, BETWEEN),
    ([[0, 1], [1, 0]], GRAPH[::-1].copy(), NOT_IN_ORDER), ([[0, 1], [1, 0]], GRAPH + 1, NOT_IN_ORDER),
])  # fmt: skip
def test_what_is_wrong_with_a_graph(edges: list[list[int]], graph: np.ndarray, problem: int) -> None:
    assert neighbours_of(np.array(edges), graph)[0] == problem


def rules(kind: int, edge: dict[tuple[int, int], float], own: dict[int, float], pool: dict[int, float]) -> Rules:
    """One matrix, for degrees up to 2 and graphs up to 3."""
    found = Rules(np.array([kind]), np.full((1, 3, 3), np.nan), np.full((1, 3), np.nan), np.full((1, 4), np.nan))
    for degrees, number in edge.items():
        found.edge[0, *degrees] = number
    found.own[0, list(own)], found.pool[0, list(pool)] = list(own.values()), list(pool.values())
    return found


def entries(one: Rules) -> list[dict[int, float]]:
    """The entries of each row."""
    found = entries_of(one, 0, neighbours_of(EDGES, GRAPH)[1])
    parts = zip(found.indptr, found.indptr[1:], strict=False)
    rows = [dict(zip(found.sources[a:b].tolist(), found.numbers[a:b].tolist(), strict=True)) for a, b in parts]
    assert all(list(row) == sorted(row) for row in rows)
    return rows


def test_numbers_by_the_degrees_of_both_ends() -> None:
    edge = {(1, 2): 12.0, (2, 1): 21.0, (1, 1): 11.0}
    assert entries(rules(NODES, edge, {}, {})) == [{1: 12}, {0: 21, 2: 21}, {1: 12}, {4: 11}, {3: 11}]


def test_a_row_may_have_itself() -> None:
    found = entries(rules(NODES, {(1, 2): 1.0, (2, 1): 1.0}, {1: 5.0, 2: 7.0}, {}))
    assert found == [{0: 5, 1: 1}, {0: 1, 1: 7, 2: 1}, {1: 1, 2: 5}, {3: 5}, {4: 5}]


def test_pools_and_rows_of_graphs() -> None:
    assert entries(rules(POOL, {}, {}, {2: 0.5, 3: 0.25})) == [{0: 0.25, 1: 0.25, 2: 0.25}, {3: 0.5, 4: 0.5}]
    assert entries(rules(GRAPHS, {}, {0: 3.0}, {})) == [{0: 3}, {1: 3}]


def test_the_codes_of_a_mean_have_its_sum() -> None:
    """35 times 1/35 in 8 bits, which is 7.3 each; numbers that differ are rounded alone, ties to even."""
    codes = codes_of(np.full(35, 1 / 35), np.array([0, 35]), 8, 10)
    assert codes.sum() == 256 and set(codes.tolist()) == {7, 8}
    assert codes_of(np.array([0.5, 1.5, -900.0]), np.array([0, 2, 3]), 0, 10).tolist() == [0, 2, -512]
