"""The page of a design on a multiplier array: its phases, the pipeline of the same design beside it, the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fgnas.design import Design, columns_of
from fgnas.hardware.array.engine import Engine
from fgnas.hardware.devices import Device
from fgnas.hardware.pipeline.pricing import Pricer
from fgnas.report.drawing import ArrayDrawing, array_drawing
from fgnas.report.project import ProjectPage, project_page
from fgnas.report.record import ArrayRecord, ProjectRecord
from fgnas.report.verification import ResourceRow
from fgnas.tasks.nodes import GraphData


@dataclass(frozen=True)
class PhaseRow:
    """One phase: its cycles by the model and in the last simulation (None before one), its share of all cycles, and
    the share of its multiplier cycles that the network needs."""

    name: str
    predicted: int
    simulated: int | None
    share: float
    busy: float


@dataclass(frozen=True)
class SideBySide:
    """A fact of the array, and of the pipeline that the same design describes; None where it is not known."""

    label: str
    array: float | None
    pipeline: float | None


@dataclass(frozen=True)
class ArrayPage(ProjectPage):
    """The content of the page. `against` compares with the pipeline; it is empty without the data."""

    template = "array.html.j2"

    engine: Engine
    drawing: ArrayDrawing
    phases: list[PhaseRow]
    against: list[SideBySide]


def array_page(
    project: ArrayRecord,
    data: GraphData | None = None,
    float_accuracy: Mapping[str, float] | None = None,
    device: Device | None = None,
) -> ArrayPage:
    """The page of a project; see `project_page`. Without `data` the pipeline's prices are left out, too."""
    fields = project_page(project, data, float_accuracy, device)
    against = against_pipeline(project, data, fields["family"], fields["resources"]) if data else []
    drawing = array_drawing(project.engine)
    return ArrayPage(**fields, engine=project.engine, drawing=drawing, phases=phases(project), against=against)


def phases(project: ProjectRecord) -> list[PhaseRow]:
    """Every phase, as predicted and as the last simulation counted it."""
    price, multipliers = project.price, project.price["multipliers"]
    seen = [phase["cycles"] for phase in project.reports.get("sim", {}).get("phases", [])]
    simulated = seen if len(seen) == len(price["phases"]) else [None] * len(price["phases"])
    return [
        PhaseRow(
            one["name"], one["cycles"], counted, one["cycles"] / price["latency_cycles"],
            one["multiplications"] / (multipliers * one["cycles"]),
        )
        for one, counted in zip(price["phases"], simulated, strict=True)
    ]  # fmt: skip


def against_pipeline(
    project: ArrayRecord, data: GraphData, family: str, resources: list[ResourceRow]
) -> list[SideBySide]:
    """The array beside the pipeline of the same design, with the design's own lanes, on the same graph.

    LUTs and FFs of the array are those of synthesis, where it has run. Empty where no pipeline runs the design.
    """
    design = Design.from_dict(project.summary["design"])
    if not all(layer.pipelined for layer in design.layers):
        return []
    found = Pricer(data, family).price(columns_of([design]), design.dsp).rows(project.specification)[0]
    names = ("latency_cycles", "multipliers", "multiplications", "busy")
    labels = ("Cycles", "Multipliers", "Multiplications that the network needs", "Share of multiplier cycles needed")
    rows = [SideBySide(label, project.price[name], found[name]) for label, name in zip(labels, names, strict=True)]
    for row, name in zip(resources, ("lut", "ff", "dsp", "bram36"), strict=True):
        used = row.predicted if row.synthesised is None else row.synthesised
        rows.append(SideBySide(row.label, used, found[name]))
    return rows


RECORD, PAGE = ArrayRecord, array_page
"""How a project of this kind is read and shown: see `fgnas.hardware.kind.Kind.page`."""
