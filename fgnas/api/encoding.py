"""Networks for hardware that is built already: one bitstream, many networks."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

from fgnas.api.data import Data
from fgnas.api.designs import Design
from fgnas.backends.project import read_specification
from fgnas.errors import UserError
from fgnas.hardware.kind import Built
from fgnas.hardware.kinds import PIPELINE, find_kind
from fgnas.progress import step
from fgnas.tasks.nodes import GraphData


def encode(
    design: Design, project: str | os.PathLike[str], directory: str | os.PathLike[str] | None = None,
    data: Data | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Write a design for the array of a project to `directory`; without a directory only return its cycles there.

    A design without weights is trained first. Returns the design's hash, `calls` that it takes, `cycles` and
    `latency_ms` on the project's array at its clock, and the same of the fastest array of as many multipliers that is
    made for the design alone (`new_cycles`, `new_latency_ms`). The folder has vectors, reports and weights, which
    `Project.csim`, `Project.simulate` and the board's driver run on the project's hardware. Raises UserError where that
    does not run the design: with what it lacks.
    """
    home = Path(project)
    fitted, found = fitted_on(design, home, data)
    specification = read_specification(home)
    cycles, afresh = fitted.cycles(), fitted.cycles_afresh()
    report: dict[str, Any] = {
        "project": str(home), "calls": fitted.calls, "design_hash": design.hash, "dataset": found.name,
        "cycles": cycles, "latency_ms": specification.milliseconds(cycles),
        "new_cycles": afresh, "new_latency_ms": specification.milliseconds(afresh),
    }  # fmt: skip
    if directory is None:
        return report
    with step("write the network"):
        directory = Path(directory).absolute()
        built = os.path.relpath(home.absolute(), directory)
        importlib.import_module(fitted.kind.backend).write_use(fitted, found, built, directory, specification)
    return report | {"directory": str(directory)}


def fitted_on(design: Design, project: Path, data: Data | None = None) -> tuple[Built, GraphData]:
    """A design with its weights on the hardware of a project, and the data whose graph it is fitted for."""
    summary = _summary(project)
    found = design.data(data)
    trained = design if design.network is not None else design.train(found)
    assert trained.network is not None
    with step("arrange the network on the project's array"):
        try:
            kind = find_kind(summary.get("target", PIPELINE.name))
            return kind.fit_built(summary, trained.choices, trained.network, found), found
        except UserError as error:
            raise UserError(f"{project} does not run {design.label}: {error}; `fgnas hls` makes hardware that "
                            f"does") from None  # fmt: skip


def _summary(project: Path) -> dict[str, Any]:
    """The hardware of a project."""
    place = project / "report" / "accelerator.json"
    try:
        content = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UserError(f"{project} is no project ({place.name} is missing or damaged): make it with "
                        f"`fgnas hls`") from None  # fmt: skip
    if not isinstance(content, dict):
        raise UserError(f"{place} is damaged: write the project again with `fgnas hls`")
    return content
