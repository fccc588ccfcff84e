"""A project's graph on a board: sent, run, and every logit compared."""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fgnas.board import protocol
from fgnas.board.assembly import System
from fgnas.board.boards import Board
from fgnas.board.platform import Connection, connect
from fgnas.board.simulated import TIMEOUT_S, build_system, serving
from fgnas.errors import UserError
from fgnas.files import replace_file
from fgnas.progress import step
from fgnas.tools.calls import calls_of

SIMULATED_S, NETLIST_TIMEOUT_S = 7200.0, 1200.0
"""Seconds that a simulated kernel may take, and that a simulated netlist may take for an answer."""
BITS_OF_A_BYTE = 10
"""On the line: a start bit, eight bits, a stop bit."""


def run_project(
    board: Connection, directory: Path, baud: int, vectors: Path | None = None, timeout_s: float = 60.0
) -> dict[str, Any]:
    """Run a project's network on the board; of a network in several calls, all of them.

    `vectors` is another folder like vectors/, of another graph or network for the same kernel. Returns logits,
    mismatches, cycles of the kernel and those predicted, their milliseconds at the board's clock, the bytes on the line
    both ways, their milliseconds at its speed, and the seconds of the whole. Raises UserError for another kernel.
    """
    platform = board.platform
    driver = board.driver(directory)
    folders = [vectors] if vectors else [call["folder"] / "vectors" for call in calls_of(directory)]
    folders = folders or [directory / "vectors"]
    with told(folders[0]):
        # A pipeline keeps one set of weights, an array is given them with every graph.
        own = "weights" in inspect.signature(driver.Kernel).parameters
        weights = {"weights": driver.read_region(folders[0] / "parameters.bin")} if own else {}
        kernel = board.kernel(directory, **weights)
    begin, link = time.monotonic(), platform.link
    before = link.sent + link.received
    logits = mismatches = cycles = 0
    for folder in folders:
        with told(folder):
            given, wanted = driver.regions(folder), driver.golden(folder)
            found = kernel.run(**given, timeout_s=timeout_s)
        cycles += platform.cycles
        mismatches += int(np.count_nonzero(found != wanted))
        logits += found.size
    kernel.close()
    moved = link.sent + link.received - before
    return {
        "logits": logits, "mismatches": mismatches, "cycles": cycles, **_predicted(board, directory, vectors, cycles),
        "clock_mhz": platform.facts["clock"] / 1e6, "kernel_ms": round(cycles / platform.facts["clock"] * 1e3, 4),
        "line_bytes": moved, "line_ms": round(moved * BITS_OF_A_BYTE / baud * 1e3, 1), "repeated_frames": link.repeated,
        "damaged_answers": link.damaged, "seconds": round(time.monotonic() - begin, 2),
    }  # fmt: skip


@contextmanager
def told(folder: Path) -> Iterator[None]:
    """Tell what a folder like vectors/ lacks, and what the driver or the kernel refuses in it, as UserError."""
    try:
        yield
    except KeyError as error:
        raise UserError(f"{folder} lacks {error}: is it of another kind of project?") from None
    except (RuntimeError, TimeoutError, TypeError, ValueError) as error:
        raise UserError(f"the board does not run {folder}: {error}") from None
    except OSError as error:
        raise UserError(f"cannot read {error.filename or folder}: {error.strerror or error}") from None


def _predicted(board: Connection, directory: Path, vectors: Path | None, cycles: int) -> dict[str, int]:
    """The model's cycles, where a report of them lies there; the difference where the memory keeps their time."""
    path = (vectors.parent if vectors else directory) / "report" / "price.json"
    if not path.is_file():
        return {}
    predicted = int(json.loads(path.read_text(encoding="utf-8"))["latency_cycles"])
    timed = board.platform.register("state") & protocol.TIMED
    return {"predicted_cycles": predicted, **({"cycle_difference": cycles - predicted} if timed else {})}


def run_simulated(directory: Path, system: System, baud: int, vectors: Path | None = None) -> dict[str, Any]:
    """`run_project` on a whole system under Verilator, bytes going over its line; also writes report/board_sim.json.

    The simulated line is as fast as that of `system`; the time on it is told for `baud`, the board's own.
    """
    directory = directory.absolute()
    folder = _folder(directory, "board" if system.memory.on_chip else "board_sdram")
    with step("build the simulator"):
        program = build_system(directory, folder, system)
    return _run_program(program, directory, system, baud, vectors, TIMEOUT_S)


def run_netlist(directory: Path, system: System, board: Board, vectors: Path | None = None) -> dict[str, Any]:
    """`run_simulated` on the netlist of the system's bitstream, whose line is as fast as the board's."""
    from fgnas.board.netlist import build_netlist

    directory = directory.absolute()
    program = build_netlist(directory, _folder(directory, "board_netlist"), system, board)
    return _run_program(program, directory, system, board.baud, vectors, NETLIST_TIMEOUT_S)


def _folder(directory: Path, name: str) -> Path:
    folder = directory / "build" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _run_program(
    program: Path, directory: Path, system: System, baud: int, vectors: Path | None, timeout_s: float
) -> dict[str, Any]:
    """`run_project` on a simulator of the system."""
    with (
        step("simulate"), serving(program, system.bit_step) as port,
        connect(port, system.baud, timeout_s) as board,
    ):  # fmt: skip
        report = run_project(board, directory, baud, vectors, SIMULATED_S)
    replace_file(directory / "report" / "board_sim.json", json.dumps(report, indent=2) + "\n")
    return report
