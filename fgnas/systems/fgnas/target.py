"""The hardware that FGNAS designs are searched for, by name.

Other packages install theirs under the entry point group `fgnas.targets`, each naming a function as in `TARGETS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.metadata import entry_points
from typing import Protocol

import numpy as np

from fgnas.costs import Costs, Limit, Quantity
from fgnas.engine.contracts import Target
from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.pipeline.pricing import Pricer
from fgnas.hardware.specification import Specification
from fgnas.space import Rows
from fgnas.systems.fgnas.arrays import ArrayTarget
from fgnas.systems.fgnas.either import EitherTarget
from fgnas.systems.fgnas.solved import Narrows, SolvedTarget
from fgnas.systems.fgnas.space import DesignSpace
from fgnas.tasks.nodes import GraphData


class Hardware(Target, Protocol):
    """A target that names the space to search: it may decide some choices itself and leave the others to the searcher.

    Attributes:
        space: the space to search.
        survey_draws: uniform draws that a survey prices; None leaves the number to the survey.
        saved: the cost that it keeps low.
        limits: capacities of its hardware, in addition to the limits of the specification; costs have the same names.
        smaller: where smaller hardware for a row is found; None: nowhere.
    """

    @property
    def space(self) -> DesignSpace: ...

    @property
    def survey_draws(self) -> int | None: ...

    @property
    def saved(self) -> str: ...

    @property
    def limits(self) -> tuple[Limit, ...]: ...

    @property
    def smaller(self) -> Narrows | None: ...


class PipelineTarget:
    """The pipeline on one graph: exact cycles, DSPs and block RAMs, characterised LUTs and flip-flops."""

    survey_draws: int | None = None
    saved = "latency_cycles"
    limits: tuple[Limit, ...] = ()
    smaller = None

    def __init__(self, space: DesignSpace, data: GraphData, specification: Specification) -> None:
        if space.beat_bits != wire.BEAT_BITS:
            raise UserError(f"--beat-bits is for --target array and any: a pipeline's port has {wire.BEAT_BITS} bits")
        if space.paired:
            raise UserError("--paired is for --target array and any: a pipeline's products have a DSP slice each")
        self.space, self.pricer = space, Pricer(data, specification.family, specification.beat_cycles)
        self.costs = pipeline_costs(specification.clock_mhz)

    def price(self, rows: Rows) -> Costs:
        """Every cost of n rows, [n] each."""
        prices = self.pricer.price(self.space.columns(rows), self.space.dsp)
        return {cost.name: np.asarray(getattr(prices, cost.name), np.float64) for cost in self.costs}


def pipeline_costs(clock_mhz: float) -> tuple[Quantity, ...]:
    """The pipeline's costs; cycles are shown as milliseconds of the clock."""
    return (
        Quantity("latency_cycles", "Latency", "cycles", scale=1 / (1000 * clock_mhz), shown_unit="ms"),
        Quantity("lut", "LUT", exact=False),
        Quantity("ff", "FF", exact=False),
        Quantity("dsp", "DSP"),
        Quantity("bram36", "Block RAM (36 Kb)"),
    )


def solved(cheapest: str, space: DesignSpace, data: GraphData, specification: Specification) -> SolvedTarget:
    """The pipeline, solved for each architecture: the lanes that are cheapest in one cost."""
    return SolvedTarget(space, PipelineTarget(space, data, specification), specification.bounds(), cheapest)


def either(space: DesignSpace, data: GraphData, specification: Specification) -> EitherTarget:
    """The pipeline and the array with the fewest cycles, whichever is better."""
    pipeline = solved("latency_cycles", replace(space, beat_bits=wire.BEAT_BITS, paired=False), data, specification)
    array = ArrayTarget("latency_cycles", space, data, specification)
    return EitherTarget((pipeline, array), specification.bounds())


MakeTarget = Callable[[DesignSpace, GraphData, Specification], Hardware]

GROUP = "fgnas.targets"
TARGETS: dict[str, MakeTarget] = {
    "pipeline": PipelineTarget,
    "solved-cycles": partial(solved, "latency_cycles"),
    "solved-lut": partial(solved, "lut"),
    "solved-dsp": partial(solved, "dsp"),
    "array": partial(ArrayTarget, "latency_cycles"),
    "array-lut": partial(ArrayTarget, "lut"),
    "array-dsp": partial(ArrayTarget, "dsp"),
    "any": either,
}
"""Name -> function of the space, the data and the specification. With `pipeline` the searcher decides everything."""


def names() -> list[str]:
    """The names of all targets; nothing is imported."""
    return sorted({*TARGETS, *(point.name for point in entry_points(group=GROUP))})


def find_target(name: str) -> MakeTarget:
    """A target by name. Raises UserError for an unknown one."""
    if name in TARGETS:
        return TARGETS[name]
    for point in entry_points(group=GROUP):
        if point.name == name:
            found: MakeTarget = point.load()
            return found
    raise UserError(f"unknown target {name!r}; known: {', '.join(names())}")
