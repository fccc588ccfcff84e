"""Run a project's C++ in Vitis HLS, and collect its reports and the predictions in one JSON file.

The reports are those of UG1399, below the solution: syn/report/csynth.xml, sim/report/fgnas_top_cosim.rpt and
impl/report/verilog/export_impl.xml. They count block RAMs in RAMB18; this module converts them to RAMB36.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fgnas.backends.rtl import TOP
from fgnas.errors import UserError
from fgnas.files import replace_file
from fgnas.tools.csim import read_counts
from fgnas.tools.find import Vitis, find_vitis
from fgnas.tools.synth import tidy

STEPS = ("csim", "csynth", "cosim", "impl")
CONFIG, SCRIPT = "hls_config.cfg", "run_hls.tcl"
WORK = Path("build") / "vitis"
REPORTS = {
    "csynth": ("syn/report/csynth.xml", f"syn/report/{TOP}_csynth.xml"),
    "cosim": (f"sim/report/{TOP}_cosim.rpt",),
    "impl": ("impl/report/verilog/export_impl.xml", f"impl/report/verilog/{TOP}_export.xml"),
}
"""The reports of a step, below the solution: the first that exists is read; older releases use the second name."""
RESOURCES = {
    "lut": ("LUT", 1.0), "ff": ("FF", 1.0), "dsp": ("DSP", 1.0), "bram36": ("BRAM_18K", 0.5), "uram": ("URAM", 1.0),
}  # fmt: skip
"""The name here -> the name in the reports, and the number of units here that one of theirs is."""
ESTIMATED_CLOCK = "PerformanceEstimates/SummaryOfTimingAnalysis/EstimatedClockPeriod"
OTHER_NAMES = {"DSP": "DSP48E", "BRAM_18K": "BRAM"}
"""Other names, used by some releases and by the report of the implementation."""


def run_vitis(directory: Path, step: str, progress: Callable[[str], None] = lambda line: None) -> dict[str, Any]:
    """Run one of STEPS on a project, and write report/vitis.json; returns its content.

    Keys: `tool`, `predicted` (resources and `latency_cycles`) and `steps`, with the results of this and earlier steps.
    `cosim` and `impl` synthesise first where the sources have changed since the last synthesis. `progress` gets every
    line that the tool prints; build/vitis-STEP.log keeps them all.
    """
    if step not in STEPS:
        raise UserError(f"unknown step {step!r} of Vitis; known: {', '.join(STEPS)}")
    directory = Path(directory).absolute()
    for name in (CONFIG, SCRIPT, "report/price.json"):
        if not (directory / name).is_file():
            raise UserError(f"{directory / name} is missing; write the project with `fgnas hls`")
    vitis = find_vitis()
    solution = directory / (WORK / "hls" if vitis.runner else Path("build_vitis") / "solution")
    report = _earlier(directory)
    wanted = [step]
    if step in ("cosim", "impl") and not _is_synthesised(directory, solution):
        wanted.insert(0, "csynth")
    for name in wanted:
        log = directory / "build" / f"vitis-{name}.log"
        for stale in REPORTS.get(name, ()):
            (solution / stale).unlink(missing_ok=True)
        seconds, code = _execute(vitis, name, directory, log, progress)
        printed = log.read_text(encoding="utf-8", errors="replace")
        found = _read(name, solution, printed, code, log)
        report["steps"][name] = found | {"seconds": seconds, "log": str(log.relative_to(directory))}
        if version := re.search(r"\bv(20\d\d\.\d)\b", printed):
            report["tool"] = f"{vitis.compiler.name} {version[1]}"
        _write(directory, report)
    return report


def _earlier(directory: Path) -> dict[str, Any]:
    """The report so far, to which every step adds."""
    path = directory / "report" / "vitis.json"
    if path.is_file():
        return dict(json.loads(path.read_text(encoding="utf-8")))
    price = json.loads((directory / "report" / "price.json").read_text(encoding="utf-8"))
    return {"tool": None, "predicted": {name: price.get(name) for name in (*RESOURCES, "latency_cycles")}, "steps": {}}


def _write(directory: Path, report: dict[str, Any]) -> None:
    (directory / "report").mkdir(exist_ok=True)
    replace_file(directory / "report" / "vitis.json", json.dumps(report, indent=2) + "\n")


def _is_synthesised(directory: Path, solution: Path) -> bool:
    """Whether the solution was synthesised from the current sources."""
    made = _first(solution, REPORTS["csynth"])
    if made is None:
        return False
    sources = [*(directory / "src").iterdir(), directory / CONFIG, directory / SCRIPT]
    return made.stat().st_mtime_ns >= max(path.stat().st_mtime_ns for path in sources)


def command(vitis: Vitis, step: str) -> list[str]:
    """The command that runs a step in the project's folder."""
    if vitis.runner is None:
        return [str(vitis.compiler), "-f", SCRIPT]
    options = ["--mode", "hls", "--config", CONFIG, "--work_dir", str(WORK)]
    return [str(vitis.compiler), "-c", *options] if step == "csynth" else [str(vitis.runner), *options, f"--{step}"]


def _execute(vitis: Vitis, step: str, directory: Path, log: Path, progress: Callable[[str], None]) -> tuple[float, int]:
    """Run a step; returns seconds and exit code."""
    log.parent.mkdir(exist_ok=True)
    start = time.perf_counter()
    with (
        log.open("w", encoding="utf-8") as kept,
        subprocess.Popen(
            command(vitis, step), cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", env=os.environ | {"FGNAS_STEP": step},
        ) as process,
    ):  # fmt: skip
        assert process.stdout is not None
        for line in process.stdout:
            kept.write(line)
            kept.flush()
            progress(line.rstrip())
    return round(time.perf_counter() - start, 1), process.returncode


def _read(step: str, solution: Path, printed: str, code: int, log: Path) -> dict[str, Any]:
    """The results of a step. Raises UserError with the reason where there are none."""
    if step == "csim":
        # The test bench prints its counts; on a mismatch its exit code is 1, and so is the tool's.
        if found := read_counts(printed):
            return found
        raise UserError(f"Vitis could not run the test bench{_why(printed)}; see {log}")
    path = _first(solution, REPORTS[step])
    if step == "cosim" and path is not None and has_fault(cosim := read_cosim(path)):
        return cosim
    if code != 0:
        raise UserError(f"{step} failed{_why(printed)}; see {log}")
    if path is None:
        raise UserError(f"{step} succeeded but wrote no {solution / REPORTS[step][0]}; see {log}")
    return {"csynth": read_csynth, "cosim": read_cosim, "impl": read_implementation}[step](path)


def _first(folder: Path, names: tuple[str, ...]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _why(printed: str) -> str:
    """The first error that the tool printed, as ": ..."; empty without one."""
    found = re.search(r"^ERROR: (.*)$", printed, re.MULTILINE)
    return f": {found[1]}" if found else ""


def read_csynth(path: Path) -> dict[str, Any]:
    """The report of the synthesis: estimated resources and clock, cycles, and the initiation interval of each loop.

    Keys: part, clock_ns {target, uncertainty, estimated}, latency_cycles and interval_cycles {min, max}, used and
    available (by resource), loops [{function, loop, ii, estimated_ns, trip_count {min, max}}]. The estimated_ns of a
    loop is the clock of its function. Values that the tool leaves open are None.
    """
    root = _parse(path)
    overall = "PerformanceEstimates/SummaryOfOverallLatency"
    return {
        "part": root.findtext("UserAssignments/Part"),
        "clock_ns": {
            "target": number(root.findtext("UserAssignments/TargetClockPeriod")),
            "uncertainty": number(root.findtext("UserAssignments/ClockUncertainty")),
            "estimated": number(root.findtext(ESTIMATED_CLOCK)),
        },
        "latency_cycles": {
            "min": number(root.findtext(f"{overall}/Best-caseLatency")),
            "max": number(root.findtext(f"{overall}/Worst-caseLatency")),
        },
        "interval_cycles": {
            "min": number(root.findtext(f"{overall}/Interval-min")),
            "max": number(root.findtext(f"{overall}/Interval-max")),
        },
        "used": resources(root.find("AreaEstimates/Resources"), path),
        "available": resources(root.find("AreaEstimates/AvailableResources"), path),
        "loops": list(_loops(root)),
    }


def read_implementation(path: Path) -> dict[str, Any]:
    """The report after place and route: used and available resources, clock_ns {target, achieved}, timing_met."""
    root = _parse(path)
    target = number(root.findtext("TimingReport/TargetClockPeriod"))
    achieved = number(root.findtext("TimingReport/AchievedClockPeriod"))
    return {
        "clock_ns": {"target": target, "achieved": achieved},
        "timing_met": None if target is None or achieved is None else achieved <= target,
        "used": resources(root.find("AreaReport/Resources"), path),
        "available": resources(root.find("AreaReport/AvailableResources"), path),
    }


def read_cosim(path: Path) -> dict[str, Any]:
    """The report of the co-simulation: status (Pass or Fail), latency_cycles {min, avg, max} over the kernel's runs."""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells[0] == "Verilog" and len(cells) >= 5:
            cycles = dict(zip(("min", "avg", "max"), map(number, cells[2:5]), strict=True))
            return {"status": cells[1], "latency_cycles": cycles}
    raise UserError(f"{path} has no line about Verilog")


def _loops(root: ElementTree.Element) -> Iterator[dict[str, Any]]:
    """Every loop of the design, by function, outer loops first."""
    top = root.findtext("UserAssignments/TopModelName") or TOP
    modules = [(module.findtext("Name") or "", module) for module in root.findall("ModuleInformation/Module")]
    # With module information, the top is one of the modules.
    for function, module in modules or [(top, root)]:
        below = module.find("PerformanceEstimates/SummaryOfLoopLatency")
        for loop in below.iter() if below is not None else ():
            if loop.find("TripCount") is not None:
                yield {
                    "function": function,
                    "loop": loop.findtext("Name") or loop.tag,
                    "ii": number(loop.findtext("PipelineII")),
                    "estimated_ns": number(module.findtext(ESTIMATED_CLOCK)),
                    "trip_count": _bounds(loop.find("TripCount")),
                }


def _bounds(element: ElementTree.Element | None) -> dict[str, float | None]:
    """A number, or a range of them."""
    if element is None:
        return {"min": None, "max": None}
    if element.find("range") is not None:
        return {end: number(element.findtext(f"range/{end}")) for end in ("min", "max")}
    return dict.fromkeys(("min", "max"), number(element.text))


def resources(element: ElementTree.Element | None, path: Path) -> dict[str, float]:
    """Counts by the names here; 0 for UltraRAM where the report of a smaller part leaves it out."""
    if element is None:
        raise UserError(f"{path} contains no resources")
    counts: dict[str, float] = {}
    for name, (theirs, unit) in RESOURCES.items():
        count = number(element.findtext(theirs) or element.findtext(OTHER_NAMES.get(theirs, theirs)))
        if count is None and name != "uram":
            raise UserError(f"{path} contains no number of {theirs}")
        counts[name] = unit * (count or 0)
    return tidy(counts)


def number(text: str | None) -> float | None:
    """A number in a report; None for values that the tool leaves open (undef, NA, -, ?)."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return int(value) if value == int(value) else value


def _parse(path: Path) -> ElementTree.Element:
    try:
        return ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise UserError(f"{path} is damaged: {error}") from None


def has_fault(found: Mapping[str, Any]) -> bool:
    """Whether the result of a step is bad; `faults` says why."""
    return bool(faults(found))


def faults(found: Mapping[str, Any]) -> list[str]:
    """Why the result of a step is bad, one line for each reason; empty for a good one.

    Reasons: wrong results, a loop whose initiation interval is over 1, a clock that is missed. A synthesis keeps its
    uncertainty free: it misses the clock where the estimate exceeds the target less the uncertainty (UG1399).
    """
    lines = [f"{found[name]} {name.replace('_', ' ')}" for name in ("mismatches", "failed_checks") if found.get(name)]
    if found.get("status", "Pass") != "Pass":
        lines.append(f"the co-simulation reports {found['status']}")
    loops = found.get("loops", ())
    lines += [f"loop {_full_name(loop)} has II {loop['ii']}, not 1" for loop in loops if (loop["ii"] or 1) > 1]
    clock = found.get("clock_ns", {})
    allowed = (clock.get("target") or math.inf) - (clock.get("uncertainty") or 0)
    if _is_over(clock.get("estimated"), allowed):
        late = [_full_name(loop) for loop in loops if _is_over(loop.get("estimated_ns"), allowed)]
        where = f", in the function of loop {', '.join(late)}" if late else ""
        lines.append(f"the estimated clock of {clock['estimated']:g} ns is over {allowed:g} ns{where}")
    if found.get("timing_met") is False:
        missed = f"the clock of {clock['achieved']:g} ns is over {clock['target']:g} ns" if clock else "clock not met"
        lines.append(missed)
    return lines


def _full_name(loop: Mapping[str, Any]) -> str:
    return f"{loop['function']}.{loop['loop']}"


def _is_over(clock_ns: float | None, allowed_ns: float) -> bool:
    # The report rounds to picoseconds.
    return clock_ns is not None and round(clock_ns - allowed_ns, 3) > 0
