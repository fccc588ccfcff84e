"""The results of every stage of a project's C++ and RTL, and the first one in which they differ."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fgnas.errors import UserError
from fgnas.fixedpoint import Codes
from fgnas.hardware.pipeline.stages import traced_values
from fgnas.tools.csim import run_bench
from fgnas.tools.simulate import run_traced

Trace = dict[str, Codes]
"""{LAYER.STAGE: [nodes, width] codes} in the order in which they run; rows as the accelerator orders them."""


@dataclass(frozen=True)
class Mismatch:
    """The first difference between two traces: all earlier values are equal."""

    stage: str
    node: int
    feature: int
    found: int
    expected: int
    values: int
    """The number of values that differ in that stage."""

    def __str__(self) -> str:
        return (
            f"stage {self.stage} at node {self.node}, feature {self.feature}: {self.found}, not {self.expected}; "
            f"{self.values} values differ there"
        )


def trace_cpp(directory: Path, options: tuple[str, ...] = ()) -> Trace:
    """Compile the project's C++ so that every stage writes its results, and run it."""
    directory = directory.resolve()
    work = directory / "build" / "csim_trace"
    folder = _empty(work / "stages")
    counts = run_bench(directory, (*options, "-DFGNAS_TRACE"), work, {"FGNAS_TRACE_FOLDER": str(folder)})
    return read_trace(folder, counts["nodes"])


def trace_rtl(directory: Path) -> Trace:
    """Build the project's RTL with the probes of tb/fgnas_trace.sv, and simulate it."""
    folder = _empty(directory.resolve() / "build" / "sim_trace.stages")
    return read_trace(folder, run_traced(directory, folder))


def mismatch_of_rtl(directory: Path) -> str:
    """The first stage and node in which a project's RTL differs from its C++, in words."""
    mismatch = first_mismatch(trace_rtl(directory), trace_cpp(directory))
    if mismatch:
        return str(mismatch)
    return "nowhere: RTL and C++ agree in every stage; if `fgnas csim` passes, the fault is in how logits are written"


def read_trace(folder: Path, nodes: int) -> Trace:
    """The files of a trace: the first `nodes` lines of each."""
    names = [f"{layer}.{stage}" for layer in range(len(list(folder.iterdir()))) for stage in traced_values()]
    return {name: _read_rows(folder / name, nodes) for name in names if (folder / name).is_file()}


def _read_rows(path: Path, nodes: int) -> Codes:
    with path.open(encoding="utf-8") as lines:
        rows = [np.array(line.split(), np.int64) for line, _ in zip(lines, range(nodes), strict=False)]
    if len(rows) < nodes or len({len(row) for row in rows}) > 1:
        raise UserError(f"the trace {path} ends early: it contains {len(rows)} rows of {nodes}")
    return np.array(rows, np.int64).reshape(nodes, -1)


def first_mismatch(found: Mapping[str, Codes], expected: Mapping[str, Codes]) -> Mismatch | None:
    """The first stage, node and feature in which `found` differs from `expected`; stages in only one are skipped."""
    for stage, codes in found.items():
        if stage in expected and (codes != expected[stage]).any():
            wrong = np.argwhere(codes != expected[stage])
            node, feature = wrong[0].tolist()
            values = int(codes[node, feature]), int(expected[stage][node, feature])
            return Mismatch(stage, node, feature, *values, len(wrong))
    return None


def _empty(folder: Path) -> Path:
    """`folder`, emptied."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
