"""Nodes as an integer network: formats that the user's data choose, codes of weights, and matrices of the graph.

Every value has a power-of-two scale of its own: first that with the smallest squared error on the data, which
`improving` changes as long as the results come closer to those in real numbers. No labels are used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from scipy.stats import rankdata

from fgnas.design import TABLE_BITS
from fgnas.errors import UserError
from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware import wire
from fgnas.hardware.array.programme import NARROW_BITS
from fgnas.hardware.integer import interpreter
from fgnas.hardware.integer.apply import Apply
from fgnas.hardware.integer.attend import Attend as IntegerAttend
from fgnas.hardware.integer.edges import EdgeProducts as IntegerProducts
from fgnas.hardware.integer.edges import Fivefold
from fgnas.hardware.integer.graph import IntegerGraph, rows_alone
from fgnas.hardware.integer.merge import Merge as IntegerMerge
from fgnas.hardware.integer.network import FEATURES, IntegerNetwork, Step
from fgnas.hardware.integer.operation import Operation
from fgnas.hardware.integer.rules import codes_of
from fgnas.hardware.integer.spread import Spread as IntegerSpread
from fgnas.hardware.integer.tables import exponential_table
from fgnas.networks.imported.nodes import (
    Attend,
    EdgeProducts,
    Function,
    Input,
    Ints,
    Matrix,
    Merge,
    Node,
    Reals,
    Spread,
    argument,
    ordered,
    result,
)
from fgnas.tasks.collection import Kind

SCALES = range(-12, 28)
"""Fraction bits that a value may have."""
VALUES_SEEN = 65_536
"""Numbers of a value that choose its scale; a larger value is sampled evenly."""
SCORE_BITS = NARROW_BITS - 1
"""Bits of a score at most: one more makes the sum of both ends' a value of an entry."""
SCORE_FRACTION = wire.COEFFICIENT_FRACTION_BITS + 1
"""Fraction bits of a score at most: a finer step moves no exponential by more than half a step of its own, but makes
the table of exponentials longer, which all layers share."""
HEADROOM = 2
"""Logits that are so many times larger than those of the data saturate."""
TINY = 1e-30
"""A variance that is no less than this one."""
LOST = 2
"""Bits that coefficients may have fewer than an entry holds, so that those of several values meet in a row."""


Bounds = tuple[tuple[int, int], ...]


@dataclass
class Formats:
    """The formats of nodes, by id: of their results, and of what their functions read.

    Attributes:
        biases: [columns] of nodes that get another bias than their own, by id.
        coefficients: of sums, by id: the least and the most fraction bits that those may have which each value meets.
    """

    results: dict[int, FixedPoint] = field(default_factory=dict)
    arguments: dict[int, FixedPoint] = field(default_factory=dict)
    biases: dict[int, Reals] = field(default_factory=dict)
    coefficients: dict[int, Bounds] = field(default_factory=dict)

    def copy(self) -> Formats:
        """Formats that can be changed."""
        return Formats(dict(self.results), dict(self.arguments), dict(self.biases), dict(self.coefficients))

    def bounds(self, node: Spread) -> Bounds:
        """Those of a sum's coefficients; unless they are known from other graphs, those of its own."""
        if id(node) not in self.coefficients:
            self.coefficients[id(node)] = tuple(_coefficient_bits(block) for block in blocks(node))
        return self.coefficients[id(node)]

    def around(self, node: Node) -> tuple[FixedPoint, ...]:
        """The formats that a node's steps depend on: of its results, of what its function reads, of its inputs."""
        return self.results[id(node)], self.arguments[id(node)], *(self.results[id(one)] for one in node.inputs)


@dataclass(frozen=True, eq=False)
class Quantised:
    """An integer network with the graphs that its steps work on; the first has the features."""

    integers: IntegerNetwork
    graphs: tuple[IntegerGraph, ...]

    def logits(self) -> Codes:
        """[rows, columns] its results as codes."""
        return interpreter.run(self.integers, self.graphs)

    def values(self) -> Reals:
        """[rows, columns] its results."""
        return self.integers.output.number.value(self.logits())


@dataclass(frozen=True, eq=False)
class Seen:
    """Nodes in order, and their values on the user's data.

    Attributes:
        nodes: in order. features: [N, F].
        results, arguments: [rows, columns] by id.
    """

    nodes: tuple[Node, ...]
    features: Matrix
    results: dict[int, Reals]
    arguments: dict[int, Reals]

    @classmethod
    def of(cls, last: Node, features: Matrix) -> Seen:
        """Evaluate all nodes that `last` depends on, in order; keep their results and the arguments of functions."""
        nodes, results, arguments = tuple(ordered(last)), dict[int, Reals](), dict[int, Reals]()
        for node in nodes:
            arguments[id(node)] = argument(node, results, features)
            results[id(node)] = result(node, arguments[id(node)])
        return cls(nodes, features, results, arguments)

    @property
    def output(self) -> Reals:
        """[rows, columns] the results of the last one."""
        return self.results[id(self.nodes[-1])]


Bits = int | Mapping[str, int]
"""Bits of every number, or of those that each module makes, by its place: its weights and its results."""


def bits_of(bits: Bits, node: Node) -> int:
    """Bits of a node's numbers."""
    return bits if isinstance(bits, int) else bits[node.place]


InOrder = list[tuple[FixedPoint, FixedPoint, Reals | None, Bounds | None]]
"""The formats of nodes in order: of results, and of what functions read; with the bias [columns] that replaces a node's
own, and those of a sum's coefficients."""


def formats_in_order(nodes: Sequence[Node], formats: Formats) -> InOrder:
    """The formats of nodes in order, for the same network on another graph."""
    return [(formats.results[id(one)], formats.arguments[id(one)], formats.biases.get(id(one)),
             formats.bounds(one) if isinstance(one, Spread) else None)
            for one in nodes if not _is_padding(one)]  # fmt: skip


def formats_for(nodes: Sequence[Node], known: InOrder) -> Formats:
    """The formats of the same network on another graph. Raises UserError where it is not the same network there."""
    own = [one for one in nodes if not _is_padding(one)]
    if len(own) != len(known):
        raise UserError(f"the model has {len(known)} operations on some graphs, and {len(own)} on others: give graphs "
                        f"on which it does the same")  # fmt: skip
    found = Formats()
    for node, (result_format, argument_format, bias, bounds) in zip(own, known, strict=True):
        found.results[id(node)], found.arguments[id(node)] = result_format, argument_format
        if bias is not None:
            found.biases[id(node)] = bias
        if bounds is not None:
            found.coefficients[id(node)] = bounds
    for node in nodes:
        if _is_padding(node):
            found.results[id(node)] = found.arguments[id(node)] = found.results[id(node.inputs[0])]
    settle(nodes, found)
    return found


def _is_padding(node: Node) -> bool:
    """Whether a node adds a row of zeros alone, which some graphs need and others do not."""
    return isinstance(node, Spread) and len(node.given) == 1 and node.rows == node.given[0].rows + 1 and (
        node.plain and node.matrix.nnz == node.given[0].rows
    )


Distance = Callable[[Reals, Reals], float]
"""How far results [rows, columns] are from those that are wanted."""


def of_classes(found: Reals, wanted: Reals) -> float:
    """The mean divergence of the classes that results say, a logit in each column, from those that are wanted."""
    p, q = (one - one.max(axis=1, keepdims=True) for one in (wanted, found))
    p, q = (one - np.log(np.exp(one).sum(axis=1, keepdims=True)) for one in (p, q))
    return float((np.exp(p) * (p - q)).sum(axis=1).mean())


def of_numbers(found: Reals, wanted: Reals) -> float:
    """The mean squared error, each column's relative to what varies in it."""
    return float((((found - wanted) ** 2).mean(axis=0) / (wanted.var(axis=0) + TINY)).mean())


def of_labels(found: Reals, wanted: Reals) -> float:
    """The mean squared difference of ranks, as shares of all, in each column: the area under the ROC curve depends on
    the order of a label's logits alone."""
    ranks = (rankdata(one, axis=0) / len(one) for one in (found, wanted))
    return float(np.square(next(ranks) - next(ranks)).mean())


DISTANCES: Mapping[Kind, Distance] = {"classes": of_classes, "values": of_numbers, "labels": of_labels}
"""How far results are from those that are wanted, by the kind of targets."""


def chosen(values: Reals, bits: int) -> FixedPoint:
    """The format of so many bits with the smallest squared error on these values; of equal ones the coarser."""
    flat = np.asarray(values, np.float64).ravel()
    flat = flat[:: max(1, len(flat) // VALUES_SEEN)]
    errors = [float(((one.value(one.quantise(flat)) - flat) ** 2).sum())
              for one in (FixedPoint(bits, fraction) for fraction in SCALES)]  # fmt: skip
    return FixedPoint(bits, SCALES[int(np.argmin(errors))])


def first_formats(seen: Seen, bits: Bits) -> Formats:
    """The formats with the smallest errors, which fit each other."""
    formats = Formats()
    scores = {id(node.scores) for node in seen.nodes if isinstance(node, Attend)}
    for node in seen.nodes:
        own = bits_of(bits, node)
        width = min(own, SCORE_BITS) if id(node) in scores else own
        number = chosen(seen.results[id(node)], width)
        formats.results[id(node)] = formats.arguments[id(node)] = number
        if needs_table(node.function):
            formats.arguments[id(node)] = chosen(seen.arguments[id(node)], min(own, TABLE_BITS))
    last = seen.nodes[-1]
    if last.function is None:
        formats.results[id(last)] = formats.arguments[id(last)] = logits_of(seen.output, bits_of(bits, last))
    settle(seen.nodes, formats)
    return formats


def logits_of(values: Reals, bits: int) -> FixedPoint:
    """The finest format of biases of so many bits whose logits hold HEADROOM times the largest of these values."""
    largest = HEADROOM * max(float(np.abs(values).max(initial=0.0)), 2.0 ** -SCALES.stop)
    most = int(np.floor(np.log2(((1 << (wire.LOGIT_BITS - 1)) - 1) / largest))) - wire.logit_extra_bits(bits)
    return FixedPoint(bits, min(most, SCALES.stop - 1))


def needs_table(function: Function | None) -> bool:
    """Whether a function is a table in hardware."""
    return function is not None and function.name != "relu"


def move(formats: Formats, node: Node, step: int) -> None:
    """Change the scale of a node's results; what a table reads keeps its own."""
    formats.results[id(node)] = _finer(formats.results[id(node)], step)
    if not needs_table(node.function):
        formats.arguments[id(node)] = formats.results[id(node)]


def _finer(number: FixedPoint, bits: int) -> FixedPoint:
    return FixedPoint(number.width, number.fraction_bits + bits)


def settle(nodes: Sequence[Node], formats: Formats) -> None:
    """Make scales coarser until values fit where they meet: in the rows of a sparse matrix, in a quotient, and with the
    bias that is added to them; and logits, until they are at most LOGIT_EXTRA_BITS finer than their sums."""
    for node in nodes:
        number = formats.arguments[id(node)]
        if number.fraction_bits > (most := _bias_bits(node.bias, number.width)):
            formats.arguments[id(node)] = FixedPoint(number.width, most)
            if not needs_table(node.function):
                formats.results[id(node)] = formats.arguments[id(node)]
    changed = True
    while changed:
        changed = False
        for node in reversed(nodes):
            for given, most in _most(node, formats):
                number = formats.results[id(given)]
                if number.fraction_bits > most:
                    move(formats, given, most - number.fraction_bits)
                    changed = True
    last = nodes[-1]
    if last.function is None and not isinstance(last, Input):
        number = formats.results[id(last)]
        most = _sum_bits(last, formats) + wire.LOGIT_EXTRA_BITS - wire.logit_extra_bits(number.width)
        if number.fraction_bits > most:
            move(formats, last, most - number.fraction_bits)


def _sum_bits(node: Node, formats: Formats) -> int:
    """The fraction bits of what a node adds up, in front of its bias."""
    own = [formats.results[id(one)].fraction_bits for one in node.inputs]
    if isinstance(node, Merge):
        return _product_bits(node.weights, own, formats.results[id(node)].width)
    if isinstance(node, Spread):
        return min(one + most for one, (_, most) in zip(own, formats.bounds(node), strict=True))
    return own[0] + own[1] if isinstance(node, EdgeProducts) else own[0]


def _bias_bits(bias: Reals | None, width: int) -> int:
    """The most fraction bits with which a bias is a number of so many bits."""
    largest = 0.0 if bias is None else float(np.abs(bias).max(initial=0.0))
    return SCALES.stop if largest == 0 else int(np.floor(np.log2(((1 << (width - 1)) - 1) / largest)))


def _most(node: Node, formats: Formats) -> list[tuple[Node, int]]:
    """The most fraction bits that each input of a node may have."""
    if isinstance(node, Attend):
        assert node.value is not None and node.scores is not None
        return [(node.value, formats.arguments[id(node)].fraction_bits), (node.scores, SCORE_FRACTION)]
    if not isinstance(node, Spread):
        return []
    bounds = formats.bounds(node)
    own = [formats.results[id(one)].fraction_bits for one in node.given]
    together = min(one + most for one, (_, most) in zip(own, bounds, strict=True))
    return [(one, together - least) for one, (least, _) in zip(node.given, bounds, strict=True)]


def blocks(node: Spread) -> list[Matrix]:
    """The part of a sparse matrix that each value meets."""
    ends = np.cumsum([one.rows for one in node.given])
    whole = node.matrix.tocsc() if len(node.given) > 1 else node.matrix
    return [whole[:, end - one.rows : end].tocsr() for one, end in zip(node.given, ends, strict=True)]


def _coefficient_bits(block: Matrix) -> tuple[int, int]:
    """The least and the most fraction bits that the coefficients of a matrix may have as values of entries."""
    sizes = np.abs(block.data[block.data != 0])
    if not len(sizes):
        return 0, NARROW_BITS - 1
    most = int(np.floor(np.log2(((1 << (NARROW_BITS - 1)) - 1) / sizes.max())))
    power = np.log2(sizes)
    if (power == np.rint(power)).all() and sizes.min() == sizes.max():
        return int(-power[0]), most
    return most - LOST, most


def coefficients_of(block: Matrix, bits: int) -> Codes:
    """[entries] the coefficients of a matrix with so many fraction bits: see `codes_of`. Raises ValueError for NaN."""
    if np.isnan(block.data).any():
        raise ValueError("cannot quantise NaN")
    return np.asarray(codes_of(block.data, block.indptr.astype(np.int64), bits, NARROW_BITS))


def _product_bits(weights: Sequence[Reals], own: Sequence[int], bits: int) -> int:
    """The fraction bits of products of values and weights that are added, with the smallest errors of weights of so
    many bits, each as heavy as the values that it meets; the fewest bits where several are equally good.

    A grid of more fraction bits holds all points of one of fewer, so that no error grows with them until a weight is
    clipped; from there on the errors of what is clipped only grow.
    """
    pairs = list(zip(weights, own, strict=True))

    def error(together: int) -> float:
        return _weighted(pairs, lambda one, fraction: _rounded(one, FixedPoint(bits, together - fraction)) - one)

    def clipped(together: int) -> float:
        """The errors of what is clipped, at least: the smallest code is a step further away than the largest."""
        steps = largest + 1
        return _weighted(pairs, lambda one, fraction: np.maximum(np.abs(one) - steps * 2.0 ** (fraction - together), 0))

    largest = (1 << (bits - 1)) - 1
    choices = range(min(own) + SCALES.start, min(own) + SCALES.stop)
    peaks = [(float(np.abs(one).max(initial=0.0)), fraction) for one, fraction in pairs]
    whole = (choice for choice in choices if all(peak <= largest * 2.0 ** (one - choice) for peak, one in peaks))
    first = max(whole, default=choices[0])
    best, smallest = first, error(first)
    for choice in range(first + 1, choices.stop):
        if clipped(choice) > smallest:
            break
        if (found := error(choice)) < smallest:
            best, smallest = choice, found
    while first == best > choices[0] and error(best - 1) == smallest:
        first = best = best - 1
    return best


def _rounded(values: Reals, number: FixedPoint) -> Reals:
    return number.value(number.quantise(values))


def _weighted(pairs: Sequence[tuple[Reals, int]], part: Callable[[Reals, int], Reals]) -> float:
    """Squares of a part of each matrix, each as heavy as the values that it meets, added up."""
    return sum(float((part(one, fraction) ** 2).sum()) * 4.0**-fraction for one, fraction in pairs)


@dataclass(frozen=True, eq=False)
class Part:
    """What a node became: its steps and the graphs that they add, and the formats that these depend on."""

    formats: tuple[FixedPoint, ...]
    steps: tuple[Step, ...]
    graphs: tuple[IntegerGraph, ...]


@dataclass
class Builder:
    """Appends the steps of nodes.

    Attributes:
        bits: of values and weights.
        formats: of nodes.
        names: of the values that nodes have become, by id.
    """

    bits: Bits
    formats: Formats
    steps: list[Step] = field(default_factory=list)
    graphs: list[IntegerGraph] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)

    def format(self, node: Node | None) -> FixedPoint:
        """The format of a node's results."""
        return self.formats.results[id(node)]

    def name(self, node: Node | None) -> str:
        """The name of a node's results."""
        return self.names[id(node)]

    def add(self, name: str, operation: Operation, inputs: Sequence[str], graph: int = 0) -> str:
        """Append a step; returns its name."""
        self.steps.append(Step(name, operation, tuple(inputs), len(self.names) - 1, graph))
        return name

    def graph(self, indptr: Ints, sources: Ints, coefficients: Codes) -> int:
        """Append a graph; returns its place."""
        features = sp.csr_matrix((len(indptr) - 1, 1), dtype=np.int64)
        self.graphs.append(IntegerGraph(features, indptr.astype(np.int64), sources.astype(np.int64), coefficients))
        return len(self.graphs) - 1

    def node(self, node: Node, last: bool) -> Part:
        """Append the steps of a node, and return them."""
        steps, graphs, name = len(self.steps), len(self.graphs), f"{len(self.names)}"
        fraction = self.formats.arguments[id(node)].fraction_bits + self._extra(node, last)
        make = {Merge: self._merge, Spread: self._spread, EdgeProducts: self._products, Attend: self._attend}
        made = make[type(node)](name, node, fraction)  # type: ignore[operator]
        self.names[id(node)] = self.add(f"{name}.result", self.behind(node, last), [made])
        return Part(self.formats.around(node), tuple(self.steps[steps:]), tuple(self.graphs[graphs:]))

    def _extra(self, node: Node, last: bool) -> int:
        """Fraction bits that a node's results have beyond its format: none but those of logits."""
        logits = last and node.function is None
        return wire.logit_extra_bits(self.formats.arguments[id(node)].width) if logits else 0

    def again(self, node: Node, part: Part) -> Part:
        """Append the steps that a node became in the same formats, in the same place; returns them."""
        self.steps += part.steps
        self.graphs += part.graphs
        self.names[id(node)] = part.steps[-1].name
        return part

    def behind(self, node: Node, last: bool) -> Apply:
        """Bias and function of a node."""
        number, wanted, extra = self.formats.arguments[id(node)], self.format(node), self._extra(node, last)
        bias = self.formats.biases.get(id(node), np.zeros(node.columns) if node.bias is None else node.bias)
        if node.function is None:
            output = FixedPoint(wire.LOGIT_BITS, number.fraction_bits + extra) if last else number
            if _bias_bits(bias, number.width) >= output.fraction_bits:  # a small bias has the logits' own step
                number, extra = _finer(number, extra), 0
            return Apply(number.quantise(bias), extra, output, "linear", None, output)
        place = np.arange(1 << number.width)
        signed = np.where(place > number.maximum, place - (1 << number.width), place)
        with np.errstate(all="ignore"):
            table = wanted.quantise(np.nan_to_num(node.function.of(number.value(signed))))
        name = "linear" if needs_table(node.function) else "relu"
        return Apply(number.quantise(bias), 0, number, name, table, wanted)

    def _merge(self, name: str, node: Merge, fraction: int) -> str:
        own = [self.format(one).fraction_bits for one in node.given]
        bits = bits_of(self.bits, node)
        together = _product_bits(node.weights, own, bits)
        numbers = [FixedPoint(bits, together - one) for one in own]
        weights = tuple(number.quantise(one) for number, one in zip(numbers, node.weights, strict=True))
        merge = IntegerMerge(weights, tuple(numbers), together - fraction)
        return self.add(f"{name}.merge", merge, [self.name(one) for one in node.given])

    def _spread(self, name: str, node: Spread, fraction: int) -> str:
        parts = blocks(node)
        own = [self.format(one).fraction_bits for one in node.given]
        together = _sum_bits(node, self.formats)
        bits = tuple(together - one for one in own)
        if node.reduce == "max":  # a value that adds nothing keeps its entry
            matrix, columns = node.matrix, np.repeat(bits, [one.rows for one in node.given])
            codes = np.rint(matrix.data * 2.0 ** columns[matrix.indices]).astype(np.int64)
        else:
            scaled = [coefficients_of(part, bit) for bit, part in zip(bits, parts, strict=True)]
            each = [sp.csr_matrix((codes, part.indices, part.indptr), part.shape)
                    for codes, part in zip(scaled, parts, strict=True)]  # fmt: skip
            matrix = sp.hstack(each, format="csr") if len(each) > 1 else each[0]
            codes = matrix.data.astype(np.int64)
        graph = self.graph(matrix.indptr, matrix.indices, codes)
        spread = IntegerSpread(node.reduce, bits, together - fraction)
        return self.add(f"{name}.spread", spread, [self.name(one) for one in node.given], graph)

    def _products(self, name: str, node: EdgeProducts, fraction: int) -> str:
        edges = len(node.targets)
        ends = np.stack([np.maximum(node.targets, 0), np.maximum(node.sources, 0)], axis=1).ravel()
        graph = self.graph(2 * np.arange(edges + 1), ends, np.ones(2 * edges, np.int64))
        shift = self.format(node.query).fraction_bits + self.format(node.key).fraction_bits - fraction
        products = IntegerProducts(node.columns, shift)
        return self.add(f"{name}.products", products, [self.name(node.query), self.name(node.key)], graph)

    def _attend(self, name: str, node: Attend, fraction: int) -> str:
        graph = self.graph(node.indptr, node.sources, np.ones(len(node.sources), np.int64))
        score = self.format(node.scores)
        fivefold = self.add(f"{name}.scores", Fivefold(), [self.name(node.scores)])
        table = exponential_table(score, 5 * (score.maximum - score.minimum))
        attend = IntegerAttend(table, shift=self.format(node.value).fraction_bits - fraction)
        return self.add(f"{name}.attend", attend, [self.name(node.value), fivefold], graph)


def begun(seen: Seen, formats: Formats, bits: Bits) -> Builder:
    """A builder that has the features in their format, and no steps yet."""
    builder = Builder(bits, formats)
    features = features_of(seen)
    number = formats.results[id(features)]
    x = sp.csr_matrix(seen.features)
    codes = sp.csr_matrix((number.quantise(x.data), x.indices, x.indptr), shape=x.shape)
    alone = rows_alone(IntegerGraph(codes, np.arange(x.shape[0] + 1), np.zeros(0, np.int64), np.zeros(0, np.int64)))
    builder.graphs.append(alone)
    builder.names[id(features)] = FEATURES
    return builder


def features_of(seen: Seen) -> Node:
    """The node of the features."""
    return next(node for node in seen.nodes if isinstance(node, Input))


def built(seen: Seen, formats: Formats, bits: Bits) -> Quantised:
    """The integer network of nodes in formats."""
    builder, features = begun(seen, formats, bits), features_of(seen)
    for node in seen.nodes:
        if node is not features:
            builder.node(node, node is seen.nodes[-1])
    number = formats.results[id(features)]
    return Quantised(IntegerNetwork(seen.features.shape[1], number, tuple(builder.steps)), tuple(builder.graphs))
