"""A graph as the kernel reads it: integer features and coefficients, packed into beats."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fgnas.errors import UserError
from fgnas.fixedpoint import Codes
from fgnas.hardware import wire
from fgnas.hardware.integer.graph import IntegerGraph, integer_graph
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.packing import pack_rows
from fgnas.hardware.wire import Beats
from fgnas.tasks.nodes import GraphData


def encode(accelerator: Accelerator, data: GraphData) -> IntegerGraph:
    """The graph in the accelerator's integers."""
    return integer_graph(data, accelerator.layers[0].input_format)


def check_capacity(accelerator: Accelerator, data: GraphData) -> None:
    """Raise UserError where a graph exceeds the capacities that the accelerator was built for."""
    shape = accelerator.shape
    limits = {
        "nodes": (data.nodes, shape.node_capacity),
        "largest neighbourhood": (int(data.degrees.max(initial=0)), shape.degree_capacity),
    }
    if data.width_in != shape.width_in:
        raise UserError(f"the graph has {data.width_in} features a node, the accelerator reads {shape.width_in}")
    for what, (found, limit) in limits.items():
        if found > limit:
            raise UserError(f"the graph's {what} is {found}, the accelerator holds {limit}: lower it for this graph")


def feature_beats(accelerator: Accelerator, graph: IntegerGraph) -> Beats:
    """Up to t_in non-zeros a beat as `wire.FEATURE`, with `wire.FEATURE_TAIL` behind them.

    Rows share beats as `pack_rows` decides: in a beat that ends a row, the lanes from the split on belong to the next
    row. In one that ends none the split is the count.
    """
    t_in = accelerator.layers[0].geometry.t_in
    indptr = graph.features.indptr.astype(np.int64)
    counts = np.diff(indptr)
    packed = pack_rows(counts, t_in)
    total = int(packed.ends[-1]) + 1 if graph.nodes else 0
    beat, lane = feature_lanes(accelerator, indptr)
    fields = np.zeros((total, t_in), np.uint64)
    fields[beat, lane] = wire.FEATURE.pack(column=graph.features.indices, value=graph.features.data)
    count = np.bincount(beat, minlength=total)
    last, split = np.zeros(total, np.int64), count.copy()
    last[packed.ends] = 1
    split[packed.ends] = np.maximum(0, packed.starts + counts - packed.ends * t_in)
    bits = _side_by_side(fields, wire.FEATURE)
    tail = _side_by_side(wire.FEATURE_TAIL.pack(count=count, last=last, split=split)[:, None], wire.FEATURE_TAIL)
    return np.packbits(bits | tail, axis=1, bitorder="little")


def feature_lanes(
    accelerator: Accelerator, indptr: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The beat and the lane of every non-zero in the feature region, [non-zeros] each, for rows as in `indptr`."""
    t_in, counts = accelerator.layers[0].geometry.t_in, np.diff(indptr)
    row = np.repeat(np.arange(len(counts)), counts)
    place = pack_rows(counts, t_in).starts[row] + np.arange(len(row)) - indptr[row]
    return place // t_in, place % t_in


def edge_beats(graph: IntegerGraph) -> Beats:
    """`wire.EDGES_PER_BEAT` edges a beat as `wire.EDGE`; rows by target."""
    edges = len(graph.sources)
    beats = -(-edges // wire.EDGES_PER_BEAT)
    last = np.zeros(edges, np.int64)
    last[graph.indptr[1:] - 1] = 1
    words = np.zeros(beats * wire.EDGES_PER_BEAT, np.uint64)
    words[:edges] = wire.EDGE.pack(source=graph.sources, coefficient=graph.gcn, last=last)
    return np.packbits(_side_by_side(words.reshape(beats, -1), wire.EDGE), axis=1, bitorder="little")


def row_lengths(features: Beats, edges: Beats, edge_count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """[N] non-zeros and [N] |S(i)| of the rows in a feature region and in a graph region with so many edges."""
    count, last, split = (_field(features, wire.FEATURE_TAIL, name, 1).ravel() for name in ("count", "last", "split"))
    before = np.cumsum(count) - count
    non_zeros = np.diff((before + split)[np.flatnonzero(last)], prepend=0)
    last_edge = _field(edges, wire.EDGE, "last", wire.EDGES_PER_BEAT).ravel()[:edge_count]
    return non_zeros, np.diff(np.flatnonzero(last_edge), prepend=-1)


def _side_by_side(fields: NDArray[np.uint64], layout: wire.Layout) -> NDArray[np.uint8]:
    """[n, copies] packed fields as the bits of [n] beats, [n, 128], from the layout's first bit on."""
    bits = np.zeros((len(fields), wire.BEAT_BITS), np.uint8)
    places = np.arange(layout.bits, dtype=np.uint64)
    for copy in range(fields.shape[1]):
        start = layout.at + copy * layout.bits
        bits[:, start : start + layout.bits] = (fields[:, copy, None] >> places) & np.uint64(1)
    return bits


def _field(beats: Beats, layout: wire.Layout, name: str, copies: int) -> NDArray[np.int64]:
    """[n, copies] one field of every copy of a layout in [n] beats."""
    bits = np.unpackbits(beats, axis=1, bitorder="little")
    found = np.zeros((len(beats), copies), np.int64)
    start, width = layout.place(name)
    for bit in range(width):
        first = layout.at + start + bit
        found |= bits[:, first : first + copies * layout.bits : layout.bits].astype(np.int64) << bit
    return found


def logit_rows(accelerator: Accelerator, logits: Codes) -> Beats:
    """The logit region [N * beats, 16]: 16-bit words, every node's row padded with zeros to whole beats."""
    rows = np.zeros((len(logits), accelerator.logit_beats * wire.BEAT_WORDS), np.int16)
    rows[:, : logits.shape[1]] = logits
    return rows.astype("<i2").view(np.uint8).reshape(-1, wire.BEAT_BYTES)


def read_logits(accelerator: Accelerator, region: bytes, nodes: int) -> Codes:
    """[N, classes] logits out of the bytes of a logit region."""
    rows = np.frombuffer(region, "<i2").reshape(nodes, accelerator.logit_beats * wire.BEAT_WORDS)
    return rows[:, : accelerator.shape.classes].astype(np.int64)


def parameter_region(accelerator: Accelerator) -> Beats:
    """The parameter region [beats, 16]."""
    return accelerator.parameters.astype("<i2").view(np.uint8).reshape(-1, wire.BEAT_BYTES)
