"""Networks of operations on the array: every operation is a half, and values between halves are in main memory.

Each operation is the array's one: rows of entries times a table. In a product the rows are values and the table is W;
with a sparse matrix the rows are the matrix's own, and the table contains the values, one below the other. So any later
operation can read a value, however often: skips, concatenations and sums of values need no hardware.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware import wire
from fgnas.hardware.array.dealing import Ints
from fgnas.hardware.array.engine import HEADS, LANES, Softmax
from fgnas.hardware.array.entries import NOTHING
from fgnas.hardware.array.halves import Half, Heads, Made, Rows, lanes_of_scores
from fgnas.hardware.array.imported import ImportedArrays
from fgnas.hardware.array.layers import Described
from fgnas.hardware.array.lowering import Scored, softmax_for
from fgnas.hardware.array.programme import NARROW_BITS, Activation
from fgnas.hardware.integer.apply import Apply
from fgnas.hardware.integer.attend import Attend
from fgnas.hardware.integer.edges import EdgeProducts, Fivefold
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.merge import Merge
from fgnas.hardware.integer.network import FEATURES, IntegerNetwork, Step
from fgnas.hardware.integer.operation import dense
from fgnas.hardware.integer.rules import Rules
from fgnas.hardware.integer.spread import Spread
from fgnas.hardware.numbers import ceil_div, ceil_log2
from fgnas.hardware.shape import GraphShape


class Formats(NamedTuple):
    """The formats of a product: of its weights and of its results."""

    weight_format: FixedPoint
    value_format: FixedPoint


@dataclass(frozen=True, eq=False)
class OperationNetwork:
    """A network of operations with the graphs that they work on.

    Attributes:
        name, dataset: of the network, and of its data.
        design: the description that replaces a design.
        integers, graphs: the operations, whose results are right.
        edges: of the data.
        places: the module that each step belongs to, by the step's name.
        rules: of the matrices of its sums, in order, where a graph's neighbourhoods determine them all.
    """

    name: str
    dataset: str
    design: Described
    integers: IntegerNetwork
    graphs: tuple[IntegerGraph, ...]
    edges: int
    places: dict[str, str] = field(default_factory=dict)
    rules: Rules | None = None
    runs: ClassVar[str] = ImportedArrays.name

    @property
    def shape(self) -> GraphShape:
        """The shape of the data: nothing in the engine depends on it."""
        degree = max((int(graph.degrees.max(initial=1)) for graph in self.graphs), default=1)
        return GraphShape(self.integers.width_in, self.integers.output.columns, self.graphs[0].nodes, degree)

    @property
    def input_scale(self) -> int:
        """0: the features' format says all."""
        return 0

    @property
    def logit_format(self) -> FixedPoint:
        """Format of the results."""
        return self.integers.output.number

    @property
    def layers(self) -> list[Formats]:
        """The formats of every product with weights."""
        pairs = zip(self.integers.steps, self.integers.steps[1:], strict=False)
        return [
            Formats(number, after.operation.output)
            for step, after in pairs if isinstance(step.operation, Merge) and isinstance(after.operation, Apply)
            for number in step.operation.numbers
        ]  # fmt: skip

    @functools.cached_property
    def bits(self) -> int:
        """Bits of the widest number in a memory, but for results that leave."""
        steps = self.integers.steps
        applied = [one.operation for one in steps[:-1] if isinstance(one.operation, Apply)]
        values = [number.width for one in applied for number in (one.output, one.argument)]
        merges = [one.operation for one in steps if isinstance(one.operation, Merge)]
        weights = [number.width for one in merges for number in one.numbers]
        scored = [one.inputs[0] for one in steps if isinstance(one.operation, Fivefold)]
        scores = [1 + self.integers.values[name].number.width for name in scored]
        return max([self.integers.number.width, *values, *weights, *scores])

    @functools.cached_property
    def sum_bits(self) -> int:
        """Bits of a lane's sum that no row overflows."""
        return max(self._sum_bits(step) for step in self.integers.steps)

    def _sum_bits(self, step: Step) -> int:
        one, given = step.operation, [self.integers.values[name] for name in step.inputs]
        widths, graph = [value.number.width for value in given], self.graphs[step.graph]
        if isinstance(one, Merge):
            depth = sum(value.columns for value in given)
            return max(widths) + max(number.width for number in one.numbers) + int(ceil_log2(depth))
        longest = max(1, int(graph.degrees.max(initial=1)))
        if isinstance(one, Spread):
            return max(widths) + NARROW_BITS + int(ceil_log2(longest))
        if isinstance(one, EdgeProducts):
            return sum(widths) + int(ceil_log2(given[0].columns))
        return wire.COEFFICIENT_BITS + widths[0] + int(ceil_log2(longest)) if isinstance(one, Attend) else 2

    @functools.cached_property
    def softmax(self) -> Softmax | None:
        """The smallest softmax that runs its attentions."""
        scored, degree = [], 1
        for step in self.integers.steps:
            if isinstance(step.operation, Attend):
                fraction = self.integers.values[step.inputs[1]].number.fraction_bits
                scored.append(Scored(fraction, len(step.operation.table), False, False, False))
                degree = max(degree, int(self.graphs[step.graph].degrees.max(initial=1)))
        return softmax_for(scored, int(ceil_log2(degree)))


def halves_of_operations(source: OperationNetwork) -> tuple[Half, ...]:
    """The halves of a network of operations, in order."""
    builder = _Halves(source)
    steps = source.integers.steps
    for place, step in enumerate(steps):
        if not isinstance(step.operation, Apply | Fivefold):
            builder.step(step, steps[place + 1], place + 2 == len(steps))
    return tuple(builder.halves)


class _Halves:
    """Builds the halves, operation by operation.

    Attributes:
        made: the halves whose results side by side are a value, by its name.
    """

    def __init__(self, source: OperationNetwork) -> None:
        self.source = source
        self.halves: list[Half] = []
        self.made: dict[str, list[int]] = {}
        self.features = source.graphs[0].features

    def step(self, step: Step, after: Step, last: bool) -> None:
        """The halves of an operation and of the bias and function behind it."""
        assert isinstance(after.operation, Apply)
        kinds = {Merge: self._merge, Spread: self._spread, EdgeProducts: self._products, Attend: self._attend}
        first = len(self.halves)
        named = self.source.places.get(step.name, "")
        shared = self._finish(step, after.operation, last)
        kinds[type(step.operation)](step, shared, f"{len(self.made) + 1}" + f" {named}" * bool(named))
        self.made[after.name] = list(range(first, len(self.halves)))

    def _finish(self, step: Step, behind: Apply, last: bool) -> dict[str, Any]:
        """Fields of the half that finishes an operation's sums: shift, bias, activation, width of the result."""
        activation = Activation.NONE
        if behind.table is not None:
            plain = behind.function == "relu" and behind.output == behind.argument
            activation = Activation.RELU if plain else Activation.TABLE
        number = behind.output if behind.table is None else behind.argument
        return {
            "layer": step.layer, "last": last, "shift": getattr(step.operation, "shift", 0), "bits": number.width,
            "bias": behind.bias if behind.bias.any() else None, "bias_fine": behind.bias_shift > 0,
            "activation": activation,
            "activation_table": behind.table if activation is Activation.TABLE else None,
        }  # fmt: skip

    def value(self, name: str) -> Made:
        """[rows, columns] a value by its name, from the results of halves."""
        if name == FEATURES:
            features = dense(self.features)
            return lambda results: features
        places = self.made[name]
        if len(places) == 1:
            return lambda results: results[places[0]]
        return lambda results: np.concatenate([results[place] for place in places], axis=1)

    def rows_of(self, name: str) -> int:
        """Rows of a value."""
        return int(self.features.shape[0]) if name == FEATURES else self.halves[self.made[name][0]].rows.count

    def _merge(self, step: Step, shared: dict[str, Any], name: str) -> None:
        """Rows of values side by side times weights."""
        operation = step.operation
        assert isinstance(operation, Merge)
        table = np.concatenate(operation.weights)
        rows, value = self._side_by_side(step.inputs, [len(one) for one in operation.weights])
        self.halves.append(Half(
            name=f"combine {name}", aggregates=False, rows=rows, value=value, table=table, depth=len(table),
            columns=table.shape[1], multiplications=len(rows.index) * table.shape[1], **shared,
        ))  # fmt: skip

    def _side_by_side(self, names: Sequence[str], widths: Sequence[int]) -> tuple[Rows, Codes | Made]:
        """Rows of values side by side; of features only the numbers that are stored."""
        firsts = np.cumsum([0, *widths])
        x = self.features
        if list(names) == [FEATURES]:
            return Rows(x.indptr.astype(np.int64), x.indices.astype(np.int64)), x.data.astype(np.int64)
        others = [place for place, name in enumerate(names) if name != FEATURES]
        values = [self.value(names[place]) for place in others]
        columns = np.concatenate([np.arange(firsts[place], firsts[place + 1]) for place in others])
        if len(others) == len(names):
            rows = Rows.dense(self.rows_of(names[0]), columns)
            return rows, lambda results: np.concatenate([one(results) for one in values], axis=1).ravel()
        count, own = x.shape[0], firsts[list(names).index(FEATURES)]
        indptr = x.indptr.astype(np.int64) + np.arange(count + 1) * len(columns)
        behind = indptr[1:, None] - len(columns) + np.arange(len(columns))
        stored = np.ones(indptr[-1], bool)
        stored[behind] = False
        index = np.empty(indptr[-1], np.int64)
        index[stored], index[behind] = own + x.indices, columns

        def value(results: Sequence[Codes]) -> Codes:
            found = np.empty(len(index), np.int64)
            found[stored] = x.data
            found[behind] = np.concatenate([one(results) for one in values], axis=1)
            return found

        return Rows(indptr, index), value

    def _spread(self, step: Step, shared: dict[str, Any], name: str) -> None:
        """A sparse matrix times values, one below the other."""
        operation, graph = step.operation, self.source.graphs[step.graph]
        assert isinstance(operation, Spread)
        values = [self.value(one) for one in step.inputs]
        columns = self.source.integers.values[step.name].columns
        weighted = bool((graph.gcn != 1).any())
        self.halves.append(Half(
            name=f"{'aggregate' if operation.reduce == 'add' else 'maximum'} {name}", aggregates=True,
            rows=Rows(graph.indptr, graph.sources), value=graph.gcn,
            table=lambda results: np.concatenate([one(results) for one in values]),
            depth=sum(map(self.rows_of, step.inputs)), columns=columns, maximum=operation.reduce == "max",
            multiplications=len(graph.sources) * columns * weighted, **shared,
        ))  # fmt: skip

    def _products(self, step: Step, shared: dict[str, Any], name: str) -> None:
        """Scores of edges, head by head: the keys' numbers times the queries', of which each is a row of the table."""
        operation, graph = step.operation, self.source.graphs[step.graph]
        assert isinstance(operation, EdgeProducts)
        query, key = (self.value(one) for one in step.inputs)
        d = self.source.integers.values[step.inputs[0]].columns // operation.heads
        targets, sources = graph.sources[::2], graph.sources[1::2]
        rows = Rows(np.arange(len(targets) + 1) * d, (targets[:, None] * d + np.arange(d)).ravel())
        for head in range(operation.heads):
            here = slice(head * d, (head + 1) * d)
            bias = shared["bias"]
            self.halves.append(Half(
                name=f"score {name}" + f", head {head + 1}" * (operation.heads > 1), aggregates=True, rows=rows,
                value=_ends_of(key, here, sources), table=_numbers_of(query, here),
                depth=self.rows_of(step.inputs[0]) * d, columns=1, multiplications=len(targets) * d, of="edges",
                **shared | {"bias": None if bias is None else bias[head : head + 1]},
            ))  # fmt: skip

    def _attend(self, step: Step, shared: dict[str, Any], name: str) -> None:
        """Messages weighted by scores: the table has a row for each edge."""
        graph, scored = self.source.graphs[step.graph], self._scores_of(step.inputs[1])
        value, scores = self.value(step.inputs[0]), self.value(scored)
        number, columns = self.source.integers.values[scored].number, self.source.integers.values[step.name].columns
        heads, edges = self.source.integers.values[scored].columns, len(graph.sources)
        source, node = lanes_of_scores(heads)

        def words(results: Sequence[Codes]) -> Codes:
            found = np.zeros((edges, LANES * int(ceil_div(heads, HEADS))), np.int64)
            found[:, node] = 1 << (number.width - 1)  # the score of a row's node: no sum of both is negative
            found[:, source] = scores(results)
            return found

        d = columns // heads
        own = Heads(heads, d, d, words, number.width + 1, number.fraction_bits, False, NOTHING)
        self.halves.append(Half(
            name=f"attend {name}", aggregates=True, rows=Rows(graph.indptr, np.arange(edges)),
            value=np.ones(edges, np.int64), table=lambda results: value(results)[graph.sources], depth=edges,
            columns=columns, multiplications=edges * columns, heads=own, **shared,
        ))  # fmt: skip

    def _scores_of(self, name: str) -> str:
        """The scores behind five times them."""
        return next(step.inputs[0] for step in self.source.integers.steps if step.name == name)


def _ends_of(value: Made, columns: slice, rows: Ints) -> Made:
    """Some columns of the rows that edges name, one number behind the other."""
    return lambda results: value(results)[rows][:, columns].ravel()


def _numbers_of(value: Made, columns: slice) -> Made:
    """Some columns of all rows, a number in each row of the table."""
    return lambda results: value(results)[:, columns].reshape(-1, 1)
