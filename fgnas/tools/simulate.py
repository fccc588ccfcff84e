"""Simulate a project's RTL on its whole graph: built by Verilator, driven by cocotb, every logit compared.

Sizes, registers and regions come from the project's own files: the bench serves any kernel with an s_axilite control
port, whose address registers name the regions in vectors/.
"""

from __future__ import annotations

import io
import itertools
import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.backends.project import CALL_LIST, MAPPING
from fgnas.errors import CheckFailed, UserError
from fgnas.files import replace_file
from fgnas.hardware import wire
from fgnas.hardware.pipeline.latency import READ_LATENCY, WRITE_LATENCY
from fgnas.hardware.port import STEPS
from fgnas.hardware.ports import PAGE_BYTES
from fgnas.progress import counted, seconds_before, step
from fgnas.tools.calls import calls_of, together
from fgnas.tools.verilator import build, effort_for, execute, read_sources

OUTPUT = wire.OUTPUT_REGION
COUPLINGS = (
    "address_first", "address_after_data", "data_first", "together", "slow_writes", "late_answers", "one_at_a_time",
    "slow_reads",
)  # fmt: skip
"""The subordinates of sim/bench.sv that AXI allows, in the order of its coupling_e."""
UNWRITTEN = 0x5A
"""A byte of the result before a run."""
LEAST_MEMORY_BEATS = 1 << 16
"""1 MiB: the benches of small graphs have equal parameters, so that a project's bench is built once."""
PHASES = "rows.phases"
"""The file in which an array's probe records where its phases begin."""
SUMMED = ("logits", "mismatches", "cycles", "predicted_cycles", "cycle_difference")
SPARE_CYCLES = 100_000
"""Cycles that the watchdog allows beyond four times the predicted ones."""


@dataclass(frozen=True)
class BuiltFor:
    """The load that a simulator is built for: beats of its memory, and total cycles of its runs."""

    memory_beats: int
    cycles: int

    @classmethod
    def all_of(cls, runs: Sequence[Vectors]) -> BuiltFor:
        """One simulator for all of these runs."""
        return cls(max(one.memory_beats for one in runs), sum(one.predicted for one in runs))


@dataclass(frozen=True)
class Vectors:
    """The graph of a project folder, placed in the bench's memory.

    Attributes:
        directory: the project's folder.
        sizes: the content of vectors/vectors.json.
        registers: the kernel's registers, from report/accelerator.json.
        predicted: the cycles of the latency model, from report/price.json.
        beat_cycles: cycles that the memory's port takes for a beat, from there too.
        first: {region: its first beat}, each on a 4 KiB page, in the order of the address registers.
        memory_beats: size of the memory, a power of two.
        beat_bytes: of its port.
        home: the project that has the RTL, if it is another folder.
        built_for: the load that the simulator is built for, if not for this run alone.
    """

    directory: Path
    sizes: dict[str, int]
    registers: tuple[dict[str, Any], ...]
    predicted: int
    beat_cycles: float
    first: dict[str, int]
    memory_beats: int
    beat_bytes: int
    home: Path | None = None
    built_for: BuiltFor | None = None

    @property
    def built_in(self) -> Path:
        """The folder of the project whose RTL is built."""
        return self.home or self.directory

    @classmethod
    def read(cls, directory: Path) -> Vectors:
        """The vectors of a project. Raises UserError where the folder holds no project or a damaged one."""
        directory = directory.resolve()
        try:
            return cls._read(directory)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise UserError(f"vectors/ or report/ of {directory} is damaged ({type(error).__name__}: {error}): write "
                            f"the project again with `fgnas hls`") from None  # fmt: skip

    @classmethod
    def _read(cls, directory: Path) -> Vectors:
        sizes = _read_json(directory / "vectors" / "vectors.json")
        price = _read_json(directory / "report" / "price.json")
        predicted, port = int(price["latency_cycles"]), float(price.get("beat_cycles", 1))
        registers = tuple(_read_json(directory / "report" / "accelerator.json")["registers"])
        addresses = [register["name"] for register in registers if _is_argument(register) and register["bits"] == 64]
        beat_bytes = sizes.get("beat_bytes", wire.BEAT_BYTES)
        beats = {name: _checked_beats(directory / "vectors", sizes, name, beat_bytes) for name in addresses}
        nodes, classes = sizes["nodes"], sizes["classes"]
        if not (nodes >= 0 < classes and 2 * nodes * classes <= beats[OUTPUT] * beat_bytes):
            raise ValueError(f"{nodes} nodes of {classes} classes")
        return cls(directory, sizes, registers, predicted, port, *_placed(beats, beat_bytes), beat_bytes)

    def again(self) -> Vectors:
        """Those of a further start, without what the kernel loads first and keeps. Raises UserError where it keeps
        nothing."""
        loads = self.sizes.get("loads", 0)
        if not loads:
            raise UserError(f"what the kernel in {self.directory} loads does not stay on the chip: leave out --again")
        beats = self.sizes["programme_beats"] // self.sizes["descriptors"]
        sizes = self.sizes | {"descriptors": self.sizes["descriptors"] - loads, "check": self.sizes["check_again"]}
        predicted = int(_read_json(self.directory / "report" / "price.json")["cycles_again"])
        first = self.first | {"programme": self.first["programme"] + loads * beats}
        return replace(self, sizes=sizes, first=first, predicted=predicted)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The regions that the kernel reads."""
        return tuple(name for name in self.first if name != OUTPUT)

    def arguments(self) -> list[tuple[int, int]]:
        """(offset, value) of every 32-bit word of the argument registers: addresses in bytes, counts as they are."""
        words: list[tuple[int, int]] = []
        for register in filter(_is_argument, self.registers):
            name, offset = register["name"], register["offset"]
            value = self.first[name] * self.beat_bytes if name in self.first else self.sizes[name]
            words += [(offset + 4 * i, (value >> (32 * i)) & 0xFFFFFFFF) for i in range(register["bits"] // 32)]
        return words

    def offset(self, name: str) -> int:
        """The address of a register."""
        return next(int(register["offset"]) for register in self.registers if register["name"] == name)


def run_simulation(
    directory: Path, stall_seed: int = 0, runs: int = 1, project: Path | None = None, built_for: BuiltFor | None = None,
    again: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Simulate a project's own RTL on its vectors, and write report/sim.json and report/sim_rows.npz (`write_rows`).

    `project` has the RTL where the directory is one of its uses (`write_step`); it is built once for all that are
    `built_for` the same.

    With a stall seed the memory stalls at random; with several runs the kernel is started again and the last result is
    compared. With `again` it is started once more without what it loads first and keeps, which `again` in the report
    compares. Returns the content of the report: nodes, logits, mismatches, first_mismatch, cycles, predicted_cycles,
    cycle_difference (cycles - predicted_cycles; absent where the memory stalls, which no model predicts), phase_cycles
    (the cycle of each phase's first read: load, one for each layer, output), status, and the cost: build_seconds,
    run_seconds, cycles_per_second (of processor time). Raises UserError where the kernel cannot be built or run.
    """
    vectors = Vectors.read(directory)
    if project is not None:
        vectors = replace(vectors, home=project.resolve())
    vectors = replace(vectors, built_for=built_for)
    further = vectors.again() if again else None
    report, work = _simulated(
        vectors, own_sources(vectors.built_in), "sim", further=further, stall_seed=stall_seed, runs=runs
    )
    if not stall_seed:
        report["cycle_difference"] = report["cycles"] - report["predicted_cycles"]
        report |= compare_phases(vectors.directory, work / PHASES, report["cycles"], again)
    report |= multiplier_use(vectors.directory, report["cycles"])
    _write_report(vectors, "sim", report)
    write_rows(vectors.directory, work / "rows", vectors.sizes["nodes"])
    return report


def multiplier_use(directory: Path, cycles: int) -> dict[str, Any]:
    """Multipliers, the multiplications that the network needs on this graph, and their ratio over the cycles.

    Empty for a project whose report/price.json does not count them.
    """
    predicted = _read_json(directory / "report" / "price.json")
    if "multipliers" not in predicted:
        return {}
    multipliers, needed = predicted["multipliers"], predicted["multiplications"]
    busy = round(needed / (multipliers * cycles), 4) if multipliers and cycles else None
    return {"multipliers": multipliers, "multiplications": needed, "busy": busy}


def compare_phases(directory: Path, recorded: Path, cycles: int, again: bool = False) -> dict[str, Any]:
    """Measured and predicted cycles of every phase, where the project predicts them and its probe recorded them.

    The probe writes the cycle in which each phase but the first begins; the last one ends with the run. They are those
    of the last run, or, where it was started `again`, of the first.
    """
    predicted = _read_json(directory / "report" / "price.json").get("phases")
    if predicted is None or not recorded.is_file():
        return {}
    begins, count = np.fromfile(recorded, "<u4").tolist(), len(predicted) - 1
    borders = [0, *(begins[:count] if again else begins[len(begins) - count :]), cycles]
    phases = [
        {"name": phase["name"], "cycles": int(taken), "predicted_cycles": phase["cycles"]}
        for phase, taken in zip(predicted, np.diff(borders), strict=True)
    ]
    wrong = sum(phase["cycles"] != phase["predicted_cycles"] for phase in phases)
    return {"phases": phases, "phase_differences": wrong}


def run_other_rtl(directory: Path, rtl: Path) -> dict[str, Any]:
    """Simulate other RTL with the kernel's interface (`read_sources`), and write report/sim_rtl.json.

    Returns the same keys as `run_simulation`, without cycle_difference: the latency model is that of the project's RTL.
    """
    vectors = Vectors.read(directory)
    report, _ = _simulated(vectors, read_sources(rtl), "sim_rtl")
    _write_report(vectors, "sim_rtl", report)
    return report


def run_steps(directory: Path) -> dict[str, Any]:
    """Simulate every step of every accelerator of a mapped network, and write report/sim.json.

    Returns steps, logits, mismatches, cycles, predicted_cycles and cycle_difference over all of them, the last as the
    sum of absolute differences, and by step its accelerator and its own figures. Raises UserError for another folder.
    """
    directory = directory.resolve()
    calls = _read_json(directory / MAPPING)["calls"]
    found: dict[str, dict[str, Any]] = {}
    for place, call in enumerate(calls, 1):
        project = directory / call["unit"]
        with step(f"step {place} of {len(calls)}: {call['step']} on {call['unit']}"):
            report = run_simulation(project / "steps" / call["step"], project=project)
        if report["predicted_cycles"] != call["cycles"]:
            raise UserError(f"{directory / MAPPING} contradicts the project of {call['step']}: write it again")
        found[call["step"]] = {"unit": call["unit"], **{name: report[name] for name in SUMMED}}
    totals = {name: sum(abs(one[name]) for one in found.values()) for name in SUMMED}
    result = {"steps": len(found), **totals, "by_step": found}
    (directory / "report").mkdir(exist_ok=True)
    replace_file(directory / "report" / "sim.json", json.dumps(result, indent=2) + "\n")
    return result


def run_calls(directory: Path, project: Path | None = None) -> dict[str, Any]:
    """Simulate a network in several calls one after the other on one build, and write report/sim.json.

    `project` has the RTL where it is not that of the directory.

    Returns what `run_simulation` does but for phase_cycles, beat_cycles and cycles_per_second, see `together`; and by
    call its own figures.
    """
    directory, reports, by_call = directory.resolve(), [], {}
    calls, home = calls_of(directory), (project or directory).resolve()
    vectors = [Vectors.read(call["folder"]) for call in calls]
    built_for, begin = BuiltFor.all_of(vectors), time.monotonic()
    build_simulator(replace(vectors[0], directory=directory, home=home, built_for=built_for), own_sources(home), "sim")
    build_seconds = time.monotonic() - begin
    with counted("simulate", len(calls), "calls") as count:
        for place, call in enumerate(calls):
            count.show(place, call["call"])
            reports.append(run_simulation(call["folder"], project=home, built_for=built_for))
            if reports[-1]["predicted_cycles"] != call["cycles"]:
                raise UserError(f"{directory / CALL_LIST} contradicts the call {call['call']}: write the project again")
            by_call[call["call"]] = {name: reports[-1][name] for name in SUMMED}
        count.show(len(calls))
    report = together(calls, reports)
    report["build_seconds"] = round(report["build_seconds"] + build_seconds, 2)
    if all("phases" in one for one in reports):
        names = [phase["name"] for phase in _read_json(directory / "report" / "price.json")["phases"]]
        phases = itertools.chain(*(one["phases"] for one in reports))
        report["phases"] = [phase | {"name": name} for name, phase in zip(names, phases, strict=True)]
    report |= multiplier_use(directory, report["cycles"]) | {"by_call": by_call}
    replace_file(directory / "report" / "sim.json", json.dumps(report, indent=2) + "\n")
    return report


def run_couplings(directory: Path, seeds: int) -> dict[str, Any]:
    """Simulate a project's own RTL on every subordinate of `COUPLINGS`, with `seeds` stall seeds each.

    Writes report/sim_couplings.json and returns its content: `runs` and the total `mismatches` and `hangs` (runs
    without an interrupt, after which a coupling is given up), and `couplings`: {name: {runs, mismatches, hangs,
    least_cycles, most_cycles}}. Raises CheckFailed where an assertion fails.
    """
    vectors = Vectors.read(directory)
    work = build_simulator(vectors, own_sources(vectors.directory), "sim", seeds * len(COUPLINGS))
    write_memory(vectors, work)
    found = {}
    for number, name in enumerate(COUPLINGS):
        with step(f"simulate {name.replace('_', ' ')}"):
            found[name] = _coupled(vectors, work, number, seeds)
    totals = {key: sum(each[key] for each in found.values()) for key in ("runs", "mismatches", "hangs")}
    report = totals | {"couplings": found}
    _write_report(vectors, "sim_couplings", report)
    return report


def _coupled(vectors: Vectors, work: Path, coupling: int, seeds: int) -> dict[str, Any]:
    """The runs of one coupling of the channels; each begins with a reset."""
    golden = np.fromfile(vectors.directory / "vectors" / f"{OUTPUT}.bin", "<i2")
    behaviour = {"coupling": coupling, "reset_before": True, "limit_cycles": 40 * vectors.predicted + SPARE_CYCLES}
    runs = [_run(vectors, seed) | behaviour for seed in range(1, seeds + 1)]
    results = execute(work, _job_of(vectors, work, runs))
    ended = [result for result in results if not result["timeout"]]
    wrong = sum(
        compare(vectors.sizes, golden, _result(work, run))["mismatches"] + result["status"] + result["protocol_errors"]
        for run, result in enumerate(ended)
    )
    cycles = [result["cycles"] for result in ended]
    return {
        "runs": len(results),
        "mismatches": wrong,
        "hangs": len(results) - len(ended),
        "least_cycles": min(cycles, default=None),
        "most_cycles": max(cycles, default=None),
    }


def run_traced(directory: Path, folder: Path) -> int:
    """Simulate a project's own RTL while every stage writes its results to a file in `folder`; returns the nodes.

    This is many times slower than a plain simulation, so it writes no report.
    """
    vectors = Vectors.read(directory)
    sources = [*own_sources(vectors.directory), vectors.directory / "tb" / "fgnas_trace.sv"]
    _simulated(vectors, sources, "sim_trace", {"trace": str(folder)})
    return vectors.sizes["nodes"]


def own_sources(directory: Path) -> list[Path]:
    """The project's RTL, and the probes that record when a stage takes in a row, where the project has any."""
    probes = directory / "tb" / "fgnas_rows.sv"
    return read_sources(directory / "rtl" / "files.f") + ([probes] if probes.is_file() else [])


def build_simulator(vectors: Vectors, sources: list[Path], name: str, runs: int = 1) -> Path:
    """Build the simulator of a kernel in build/`name`, for so many runs; returns that folder."""
    work = vectors.built_in / "build" / name
    # An existing simulator takes no time, so the seconds of the last build say nothing about this one.
    built = (work / "built").is_file()
    expected_s = None if built else seconds_before(_report(vectors, name), "build_seconds")
    with step("build the simulator", expected_s):
        given = vectors.built_for or BuiltFor(vectors.memory_beats, runs * vectors.predicted)
        parameters = {"MemoryBeats": given.memory_beats, "BeatBytes": vectors.beat_bytes}
        build(sources, work, parameters, effort=effort_for(given.cycles))
    return work


def _simulated(
    vectors: Vectors,
    sources: list[Path],
    name: str,
    plusargs: Mapping[str, str] | None = None,
    further: Vectors | None = None,
    **knobs: int,
) -> tuple[dict[str, Any], Path]:
    """Build and run a kernel, and compare its logits; returns the report and the folder build/`name`. A `further` run
    follows the others."""
    begin = time.monotonic()
    work = build_simulator(vectors, sources, name)
    built = time.monotonic()
    write_memory(vectors, work)
    rows = work / "rows"
    shutil.rmtree(rows, ignore_errors=True)
    rows.mkdir()
    job = _job(vectors, work, **knobs) | {"plusargs": {"rows": str(rows), **(plusargs or {})}}
    count = len(job["runs"])
    if further is not None:
        job["runs"].append(_run(further))
    with step("simulate", seconds_before(_report(vectors, name), "run_seconds")):
        try:
            results = execute(work, job)
        except CheckFailed:
            _report(vectors, name).unlink(missing_ok=True)  # it would describe an earlier run
            raise
    for result in results[count - 1 :]:
        _check_ended(result, vectors.directory, job)
    last, golden = results[count - 1], np.fromfile(vectors.directory / "vectors" / f"{OUTPUT}.bin", "<i2")
    report = compare(vectors.sizes, golden, _result(work, count - 1)) | {
        "cycles": last["cycles"],
        "predicted_cycles": vectors.predicted,
        "beat_cycles": vectors.beat_cycles,
        "phase_cycles": last["phase_cycles"],
        "beats_read": last["beats_read"],
        "status": last["status"],
        "protocol_errors": last["protocol_errors"],
        "build_seconds": round(built - begin, 2),
        "cycles_per_second": round(last["cycles"] / max(last["seconds"], 1e-3)),
        "run_seconds": round(time.monotonic() - built, 2),
    }
    if further is not None:
        cycles = results[count]["cycles"]
        report["again"] = compare(vectors.sizes, golden, _result(work, count)) | {
            "cycles": cycles, "predicted_cycles": further.predicted, "cycle_difference": cycles - further.predicted,
        }  # fmt: skip
    return report, work


def _check_ended(result: Mapping[str, Any], directory: Path, job: Mapping[str, Any]) -> None:
    """Raise UserError where the kernel sent no interrupt or refused the graph."""
    if result["timeout"]:
        raise UserError(f"the kernel in {directory} sent no interrupt within {job['runs'][0]['limit_cycles']} cycles")
    if result["status"]:
        raise UserError(f"the kernel in {directory} refused the graph: status {result['status']:#x}; see its README")


def _report(vectors: Vectors, name: str) -> Path:
    return vectors.directory / "report" / f"{name}.json"


def _write_report(vectors: Vectors, name: str, report: dict[str, Any]) -> None:
    replace_file(_report(vectors, name), json.dumps(report, indent=2) + "\n")


def write_rows(directory: Path, folder: Path, nodes: int) -> None:
    """Pack the files that the probes of tb/fgnas_rows.sv wrote in the last run into report/sim_rows.npz.

    {PHASE.STAGE: [N] cycle, counted from the accepted start write, in which the stage took in the last part of each
    row}; phase 0 is the linear stage of the first layer, and stages are named as in docs/accelerator.md, with _ for
    spaces.
    """
    found: dict[str, Any] = {path.name: np.fromfile(path, "<u4")[-nodes:] for path in sorted(folder.iterdir())}
    packed = io.BytesIO()
    np.savez_compressed(packed, **{name: cycles for name, cycles in found.items() if len(cycles) == nodes})
    replace_file(directory / "report" / "sim_rows.npz", packed.getvalue())


def _placed(beats: Mapping[str, int], beat_bytes: int) -> tuple[dict[str, int], int]:
    """({region: first beat}, beats of the memory) for regions of so many beats, each on a 4 KiB page."""
    first: dict[str, int] = {}
    page = PAGE_BYTES // beat_bytes
    end = page
    for name, count in beats.items():
        first[name] = end
        end = -(-(end + count) // page) * page
    return first, max(LEAST_MEMORY_BEATS, 1 << (end - 1).bit_length())


def write_memory(vectors: Vectors, folder: Path) -> None:
    """Write the bench's images: memory.hex with the kernel's input, and blank.hex, which overwrites an old result."""
    size = vectors.beat_bytes
    with (folder / "memory.hex").open("w") as out:
        for name in vectors.inputs:
            beats = np.fromfile(vectors.directory / "vectors" / f"{name}.bin", np.uint8).reshape(-1, size)
            digits = beats[:, ::-1].tobytes().hex()
            lines = (digits[i : i + 2 * size] for i in range(0, len(digits), 2 * size))
            out.write(f"@{vectors.first[name]:x}\n" + "\n".join(lines) + "\n")
    blank = f"{UNWRITTEN:02x}" * size + "\n"
    (folder / "blank.hex").write_text(f"@{vectors.first[OUTPUT]:x}\n" + blank * max(1, _output_beats(vectors)))


def _output_beats(vectors: Vectors) -> int:
    return region_beats(vectors.sizes, OUTPUT)


def _result(work: Path, run: int) -> NDArray[Any]:
    """Every 16-bit word of the region that the kernel wrote in a run of the last job."""
    return read_dump(work / f"{OUTPUT}.hex.{run}").view("<i2").ravel()


def read_dump(path: Path) -> NDArray[np.uint8]:
    """[beats, bytes of a beat] a region that the bench wrote to a file."""
    words = [line for line in path.read_text().split() if not line.startswith(("//", "@"))]
    return np.frombuffer(bytes.fromhex("".join(words)), np.uint8).reshape(len(words), -1)[:, ::-1].copy()


def compare(sizes: Mapping[str, int], golden: NDArray[Any], got: NDArray[Any]) -> dict[str, Any]:
    """Counts of nodes, logits and mismatches over every 16-bit word of the region, and the first mismatch."""
    nodes, classes = sizes["nodes"], sizes["classes"]
    # A kernel may write more rows than the graph has nodes.
    rows = sizes.get("rows", nodes)
    wrong = (golden != got).reshape(rows, -1)
    report: dict[str, Any] = {"nodes": nodes, "logits": nodes * classes, "mismatches": int(wrong.sum())}
    if report["mismatches"]:
        node, word = (int(i) for i in np.argwhere(wrong)[0])
        expected, found = (int(codes.reshape(rows, -1)[node, word]) for codes in (golden, got))
        report["first_mismatch"] = {"node": node, "class": word, "expected": expected, "found": found}
    return report


def _job(vectors: Vectors, work: Path, stall_seed: int = 0, runs: int = 1) -> dict[str, Any]:
    """The job of so many equal runs that sim/whole_graph.py reads."""
    return _job_of(vectors, work, [_run(vectors, stall_seed)] * runs)


def _job_of(vectors: Vectors, work: Path, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The job of some runs."""
    return {
        "runs": runs,
        "dump": [vectors.first[OUTPUT], vectors.first[OUTPUT] + max(1, _output_beats(vectors)) - 1],
        "memory_file": str(work / "memory.hex"),
        "blank_file": str(work / "blank.hex"),
        "dump_file": str(work / f"{OUTPUT}.hex"),
        "result": str(work / "result.json"),
    }


def _run(vectors: Vectors, stall_seed: int = 0) -> dict[str, Any]:
    """One run of a job: the kernel's arguments, and the behaviour of the memory."""
    return {
        "registers": vectors.arguments(),
        "regions": [vectors.first[name] for name in vectors.inputs],
        "status_register": vectors.offset("status"),
        "control": {register.name: vectors.offset(register.name) for register in wire.CONTROL_REGISTERS},
        "start": wire.START,
        "read_latency": READ_LATENCY,
        "write_latency": WRITE_LATENCY,
        "beat_pace": round(STEPS * vectors.beat_cycles),
        "limit_cycles": 4 * max(vectors.predicted, 1_000_000) + SPARE_CYCLES,
        "stall_seed": stall_seed,
        "coupling": 0,
        "reset_before": False,
    }


def _is_argument(register: Mapping[str, Any]) -> bool:
    return bool(register["access"] == "w")


def region_beats(sizes: Mapping[str, int], name: str) -> int:
    """The beats of a region by vectors.json, which names a pipeline's as its registers. KeyError without them."""
    if f"{name}_beats" in sizes:
        return sizes[f"{name}_beats"]
    return sizes["nodes"] * sizes["logit_beats"] if name == OUTPUT else sizes[f"{name.removesuffix('s')}_beats"]


def _checked_beats(folder: Path, sizes: Mapping[str, int], name: str, beat_bytes: int) -> int:
    """The beats of a region, whose file has as many."""
    path = folder / f"{name}.bin"
    try:
        beats, size = region_beats(sizes, name), path.stat().st_size
    except FileNotFoundError:
        raise UserError(f"{path} is missing: write the project again with `fgnas hls`") from None
    if size != beats * beat_bytes:
        raise UserError(
            f"{path} has {size:,} bytes, vectors.json says {beats * beat_bytes:,}: write the project again with "
            "`fgnas hls`"
        )
    return beats


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text()))
    except FileNotFoundError:
        project = path.parent.parent
        raise UserError(f"{project} is no fgnas project ({path.name} is missing): make it with `fgnas hls`") from None
    except json.JSONDecodeError as error:
        raise UserError(f"{path} is damaged ({error}): write the project again with `fgnas hls`") from None
