"""Synthesise a project's RTL with Yosys and count its resources, beside the model's prediction.

Counting, for xc7 and xcup alike:

- LUT: LUT1 to LUT6, and the LUTs that are used as shift registers and memories (`LUTS_OF`). Inverters cost nothing:
  placement merges them into the LUTs that they drive.
- FF: every flip-flop and latch.
- DSP: DSP48 slices.
- BRAM36: a RAMB36 is one, a RAMB18 a half.
- URAM: UltraRAM blocks; the RTL requests none.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fgnas.backends.project import read_specification
from fgnas.backends.rtl import KERNEL
from fgnas.errors import UserError
from fgnas.files import replace_file
from fgnas.hardware.devices import FAMILIES, Device
from fgnas.progress import seconds_before, step

RESOURCES = ("lut", "ff", "dsp", "bram36", "uram")
SECONDS = 3600

LUTS_OF = {
    "SRL16E": 1, "SRLC16E": 1, "SRLC32E": 1,
    "RAM32X1S": 1, "RAM32X2S": 2, "RAM64X1S": 1, "RAM128X1S": 2, "RAM256X1S": 4, "RAM512X1S": 8,
    "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "RAM256X1D": 8,
    "RAM32M": 4, "RAM64M": 4, "RAM32M16": 8, "RAM64M8": 8,
}  # fmt: skip
"""LUTs that a shift register or a LUTRAM takes: UG474 table 2-3 (xc7), UG574 tables 5-2 and 5-3 (xcup)."""
UNITS: tuple[tuple[str, str, float], ...] = (
    (r"LUT[1-6]", "lut", 1),
    *((name, "lut", luts) for name, luts in LUTS_OF.items()),
    (r"FD[RSCP]E|LD[CP]E", "ff", 1),
    (r"DSP48E[12]", "dsp", 1),
    (r"RAMB36E[12]", "bram36", 1),
    (r"RAMB18E[12]", "bram36", 0.5),
    (r"URAM288", "uram", 1),
)
FREE = re.compile(r"INV|CARRY[48]|MUXF[789]|BUFG|\$scopeinfo")
"""Cells that belong to slices counted elsewhere, or that are no hardware."""


def count_cells(cells: Mapping[str, int]) -> dict[str, float]:
    """Resources of primitive cells, given as {type: count}. An unknown type is an error, not a zero."""
    total = dict.fromkeys(RESOURCES, 0.0)
    for kind, count in cells.items():
        for pattern, resource, units in UNITS:
            if re.fullmatch(pattern, kind):
                total[resource] += units * count
                break
        else:
            if not FREE.fullmatch(kind):
                raise UserError(f"synthesis made {count} cells of type {kind}, which fgnas does not know how to count")
    return total


def run_synthesis(directory: Path, family: str | None = None, device: Device | None = None) -> dict[str, Any]:
    """Synthesise the project in `directory` and write report/synth.json and report/synth.txt.

    Returns `family`, `tool`, `total` and `predicted` ({lut, ff, dsp, bram36, ...}; predicted is None for a project
    without design), `instances` ({path: total below it}), `cells` ({type: count}) and `seconds`. Without a family it is
    the device's, or the one that the project was written for. With a device, or with limits that the project was
    written for and of that family, also `against`, `available` and `over` (the resources that do not suffice).
    """
    directory = Path(directory).absolute()
    if not (directory / "rtl" / "files.f").is_file():
        raise UserError(f"{directory} has no rtl/files.f; write a project with `fgnas hls`")
    start = time.perf_counter()
    wanted = read_specification(directory)
    family = family or (device.family if device else wanted.family)
    log = directory / "build" / f"synth-{family}.log"
    with step("synthesise", seconds_before(directory / "report" / "synth.json", "seconds")):
        result = synthesise(["-f", "files.f"], KERNEL, family, directory / "rtl", log)
    instances = instance_totals(result["modules"], KERNEL)
    report: dict[str, Any] = {
        "family": family,
        "tool": result["version"],
        "total": instances[KERNEL],
        "predicted": predicted(directory, family),
        "instances": instances,
        "cells": dict(sorted(cells_below(result["modules"], KERNEL).items())),
        "seconds": round(time.perf_counter() - start, 1),
    }
    available: Mapping[str, float] = wanted.resources() if family == wanted.family else {}
    if device is not None:
        available = device.available()
    if available:
        over = [name for name, limit in available.items() if report["total"][name] > limit]
        against = f"device {device.name}" if device else "the limits of its specification"
        report |= {"against": against, "available": dict(available), "over": over}
    folder = directory / "report"
    folder.mkdir(exist_ok=True)
    replace_file(folder / "synth.json", json.dumps(report, indent=2) + "\n")
    replace_file(folder / "synth.txt", utilisation_table(report))
    return report


def synthesise(
    files: list[str], top: str, family: str, folder: Path, log: Path, only: list[str] | None = None,
    apart: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Map `files` onto a family's primitives, in `folder`; returns the result of `fgnas.tools.yosys.synthesise`."""
    if family not in FAMILIES:
        raise UserError(f"unknown family {family!r}; known: {', '.join(FAMILIES)}")
    wanted: dict[str, Any] = {} if only is None else {"only": only}
    if apart:
        wanted["apart"] = True
    return run_yosys({"files": files, "top": top, "family": family, **wanted}, folder, log)


def count_block_rams(designs: Mapping[str, Path], family: str, log: Path) -> dict[str, dict[str, dict[str, int]]]:
    """{name: {instance path: {primitive block RAM: count}}} of designs, {name: folder with files.f}, mapped together.

    The instances and counts are those of `synthesise`, which maps everything else too.
    """
    folders = {name: str(folder.absolute()) for name, folder in designs.items()}
    job = {"kind": "block rams", "designs": folders, "top": KERNEL, "family": family}
    blocks: dict[str, dict[str, dict[str, int]]] = run_yosys(job, log.absolute().parent, log)["blocks"]
    return blocks


def list_memories(folder: Path, log: Path) -> list[dict[str, Any]]:
    """The memories of a project's top as Yosys elaborates it; see `fgnas.tools.yosys.list_memories`."""
    job = {"kind": "memories", "files": ["-f", "files.f"], "top": KERNEL}
    found: list[dict[str, Any]] = run_yosys(job, folder, log)["memories"]
    return found


def run_yosys(job: dict[str, Any], folder: Path, log: Path) -> dict[str, Any]:
    """Run `fgnas.tools.yosys` in a process of its own, in `folder`; returns its result."""
    if find_spec("pyosys") is None:
        raise UserError("Yosys is missing; fix: make setup, or pip install 'fgnas[synth]'")
    log.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        given, result = Path(scratch) / "job.json", Path(scratch) / "result.json"
        given.write_text(json.dumps(job), encoding="utf-8")
        command = [sys.executable, "-m", "fgnas.tools.yosys", str(given), str(result)]
        try:
            with log.open("w", encoding="utf-8") as output:
                run = subprocess.run(
                    command, cwd=folder, stdout=output, stderr=subprocess.STDOUT, timeout=SECONDS, check=False
                )
        except subprocess.TimeoutExpired:
            raise UserError(f"Yosys did not end within {SECONDS} s; see {log}") from None
        if run.returncode != 0 or not result.is_file():
            raise UserError(f"Yosys failed{_why(log)}; see {log}")
        return json.loads(result.read_text(encoding="utf-8"))


def _why(log: Path) -> str:
    """The first error of a log, as ": ..."."""
    found = re.search(r"^ERROR: (.*)$|(error: .*)$", log.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    return f": {found[1] or found[2]}" if found else ""


def cells_below(modules: dict[str, Any], name: str) -> Counter[str]:
    """Primitive cells of a module and of everything that it instantiates."""
    total = Counter(modules[name]["cells"])
    for kind in modules[name]["instances"].values():
        total += cells_below(modules, kind)
    return total


def instance_totals(modules: dict[str, Any], top: str) -> dict[str, dict[str, Any]]:
    """{path: resources of everything below it, and its module}, the top first, then by path."""
    totals: dict[str, dict[str, Any]] = {}

    def walk(path: str, name: str) -> dict[str, float]:
        totals[path] = {"module": name.split("$")[0]}
        total = count_cells(modules[name]["cells"])
        for instance, kind in sorted(modules[name]["instances"].items()):
            below = walk(f"{path}.{instance}", kind)
            total = {resource: total[resource] + below[resource] for resource in RESOURCES}
        totals[path].update(tidy(total))
        return total

    walk(top, top)
    return totals


def tidy(total: dict[str, float]) -> dict[str, float]:
    """Whole numbers as integers; half block RAMs stay."""
    return {resource: int(value) if value == int(value) else value for resource, value in total.items()}


def predicted(directory: Path, family: str) -> dict[str, float] | None:
    """The resource model's prediction for the accelerator that the project describes; None if it describes none."""
    from fgnas.hardware.kinds import described_kind

    summary = directory / "report" / "accelerator.json"
    if not summary.is_file():
        return None
    content = json.loads(summary.read_text(encoding="utf-8"))
    return tidy(described_kind(content).resources(content, family))


def utilisation_table(report: dict[str, Any]) -> str:
    """The report in the format of a Vivado utilisation report: used, predicted and, with limits, available and %."""
    available = report.get("available", {})
    names = {"lut": "Slice LUTs", "ff": "Slice Registers", "dsp": "DSPs", "bram36": "Block RAM Tile", "uram": "URAM"}
    header = ("Site Type", "Used", "Predicted", "Available", "Util%")
    rows = [header]
    for name, title in names.items():
        used = report["total"][name]
        guess = (report["predicted"] or {}).get(name)
        limit = available.get(name)
        share = f"{100 * used / limit:.2f}" if limit else "-"
        predicted_text, limit_text = ("-" if value is None else f"{value}" for value in (guess, limit))
        rows.append((title, f"{used}", predicted_text, limit_text, share))
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    line = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    shape = f"| {{:<{widths[0]}}} | " + " | ".join(f"{{:>{width}}}" for width in widths[1:]) + " |"
    body = [shape.format(*row) for row in rows]
    against = f"checked against {report['against']}, " if "against" in report else ""
    title = f"Utilisation of {KERNEL}, {against}family {report['family']}, {report['tool']}, hierarchy kept"
    return "\n".join([title, "", line, body[0], line, *body[1:], line, ""])
