"""Write the page of a run or of a project."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jinja2 import TemplateError

from fgnas import systems
from fgnas.engine.contracts import System
from fgnas.engine.store import RunStore, compare
from fgnas.errors import UserError
from fgnas.hardware.devices import Device, find_device
from fgnas.hardware.kinds import described_kind
from fgnas.hardware.measured.device import DeviceFolder
from fgnas.report.compare import ComparedPage, compared_page
from fgnas.report.device import device_page
from fgnas.report.mapping import is_mapped, mapping_page
from fgnas.report.page import compared_html, device_html, mapping_html, project_html, run_html, write_page
from fgnas.report.preferences import Chance, feasible_shares
from fgnas.report.record import ProjectRecord, RunRecord
from fgnas.report.run import Built, run_page
from fgnas.tasks.nodes import GraphData

PAGE, COMPARED = "report.html", "compared.html"


def report_run(store: RunStore, page: Path | None = None, data: Any = None) -> Path:
    """Write the page of a run, finished or not, to `page` or to report.html in its folder; returns the path.

    Shares by chance are omitted if the run's data or system is not available.
    """
    with _made_by_another_version(store.folder):
        run = RunRecord.read(store)
        system = _system(run.config["system"])
        if system is None:
            html = run_html(run_page(run))
        else:
            options = system.Options.unresolved(run.config["options"])
            html = run_html(run_page(run, _chance(run, system, data), options, _built(system)))
    page = page or store.folder / PAGE
    write_page(html, page)
    return page


def report_runs(stores: Sequence[RunStore], page: Path | None = None) -> tuple[Path, ComparedPage]:
    """Write the page of several runs side by side, to `page` or to compared.html beside the first run's folder.

    Returns its path and its content.
    """
    page = page or stores[0].folder.parent / COMPARED
    with _made_by_another_version(stores[0].folder.parent):
        found = compared_page([RunRecord.read(store) for store in stores])
    write_page(compared_html(found), page)
    return page, found


def _built(system: System) -> Built:
    """Whether a system has hardware for an entry."""
    return system.back_end.built if system.back_end is not None else lambda entry: False


def report_device(folder: DeviceFolder, page: Path | None = None) -> Path:
    """Write the page of a measured device to `page` or to report.html in its folder; returns the path."""
    page = page or folder.path / PAGE
    with _made_by_another_version(folder.path):
        html = device_html(device_page(folder))
    write_page(html, page)
    return page


@contextmanager
def _made_by_another_version(folder: Path) -> Iterator[None]:
    """Report a field of a file that is missing, unknown or of another kind in one line."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, TemplateError) as error:
        message = f"{folder} was made by another version of fgnas, or edited ({error}): make it again"
        raise UserError(message) from None


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
    Resources are compared with `device`, or with the limits or the part that the project was written for. A mapped
    network has a page that leads to those of its accelerators, which are written, too.
    """
    if is_mapped(directory):
        return _report_mapped(directory, page, data, device)
    with _made_by_another_version(directory):
        kind = _page_of(directory)
        project = kind.RECORD.read(directory)
        found = project.data(data)
        accuracy = project.float_accuracy(found)
        html = project_html(kind.PAGE(project, found, accuracy, device or _device_of(project)))
    page = page or directory / PAGE
    write_page(html, page)
    return page


def _report_mapped(directory: Path, page: Path | None, data: GraphData | None, device: Device | None) -> Path:
    """The page of a mapped network, and those of its accelerators in their folders."""
    if data is not None:
        raise UserError(f"{directory} is of a mapped network and holds its accuracy: leave out the data")
    with _made_by_another_version(directory):
        found = mapping_page(directory)
        for unit in found.units:
            report_project(directory / unit.name, device=device)
        write_page(mapping_html(found), page := page or directory / PAGE)
    return page


def _page_of(directory: Path) -> Any:
    """The module of the page of a project's kind of hardware: see `Kind.page`."""
    try:
        summary = json.loads((directory / "report" / "accelerator.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):  # reading it as a pipeline raises an error that names the fault
        summary = {}
    return importlib.import_module(described_kind(summary).page)


def _device_of(project: ProjectRecord) -> Device | None:
    """The device of a project that was written without limits."""
    if project.specification.resources():
        return None
    try:
        return find_device(project.part)
    except UserError:
        return None
