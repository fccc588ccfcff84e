"""This project's pipeline accelerator as a compute unit: what one start of it computes, and in how many cycles.

Weights and graph are data at every start, so one bitstream serves many steps. Where every node receives from itself
alone, a layer is a dense map and two layers are an FFN; where it receives from its nearest patches, a sum is GIN's and
a maximum is the second half of EdgeConv and the first of GraphSAGE.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from fgnas.design import Design, columns_of
from fgnas.errors import UserError
from fgnas.hardware.pipeline.geometry import GraphShape, ceil_div, geometry
from fgnas.hardware.pipeline.latency import Workload, latency_cycles
from fgnas.networks.vision import steps
from fgnas.networks.vision.vig import Backbone

CLOCK_MHZ = 100.0


@dataclass(frozen=True)
class Call:
    """The sizes of one start of a kernel.

    Attributes:
        nodes: rows of features.
        widths: features between the maps, from the input to the output; one map more is one layer more.
        neighbours: rows that every row receives from; 1 is the row itself alone.
        aggregation: how they are combined; None with one neighbour, where every way is the same.
    """

    nodes: int
    widths: tuple[int, ...]
    neighbours: int = 1
    aggregation: str | None = None


def calls(backbone: Backbone) -> dict[tuple[str, ...], Call]:
    """Each step that is one start of a kernel, and each pair of steps that is one; max-relative is none."""
    nodes, d = backbone.nodes, backbone.features
    found: dict[tuple[str, ...], Call] = {
        (steps.STEM,): Call(nodes, (backbone.channels * backbone.patch**2, d)),
        (steps.PRE,): Call(nodes, (d, d)),
        (steps.POST,): Call(nodes, (2 * d, d)),
        (steps.HEAD,): Call(1, (d, 2 * d, backbone.classes)),
    }
    for count in sorted({*backbone.neighbours}):
        for operator, outputs, aggregation in (("edgeconv", 2 * d, "max"), ("sage", d, "max"), ("gin", 2 * d, "add")):
            found[(steps.operator_step(operator, count),)] = Call(nodes, (d, outputs), count, aggregation)
    for width in backbone.widths:
        widening, narrowing = steps.ffn_steps(width)
        found |= {
            (widening,): Call(nodes, (d, width)),
            (narrowing,): Call(nodes, (width, d)),
            (widening, narrowing): Call(nodes, (d, width, d)),
        }
    return found


@dataclass(frozen=True)
class Kernel:
    """An accelerator with its sizes.

    Attributes:
        name: of the unit.
        design: its layers.
        inputs, outputs: features of a node that it reads, and writes; fewer are padded.
        nodes, neighbours: the most that a graph may have, and a node in it; built as `GraphShape` has them.
        watts, idle_watts: its power while it computes and while it waits, as the user states it.
    """

    name: str
    design: Design
    inputs: int
    outputs: int
    nodes: int
    neighbours: int
    clock_mhz: float = CLOCK_MHZ
    watts: float | None = None
    idle_watts: float | None = None

    @property
    def shape(self) -> GraphShape:
        """The facts that are built into the hardware."""
        degrees = 1 << max(1, (self.neighbours - 1).bit_length())
        return GraphShape(self.inputs, self.outputs, max(1, ceil_div(self.nodes, 1024)) * 1024, degrees)

    def refusal(self, call: Call) -> str | None:
        """Why this kernel cannot run a call; None if it can."""
        layers, shape = self.design.layers, self.shape
        if len(layers) != len(call.widths) - 1:
            return f"it has {len(layers)} layers, not {len(call.widths) - 1}"
        sizes = [("inputs", call.widths[0], shape.width_in), ("outputs", call.widths[-1], shape.classes)]
        sizes += [("features", wanted, layer.d or 0) for wanted, layer in zip(call.widths[1:-1], layers, strict=False)]
        sizes += [("nodes", call.nodes, shape.node_capacity), ("neighbours", call.neighbours, shape.degree_capacity)]
        for what, wanted, held in sizes:
            if wanted > held:
                return f"it has {held} {what}, not {wanted}"
        if call.aggregation is not None and layers[0].aggregation != call.aggregation:
            return f"it aggregates by {layers[0].aggregation}, not by {call.aggregation}"
        return None

    def cycles(self, call: Call) -> int:
        """From the accepted start write to the interrupt, with the reference memory: exact."""
        return _cycles(self.design, self.shape, call)

    def nanoseconds(self, call: Call) -> int:
        """The time of the cycles, rounded up."""
        return int(np.ceil(self.cycles(call) * 1000 / self.clock_mhz))


    def to_dict(self) -> dict[str, Any]:
        """What `of` makes the kernel from, as plain values; the design is one line of JSON."""
        sizes = {name: getattr(self, name) for name in OWN if getattr(self, name) is not None}
        return {"design": self.design.to_json(), **sizes}

    @classmethod
    def of(cls, name: str, content: Mapping[str, Any]) -> Kernel:
        """The kernel of plain values. Raises UserError for a damaged one."""
        try:
            return cls(name, **{**content, "design": Design.from_json(content["design"], f"the kernel {name}")})
        except (KeyError, TypeError) as error:
            raise UserError(f"the kernel {name} is damaged ({error}): write the platform again") from None


@functools.cache
def _cycles(design: Design, shape: GraphShape, call: Call) -> int:
    # Every feature is sent, zeros too: the cycles then depend on no value.
    rows, degrees = np.full(call.nodes, call.widths[0]), np.full(call.nodes, call.neighbours)
    workload = Workload(rows, degrees, shape.degree_capacity)
    return int(latency_cycles(geometry(columns_of([design]), shape), workload)[0])


OWN = tuple(one.name for one in fields(Kernel) if one.name not in ("name", "design"))
"""Fields of a kernel's file beside its design."""


def load_kernel(path: Path, backbone: Backbone) -> Kernel:
    """The kernel in a .json file: {"design": …, "inputs": …}, or a design alone.

    Sizes that are left out fit every call of the backbone. Raises UserError for a file that is none, and for a design
    that can run no call.
    """
    design = Design.load(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    given = {name: value for name, value in content.items() if name != "design"} if "design" in content else {}
    if unknown := sorted({*given} - {*OWN}):
        raise UserError(f"{path}: unknown field {unknown[0]!r}; a kernel has design, {', '.join(OWN)}")
    for name, value in given.items():
        _check(path, name, value)
    if not re.fullmatch(r"[A-Za-z0-9_-]+", path.stem):
        raise UserError(f"{path}: a unit is named after the file: use letters, digits, - and _ alone")
    known = calls(backbone)
    sizes = {
        "inputs": max(call.widths[0] for call in known.values()),
        "outputs": max(call.widths[-1] for call in known.values()),
        "nodes": backbone.nodes,
        "neighbours": max(call.neighbours for call in known.values()),
    }
    kernel = Kernel(path.stem, design, **(sizes | given))
    _check_design(path, kernel)
    refused = {name: kernel.refusal(call) for name, call in known.items()}
    if all(refused.values()):
        name, why = next(iter(refused.items()))
        raise UserError(f"{path}: it can run no step of these networks; {' and '.join(name)}: {why}")
    return kernel


def _check(path: Path, name: str, value: Any) -> None:
    """Raise UserError where a field of a kernel's file does not hold what it must."""
    watts = name in ("watts", "idle_watts", "clock_mhz")
    least = 0.0 if name == "idle_watts" else 1e-9 if watts else 1
    if isinstance(value, bool) or not isinstance(value, (int, float) if watts else int) or value < least:
        kind = "a number" if watts else "a whole number"
        raise UserError(f"{path}: {name} must be {kind}{'' if name == 'idle_watts' else ' above zero'}, not {value!r}")


def _check_design(path: Path, kernel: Kernel) -> None:
    """Raise UserError for a layer that no call describes."""
    for place, layer in enumerate(kernel.design.layers):
        wrong = {
            "attention": layer.attention != "constant", "k": layer.k != 1,
            "activation": layer.activation not in (None, "relu"),
        }  # fmt: skip
        for name in (name for name, broken in wrong.items() if broken):
            right = {"attention": "constant", "k": 1, "activation": "relu"}[name]
            raise UserError(f"{path}: layer {place}: {name} must be {right}: a kernel runs maps, sums and maxima")


def check_distinct(kernels: list[Kernel], taken: str) -> None:
    """Raise UserError where two units have one name."""
    names = [taken, *(kernel.name for kernel in kernels)]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"two units are named {name!r}: a kernel is named after its file, so rename one")
