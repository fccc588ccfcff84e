"""What a graph takes of an engine: rows dealt to groups, and the words that they fill of every memory."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from fgnas.errors import UserError
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.dealing import Deal, Ints, deal, deal_for_logits
from fgnas.hardware.array.engine import QUEUE_WORDS, rows_held
from fgnas.hardware.array.layers import ArrayLayer, ArrayNetwork
from fgnas.hardware.array.lowering import (
    ArrayAccelerator,
    LayerPlan,
    Words,
    plan_layers,
    smallest_engine,
)
from fgnas.hardware.array.packing import pack
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
    plans: tuple[LayerPlan, ...], data: GraphData, further: Sequence[GraphData] = (), queue_words: int = QUEUE_WORDS
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
    layers: Sequence[ArrayLayer], data: GraphData, further: Sequence[GraphData]
) -> tuple[GraphData, ...]:
    """The graph of every layer: that of the data for all, unless the further layers of the design have others; a second
    product has the rows of its sums, each alone."""
    firsts = sum(not layer.second for layer in layers)
    given = iter((data, *(further or (data,) * (firsts - 1))))
    found: list[GraphData] = []
    for layer in layers:
        found.append(alone(found[-1]) if layer.second else next(given))
    return (*found, *given)


@functools.lru_cache(maxsize=8)
def alone(data: GraphData) -> GraphData:
    """The data with a graph in which every row receives from itself alone."""
    return replace(data, indptr=np.arange(data.nodes + 1), sources=np.arange(data.nodes))


def result_words(plans: tuple[LayerPlan, ...], dealt: Dealt) -> int:
    """Words of a unit's table that the largest H takes."""
    return max(plan.heads * held_rows(plan, dealt.combined(index)) * plan.pitch for index, plan in enumerate(plans))


def held_rows(plan: LayerPlan, combined: Deal) -> int:
    """Rows of H, of one head where heads are averaged, that a table holds: as many for every group that makes them, and
    for every group that makes scores of nodes."""
    made = combined.groups * block_rows(plan, combined)
    return score_rows(plan, combined) * plan.aggregate.m if plan.scored_nodes else made


def block_rows(plan: LayerPlan, combined: Deal) -> int:
    """Rows of H that a group makes of a block."""
    return ceil_div(combined.depth, plan.blocks)


def block_count(plan: LayerPlan, combined: Deal) -> int:
    """Blocks that have rows."""
    return ceil_div(combined.depth, block_rows(plan, combined))


def score_rows(plan: LayerPlan, combined: Deal) -> int:
    """Rows of H of which each group of an aggregation makes the scores."""
    return int(ceil_div(combined.groups * combined.depth, plan.aggregate.m))


def own_rows(plans: tuple[LayerPlan, ...], dealt: Dealt) -> int:
    """Words of a unit's own rows that the largest Z takes; 0 without one."""
    depths = [one.depth * plan.row_tiles for plan, one in zip(plans, dealt.layers, strict=True) if not plan.last]
    return max(depths, default=0)


def maxima_rows(plans: tuple[LayerPlan, ...], dealt: Dealt) -> int:
    """Words of a unit's own rows that the largest scores of rows take, behind Z; 0 where no nodes have scores."""
    depths = [one.depth for plan, one in zip(plans, dealt.layers, strict=True) if plan.scored_nodes]
    return max(depths, default=0)


def vector_words(plans: tuple[LayerPlan, ...]) -> int:
    """Words of a unit's own rows that the vectors of all attentions take."""
    return sum(plan.vector_words * plan.passes for plan in plans)


def query_words(plans: tuple[LayerPlan, ...], dealt: Dealt) -> int:
    """Words of a unit's own rows that the queries take, behind the vectors: of the rows, or, of functions of two nodes'
    features, of the slot rows; 0 where no edges have scores."""
    parts = zip(plans, dealt.layers, dealt.scored, strict=True)
    return max((slot_rows if plan.pair else one.depth) * plan.tiles * plan.dot for plan, one, slot_rows in parts)


def scored_words(plans: tuple[LayerPlan, ...], dealt: Dealt) -> int:
    """Words of a unit's own rows that the scores of edges take, behind the queries, and the largest of every row."""
    parts = zip(plans, dealt.layers, dealt.scored, strict=True)
    return max((one.depth + slot_rows) * plan.dot for plan, one, slot_rows in parts)


def own_words(plans: tuple[LayerPlan, ...], dealt: Dealt) -> int:
    """Words of a unit's own rows: Z, the largest scores, the vectors of all attentions, queries and scores of edges."""
    nodes = own_rows(plans, dealt) + maxima_rows(plans, dealt) + vector_words(plans)
    return nodes + query_words(plans, dealt) + scored_words(plans, dealt)


def partial_words(plans: tuple[LayerPlan, ...], dealt: Dealt) -> int:
    """Words of a unit's partial sums: of the rows of a first combination in slices, and of aggregations of blocks."""
    first = plans[0]
    sliced = dealt.first.depth * first.write_tiles if first.slices > 1 else 0
    return max(sliced, *(one.depth * plan.tiles * (plan.blocks > 1)
                         for plan, one in zip(plans, dealt.layers, strict=True)))  # fmt: skip


def fit(
    source: ArrayNetwork, data: GraphData, arrangement: Arrangement, further: Sequence[GraphData] = ()
) -> ArrayAccelerator:
    """A network on the smallest engine that holds it so arranged with this graph; `further` as in `encode_array`."""
    plans = plan_layers(source, arrangement)
    dealt = deal_graph(plans, data, further)
    words = Words(result_words(plans, dealt), own_words(plans, dealt), partial_words(plans, dealt))
    return ArrayAccelerator(source, smallest_engine(source, plans, words, arrangement), plans)


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
    engine, plans = accelerator.engine, accelerator.plans
    needed = {
        "table_words": (accelerator.results_base + result_words(plans, dealt), engine.table_words),
        "own_words": (own_words(plans, dealt), engine.own_words),
        "partial_words": (partial_words(plans, dealt), engine.partial_words),
    }
    for name, (wanted, found) in needed.items():
        if wanted > found:
            raise UserError(f"the graph needs {name} of {wanted}, the engine has {found}")
