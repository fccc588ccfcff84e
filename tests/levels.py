"""One design on one graph through four levels, and the first stage and node at which two of them part.

The levels are PyTorch's quantised forward in float64, the integer reference, the generated C++ and the generated RTL.
A case that fails is written to a file; `python tests/levels.py FILE` runs it again.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from support import random_graph, random_network

from fgnas.child.quantised import fake_quantised_logits
from fgnas.codegen.project import write_project
from fgnas.data import GraphData
from fgnas.design import Design, Layer
from fgnas.fixedpoint import Codes
from fgnas.hardware import reference
from fgnas.hardware.accelerator import Accelerator, LayerAccelerator
from fgnas.hardware.encoding import encode
from fgnas.hardware.geometry import LOGIT_EXTRA_BITS, GraphShape
from fgnas.hardware.lowering import lower
from fgnas.network import Network
from fgnas.space import TABLE_II
from fgnas.tools.csim import run_csim
from fgnas.tools.simulate import QUICK_MAKE_FLAGS, run_simulation
from fgnas.tools.trace import first_parting, trace_cpp, trace_rtl

Stages = dict[str, Codes]
"""By stage, in the order in which they run: [N, k * d] codes, head-major and without padding; "logits" is the last."""

CYCLES_APART = 0.0
"""What predicted and simulated cycles may differ by."""
WIDE = ("linear", "aggregate", "activate")
"""Stages whose rows hold every feature of every head."""
QUICK = ("-O0",)
"""For g++: small graphs run faster than a better build takes."""


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
        """The graph: isolated nodes, repeated edges and nodes without a feature, as chance has it."""
        return random_graph(np.random.default_rng(self.seed), self.nodes, self.width_in, self.classes, self.edges)

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
    """PyTorch against the integer reference, stage by stage."""
    data = case.data()
    network = case.network(data)
    accelerator = lower(case.design, network, GraphShape.of(data), data.name)
    _hold(case, "PyTorch", of_pytorch(accelerator, network, data), of_reference(accelerator, data))


def check_everything(case: Case) -> None:
    """All four levels; where C++ or RTL differ, they are built once more to say in which stage."""
    check_software(case)
    data = case.data()
    accelerator = lower(case.design, case.network(data), GraphShape.of(data), data.name)
    with tempfile.TemporaryDirectory(prefix="fgnas-levels-") as scratch:
        project = Path(scratch) / "project"
        write_project(accelerator, data, project)
        cpp = run_csim(project, QUICK)
        if cpp["mismatches"] or cpp["failed_checks"]:
            _hold_trace(case, "C++", accelerator, trace_cpp(project, QUICK))
            _fail(case, f"C++ differs from the reference: {cpp}")
        if warnings := (project / "build" / "csim" / "compile.log").read_text():
            _fail(case, f"g++ warns: {warnings}")
        rtl = run_simulation(project, make_flags=QUICK_MAKE_FLAGS)
        if rtl["mismatches"] or rtl["protocol_errors"]:
            _hold_trace(case, "RTL", accelerator, trace_rtl(project, QUICK_MAKE_FLAGS))
            _fail(case, f"RTL differs from the reference and the C++ does not: {rtl}")
        if abs(rtl["cycles"] - rtl["predicted_cycles"]) > CYCLES_APART * rtl["cycles"]:
            _fail(case, f"RTL took {rtl['cycles']} cycles, {rtl['predicted_cycles']} were predicted")


def of_reference(accelerator: Accelerator, data: GraphData) -> Stages:
    """What the integer reference computes."""
    trace = reference.Trace()
    logits = reference.run(accelerator, encode(accelerator, data), trace)
    return without_padding(accelerator, trace.stages) | {"logits": logits}


def of_pytorch(accelerator: Accelerator, network: Network, data: GraphData) -> Stages:
    """What the quantised forward in float64 computes, in codes."""
    values: dict[str, Any] = {}
    logits = fake_quantised_logits(accelerator.design, network, data, values)
    stages: Stages = {}
    for name, tensor in values.items():
        layer = accelerator.layers[int(name.split(".")[0])]
        bits = layer.output_format.fraction_bits if name.endswith("activate") else layer.value_format.fraction_bits
        extra = LOGIT_EXTRA_BITS if layer.last and name.endswith("aggregate") else 0
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
    if layer.last and not layer.gat:
        return rows.reshape(len(rows), layer.d, layer.k).transpose(0, 2, 1).reshape(len(rows), -1)
    return rows.reshape(len(rows), layer.k, layer.d_padded)[:, :, : layer.d].reshape(len(rows), -1)


def _hold(case: Case, level: str, found: Stages, expected: Stages) -> None:
    """Fail at the first stage, node and feature in which `found` is not what the reference has."""
    if parting := first_parting(found, expected):
        _fail(case, f"{level} and the integer reference part in {parting}")


def _hold_trace(case: Case, level: str, accelerator: Accelerator, trace: Stages) -> None:
    _hold(case, level, without_padding(accelerator, trace), of_reference(accelerator, case.data()))


def _fail(case: Case, why: str) -> None:
    """Raise, with the design that reproduces it and the file that holds the whole case."""
    folder = Path(os.environ.get("FGNAS_FAILURES", Path(tempfile.gettempdir()) / "fgnas-failures"))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{case.design.hash}-{case.seed}.json"
    path.write_text(case.to_json())
    raise AssertionError(f"{why}\ndesign: {case.design.to_json()}\nagain: python tests/levels.py {path}")


if __name__ == "__main__":
    check_everything(Case.load(Path(sys.argv[1])))
    print("all levels agree")
