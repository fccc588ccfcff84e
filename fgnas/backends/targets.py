"""The hardware that a lowered FGNAS design can be written for, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fgnas.backends import array, project
from fgnas.backends.project import DEFAULT_COMPILER
from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.array.choosing import fastest
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.pricing import Specification
from fgnas.network import Network
from fgnas.tasks.nodes import GraphData


@dataclass(frozen=True)
class Request:
    """What is written beside the accelerator and its graph.

    Attributes:
        specification: limits, clock and part.
        network: the float weights.
        compiler: the HLS compiler whose pragmas the C++ has; an array's has those of the default alone.
        multipliers: the most that an array may have; None for the design's DSP budget.
        beat_bits: width of an array's memory port; None for that of the pipeline.
    """

    specification: Specification
    network: Network | None
    compiler: str = DEFAULT_COMPILER
    multipliers: int | None = None
    beat_bits: int | None = None


def _pipeline(accelerator: Accelerator, data: GraphData, directory: Path, request: Request) -> list[Path]:
    if request.multipliers is not None:
        raise UserError("--multipliers is for --target array: the design itself says how many a pipeline has")
    if request.beat_bits not in (None, wire.BEAT_BITS):
        raise UserError(f"--beat-bits is for --target array: a pipeline's port has {wire.BEAT_BITS} bits")
    return project.write_project(
        accelerator, data, directory, request.specification, request.network, request.compiler
    )


def _array(accelerator: Accelerator, data: GraphData, directory: Path, request: Request) -> list[Path]:
    if request.compiler != DEFAULT_COMPILER:
        raise UserError(f"an array's C++ is for {DEFAULT_COMPILER} alone, not for {request.compiler}")
    most = accelerator.design.dsp if request.multipliers is None else request.multipliers
    return array.write_project(
        fastest(accelerator, data, most, request.beat_bits or wire.BEAT_BITS), data, directory, request.specification,
        request.network,
    )  # fmt: skip


Writer = Callable[[Accelerator, GraphData, Path, Request], list[Path]]
DEFAULT_TARGET = "pipeline"
TARGETS: dict[str, Writer] = {"array": _array, DEFAULT_TARGET: _pipeline}
"""Name -> function that writes a project; returns its files."""


def find_writer(name: str) -> Writer:
    """A target's writer. Raises UserError for an unknown name."""
    if name not in TARGETS:
        raise UserError(f"unknown target {name!r}; known: {', '.join(TARGETS)}")
    return TARGETS[name]
