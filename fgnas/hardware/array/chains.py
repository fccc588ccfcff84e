"""Networks of operations as the array's layers, where they are chains of products and sums of rows: values stay on it.

A layer has one product or several, whose rows are saturated; a sparse matrix of the graph, whose numbers are the values
of entries, for the rows of all products, one below the other; and a bias with a function. The matrix need not be
square: a pool is one, and rows behind it are those of graphs.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware.array import reference
from fgnas.hardware.array.cycles import total_cycles
from fgnas.hardware.array.encoded import Encoded, EncodedArray
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.engine import Engine
from fgnas.hardware.array.layers import ArrayLayer, ArrayNetwork
from fgnas.hardware.array.lowering import ArrayAccelerator
from fgnas.hardware.array.operations import OperationNetwork
from fgnas.hardware.array.preparing import Preparation
from fgnas.hardware.integer.apply import Apply
from fgnas.hardware.integer.combine import Combine
from fgnas.hardware.integer.gather import Gather
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.merge import Merge
from fgnas.hardware.integer.network import FEATURES, IntegerNetwork, Step
from fgnas.hardware.integer.rules import Ints, Rules
from fgnas.hardware.integer.spread import Spread


class Link(NamedTuple):
    """A layer of a chain: products and their formats, the graph of its sum and the shift behind it, and its end.

    Attributes:
        given: the value that the products read.
        products, outputs: each with the format of its rows.
        graph: the place of the graph among those of the network.
        shift: right shift behind the sum.
        apply: bias and function. name: of its results.
    """

    given: str
    products: tuple[Merge, ...]
    outputs: tuple[FixedPoint, ...]
    graph: int
    shift: int
    apply: Apply
    name: str

    def layer(self, index: int, number: FixedPoint, last: bool) -> ArrayLayer:
        """The array's layer of rows in a format."""
        weights = np.stack([one.weights[0] for one in self.products], axis=2)
        shifts = tuple(one.shift for one in self.products)
        combine = Combine(weights.reshape(len(weights), -1), self.products[0].numbers[0], shifts[0], self.outputs[0])
        several = shifts if len(shifts) > 1 else ()
        messages = Gather(gcn=True, shift=self.shift)
        return ArrayLayer(index, index, number, combine, messages, None, self.apply, last, shifts=several)


@dataclass(frozen=True, eq=False)
class ChainNetwork(ArrayNetwork):
    """A network of operations in the array's layers.

    Attributes:
        graphs: of each layer, in its integers; the first has the features.
        places: the module of each layer.
        rules: of the matrices of all layers, in order; None where a graph's neighbourhoods do not determine them.
    """

    graphs: tuple[IntegerGraph, ...]
    places: tuple[str, ...]
    rules: Rules | None = None
    runs: ClassVar[str] = OperationNetwork.runs

    @functools.cached_property
    def layers(self) -> tuple[ArrayLayer, ...]:
        """The array's layers."""
        links, values = links_of(self.integers), self.integers.values
        assert links is not None
        last = len(links) - 1
        return tuple(one.layer(index, values[one.given].number, index == last) for index, one in enumerate(links))

    @property
    def coefficient_bits(self) -> Ints:
        """[matrices] fraction bits of the coefficients of all layers' matrices, in order."""
        spreads = [one.operation for one in self.integers.steps if isinstance(one.operation, Spread)]
        return np.array([bits for one in spreads for bits in one.coefficients])

    def called(self, layer: ArrayLayer) -> str:
        """Its number, from 1 on, and the module that it belongs to."""
        return f"{layer.index + 1} {self.places[layer.index]}".rstrip()


@dataclass(frozen=True, eq=False)
class ChainArray:
    """A chain on an array that holds it whole, with its graphs.

    Attributes:
        accelerator: the network on its engine.
        count: one call.
    """

    accelerator: ArrayAccelerator
    count: ClassVar[int] = 1

    @property
    def source(self) -> ChainNetwork:
        """The network."""
        found = self.accelerator.source
        assert isinstance(found, ChainNetwork)
        return found

    @property
    def engine(self) -> Engine:
        """The array."""
        return self.accelerator.engine

    @functools.cached_property
    def encoded(self) -> EncodedArray:
        """Everything that is sent."""
        first, *further = self.source.graphs
        return encode_array(self.accelerator, first, further)

    @property
    def cycles(self) -> int:
        """Cycles from the accepted start write to the interrupt."""
        return total_cycles(self.encoded)

    def on(self, engine: Engine) -> ChainArray:
        """The same on another engine, which has the same units and modes."""
        return ChainArray(replace(self.accelerator, engine=engine))

    def logits(self) -> Codes:
        """[rows, columns] results by the integer reference."""
        return reference.run(self.encoded)


def preparation_of(encoded: Encoded) -> Preparation | None:
    """What makes further graphs ready for a network while a host runs; None where they must be encoded."""
    if not isinstance(encoded, EncodedArray):
        return None
    source = encoded.accelerator.source
    if not isinstance(source, ChainNetwork) or source.rules is None:
        return None
    return Preparation.of(encoded, source.rules, source.coefficient_bits)


def chain_of(source: OperationNetwork) -> ChainNetwork | None:
    """The network in the array's layers; None where it is no chain of them."""
    links, graphs = links_of(source.integers), source.graphs
    if links is None:
        return None
    first, *further = (graphs[one.graph] for one in links)
    if links[-1].apply.table is not None or first.nodes != graphs[0].nodes:
        return None
    return ChainNetwork(
        source.name, source.dataset, source.design, source.shape, source.input_scale, source.integers,
        (replace(first, features=graphs[0].features), *further),
        tuple(source.places.get(one.name, "") for one in links), source.rules,
    )  # fmt: skip


def links_of(network: IntegerNetwork) -> tuple[Link, ...] | None:
    """The layers of a network, in order; None where it is no chain of them."""
    found, given, waiting = list[Link](), FEATURES, list[Step]()
    for step in network.steps:
        waiting.append(step)
        if isinstance(step.operation, Apply) and len(waiting) > 1 and isinstance(waiting[-2].operation, Spread):
            link = _link(given, waiting)
            if link is None:
                return None
            found, given, waiting = [*found, link], step.name, []
    return None if waiting else tuple(found)


def _link(given: str, steps: Sequence[Step]) -> Link | None:
    """The layer of steps that read a value; None where they are none."""
    *before, spread, behind = steps
    if len(before) % 2:
        return None
    products, outputs, names = list[Merge](), list[FixedPoint](), list[str]()
    for product, rounds in zip(before[::2], before[1::2], strict=True):
        one, number = product.operation, rounds.operation
        if not (isinstance(one, Merge) and isinstance(number, Apply) and number.table is None):
            return None
        if number.bias.any() or product.inputs != (given,) or rounds.inputs != (product.name,):
            return None
        products, outputs, names = [*products, one], [*outputs, number.output], [*names, rounds.name]
    total, end = spread.operation, behind.operation
    assert isinstance(total, Spread) and isinstance(end, Apply)
    widths = {(one.numbers[0].width, number.width) for one, number in zip(products, outputs, strict=True)}
    if total.reduce != "add" or spread.inputs != tuple(names) or behind.inputs != (spread.name,) or len(widths) != 1:
        return None
    return Link(given, tuple(products), tuple(outputs), spread.graph, total.shift, end, behind.name)
