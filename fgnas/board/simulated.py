"""A whole system under Verilator, with its serial line at a TCP port of this machine."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fgnas.board.assembly import SYSTEM, System, write_system
from fgnas.board.line import SOCKET
from fgnas.errors import CheckFailed, UserError
from fgnas.paths import sim_directory
from fgnas.tools.find import find_compiler, find_make, find_verilator
from fgnas.tools.verilator import MAKE_FLAGS, failed_assertion, rules_of, tools_on_path

PROGRAM = "board_line"
CHIP, BENCH = "board_chip", "board_bench"
"""A memory chip, and a system with one, in sim/."""
TIMEOUT_S = 60.0
"""Seconds that a simulated board may take for an answer."""
QUICK_CYCLES_OF_A_BIT = 4
"""The fewest cycles of a bit that the board's receiver takes: a simulation spends its time on the line."""
LISTENS = "port "


def build_system(directory: Path, folder: Path, system: System, make_flags: str = MAKE_FLAGS) -> Path:
    """Build the simulator of a project's system, in `folder`; an equal one is kept. The program."""
    sources = write_system(directory, folder / "rtl", system)
    if system.memory.on_chip:
        return build_simulator(sources, folder, make_flags)
    beside = [sim_directory() / f"{name}.sv" for name in (CHIP, BENCH)]
    return build_simulator([*sources, *beside], folder, make_flags, BENCH)


def build_simulator(sources: list[Path], folder: Path, make_flags: str = MAKE_FLAGS, top: str = SYSTEM) -> Path:
    """Build the simulator of RTL whose top has board_system's ports, with the rules of its modules; the program."""
    verilator = find_verilator()
    find_compiler(), find_make()
    harness = sim_directory() / f"{PROGRAM}.cpp"
    given = [*sources, *rules_of(sources)]
    digest = hashlib.sha256(f"{verilator.version} {make_flags} {top}".encode())
    for path in (*given, harness):
        digest.update(path.name.encode() + path.read_bytes())
    objects, stamp = folder / "obj", folder / "built"
    program = objects / PROGRAM
    if stamp.is_file() and stamp.read_text() == digest.hexdigest() and program.is_file():
        return program
    command = [
        str(verilator.path), "--cc", "--exe", "--build", "-j", "2", "--top-module", top, "--prefix", "Vboard", "-O3",
        "--x-assign", "fast", "--x-initial", "fast", "--assert", "--no-assert-case", "-Wno-fatal", "-Wno-lint",
        "-Wno-MULTITOP", "-Wno-style", "--Mdir", str(objects), "-o", PROGRAM, *map(str, given), str(harness),
    ]  # fmt: skip
    stamp.unlink(missing_ok=True)
    with tools_on_path(verilator.path, make_flags):
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
    """A running simulator; gives the name of its port. Raises CheckFailed where a rule was broken meanwhile."""
    log = program.parent.parent / "run.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [str(program), str(bit_step), str(port)], stdout=subprocess.PIPE, stderr=output, text=True
        )
        lines: list[str] = []
        try:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line)
                if line.startswith(LISTENS):
                    break
            else:
                raise UserError(f"the simulated board did not start: see {log}")
            try:
                yield f"{SOCKET}127.0.0.1:{line.removeprefix(LISTENS).strip()}"
            except Exception:
                _check(process, lines, log)
                raise
        finally:
            if process.poll() is None:
                process.terminate()
            lines += process.stdout or []
            process.wait()
    log.write_text(log.read_text() + "".join(lines), encoding="utf-8")
    _check(process, lines, log)


def _check(process: subprocess.Popen[str], lines: list[str], log: Path) -> None:
    """Raise CheckFailed where the simulator stopped itself."""
    if process.poll() in (None, 0, -15):
        return
    lines += process.stdout or []
    log.write_text("".join(lines), encoding="utf-8")
    raise CheckFailed(failed_assertion(log) or f"the simulation stopped early: see {log}")
