"""Networks for hardware that is built already: one bitstream, many networks."""

from __future__ import annotations

import functools
import importlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fgnas.api.data import Data
from fgnas.api.designs import Design
from fgnas.api.imports import ImportedNetwork
from fgnas.backends.project import BUILT, MARK, check_own, read_specification
from fgnas.errors import UserError
from fgnas.hardware.array.built import imported_on
from fgnas.hardware.array.engine import Engine
from fgnas.hardware.kind import Built
from fgnas.hardware.kinds import ARRAY, PIPELINE, find_kind
from fgnas.hardware.specification import Specification
from fgnas.progress import step
from fgnas.tasks.nodes import GraphData
from fgnas.tasks.pooled import start_of


@dataclass(frozen=True)
class _Use:
    """A network on a project's array.

    Attributes:
        named: the hash of the network, by its name in reports.
        dataset: what it is encoded for.
        calls, cycles: on the project's array.
        new_cycles: on the fastest array of as many multipliers that is made for it alone.
        write: writes its folder; given the project's path from there, the folder, and the project's specification.
    """

    named: dict[str, str]
    dataset: str
    calls: int
    cycles: int
    new_cycles: int
    write: Callable[[str, Path, Specification], Any]


def encode(
    design: Design | ImportedNetwork, project: str | os.PathLike[str],
    directory: str | os.PathLike[str] | None = None, data: Data | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Write a network for the array of a project to `directory`; without a directory only return its cycles there.

    A design without weights is trained first; an imported network has its data. Returns the network's hash, `calls`
    that it takes, `cycles` and `latency_ms` on the project's array at its clock, and the same of the fastest array of
    as many multipliers that is made for it alone (`new_cycles`, `new_latency_ms`). The folder has vectors, reports and
    weights, which `Project.csim`, `Project.simulate` and the board's driver run on the project's hardware. Raises
    UserError where that does not run the network: with what it lacks.
    """
    home = Path(project)
    check_own(home)
    if directory is not None:
        _check_apart(Path(directory), home)
    use = _imported_on(design, home) if isinstance(design, ImportedNetwork) else _design_on(design, home, data)
    specification = read_specification(home)
    report: dict[str, Any] = {
        "project": str(home), "calls": use.calls, **use.named, "dataset": use.dataset,
        "cycles": use.cycles, "latency_ms": specification.milliseconds(use.cycles),
        "new_cycles": use.new_cycles, "new_latency_ms": specification.milliseconds(use.new_cycles),
    }  # fmt: skip
    if directory is None:
        return report
    with step("write the network"):
        directory = Path(directory).absolute()
        use.write(os.path.relpath(home.absolute(), directory), directory, specification)
    return report | {"directory": str(directory)}


def _check_apart(directory: Path, home: Path) -> None:
    """Raise UserError where a network written to a folder would replace hardware, or be replaced with it."""
    place, project = directory.resolve(), home.resolve()
    if place == project or project in place.parents or place in project.parents:
        raise UserError(f"{directory} is the project {home}, or one is inside the other: name a folder beside it")
    if (directory / MARK).is_file() and not (directory / BUILT).is_file():
        raise UserError(f"{directory} is a project with hardware of its own, which would be lost: name another folder")


def _design_on(design: Design, home: Path, data: Data | None) -> _Use:
    fitted, found = fitted_on(design, home, data)
    write = functools.partial(importlib.import_module(fitted.kind.backend).write_use, fitted, found)
    return _Use({"design_hash": design.hash}, found.name, fitted.calls, fitted.cycles(), fitted.cycles_afresh(), write)


def _imported_on(network: ImportedNetwork, home: Path) -> _Use:
    from fgnas.backends.array import write_imported_use

    summary = _summary(home)
    with step("arrange the network on the project's array"):
        try:
            if summary.get("target", PIPELINE.name) != ARRAY.name:
                raise UserError("an imported network runs on an array")
            engine = Engine.of(summary.get("engine"))
            found = imported_on(engine, network.source)
        except UserError as error:
            raise _refused(home, network.label, error) from None
    afresh = network.fitted(multipliers=engine.multipliers, beat_bits=engine.beat_bits).cycles
    write = functools.partial(write_imported_use, found)
    named = {"network_hash": network.hash}
    return _Use(named, network.source.dataset, found.count, found.cycles, afresh, write)


def fitted_on(design: Design, project: Path, data: Data | None = None) -> tuple[Built, GraphData]:
    """A design with its weights on the hardware of a project, and the data whose graph it is fitted for."""
    summary = _summary(project)
    found = start_of(design.data(data))
    trained = design if design.network is not None else design.train(found)
    assert trained.network is not None
    with step("arrange the network on the project's array"):
        try:
            kind = find_kind(summary.get("target", PIPELINE.name))
            return kind.fit_built(summary, trained.choices, trained.network, found), found
        except UserError as error:
            raise _refused(project, design.label, error) from None


def _refused(project: Path, label: str, error: UserError) -> UserError:
    return UserError(f"{project} does not run {label}: {error}; `fgnas hls` makes hardware that does")


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
