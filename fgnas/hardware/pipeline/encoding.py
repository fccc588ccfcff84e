"""A graph as the kernel reads it: integer features, integer coefficients, and both packed into beats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fgnas.errors import UserError
from fgnas.fixedpoint import Codes
from fgnas.hardware.pipeline.accelerator import (
    BEAT_BYTES,
    COLUMN_BITS,
    EDGES_PER_BEAT,
    INPUT_VALUE_BITS,
    SOURCE_BITS,
    Accelerator,
)
from fgnas.hardware.pipeline.geometry import COEFFICIENT_BITS, COEFFICIENT_FRACTION_BITS
from fgnas.hardware.pipeline.packing import pack_rows
from fgnas.tasks.nodes import GraphData

Beats = NDArray[np.uint8]
"""[beats, 16] bytes, little-endian within a beat."""


@dataclass(frozen=True, eq=False)
class EncodedGraph:
    """What the host sends with a graph of N nodes.

    Attributes:
        features: [N, width_in] CSR of int64 codes; the float matrix's structure, quantised zeros included.
        indptr, sources: neighbourhoods by target, as in GraphData.
        gcn: [edges] integer coefficients RNE(256 / sqrt(|S(i)| |S(j)|)).
    """

    features: sp.csr_matrix
    indptr: NDArray[np.int64]
    sources: NDArray[np.int64]
    gcn: Codes

    @property
    def nodes(self) -> int:
        """N."""
        return len(self.indptr) - 1


def gcn_coefficients(data: GraphData) -> Codes:
    """[edges] RNE(256 / sqrt(|S(i)| |S(j)|)) in float64, in the order of `data.sources`."""
    degrees = data.degrees.astype(np.float64)
    product = degrees[data.targets] * degrees[data.sources]
    return np.rint(2.0**COEFFICIENT_FRACTION_BITS / np.sqrt(product)).astype(np.int64)


def encode(accelerator: Accelerator, data: GraphData) -> EncodedGraph:
    """The graph in the accelerator's integers."""
    features = data.features
    codes = accelerator.layers[0].input_format.quantise(features.data)
    # Built from parts, so that a value that quantises to zero keeps its place.
    matrix = sp.csr_matrix((codes, features.indices, features.indptr), shape=features.shape)
    return EncodedGraph(matrix, data.indptr, data.sources, gcn_coefficients(data))


def check_capacity(accelerator: Accelerator, data: GraphData) -> None:
    """Raise UserError where a graph exceeds what the accelerator was built for."""
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


def feature_beats(accelerator: Accelerator, graph: EncodedGraph) -> Beats:
    """t_in x {column 14, value 10} a beat from bit 0, count at bit 120, last-of-row at bit 123, split at bit 124.

    Rows share beats as `pack_rows` says: in a beat that ends a row, the lanes from the split on belong to the next
    row; in one that ends none the split is the count.
    """
    t_in = accelerator.layers[0].t_in
    indptr = graph.features.indptr.astype(np.int64)
    counts = np.diff(indptr)
    packed = pack_rows(counts, t_in)
    total = int(packed.ends[-1]) + 1 if graph.nodes else 0
    row = np.repeat(np.arange(graph.nodes), counts)
    place = packed.starts[row] + np.arange(len(row)) - indptr[row]
    beat, lane = place // t_in, place % t_in
    fields = np.zeros((total, t_in), np.uint64)
    mask = (1 << INPUT_VALUE_BITS) - 1
    field_bits = COLUMN_BITS + INPUT_VALUE_BITS
    words = graph.features.indices.astype(np.uint64) | (
        (graph.features.data & mask).astype(np.uint64) << np.uint64(COLUMN_BITS)
    )
    fields[beat, lane] = words
    count = np.bincount(beat, minlength=total).astype(np.uint64)
    last, split = np.zeros(total, np.uint64), count.copy()
    last[packed.ends] = 1
    split[packed.ends] = np.maximum(0, packed.starts + counts - packed.ends * t_in)
    return _pack(fields, field_bits, count | (last << np.uint64(3)) | (split << np.uint64(4)))


def edge_beats(graph: EncodedGraph) -> Beats:
    """Four edges a beat, each {source 20, coefficient 9, last-of-row 1} from bit 0 in steps of 30; rows by target."""
    edges = len(graph.sources)
    beats = -(-edges // EDGES_PER_BEAT)
    last = np.zeros(edges, np.uint64)
    last[graph.indptr[1:] - 1] = 1
    words = np.zeros(beats * EDGES_PER_BEAT, np.uint64)
    words[:edges] = (
        graph.sources.astype(np.uint64)
        | (graph.gcn.astype(np.uint64) << np.uint64(SOURCE_BITS))
        | (last << np.uint64(SOURCE_BITS + COEFFICIENT_BITS))
    )
    return _pack(words.reshape(beats, EDGES_PER_BEAT), SOURCE_BITS + COEFFICIENT_BITS + 1, np.zeros(beats, np.uint64))


def row_lengths(features: Beats, edges: Beats, edge_count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """[N] non-zeros and [N] |S(i)| of the rows in a feature region and in a graph region with so many edges."""
    top = features[:, 15].astype(np.int64)
    count, split = top & 7, top >> 4
    before = np.cumsum(count) - count
    last_beats = np.flatnonzero(top >> 3 & 1)
    bits = np.unpackbits(edges, axis=1, bitorder="little")
    width = SOURCE_BITS + COEFFICIENT_BITS + 1
    last_edge = bits[:, width - 1 : EDGES_PER_BEAT * width : width].ravel()[:edge_count]
    non_zeros = np.diff((before + split)[last_beats], prepend=0)
    return non_zeros, np.diff(np.flatnonzero(last_edge), prepend=-1)


def _pack(fields: NDArray[np.uint64], field_bits: int, top: NDArray[np.uint64]) -> Beats:
    """Fields side by side from bit 0, and `top` at bit 120, as bytes."""
    bits = np.zeros((len(fields), 8 * BEAT_BYTES), np.uint8)
    places = np.arange(field_bits, dtype=np.uint64)
    for lane in range(fields.shape[1]):
        start = lane * field_bits
        bits[:, start : start + field_bits] = (fields[:, lane, None] >> places) & np.uint64(1)
    bits[:, 120:128] = (top[:, None] >> np.arange(8, dtype=np.uint64)) & np.uint64(1)
    return np.packbits(bits, axis=1, bitorder="little")


def logit_rows(accelerator: Accelerator, logits: Codes) -> Beats:
    """The logit region [N * beats, 16]: 16-bit words, every node's row padded with zeros to whole beats."""
    rows = np.zeros((len(logits), accelerator.logit_beats * 8), np.int16)
    rows[:, : logits.shape[1]] = logits
    return rows.astype("<i2").view(np.uint8).reshape(-1, BEAT_BYTES)


def read_logits(accelerator: Accelerator, region: bytes, nodes: int) -> Codes:
    """[N, classes] logits out of the bytes of a logit region."""
    rows = np.frombuffer(region, "<i2").reshape(nodes, accelerator.logit_beats * 8)
    return rows[:, : accelerator.shape.classes].astype(np.int64)


def parameter_region(accelerator: Accelerator) -> Beats:
    """The parameter region [beats, 16]."""
    return accelerator.parameters.astype("<i2").view(np.uint8).reshape(-1, BEAT_BYTES)
