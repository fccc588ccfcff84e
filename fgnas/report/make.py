"""Write the page of a run or of a project: read what is there, draw it, put it down whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from fgnas.design import Design
from fgnas.engine.store import RunStore
from fgnas.errors import UserError
from fgnas.hardware.devices import Device, find_device
from fgnas.hardware.pipeline.pricing import UNLIMITED_DSP, Pricer, Specification
from fgnas.network import Network
from fgnas.networks.training import float_accuracy
from fgnas.report.design import design_page
from fgnas.report.page import design_html, run_html, write_page
from fgnas.report.preferences import Chance, feasible_shares
from fgnas.report.record import ProjectRecord, RunRecord
from fgnas.report.run import run_page
from fgnas.space import find_space
from fgnas.tasks.nodes import NAMES, GraphData, load

PAGE = "report.html"


def report_run(store: RunStore, page: Path | None = None, data: GraphData | None = None) -> Path:
    """Write the page of a run, finished or not; returns where: report.html in its folder, unless `page` says else.

    Shares by chance are left out where the data that the run was made on cannot be had.
    """
    run = RunRecord.read(store)
    page = page or store.folder / PAGE
    with _made_by_another_version(store.folder):
        html = run_html(run_page(run, _chance(run, data)))
    write_page(html, page)
    return page


@contextmanager
def _made_by_another_version(folder: Path) -> Iterator[None]:
    """What lacks a field that this version writes, or has one that it does not know, is named in one line."""
    try:
        yield
    except (KeyError, TypeError) as error:
        raise UserError(f"{folder} was made by another version of fgnas ({error}): make it anew") from None


def _chance(run: RunRecord, data: GraphData | None) -> Chance | None:
    dataset, given = run.config["dataset"], data is not None
    if data is None:
        try:
            data = load(dataset)
        except UserError:
            return None
    if data.fingerprint != run.config["fingerprint"]:
        if given:
            raise UserError(f"{data.name} is not the data that the run {run.name} was made on, which was {dataset}")
        return None
    space = find_space(run.config["space"]["name"], run.config["space"]["layers"])
    specification = Specification(**run.config["specification"])
    dsp = UNLIMITED_DSP if specification.dsp is None else specification.dsp
    # Empty where so few designs are feasible that no draw was.
    return feasible_shares(space, Pricer(data, specification.family), specification, dsp) or None


def report_project(
    directory: Path, page: Path | None = None, data: GraphData | None = None, device: Device | None = None
) -> Path:
    """Write the page of a project; returns where: report.html in its folder, unless `page` says else.

    Accuracies need the data whose graph is in the project's vectors: `data`, or the data set that the project names.
    Resources are held against `device`, or the limits or the part that the project was written for.
    """
    with _made_by_another_version(directory):
        project = ProjectRecord.read(directory)
        found = _data_of(project, data)
    accuracy = None if found is None else _float_accuracy(project, directory, found)
    page = page or directory / PAGE
    with _made_by_another_version(directory):
        html = design_html(design_page(project, found, accuracy, device or _device_of(project)))
    write_page(html, page)
    return page


def _data_of(project: ProjectRecord, data: GraphData | None) -> GraphData | None:
    """The data of a project. Raises UserError where `data` is given and is another graph."""
    dataset, given = project.summary["dataset"], data is not None
    if data is None and dataset in NAMES:
        try:
            data = load(dataset)
        except UserError:
            return None
    if data is None:
        return None
    same = np.array_equal(data.degrees, project.degrees) and np.array_equal(data.non_zeros, project.non_zeros)
    if given and not same:
        raise UserError(f"{data.name} is not the graph in the vectors of {project.directory}, which is {dataset}")
    return data if same else None


def _float_accuracy(project: ProjectRecord, directory: Path, data: GraphData) -> dict[str, float] | None:
    weights = directory / "weights.npz"
    if not weights.is_file():
        return None
    return float_accuracy(Design.from_dict(project.summary["design"]).architecture(), Network.load(weights), data)


def _device_of(project: ProjectRecord) -> Device | None:
    """What has the resources of a project that was written for no limits."""
    if project.specification.resources():
        return None
    try:
        return find_device(project.part)
    except UserError:
        return None
