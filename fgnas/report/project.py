"""What the pages of all projects show: the design, the evidence for it, and its resources."""

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


@dataclass(frozen=True)
class ProjectPage:
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
    design: dict[str, Any]
    price: dict[str, Any]
    notes: tuple[str, ...]
    clock_mhz: float
    sizes: dict[str, int]
    shape: dict[str, int]
    part: str
    device: Device | None
    ladder: list[Level]
    checks: list[Check]
    limited: bool
    resources: list[ResourceRow]
    family: str
    synthesised: str
    modules: list[tuple[str, dict[str, Any]]]


def project_page(
    project: ProjectRecord,
    data: GraphData | None = None,
    float_accuracy: Mapping[str, float] | None = None,
    device: Device | None = None,
) -> dict[str, Any]:
    """The fields of `ProjectPage`. Accuracies are measured on `data`; without it they are left out."""
    summary, synth = project.summary, project.reports.get("synth")
    wanted = synth["family"] if synth else device.family if device else project.specification.family
    limits = device.available() if device else project.specification.resources()
    family = wanted if wanted in characterised() else DEFAULT_FAMILY
    return {
        "directory": project.directory,
        "name": summary["design_hash"],
        "dataset": summary["dataset"],
        "design": summary["design"],
        "price": project.price,
        "notes": data.remarks if data else (),
        "clock_mhz": project.specification.clock_mhz,
        "sizes": project.sizes,
        "shape": summary["shape"],
        "part": project.part,
        "device": device,
        "ladder": ladder(project, data, float_accuracy),
        "checks": checks(project),
        "limited": bool(limits),
        "resources": resource_rows(described_kind(summary).resources(summary, family), synth, limits),
        "family": family,
        "synthesised": synth["family"] if synth else "",
        "modules": largest_modules(synth) if synth else [],
    }
