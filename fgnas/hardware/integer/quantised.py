"""A design's integers on a graph, with the parts that designs share kept."""

from __future__ import annotations

import functools

from fgnas.design import Design
from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware.arithmetic import Arithmetic
from fgnas.hardware.integer import interpreter
from fgnas.hardware.integer.designs import network_of
from fgnas.hardware.integer.graph import IntegerGraph, integer_graph
from fgnas.network import Network
from fgnas.tasks.nodes import GraphData
from fgnas.tasks.sampling import layer_graphs

GRAPHS_KEPT = 32


def integer_logits(design: Design, network: Network, data: GraphData, rounding: Arithmetic) -> Codes:
    """[N, classes] logits of a design in an arithmetic, as codes."""
    integers = network_of(design, network, data.width_in, data.classes, rounding)
    return interpreter.run(integers, [_graph(one, integers.number) for one in layer_graphs(data, design.rates)])


@functools.lru_cache(maxsize=GRAPHS_KEPT)
def _graph(data: GraphData, number: FixedPoint) -> IntegerGraph:
    """A graph in a format, kept because no other choice of a design changes it."""
    return integer_graph(data, number)
