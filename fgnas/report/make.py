"""Write the page of a run or of a project."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fgnas import systems
from fgnas.design import Design
from fgnas.engine.contracts import System
from fgnas.engine.store import RunStore, compare
from fgnas.errors import UserError
from fgnas.hardware.devices import Device, find_device
from fgnas.hardware.kinds import described_kind
from fgnas.hardware.measured.device import DeviceFolder
from fgnas.network import Network
from fgnas.networks.training import float_accuracy
from fgnas.report.device import device_page
from fgnas.report.page import device_html, project_html, run_html, write_page
from fgnas.report.preferences import Chance, feasible_shares
from fgnas.report.record import ProjectRecord, RunRecord
from fgnas.report.run import run_page
from fgnas.tasks.nodes import NAMES, GraphData, load

PAGE = "report.html"


def report_run(store: RunStore, page: Path | None = None, data: Any = None) -> Path:
    """Write the page of a run, finished or not, to `page` or to report.html in its folder; returns the path.

    Shares by chance are omitted if the run's data or system is not available.
    """
    run = RunRecord.read(store)
    page = page or store.folder / PAGE
    with _made_by_another_version(store.folder):
        system = _system(run.config["system"])
        if system is None:
            html = run_html(run_page(run))
        else:
            options = system.Options.unresolved(run.config["options"])
            html = run_html(run_page(run, _chance(run, system, data), options, system.back_end is not None))
    write_page(html, page)
    return page


def report_device(folder: DeviceFolder, page: Path | None = None) -> Path:
    """Write the page of a measured device to `page` or to report.html in its folder; returns the path."""
    page = page or folder.path / PAGE
    write_page(device_html(device_page(folder)), page)
    return page


@contextmanager
def _made_by_another_version(folder: Path) -> Iterator[None]:
    """Report a missing or unknown field of a file in one line."""
    try:
        yield
    except (KeyError, TypeError) as error:
        raise UserError(f"{folder} was made by another version of fgnas ({error}): make it again") from None


def _chance(run: RunRecord, system: System, data: Any) -> Chance | None:
    """Shares among feasible draws; None if the run's data is not available or no draw is feasible.

    Raises UserError if `data` is given and is not the run's.
    """
    options = system.Options(**run.config["options"])
    try:
        parts = system.compose(options) if data is None else system.compose(options, data)
    except UserError:
        return None
    if difference := compare(run.config["identity"], json.loads(json.dumps(dict(parts.identity)))):
        if data is not None:
            raise UserError(f"this is not the data that the run {run.name} was made on: {difference}")
        return None
    return feasible_shares(parts) or None


def _system(name: str) -> System | None:
    try:
        return systems.find(name)
    except UserError:
        return None


def report_project(
    directory: Path, page: Path | None = None, data: GraphData | None = None, device: Device | None = None
) -> Path:
    """Write the page of a project to `page` or to report.html in its folder; returns the path.

    Accuracies need the data whose graph is in the project's vectors: `data`, or the dataset that the project names.
    Resources are compared with `device`, or with the limits or the part that the project was written for.
    """
    with _made_by_another_version(directory):
        kind = _page_of(directory)
        project = kind.RECORD.read(directory)
        found = _data_of(project, data)
    accuracy = None if found is None else _float_accuracy(project, directory, found)
    page = page or directory / PAGE
    with _made_by_another_version(directory):
        html = project_html(kind.PAGE(project, found, accuracy, device or _device_of(project)))
    write_page(html, page)
    return page


def _page_of(directory: Path) -> Any:
    """The module of the page of a project's kind of hardware: see `Kind.page`."""
    try:
        summary = json.loads((directory / "report" / "accelerator.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):  # reading it as a pipeline tells what is wrong
        summary = {}
    return importlib.import_module(described_kind(summary).page)


def _data_of(project: ProjectRecord, data: GraphData | None) -> GraphData | None:
    """The data of a project. Raises UserError if `data` is given and is another graph."""
    dataset, given = project.summary["dataset"], data is not None
    if data is None and dataset in NAMES:
        try:
            data = load(dataset)
        except UserError:
            return None
    if data is None:
        return None
    same = project.has_graph(data)
    if given and not same:
        raise UserError(f"{data.name} is not the graph in the vectors of {project.directory}, which is {dataset}")
    return data if same else None


def _float_accuracy(project: ProjectRecord, directory: Path, data: GraphData) -> dict[str, float] | None:
    weights = directory / "weights.npz"
    if not weights.is_file():
        return None
    return float_accuracy(Design.from_dict(project.summary["design"]).architecture(), Network.load(weights), data)


def _device_of(project: ProjectRecord) -> Device | None:
    """The device of a project that was written without limits."""
    if project.specification.resources():
        return None
    try:
        return find_device(project.part)
    except UserError:
        return None
