"""Sparse matrices that a graph's neighbourhoods determine: an entry's number by the neighbours of both its ends.

Graphs have no self-loops, no edge twice, and every edge in both directions. Compiled: a host makes the matrices of each
graph that it sends.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]

NODES, POOL, GRAPHS = 0, 1, 2
"""Kinds of matrices: rows of nodes from rows of nodes, rows of graphs from rows of nodes, or from rows of graphs."""
FINE, NO_NODE, SELF_LOOP, TWICE, ONE_WAY, BETWEEN, NOT_IN_ORDER = range(7)
"""What may be wrong with a graph."""


class Rules(NamedTuple):
    """Matrices, each a kind with numbers by degrees; a NaN means that there is no entry.

    Attributes:
        kind: [matrices] NODES, POOL or GRAPHS.
        edge: [matrices, d + 1, d + 1] of the entry of an edge, by the neighbours of its target and of its source.
        own: [matrices, d + 1] of a row's entry of itself, by its neighbours; graphs have none.
        pool: [matrices, n + 1] of a graph's entries of its nodes, by their number.
    """

    kind: Ints
    edge: Reals
    own: Reals
    pool: Reals


class Neighbours(NamedTuple):
    """Graphs side by side.

    Attributes:
        indptr, sources: neighbourhoods by target; sources ascend.
        starts: [graphs + 1] the first node of each graph.
    """

    indptr: Ints
    sources: Ints
    starts: Ints


class Entries(NamedTuple):
    """A sparse matrix: the entries of row i are those from indptr[i] to indptr[i + 1]."""

    indptr: Ints
    sources: Ints
    numbers: Reals


@numba.njit(cache=True)
def neighbours_of(edges: Ints, graph: Ints) -> tuple[int, Neighbours]:  # pragma: no cover - compiled
    """The neighbourhoods of [2, E] sources and targets, and of the graph [N] of each node; first what is wrong."""
    nodes, problem = len(graph), FINE
    graphs = graph[-1] + 1 if nodes else 0
    starts = np.zeros(graphs + 1, np.int64)
    for node in range(nodes):
        before = graph[node - 1] if node else -1
        if not 0 <= graph[node] - before <= 1:
            return NOT_IN_ORDER, Neighbours(starts, starts, starts)
        starts[graph[node] + 1] = node + 1
    for source, target in edges.T:
        if min(source, target) < 0 or max(source, target) >= nodes:
            return NO_NODE, Neighbours(starts, starts, starts)
        if source == target:
            problem = SELF_LOOP
        elif graph[source] != graph[target]:
            problem = BETWEEN
    found, other = _sorted(edges[1], edges[0], nodes), _sorted(edges[0], edges[1], nodes)
    if problem == FINE:
        for node in range(nodes):
            for place in range(found[0][node] + 1, found[0][node + 1]):
                if found[1][place] == found[1][place - 1]:
                    problem = TWICE
    if problem == FINE and not (np.array_equal(found[0], other[0]) and np.array_equal(found[1], other[1])):
        problem = ONE_WAY
    return problem, Neighbours(found[0], found[1], starts)


@numba.njit(cache=True)
def _sorted(rows: Ints, columns: Ints, count: int) -> tuple[Ints, Ints]:  # pragma: no cover - compiled
    """Columns by row, ascending, and where each row begins."""
    by_column, _ = _counted(columns, count)
    order, indptr = _counted(rows[by_column], count)
    return indptr, columns[by_column][order]


@numba.njit(cache=True)
def _counted(keys: Ints, count: int) -> tuple[Ints, Ints]:  # pragma: no cover - compiled
    """The places of keys in ascending order, equal ones as they come; and where each key begins."""
    starts = np.zeros(count + 1, np.int64)
    for key in keys:
        starts[key + 1] += 1
    for key in range(count):
        starts[key + 1] += starts[key]
    order, at = np.empty(len(keys), np.int64), starts[:-1].copy()
    for place in range(len(keys)):
        order[at[keys[place]]] = place
        at[keys[place]] += 1
    return order, starts


@numba.njit(cache=True)
def entries_of(rules: Rules, matrix: int, graph: Neighbours) -> Entries:  # pragma: no cover - compiled
    """A matrix of a graph, whose degrees and sizes the rules know."""
    kind, nodes, graphs = rules.kind[matrix], len(graph.indptr) - 1, len(graph.starts) - 1
    near, starts, own = graph.sources, graph.indptr, rules.own[matrix]
    rows = nodes if kind == NODES else graphs
    indptr, count = np.zeros(rows + 1, np.int64), 0
    sources, numbers = np.empty(nodes + len(near), np.int64), np.empty(nodes + len(near))
    for row in range(rows):
        if kind == POOL:
            first, end = graph.starts[row], graph.starts[row + 1]
            for node in range(first, end):
                sources[count], numbers[count] = node, rules.pool[matrix, end - first]
                count += not np.isnan(numbers[count])
        else:
            first, end = (starts[row], starts[row + 1]) if kind == NODES else (0, 0)
            edge, passed = rules.edge[matrix, end - first], False
            for place in range(first, end + 1):  # a row's own entry stands among its neighbours', in ascending order
                source = near[place] if place < end else rows
                if not passed and source > row:
                    sources[count], numbers[count], passed = row, own[end - first], True
                    count += not np.isnan(numbers[count])
                if place < end:
                    sources[count], numbers[count] = source, edge[starts[source + 1] - starts[source]]
                    count += not np.isnan(numbers[count])
        indptr[row + 1] = count
    return Entries(indptr, sources[:count], numbers[:count])


@numba.njit(cache=True)
def codes_of(numbers: Reals, indptr: Ints, bits: int, width: int) -> Ints:  # pragma: no cover - compiled
    """[entries] numbers with so many fraction bits as codes of so many bits.

    Those of a row that are all the same, as in a mean, are rounded up or down in turn, so that their sum is right: each
    rounded alone, the mean of 35 rows would be a twentieth too small in eight bits.
    """
    codes, scale, largest = np.empty(len(numbers), np.int64), 2.0**bits, 2.0 ** (width - 1)
    for row in range(len(indptr) - 1):
        first, end = indptr[row], indptr[row + 1]
        alike = True
        for place in range(first, end):
            alike = alike and numbers[place] == numbers[first]
        for place in range(first, end):
            exact = numbers[place] * scale
            code = np.rint(exact)
            if alike:
                code = np.floor((place - first + 1) * exact + 0.5) - np.floor((place - first) * exact + 0.5)
            codes[place] = np.int64(min(max(code, -largest), largest - 1))
    return codes
