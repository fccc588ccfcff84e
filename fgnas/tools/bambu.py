"""Compile a project's C++ with PandA-bambu, an open HLS compiler, and simulate its Verilog on the whole graph.

Bambu lets the processes of a region run for ever and joins them by FIFOs only, so its kernel takes main memory as one
stream of beats for each region, and a run ends with the status word (`src/fgnas_top.cpp` of such a project).
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from fgnas.errors import UserError
from fgnas.files import replace_file
from fgnas.paths import sim_directory
from fgnas.progress import seconds_before, step
from fgnas.tools.find import find_bambu, find_compiler, find_make, find_verilator
from fgnas.tools.simulate import OUTPUT, Vectors, compare
from fgnas.tools.verilator import tools_on_path

TOP = "fgnas_top"
WORK = Path("build") / "bambu"
OPTIONS = (
    f"--top-fname={TOP}", "--generate-interface=INFER", "--compiler=I386_CLANG16", "--std=c++17", "-O2",
    "--clock-period=10", "--reset-type=sync",
    # An array that is passed to a function which is not inlined is reached over a bus that all processes share. Loops
    # over lanes that are unrolled leave registers in the place of arrays.
    "--extra-gcc-options=-mllvm -inline-threshold=1000000 -mllvm -unroll-threshold=1000000",
)  # fmt: skip
LEAST_DEPTH = 32
"""Words of the FIFOs that carry beats."""
QUIET_CYCLES = 20_000_000
"""Cycles without a transfer on any port after which a run counts as hung."""
COMPILE_SECONDS, RUN_SECONDS = 7200, 3600
RESULT = re.compile(r"^status (\d+) cycles (\d+) beats (\d+)$", re.MULTILINE)
SHARED_BUS = re.compile(r"^\s+B?MEMORY_CTRL\w* #", re.MULTILINE)
"""An access to memory over the bus that all processes share, which bambu does not arbitrate."""
FIFO_DEPTH = re.compile(r"(\bparameter\b[^;]*?\bQUEUESIZE_LOG\s*=\s*|\.QUEUESIZE_LOG\()\d+")


def run_bambu(directory: Path) -> dict[str, Any]:
    """Compile the C++ with bambu, simulate the Verilog, and write report/sim_bambu.json.

    Returns its content: nodes, logits, mismatches, first_mismatch, status, cycles, and the seconds of bambu, of the
    build and of the run. Raises UserError where bambu is missing, refuses the C++, or its kernel does not end.
    """
    vectors = Vectors.read(directory)
    _check_flavour(vectors.directory)
    bambu = find_bambu()
    work = vectors.directory / WORK
    work.mkdir(parents=True, exist_ok=True)
    report_path = vectors.directory / "report" / "sim_bambu.json"
    marks = [time.monotonic()]
    with step("bambu", seconds_before(report_path, "bambu_seconds")):
        verilog = compile_to_verilog(bambu, vectors.directory, work)
    marks.append(time.monotonic())
    with step("build the simulator", seconds_before(report_path, "build_seconds")):
        simulator = _build(verilog, work)
    marks.append(time.monotonic())
    with step("simulate", seconds_before(report_path, "run_seconds")):
        report = _simulate(simulator, vectors, work)
    marks.append(time.monotonic())
    names = ("bambu_seconds", "build_seconds", "run_seconds")
    report |= {name: round(end - begin, 1) for name, (begin, end) in zip(names, pairwise(marks), strict=True)}
    replace_file(report_path, json.dumps(report, indent=2) + "\n")
    return report


def compile_to_verilog(bambu: Path, directory: Path, work: Path) -> Path:
    """Run bambu in `work` on a project; returns its Verilog, with FIFOs as deep as the project's streams."""
    log = work / "bambu.log"
    command = [str(bambu), str(directory / "src" / f"{TOP}.cpp"), *OPTIONS]
    try:
        run = subprocess.run(
            command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
            timeout=COMPILE_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise UserError(f"bambu did not finish {directory} within {COMPILE_SECONDS} s") from None
    log.write_text(run.stdout, encoding="utf-8")
    verilog = work / f"{TOP}.v"
    if run.returncode != 0 or not verilog.is_file():
        found = re.search(r"^.*\berror\b.*$", run.stdout, re.MULTILINE | re.IGNORECASE)
        raise UserError(f"bambu does not compile {directory}{f': {found[0].strip()}' if found else ''}; see {log}")
    text = verilog.read_text(encoding="utf-8")
    if SHARED_BUS.search(text):
        raise UserError(f"bambu joins the processes of {directory} by a memory bus without an arbiter; see {verilog}")
    deep = work / f"{TOP}_deep.v"
    deep.write_text(deepened(text, stream_depth(directory)), encoding="utf-8")
    return deep


def stream_depth(directory: Path) -> int:
    """Words of the deepest stream of a project, from src/parameters.h."""
    text = (directory / "src" / "parameters.h").read_text(encoding="utf-8")
    return max([LEAST_DEPTH, *(int(depth) for depth in re.findall(r"\b\w+_FIFO = (\d+);", text))])


def deepened(verilog: str, words: int) -> str:
    """Bambu's Verilog with FIFOs for at least so many words: bambu itself builds FIFOs of three."""
    # A FIFO of 2^n entries holds 2^n - 1 words.
    return FIFO_DEPTH.sub(lambda found: f"{found[1]}{math.ceil(math.log2(words + 1))}", verilog)


def _check_flavour(directory: Path) -> None:
    """Raise UserError for a project whose C++ was written for another compiler."""
    top = directory / "src" / f"{TOP}.cpp"
    if not top.is_file() or "__BAMBU__" not in top.read_text(encoding="utf-8"):
        raise UserError(f"the C++ of {directory} is not for bambu; fix: `fgnas hls DESIGN --compiler bambu`")


def _build(verilog: Path, work: Path) -> Path:
    """Build the simulator of bambu's Verilog; returns the program."""
    verilator = find_verilator()
    find_compiler(), find_make()
    folder = work / "obj"
    command = [
        str(verilator.path), "--cc", "--exe", "--build", "-j", "2", "--top-module", TOP, "-O3", "--x-assign", "fast",
        "--x-initial", "fast", "--noassert", "-Wno-fatal", "-Wno-lint", "-Wno-MULTITOP", "--Mdir", str(folder), "-o",
        "streams", str(verilog), str(sim_directory() / "streams.cpp"),
    ]  # fmt: skip
    with tools_on_path(verilator.path):
        run = subprocess.run(
            command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=dict(os.environ),
            check=False,
        )  # fmt: skip
    log = work / "build.log"
    log.write_text(run.stdout, encoding="utf-8")
    if run.returncode != 0:
        raise UserError(f"Verilator could not build bambu's kernel: see {log}")
    return folder / "streams"


def _simulate(simulator: Path, vectors: Vectors, work: Path) -> dict[str, Any]:
    """Run the simulator on the vectors and compare every logit."""
    sizes = vectors.sizes
    golden = np.fromfile(vectors.directory / "vectors" / f"{OUTPUT}.bin", "<i2")
    found_path = work / f"{OUTPUT}.bin"
    counts = (sizes["nodes"], sizes["feature_beats"], sizes["edge_beats"], sizes["nodes"] * sizes["logit_beats"])
    places = (simulator, vectors.directory / "vectors", found_path)
    command = [*map(str, places), *map(str, counts), str(QUIET_CYCLES)]
    try:
        # Its memories read their contents from files of bambu beside the Verilog.
        run = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise UserError(f"bambu's kernel of {vectors.directory} did not end within {RUN_SECONDS} s") from None
    (work / "run.log").write_text(run.stdout + run.stderr, encoding="utf-8")
    ended = RESULT.search(run.stdout)
    if ended is None:
        last = (run.stdout.strip().splitlines() or ["nothing printed"])[-1]
        raise UserError(f"bambu's kernel of {vectors.directory} did not end: {last}; see {work / 'run.log'}")
    status, cycles, _ = map(int, ended.groups())
    found = np.fromfile(found_path, "<i2")
    if len(found) != len(golden):
        # Logits that never came count as wrong.
        padded = ~golden
        padded[: min(len(found), len(golden))] = found[: len(golden)]
        found = padded
    return compare(sizes, golden, found) | {"status": status, "cycles": cycles}
