"""The multiplier array as a kind of hardware: one array for all layers, the design's own or the fastest."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fgnas.design import Design
from fgnas.designs import DesignTable
from fgnas.errors import UserError
from fgnas.fixedpoint import Codes
from fgnas.hardware import wire
from fgnas.hardware.arithmetic import Arithmetic
from fgnas.hardware.array.built import runs_on, with_room_within
from fgnas.hardware.array.calls import CalledArray
from fgnas.hardware.array.choosing import Room, deliverable, fastest_calls
from fgnas.hardware.array.cycles import total_cycles
from fgnas.hardware.array.designs import ArrayDesignPricer, ArrayDesignPrices, array_of, check_arrays
from fgnas.hardware.array.encoded import EncodedArray
from fgnas.hardware.array.encoding import check_graph, encode_array
from fgnas.hardware.array.engine import Engine, check_may_pair
from fgnas.hardware.array.layers import DesignNetwork, array_network
from fgnas.hardware.array.lowering import ArrayAccelerator
from fgnas.hardware.array.resources import written_resources
from fgnas.hardware.integer.quantised import integer_logits
from fgnas.hardware.kind import TablePricer, Wanted
from fgnas.hardware.prices import Priced
from fgnas.hardware.shape import GraphShape, Sized
from fgnas.hardware.specification import Specification
from fgnas.network import Network
from fgnas.tasks.degrees import Degrees
from fgnas.tasks.nodes import GraphData
from fgnas.tasks.sampling import layer_graphs

LIMITED = ("lut", "ff", "bram36")
"""Limits of a specification that an array keeps; that on DSPs is its number of multipliers."""


class MultiplierArray:
    """One array of multipliers that serves every layer."""

    name = "array"
    rounding = Arithmetic(divides=False, adds_heads=True)
    ties = True
    traces = False
    backend = "fgnas.backends.array"
    page = "fgnas.report.array"

    def made_for(self, design: Design | DesignTable) -> bool:
        """Whether a design names an array."""
        return design.array is not None

    def check(self, design: Design) -> None:
        """An array runs every layer."""

    def pricer(self, data: Sized, specification: Specification) -> TablePricer:
        """Prices of designs with arrays on a graph."""
        if isinstance(data, Degrees):
            raise UserError(f"{data.name} has the sizes of a graph alone: an array's cycles follow from its edges; "
                            f"give the graph with --dataset")  # fmt: skip
        return partial(_priced, ArrayDesignPricer(data, specification.family))

    def fit(self, design: Design, network: Network, data: GraphData, wanted: Wanted) -> FittedArray:
        """The design's own array unless a size or a port is asked for, else the fastest one on this graph."""
        source = array_network(design, network, GraphShape.of(data), data.label)
        return FittedArray(source, network, data, wanted)

    def fit_built(self, summary: dict[str, Any], design: Design, network: Network, data: GraphData) -> FittedArray:
        """On the array of another project, as fast as it runs there."""
        engine = Engine.of(summary.get("engine"))
        source = array_network(design, network, GraphShape.of(data), data.label)
        first, *further = layer_graphs(data, design.rates)
        return FittedArray(source, network, data, Wanted(), runs_on(engine, source, first, further))

    def resources(self, summary: dict[str, Any], family: str) -> dict[str, float]:
        """LUT, FF, DSP and block RAM of a described array."""
        return written_resources(summary, family)


def _priced(pricer: ArrayDesignPricer, table: DesignTable) -> Priced:
    assert table.array is not None
    columns = table.columns()
    check_arrays(columns, table.array, table.places)
    return ArrayDesignPrices(pricer.price(columns, table.array, table.sampling), table.array.beat_bits)


@dataclass(frozen=True, eq=False)
class FittedArray:
    """A design with its weights on an array; see `Fitted`. The array is chosen when it is first asked for.

    Attributes:
        source: the quantised network.
        network: the float weights.
        data: the graph that the array is made for.
        wanted: requirements on the array.
        built: the network on an existing array; None if an array is chosen.
    """

    source: DesignNetwork
    network: Network
    data: GraphData
    wanted: Wanted
    built: ArrayAccelerator | CalledArray | None = None
    kind = MultiplierArray()

    @functools.cached_property
    def made(self) -> ArrayAccelerator | CalledArray:
        """The network on its engine; calls of one where they are asked for, or nothing else fits."""
        if self.built is not None:
            return self.built
        chosen = self._chosen()
        if self.wanted.paired:
            check_may_pair(chosen.engine)
        if not self.wanted.flexible:
            return chosen
        if isinstance(chosen, CalledArray):
            raise UserError("--flexible is for an array that holds its network whole, which takes several calls here: "
                            "allow more multipliers or block RAMs")  # fmt: skip
        return replace(chosen, engine=with_room_within(chosen.engine, self._room()))

    def _chosen(self) -> ArrayAccelerator | CalledArray:
        own, (first, *further) = self.source.design.array, self.graphs(self.data)
        if not self.wanted.repurposing:
            return fastest_calls(self.source, first, self._room(), further)
        if own is None or self.wanted.sized:
            return deliverable(self.source, first, self._room(), further)
        return array_of(self.source, first, further)

    def graphs(self, data: GraphData) -> Sequence[GraphData]:
        """The graph of every layer of the design."""
        return layer_graphs(data, self.source.design.rates)

    def _room(self) -> Room:
        """The limits for an array chosen for the design: multipliers, memory port, resources and family."""
        own, wanted = self.source.design.array, self.wanted
        limits = wanted.specification.limits()
        if wanted.bram36 is not None:
            limits["bram36"] = wanted.bram36
        beat_bits = wanted.beat_bits or (own.beat_bits if own else wire.BEAT_BITS)
        guarded = {name: limit for name, limit in limits.items() if name in LIMITED}
        budget = self.source.design.dsp
        return Room.within(budget, wanted.multipliers, beat_bits, guarded, wanted.specification.family, wanted.paired)

    @property
    def logit_step(self) -> float:
        """The value of one step of a logit code."""
        return self.source.logit_format.step

    def logits(self, data: GraphData) -> Codes:
        """[N, classes] logits of a graph that the engine holds."""
        if isinstance(self.made, ArrayAccelerator):
            first, *further = self.graphs(data)
            check_graph(self.made, first, further)
        return integer_logits(self.source.design, self.network, data, self.kind.rounding)

    def regions(self, data: GraphData) -> dict[str, Any]:
        """Programme, parameters, streams and the order of the logits of a graph that the engine holds."""
        return self.encoded(data).arguments()

    def encoded(self, data: GraphData) -> EncodedArray:
        """Everything that is sent for a graph. Raises UserError where that is several calls."""
        if isinstance(self.made, CalledArray):
            raise UserError("the network runs in several calls, each with regions of its own: write the project, whose "
                            "calls/ has them")  # fmt: skip
        first, *further = self.graphs(data)
        return encode_array(self.made, first, further)

    @property
    def calls(self) -> int:
        """Calls of the network: 1 where it is on the array whole."""
        return self.made.count if isinstance(self.made, CalledArray) else 1

    def cycles(self) -> int:
        """Cycles on the graph that it was made for, of all calls together."""
        made = self.made
        if isinstance(made, CalledArray):
            return made.cycles
        return total_cycles(self.encoded(self.data))

    def cycles_afresh(self) -> int:
        """Cycles of the fastest array with as many multipliers, behind the same port, on this graph."""
        engine = self.made.engine
        wanted = Wanted(multipliers=engine.multipliers, beat_bits=engine.beat_bits)
        return replace(self, built=None, wanted=wanted).cycles()

    def summary(self) -> dict[str, Any]:
        """The network and its engine as plain JSON values."""
        return self.made.summary()
