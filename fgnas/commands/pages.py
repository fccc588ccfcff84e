"""The command `report`: pages of runs, projects and devices."""

from __future__ import annotations

import argparse
from pathlib import Path

from fgnas.commands import show
from fgnas.commands.arguments import Command, add_dataset, add_json, load_graph, reference_of
from fgnas.errors import UserError
from fgnas.options import refuse
from fgnas.paths import RUNS
from fgnas.progress import step


def _add_report(sub: argparse.ArgumentParser) -> None:
    about = "a run's name, `latest` (the default), or the folder of a project or of a measured device; or several runs"
    sub.add_argument("sources", metavar="RUN|DIR", nargs="*", default=["latest"], help=about)
    sub.add_argument("--fpga", metavar="NAME|FILE.toml", help="device to compare a project's resources with")
    add_dataset(sub)
    about = "default: report.html in that folder; of several runs compared.html beside the first"
    sub.add_argument("--out", type=Path, metavar="FILE", help=about)
    add_json(sub)


def _report(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.engine.store import RunStore
    from fgnas.hardware.measured.device import DeviceFolder
    from fgnas.report.make import report_device, report_run

    if len(options.sources) > 1:
        return _report_several(options)
    (source,) = options.sources
    reference = reference_of(options)
    data = None if reference is None else load_graph(reference)
    project = api.Project(Path(source))
    if options.fpga and not project.exists:
        raise UserError(f"--fpga is for a project, and {source} is not one: write one with `fgnas hls`")
    with step("draw the page"):
        if project.exists:
            page = project.report(options.out, data, options.fpga)
        elif (device := DeviceFolder(Path(source))).begun:
            page = report_device(device, options.out)
        else:
            # Not api.Run: an unfinished run has a page too.
            page = report_run(RunStore.find(RUNS, source), options.out, data)
    if options.json:
        show.json_object({"page": str(page)})
    else:
        print(page)
    return 0


def _report_several(options: argparse.Namespace) -> int:
    from fgnas import api

    refuse(options, ("dataset", "fpga"), "is for one run or project")
    with step("draw the page"):
        found = api.compare(options.sources, options.out)
    if options.json:
        show.json_object(found)
    else:
        print(found["page"])
    return 0


COMMANDS = (Command("report", _report, _add_report, "write the page of a run or of a project: one HTML file"),)
