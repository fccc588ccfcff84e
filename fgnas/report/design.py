"""The page of a design: its pipeline, its time line, its resources and the evidence for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fgnas.hardware.devices import Device
from fgnas.hardware.pipeline.latency import ASK_CYCLES, Workload, timeline
from fgnas.hardware.pipeline.pricing import written_layers
from fgnas.hardware.pipeline.traffic import peak_rows
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.timeline import Timeline, as_seen
from fgnas.report.pipeline import PhaseBox, phases
from fgnas.report.project import ProjectPage, project_page
from fgnas.report.record import PipelineRecord
from fgnas.tasks.nodes import GraphData


@dataclass(frozen=True)
class RowsSeen:
    """Rows that the stages accepted in a simulation, and how many of them in the predicted cycle."""

    total: int
    as_modelled: int


@dataclass(frozen=True)
class DesignPage(ProjectPage):
    """The content of the page of a design on a pipeline.

    `peaks` are the rows of `peak_rows`; projects of older versions have none. With a simulation, `phases` and `cycles`
    are measured and `rows` compares them with the latency model; without one they are the model's, and `rows` is None.
    """

    template = "design.html.j2"

    peaks: list[tuple[str, float, float]]
    phases: list[PhaseBox]
    cycles: int
    modelled_cycles: int
    model_agrees: bool
    rows: RowsSeen | None


def design_page(
    project: PipelineRecord,
    data: GraphData | None = None,
    float_accuracy: Mapping[str, float] | None = None,
    device: Device | None = None,
) -> DesignPage:
    """The page of a project; see `project_page`."""
    summary = project.summary
    shape = GraphShape(**summary["shape"])
    workload = Workload(project.non_zeros, project.degrees, shape.degree_capacity)
    times = timeline(written_layers(summary), workload, beat_cycles=project.price.get("beat_cycles", 1.0))
    seen = seen_by_simulation(times, project)
    return DesignPage(
        **project_page(project, data, float_accuracy, device),
        peaks=peak_rows(project.price, project.specification.port_bits) if "peak_beats" in project.price else [],
        phases=phases(seen or times, times, summary),
        cycles=(seen or times).cycles,
        modelled_cycles=times.cycles,
        model_agrees=times.cycles == project.price["latency_cycles"],
        rows=compared_rows(seen, times) if seen else None,
    )


def seen_by_simulation(times: Timeline, project: PipelineRecord) -> Timeline | None:
    """The time line of the project's last simulation; None if no simulation recorded the rows."""
    report = project.reports.get("sim", {})
    begins = [asked - ASK_CYCLES for asked in report.get("phase_cycles", [])]
    return as_seen(times, project.rows, begins, report["cycles"]) if project.rows and begins else None


def compared_rows(seen: Timeline, modelled: Timeline) -> RowsSeen:
    """Count the rows of stages that a simulation finished in the predicted cycle."""
    pairs = [
        (mine.finishes, other.finishes)
        for phase, expected in zip(seen.phases[1:], modelled.phases[1:], strict=True)
        for mine, other in zip(phase.stages, expected.stages, strict=True)
    ]
    return RowsSeen(sum(len(mine) for mine, _ in pairs), sum(int((mine == other).sum()) for mine, other in pairs))


RECORD, PAGE = PipelineRecord, design_page
"""How a project of this kind is read and shown: see `fgnas.hardware.kind.Kind.page`."""
