"""A design's integers on a graph, with the parts that designs share kept."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from fgnas.design import Design
from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware.arithmetic import Arithmetic
from fgnas.hardware.integer import interpreter
from fgnas.hardware.integer.designs import network_of
from fgnas.hardware.integer.graph import IntegerGraph, integer_graph
from fgnas.hardware.integer.network import IntegerNetwork
from fgnas.network import Network
from fgnas.tasks.nodes import GraphData
from fgnas.tasks.sampling import layer_graphs

GRAPHS_KEPT = 32


def integer_logits(design: Design, network: Network, data: GraphData, rounding: Arithmetic) -> Codes:
    """[N, classes] logits of a design in an arithmetic, as codes."""
    return logits_of(network_of(design, network, data.width_in, data.classes, rounding), data, design.rates)


def logits_of(integers: IntegerNetwork, data: GraphData, rates: Sequence[float]) -> Codes:
    """[N, classes] logits of an integer network whose layers receive from samples of neighbours at such rates."""
    return interpreter.run(integers, graphs_of(integers, data, rates))


def graphs_of(integers: IntegerNetwork, data: GraphData, rates: Sequence[float]) -> list[IntegerGraph]:
    """The graph that each layer of an integer network receives from, with samples of neighbours at such rates."""
    return [_graph(one, integers.number) for one in layer_graphs(data, rates)]


@functools.lru_cache(maxsize=GRAPHS_KEPT)
def _graph(data: GraphData, number: FixedPoint) -> IntegerGraph:
    """A graph in a format, kept because no other choice of a design changes it."""
    return integer_graph(data, number)
