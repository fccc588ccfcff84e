"""Simulate a project's RTL on its whole graph: built by Verilator, driven by cocotb, every logit compared."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.errors import UserError
from fgnas.files import replace_file
from fgnas.hardware import wire
from fgnas.hardware.pipeline.latency import READ_LATENCY, WRITE_LATENCY
from fgnas.paths import sim_directory
from fgnas.progress import seconds_before, step
from fgnas.tools.find import Verilator, find_compiler, find_make, find_verilator, require

PAGE_BEATS = 256
LEAST_MEMORY_BEATS = 1 << 16
"""1 MiB: the bench of a small graph is that of any other, and need not be built again."""
MAKE_FLAGS = "OPT_FAST=-O2 OPT_GLOBAL=-O2 OPT_SLOW=-O0"
"""For the makefile that Verilator writes: what runs every cycle is optimised, what runs once is not."""
QUICK_MAKE_FLAGS = "OPT_FAST=-O0 OPT_GLOBAL=-O0 OPT_SLOW=-O0 VM_PARALLEL_BUILDS=0"
"""For small graphs: a build takes a third of the time, and what it saves is more than a slower run costs."""
SPARE_CYCLES = 100_000
"""What a watchdog allows beyond four times the predicted cycles."""


def run_simulation(
    directory: Path,
    stall_seed: int = 0,
    runs: int = 1,
    rtl: Path | None = None,
    make_flags: str = MAKE_FLAGS,
    trace: Path | None = None,
) -> dict[str, Any]:
    """Simulate the kernel of a project folder on its vectors; returns what `report/sim.json` then holds.

    Keys: nodes, logits, mismatches, first_mismatch, cycles, predicted_cycles, phase_cycles (when each phase asked for
    its first beat: load, one for each layer, output), status, and what it took: build_seconds, run_seconds,
    cycles_per_second (of processor time). With a stall seed the memory stalls at random; with several runs the kernel
    is started again and the last result is compared.
    When each stage has taken each row in goes to `report/sim_rows.npz` (`write_rows`).
    `rtl` names other RTL with the kernel's face, as `read_sources` reads it; then the report is `report/sim_rtl.json`,
    and there are no rows.
    `trace` is a folder that the stages write to, a file each, many times as slowly; the report is not kept then.
    """
    directory = directory.resolve()
    sizes = _read_json(directory / "vectors" / "vectors.json")
    predicted = int(_read_json(directory / "report" / "price.json")["latency_cycles"])
    layout = memory_layout(sizes)
    name = ("sim" if rtl is None else "sim_rtl") + ("_trace" if trace else "")
    work = directory / "build" / name
    begin = time.monotonic()
    sources = read_sources(directory / "rtl" / "files.f" if rtl is None else rtl)
    taps = directory / "tb" / "fgnas_rows.sv"
    if rtl is None and taps.is_file():
        sources.append(taps)
    if trace:
        sources.append(directory / "tb" / "fgnas_trace.sv")
    before = directory / "report" / f"{name}.json"
    # A build that stands there already takes no time, and then the last one's is not what this one takes.
    with step("build the simulator", None if (work / "built").is_file() else seconds_before(before, "build_seconds")):
        build(sources, work, {"MemoryBeats": layout["memory_beats"]}, make_flags=make_flags)
    built = time.monotonic()
    write_memory(directory, work / "memory.hex", layout)
    rows = work / "rows"
    shutil.rmtree(rows, ignore_errors=True)
    rows.mkdir()
    job = _job(sizes, layout, predicted, stall_seed, runs, work) | {"plusargs": {"rows": str(rows)}}
    if trace:
        job["plusargs"]["trace"] = str(trace)
    with step("simulate", seconds_before(before, "run_seconds")):
        results = execute(work, job)
    last = results[-1]
    if last["timeout"]:
        raise UserError(f"the kernel in {directory} sent no interrupt within {job['runs'][0]['limit_cycles']} cycles")
    if last["status"]:
        raise UserError(f"the kernel in {directory} refused the graph: status {last['status']:#x}; see its README")
    golden = np.fromfile(directory / "vectors" / "logits.bin", "<i2")
    got = read_dump(work / "logits.hex").view("<i2").ravel()
    report = compare(sizes, golden, got) | {
        "cycles": last["cycles"],
        "predicted_cycles": predicted,
        "phase_cycles": last["phase_cycles"],
        "beats_read": last["beats_read"],
        "status": last["status"],
        "protocol_errors": last["protocol_errors"],
        "build_seconds": round(built - begin, 2),
        "cycles_per_second": round(last["cycles"] / max(last["seconds"], 1e-3)),
        "run_seconds": round(time.monotonic() - built, 2),
    }
    if not trace:
        replace_file(directory / "report" / f"{name}.json", json.dumps(report, indent=2) + "\n")
        if rtl is None:
            write_rows(directory, rows, sizes["nodes"])
    return report


def write_rows(directory: Path, folder: Path, nodes: int) -> None:
    """Put what the taps of tb/fgnas_rows.sv wrote, of the last run, into report/sim_rows.npz.

    {PHASE.STAGE: [N] cycle, from the accepted start write, in which the stage took in the last of each row}; phase 0
    is the first linear stage's, and stages are named as docs/accelerator.md does, with _ for spaces.
    """
    found: dict[str, Any] = {path.name: np.fromfile(path, "<u4")[-nodes:] for path in sorted(folder.iterdir())}
    packed = io.BytesIO()
    np.savez_compressed(packed, **{name: cycles for name, cycles in found.items() if len(cycles) == nodes})
    replace_file(directory / "report" / "sim_rows.npz", packed.getvalue())


def memory_layout(sizes: dict[str, int], gap_beats: int = 0) -> dict[str, int]:
    """First beats of the regions in the bench's memory, each on a 4 KiB page (plus `gap_beats`)."""
    place = PAGE_BEATS
    layout: dict[str, int] = {}
    lengths = {
        "parameters": sizes["parameter_beats"],
        "features": sizes["feature_beats"],
        "edges": sizes["edge_beats"],
        "logits": sizes["nodes"] * sizes["logit_beats"],
    }
    for name, beats in lengths.items():
        layout[name] = place + gap_beats
        place = -(-(place + gap_beats + beats) // PAGE_BEATS) * PAGE_BEATS
    layout["memory_beats"] = max(LEAST_MEMORY_BEATS, 1 << (place - 1).bit_length())
    return layout


def read_sources(place: Path) -> list[Path]:
    """The RTL of a kernel whose top is fgnas_top: a folder of .v and .sv files, or a file that lists some.

    Memory contents that lie in the same folders (.dat, as a vendor's tool names them) belong to it.
    """
    if place.is_dir():
        sources = sorted(path for path in place.iterdir() if path.suffix in (".v", ".sv"))
    else:
        try:
            sources = [place.parent / line.strip() for line in place.read_text().splitlines() if line.strip()]
        except FileNotFoundError:
            raise UserError(f"{place} does not exist: `fgnas hls` writes a project's; --rtl names other") from None
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"cannot read the list of RTL files {place}: {error}") from None
    if not sources:
        raise UserError(f"{place} holds no .v or .sv file")
    for path in sources:
        if not path.is_file():
            raise UserError(f"{place} names {path}, which does not exist")
    return sources + sorted({found for path in sources for found in path.parent.glob("*.dat")})


def build(
    rtl: list[Path], work: Path, parameters: dict[str, int], bench: str = "bench", make_flags: str = MAKE_FLAGS
) -> None:
    """Build the simulator of a bench in sim/, unless one for the same sources and tool stands there already."""
    require("cocotb_tools", "sim")
    from cocotb_tools.runner import get_runner

    verilator = find_verilator()
    find_compiler(), find_make()
    contents = [path for path in rtl if path.suffix == ".dat"]
    sources = [path for path in rtl if path not in contents]
    sources += [sim_directory() / f"{bench}.vlt", sim_directory() / f"{bench}.sv"]
    key = _digest([*sources, *contents], f"{verilator.version} {parameters} {make_flags}")
    stamp = work / "built"
    if stamp.is_file() and stamp.read_text() == key:
        return
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    for path in contents:
        shutil.copyfile(path, work / path.name)  # RTL names them relative to where the simulator runs
    runtime = _runtime_cache(verilator, make_flags)
    objects = sorted(runtime.glob("*.o"))
    link = ["-LDFLAGS", " ".join(map(str, objects))] if objects else []
    # Objects that are linked from the cache must not be built again.
    with tools_on_path(verilator.path, f"{make_flags} VM_GLOBAL_FAST= VM_GLOBAL_SLOW=" if objects else make_flags):
        try:
            get_runner("verilator").build(
                sources=sources,
                hdl_toplevel=bench,
                parameters=parameters,
                build_args=[
                    # Only what the bench's .vlt names is public: the runner's default would forbid most optimisation.
                    "-O3", "--no-public-flat-rw", "--x-assign", "fast", "--x-initial", "fast", "--noassert",
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


def execute(work: Path, job: dict[str, Any]) -> list[dict[str, Any]]:
    """Run the built simulator on a job; returns one result a run."""
    from cocotb_tools.runner import get_runner

    path = work / "job.json"
    path.write_text(json.dumps(job))
    result = Path(job["result"])
    result.unlink(missing_ok=True)
    Path(job["dump_file"]).unlink(missing_ok=True)
    # A failed test ends the runner; what is missing then is the result.
    with tools_on_path(find_verilator().path), suppress(SystemExit):
        get_runner("verilator").test(
            test_module="whole_graph",
            hdl_toplevel_lang="verilog",
            hdl_toplevel="bench",
            build_dir=work,
            test_dir=work,
            plusargs=[
                f"+memory={job['memory_file']}", f"+dump={job['dump_file']}",
                *(f"+{name}={value}" for name, value in job.get("plusargs", {}).items()),
            ],
            extra_env={"FGNAS_SIM_JOB": str(path)},
            log_file=work / "run.log",
            results_xml=str(work / "results.xml"),
        )  # fmt: skip
    if not result.is_file():
        raise UserError(f"the simulation stopped before its end: see {work / 'run.log'}")
    return list(json.loads(result.read_text()))


def write_memory(directory: Path, path: Path, layout: dict[str, int]) -> None:
    """The bench's memory image: the three regions that the kernel reads."""
    with path.open("w") as out:
        for name in ("parameters", "features", "edges"):
            beats = np.fromfile(directory / "vectors" / f"{name}.bin", np.uint8).reshape(-1, wire.BEAT_BYTES)
            digits = beats[:, ::-1].tobytes().hex()
            lines = (digits[i : i + 2 * wire.BEAT_BYTES] for i in range(0, len(digits), 2 * wire.BEAT_BYTES))
            out.write(f"@{layout[name]:x}\n" + "\n".join(lines) + "\n")


def read_dump(path: Path) -> NDArray[np.uint8]:
    """[beats, 16] bytes of a region that the bench wrote out."""
    words = [line for line in path.read_text().split() if not line.startswith(("//", "@"))]
    return np.frombuffer(bytes.fromhex("".join(words)), np.uint8).reshape(-1, wire.BEAT_BYTES)[:, ::-1].copy()


def compare(sizes: dict[str, int], golden: NDArray[Any], got: NDArray[Any]) -> dict[str, Any]:
    """Counts of nodes, logits and mismatches, every 16-bit word of the region compared; and the first mismatch."""
    nodes, classes = sizes["nodes"], sizes["classes"]
    words = sizes["logit_beats"] * 8
    wrong = (golden != got).reshape(nodes, words)
    report: dict[str, Any] = {"nodes": nodes, "logits": nodes * classes, "mismatches": int(wrong.sum())}
    if report["mismatches"]:
        node, word = (int(i) for i in np.argwhere(wrong)[0])
        expected, found = (int(a.reshape(nodes, words)[node, word]) for a in (golden, got))
        report["first_mismatch"] = {"node": node, "class": word, "expected": expected, "found": found}
    return report


def registers(sizes: dict[str, int], layout: dict[str, int]) -> list[tuple[int, int]]:
    """(offset, value) of every argument register for a graph in the bench's memory."""
    values = {"nodes": sizes["nodes"], "feature_beats": sizes["feature_beats"], "edge_beats": sizes["edge_beats"]}
    values |= {name: layout[name] * wire.BEAT_BYTES for name in ("parameters", "features", "edges", "logits")}
    writes: list[tuple[int, int]] = []
    for register in wire.ARGUMENT_REGISTERS:
        if register.access != "w":
            continue
        value = values[register.name]
        writes.extend((register.offset + 4 * i, (value >> (32 * i)) & 0xFFFFFFFF) for i in range(register.bits // 32))
    return writes


@contextmanager
def tools_on_path(verilator: Path, make_flags: str = MAKE_FLAGS) -> Iterator[None]:
    """cocotb's runner looks Verilator up by name: put the one we chose first, for as long as it runs."""
    changed = {"PATH": f"{verilator.parent}{os.pathsep}{os.environ['PATH']}", "MAKEFLAGS": make_flags}
    if shutil.which("ccache"):
        changed.setdefault("OBJCACHE", os.environ.get("OBJCACHE", "ccache"))
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    sys.path.insert(0, str(sim_directory()))  # the runner hands sys.path on to the simulator
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
    """Where the compiled runtime of this Verilator is kept: it is the same for every design, and half of a build."""
    compiler = find_compiler()
    identity = f"{verilator.path} {verilator.version} {compiler} {compiler.resolve().stat().st_mtime_ns} {make_flags}"
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return cache / "fgnas" / "verilator" / hashlib.sha256(identity.encode()).hexdigest()[:16]


def _keep_runtime(work: Path, cache: Path) -> None:
    """Keep the runtime's objects for the next build; a cache that cannot be written costs time only."""
    with suppress(OSError):
        cache.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=cache.parent))
        for built in work.glob("verilated*.o"):
            shutil.copyfile(built, scratch / built.name)
        os.replace(scratch, cache)


def _job(
    sizes: dict[str, int], layout: dict[str, int], predicted: int, stall_seed: int, runs: int, work: Path
) -> dict[str, Any]:
    last = layout["logits"] + max(1, sizes["nodes"] * sizes["logit_beats"]) - 1
    status = next(register.offset for register in wire.ARGUMENT_REGISTERS if register.name == "status")
    run = {
        "registers": registers(sizes, layout),
        "regions": {name: layout[name] for name in ("parameters", "features", "edges")},
        "status_register": status,
        "read_latency": READ_LATENCY,
        "write_latency": WRITE_LATENCY,
        "limit_cycles": 4 * max(predicted, 1_000_000) + SPARE_CYCLES,
    }
    return {
        "runs": [run] * runs,
        "stall_seed": stall_seed,
        "dump": [layout["logits"], last],
        "memory_file": str(work / "memory.hex"),
        "dump_file": str(work / "logits.hex"),
        "result": str(work / "result.json"),
    }


def _digest(files: list[Path], extra: str) -> str:
    digest = hashlib.sha256(extra.encode())
    for path in files:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text()))
    except FileNotFoundError:
        project = path.parent.parent
        raise UserError(f"{project} is no fgnas project ({path.name} is missing): make it with `fgnas hls`") from None
    except json.JSONDecodeError as error:
        raise UserError(f"{path} is damaged ({error}): make the project anew with `fgnas hls`") from None
