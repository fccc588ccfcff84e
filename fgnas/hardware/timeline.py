"""When each stage of one design works on each row, for pictures and for finding the stage that the others wait for.

The recurrence of `fgnas.hardware.recurrence` says how many cycles a phase takes; this module keeps every row's start
and finish, as the recurrence gives them or as a simulation recorded them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fgnas.hardware.port import Port, port_finishes
from fgnas.hardware.recurrence import row_finishes
from fgnas.hardware.stage import Ints, Services, Stage, StageGraph


@dataclass(frozen=True, eq=False)
class Phase:
    """One phase of one design, before its rows are worked out.

    Attributes:
        name: its title.
        number: its number in the names of recorded rows; None where a simulation records none.
        layer: index of its first layer.
        services: the numbers of its stages, of which the first design's count.
        items: [N] items of each row.
        release: [N] where a buffer holds items, see `fgnas.hardware.recurrence`.
        before: cycles from its beginning to the start of the first stage.
        after: cycles from its end to the beginning of the next phase.
        port: the memory port that its beats pass; None for one that takes a beat a cycle.
    """

    name: str
    number: int | None
    layer: int
    services: Services
    items: Ints
    release: Ints | None
    before: int
    after: int
    port: Port | None = None


@dataclass(frozen=True, eq=False)
class StageTimes:
    """When one stage works on each row, in cycles from the accepted start write.

    Attributes:
        stage: the stage in its phase's graph.
        layer: index of the layer whose sizes it uses.
        per_item, per_row: cycles for an item, and for a row beyond its items.
        rows: rows that the buffer before it holds; 0 for the first stage of a phase.
        starts, finishes: [N] of every row; rows do not overlap.
    """

    stage: Stage
    layer: int
    per_item: int
    per_row: int
    rows: int
    starts: Ints
    finishes: Ints

    @property
    def name(self) -> str:
        """The stage's name."""
        return self.stage.name

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
    """One phase: from its first cycle to that of the next phase.

    Attributes:
        name, number: as in `Phase`.
        graph: its stages and buffers.
        begin, end: its first cycle, and that of the next phase.
        stages: in the graph's order.
    """

    name: str
    number: int | None
    graph: StageGraph
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

    @property
    def recorded(self) -> dict[str, StageTimes]:
        """The stages by the names that a simulation records their rows under; empty where it records none."""
        return {} if self.number is None else {row_name(self.number, times.stage): times for times in self.stages}


@dataclass(frozen=True, eq=False)
class Timeline:
    """The phases of one inference, and the cycle of the interrupt, which is the latency."""

    phases: tuple[PhaseTimes, ...]
    cycles: int


def row_name(phase: int, stage: Stage) -> str:
    """PHASE.STAGE, the name of a stage's rows in the record of a simulation."""
    return f"{phase}.{stage.identifier}"


def timeline(phases: Sequence[Phase], start: int, finish: int) -> Timeline:
    """The time line of phases that follow each other, `start` cycles after the start and `finish` before the end."""
    found, begin = [], start
    for phase in phases:
        times, end = _stage_times(phase, begin + phase.before)
        end += phase.after
        found.append(PhaseTimes(phase.name, phase.number, phase.services.graph, begin, end, times))
        begin = end
    return Timeline(tuple(found), begin + finish)


def as_seen(times: Timeline, rows: Mapping[str, Ints], begins: Sequence[int], cycles: int) -> Timeline | None:
    """The time line with the cycles that a simulation recorded in place of the model's; None where some are missing.

    `rows` has, by `row_name`, the [N] cycle in which a stage took in the last item of each row; `begins` has the first
    cycle of each phase; `cycles` is the number up to the interrupt. A row's service time remains the model's.
    """
    if len(begins) != len(times.phases) or not begins:
        return None
    ends = [*begins[1:], cycles - (times.cycles - times.phases[-1].end)]
    phases = []
    for phase, begin, end in zip(times.phases, begins, ends, strict=True):
        recorded = {times: rows.get(name) for name, times in phase.recorded.items()}
        stages = []
        for stage in phase.stages:
            # A phase without a record ends with its last row.
            taken = recorded[stage] if recorded else np.array([end - 1])
            if taken is None or len(taken) != len(stage.starts):
                return None
            finishes = taken.astype(np.int64) + 1
            starts = np.maximum(finishes - (stage.finishes - stage.starts), np.concatenate([[begin], finishes[:-1]]))
            stages.append(replace(stage, starts=starts, finishes=finishes))
        phases.append(replace(phase, begin=begin, end=end, stages=tuple(stages)))
    return Timeline(tuple(phases), cycles)


def _stage_times(phase: Phase, origin: int) -> tuple[tuple[StageTimes, ...], int]:
    """Every row of a phase whose first stage starts at `origin`, and the end of its last stage."""
    services = phase.services
    if phase.port is None or phase.port.beat_cycles == 1:
        finishes = row_finishes(services, phase.items, phase.release) + origin
        end = int(finishes[:, -1].max())
    else:
        finishes, last = port_finishes(services, phase.items, phase.port, phase.release)
        finishes, end = finishes + origin, last + origin
    found = []
    for stage, (per_item, per_row, _, rows), finish in zip(
        services.graph.stages, services.table[:, :, 0].T.tolist(), finishes, strict=True
    ):
        starts = finish - (per_item * phase.items + per_row)
        found.append(StageTimes(stage, phase.layer + stage.layer, per_item, per_row, rows, starts, finish))
    return tuple(found), end
