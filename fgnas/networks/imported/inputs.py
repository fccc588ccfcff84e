"""A model's arguments, and what of them is the input of its network: one matrix of features, of nodes and of edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from torch import Tensor

from fgnas.networks.imported.expressions import Affine, Workshop
from fgnas.networks.imported.nodes import Input, Matrix, Merge, Node, ordered


class Part(NamedTuple):
    """Columns of an input: the features of nodes or of edges as they are, or one of them as categories.

    Attributes:
        edges: whether they are those of edges.
        column: the feature that names a category, which becomes a column of ones; -1 for all as they are.
        categories: how many.
    """

    edges: bool = False
    column: int = -1
    categories: int = 0


PLAIN = Part()
"""The features of nodes as they are: all that most models read."""


@dataclass(frozen=True, eq=False)
class Given:
    """Arguments for a model's `forward`; it gets those that its signature has.

    Attributes:
        x: [N, F]. edge_index: [2, E]. edge_weight: [E], or None. batch: [N] the graph of each node, or None.
        edge_features: [E, A], or None.
    """

    x: Tensor
    edge_index: Tensor
    edge_weight: Tensor | None = None
    batch: Tensor | None = None
    edge_features: Tensor | None = None

    @property
    def by_name(self) -> dict[str, Tensor | None]:
        """The arguments by the names that models use; weights of edges may be their only features."""
        edge_attr = self.edge_weight if self.edge_features is None else self.edge_features
        return {"x": self.x, "edge_index": self.edge_index, "edge_weight": self.edge_weight, "edge_attr": edge_attr,
                "batch": self.batch}  # fmt: skip

    @property
    def integral(self) -> bool:
        """Whether all features are integers."""
        return all(bool((one == one.round()).all()) for one in (self.x, self.edge_features) if one is not None)

    def in_integers(self) -> Given:
        """With features in integers, as models read them that embed categories."""
        edges = None if self.edge_features is None else self.edge_features.long()
        return replace(self, x=self.x.long(), edge_features=edges)

    def matrix(self, parts: Sequence[Part]) -> Matrix:
        """[rows, columns] parts side by side; rows of edges stand below those of nodes, in columns of their own."""
        halves = ([self.of(one) for one in parts if one.edges == edges] for edges in (False, True))
        return sp.block_diag([sp.hstack(half) for half in halves if half], format="csr")

    def of(self, part: Part) -> Matrix:
        """[rows, columns] a part alone."""
        whole = self._whole(part).double().numpy()
        if part.column < 0:
            return sp.csr_matrix(whole)
        named = whole[:, part.column].astype(np.int64)
        return sp.csr_matrix((np.ones(len(named)), named, np.arange(len(named) + 1)), (len(named), part.categories))

    def shape(self, part: Part) -> tuple[int, int]:
        """Rows and columns of a part."""
        rows, columns = self._whole(part).shape
        return rows, columns if part.column < 0 else part.categories

    def _whole(self, part: Part) -> Tensor:
        found = self.edge_features if part.edges else self.x
        assert found is not None
        return found


class Inputs:
    """The inputs that a model's run reads: each an input of its own, or, of `parts` that are known, one for all.

    Attributes:
        found: the tensor of each part.
    """

    def __init__(self, workshop: Workshop, given: Given, parts: Sequence[Part] = ()) -> None:
        self.workshop, self.given = workshop, given
        self.found: dict[Part, Affine] = {}
        shapes = [given.shape(one) for one in parts]
        rows = {one.edges: shape[0] for one, shape in zip(parts, shapes, strict=True)}
        whole = Input("the features", sum(rows.values()), sum(shape[1] for shape in shapes))
        column = 0
        for part, shape in zip(parts, shapes, strict=True):
            first = rows[False] if part.edges else 0
            self.found[part] = workshop.corner(workshop.of_node(whole), (first, column), shape)
            column += shape[1]

    def of(self, part: Part) -> Affine:
        """The tensor of a part."""
        if part not in self.found:
            self.found[part] = self.workshop.of_node(Input("the features", *self.given.shape(part)))
        return self.found[part]

    def categories(self, one: Affine, count: int) -> Affine | None:
        """[rows, count] a one where a column of the features names a category; None where it is no such column."""
        for edges in (False, True):
            plain = self.found.get(Part(edges))
            for column in range(0 if plain is None or one.columns > 1 else plain.columns):
                assert plain is not None
                wanted = self.workshop.right(plain, np.eye(plain.columns)[:, [column]], (), plain.place)
                if _alike(one, wanted) or (plain.columns == 1 and _alike(one, plain)):
                    return self.of(Part(edges, column, count))
        return None

    def read(self, last: Node) -> tuple[Part, ...]:
        """The parts that a value depends on where they are not the features of nodes alone."""
        nodes = {id(node) for node in ordered(last)}
        read = {part for part, one in self.found.items() if one.node is not None and id(one.node) in nodes}
        whole = sorted(read | {Part(part.edges) for part in read} | {PLAIN})
        return tuple(whole) if whole != [PLAIN] else ()


def _alike(one: Affine, other: Affine) -> bool:
    """Whether two tensors are the same single term."""
    if len(one.terms) != 1 or one.bias is not None:
        return False
    (a,), (b,) = one.terms, other.terms
    same = a.node is b.node and a.scale == b.scale == 1.0 and [*map(id, a.chain)] == [*map(id, b.chain)]
    if a.matrix is None or b.matrix is None:
        return same and a.matrix is b.matrix
    return same and np.array_equal(a.matrix, b.matrix)


def without_unread(features: Matrix, nodes: Sequence[Node]) -> Matrix:
    """The features without the numbers that meet no weight."""
    used = np.zeros(features.shape[1], bool)
    for node in nodes:
        for place, one in enumerate(node.inputs):
            if isinstance(one, Input):
                used |= (node.weights[place] != 0).any(axis=1) if isinstance(node, Merge) else True
    found = (features @ sp.diags(used.astype(np.float64))).tocsr()
    found.eliminate_zeros()
    return found
