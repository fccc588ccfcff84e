"""The netlist that a bitstream is made from, under Verilator: what Yosys made of the RTL, cell by cell.

Yosys brings models of most cells; sim/board_cells.sv has the others.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from fgnas.backends.render import render
from fgnas.board.assembly import System, write_system
from fgnas.board.bitstream import synthesise
from fgnas.board.boards import Board
from fgnas.board.simulated import build_simulator
from fgnas.errors import UserError
from fgnas.paths import sim_directory
from fgnas.progress import step
from fgnas.tools.synth import run_yosys
from fgnas.tools.verilator import THOROUGH, Effort

BENCH, CELLS = "board_netlist", "board_cells"
"""A board's pins under a system's ports, and cells, in sim/."""
LIBRARY = ("common_sim.vh", "ccu2c_sim.vh")
"""Models of an ECP5's cells among those of Yosys, which include others unless they are told not to."""
OPTIONS = ("-DNO_INCLUDES", "-Wno-SPECIFYIGN", "-Wno-MULTIDRIVEN")
"""For Verilator; the models' delays are no concern of a simulation in cycles."""
PLL = "EHXPLLL"


def build_netlist(directory: Path, folder: Path, system: System, board: Board, effort: Effort = THOROUGH) -> Path:
    """Build the simulator of the netlist that `build_bitstream` places and routes, in `folder`; the program."""
    write_system(directory, folder / "rtl", system, board)
    build = folder / "build"
    build.mkdir(exist_ok=True)
    with step("synthesise for the part"):
        netlist = synthesise(folder, board, system)
        cells = write_cells(netlist, build)
    with step("build the simulator"):
        beside = [sim_directory() / f"{name}.sv" for name in (CELLS, BENCH)]
        return build_simulator([*library(), *beside, *cells], folder, effort, BENCH, OPTIONS)


def write_cells(netlist: Path, build: Path) -> list[Path]:
    """The netlist as Verilog, and the cells that Yosys has no model of, with the pins that they have there."""
    verilog, cells = build / "netlist.v", build / "cells.sv"
    job = {"kind": "cells", "netlist": str(netlist), "verilog": str(verilog)}
    kinds = run_yosys(job, build, build / "cells.log")["kinds"]
    cells.write_text(render("board/cells.sv.j2", settings=kinds.get(PLL, [])), encoding="utf-8")
    return [cells, verilog]


def library() -> list[Path]:
    """Yosys' own models, in the package that brings it."""
    found = find_spec("pyosys")
    places = [Path(place) / "share" / "ecp5" for place in (found.submodule_search_locations or [] if found else [])]
    files = [place / name for place in places for name in LIBRARY]
    if not files or not all(path.is_file() for path in files):
        raise UserError("Yosys is missing; fix: pip install 'fgnas[board]'")
    return files
