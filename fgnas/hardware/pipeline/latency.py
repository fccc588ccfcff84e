"""Cycles of the whole kernel on the whole graph, from the accepted start write to the interrupt.

With the reference memory (addresses and write data always accepted, first read beat `READ_LATENCY` cycles after the
address, then a beat a cycle, write response `WRITE_LATENCY` cycles after the last beat) this is no estimate. The RTL's
handshakes implement the recurrence of `fgnas.hardware.recurrence` over the graphs of `fgnas.hardware.pipeline.stages`,
and the simulation counts the same cycles. Where the memory's port needs `beat_cycles` cycles for a beat, the first beat
of a burst is complete `beat_cycles` - 1 cycles later, the others follow every `beat_cycles` cycles, and the recurrence
of `fgnas.hardware.port` is as exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fgnas.hardware import wire
from fgnas.hardware.numbers import Ints
from fgnas.hardware.pipeline.geometry import LayerGeometry
from fgnas.hardware.pipeline.memories import reader_buffer, ring_edges_before_a_row
from fgnas.hardware.pipeline.packing import pack_rows
from fgnas.hardware.pipeline.stages import LOAD, first_layer, parameter_beats, phase_graph
from fgnas.hardware.port import Port, load_cycles, port_cycles
from fgnas.hardware.shape import GraphShape, Sized
from fgnas.hardware.stage import Bools, StageGraph
from fgnas.hardware.timeline import Phase, Timeline
from fgnas.hardware.timeline import timeline as timeline_of

BURST_BEATS = 4096 // wire.BEAT_BYTES
"""Beats of a burst of the reader: a page."""
READ_LATENCY = 16
WRITE_LATENCY = 4

START_CYCLES = 3
"""From the accepted start write to the first cycle of the load phase."""
FETCH_CYCLES = 4
"""From a phase's first cycle to its first beat at a stage, beyond the memory's read latency."""
ASK_CYCLES = 1
"""The part of FETCH_CYCLES before the phase asks for that beat."""
TURN_CYCLES = 1
"""From the end of a phase's last stage to the first cycle of the next phase."""
FINISH_CYCLES = 4
"""From the last write beat's response to the interrupt."""


@dataclass(frozen=True, eq=False)
class Workload:
    """The part of a graph that the latency depends on: N rows, their non-zeros and their degrees.

    `ring_release[i]` is the row whose edges must have left gat's ring before row i may start: the last one with
    more edges between its start and row i than the ring holds beside the longest row; -1 where there is none.
    """

    non_zeros: NDArray[np.int64]
    degrees: NDArray[np.int64]
    degree_capacity: int
    ring_release: NDArray[np.int64] = field(init=False)
    _row_beats: dict[int, Ints] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        before = np.concatenate([[0], np.cumsum(self.degrees)])
        # Rows j .. i-1 hold before[i] - before[j] edges: too many for every j below the first that fits.
        room = ring_edges_before_a_row(self.degree_capacity)
        first_fit = np.searchsorted(before, before[:-1] - room, side="left")
        object.__setattr__(self, "ring_release", first_fit.astype(np.int64) - 1)

    @classmethod
    def of(cls, data: Sized) -> Workload:
        """The workload of a graph."""
        return cls(data.non_zeros, data.degrees, GraphShape.of(data).degree_capacity)

    @property
    def nodes(self) -> int:
        """N."""
        return len(self.degrees)

    def row_beats(self, t_in: int) -> Ints:
        """[N] feature beats of each row in the first layer; computed once for each t_in."""
        if t_in not in self._row_beats:
            self._row_beats[t_in] = pack_rows(self.non_zeros, t_in).row_beats
        return self._row_beats[t_in]


@dataclass(frozen=True, eq=False)
class Run:
    """One phase of the designs that have the same stages in it.

    Attributes:
        graph: their stages.
        chosen: [n] which designs.
        layers: the geometry of the layers in the phase, of all n designs.
        items: [N] feature beats or edges of each row.
        release: for a buffer of items, see `fgnas.hardware.recurrence`.
    """

    graph: StageGraph
    chosen: Bools
    layers: Sequence[LayerGeometry]
    items: Ints
    release: Ints | None


def runs(phase: int, layers: Sequence[LayerGeometry], workload: Workload) -> Iterator[Run]:
    """A phase of n designs for one node at least, designs with the same stages and items together."""
    last = len(layers)
    here = layers[first_layer(phase) : phase + 1]
    never = np.zeros(np.size(layers[0].k), bool)
    attending = never if phase == 0 else never | here[0].gat
    scoring = never if phase == last else never | here[-1].gat
    t_in = np.broadcast_to(layers[0].t_in if phase == 0 else 0, never.shape)
    for attends in (False, True):
        for scores in (False, True):
            for lanes in np.unique(t_in):
                chosen = (attending == attends) & (scoring == scores) & (t_in == lanes)
                if chosen.any():
                    items = workload.row_beats(int(lanes)) if phase == 0 else workload.degrees
                    graph = phase_graph(phase, last, attends, scores)
                    yield Run(graph, chosen, here, items, workload.ring_release if attends else None)


def latency_cycles(
    layers: Sequence[LayerGeometry], workload: Workload, read_latency: int = READ_LATENCY, beat_cycles: float = 1.0
) -> Ints:
    """[n] cycles of n designs on one graph, with a port that takes `beat_cycles` for a beat.

    n is 1 where the sizes are integers.
    """
    if workload.nodes == 0:
        return np.full(np.size(layers[0].k), START_CYCLES + FINISH_CYCLES, np.int64)
    return np.sum(phase_cycles(layers, workload, read_latency, beat_cycles), axis=0)


def phase_cycles(
    layers: Sequence[LayerGeometry], workload: Workload, read_latency: int = READ_LATENCY, beat_cycles: float = 1.0
) -> list[Ints]:
    """[n] cycles of each phase, for one node at least: load, one for each layer, output.

    Their sum is the latency: a phase includes its fetch and its turn, the load also the cycles before it, and the
    output those after its last beat.
    """
    fetch, last, port = read_latency + FETCH_CYCLES, len(layers), port_of(read_latency, beat_cycles)
    found = [START_CYCLES + fetch + load_cycles(port, np.atleast_1d(parameter_beats(layers)))]
    for phase in range(last + 1):
        after = WRITE_LATENCY + FINISH_CYCLES if phase == last else TURN_CYCLES
        cycles = np.full(np.size(layers[0].k), fetch + after)
        for run in runs(phase, layers, workload):
            services = run.graph.services(run.layers)
            cycles[run.chosen] += port_cycles(services, run.items, port, run.chosen, run.release)
        found.append(cycles)
    return found


def port_of(read_latency: int, beat_cycles: float) -> Port:
    """The memory port as the reader sees it; regions begin on a page, as in the test bench."""
    queue = int(reader_buffer().of(0).depth)
    return Port(beat_cycles, read_latency + FETCH_CYCLES, BURST_BEATS, queue)


def phases(
    layers: Sequence[LayerGeometry], workload: Workload, read_latency: int = READ_LATENCY, beat_cycles: float = 1.0
) -> list[Phase]:
    """The phases of the first design in `layers`, for one node at least: load, one for each layer, output."""
    fetch, last, port = read_latency + FETCH_CYCLES, len(layers), port_of(read_latency, beat_cycles)
    beats = np.atleast_1d(parameter_beats(layers))[:1]
    found = [Phase("load", None, 0, LOAD.services([layers]), beats, None, fetch, 0, port)]
    for phase in range(last + 1):
        run = next(run for run in runs(phase, layers, workload) if run.chosen[0])
        name, after = ("output", WRITE_LATENCY) if phase == last else (f"phase {phase}", TURN_CYCLES)
        services = run.graph.services(run.layers)
        found.append(Phase(name, phase, first_layer(phase), services, run.items, run.release, fetch, after, port))
    return found


def timeline(
    layers: Sequence[LayerGeometry], workload: Workload, read_latency: int = READ_LATENCY, beat_cycles: float = 1.0
) -> Timeline:
    """The time line of the first design in `layers` on one graph."""
    found = phases(layers, workload, read_latency, beat_cycles) if workload.nodes else []
    return timeline_of(found, START_CYCLES, FINISH_CYCLES)
