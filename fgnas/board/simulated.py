"""A whole system under Verilator, with its serial line at a TCP port of this machine."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from fgnas.board.assembly import SYSTEM, System, write_system
from fgnas.board.line import SOCKET, LineClosed
from fgnas.errors import CheckFailed, UserError
from fgnas.paths import sim_directory
from fgnas.tools.find import find_compiler, find_make, find_verilator
from fgnas.tools.verilator import THOROUGH, Effort, failed_assertion, rules_of, tools_on_path

PROGRAM = "board_line"
CHIP, BENCH = "board_chip", "board_bench"
"""A memory chip, and a system with one, in sim/."""
TIMEOUT_S = 60.0
"""Seconds that a simulated board may take for an answer."""
QUICK_CYCLES_OF_A_BIT = 4
"""The fewest cycles of a bit that the board's receiver takes: a simulation spends its time on the line."""
LISTENS = "port "
STARTS_S, ENDS_S = 0.01, 10.0
"""How often a simulator is asked whether it listens, and how long its process may take to end behind its line."""


def build_system(directory: Path, folder: Path, system: System, effort: Effort = THOROUGH) -> Path:
    """Build the simulator of a project's system, in `folder`; an equal one is kept. The program."""
    sources = write_system(directory, folder / "rtl", system)
    if system.memory.on_chip:
        return build_simulator(sources, folder, effort)
    beside = [sim_directory() / f"{name}.sv" for name in (CHIP, BENCH)]
    return build_simulator([*sources, *beside], folder, effort, BENCH)


def build_simulator(
    sources: list[Path], folder: Path, effort: Effort = THOROUGH, top: str = SYSTEM, options: Sequence[str] = ()
) -> Path:
    """Build the simulator of RTL whose top has board_system's ports, with the rules of its modules; the program."""
    verilator = find_verilator()
    find_compiler(), find_make()
    harness = sim_directory() / f"{PROGRAM}.cpp"
    given = [*sources, *rules_of(sources)]
    digest = hashlib.sha256(f"{verilator.version} {effort} {top} {options}".encode())
    for path in (*given, harness):
        digest.update(path.name.encode() + path.read_bytes())
    objects, stamp = folder / "obj", folder / "built"
    program = objects / PROGRAM
    if stamp.is_file() and stamp.read_text() == digest.hexdigest() and program.is_file():
        return program
    command = [
        str(verilator.path), "--cc", "--exe", "--build", "-j", "2", "--top-module", top, "--prefix", "Vboard",
        *effort.verilator, "--x-assign", "fast", "--x-initial", "fast", "--assert", "--no-assert-case", "-Wno-fatal",
        "-Wno-lint", "-Wno-MULTITOP", "-Wno-style", *options, "--Mdir", str(objects), "-o", PROGRAM,
        *map(str, given), str(harness),
    ]  # fmt: skip
    stamp.unlink(missing_ok=True)
    with tools_on_path(verilator.path, effort.make):
        run = subprocess.run(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=dict(os.environ),
            check=False,
        )  # fmt: skip
    log = folder / "build.log"
    log.write_text(run.stdout, encoding="utf-8")
    if run.returncode != 0:
        raise UserError(f"Verilator could not build the system: see {log}")
    stamp.write_text(digest.hexdigest())
    return program


@contextmanager
def serving(program: Path, bit_step: int, port: int = 0) -> Iterator[str]:
    """A running simulator; gives the name of its port. Raises CheckFailed where it stopped itself meanwhile."""
    log = program.parent.parent / "run.log"
    with log.open("w") as output:
        process = subprocess.Popen([str(program), str(bit_step), str(port)], stdout=output, stderr=subprocess.STDOUT)
    try:
        try:
            yield f"{SOCKET}127.0.0.1:{_port_of(process, log)}"
        except LineClosed:
            # The line goes before the process does.
            with suppress(subprocess.TimeoutExpired):
                process.wait(ENDS_S)
            raise
        finally:
            code = process.poll()
            if code is None:
                process.terminate()
                process.wait()
    finally:
        # In place of the exception that it caused at the other end of the line.
        if code is not None:
            raise CheckFailed(_why(code, log)) from None


def _port_of(process: subprocess.Popen[bytes], log: Path) -> int:
    """The port at which a simulator listens."""
    while True:
        ended = process.poll() is not None
        if found := re.search(rf"^{LISTENS}(\d+)$", log.read_text(), re.MULTILINE):
            return int(found[1])
        if ended:
            raise LineClosed("the simulated board did not start")
        time.sleep(STARTS_S)


def _why(code: int, log: Path) -> str:
    """Why a simulator stopped itself, in one line: its assertion, or how it ended and the last that it said."""
    if failed := failed_assertion(log):
        return failed
    end = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
    said = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    last = f": {said[-1]}" if said and not said[-1].startswith(LISTENS) else ""
    return f"the simulation ended early {end}{last} (see {log})"
