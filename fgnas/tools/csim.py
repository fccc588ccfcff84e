"""Compile a project's C++ with g++ and compare its logits with the golden vectors."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fgnas.errors import UserError
from fgnas.files import replace_file
from fgnas.progress import seconds_before, step
from fgnas.tools.calls import calls_of, together
from fgnas.tools.find import find_ap_types, find_compiler

# The default constructors of the ap_int headers read a member before they set it. Every use of ap_int gives these two
# warnings, and none of them names a line of the project.
FLAGS = (
    "-std=c++17", "-O2", "-Wall", "-Wextra", "-Wno-unknown-pragmas", "-Wno-uninitialized", "-Wno-maybe-uninitialized",
)  # fmt: skip
RESULT = re.compile(r"^nodes (\d+) logits (\d+) mismatches (\d+) failed_checks (\d+)$", re.MULTILINE)
FIRST = re.compile(r"^(?:first|second|further) run: (?:first mismatch at|refused with) .*$", re.MULTILINE)
VECTORS = ("vectors.json", "parameters.bin", "features.bin", "edges.bin", "logits.bin")
COMPILE_SECONDS, RUN_SECONDS = 600, 3600


def run_csim(directory: Path, options: tuple[str, ...] = (), project: Path | None = None) -> dict[str, Any]:
    """Compile and run a project's C++ test bench, and write report/csim.json; `options` go to the compiler, last.

    `project` has the C++ where the directory has vectors for it alone.

    Returns the content of the report: nodes, logits, mismatches, failed_checks (of the runs that must write nothing),
    first_mismatch (a line, or None) and seconds; of a network in several calls also calls and results, see `together`.
    Raises UserError where it cannot run.
    """
    directory = Path(directory).absolute()
    home = Path(project or directory).absolute()
    work = home / "build" / "csim"
    calls = calls_of(directory)
    each = [run_bench(home, options, work, vectors=call["folder"] / "vectors") for call in calls]
    report = together(calls, each) if calls else run_bench(home, options, work, vectors=directory / "vectors")
    (directory / "report").mkdir(exist_ok=True)
    replace_file(directory / "report" / "csim.json", json.dumps(report, indent=2) + "\n")
    return report


def run_bench(
    directory: Path,
    options: tuple[str, ...],
    work: Path,
    environment: Mapping[str, str] | None = None,
    vectors: Path | None = None,
) -> dict[str, Any]:
    """Compile and run the test bench of a project in the folder `work`, below it; returns what `run_csim` does.

    With `vectors` the same build runs those of another network, which was lowered for the same engine.
    """
    _check_project(directory)
    binary = _compile(directory, options, work)
    log = binary.with_suffix(".log")
    start = time.perf_counter()
    try:
        with step("run the C++", seconds_before(directory / "report" / "csim.json", "seconds")):
            run = subprocess.run(
                [binary, vectors or directory / "vectors"], capture_output=True, text=True, timeout=RUN_SECONDS,
                check=False, env={**os.environ, **(environment or {})},
            )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise UserError(f"the C++ of {directory} did not end within {RUN_SECONDS} s") from None
    seconds = time.perf_counter() - start
    log.write_text(run.stdout + run.stderr, encoding="utf-8")
    counts = read_counts(run.stdout)
    if counts is None:
        raise UserError(f"{_why_no_result(run)}; see {log}")
    return {**counts, "seconds": round(seconds, 3)}


def read_counts(printed: str) -> dict[str, Any] | None:
    """The counts that the test bench printed; None where it did not reach its end."""
    found = RESULT.search(printed)
    if found is None:
        return None
    counts = dict(zip(("nodes", "logits", "mismatches", "failed_checks"), map(int, found.groups()), strict=True))
    first = FIRST.search(printed)
    return {**counts, "first_mismatch": first[0] if first else None}


def _why_no_result(run: subprocess.CompletedProcess[str]) -> str:
    """The reason why a run of the test bench printed no result."""
    for line in run.stdout.splitlines():
        if line.startswith("error: "):
            return f"the test bench could not run: {line.removeprefix('error: ')}"
    return f"the test bench crashed (exit code {run.returncode})"


def _check_project(directory: Path) -> None:
    fix = "write the project again with `fgnas hls`"
    if not (directory / "src").is_dir() or not (directory / "tb").is_dir():
        raise UserError(f"{directory} is not a generated project (no src/ and tb/); {fix}")
    for name in VECTORS:
        if not (directory / "vectors" / name).is_file():
            raise UserError(f"{directory / 'vectors' / name} is missing; {fix}")


def _compile(directory: Path, options: tuple[str, ...], folder: Path) -> Path:
    """The compiled test bench, `folder`/csim, which is kept as long as sources and command are the same."""
    binary, stamp = folder / "csim", folder / "csim.sha256"
    # Paths relative to the project, so that a project that was moved or copied keeps its binary.
    units = sorted(
        str(path.relative_to(directory)) for part in ("src", "tb") for path in (directory / part).glob("*.cpp")
    )
    output = str(binary.relative_to(directory))
    command = [str(find_compiler()), *FLAGS, *options, "-isystem", str(find_ap_types()), *units, "-o", output]
    digest = _digest(directory, command)
    if binary.is_file() and stamp.is_file() and stamp.read_text(encoding="utf-8") == digest:
        return binary
    folder.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    try:
        with step("compile the C++"):
            run = subprocess.run(
                command, cwd=directory, capture_output=True, text=True, timeout=COMPILE_SECONDS, check=False
            )
    except subprocess.TimeoutExpired:
        raise UserError(f"g++ did not finish the C++ of {directory} within {COMPILE_SECONDS} s") from None
    log = folder / "compile.log"
    log.write_text(run.stdout + run.stderr, encoding="utf-8")
    if run.returncode != 0:
        raise UserError(f"g++ does not compile the C++ of {directory}; see {log}")
    stamp.write_text(digest, encoding="utf-8")
    return binary


def _digest(directory: Path, command: list[str]) -> str:
    """SHA-256 over the command and every source."""
    digest = hashlib.sha256("\0".join(command).encode())
    for path in sorted([*directory.glob("src/*"), *directory.glob("tb/*")]):
        digest.update(f"\0{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()
