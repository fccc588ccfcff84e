"""A kernel that is a multiplier array: a call is a programme of descriptors, so one build runs every call that fits.

A layer may be a map, a sum or a maximum, and two layers are an FFN, the head, or GIN with the map behind it. The
descriptors name the widths of the call itself: nothing is padded.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import BaseModel, ConfigDict, Field

from fgnas.backends import array as project
from fgnas.design import Array
from fgnas.errors import UserError
from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware.array import lowering, reference
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.cycles import total_cycles
from fgnas.hardware.array.encoded import EncodedArray
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.engine import LANES, LARGEST_UNITS, Engine, joined
from fgnas.hardware.array.geometry import memories
from fgnas.hardware.array.layers import ArrayNetwork
from fgnas.hardware.array.lowering import ArrayAccelerator, default_columns, plan_layers, smallest_engine
from fgnas.hardware.array.placing import deal_graph, placed
from fgnas.hardware.array.refill import edge_refill, feature_refill
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.specification import Specification
from fgnas.network import LayerParameters, Network
from fgnas.systems.magnas.build import FilledRegions, Index, Reals, Sizes, facts_of, graph_of, told_in_one_line
from fgnas.systems.magnas.calls import Call
from fgnas.systems.magnas.dressing import dressed
from fgnas.systems.magnas.integers import Product
from fgnas.tasks.nodes import GraphData

LONGEST = 2
"""Maps of the longest call."""
MOST_COLUMNS = 8
"""Units side by side in a hidden layer at most; with one, two, four and eight an array has seven of eight modes."""


class Facts(BaseModel):
    """Fields of a kernel's file for an array: units, memory port, one format for all values and one for all weights."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    units: int = Field(ge=1, le=LARGEST_UNITS, description=f"units of {LANES} multipliers")
    beat_bits: Literal[128, 256, 512] = Field(default=128, description="width of the memory port")
    ai: int = Field(description="integer bits of features, without the sign")
    af: int = Field(description="fraction bits of features")
    wi: int = Field(description="integer bits of weights, without the sign")
    wf: int = Field(description="fraction bits of weights")


@dataclass(frozen=True)
class ArrayBuild:
    """The smallest array that runs every call within its sizes; see `Build`. All widths but the first are outputs."""

    facts: Facts
    sizes: Sizes
    FIELD: ClassVar[str] = "array"

    @classmethod
    def of(cls, content: object, sizes: Sizes, source: str) -> ArrayBuild:
        """The array of its facts."""
        build = cls(facts_of(Facts, content, cls.FIELD, source), sizes)
        try:
            with told_in_one_line(cls.FIELD, source):
                build.engine  # noqa: B018 - what is too large is refused here
        except UserError as error:
            raise UserError(f"{source}: {error}") from None
        return build

    def to_json(self) -> str:
        """The facts."""
        return self.facts.model_dump_json()

    @property
    def engine(self) -> Engine:
        """The array as it is built."""
        return _engine(self)

    def products(self, call: Call) -> tuple[Product, ...]:
        """The call's own widths."""
        value, weight = FixedPoint.of(self.facts.ai, self.facts.af), FixedPoint.of(self.facts.wi, self.facts.wf)
        return tuple(
            Product(outputs, value, weight, "max" if place == 0 and call.aggregation == "max" else "add")
            for place, outputs in enumerate(call.widths[1:])
        )

    def shape(self, call: Call) -> GraphShape:
        """The call's own widths."""
        return self.sizes.shape(call.widths[0], call.widths[-1])

    def refusal(self, call: Call) -> str | None:
        """A call within the sizes is a programme."""
        if len(call.widths) - 1 > LONGEST:
            return f"it runs {LONGEST} layers, not {len(call.widths) - 1}"
        sizes = self.sizes
        wanted = [("inputs", call.widths[0], sizes.inputs), ("outputs", max(call.widths[1:]), sizes.outputs)]
        wanted += [("nodes", call.nodes, sizes.nodes), ("neighbours", call.neighbours, sizes.neighbours)]
        return next((f"it has {held} {what}, not {most}" for what, most, held in wanted if most > held), None)

    def cycles(self, call: Call) -> int:
        """Those of the cycle model."""
        return _cycles(self, call, _columns(self, call))

    def load(self, call: Call, network: Network, name: str) -> LoadedArray:
        """The programme of a network on the array."""
        return _loaded(self, call, _columns(self, call), network, name)


def _loaded(build: ArrayBuild, call: Call, columns: tuple[int, ...], network: Network, name: str) -> LoadedArray:
    """With so many units side by side in each hidden layer."""
    source = _dressed(build, call, columns, network, name)
    return LoadedArray(lowering.lower(source, build.engine, Arrangement(build.facts.units, columns)), network)


def _dressed(build: ArrayBuild, call: Call, columns: tuple[int, ...], network: Network, name: str) -> ArrayNetwork:
    array = Array(units=build.facts.units, columns=columns, beat_bits=build.facts.beat_bits)
    return dressed(build.products(call), array, network, build.shape(call), name)


@functools.cache
def _columns(build: ArrayBuild, call: Call) -> tuple[int, ...]:
    """Units side by side in each hidden layer of the fastest arrangement, the fewest of equally fast ones."""
    return min(_arrangements(build, call), key=lambda columns: _cycles(build, call, columns))


def _arrangements(build: ArrayBuild, call: Call) -> Iterator[tuple[int, ...]]:
    """Every choice of units side by side that leaves none of them without columns."""
    source = _empty(build, call, (1,) * (len(call.widths) - 2))
    most = [min(MOST_COLUMNS, default_columns(layer, build.facts.units)) for layer in source.layers[:-1]]
    yield from itertools.product(*([1 << place for place in range(one.bit_length())] for one in most))


@functools.cache
def _cycles(build: ArrayBuild, call: Call, columns: tuple[int, ...]) -> int:
    loaded = _loaded(build, call, columns, _zeros(call), "")
    return total_cycles(loaded.encoded(*_any_input(call)))


def _any_input(call: Call) -> tuple[Reals, Index | None]:
    """Rows and neighbours: every feature is sent, zeros too, so the cycles depend on no value."""
    index = None if call.neighbours == 1 else np.zeros((call.nodes, call.neighbours), np.int64)
    return np.zeros((call.nodes, call.widths[0]), np.float32), index


def _zeros(call: Call) -> Network:
    """Parameters of a call in which everything is 0."""
    return Network(tuple(
        LayerParameters(np.zeros((inputs, 1, outputs), np.float32), np.zeros(outputs, np.float32))
        for inputs, outputs in itertools.pairwise(call.widths)
    ))  # fmt: skip


def _empty(build: ArrayBuild, call: Call, columns: tuple[int, ...]) -> ArrayNetwork:
    return _dressed(build, call, columns, _zeros(call), "")


@functools.cache
def _engine(build: ArrayBuild) -> Engine:
    """The engine that runs the largest calls of one layer and of more, in every arrangement."""
    sizes, found = build.sizes, []
    for layers in range(1, LONGEST + 1):
        call = Call(sizes.nodes, (sizes.inputs, *(sizes.outputs,) * layers), sizes.neighbours, "max")
        data = graph_of(*_any_input(call), build.shape(call))
        for columns in _arrangements(build, call):
            source = _empty(build, call, columns)
            arrangement = Arrangement(build.facts.units, columns, beat_bits=build.facts.beat_bits)
            plans = plan_layers(source, arrangement)
            dealt = deal_graph(plans, data, _alone(data, layers - 1))
            held = memories(placed(plans, dealt))
            words = lowering.Words(int(held.results), int(held.own_words))
            found.append(smallest_engine(source, plans, words, arrangement))
    return joined(found)


def _alone(data: GraphData, layers: int) -> tuple[GraphData, ...]:
    """The graphs of further layers, in which every row receives from itself alone."""
    empty = sp.csr_matrix(data.features.shape, dtype=np.float32)
    one = replace(data, features=empty, indptr=np.arange(data.nodes + 1), sources=np.arange(data.nodes))
    return (one,) * layers


@dataclass(frozen=True, eq=False)
class LoadedArray:
    """A call's programme on an array; see `Loaded`.

    Attributes:
        accelerator: the network on its engine.
        network: its float parameters.
    """

    accelerator: ArrayAccelerator
    network: Network

    def further(self, data: GraphData) -> Sequence[GraphData]:
        """The graphs of the layers behind the first."""
        return _alone(data, len(self.network.layers) - 1)

    def encoded(self, rows: Reals, index: Index | None) -> EncodedArray:
        """Everything that is sent for a call."""
        data = graph_of(rows, index, self.accelerator.source.shape)
        return encode_array(self.accelerator, data, self.further(data))

    def regions(self, rows: Reals, index: Index | None) -> ArrayRegions:
        """Regions with the places of these rows and neighbours."""
        encoded = self.encoded(rows, index)
        answer = np.zeros_like(reference.run_region(encoded))
        return ArrayRegions(feature_refill(encoded), edge_refill(encoded), answer.tobytes(), encoded)

    def write(self, data: GraphData, directory: Path, specification: Specification) -> None:
        """The whole project."""
        project.write_project(self.accelerator, data, directory, specification, self.network, self.further(data))

    def write_step(self, data: GraphData, folder: Path, specification: Specification) -> None:
        """Vectors, price and weights."""
        project.write_step(self.accelerator, data, folder, specification, self.network, self.further(data))


@dataclass(frozen=True, eq=False)
class ArrayRegions(FilledRegions):
    """The array's regions; see `Regions`."""

    encoded: EncodedArray

    def read(self, answer: bytes) -> Codes:
        """Rows in the order of the nodes."""
        beat_bytes = self.encoded.accelerator.engine.beat_bits // 8
        return self.encoded.read_logits(np.frombuffer(answer, np.uint8).reshape(-1, beat_bytes))
