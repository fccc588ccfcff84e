"""When each stage of one design works: the recurrence of the latency model, kept row by row.

`latency` answers how long many designs take; this module runs the same stages for one design and keeps every start
and finish, for pictures and for finding the stage that the others wait for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fgnas.hardware.pipeline.geometry import LayerGeometry
from fgnas.hardware.pipeline.latency import (
    FETCH_CYCLES,
    FINISH_CYCLES,
    READ_LATENCY,
    START_CYCLES,
    TURN_CYCLES,
    WRITE_LATENCY,
    Stage,
    Workload,
    first_stages,
    hidden_stages,
    output_stages,
    parameter_beats,
)

Cycles = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StageTimes:
    """When one stage works on each row, in cycles from the accepted start write.

    Attributes:
        name: what docs/accelerator.md calls the stage.
        layer: whose numbers it works with.
        before: place of the stage that feeds it; -1 for the first.
        rows: rows that the buffer between the two holds.
        starts, finishes: [N] of every row; rows do not overlap.
    """

    name: str
    layer: int
    before: int
    rows: int
    starts: Cycles
    finishes: Cycles

    @property
    def busy(self) -> int:
        """Cycles in which it works."""
        return int((self.finishes - self.starts).sum())

    def busy_share(self, begin: int, end: int, parts: int) -> NDArray[np.float64]:
        """[parts] share of each equal part of begin to end in which it works, 0 to 1."""
        edges = np.linspace(begin, end, parts + 1)
        done = np.concatenate([[0], np.cumsum(self.finishes - self.starts)])
        times = np.stack([self.starts, self.finishes], axis=1).ravel()
        worked = np.interp(edges, times, np.stack([done[:-1], done[1:]], axis=1).ravel())
        return np.diff(worked) / ((end - begin) / parts)


@dataclass(frozen=True, eq=False)
class PhaseTimes:
    """One phase: from its first cycle to that of the next phase."""

    name: str
    begin: int
    end: int
    stages: tuple[StageTimes, ...]

    @property
    def cycles(self) -> int:
        """How long it takes."""
        return self.end - self.begin

    @property
    def busiest(self) -> StageTimes:
        """The stage that works most: the one to give more lanes."""
        return max(self.stages, key=lambda stage: stage.busy)


@dataclass(frozen=True, eq=False)
class Timeline:
    """The phases of one inference, and the cycle of the interrupt, which is what `latency_cycles` gives."""

    phases: tuple[PhaseTimes, ...]
    cycles: int


def timeline(layers: Sequence[LayerGeometry], workload: Workload, read_latency: int = READ_LATENCY) -> Timeline:
    """The time line of the first design in `layers` on one graph."""
    if workload.nodes == 0:
        return Timeline((), START_CYCLES + FINISH_CYCLES)
    fetch = read_latency + FETCH_CYCLES
    first, last = layers[0], layers[-1]
    attends = [bool(layer.gat[0]) for layer in layers]
    beats = int(parameter_beats(list(layers))[0])
    here = START_CYCLES + fetch
    load = StageTimes("load", 0, -1, 1, np.array([here]), np.array([here + beats]))
    phases = [PhaseTimes("load", START_CYCLES, here + beats, (load,))]

    def add(name: str, stages: list[Stage], layer: int, weights: Cycles, release: Cycles | None, after: int) -> None:
        begin = phases[-1].end
        times = _stage_times(stages, layer, weights, release, begin + fetch)
        end = max(int(stage.finishes[-1]) for stage in times) + after
        phases.append(PhaseTimes(name, begin, end, times))

    rows = workload.row_beats(int(first.t_in[0]))
    add("phase 0", first_stages(first, attends[0]), 0, rows, None, TURN_CYCLES)
    for index, (layer, following) in enumerate(zip(layers, layers[1:], strict=False)):
        stages = hidden_stages(layer, following, attends[index], attends[index + 1])
        release = workload.ring_release if attends[index] else None
        add(f"phase {index + 1}", stages, index, workload.degrees, release, TURN_CYCLES)
    release = workload.ring_release if attends[-1] else None
    stages = output_stages(last, attends[-1])
    add("output", stages, len(layers) - 1, workload.degrees, release, WRITE_LATENCY)
    return Timeline(tuple(phases), phases[-1].end + FINISH_CYCLES)


def as_seen(times: Timeline, rows: Mapping[str, Cycles], begins: Sequence[int], cycles: int) -> Timeline | None:
    """The time line with the cycles that a simulation saw in place of the model's; None where it did not see all.

    `rows` has, by PHASE.STAGE, the [N] cycle in which a stage took in the last of each row; `begins` when each phase
    began, the load first; `cycles` are those to the interrupt. What a row costs stays the model's.
    """
    if len(begins) != len(times.phases):
        return None
    ends = [*begins[1:], cycles - FINISH_CYCLES]
    phases = []
    for index, (phase, begin, end) in enumerate(zip(times.phases, begins, ends, strict=True)):
        stages = []
        for stage in phase.stages:
            taken = rows.get(row_name(index - 1, stage)) if index else np.array([end - 1])
            if taken is None or len(taken) != len(stage.starts):
                return None
            finishes = taken.astype(np.int64) + 1
            starts = np.maximum(finishes - (stage.finishes - stage.starts), np.concatenate([[begin], finishes[:-1]]))
            stages.append(replace(stage, starts=starts, finishes=finishes))
        phases.append(PhaseTimes(phase.name, begin, end, tuple(stages)))
    return Timeline(tuple(phases), cycles)


def row_name(phase: int, stage: StageTimes) -> str:
    """PHASE.STAGE, as the taps of a simulation are named; phase 0 follows the load."""
    return f"{phase}.{stage.name.replace(' ', '_')}"


def _stage_times(
    stages: list[Stage], layer: int, weights: Cycles, release: Cycles | None, origin: int
) -> tuple[StageTimes, ...]:
    """Every row of the recurrence in `latency`, its first start at `origin`."""
    served = [weights * int(stage.per_edge[0]) + int(stage.per_row[0]) for stage in stages]
    finishes = _finishes(stages, [row.tolist() for row in served], None if release is None else release.tolist())
    # Behind the activation work the stages of the next layer.
    names = [stage.name for stage in stages]
    next_from = names.index("activate") + 1 if "activate" in names else len(names)
    return tuple(
        StageTimes(
            stage.name, layer + (place >= next_from), stage.before, int(stage.rows[0]), origin + finish - service,
            origin + finish,
        )
        for place, (stage, finish, service) in enumerate(zip(stages, map(np.array, finishes), served, strict=True))
    )  # fmt: skip


def _finishes(stages: list[Stage], served: list[list[int]], release: list[int] | None) -> list[list[int]]:
    """[stages][N] last cycles, with `served` the service time of each row."""
    before = [stage.before for stage in stages]
    depth = [int(stage.depth[0]) for stage in stages]
    behind: list[list[tuple[int, int]]] = [[] for _ in stages]
    for q, stage in enumerate(stages):
        if stage.before >= 0:
            behind[stage.before].append((q, int(stage.rows[0])))
    finish: list[list[int]] = [[] for _ in stages]
    for row in range(len(served[0])):
        for s, own in enumerate(finish):
            start = own[-1] if own else 0
            if before[s] >= 0:
                start = max(start, finish[before[s]][row] + depth[before[s]])
            elif release is not None and release[row] >= 0:
                start = max(start, finish[1][release[row]])
            for q, rows in behind[s]:
                if row >= rows:
                    start = max(start, finish[q][row - rows])
            own.append(start + served[s][row])
    return finish
