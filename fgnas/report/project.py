"""Parts that the pages of all projects share: the design, the evidence for it, and its resources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fgnas.hardware.devices import Device
from fgnas.hardware.kinds import described_kind
from fgnas.hardware.pipeline.resources import characterised
from fgnas.hardware.specification import DEFAULT_FAMILY
from fgnas.report.record import ProjectRecord
from fgnas.report.verification import Check, Level, ResourceRow, checks, ladder, largest_modules, resource_rows
from fgnas.tasks.nodes import GraphData

CELLS = (
    ("lut4", "LUT4"), ("ff", "Flip-flops"), ("block_ram", "Block RAM (18 Kb)"),
    ("multipliers", "Multipliers (18 × 18)"),
)  # fmt: skip
"""Kinds of cells of an ECP5, as `fgnas board` names them."""


@dataclass(frozen=True)
class BoardRow:
    """A bitstream of the whole system for a board: clocks in MHz, and (label, used, available) of each kind of cell."""

    name: str
    part: str
    clock_mhz: float
    routed_mhz: float
    cells: list[tuple[str, int, int]]
    memory: int
    needed: int
    load: str


@dataclass(frozen=True)
class Page:
    """The content that every page of a project has.

    `family` is the device family of the predicted resources, xc7 if the requested one has no table; `synthesised`
    is the family of the synthesis, "" before one. `limited` says whether resources are compared with a device or with
    the limits that the project was written for.
    """

    template: ClassVar[str]
    """The template that shows it."""

    directory: str
    name: str
    dataset: str
    price: dict[str, Any]
    clock_mhz: float
    sizes: dict[str, int]
    part: str
    device: Device | None
    ladder: list[Level]
    checks: list[Check]
    limited: bool
    resources: list[ResourceRow]
    family: str
    synthesised: str
    modules: list[tuple[str, dict[str, Any]]]
    boards: list[BoardRow]


@dataclass(frozen=True)
class ProjectPage(Page):
    """The content that every page of a design's project has."""

    design: dict[str, Any]
    notes: tuple[str, ...]
    shape: dict[str, int]


def project_page(
    project: ProjectRecord,
    data: GraphData | None = None,
    float_accuracy: Mapping[str, float] | None = None,
    device: Device | None = None,
) -> dict[str, Any]:
    """The fields of `ProjectPage`. Accuracies are measured on `data`; without it they are left out."""
    summary = project.summary
    return {
        **evidence(project, device),
        "name": summary["design_hash"],
        "design": summary["design"],
        "notes": data.remarks if data else (),
        "shape": summary["shape"],
        "ladder": ladder(project, data, float_accuracy),
    }


def evidence(project: ProjectRecord, device: Device | None) -> dict[str, Any]:
    """The fields of `Page` that follow from the folder and a device alone."""
    summary, synth = project.summary, project.reports.get("synth")
    wanted = synth["family"] if synth else device.family if device else project.specification.family
    limits = device.available() if device else project.specification.resources()
    family = wanted if wanted in characterised() else DEFAULT_FAMILY
    return {
        "directory": project.directory,
        "dataset": summary["dataset"],
        "price": project.price,
        "clock_mhz": project.specification.clock_mhz,
        "sizes": project.sizes,
        "part": project.part,
        "device": device,
        "checks": checks(project),
        "limited": bool(limits),
        "resources": resource_rows(described_kind(summary).resources(summary, family), synth, limits),
        "family": family,
        "synthesised": synth["family"] if synth else "",
        "modules": largest_modules(synth) if synth else [],
        "boards": [board_row(one) for one in project.boards],
    }


def board_row(report: dict[str, Any]) -> BoardRow:
    """The row of a report of `fgnas board`."""
    return BoardRow(
        report["board"], report["part"], report["clock_mhz"], report["routed_mhz"],
        [(label, report["used"][name], report["available"][name]) for name, label in CELLS],
        report["memory_bytes"], report["memory_needed_bytes"], report["load"],
    )  # fmt: skip
