"""The array's layers: operations of the integer network that one combination and one aggregation do together.

A layer is a combination; the scores of its messages; the sum, the largest or the softmax of these, or of every row
alone; and a bias with a function. Heads of a last layer that cannot share a sum, since each has its own softmax or its
own maximum, make two of it: the first keeps the rows of all heads side by side, as a hidden layer does, and the second
is a product of every row by itself with weights of 1 / k, which adds the heads. Both round where the network does:
every head's row once, and the mean once. Where rows are maxima of values, and the fraction bits of logits would make
them wide, rows keep their own, and the sum of the heads has as many more as make it exact.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fgnas.design import Design
from fgnas.errors import UserError
from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware import wire
from fgnas.hardware.arithmetic import Arithmetic
from fgnas.hardware.array.programme import NARROW_BITS, Activation
from fgnas.hardware.integer.apply import Apply
from fgnas.hardware.integer.attend import Attend
from fgnas.hardware.integer.combine import Combine
from fgnas.hardware.integer.designs import network_of
from fgnas.hardware.integer.gather import Gather
from fgnas.hardware.integer.heads import MeanOfHeads
from fgnas.hardware.integer.network import IntegerNetwork, Step
from fgnas.hardware.integer.operation import Operation
from fgnas.hardware.integer.rescale import Rescale
from fgnas.hardware.integer.scores.function import FunctionScores
from fgnas.hardware.integer.scores.nodes import NodeScores
from fgnas.hardware.integer.scores.pair import PairScores
from fgnas.hardware.integer.scores.product import ProductScores
from fgnas.hardware.integer.tables import is_plain
from fgnas.hardware.shape import GraphShape
from fgnas.network import Network

ROUNDING = Arithmetic(divides=False, adds_heads=True)
"""A mean is rounded into the coefficients, since no divider is behind a sum; heads that share a sum are added in it."""
ONE = FixedPoint(2, 0)
"""Format of the weights of an identity."""
Messages = Gather | Attend | Rescale
Scoring = NodeScores | FunctionScores | ProductScores | PairScores


@dataclass(frozen=True, eq=False)
class ArrayLayer:
    """A combination and an aggregation.

    Attributes:
        index: its place among the array's layers. place: that of the layer of the design that it belongs to.
        number: format of the rows that it combines.
        combine: X W. If a row is the sum of its heads, the columns of a class are adjacent; else those of a head are.
        messages: how messages are reduced; a Rescale of every row alone.
        scoring: the operation that makes the scores of an Attend; None without.
        apply: bias and function, or the logits.
        last: whether its results are logits.
        adds_heads: whether it is the mean of heads that cannot share a sum.
        shifts: right shifts behind each of several products, whose columns `combine` has as those of heads that share a
            sum: the rows of messages are those of all products, one below the other. Empty where there is one.
    """

    index: int
    place: int
    number: FixedPoint
    combine: Combine
    messages: Messages
    scoring: Scoring | None
    apply: Apply
    last: bool = False
    adds_heads: bool = False
    shifts: tuple[int, ...] = ()

    @property
    def first(self) -> bool:
        """Whether it combines the graph's features."""
        return self.index == 0

    @property
    def second(self) -> bool:
        """Whether every row receives from itself alone."""
        return isinstance(self.messages, Rescale)

    @property
    def input_width(self) -> int:
        """Columns of the rows that it combines."""
        return len(self.combine.weight)

    @property
    def features(self) -> int:
        """Columns of H."""
        return int(self.combine.weight.shape[1])

    @property
    def k(self) -> int:
        """Heads with scores of their own, or that share a sum; else 1."""
        if self.scoring is not None:
            return len(self.scoring.source)
        return self.messages.heads if isinstance(self.messages, Gather) else 1

    @property
    def d(self) -> int:
        """Features of each of them."""
        return self.features // self.k

    @property
    def averaged(self) -> int:
        """Heads whose sum is a row of the aggregation."""
        return 1 if self.attends else self.k

    @property
    def products(self) -> int:
        """Products whose rows an aggregation reads: of heads that share a sum, or of terms."""
        return len(self.shifts) or self.averaged

    @property
    def attends(self) -> bool:
        """Whether messages are weighted by scores."""
        return isinstance(self.messages, Attend)

    @property
    def gcn(self) -> bool:
        """Whether messages have the graph's coefficients."""
        return isinstance(self.messages, Gather) and self.messages.gcn

    @property
    def mean(self) -> bool:
        """Whether sums are divided by the number of messages."""
        if isinstance(self.messages, Gather):
            return self.messages.mean != "none"
        return isinstance(self.messages, Attend) and self.messages.mean

    @property
    def maximum(self) -> bool:
        """Whether messages are reduced by their maximum."""
        return not isinstance(self.messages, Rescale) and self.messages.reduce == "max"

    @property
    def value_format(self) -> FixedPoint:
        """Numbers of H."""
        return self.combine.output

    @property
    def weight_format(self) -> FixedPoint:
        """Numbers of W and of the vectors of an attention."""
        return self.combine.number

    @property
    def linear_shift(self) -> int:
        """Right shift behind the combination, of several products the first one's."""
        return self.combine.shift

    @property
    def linear_shifts(self) -> tuple[int, ...]:
        """Right shifts behind the combination of each product."""
        return self.shifts or (self.linear_shift,) * self.products

    @property
    def aggregate_shift(self) -> int:
        """Right shift behind the aggregation."""
        return self.messages.shift

    @property
    def exponential_table(self) -> Codes:
        """Coefficients of an attention."""
        assert isinstance(self.messages, Attend)
        return self.messages.table

    @property
    def dot(self) -> bool:
        """Whether every edge has a score of its own."""
        return isinstance(self.scoring, ProductScores | PairScores)

    @property
    def pair(self) -> bool:
        """Whether that is made of functions of two nodes' features, which meet factors."""
        return isinstance(self.scoring, PairScores)

    @property
    def symmetric(self) -> bool:
        """Whether a score adds that of the edge the other way round."""
        return isinstance(self.scoring, NodeScores) and self.scoring.symmetric

    @property
    def score_format(self) -> FixedPoint:
        """Numbers of the scores."""
        assert self.scoring is not None
        return self.scoring.output

    @property
    def score_table(self) -> Codes | None:
        """The table that scores, or the parts of them, pass; None without."""
        return getattr(self.scoring, "table", None)

    @property
    def vectors(self) -> tuple[Codes, ...]:
        """[k, d] the vectors that meet the features of nodes: the source's, then the target's."""
        both = (getattr(self.scoring, name, None) for name in ("source", "target"))
        return tuple(one for one in both if one is not None)

    @property
    def activation(self) -> Activation:
        """How the array computes the function."""
        if self.last or self.apply.table is None:
            return Activation.NONE
        if not is_plain(self.apply.function, self.apply.argument, self.apply.output):
            return Activation.TABLE
        return Activation.RELU if self.apply.function == "relu" else Activation.NONE

    @property
    def query_shift(self) -> int:
        """Right shift behind the products of features with vectors, or behind the sum of those of two nodes."""
        return self.scoring.pair_shift if isinstance(self.scoring, PairScores) else self.weight_format.fraction_bits

    @property
    def dot_shift(self) -> int:
        """Right shift behind the score of an edge: the product of two nodes' features, or of functions with factors."""
        assert isinstance(self.scoring, ProductScores | PairScores)
        return self.scoring.shift


class Described(NamedTuple):
    """The description that replaces a design: the hash of a network's content, and the content as plain JSON values."""

    hash: str
    content: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The content."""
        return self.content


@dataclass(frozen=True, eq=False)
class ArrayNetwork:
    """A network in the array's layers, and the capacities of the graphs that it serves.

    Attributes:
        name, dataset: of the network, and of its data.
        design: the design that it was made from, or what describes it without one.
        shape: of the graphs.
        input_scale: power of two of the features.
        integers: the network as operations, whose logits are right.
        runs: the kind of hardware of projects that are described by this name; empty of designs.
    """

    name: str
    dataset: str
    design: Design | Described
    shape: GraphShape
    input_scale: int
    integers: IntegerNetwork
    runs: ClassVar[str] = ""

    @functools.cached_property
    def layers(self) -> tuple[ArrayLayer, ...]:
        """The array's layers."""
        return fused(self.integers)

    @property
    def logit_format(self) -> FixedPoint:
        """Format of the logits."""
        return self.layers[-1].apply.output

    def called(self, layer: ArrayLayer) -> str:
        """How people call a layer."""
        return str(layer.place)


@dataclass(frozen=True, eq=False)
class DesignNetwork(ArrayNetwork):
    """A design in the array's layers."""

    design: Design


def array_network(
    design: Design, network: Network, shape: GraphShape, dataset: str = "", name: str = ""
) -> DesignNetwork:
    """A design with its weights in the array's layers. Raises UserError where the weights do not fit the design."""
    integers = network_of(design, network, shape.width_in, shape.classes, ROUNDING)
    return DesignNetwork(name or design.hash, dataset, design, shape, network.input_scale, integers)


def fused(network: IntegerNetwork) -> tuple[ArrayLayer, ...]:
    """The layers of an integer network: a combination each, and what follows it up to a function.

    Messages of rows that no combination made read a copy of them: a product with the identity. Raises UserError for
    operations that no layer of the array does.
    """
    found: list[ArrayLayer] = []
    for steps in _runs(network.steps):
        given = network.values[steps[0].inputs[0]]
        operations = [step.operation for step in steps]
        if not isinstance(operations[0], Combine):
            operations.insert(0, Combine(np.eye(given.columns, dtype=np.int64), ONE, 0, given.number))
        _check(steps[0].name, operations)
        last = steps[-1] is network.steps[-1]
        found += _layers(len(found), steps[0].layer, given.number, operations, last)
    return tuple(found)


ORDER: tuple[Any, ...] = (Combine, Scoring, Messages, MeanOfHeads, Apply)
"""The operations of a layer, in this order; scores and the mean of heads are optional."""


def _check(name: str, operations: list[Operation]) -> None:
    """Raise UserError if these operations are not a layer."""
    kinds = [next((place for place, kind in enumerate(ORDER) if isinstance(one, kind)), -1) for one in operations]
    if kinds != sorted(set(kinds)) or not {0, 2, 4} <= set(kinds):
        said = ", ".join(type(one).__name__ for one in operations)
        raise UserError(f"{name}: an array runs a combination, scores, an aggregation, a mean of heads and a function, "
                        f"in this order, not {said}")  # fmt: skip


def _runs(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """The steps up to each function, and those behind the last."""
    ends = [place for place, one in enumerate(steps, 1) if isinstance(one.operation, Apply) or place == len(steps)]
    for first, end in zip([0, *ends[:-1]], ends, strict=True):
        yield list(steps[first:end])


def _layers(
    index: int, place: int, number: FixedPoint, operations: list[Operation], last: bool
) -> Iterator[ArrayLayer]:
    """The layer of a combination, or two where its heads cannot share a sum."""
    combine, *between, apply = operations
    scoring = next((one for one in between if isinstance(one, Scoring)), None)
    messages = next(one for one in between if isinstance(one, Messages))
    mean = next((one for one in between if isinstance(one, MeanOfHeads)), None)
    assert isinstance(combine, Combine) and isinstance(apply, Apply)
    if isinstance(messages, Gather) and messages.heads > 1:
        combine = replace(combine, weight=_classes_together(combine.weight, messages.heads))
    layer = ArrayLayer(index, place, number, combine, messages, scoring, apply, last)
    if mean is None:
        yield layer
    else:
        yield from _apart(layer, mean.heads)


def _classes_together(weight: Codes, heads: int) -> Codes:
    """[columns in, columns out] W with the heads of a class side by side, from that with a head's classes so."""
    return weight.reshape(len(weight), heads, -1).transpose(0, 2, 1).reshape(len(weight), -1)


class FurtherBits(NamedTuple):
    """Fraction bits beyond those of a last layer's features: of the rows of its heads, of the sum of these that the
    mean makes, and of logits. Integers, or arrays of them."""

    rows: Any
    mean: Any
    logits: Any


def further_bits(width: Any, logits: Any, halvings: Any, exact: Any) -> FurtherBits:
    """Those of features of `width` bits whose logits have so many more, and of 2**halvings heads; `exact`: whether rows
    are values. Integers, or arrays of them."""
    kept = exact & (width + logits > NARROW_BITS)
    return FurtherBits(np.where(kept, 0, logits), np.where(kept, np.minimum(logits, halvings), logits), logits)


def _apart(last: ArrayLayer, heads: int) -> Iterator[ArrayLayer]:
    """The rows of all heads, without bias and function; then the product that adds the heads of each class."""
    width, halvings, classes = last.value_format.width, heads.bit_length() - 1, last.features // heads
    found = further_bits(width, wire.logit_extra_bits(width), halvings, not (last.attends or last.gcn))
    bits = FurtherBits(*(int(one) for one in found))
    rows, mean = (_finer(last.value_format, one) for one in (bits.rows, bits.mean))
    messages = replace(last.messages, shift=last.messages.shift + bits.logits - bits.rows)
    plain = Apply(np.zeros(last.features, np.int64), 0, rows, "linear", None, rows)
    yield replace(last, messages=messages, apply=plain, last=False)
    weight = FixedPoint(2, halvings)
    of_class = (np.arange(last.features)[:, None] % classes == np.arange(classes)).astype(np.int64)
    # A bias of as many fraction bits as logits is added as it is; else the epilogue aligns that of the features.
    whole = bits.mean == bits.logits
    bias = last.apply.bias << (bits.logits if whole else 0)
    yield ArrayLayer(
        last.index + 1, last.place, rows, Combine(of_class, weight, bits.rows + halvings - bits.mean, mean),
        Rescale(bits.mean - bits.logits), None,
        replace(last.apply, bias=bias, bias_shift=0 if whole else last.apply.bias_shift), True, True,
    )  # fmt: skip


def _finer(number: FixedPoint, bits: int) -> FixedPoint:
    """A format with so many more fraction bits."""
    return FixedPoint(number.width + bits, number.fraction_bits + bits)
