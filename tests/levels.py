"""One design on some graphs through four levels, and the first stage and node at which two of them differ.

The levels are PyTorch's quantised forward in float64, the integer reference, the generated C++ and the generated RTL.
A case that fails is written to a file; `python tests/levels.py FILE` runs it again. Without a file it runs the parts
of the long version one after the other, and continues where it stopped, as long as no source of a part changes.
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from module_imports import MODULES, imported_by, reached
from support import late_rows, random_graph, random_network

from fgnas.backends.pipeline import write_project
from fgnas.backends.vectors import write_vectors
from fgnas.design import Design, Layer
from fgnas.fixedpoint import Codes
from fgnas.hardware import wire
from fgnas.hardware.pipeline import reference
from fgnas.hardware.pipeline.accelerator import Accelerator, LayerAccelerator
from fgnas.hardware.pipeline.encoding import encode
from fgnas.hardware.pipeline.geometry import OneDesign
from fgnas.hardware.pipeline.latency import Workload, latency_cycles, timeline
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.shape import GraphShape
from fgnas.network import Network
from fgnas.networks.quantised import fake_quantised_logits
from fgnas.systems.fgnas.space import TABLE_II
from fgnas.tasks.nodes import GraphData
from fgnas.tools.csim import FLAGS, run_csim
from fgnas.tools.find import find_ap_types, find_compiler
from fgnas.tools.simulate import run_simulation
from fgnas.tools.trace import first_mismatch, trace_cpp, trace_rtl

Stages = dict[str, Codes]
"""By stage, in the order in which they run: [N, k * d] codes, head-major and without padding; "logits" is the last."""

HEADERS = ("ap_int.h", "hls_stream.h", "fstream", "iterator", "stdexcept", "string", "vector")
HELPERS = ("support.py",)
"""Modules of the tests that draw cases."""
SUFFIXES = (".py", ".sv", ".h", ".j2", ".cpp")
ELSEWHERE = ("fgnas.hardware.kinds", "fgnas.tasks.pooled")
"""Modules that lead to other hardware, and to data that no case is drawn from."""
PARTS, EXAMPLES = 22, 12
"""Parts of the long version: each draws its smallest case first, so some designs occur more than once."""
WIDE = ("linear", "aggregate", "activate")
"""Stages whose rows hold every feature of every head."""


@dataclass(frozen=True)
class Case:
    """A design, and what its random graph and weights are drawn from."""

    design: Design
    nodes: int
    width_in: int
    classes: int
    edges: int
    seed: int

    def data(self) -> GraphData:
        """The graph: isolated nodes, repeated edges and nodes without a feature, at random."""
        return random_graph(np.random.default_rng(self.seed), self.nodes, self.width_in, self.classes, self.edges)

    def graphs(self) -> list[GraphData]:
        """The graph itself, and two that its hardware must take too: a smaller one, and one node with self-loops."""
        rng = np.random.default_rng(self.seed + 2)
        own = self.data()
        most = GraphShape.of(own).degree_capacity
        edges = int(rng.integers(0, 2 * self.nodes + 1))
        smaller = own
        while edges >= 0 and (smaller is own or GraphShape.of(smaller).degree_capacity > most):
            nodes = int(rng.integers(1, self.nodes + 1))
            smaller = random_graph(rng, nodes, self.width_in, self.classes, edges)
            edges = edges // 2 if edges else -1
        return [own, smaller, random_graph(rng, 1, self.width_in, self.classes, 3)]

    def network(self, data: GraphData) -> Network:
        """The weights."""
        return random_network(np.random.default_rng(self.seed + 1), self.design, data)

    def to_json(self) -> str:
        """An object that holds the design under `design`, as `fgnas` reads one, and this case's other numbers."""
        return json.dumps(vars(self) | {"design": self.design.to_dict()}, indent=2) + "\n"

    @classmethod
    def load(cls, path: Path) -> Case:
        """The case that a file holds."""
        plain = json.loads(path.read_text())
        return cls(**plain | {"design": Design.from_dict(plain["design"])})


@st.composite
def cases(draw: st.DrawFn, most_nodes: int = 60) -> Case:
    """Designs of Table II with one to three layers, on graphs of 1 to `most_nodes` nodes."""
    count = draw(st.sampled_from((2, 1, 3)))
    layers = tuple(draw(layers_of(last=index == count - 1)) for index in range(count))
    nodes = draw(st.integers(1, most_nodes))
    return Case(
        Design(schema=1, layers=layers, dsp=draw(st.integers(0, 60))),
        nodes,
        width_in=draw(st.integers(1, 40)),
        classes=draw(st.integers(1, 18)),
        edges=draw(st.integers(0, 4 * nodes)),
        seed=draw(st.integers(0, 2**32 - 1)),
    )


@st.composite
def layers_of(draw: st.DrawFn, last: bool) -> Layer:
    """A layer with every choice of Table II that has an effect in it."""
    chosen: dict[str, Any] = dict.fromkeys(Layer.model_fields)
    for choice in TABLE_II:
        if choice.where == "hidden" and last:
            continue
        if choice.only_if is None or chosen[choice.only_if[0]] == choice.only_if[1]:
            chosen[choice.name] = draw(st.sampled_from(choice.options))
    return Layer(**chosen)


def check_software(case: Case) -> None:
    """PyTorch against the integer reference, stage by stage, on every graph."""
    accelerator, network, graphs = _made_of(case)
    for data in graphs:
        _hold(case, "PyTorch", data, of_pytorch(accelerator, network, data), of_reference(accelerator, data))


def check_everything(case: Case) -> None:
    """All four levels on every graph; where C++ or RTL differ, they are built once more to say in which stage."""
    check_software(case)
    accelerator, _, graphs = _made_of(case)
    with tempfile.TemporaryDirectory(prefix="fgnas-levels-") as scratch:
        project = Path(scratch) / "project"
        write_project(accelerator, graphs[0], project)
        for data in graphs:
            put_graph(project, accelerator, data)
            _check_cpp(case, accelerator, project, data)
            _check_rtl(case, accelerator, project, data)


def _made_of(case: Case) -> tuple[Accelerator, Network, list[GraphData]]:
    graphs = case.graphs()
    network = case.network(graphs[0])
    return lower(case.design, network, GraphShape.of(graphs[0]), graphs[0].name), network, graphs


def put_graph(project: Path, accelerator: Accelerator, data: GraphData) -> None:
    """Another graph for existing hardware: its vectors and its predicted cycles."""
    write_vectors(accelerator, data, project / "vectors")
    cycles = int(latency_cycles(*_model(accelerator, data))[0])
    (project / "report" / "price.json").write_text(json.dumps({"latency_cycles": cycles}))


def _model(accelerator: Accelerator, data: GraphData) -> tuple[list[OneDesign], Workload]:
    """The latency model's arguments for an accelerator that is built already and a graph for it."""
    # A row of gat waits for room in the ring that was built, not in the one that this graph would need.
    workload = Workload(data.non_zeros, data.degrees, accelerator.shape.degree_capacity)
    return [layer.geometry for layer in accelerator.layers], workload


def _check_cpp(case: Case, accelerator: Accelerator, project: Path, data: GraphData) -> None:
    cpp = run_csim(project, quick())
    if cpp["mismatches"] or cpp["failed_checks"]:
        _hold_trace(case, "C++", accelerator, data, trace_cpp(project, quick()))
        _fail(case, f"C++ differs from the reference on {data.nodes} nodes: {cpp}")
    if warnings := (project / "build" / "csim" / "compile.log").read_text():
        _fail(case, f"g++ warns: {warnings}")


def _check_rtl(case: Case, accelerator: Accelerator, project: Path, data: GraphData) -> None:
    rtl = run_simulation(project)
    if rtl["mismatches"] or rtl["protocol_errors"]:
        _hold_trace(case, "RTL", accelerator, data, trace_rtl(project))
        _fail(case, f"RTL differs from the reference on {data.nodes} nodes and the C++ does not: {rtl}")
    if rtl["cycles"] != rtl["predicted_cycles"]:
        wrong = f"{rtl['cycles']} cycles, {rtl['predicted_cycles']} were predicted"
        _fail(case, f"RTL took {wrong}, on {data.nodes} nodes")
    if late := late_rows(project, timeline(*_model(accelerator, data))):
        _fail(case, f"RTL and latency model part, on {data.nodes} nodes: {late}")


@functools.cache
def quick() -> tuple[str, ...]:
    """Options for g++: -O0, since small graphs run faster than a better build takes; the vendor's headers precompiled.

    They are most of what the compiler reads, and the same for every design.
    """
    options = (*FLAGS, "-O0", "-isystem", str(find_ap_types()))
    identity = f"{find_compiler()} {find_compiler().resolve().stat().st_mtime_ns} {options}"
    folder = Path(tempfile.gettempdir()) / f"fgnas-headers-{hashlib.sha256(identity.encode()).hexdigest()[:16]}"
    if not folder.is_dir():
        scratch = Path(tempfile.mkdtemp(prefix="fgnas-headers-"))
        (scratch / "ap.h").write_text("".join(f"#include <{name}>\n" for name in HEADERS))
        subprocess.run([find_compiler(), *options, "-x", "c++-header", scratch / "ap.h"], check=True)
        with suppress(OSError):  # another process was faster
            os.replace(scratch, folder)
    return ("-O0", "-include", str(folder / "ap.h"))


def of_reference(accelerator: Accelerator, data: GraphData) -> Stages:
    """The integer reference's values of every stage."""
    found = reference.stages(accelerator, encode(accelerator, data))
    return found | {"logits": list(found.values())[-1]}


def of_pytorch(accelerator: Accelerator, network: Network, data: GraphData) -> Stages:
    """The float64 quantised forward's values of every stage, in codes."""
    values: dict[str, Any] = {}
    logits = fake_quantised_logits(accelerator.design, network, data, values)
    stages: Stages = {}
    for name, tensor in values.items():
        layer = accelerator.layers[int(name.split(".")[0])]
        bits = layer.output_format.fraction_bits if name.endswith("activate") else layer.value_format.fraction_bits
        extra = wire.LOGIT_EXTRA_BITS if layer.geometry.last and name.endswith("aggregate") else 0
        stages[name] = (tensor.numpy() * 2.0 ** (bits + extra)).astype(np.int64)
    stages["logits"] = (logits.numpy() * 2.0**accelerator.logit_format.fraction_bits).astype(np.int64)
    return stages


def without_padding(accelerator: Accelerator, stages: Stages) -> Stages:
    """Rows as the accelerator orders them, as [N, k * d] with heads outside; those of scores and logits as they are."""
    return {
        name: _head_major(accelerator.layers[int(name.split(".")[0])], rows) if name.endswith(WIDE) else rows
        for name, rows in stages.items()
    }


def _head_major(layer: LayerAccelerator, rows: Codes) -> Codes:
    g = layer.geometry
    if g.last and not g.gat:
        return rows.reshape(len(rows), g.d, g.k).transpose(0, 2, 1).reshape(len(rows), -1)
    return rows.reshape(len(rows), g.k, g.d_padded)[:, :, : g.d].reshape(len(rows), -1)


def _hold(case: Case, level: str, data: GraphData, found: Stages, expected: Stages) -> None:
    """Fail at the first stage, node and feature in which `found` differs from the reference."""
    if mismatch := first_mismatch(found, expected):
        _fail(case, f"{level} and the integer reference differ in {mismatch}; the graph has {data.nodes} nodes")


def _hold_trace(case: Case, level: str, accelerator: Accelerator, data: GraphData, trace: Stages) -> None:
    _hold(case, level, data, without_padding(accelerator, trace), of_reference(accelerator, data))


def _fail(case: Case, why: str) -> None:
    """Raise, with the design that reproduces it and the file that holds the whole case."""
    folder = Path(os.environ.get("FGNAS_FAILURES", Path(tempfile.gettempdir()) / "fgnas-failures"))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{case.design.hash}-{case.seed}.json"
    path.write_text(case.to_json())
    raise AssertionError(f"{why}\ndesign: {case.design.to_json()}\nagain: python tests/levels.py {path}")


def check_part(part: int) -> list[str]:
    """One part of the long version: EXAMPLES random cases. Returns the hashes of their designs."""
    seen: list[str] = []

    @seed(part)
    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, phases=(Phase.generate, Phase.shrink),
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
    )  # fmt: skip
    @given(cases())
    def agree(case: Case) -> None:
        check_everything(case)
        seen.append(case.design.hash)

    agree()
    return seen


def check_parts(parts: Sequence[int]) -> None:
    """Every part that has not passed with these sources, with a line each."""
    done = Path("build") / "levels" / _digest_of_sources()
    done.mkdir(parents=True, exist_ok=True)
    for part in parts:
        record = done / f"{part}.json"
        begin = time.monotonic()
        if not record.is_file():
            designs = check_part(part)
            record.write_text(json.dumps({"designs": designs, "seconds": round(time.monotonic() - begin, 1)}))
        found = json.loads(record.read_text())
        count = len(found["designs"])
        print(f"part {part}: {count} designs, {3 * count} graphs, 0 mismatches, {found['seconds']} s", flush=True)
    every = [name for record in done.glob("*.json") for name in json.loads(record.read_text())["designs"]]
    print(f"{len(every)} designs, {len(set(every))} of them different: all levels agree, cycles are as predicted")


def sources() -> list[Path]:
    """The files that a part depends on: what this module and its helpers import, templates of pipelines and benches."""
    here = Path(__file__)
    own = [here, *(here.with_name(name) for name in HELPERS)]
    modules = reached(set().union(*map(imported_by, own)), ELSEWHERE)
    folders = (here.parents[1] / "templates", here.parents[1] / "sim")
    further = [path for folder in folders for path in folder.rglob("*")
               if path.is_file() and not {"array", "rules"} & set(path.parts[len(folder.parts) :])]  # fmt: skip
    return sorted([*own, *(MODULES[name] for name in modules), *(one for one in further if one.suffix in SUFFIXES)])


def _digest_of_sources() -> str:
    digest = hashlib.sha256()
    for path in sources():
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    logging.disable(logging.INFO)
    if len(sys.argv) > 1:
        check_everything(Case.load(Path(sys.argv[1])))
        print("all levels agree")
    else:
        check_parts(range(PARTS))
