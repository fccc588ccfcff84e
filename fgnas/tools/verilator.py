"""Build a simulator of RTL with Verilator, and run it under cocotb."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from fgnas.errors import CheckFailed, UserError
from fgnas.extras import require
from fgnas.paths import sim_directory
from fgnas.tools.find import Verilator, find_compiler, find_make, find_verilator


class Effort(NamedTuple):
    """What a build does for a faster simulator.

    Attributes:
        make: flags for the makefile that Verilator writes. verilator: flags for Verilator itself.
    """

    make: str
    verilator: tuple[str, ...] = ("-O3",)


THOROUGH = Effort("OPT_FAST=-O2 OPT_GLOBAL=-O2 OPT_SLOW=-O0")
"""Code that runs every cycle is optimised, code that runs once is not."""
QUICK = Effort(
    "OPT_FAST=-O0 OPT_GLOBAL=-O0 OPT_SLOW=-O0 VM_PARALLEL_BUILDS=0",
    ("-O3", "-fno-expand", "-fno-dfg", "--unroll-count", "4"),
)
"""For short runs: loops and wide numbers that stay what they are make half the code, and the compiler takes a third of
the time, which saves more than the slower run costs."""
MIDDLE = Effort("OPT_FAST=-O1 OPT_GLOBAL=-O1 OPT_SLOW=-O0 VM_PARALLEL_BUILDS=0")
"""Half the processor time of the best build, for two thirds of its speed."""
QUICK_CYCLES, MIDDLE_CYCLES = 50_000, 5_000_000
"""Cycles that such simulators run in less time than the next better build takes longer."""


def effort_for(cycles: int) -> Effort:
    """The effort for a simulator that runs so many cycles in total: a short run gains more from a quick build."""
    if cycles <= QUICK_CYCLES:
        return QUICK
    return MIDDLE if cycles <= MIDDLE_CYCLES else THOROUGH


def read_sources(place: Path) -> list[Path]:
    """The RTL files of a kernel whose top module is fgnas_top, from a folder of .v and .sv files or a list of them.

    Memory contents in the same folders (.dat, as a vendor's tool names them) are included. Raises UserError where a
    file is missing.
    """
    if place.is_dir():
        sources = sorted(path for path in place.iterdir() if path.suffix in (".v", ".sv"))
    else:
        try:
            sources = [place.parent / line.strip() for line in place.read_text().splitlines() if line.strip()]
        except FileNotFoundError:
            raise UserError(f"{place} does not exist: `fgnas hls` writes a project; --rtl names other RTL") from None
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"cannot read the list of RTL files {place}: {error}") from None
    if not sources:
        raise UserError(f"{place} contains no .v or .sv file")
    for path in sources:
        if not path.is_file():
            raise UserError(f"{place} names {path}, which does not exist")
    return sources + sorted({found for path in sources for found in path.parent.glob("*.dat")})


def build(
    rtl: list[Path], work: Path, parameters: dict[str, int], bench: str = "bench", effort: Effort = THOROUGH
) -> None:
    """Build the simulator of a bench from sim/ in `work`; an existing one for the same sources and tool is kept.

    The rules of sim/rules are part of it: those of the bus, and those of every module that `rtl` contains.
    """
    require("cocotb_tools", "sim")
    from cocotb_tools.runner import get_runner

    verilator = find_verilator()
    find_compiler(), find_make()
    contents = [path for path in rtl if path.suffix == ".dat"]
    sources = [path for path in rtl if path not in contents]
    sources += [sim_directory() / f"{bench}.vlt", *rules_of(sources), sim_directory() / f"{bench}.sv"]
    key = _digest([*sources, *contents], f"{verilator.version} {parameters} {effort}")
    stamp = work / "built"
    if stamp.is_file() and stamp.read_text() == key:
        return
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    for path in contents:
        shutil.copyfile(path, work / path.name)  # the RTL names them relative to the simulator's folder
    runtime = _runtime_cache(verilator, effort.make)
    objects = sorted(runtime.glob("*.o"))
    link = ["-LDFLAGS", " ".join(map(str, objects))] if objects else []
    # Objects that are linked from the cache must not be built again.
    linked = " VM_GLOBAL_FAST= VM_GLOBAL_SLOW=" if objects else ""
    with tools_on_path(verilator.path, effort.make + linked):
        try:
            get_runner("verilator").build(
                sources=sources,
                hdl_toplevel=bench,
                parameters=parameters,
                build_args=[
                    # Only signals in the bench's .vlt are public: the runner's default forbids most optimisations.
                    *effort.verilator, "--no-public-flat-rw", "--x-assign", "fast", "--x-initial", "fast",
                    "--no-assert-case",
                    "-j", "2", "-Wno-fatal", "-Wno-WIDTH", "-Wno-BLKSEQ", "-Wno-PINMISSING", *link,
                ],
                build_dir=work,
                log_file=work / "build.log",
            )  # fmt: skip
        except (SystemExit, RuntimeError):
            raise UserError(f"Verilator could not build the kernel: see {work / 'build.log'}") from None
    if not objects:
        _keep_runtime(work, runtime)
    stamp.write_text(key)


def rules_of(rtl: list[Path]) -> list[Path]:
    """The files of sim/rules for a kernel: the rules of the bus, and those of the modules that its files are named for.

    A vendor's kernel has only the former.
    """
    folder = sim_directory() / "rules"
    own = {f"{path.stem}.sv" for path in rtl} | {"fgnas_top.sv"}
    return [folder / "axi.sv", *sorted(path for path in folder.glob("*.sv") if path.name in own)]


def execute(work: Path, job: dict[str, Any]) -> list[dict[str, Any]]:
    """Run the built simulator on a job; returns one result per run.

    Raises CheckFailed where an assertion failed, and UserError where the simulation stopped for another reason.
    """
    from cocotb_tools.runner import get_runner

    path = work / "job.json"
    path.write_text(json.dumps(job))
    result = Path(job["result"])
    result.unlink(missing_ok=True)
    # A failed test or assertion ends the runner, and then the result file is missing.
    with tools_on_path(find_verilator().path), suppress(SystemExit, RuntimeError):
        get_runner("verilator").test(
            test_module="whole_graph",
            hdl_toplevel_lang="verilog",
            hdl_toplevel="bench",
            build_dir=work,
            test_dir=work,
            plusargs=[
                f"+memory={job['memory_file']}", f"+blank={job['blank_file']}", f"+dump={job['dump_file']}",
                *(f"+{name}={value}" for name, value in job.get("plusargs", {}).items()),
            ],
            extra_env={"FGNAS_SIM_JOB": str(path)},
            log_file=work / "run.log",
            results_xml=str(work / "results.xml"),
        )  # fmt: skip
    if not result.is_file():
        if failed := failed_assertion(work / "run.log"):
            raise CheckFailed(failed)
        raise UserError(f"the simulation stopped early: see {work / 'run.log'}")
    return list(json.loads(result.read_text()))


def failed_assertion(log: Path) -> str:
    """The first assertion that failed in a simulation, as one line; "" where none did."""
    found = re.search(r"^(?:\[(\d+)\] )?%Error: \S+ Assertion failed in (\S+?): (.*)$", log.read_text(), re.MULTILINE)
    return f"an assertion failed: {found[3]} ({found[2]}, at {found[1]} ps; see {log})" if found else ""


@contextmanager
def tools_on_path(verilator: Path, make_flags: str = THOROUGH.make) -> Iterator[None]:
    """Put the chosen Verilator first on PATH while the context is open: cocotb's runner looks it up by name."""
    changed = {"PATH": f"{verilator.parent}{os.pathsep}{os.environ['PATH']}", "MAKEFLAGS": make_flags}
    if shutil.which("ccache"):
        changed.setdefault("OBJCACHE", os.environ.get("OBJCACHE", "ccache"))
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    sys.path.insert(0, str(sim_directory()))  # the runner passes sys.path to the simulator
    try:
        yield
    finally:
        sys.path.remove(str(sim_directory()))
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _runtime_cache(verilator: Verilator, make_flags: str) -> Path:
    """The folder of the compiled Verilator runtime, which is the same for every design and takes half of a build."""
    compiler = find_compiler()
    identity = f"{verilator.path} {verilator.version} {compiler} {compiler.resolve().stat().st_mtime_ns} {make_flags}"
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return cache / "fgnas" / "verilator" / hashlib.sha256(identity.encode()).hexdigest()[:16]


def _keep_runtime(work: Path, cache: Path) -> None:
    """Keep the runtime's object files for the next build; without a writable cache, builds only take longer."""
    with suppress(OSError):
        cache.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=cache.parent))
        for built in work.glob("verilated*.o"):
            shutil.copyfile(built, scratch / built.name)
        os.replace(scratch, cache)


def _digest(files: list[Path], extra: str) -> str:
    digest = hashlib.sha256(extra.encode())
    for path in files:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()
