"""Placement of a graph on an engine: the deal of rows to groups, and the words of each memory that they fill."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from fgnas.errors import UserError
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.dealing import Deal, Ints, deal, deal_for_logits
from fgnas.hardware.array.engine import QUEUE_WORDS, Engine, rows_held
from fgnas.hardware.array.geometry import PlacedLayer, memories
from fgnas.hardware.array.layers import ArrayLayer, ArrayNetwork
from fgnas.hardware.array.lowering import (
    ArrayAccelerator,
    LayerPlan,
    Words,
    plan_layers,
    smallest_engine,
)
from fgnas.hardware.array.packing import pack
from fgnas.hardware.integer.graph import AnyGraph
from fgnas.hardware.numbers import ceil_div
from fgnas.tasks.nodes import GraphData


@dataclass(frozen=True, eq=False)
class Dealt:
    """How a graph's rows are dealt for the layers of a network.

    Attributes:
        first: the rows of X in the first combination.
        layers: the rows of each layer's aggregation; the next layer's combination keeps them.
        scored: slot rows of each layer's aggregation whose entries have scores of their own; 0 without.
    """

    first: Deal
    layers: tuple[Deal, ...]
    scored: tuple[int, ...]

    def combined(self, layer: int) -> Deal:
        """The deal that numbers the rows of a layer's H."""
        return self.first if layer == 0 else self.layers[layer - 1]


def deal_graph(
    plans: tuple[LayerPlan, ...], data: AnyGraph, further: Sequence[AnyGraph] = (), queue_words: int = QUEUE_WORDS
) -> Dealt:
    """Deal the rows of every phase; `further` as in `encode_array`, `queue_words` those of the engine."""
    first = deal(data.non_zeros[:, None], plans[0].combine.m)
    graphs = graphs_of([plan.layer for plan in plans], data, further)
    aggregated = [
        (deal_for_logits if plan.last else deal)(one.degrees[:, None], plan.aggregate.m)
        for plan, one in zip(plans, graphs, strict=True)
    ]
    scored = (
        pack(graph.degrees, one, plan.aggregate.k, rows_ahead(plan, queue_words)).slot_rows if plan.dot else 0
        for plan, one, graph in zip(plans, aggregated, graphs, strict=True)
    )
    return Dealt(first, tuple(aggregated), tuple(scored))


def rows_ahead(plan: LayerPlan, queue_words: int) -> int:
    """Rows by which a group may be ahead of another where logits leave in order; 0 where it may by any."""
    return rows_held(queue_words, plan.tiles) - 1 if plan.last else 0


def graphs_of(
    layers: Sequence[ArrayLayer], data: AnyGraph, further: Sequence[AnyGraph]
) -> tuple[AnyGraph, ...]:
    """The graph of every layer: that of the data for all, unless the further layers of the design have others; a second
    product has the rows of its sums, each alone."""
    firsts = sum(not layer.second for layer in layers)
    given = iter((data, *(further or (data,) * (firsts - 1))))
    found: list[AnyGraph] = []
    for layer in layers:
        found.append(alone(found[-1]) if layer.second else next(given))
    return (*found, *given)


@functools.lru_cache(maxsize=8)
def alone(data: AnyGraph) -> AnyGraph:
    """The data with a graph in which every row receives from itself alone."""
    return replace(data, indptr=np.arange(data.nodes + 1), sources=np.arange(data.nodes))


def placed(plans: Sequence[LayerPlan], dealt: Dealt) -> tuple[PlacedLayer, ...]:
    """The layers with their rows."""
    return tuple(
        PlacedLayer(plan, one.groups, one.depth, combined.groups, combined.depth, slot_rows)
        for plan, one, combined, slot_rows in zip(
            plans, dealt.layers, map(dealt.combined, range(len(plans))), dealt.scored, strict=True)
    )  # fmt: skip


def fit(
    source: ArrayNetwork, data: AnyGraph, arrangement: Arrangement, further: Sequence[AnyGraph] = ()
) -> ArrayAccelerator:
    """A network on the smallest engine that holds it so arranged with this graph; `further` as in `encode_array`."""
    plans = plan_layers(source, arrangement)
    dealt = deal_graph(plans, data, further)
    return ArrayAccelerator(source, _engine_of(source, plans, placed(plans, dealt), arrangement), plans)


def _engine_of(
    source: ArrayNetwork, plans: tuple[LayerPlan, ...], layers: Sequence[PlacedLayer], arrangement: Arrangement
) -> Engine:
    """The smallest engine that holds the layers with their rows."""
    held = memories(layers)
    words = Words(int(held.results), int(held.own_words), int(held.partial))
    return smallest_engine(source, plans, words, arrangement)


def check_least(
    source: ArrayNetwork, data: AnyGraph, arrangement: Arrangement, further: Sequence[AnyGraph] = ()
) -> None:
    """Raise UserError where no engine holds the network with this graph, however rows are dealt: no group's rows take
    fewer words than those of equal groups. Takes no time that grows with the graph."""
    plans = plan_layers(source, arrangement)
    rows = [one.nodes for one in graphs_of([plan.layer for plan in plans], data, further)]
    depths = [int(ceil_div(count, plan.aggregate.m)) for plan, count in zip(plans, rows, strict=False)]
    groups = [plans[0].combine.m, *(plan.aggregate.m for plan in plans)]
    combined = [int(ceil_div(data.nodes, groups[0])), *depths]
    even = [
        PlacedLayer(plan, plan.aggregate.m, depth, *before, 0)
        for plan, depth, before in zip(plans, depths, zip(groups, combined, strict=True), strict=False)
    ]
    _engine_of(source, plans, even, arrangement)


def readout(data: GraphData, graphs: Ints) -> GraphData:
    """The rows of a readout, as the graph of a further layer of `encode_array`: row g names the nodes of graph g.

    `graphs` [N] is the graph of each node, from 0 on. Raises UserError where one has no node.
    """
    sizes = np.bincount(graphs)
    if len(graphs) != data.nodes or not np.all(sizes):
        raise UserError(f"a readout needs a graph for each of {data.nodes} nodes, and a node for each graph")
    count, nobody = len(sizes), np.zeros(len(sizes), bool)
    return replace(
        data, features=sp.csr_matrix((count, data.width_in), dtype=np.float32), labels=np.zeros(count, np.int64),
        indptr=np.concatenate([[0], np.cumsum(sizes)]), sources=np.argsort(graphs, kind="stable"), train=nobody,
        val=nobody, test=nobody,
    )  # fmt: skip


def check_memories(accelerator: ArrayAccelerator, dealt: Dealt) -> None:
    """Raise UserError where a graph's H, Z or partial sums exceed the engine's memories."""
    engine, held = accelerator.engine, memories(placed(accelerator.plans, dealt))
    needed = {
        "table_words": (held.weights + held.results, engine.table_words),
        "own_words": (held.own_words, engine.own_words),
        "partial_words": (held.partial, engine.partial_words),
    }
    for name, (wanted, found) in needed.items():
        if wanted > found:
            raise UserError(f"the graph needs {name} of {wanted}, the engine has {found}")
