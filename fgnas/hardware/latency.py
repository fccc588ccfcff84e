"""Cycles of the whole kernel on the whole graph, from the accepted start write to the interrupt.

Against the reference memory (addresses and write data always accepted, first read beat `READ_LATENCY` cycles
after the address, a beat a cycle from there, write response `WRITE_LATENCY` cycles after the last beat) this is
not an estimate: it is the recurrence that the RTL's hand-shakes implement, and the simulation counts the same.

Inside a phase, stage s works on row i from

    start_s(i) = max(finish_s(i-1), finish_{s-1}(i) + depth_{s-1}, finish_{s+1}(i - rows_s))

for `service_s(i)` cycles: a stage waits for its own previous row, for its input row to have left the pipeline
before it, and for a free row in the buffer behind it, which its reader frees with its last read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from fgnas.data import GraphData
from fgnas.hardware.geometry import Ints, LayerGeometry, ceil_div

READ_LATENCY = 16
WRITE_LATENCY = 4

# Pipeline depths of the RTL (templates/rtl), in cycles from a stage's last issue of a row to the cycle in which
# the next stage sees the row, less one.
LINEAR_DEPTH = 7
AGGREGATE_DEPTH = 6
DIVIDER_EXTRA_DEPTH = 2
ACTIVATE_DEPTH = 3
HEAD_MEAN_DEPTH = 3

START_CYCLES = 3
"""From the accepted start write to the first cycle of the load phase."""
FETCH_CYCLES = 3
"""From a phase's first cycle to its first beat at a stage, beyond the memory's read latency."""
TURN_CYCLES = 1
"""From the end of a phase's last stage to the first cycle of the next phase."""
FINISH_CYCLES = 3
"""From the last write beat's response to the interrupt."""
OUTPUT_BUFFER_BEATS = 32


@dataclass(frozen=True, eq=False)
class Workload:
    """What of a graph the latency depends on: N rows, their non-zeros and their neighbourhoods."""

    non_zeros: NDArray[np.int64]
    degrees: NDArray[np.int64]

    @classmethod
    def of(cls, data: GraphData) -> Workload:
        """The workload of a dataset."""
        return cls(data.non_zeros, data.degrees)

    @property
    def nodes(self) -> int:
        """N."""
        return len(self.degrees)


def divider_depth(layer: LayerGeometry) -> Ints:
    """Stages of the pipelined divider behind a mean: a stage for each quotient bit, and two for the rounding."""
    return np.where(layer.mean, layer.y_bits + DIVIDER_EXTRA_DEPTH, 0)


def output_rows(layer: LayerGeometry) -> Ints:
    """Rows of logits that the output buffer holds."""
    return np.maximum(2, OUTPUT_BUFFER_BEATS // np.maximum(layer.logit_beats, 1))


def latency_cycles(layers: list[LayerGeometry], workload: Workload, read_latency: int = READ_LATENCY) -> Ints:
    """[n] cycles of n designs on one graph."""
    first = layers[0]
    if workload.nodes == 0:
        return np.full(len(first.k), START_CYCLES + FINISH_CYCLES, np.int64)
    fetch = read_latency + FETCH_CYCLES
    total = START_CYCLES + fetch + _parameter_beats(layers)
    total = total + fetch + _first_phase(first, workload) + TURN_CYCLES
    for layer, following in zip(layers, layers[1:], strict=False):
        total = total + fetch + _hidden_phase(layer, following, workload) + TURN_CYCLES
    return total + fetch + _output_phase(layers[-1], workload) + WRITE_LATENCY + FINISH_CYCLES


def _parameter_beats(layers: list[LayerGeometry]) -> Ints:
    """[n] beats of the parameter region: one memory word a beat (see LayerAccelerator.parameter_words)."""
    beats = np.zeros_like(layers[0].k)
    for layer in layers:
        rows = layer.input_width if layer.first else layer.in_groups * layer.t_in
        beats = beats + rows * layer.out_tiles + (layer.class_tiles if layer.last else layer.act_tiles)
    return beats


def _first_phase(layer: LayerGeometry, workload: Workload) -> Ints:
    """[n] cycles from the first feature beat to the last word of H: linear never waits for store."""
    groups_of = np.zeros(6, np.int64)
    for t_in in np.unique(layer.t_in):
        groups_of[t_in] = np.maximum(1, ceil_div(workload.non_zeros, t_in)).sum()
    return groups_of[layer.t_in] * layer.out_tiles + LINEAR_DEPTH + layer.h_words


def _hidden_phase(layer: LayerGeometry, following: LayerGeometry, workload: Workload) -> Ints:
    """[n] cycles of aggregate -> activate -> linear -> store."""
    zero = np.zeros_like(layer.k)
    per_edge = np.stack([layer.aggr_tiles, zero, zero, zero])
    per_row = np.stack([zero, layer.act_tiles, following.in_groups * following.out_tiles, following.h_words])
    depth = np.stack([
        AGGREGATE_DEPTH + divider_depth(layer), zero + ACTIVATE_DEPTH, zero + LINEAR_DEPTH, zero,
    ])  # fmt: skip
    rows = np.stack([layer.aggr_rows, layer.act_rows, following.store_rows, zero + 1])
    return pipeline_cycles(per_edge, per_row, depth, rows, workload.degrees)


def _output_phase(layer: LayerGeometry, workload: Workload) -> Ints:
    """[n] cycles of aggregate -> head mean and bias -> write, to the last write beat."""
    zero = np.zeros_like(layer.k)
    per_edge = np.stack([layer.aggr_tiles, zero, zero])
    per_row = np.stack([zero, layer.aggr_tiles, layer.logit_beats])
    depth = np.stack([AGGREGATE_DEPTH + divider_depth(layer), zero + HEAD_MEAN_DEPTH, zero])
    rows = np.stack([layer.aggr_rows, output_rows(layer), zero + 1])
    return pipeline_cycles(per_edge, per_row, depth, rows, workload.degrees)


def pipeline_cycles(per_edge: Ints, per_row: Ints, depth: Ints, rows: Ints, degrees: Ints) -> Ints:
    """[n] cycles of a phase of S stages over N rows, from its first start to its last finish.

    Arguments are [S, n]: stage s serves row i in per_edge[s] * degrees[i] + per_row[s] cycles; `depth` and
    `rows` belong to the buffer behind it. Equal designs are worked out once.
    """
    table = np.ascontiguousarray(np.concatenate([per_edge, per_row, depth, rows]).T)
    distinct, inverse = np.unique(table, axis=0, return_inverse=True)
    return _recurrence(distinct, len(per_edge), degrees)[inverse.ravel()]


@numba.njit(cache=True)
def _recurrence(table: Ints, stages: int, degrees: Ints) -> Ints:  # pragma: no cover - compiled
    nodes = len(degrees)
    result = np.zeros(len(table), np.int64)
    finish = np.zeros((stages + 1, nodes), np.int64)
    for design in range(len(table)):
        per_edge, per_row = table[design, :stages], table[design, stages : 2 * stages]
        depth, rows = table[design, 2 * stages : 3 * stages], table[design, 3 * stages :]
        for i in range(nodes):
            arrival = np.int64(0)
            for s in range(stages):
                start = arrival
                if i > 0 and finish[s, i - 1] > start:
                    start = finish[s, i - 1]
                if s + 1 < stages and i >= rows[s] and finish[s + 1, i - rows[s]] > start:
                    start = finish[s + 1, i - rows[s]]
                done = start + per_edge[s] * degrees[i] + per_row[s]
                finish[s, i] = done
                arrival = done + depth[s]
        result[design] = finish[stages - 1, nodes - 1]
    return result
