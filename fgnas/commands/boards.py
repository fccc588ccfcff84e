"""Commands for boards: `board`, `run`."""

from __future__ import annotations

import argparse
from pathlib import Path

from fgnas.commands import show
from fgnas.commands.arguments import Command, add_number, add_project
from fgnas.errors import UserError
from fgnas.options import ABOVE_ZERO, POSITIVE


def _add_board(sub: argparse.ArgumentParser) -> None:
    add_project(sub)
    about = "a board that fgnas knows, or a file that describes one; default: %(default)s"
    sub.add_argument("--board", default="ulx3s-85f", metavar="NAME|FILE.toml", help=about)
    sub.add_argument("--sim", action="store_true", help="simulate the whole system, and run the graph over its line")
    sub.add_argument("--netlist", action="store_true", help="with --sim: the bitstream's netlist in place of the RTL")
    sub.add_argument("--sdram", action="store_true", help="main memory is the board's SDRAM instead of block RAM")
    add_number(sub, "--memory-kb", POSITIVE, "memory on the chip; default: what the project's graph takes")
    add_number(sub, "--clock-mhz", ABOVE_ZERO, "clock of the kernel; default: the board's")
    add_number(sub, "--seed", POSITIVE, "of the placement", 1)


def _board(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.board.assembly import PLACE
    from fgnas.board.bitstream import report_text

    project = api.Project(options.directory)
    chosen_system = (options.board, options.clock_mhz, options.memory_kb, options.sdram)
    if options.sim:
        return show.check(project.simulate_board(*chosen_system, options.netlist), options.json)
    if options.netlist:
        raise UserError("--netlist is for --sim: a bitstream is always made from its netlist")
    report = project.board(*chosen_system, options.seed)
    if options.json:
        show.json_object(report)
    else:
        print(report_text(report, options.directory / PLACE / report["board"]))
    return 0


def _add_run(sub: argparse.ArgumentParser) -> None:
    add_project(sub)
    sub.add_argument("--port", required=True, metavar="PORT", help="a serial port, or socket://HOST:PORT")
    add_number(sub, "--baud", POSITIVE, "bits a second on the line; default: 3000000, the ULX3S's")
    about = "a folder like vectors/ of another graph or network for the same kernel"
    sub.add_argument("--vectors", type=Path, metavar="DIR", help=about)


def _run(options: argparse.Namespace) -> int:
    from fgnas import api

    return show.check(api.Project(options.directory).run(options.port, options.baud, options.vectors), options.json)


COMMANDS = (
    Command("board", _board, _add_board, "build a project's bitstream for a board, or simulate the whole system"),
    Command("run", _run, _add_run, "run a project's graph on a board at a serial port, and compare every logit"),
)
