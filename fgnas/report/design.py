"""The page of a design: its pipeline, its time line, what it takes and what is proven of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fgnas.data import GraphData
from fgnas.design import Design
from fgnas.hardware.devices import Device
from fgnas.hardware.geometry import GraphShape, geometry
from fgnas.hardware.latency import Workload
from fgnas.hardware.pricing import design_resources
from fgnas.hardware.resources import DEFAULT_FAMILY, characterised
from fgnas.hardware.timeline import timeline
from fgnas.report.pipeline import PhaseBox, phases
from fgnas.report.record import ProjectRecord
from fgnas.report.verification import Check, ResourceRow, Rung, checks, ladder, largest_modules, resource_rows
from fgnas.space import columns_of


@dataclass(frozen=True)
class DesignPage:
    """Everything that the page of a design shows.

    `family` is the one that resources are predicted for: xc7 where there is no table of the wanted one; `synthesised`
    the one of the synthesis, "" where none ran.
    """

    directory: str
    name: str
    dataset: str
    design: dict[str, Any]
    price: dict[str, Any]
    sizes: dict[str, int]
    shape: dict[str, int]
    part: str
    device: Device | None
    phases: list[PhaseBox]
    cycles: int
    model_agrees: bool
    ladder: list[Rung]
    checks: list[Check]
    resources: list[ResourceRow]
    family: str
    synthesised: str
    modules: list[tuple[str, dict[str, Any]]]

    @property
    def simulated(self) -> str:
        """"same" where a simulation began every phase in the cycle given here, "other" where not; "" without one."""
        if not self.phases or any(phase.simulated is None for phase in self.phases):
            return ""
        return "same" if all(phase.simulated == phase.begin for phase in self.phases) else "other"


def design_page(
    project: ProjectRecord,
    data: GraphData | None = None,
    float_accuracy: Mapping[str, float] | None = None,
    device: Device | None = None,
) -> DesignPage:
    """The page of a project. `data`, where it can be had, is what accuracies are measured on."""
    summary = project.summary
    design = Design.from_dict(summary["design"])
    shape = GraphShape(**summary["shape"])
    workload = Workload(project.non_zeros, project.degrees, shape.degree_capacity)
    times = timeline(geometry(columns_of([design]), shape), workload)
    synth = project.reports.get("synth")
    wanted = synth["family"] if synth else device.family if device else DEFAULT_FAMILY
    family = wanted if wanted in characterised() else DEFAULT_FAMILY
    return DesignPage(
        directory=project.directory,
        name=summary["design_hash"],
        dataset=summary["dataset"],
        design=summary["design"],
        price=project.price,
        sizes=project.sizes,
        shape=summary["shape"],
        part=project.part,
        device=device,
        phases=phases(times, summary, project.reports.get("sim", {})),
        cycles=times.cycles,
        model_agrees=times.cycles == project.price["latency_cycles"],
        ladder=ladder(project, data, float_accuracy),
        checks=checks(project),
        resources=resource_rows(design_resources(design, shape, family), synth, device),
        family=family,
        synthesised=synth["family"] if synth else "",
        modules=largest_modules(synth) if synth else [],
    )
