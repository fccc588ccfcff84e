"""The hardware that a lowered FGNAS design can be written for, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from fgnas.backends import array, project
from fgnas.backends.project import DEFAULT_COMPILER
from fgnas.design import Design
from fgnas.designs import DesignTable
from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.array.choosing import Room, fastest, fastest_calls
from fgnas.hardware.array.designs import ArrayDesignPricer, ArrayDesignPrices, check_arrays
from fgnas.hardware.array.encoding import fit
from fgnas.hardware.array.engine import multipliers_within
from fgnas.hardware.array.lowering import ArrayAccelerator
from fgnas.hardware.array.resources import written_resources as array_resources
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.geometry import NO_MLP, NO_SCORES, TOO_WIDE
from fgnas.hardware.pipeline.pricing import Priced, Pricer, Specification
from fgnas.hardware.pipeline.pricing import written_resources as pipeline_resources
from fgnas.network import Network
from fgnas.tasks.nodes import GraphData
from fgnas.tasks.sampling import layer_graphs

ONE_GRAPH = "a pipeline reads one graph for all layers; a design with sampling is for an array (--target array)"
LIMITED = ("lut", "ff", "bram36")
"""Limits of a specification that an array keeps; that on DSPs is its number of multipliers."""


@dataclass(frozen=True)
class Request:
    """What is written beside the accelerator and its graph.

    Attributes:
        specification: limits, clock and part.
        network: the float weights.
        compiler: the HLS compiler whose pragmas the C++ has; an array's has those of the default alone.
        multipliers: the most that an array may have; None for the design's own array, else for its DSP budget.
        beat_bits: width of an array's memory port; None for that of the design's own array, else for the pipeline's.
        bram36: the most block RAMs of an array; None for the design's own array, else for the specification's limit.
        repurposing: whether H and Z stay on an array's chip; else a network is several calls.
    """

    specification: Specification
    network: Network | None
    compiler: str = DEFAULT_COMPILER
    multipliers: int | None = None
    beat_bits: int | None = None
    bram36: int | None = None
    repurposing: bool = True


def _pipeline(accelerator: Accelerator, data: GraphData, directory: Path, request: Request) -> list[Path]:
    if accelerator.design.sampling is not None:
        raise UserError(ONE_GRAPH)
    if request.multipliers is not None:
        raise UserError("--multipliers is for --target array: the design itself says how many a pipeline has")
    if request.beat_bits not in (None, wire.BEAT_BITS):
        raise UserError(f"--beat-bits is for --target array: a pipeline's port has {wire.BEAT_BITS} bits")
    if request.bram36 is not None:
        raise UserError("--bram36 is for --target array: the design and the graph say how many a pipeline takes")
    if not request.repurposing:
        raise UserError("--repurposing is for --target array: a pipeline has buffers for each layer")
    return project.write_project(
        accelerator, data, directory, request.specification, request.network, request.compiler
    )


def _array(accelerator: Accelerator, data: GraphData, directory: Path, request: Request) -> list[Path]:
    if request.compiler != DEFAULT_COMPILER:
        raise UserError(f"an array's C++ is for {DEFAULT_COMPILER} alone, not for {request.compiler}")
    limits = request.specification
    if request.bram36 is not None:
        limits = replace(limits, bram36=request.bram36)
    first, *further = layer_graphs(data, accelerator.design.rates)
    if not request.repurposing:
        calls = fastest_calls(accelerator, first, _room(accelerator, request), further)
        return array.write_calls(calls, directory, limits, request.network)
    made = _made(accelerator, first, request, further)
    return array.write_project(made, first, directory, limits, request.network, further)


def _made(
    accelerator: Accelerator, data: GraphData, request: Request, further: Sequence[GraphData]
) -> ArrayAccelerator:
    """The design's own array unless a size or a port is asked for, else the fastest one; `further` as in
    `encode_array`."""
    own, sized = accelerator.design.array, (request.multipliers, request.bram36) != (None, None)
    if own is not None and not sized and request.beat_bits in (None, own.beat_bits):
        return fit(
            accelerator, data, own.units, own.columns, beat_bits=own.beat_bits, results=own.results, further=further,
            shared=own.shared,
        )  # fmt: skip
    return fastest(accelerator, data, _room(accelerator, request), further)


def _room(accelerator: Accelerator, request: Request) -> Room:
    """What an array may take that is not the design's own."""
    own, limits = accelerator.design.array, request.specification
    most = multipliers_within(accelerator.design.dsp) if request.multipliers is None else request.multipliers
    if request.bram36 is not None:
        limits = replace(limits, bram36=request.bram36)
    beat_bits = request.beat_bits or (own.beat_bits if own else wire.BEAT_BITS)
    guarded = {name: limit for name, limit in limits.limits().items() if name in LIMITED}
    return Room(most, beat_bits, guarded, limits.family)


TablePricer = Callable[[DesignTable], Priced]


def _pipeline_pricer(data: GraphData, given: Specification) -> TablePricer:
    return partial(_priced_pipelines, Pricer(data, given.family, given.beat_cycles))


def _priced_pipelines(pricer: Pricer, table: DesignTable) -> Priced:
    if table.sampling:
        raise UserError(f"design {int(table.places[0]) + 1}: {ONE_GRAPH}")
    return pricer.price(table.columns(), table.dsp)


def _array_pricer(data: GraphData, given: Specification) -> TablePricer:
    return partial(_priced_arrays, ArrayDesignPricer(data, given.family))


def _priced_arrays(pricer: ArrayDesignPricer, table: DesignTable) -> Priced:
    assert table.array is not None
    columns = table.columns()
    check_arrays(columns, table.array, table.places)
    return ArrayDesignPrices(pricer.price(columns, table.array, table.sampling), table.array.beat_bits)


@dataclass(frozen=True)
class Target:
    """One kind of hardware.

    Attributes:
        pricer: of a graph and a specification; it prices tables of designs that were made for this hardware. It can be
            sent to another process.
        write: writes a project; returns its files.
        resources: what the model counts for the accelerator of a project's report/accelerator.json, on a family, by
            name.
    """

    pricer: Callable[[GraphData, Specification], TablePricer]
    write: Callable[[Accelerator, GraphData, Path, Request], list[Path]]
    resources: Callable[[dict[str, Any], str], dict[str, float]]


DEFAULT_TARGET = "pipeline"
TARGETS = {
    "array": Target(_array_pricer, _array, array_resources),
    DEFAULT_TARGET: Target(_pipeline_pricer, _pipeline, pipeline_resources),
}


def target_of(design: Design | DesignTable) -> str:
    """The name of the hardware that a design, or each of a table, was made for."""
    return DEFAULT_TARGET if design.array is None else "array"


def find_target(name: str) -> Target:
    """A target by name, or UserError."""
    if name not in TARGETS:
        raise UserError(f"unknown target {name!r}; known: {', '.join(TARGETS)}")
    return TARGETS[name]


def check_target(name: str, design: Design) -> None:
    """Raise UserError where a target does not exist, or has no hardware for a design's layers."""
    find_target(name)
    if name == DEFAULT_TARGET and any(layer.mlp for layer in design.layers):
        raise UserError(NO_MLP)
    if name == DEFAULT_TARGET and not all(layer.pipelined for layer in design.layers):
        raise UserError(NO_SCORES if all(layer.narrow for layer in design.layers) else TOO_WIDE)


def described_target(summary: dict[str, Any]) -> Target:
    """The target of the accelerator that a project's report/accelerator.json describes."""
    return find_target(summary.get("target", DEFAULT_TARGET))
