"""The computation of a model as a graph of a few kinds of nodes, exact in real numbers.

Whatever a model makes of the graph alone (degrees, coefficients, which rows are added) is a constant: a sparse matrix.
The nodes are products with weights, with sparse matrices and of edges' ends, softmaxes over neighbours, and functions
of single numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
Matrix: TypeAlias = sp.csr_matrix
"""A constant of the graph: [rows of results, rows of what is read]."""


@dataclass(frozen=True)
class Function:
    """A function of single numbers.

    Attributes:
        name: as reports name it; "relu" needs no table in hardware.
        of: the function, of arrays.
    """

    name: str
    of: Callable[[Reals], Reals] = field(compare=False)


@dataclass(frozen=True, eq=False)
class Node:
    """A value of a model, [rows, columns]: bias and function follow what its kind computes.

    Attributes:
        place: the module that made it.
        rows, columns: its shape.
        bias: [columns], or None.
        function: or None.
    """

    place: str
    rows: int
    columns: int
    bias: Reals | None = None
    function: Function | None = None

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes whose results it reads."""
        return ()

    @property
    def plain(self) -> bool:
        """Whether neither bias nor function follows."""
        return self.bias is None and self.function is None

    def on(self, inputs: Sequence[Node]) -> Node:
        """The same of other inputs."""
        return self


@dataclass(frozen=True, eq=False)
class Input(Node):
    """The features."""


@dataclass(frozen=True, eq=False)
class Merge(Node):
    """The sum of products of values [rows, c] with weights [c, columns] each."""

    given: tuple[Node, ...] = ()
    weights: tuple[Reals, ...] = ()

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.given

    def on(self, inputs: Sequence[Node]) -> Node:
        return replace(self, given=tuple(inputs))


@dataclass(frozen=True, eq=False)
class Spread(Node):
    """A sparse matrix [rows, rows of all values] times values, one below the other; or the largest product of a row."""

    given: tuple[Node, ...] = ()
    matrix: Matrix = field(default_factory=lambda: sp.csr_matrix((0, 0)))
    reduce: Literal["add", "max"] = "add"

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.given

    def on(self, inputs: Sequence[Node]) -> Node:
        return replace(self, given=tuple(inputs))

    @property
    def is_copy(self) -> bool:
        """Whether its rows are those of one value."""
        one = self.matrix
        return (len(self.given) == 1 and one.shape[0] == one.shape[1] and one.nnz == one.shape[0]
                and bool((one.data == 1).all()) and np.array_equal(one.indices, np.arange(one.nnz))
                and np.array_equal(one.indptr, np.arange(one.nnz + 1)))  # fmt: skip


@dataclass(frozen=True, eq=False)
class EdgeProducts(Node):
    """[edges, heads] the products of two ends of every edge: the query of its target and the key of its source."""

    query: Node | None = None
    key: Node | None = None
    targets: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    sources: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def inputs(self) -> tuple[Node, ...]:
        assert self.query is not None and self.key is not None
        return self.query, self.key

    def on(self, inputs: Sequence[Node]) -> Node:
        query, key = inputs
        return replace(self, query=query, key=key)


@dataclass(frozen=True, eq=False)
class Attend(Node):
    """Rows of a value, weighted by the softmax of scores [edges, heads] over the edges of every target.

    Edges are in the order of their targets, which `indptr` divides; `sources` are the rows that they read.
    """

    value: Node | None = None
    scores: Node | None = None
    indptr: Ints = field(default_factory=lambda: np.zeros(1, np.int64))
    sources: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def inputs(self) -> tuple[Node, ...]:
        assert self.value is not None and self.scores is not None
        return self.value, self.scores

    def on(self, inputs: Sequence[Node]) -> Node:
        value, scores = inputs
        return replace(self, value=value, scores=scores)


def ordered(last: Node) -> list[Node]:
    """All nodes that a value is made of, each behind what it reads; itself last."""
    found: dict[int, Node] = {}
    waiting: list[tuple[Node, bool]] = [(last, False)]
    while waiting:
        node, read = waiting.pop()
        if id(node) in found:
            continue
        if read:
            found[id(node)] = node
            continue
        waiting.append((node, True))
        waiting += [(one, False) for one in reversed(node.inputs) if id(one) not in found]
    return list(found.values())


def evaluated(nodes: Iterable[Node], features: Reals | Matrix) -> dict[int, Reals]:
    """The values [rows, columns] of nodes in order, by id."""
    found: dict[int, Reals] = {}
    for node in nodes:
        found[id(node)] = result(node, argument(node, found, features))
    return found


def result(node: Node, given: Reals) -> Reals:
    """The value of a node from what its function reads."""
    return given if node.function is None else node.function.of(given)


def argument(node: Node, found: dict[int, Reals], features: Reals | Matrix) -> Reals:
    """[rows, columns] what a node's function reads."""
    if isinstance(node, Input):
        whole = features if isinstance(features, np.ndarray) else features.toarray()
        return np.asarray(whole, np.float64)
    given = [found[id(one)] for one in node.inputs]
    y = _computed(node, given)
    return y if node.bias is None else y + node.bias


def _computed(node: Node, given: Sequence[Reals]) -> Reals:
    if isinstance(node, Merge):
        return np.asarray(sum(one @ weight for one, weight in zip(given, node.weights, strict=True)))
    if isinstance(node, Spread):
        h = np.concatenate(given)
        if node.reduce == "add":
            return np.asarray(node.matrix @ h)
        messages = node.matrix.data[:, None] * h[node.matrix.indices]
        return np.maximum.reduceat(messages, node.matrix.indptr[:-1].astype(np.int64), axis=0)
    if isinstance(node, EdgeProducts):
        q, k = (one.reshape(len(one), node.columns, -1) for one in given)
        return np.asarray(np.einsum("ehd,ehd->eh", q[node.targets], k[node.sources]))
    assert isinstance(node, Attend)
    return _attended(node, *given)


def _attended(node: Attend, value: Reals, scores: Reals) -> Reals:
    starts, targets = node.indptr[:-1], np.repeat(np.arange(node.rows), np.diff(node.indptr))
    c = np.exp(scores - np.maximum.reduceat(scores, starts, axis=0)[targets])
    c /= np.add.reduceat(c, starts, axis=0)[targets]
    heads = value.reshape(len(value), scores.shape[1], -1)[node.sources]
    return np.asarray(np.add.reduceat(c[:, :, None] * heads, starts, axis=0).reshape(node.rows, -1))
