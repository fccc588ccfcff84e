"""Symbolic tensors of a running model: a sum of sparse matrices times nodes times weights, plus a bias.

Most of what models do to rows keeps that form, so it costs nothing until a function, a maximum or a softmax needs the
numbers: `made` then makes nodes, with products before sparse matrices where rows become shorter by it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from fgnas.networks.imported.nodes import Input, Ints, Matrix, Merge, Node, Reals, Spread


@dataclass(frozen=True, eq=False)
class Term:
    """R_1 R_2 … V M c.

    Attributes:
        node: V.
        chain: R_1, R_2, …; none for rows as they are.
        matrix: M [columns of V, columns]; [columns] is a diagonal, None the identity.
        scale: c.
        trained: whether M has weights that are no mere choice of columns.
        place: the module that gave it its weights, or its first sparse matrix.
    """

    node: Node
    chain: tuple[Matrix, ...] = ()
    matrix: Reals | None = None
    scale: float = 1.0
    trained: bool = False
    place: str = ""


@dataclass(eq=False)
class Affine:
    """A tensor as a sum of terms.

    Attributes:
        place: the module that made it.
        rows, shape: its shape: rows, and the dimensions behind them.
        terms: that are added.
        bias: [columns], or None.
        origin: the tensor and the choice of its rows that it is, if it is that.
        node: its numbers, where they are made.
    """

    place: str
    rows: int
    shape: tuple[int, ...]
    terms: tuple[Term, ...]
    bias: Reals | None = None
    origin: tuple[Affine, Matrix] | None = None
    node: Node | None = field(default=None, repr=False)

    @property
    def columns(self) -> int:
        """Numbers of a row."""
        return int(np.prod(self.shape))


@dataclass
class Workshop:
    """Makes nodes, each once.

    Attributes:
        matrices, arrays: constants by their content, so that equal ones are one.
        kept: nodes by their key, each with the objects whose ids the key contains, so that these stay alive.
    """

    matrices: dict[bytes, Matrix] = field(default_factory=dict)
    arrays: dict[bytes, Reals] = field(default_factory=dict)
    kept: dict[tuple[Any, ...], tuple[Node, Any]] = field(default_factory=dict)

    def matrix(self, one: Any) -> Matrix:
        """The one copy of a sparse matrix."""
        found = sp.csr_matrix(one, dtype=np.float64)
        found.sum_duplicates()
        found.sort_indices()
        digest = hashlib.sha256(repr(found.shape).encode())
        for part in (found.indptr.astype(np.int64), found.indices.astype(np.int64), found.data):
            digest.update(part.tobytes())
        return self.matrices.setdefault(digest.digest(), found)

    def array(self, one: Reals) -> Reals:
        """The one copy of an array."""
        digest = hashlib.sha256(repr(one.shape).encode() + np.ascontiguousarray(one).tobytes()).digest()
        return self.arrays.setdefault(digest, one)

    def identity(self, rows: int) -> Matrix:
        """Rows as they are."""
        return self.matrix(sp.identity(rows, format="csr"))

    def choice(self, index: Ints, rows: int) -> Matrix:
        """The rows that an index names, of so many."""
        entries = (np.ones(len(index)), index, np.arange(len(index) + 1))
        return self.matrix(sp.csr_matrix(entries, (len(index), rows)))

    def node(self, key: tuple[Any, ...], make: Any, alive: Any) -> Node:
        """The node of a key, made where it is not there yet."""
        if key not in self.kept:
            self.kept[key] = (make(), alive)
        return self.kept[key][0]

    def of_node(self, node: Node, shape: tuple[int, ...] | None = None) -> Affine:
        """A node as a tensor."""
        return Affine(node.place, node.rows, shape or (node.columns,), (Term(node),), node=node)

    def corner(self, one: Affine, first: tuple[int, int], shape: tuple[int, int]) -> Affine:
        """So many rows and columns of a tensor, from a first row and column on."""
        rows, columns = (np.arange(at, at + count) for at, count in zip(first, shape, strict=True))
        # A part of what is given belongs to no module.
        found = one if len(rows) == one.rows else self.left(one, self.choice(rows, one.rows), "")
        return self.right(found, np.eye(one.columns)[:, columns], shape[1:], one.place)

    def made(self, one: Affine) -> Node:
        """The node of a tensor."""
        if one.node is None:
            one.node = self._built(one.terms, one.bias, (one.rows, one.columns), one.place)
        return one.node

    def left(self, one: Affine, matrix: Matrix, place: str) -> Affine:
        """A sparse matrix times a tensor."""
        self._sum_once(one)
        if one.node is None and one.bias is not None and not np.allclose(np.asarray(matrix.sum(axis=1)), 1.0):
            if one.origin is not None:  # the numbers are made for the rows that are chosen from, which are fewer
                base, choice = one.origin
                return self.left(self.left(self.of_node(self.made(base), one.shape), choice, place), matrix, place)
            self.made(one)
        if one.node is not None:
            one = self.of_node(one.node, one.shape)
        terms = tuple(
            replace(term, chain=self._times(matrix, term.chain), place=term.place or place) for term in one.terms
        )
        return Affine(place, matrix.shape[0], one.shape, terms, one.bias)

    def _sum_once(self, one: Affine) -> None:
        """Make the numbers of a sum of values as they are, as skips give it, before each of these is multiplied."""
        if one.node is None and sum(not term.chain and term.matrix is None for term in one.terms) > 1:
            self.made(one)

    def _times(self, matrix: Matrix, chain: tuple[Matrix, ...]) -> tuple[Matrix, ...]:
        """A matrix in front of others, multiplied with the first where that has no more entries than either."""
        if not chain:
            return (matrix,)
        first = chain[0]
        entries = int(np.diff(first.indptr)[matrix.indices].sum())
        if entries > max(matrix.nnz, first.nnz):
            return (matrix, *chain)
        return (self.matrix(matrix @ first), *chain[1:])

    def right(self, one: Affine, matrix: Reals, shape: tuple[int, ...], place: str, trained: bool = False) -> Affine:
        """A tensor times a matrix of its columns, or a diagonal."""
        if trained:
            self._sum_once(one)
        if one.node is not None or (trained and any(term.trained for term in one.terms)):
            one = self.of_node(self.made(one), one.shape)
        terms = tuple(
            replace(term, matrix=self.array(_product(term.matrix, matrix)), trained=term.trained or trained,
                    place=place if trained else term.place)
            for term in one.terms
        )
        bias = None if one.bias is None else _product(one.bias[None], matrix)[0]
        return Affine(place, one.rows, shape, terms, bias)

    def scaled(self, one: Affine, factor: float, place: str) -> Affine:
        """A tensor times a number."""
        if one.node is not None:
            one = self.of_node(one.node, one.shape)
        terms = tuple(replace(term, scale=term.scale * factor) for term in one.terms)
        return Affine(place, one.rows, one.shape, terms, None if one.bias is None else one.bias * factor)

    def added(self, tensors: Sequence[Affine], place: str) -> Affine:
        """The sum of tensors of one shape."""
        first = tensors[0]
        each = [self.of_node(one.node, one.shape) if one.node is not None else one for one in tensors]
        bias = [one.bias for one in each if one.bias is not None]
        terms = tuple(term for one in each for term in one.terms)
        return Affine(place, first.rows, first.shape, terms, np.sum(bias, axis=0) if bias else None)

    def shifted(self, one: Affine, bias: Reals, place: str) -> Affine:
        """A tensor plus a number for each column."""
        given = self.of_node(one.node, one.shape) if one.node is not None else one
        return Affine(place, one.rows, one.shape, given.terms, bias if given.bias is None else given.bias + bias)

    def stacked(self, nodes: Sequence[Node], reduce: Any, place: str) -> Node:
        """The sum, or the largest, of values of one shape, number by number."""
        own = self.identity(nodes[0].rows)
        matrix = self.matrix(sp.hstack([own] * len(nodes)))
        return Spread(place, nodes[0].rows, nodes[0].columns, given=tuple(nodes), matrix=matrix, reduce=reduce)

    # nodes of terms

    def _built(self, terms: Iterable[Term], bias: Reals | None, shape: tuple[int, int], place: str) -> Node:
        """The node of a sum of terms."""
        terms = list(terms)
        place = next((term.place for term in terms if term.place), place)
        terms = [self._widened(term, place) for term in self._summed(terms, shape[0], place)]
        parts: list[tuple[Node, Matrix]] = []
        for chain, inner in _by_first(term for term in terms if term.chain):
            rows = chain.shape[1]
            own = inner[0].scale
            alike = all(term.scale == own for term in inner)
            stripped = [replace(term, chain=term.chain[1:], scale=1.0 if alike else term.scale) for term in inner]
            node = self._built(stripped, None, (rows, shape[1]), place)
            parts.append((node, chain * own if alike else chain))
        plain = [term for term in terms if not term.chain]
        merged = [term for term in plain if term.matrix is not None]
        parts += [(term.node, self.identity(shape[0]) * term.scale) for term in plain if term.matrix is None]
        if merged and not parts:
            return self._merge(merged, bias, shape, place)
        if len(merged) == 1:
            one = self._merge([replace(merged[0], scale=1.0)], None, shape, place)
            parts.append((one, self.identity(shape[0]) * merged[0].scale))
        elif merged:
            parts.append((self._merge(merged, None, shape, place), self.identity(shape[0])))
        return self._spread(parts, bias, shape, place)

    def _summed(self, terms: list[Term], rows: int, place: str) -> list[Term]:
        """Terms of equal weights as one, whose value is their sum, where its product and that sum together take fewer
        multiplications than a product of each value."""
        weights = terms[0].matrix
        if len(terms) < 2 or weights is None or weights.ndim == 1:
            return terms
        if any(term.matrix is not weights or isinstance(term.node, Input) for term in terms):
            return terms
        (width, columns), values = weights.shape, {id(term.node): term.node.rows for term in terms}
        entries = sum(one.nnz for term in terms for one in term.chain) + sum(rows for term in terms if not term.chain)
        apart = sum(values.values()) * width * columns + entries * columns
        if rows * width * columns + entries * width >= apart:
            return terms
        total = self._built([replace(term, matrix=None) for term in terms], None, (rows, width), place)
        return [Term(total, (), weights, trained=True)]

    def _widened(self, term: Term, place: str) -> Term:
        """The same term with its sparse matrices worked first, where that takes fewer products."""
        matrix = term.matrix
        if not term.chain or matrix is None or matrix.ndim == 1 or matrix.shape[1] <= matrix.shape[0]:
            return term
        if term.chain[0].shape[0] > term.node.rows or (isinstance(term.node, Input) and _is_part(term.chain)):
            return term
        node = term.node
        for one in reversed(term.chain):
            node = self._spread([(node, one)], None, (one.shape[0], node.columns), place)
        return Term(node, (), matrix, term.scale, term.trained)

    def _merge(self, terms: Sequence[Term], bias: Reals | None, shape: tuple[int, int], place: str) -> Node:
        """Products of rows with weights, added."""
        weights: dict[int, Reals] = {}
        nodes: dict[int, Node] = {}
        for term in terms:
            assert term.matrix is not None
            dense = term.scale * (np.diag(term.matrix) if term.matrix.ndim == 1 else term.matrix)
            weights[id(term.node)] = weights[id(term.node)] + dense if id(term.node) in weights else dense
            nodes[id(term.node)] = term.node
        key = ("merge", *((id(term.node), id(term.matrix), term.scale) for term in terms), _key(bias))
        make = lambda: Merge(place, *shape, bias, None, tuple(nodes.values()), tuple(weights.values()))  # noqa: E731
        return self.node(key, make, terms)

    def _spread(
        self, parts: Sequence[tuple[Node, Matrix]], bias: Reals | None, shape: tuple[int, int], place: str
    ) -> Node:
        """Sparse matrices times values, added."""
        whole: dict[int, Matrix] = {}
        nodes: dict[int, Node] = {}
        for node, matrix in parts:
            whole[id(node)] = whole[id(node)] + matrix if id(node) in whole else matrix
            nodes[id(node)] = node
        matrix = self.matrix(sp.hstack(list(whole.values()), format="csr"))
        given = tuple(nodes.values())
        found = Spread(place, *shape, bias, None, given, matrix)
        if bias is None and found.is_copy:
            return given[0]
        key = ("spread", tuple(nodes), id(matrix), _key(bias))
        return self.node(key, lambda: found, (given, matrix))


def _is_part(chain: tuple[Matrix, ...]) -> bool:
    """Whether rows are chosen alone, none twice: a product in front of it reads stored numbers, few of each row."""
    (first, *others) = chain
    return (not others and first.nnz == first.shape[0] == len(np.unique(first.indices))
            and bool((first.data == 1).all()))  # fmt: skip


def _key(bias: Reals | None) -> bytes:
    return b"" if bias is None else bias.tobytes()


def _by_first(terms: Iterable[Term]) -> list[tuple[Matrix, list[Term]]]:
    """Terms by the first matrix of their chains."""
    found: dict[int, tuple[Matrix, list[Term]]] = {}
    for term in terms:
        found.setdefault(id(term.chain[0]), (term.chain[0], []))[1].append(term)
    return list(found.values())


def _product(before: Reals | None, matrix: Reals) -> Reals:
    """The product of two matrices of columns, either of which may be a diagonal."""
    if before is None:
        return matrix
    if before.ndim == 1 and matrix.ndim == 1:
        return before * matrix
    if before.ndim == 1:
        return before[:, None] * matrix
    return before * matrix if matrix.ndim == 1 else before @ matrix
