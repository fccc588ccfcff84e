"""The stages of a phase and the row buffers between them, as a directed graph.

A *stage* serves rows one after another: a row of n items (edges, beats, pixels) takes `per_item * n + per_row` cycles,
and leaves the stage's pipeline `depth` cycles later. A *buffer* holds whole rows between two stages. A graph describes
a topology, not a design: its numbers are functions of a layer's sizes, so that one graph serves many designs at once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Size = Callable[[Any], Any]
"""A number as a function of a layer's sizes: an integer for one design, [n] integers for n designs."""


def none(layer: Any) -> int:
    """The size that is zero in every layer."""
    return 0


@dataclass(frozen=True)
class Stage:
    """One stage of a topology.

    Attributes:
        name: unique in its phase; the name in docs, pictures and traces.
        layer: the layer whose sizes it uses, counted from the first layer of its phase.
        per_item, per_row: cycles for an item, and for a row beyond its items.
        depth: cycles between its last cycle for a row and the row's arrival in the buffers behind, less one.
        reads, writes: memories that it uses beyond its buffers; "{layer}" is replaced by the layer's index.
        values: names of the values that a trace records for it, in order.
        items_per_beat: items in a beat that it takes from main memory; 0 if it takes none.
        sends_beats: whether the cycles of its rows are beats that it sends to main memory.
    """

    name: str
    layer: int = 0
    per_item: Size = none
    per_row: Size = none
    depth: Size = none
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    items_per_beat: int = 0
    sends_beats: bool = False

    @property
    def identifier(self) -> str:
        """The name without spaces, for files and RTL."""
        return self.name.replace(" ", "_")


@dataclass(frozen=True)
class Buffer:
    """The row buffer between two stages.

    Attributes:
        name: its name in the RTL; "{layer}" is replaced by the index of the layer that writes it.
        rows: rows that it holds, from the sizes of the layer that writes it.
        holds_items: whether the items themselves wait there too. Then the writer starts row i only when the reader has
            finished row release[i], which the caller works out from the capacity.
    """

    name: str
    rows: Size
    holds_items: bool = False


@dataclass(frozen=True, eq=False)
class Services:
    """The numbers of a graph's stages for n designs.

    Attributes:
        graph: whose order the stages follow.
        table: [4, stages, n] cycles for an item, cycles for a row, depth, and rows of the buffer before the stage: 0
            for the first stage, which has none.
    """

    graph: StageGraph
    table: Ints

    @property
    def per_item(self) -> Ints:
        """[stages, n] cycles for an item."""
        return self.table[0]

    @property
    def per_row(self) -> Ints:
        """[stages, n] cycles for a row beyond its items."""
        return self.table[1]

    @property
    def depth(self) -> Ints:
        """[stages, n] depths of the pipelines."""
        return self.table[2]

    @property
    def rows(self) -> Ints:
        """[stages, n] rows of the buffer before each stage."""
        return self.table[3]


class StageGraph:
    """A tree of stages: the first takes rows from outside, every other one from a single buffer.

    Any number of stages may read what one stage writes; each then has a buffer of its own.
    """

    def __init__(self, stages: Sequence[Stage], buffers: dict[tuple[str, str], Buffer]) -> None:
        """Raises ValueError where the stages are no tree, or another stage than the first takes beats or writes items,
        or several send beats."""
        self.graph = nx.DiGraph()
        self.graph.add_nodes_from((stage.name, {"stage": stage}) for stage in stages)
        self.graph.add_edges_from((*ends, {"buffer": buffer}) for ends, buffer in buffers.items())
        unknown = [name for name, kept in self.graph.nodes.data("stage") if kept is None]
        if unknown or not nx.is_arborescence(self.graph):
            raise ValueError(f"the stages {', '.join(self.graph)} are no tree: each needs one buffer before it")
        items = [self.order.index(q) for p, q, buffer in self.graph.edges.data("buffer") if buffer.holds_items]
        if len(items) > 1 or any(self.feeders[reader] for reader in items):
            raise ValueError("only one buffer may hold items, and only the first stage may write it")
        if any(stage.items_per_beat for stage in self.stages[1:]):
            raise ValueError("only the first stage may take beats from main memory")
        senders = [place for place, stage in enumerate(self.stages) if stage.sends_beats]
        if len(senders) > 1:
            raise ValueError("only one stage may send beats to main memory")
        self.items_reader: int | None = items[0] if items else None
        """Place of the stage that reads the buffer of items."""
        self.items_per_beat = self.stages[0].items_per_beat
        """Items in a beat that the first stage takes from main memory; 0 if it takes none."""
        self.sender: int | None = senders[0] if senders else None
        """Place of the stage that sends beats to main memory."""

    @functools.cached_property
    def order(self) -> tuple[str, ...]:
        """Names of the stages, each behind its feeder; the readers of a stage in the order of their buffers."""
        return tuple(nx.topological_sort(self.graph))

    @functools.cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The stages in order."""
        return tuple(self.graph.nodes[name]["stage"] for name in self.order)

    @functools.cached_property
    def feeders(self) -> tuple[int, ...]:
        """Place of the stage that feeds each stage; -1 for the first."""
        fed_by = ((list(self.graph.predecessors(name)) or [None])[0] for name in self.order)
        return tuple(-1 if name is None else self.order.index(name) for name in fed_by)

    @functools.cached_property
    def buffers(self) -> tuple[Buffer | None, ...]:
        """The buffer before each stage; None for the first."""
        return tuple(
            None if p < 0 else self.graph.edges[self.order[p], name]["buffer"]
            for p, name in zip(self.feeders, self.order, strict=True)
        )

    @functools.cached_property
    def columns(self) -> tuple[tuple[int, ...], ...]:
        """Places of the stages by their distance from the first."""
        generations = nx.topological_generations(self.graph)
        return tuple(tuple(sorted(map(self.order.index, names))) for names in generations)

    def services(self, layers: Sequence[Any]) -> Services:
        """The numbers of n designs, whose layers in this phase are `layers`: sizes as integers, or as [n] integers."""
        sizes = [layers[stage.layer] for stage in self.stages]
        columns = [
            [stage.per_item(size) for stage, size in zip(self.stages, sizes, strict=True)],
            [stage.per_row(size) for stage, size in zip(self.stages, sizes, strict=True)],
            [stage.depth(size) for stage, size in zip(self.stages, sizes, strict=True)],
            [0 if one is None else one.rows(sizes[p]) for p, one in zip(self.feeders, self.buffers, strict=True)],
        ]
        count = max(np.size(number) for column in columns for number in column)
        table = np.empty((len(columns), len(self.stages), count), np.int64)
        for column, numbers in enumerate(columns):
            for place, number in enumerate(numbers):
                table[column, place] = number
        return Services(self, table)
