"""The matrices of a chain as rules of the graph: read off the model's run on graphs that are made to show them all.

Models compute coefficients from degrees and sizes. Trees with every pair of neighbouring degrees, and graphs of every
size, show each number. Rules hold where they give the matrices of the user's own graphs, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from fgnas.hardware.array.programme import NARROW_BITS
from fgnas.hardware.integer.rules import (
    FINE,
    GRAPHS,
    POOL,
    Neighbours,
    Rules,
    codes_of,
    entries_of,
    neighbours_of,
)
from fgnas.hardware.integer.spread import Spread as IntegerSpread
from fgnas.networks.imported.nodes import Input, Ints, Matrix, Merge, Node, Spread, ordered
from fgnas.networks.imported.quantising import Quantised, blocks
from fgnas.tasks.collection import Collection

MOST_NEIGHBOURS, MOST_NODES = 32, 512
"""Of a node, and of a graph, whose matrices are made into rules."""
TOLERANCE = 1e-6
"""Of numbers in single precision, relative."""


def is_linear(nodes: Sequence[Node]) -> bool:
    """Whether nodes are products and sums alone."""
    return all(isinstance(one, Input | Merge) or (isinstance(one, Spread) and one.reduce == "add") for one in nodes)


def probe_of(data: Collection) -> Collection | None:
    """Graphs that show the numbers of all that may come, with features from the data; None where rules cannot be known:
    for one graph, weights of edges, edges in one direction, and more neighbours or nodes than MOST_*."""
    if data.graph is None or data.edge_weight is not None:
        return None
    if neighbours_of(data.edge_index, data.graph)[0] != FINE:
        return None
    degree, size = (int(np.bincount(one).max(initial=0)) for one in (data.edge_index[1], data.graph))
    if degree > MOST_NEIGHBOURS or size > MOST_NODES:
        return None
    sizes = list(range(1, max(size, 2 * degree) + 1))
    pairs = [(a, b) for a in range(1, degree + 1) for b in range(a, degree + 1)]
    starts = np.cumsum([0, *sizes, *(a + b for a, b in pairs)])
    edges = [start + _pair(*pair) for start, pair in zip(starts[len(sizes) :], pairs, strict=False)]
    both = np.concatenate([one for each in edges for one in (each, each[::-1])], axis=1) if edges else np.zeros((2, 0))
    graph = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    rows = np.arange(len(graph)) % data.features.shape[0]
    nobody = np.zeros(len(starts) - 1, np.bool_)
    kinds = None if data.edge_features is None else np.zeros((both.shape[1], data.edge_features.shape[1]), np.float32)
    return replace(
        data, features=data.features[rows], edge_index=both.astype(np.int64), graph=graph, edge_features=kinds,
        targets=np.zeros((len(nobody), data.targets.shape[1])), train=nobody, val=nobody, test=nobody,
    )  # fmt: skip


def _pair(a: int, b: int) -> Ints:
    """[2, a + b - 1] the edges of a tree in which nodes of a and b neighbours are each other's."""
    first, second = [0] * (a - 1), [1] * (b - 1)
    return np.array([[0, *first, *second], [1, *range(2, a + b)]])


def rules_of(last: Node, data: Collection) -> Rules | None:
    """The rules of all matrices of a value's sums, in order, from its nodes on a probe; None where degrees and sizes do
    not determine them."""
    assert data.graph is not None
    graph = neighbours_of(data.edge_index, data.graph)[1]
    degrees, sizes = np.diff(graph.indptr), np.diff(graph.starts)
    matrices = _matrices(last)
    count, most = len(matrices), int(degrees.max())
    found = Rules(
        np.zeros(count, np.int64), np.full((count, most + 1, most + 1), np.nan), np.full((count, most + 1), np.nan),
        np.full((count, int(sizes.max()) + 1), np.nan),
    )  # fmt: skip
    for place, matrix in enumerate(matrices):
        rows, columns, numbers = matrix.tocoo().row, matrix.tocoo().col, matrix.tocoo().data
        if matrix.shape == (len(degrees),) * 2:
            own = rows == columns
            found.own[place, degrees[rows[own]]] = numbers[own]
            found.edge[place, degrees[rows[~own]], degrees[columns[~own]]] = numbers[~own]
        elif matrix.shape == (len(sizes), len(degrees)):
            found.kind[place] = POOL
            found.pool[place, sizes[rows]] = numbers
        elif matrix.shape == (len(sizes),) * 2:
            found.kind[place] = GRAPHS
            found.own[place, 0] = numbers[0] if len(numbers) else np.nan
        else:
            return None
    return found if are_those_of(found, last, data) else None


def are_those_of(rules: Rules, last: Node, data: Collection) -> bool:
    """Whether rules give the matrices of a value's sums on graphs, in their order."""
    assert data.graph is not None
    problem, graph = neighbours_of(data.edge_index, data.graph)
    matrices = _matrices(last)
    if problem != FINE or len(matrices) != len(rules.kind):
        return False
    return all(_is_that_of(rules, place, graph, one) for place, one in enumerate(matrices))


def _is_that_of(rules: Rules, place: int, graph: Neighbours, matrix: Matrix) -> bool:
    """Whether a rule gives a matrix."""
    entries = entries_of(rules, place, graph)
    return bool(
        np.array_equal(entries.indptr, matrix.indptr) and np.array_equal(entries.sources, matrix.indices)
        and np.allclose(entries.numbers, matrix.data, rtol=TOLERANCE, atol=0)
    )  # fmt: skip


def on_graphs(rules: Rules, last: Node, data: Collection) -> Node:
    """A value whose matrices have these rules, on other graphs."""
    assert data.graph is not None
    graph, place, found = neighbours_of(data.edge_index, data.graph)[1], 0, dict[int, Node]()
    for node in ordered(last):
        given = [found[id(one)] for one in node.inputs]
        if isinstance(node, Spread):
            parts = [entries_of(rules, place + one, graph) for one in range(len(given))]
            rows, place = len(parts[0].indptr) - 1, place + len(given)
            each = [sp.csr_matrix((one.numbers, one.sources, one.indptr), (rows, value.rows))
                    for one, value in zip(parts, given, strict=True)]  # fmt: skip
            found[id(node)] = replace(node, rows=rows, given=tuple(given), matrix=sp.hstack(each, format="csr"))
        else:
            rows = given[0].rows if given else data.features.shape[0]
            found[id(node)] = replace(node.on(given), rows=rows)
    return found[id(last)]


def are_codes_of(rules: Rules, found: Quantised, data: Collection) -> bool:
    """Whether rules give the integer matrices of a network's sums on graphs."""
    assert data.graph is not None
    graph, place, rows = neighbours_of(data.edge_index, data.graph)[1], 0, data.features.shape[0]
    for step in found.integers.steps:
        if not isinstance(step.operation, IntegerSpread):
            continue
        wanted, parts = found.graphs[step.graph], list[Matrix]()
        for bits in step.operation.coefficients:
            entries = entries_of(rules, place, graph)
            codes = codes_of(entries.numbers, entries.indptr, bits, NARROW_BITS)
            parts.append(sp.csr_matrix((codes, entries.sources, entries.indptr), (wanted.nodes, rows)))
            place += 1
        whole, rows = sp.hstack(parts, format="csr"), wanted.nodes
        same = zip((whole.indptr, whole.indices, whole.data), (wanted.indptr, wanted.sources, wanted.gcn), strict=True)
        if not all(np.array_equal(*pair) for pair in same):
            return False
    return True


def _matrices(last: Node) -> list[Matrix]:
    """The matrices of a value's sums, in order, with sorted entries."""
    sums = [node for node in ordered(last) if isinstance(node, Spread)]
    found = [one for node in sums for one in blocks(node)]
    for one in found:
        one.sort_indices()
    return found
