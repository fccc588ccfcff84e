"""The page of an imported network on an array: what its layers became, its metrics, calls, and the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fgnas.hardware.array.engine import Engine
from fgnas.hardware.devices import Device
from fgnas.report.array import PhaseRow, phases
from fgnas.report.drawing import ArrayDrawing, array_drawing
from fgnas.report.project import Page, evidence
from fgnas.report.record import ImportedRecord
from fgnas.report.verification import Level, compared_levels
from fgnas.tasks.collection import METRICS


@dataclass(frozen=True)
class ImportedPage(Page):
    """The content of the page.

    Attributes:
        rows: nodes or graphs, whichever have results. metric: the name of the figures in the ladder.
        shares: whether these are shares, shown as per cent.
        layers: a row for each module: layer, kind, becomes.
    """

    template = "imported.html.j2"

    model: str
    rows: str
    metric: str
    shares: bool
    bits: int | None
    width_in: int
    engine: Engine
    drawing: ArrayDrawing
    layers: list[dict[str, str]]
    phases: list[PhaseRow]


def imported_page(
    project: ImportedRecord, data: None = None, float_accuracy: Mapping[str, float] | None = None,
    device: Device | None = None,
) -> ImportedPage:  # fmt: skip
    """The page of a project; its metrics are those that the import measured."""
    summary = project.summary
    design = summary["design"]
    kind = design.get("targets", "classes")
    return ImportedPage(
        **evidence(project, device), name=summary["name"], model=design["model"], rows=design.get("rows", "nodes"),
        metric=METRICS[kind], shares=kind == "classes", bits=design.get("bits"), width_in=summary["shape"]["width_in"],
        ladder=levels(project, float_accuracy or {}), engine=project.engine, drawing=array_drawing(project.engine),
        layers=design["layers"], phases=phases(project),
    )  # fmt: skip


def levels(project: ImportedRecord, exact: Mapping[str, float]) -> list[Level]:
    """The levels from the float model to the hardware. A project of many graphs contains only some of them, so levels
    that were compared on these show no accuracy of all."""
    design = project.summary["design"]
    integers = design.get("metrics", {}).get("quantised", {})
    every = "every graph of both parts" if design.get("rows") == "graphs" else "every node of both parts"
    return [
        Level("Float model", exact.get("val"), exact.get("test"), f"PyTorch, the model as it is, {every}", "right"),
        Level("Integer network", integers.get("val"), integers.get("test"), every, "right"),
        *compared_levels(project, None if design.get("rows") == "graphs" or len(integers) < 2 else integers),
    ]


RECORD, PAGE = ImportedRecord, imported_page
"""How a project of this kind is read and shown: see `fgnas.hardware.kind.Described.page`."""
