"""The hardware that FGNAS designs are searched for, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np

from fgnas.costs import Costs, Quantity
from fgnas.engine.contracts import Target
from fgnas.errors import UserError
from fgnas.hardware.pipeline.pricing import Pricer
from fgnas.hardware.specification import Specification
from fgnas.space import Rows
from fgnas.systems.fgnas.solved import NarrowedHardware, SolvedTarget
from fgnas.systems.fgnas.space import DesignSpace
from fgnas.tasks.nodes import GraphData


class Hardware(Target, Protocol):
    """A target that names the space to search: it may decide some choices itself and leave the others to the searcher.

    Attributes:
        space: the space to search.
        survey_draws: uniform draws that a survey prices; None leaves the number to the survey.
        saved: the cost that it keeps low.
        smaller: where smaller hardware for a row is found; None: nowhere.
    """

    @property
    def space(self) -> DesignSpace: ...

    @property
    def survey_draws(self) -> int | None: ...

    @property
    def saved(self) -> str: ...

    @property
    def smaller(self) -> NarrowedHardware | None: ...


class PipelineTarget:
    """The pipeline on one graph: exact cycles, DSPs and block RAMs, characterised LUTs and flip-flops."""

    survey_draws: int | None = None
    saved = "latency_cycles"
    smaller = None

    def __init__(self, space: DesignSpace, data: GraphData, specification: Specification) -> None:
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


MakeTarget = Callable[[DesignSpace, GraphData, Specification], Hardware]

TARGETS: dict[str, MakeTarget] = {
    "pipeline": PipelineTarget,
    "solved-cycles": partial(solved, "latency_cycles"),
    "solved-lut": partial(solved, "lut"),
    "solved-dsp": partial(solved, "dsp"),
}
"""Name -> function of the space, the data and the specification. With `pipeline` the searcher decides everything."""


def find_target(name: str) -> MakeTarget:
    """A target by name, or UserError."""
    if name not in TARGETS:
        raise UserError(f"unknown target {name!r}; known: {', '.join(sorted(TARGETS))}")
    return TARGETS[name]
