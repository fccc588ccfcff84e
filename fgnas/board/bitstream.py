"""From a system's RTL to a bitstream for a board with an ECP5: Yosys, nextpnr and Project Trellis' ecppack."""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
import time
from pathlib import Path
from typing import Any

from fgnas.backends.render import render
from fgnas.board.assembly import PINS, PLACE, System, design_of, needed_bytes, write_system
from fgnas.board.boards import Board
from fgnas.errors import CheckFailed, UserError
from fgnas.files import replace_file
from fgnas.progress import step
from fgnas.tools.synth import run_yosys
from fgnas.tools.timing import find_nextpnr, read_report, weighted

BITSTREAM, REPORT = "design.bit", "report.json"
PLL = "board_pll"
LATE_DEGREES = 90
"""Phase of an SDRAM's clock behind the system's: a quarter of a period for the outputs to settle."""
SECONDS = 7200
KINDS = {
    "lut4": ("TRELLIS_COMB",), "ff": ("TRELLIS_FF",), "block_ram": ("DP16KD",), "multipliers": ("MULT18X18D",),
}  # fmt: skip
"""Cells of nextpnr's utilisation, by what they are here; a TRELLIS_COMB is a LUT4, also as LUTRAM or in a carry."""
TITLES = {"lut4": "LUT4", "ff": "flip-flops", "block_ram": "block RAMs (DP16KD)", "multipliers": "MULT18X18D"}


def build_bitstream(directory: Path, board: Board, system: System, seed: int = 1) -> dict[str, Any]:
    """Build a project for a board, in board/NAME below it: design.bit, and report.json, whose content is returned.

    It has routed_mhz, clock_mhz (the clock that the PLL makes), used and available by kind of cell, critical_path,
    memory_bytes, memory_needed_bytes, design, seed and seconds. Raises CheckFailed where the routed clock is below the
    system's, and UserError where a tool is missing or fails.
    """
    folder = (directory / PLACE / board.name).absolute()
    begin = time.perf_counter()
    find_nextpnr()
    for name in (BITSTREAM, REPORT):  # of the build before
        (folder / name).unlink(missing_ok=True)
    write_system(directory, folder / "rtl", system, board)
    shutil.rmtree(folder / "build", ignore_errors=True)
    (folder / "build").mkdir()
    with step("synthesise for the part"):
        netlist = synthesise(folder, board, system)
    with step("place and route"):
        found = route(netlist, board, system, seed)
    report = {
        "board": board.name, "load": board.load, "part": board.part, "clock_mhz": system.clock_hz / 1e6,
        "routed_mhz": found.pop("fmax_mhz"), **found, "memory_bytes": system.memory.bytes,
        "memory_needed_bytes": needed_bytes(directory), "design": design_of(directory), "baud": system.baud,
        "seed": seed,
        "seconds": round(time.perf_counter() - begin, 1),
    }  # fmt: skip
    replace_file(folder / REPORT, json.dumps(report, indent=2) + "\n")
    if report["routed_mhz"] < report["clock_mhz"]:
        raise CheckFailed(
            f"the routed clock is {report['routed_mhz']} MHz, below the {report['clock_mhz']:g} MHz asked for; fix: "
            f"--clock-mhz {int(report['routed_mhz'])}, or another --seed"
        )
    pack(folder)
    return report


def synthesise(folder: Path, board: Board, system: System) -> Path:
    """Map the system onto the part; the netlist for nextpnr."""
    build = folder / "build"
    write_pll(build, board, system)
    netlist = build / "netlist.json"
    job = {
        "kind": "netlist", "files": ["-f", "files.f"], "verilog": [str(build / f"{PLL}.v")], "top": PINS,
        "netlist": str(netlist),
    }  # fmt: skip
    run_yosys(job, folder / "rtl", build / "yosys.log")
    return netlist


def write_pll(build: Path, board: Board, system: System) -> None:
    """The clock's PLL, whose dividers ecppll finds."""
    target = system.clock_hz / 1e6
    options = ["--module", PLL, "--clkin", f"{board.clock_mhz:g}", "--clkout0", f"{target:g}", "--file", f"{PLL}.v"]
    if not system.memory.on_chip:
        options += ["--clkout1", f"{target:g}", "--phase1", str(LATE_DEGREES)]
    run_trellis("ecppll", options, build)
    log = (build / "ecppll.log").read_text(encoding="utf-8")
    made = float(log.split("clkout0 frequency:")[1].split()[0])
    if abs(made - target) > 1e-3 * target:
        raise UserError(f"no PLL makes {target:g} of {board.clock_mhz:g} MHz; the nearest is --clock-mhz {made:g}")


def route(netlist: Path, board: Board, system: System, seed: int) -> dict[str, Any]:
    """Place and route; what nextpnr reports."""
    build = netlist.parent
    (build / "board.lpf").write_text(render("board/board.lpf.j2", board=board, memory=system.memory), encoding="utf-8")
    command = [
        str(find_nextpnr()), *board.nextpnr, "--json", netlist.name, "--lpf", "board.lpf", "--textcfg", "design.config",
        "--report", "nextpnr.json", "--timing-allow-fail", "--freq", f"{system.clock_hz / 1e6:g}", "--seed", str(seed),
        *weighted(seed),
    ]  # fmt: skip
    try:
        run_logged(command, build, "nextpnr")
    except UserError as error:
        if system.memory.on_chip and "DP16KD" in str(error):
            raise UserError(f"the part has too few block RAMs for the kernel and {system.memory.bytes:,} bytes of "
                            f"memory; fix: --sdram, or a design with fewer of them ({error})") from None  # fmt: skip
        raise
    report = json.loads((build / "nextpnr.json").read_text(encoding="utf-8"))
    uses = report["utilization"]
    counts = {
        name: {key: sum(uses[cell][key] for cell in cells if cell in uses) for key in ("used", "available")}
        for name, cells in KINDS.items()
    }
    found = read_report(report)
    return {
        "used": {name: one["used"] for name, one in counts.items()},
        "available": {name: one["available"] for name, one in counts.items()},
        "fmax_mhz": found["fmax_mhz"], "critical_path": found["critical_path"],
    }  # fmt: skip


def pack(folder: Path) -> None:
    """Write the bitstream of what was routed."""
    build = folder / "build"
    run_trellis("ecppack", ["--compress", "--input", "design.config", "--bit", BITSTREAM], build)
    shutil.copyfile(build / BITSTREAM, folder / BITSTREAM)


def run_trellis(tool: str, options: list[str], build: Path) -> None:
    """Run a tool of Project Trellis, from PATH or from this environment, which nextpnr's package brings."""
    names = (shutil.which(tool), str(Path(sysconfig.get_path("scripts")) / f"yowasp-{tool}"))
    program = next((name for name in names if name and Path(name).is_file()), None)
    if program is None:
        raise UserError(f"{tool} is missing; fix: pip install 'fgnas[board]'")
    # Names without a path: the WebAssembly builds see their working folder, but another /tmp.
    run_logged([program, *options], build, tool)


def run_logged(command: list[str], build: Path, name: str) -> None:
    """Run a tool in `build`; its output goes to NAME.log there. Raises UserError where it fails."""
    log = build / f"{name}.log"
    try:
        with log.open("w", encoding="utf-8") as output:
            run = subprocess.run(
                command, cwd=build, stdout=output, stderr=subprocess.STDOUT, timeout=SECONDS, check=False
            )
    except subprocess.TimeoutExpired:
        raise UserError(f"{name} did not end within {SECONDS} s; see {log}") from None
    if run.returncode != 0:
        lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if "ERROR" in line]
        raise UserError(f"{name} failed{': ' + lines[0].removeprefix('ERROR: ') if lines else ''}; see {log}")


def report_text(report: dict[str, Any], folder: Path) -> str:
    """The report as text: clock, cells used and left, memory, and the command that loads the bitstream."""
    used, available = report["used"], report["available"]
    lines = [f"{report['part']} on {report['board']}, routed clock {report['routed_mhz']} MHz, "
             f"clock {report['clock_mhz']:g} MHz"]  # fmt: skip
    for name, title in TITLES.items():
        left = available[name] - used[name]
        lines.append(f"  {title:<20}{used[name]:>8,} of {available[name]:>7,}, {left:,} left")
    lines.append(f"  {'memory':<20}{report['memory_bytes']:>8,} bytes, of which the graph takes "
                 f"{report['memory_needed_bytes']:,}")  # fmt: skip
    lines.append(f"load it with: {report['load']} {folder / BITSTREAM}")
    return "\n".join(lines)
