"""The halves of a network's layers, each the array's one operation: rows of entries times a table.

The rows are those of X or of the graph, or dense ones whose values are results of earlier halves; the table is W, or
also results. The parts of scores are computed by halves of their own: products of the features of every node, or of
every edge, with the vectors of an attention. So the half that weights messages by scores reads finished scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fgnas.errors import UserError
from fgnas.fixedpoint import Codes
from fgnas.hardware import wire
from fgnas.hardware.array.cycles import RETURN, product_name
from fgnas.hardware.array.dealing import Ints
from fgnas.hardware.array.encoding import encode_graphs
from fgnas.hardware.array.engine import HEADS, LANES
from fgnas.hardware.array.entries import NOTHING, REPEATED, coefficients, self_first
from fgnas.hardware.array.layers import ArrayLayer, ArrayNetwork
from fgnas.hardware.array.lowering import (
    check_counts,
)
from fgnas.hardware.array.programme import Activation
from fgnas.hardware.integer.graph import AnyGraph, IntegerGraph
from fgnas.hardware.integer.scores.pair import PairScores
from fgnas.hardware.numbers import ceil_div
from fgnas.tasks.nodes import GraphData

Made = Callable[[Sequence[Codes]], Codes]
"""A function of the results of all earlier halves, [rows, columns] each."""
Bools = np.typing.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of entries.

    Attributes:
        indptr: [rows + 1] where rows begin in the entries.
        index: [entries] the row of the table that each names.
    """

    indptr: Ints
    index: Ints

    @property
    def count(self) -> int:
        """How many they are."""
        return len(self.indptr) - 1

    @classmethod
    def dense(cls, rows: int, names: Ints) -> Rows:
        """So many rows that all name the same rows of the table."""
        return cls(np.arange(rows + 1) * len(names), np.tile(names, rows))


@dataclass(frozen=True, eq=False)
class Heads:
    """Heads whose messages are weighted by scores; with s and r, those of a row's node and of a source, as in
    `fgnas.hardware.array.reference.Machine`.

    Attributes:
        count: k. features: of each. pitch: columns of the table from a head to the next.
        scores: [depth, words * LANES] of each row of the table, in words of HEADS heads: r, then s.
        bits: width of a score. fraction_bits: of it.
        symmetric: whether a score adds that of the edge the other way round.
        again: the value of an entry that a row has already.
    """

    count: int
    features: int
    pitch: int
    scores: Codes | Made
    bits: int
    fraction_bits: int
    symmetric: bool
    again: int

    @property
    def words(self) -> int:
        """Words of a head."""
        return int(ceil_div(self.features, LANES))


@dataclass(frozen=True, eq=False)
class Half:
    """One half of a layer, or a step of its scores: rows of entries times a table, and how their sums are finished.

    Attributes:
        name: its work, and the layer of the design.
        layer: its layer among those of the accelerator.
        aggregates: whether its rows are those of the graph.
        rows: the rows of entries.
        value: [entries] factors. table: [depth, columns] codes. Either is a function of the results of earlier halves
            if it depends on them.
        depth, columns: of the table.
        shift: right shift behind the sums.
        bits: width that results saturate to.
        multiplications: those that the network needs.
        maximum: whether rows are reduced by their maximum.
        bias: [columns] codes, or None; bias_fine: whether they have fewer fraction bits than the results.
        activation: the function behind the bias; activation_table: [2**bits] codes, or None.
        met: [depth, columns] the only numbers of the table that can be other than 0; None: all.
        heads: those whose messages are weighted by scores; None without.
        of: "edges" if its rows belong to edges, else "rows".
        last: whether its results are logits.
    """

    name: str
    layer: int
    aggregates: bool
    rows: Rows
    value: Codes | Made
    table: Codes | Made
    depth: int
    columns: int
    shift: int
    bits: int
    multiplications: int
    maximum: bool = False
    bias: Codes | None = None
    bias_fine: bool = False
    activation: Activation = Activation.NONE
    activation_table: Codes | None = None
    met: Bools | None = None
    heads: Heads | None = None
    of: str = "rows"
    last: bool = False

    @property
    def words(self) -> int:
        """Words of a row of the table, without scores."""
        return self.heads.count * self.heads.words if self.heads else int(ceil_div(self.columns, LANES))

    def after(self, results: Sequence[Codes]) -> Half:
        """The half with what is made of the results of those before it."""
        heads = self.heads and replace(self.heads, scores=_known(self.heads.scores, results))
        return replace(self, value=_known(self.value, results), table=_known(self.table, results), heads=heads)


def _known(given: Codes | Made, results: Sequence[Codes]) -> Codes:
    return given if isinstance(given, np.ndarray) else given(results)


def halves_of(source: ArrayNetwork, data: GraphData, further: Sequence[GraphData] = ()) -> tuple[Half, ...]:
    """The halves of all layers of a network; `further` as in `encode_array`.

    Raises UserError where one does not leave as rows of results.
    """
    check_counts(source)
    given, graphs = encode_graphs(source, data, further)
    found = _Halves(source, data.nodes)
    for layer, rows, graph in zip(source.layers, given, graphs, strict=True):
        if rows.nodes != data.nodes:
            raise UserError("a readout has other rows than the layer before it: it needs buffer re-purposing on")
        found.layer(layer, rows, graph, graphs[0])
    return tuple(found.halves)


class _Halves:
    """Builds the halves, layer by layer."""

    def __init__(self, source: ArrayNetwork, nodes: int) -> None:
        self.source, self.nodes = source, nodes
        self.halves: list[Half] = []
        self.inputs = np.zeros(0, np.int64)

    def _add(self, half: Half) -> int:
        """Add a half; returns the place of its results."""
        self.halves.append(half)
        return len(self.halves) - 1

    def layer(self, layer: ArrayLayer, rows: AnyGraph, graph: IntegerGraph, first: IntegerGraph) -> None:
        """The halves of a layer."""
        h = self._add(self._combination(layer, first))
        if layer.scoring is None:
            self._add(self._aggregation(layer, rows, graph, h))
        elif layer.dot:
            self._add(self._messages_of_edges(layer, rows, graph, h))
        else:
            self._add(self._messages_of_nodes(layer, rows, graph, h))
        # A row has places that are no features where the lanes of a pipeline ask for them.
        self.inputs = features_of(layer).ravel()

    def _combination(self, layer: ArrayLayer, graph: IntegerGraph) -> Half:
        """X W or Z W; of heads that are averaged one behind the other, as the aggregation reads them."""
        g, heads, x, before = layer, layer.averaged, graph.features, len(self.halves) - 1
        value: Codes | Made
        if g.first:
            rows = Rows(x.indptr.astype(np.int64), x.indices.astype(np.int64))
            value = x.data.astype(np.int64)
        else:
            inputs = self.inputs
            rows = Rows.dense(self.nodes, inputs)
            value = lambda results: results[before][:, inputs].ravel()  # noqa: E731
        weight = layer.combine.weight.reshape(g.input_width, -1, heads).transpose(0, 2, 1).reshape(g.input_width, -1)
        work = product_name(layer) if layer.second else "combine"
        needed = 0 if layer.adds_heads else len(rows.index) * g.k * g.d
        return Half(
            name=f"{work} {layer.place}", layer=layer.index, aggregates=False, rows=rows,
            value=value, table=weight, depth=g.input_width, columns=weight.shape[1], shift=layer.linear_shift,
            bits=layer.value_format.width, multiplications=needed,
        )  # fmt: skip

    def _aggregation(self, layer: ArrayLayer, rows: AnyGraph, graph: IntegerGraph, h: int) -> Half:
        """A H, bias and activation; a row has an entry of every averaged head for each edge."""
        g, heads = layer, layer.averaged
        index = (graph.sources[:, None] * heads + np.arange(heads)).ravel()
        columns = g.features // heads
        return Half(
            rows=Rows(heads * graph.indptr, index), value=np.repeat(coefficients(layer, rows, graph), heads),
            table=lambda results: results[h].reshape(-1, columns), depth=heads * self.nodes, columns=columns,
            multiplications=len(index) * columns * bool(g.gcn), **self._finish(layer),
        )  # fmt: skip

    def _finish(self, layer: ArrayLayer) -> dict[str, Any]:
        """Fields of the half that finishes an aggregation's sums: shift, bias, activation, width of the result."""
        g, activation = layer, layer.activation
        fine = layer.value_format.fraction_bits < self.source.logit_format.fraction_bits
        return {
            "name": f"{RETURN if layer.second else 'aggregate'} {layer.place}",
            "layer": layer.index, "last": bool(g.last), "aggregates": True, "shift": layer.aggregate_shift,
            "bits": wire.LOGIT_BITS if g.last else layer.apply.argument.width, "maximum": bool(g.maximum),
            "bias": layer.apply.bias, "bias_fine": bool(g.last and fine), "activation": activation,
            "activation_table": layer.apply.table if activation is Activation.TABLE else None,
        }  # fmt: skip

    def _messages(
        self, layer: ArrayLayer, rows: AnyGraph, graph: IntegerGraph, table: Made, scores: Made, edges: bool
    ) -> Half:
        """Messages weighted by scores; the table has a row for each node, or for each edge."""
        g = layer
        bias = np.zeros(g.features, np.int64)  # that of a last layer has no places that are no features
        bias[: len(layer.apply.bias)] = layer.apply.bias
        heads = Heads(
            g.k, g.d, g.d, scores, layer.value_format.width + edges, layer.score_format.fraction_bits, layer.symmetric,
            REPEATED if g.maximum else NOTHING,
        )  # fmt: skip
        index = np.arange(len(graph.sources)) if edges else self_first(graph, layer.index)
        return Half(
            rows=Rows(graph.indptr, index), value=coefficients(layer, rows, graph), table=table,
            depth=len(graph.sources) if edges else self.nodes, columns=g.d if g.last else g.features,
            multiplications=len(graph.sources) * g.k * g.d, heads=heads, **self._finish(layer) | {"bias": bias},
        )  # fmt: skip

    def _messages_of_nodes(self, layer: ArrayLayer, rows: AnyGraph, graph: IntegerGraph, h: int) -> Half:
        """The scores of nodes, then the messages: dense rows of H times the vectors of both sides."""
        g, features = layer, features_of(layer)
        place = np.arange(g.k * g.d)
        head = place // g.d
        columns = LANES * int(ceil_div(g.k, HEADS))
        table, met = np.zeros((g.k * g.d, columns), np.int64), np.zeros((g.k * g.d, columns), np.bool_)
        for lane in lanes_of_scores(g.k):
            met[place, lane[head]] = True
        for lane, vector in zip(lanes_of_scores(g.k), layer.vectors, strict=False):
            table[place, lane[head]] = vector.ravel()
        step = self._step(layer, "score", Rows.dense(self.nodes, place), features.ravel(), h)
        s = self._add(replace(
            step, table=table, met=met, depth=len(table), columns=columns,
            activation=Activation.NONE if layer.score_table is None else Activation.TABLE,
            activation_table=layer.score_table, multiplications=len(layer.vectors) * self.nodes * g.k * g.d,
        ))  # fmt: skip
        return self._messages(layer, rows, graph, lambda results: results[h], lambda results: results[s], False)

    def _messages_of_edges(self, layer: ArrayLayer, rows: AnyGraph, graph: IntegerGraph, h: int) -> Half:
        """The scores of edges, head by head, then the messages, whose table has a row for each edge.

        A score is that of a source; that of the row's node is the same number for all, which makes no sum negative.
        """
        target = np.repeat(np.arange(graph.nodes), np.diff(graph.indptr))
        both = self_first(graph, layer.index), target
        of_heads = self._of_functions if layer.pair else self._of_products
        places, (source, node) = of_heads(layer, *both, h), lanes_of_scores(layer.k)

        def scores(results: Sequence[Codes]) -> Codes:
            found = np.zeros((len(target), LANES * int(ceil_div(len(source), HEADS))), np.int64)
            found[:, node] = 1 << (layer.value_format.width - 1)
            found[:, source] = np.concatenate([results[place] for place in places], axis=1)
            return found

        return self._messages(layer, rows, graph, lambda results: results[h][both[0]], scores, True)

    def _of_products(self, layer: ArrayLayer, source: Ints, target: Ints, h: int) -> list[int]:
        """cos: H times the vector, number by number; then of every edge its product with the source's H."""
        g, features, vector = layer, features_of(layer), layer.vectors[0]
        place = np.arange(g.k * g.d)
        step = self._step(layer, "query", Rows.dense(self.nodes, place), features.ravel(), h)
        q = self._add(replace(
            step, table=np.diag(vector.ravel()), met=np.eye(g.k * g.d, dtype=np.bool_), depth=g.k * g.d,
            columns=g.k * g.d, shift=layer.query_shift, multiplications=self.nodes * g.k * g.d,
        ))  # fmt: skip
        index = (target[:, None] * g.d + np.arange(g.d)).ravel()
        rows = Rows(np.arange(len(target) + 1) * g.d, index)
        found = []
        for head in range(g.k):
            step = self._step(layer, "score", rows, features[head], h, source)
            found.append(self._add(replace(
                step, name=_of_head(step, head, g.k), table=_columns(q, head * g.d + np.arange(g.d), (-1, 1)),
                depth=self.nodes * g.d, columns=1, shift=layer.dot_shift, multiplications=len(target) * g.d,
            )))  # fmt: skip
        return found

    def _of_functions(self, layer: ArrayLayer, source: Ints, target: Ints, h: int) -> list[int]:
        """gene-linear: of every edge the functions of both nodes' H; then their product with the factors."""
        g, features, scoring = layer, features_of(layer), layer.scoring
        assert isinstance(scoring, PairScores)
        both, numbers = np.tile(np.eye(g.d, dtype=np.bool_), (2, 1)), np.arange(g.d)
        found = []
        for head in range(g.k):
            step = self._step(layer, "pair", Rows.dense(len(target), np.arange(2 * g.d)),
                              features[head], h, source, target)  # fmt: skip
            f = self._add(replace(
                step, name=_of_head(step, head, g.k), met=both,
                table=np.concatenate([np.diag(one[head]) for one in layer.vectors]),
                depth=2 * g.d, columns=g.d, shift=layer.query_shift, activation=Activation.TABLE,
                activation_table=scoring.table, multiplications=2 * self.nodes * g.d,
            ))  # fmt: skip
            step = self._step(layer, "score", Rows.dense(len(target), numbers), numbers, f)
            found.append(self._add(replace(
                step, name=_of_head(step, head, g.k), table=scoring.factor[head][:, None], depth=g.d, columns=1,
                shift=layer.dot_shift, of="edges", multiplications=len(target) * g.d,
            )))  # fmt: skip
        return found

    def _step(
        self, layer: ArrayLayer, work: str, rows: Rows, numbers: Ints, results: int, *nodes: Ints
    ) -> Half:
        """A step of scores: rows whose values are numbers of the rows of results, or of those of nodes, side by side.

        The caller sets the remaining fields; the step shifts as products with weights do.
        """
        value = _columns(results, numbers, (-1,), *nodes)
        return Half(
            name=f"{work} {layer.place}", layer=layer.index, aggregates=True, rows=rows,
            value=value, table=np.zeros((0, 0), np.int64), depth=0, columns=0,
            shift=layer.weight_format.fraction_bits, bits=layer.value_format.width, multiplications=0,
            of="edges" if nodes else "rows",
        )  # fmt: skip


def _of_head(step: Half, head: int, heads: int) -> str:
    """The name of a step that is made for a head alone."""
    return f"{step.name}, head {head + 1}" if heads > 1 else step.name


def _columns(place: int, numbers: Ints, shape: tuple[int, ...], *nodes: Ints) -> Made:
    """Columns of the results at a place; of the rows of nodes, where these are given, side by side."""

    def made(results: Sequence[Codes]) -> Codes:
        found = results[place][:, numbers]
        return np.concatenate([found[one] for one in nodes], axis=1).reshape(shape) if nodes else found.reshape(shape)

    return made


def features_of(layer: ArrayLayer) -> Ints:
    """[k, d] the places of the features of a layer's heads in its rows; [1, places] where a class's heads are side by
    side."""
    g = layer
    if g.last and not g.attends:
        return np.arange(g.features)[None]
    return np.arange(g.k)[:, None] * g.d + np.arange(g.d)


def lanes_of_scores(heads: int) -> tuple[Ints, Ints]:
    """[k] the lanes of the scores of heads as a source, and as a target, in words of HEADS heads."""
    source = np.arange(heads) // HEADS * LANES + np.arange(heads) % HEADS
    return source, source + HEADS


assert LANES == 2 * HEADS, "a word has the scores of HEADS heads, as a source and as a target"
