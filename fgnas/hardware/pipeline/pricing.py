"""Pricing: latency and resources of many designs at once, compared with a specification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.costs import feasible, violations, whole
from fgnas.design import GATHER_FIRST, MLP, Design, columns_of
from fgnas.errors import OTHER_VERSION, UserError
from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.numbers import Bools, Ints
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.binding import bind_multipliers, stage_multipliers
from fgnas.hardware.pipeline.geometry import (
    GATHERS,
    NO_MLP,
    ManyDesigns,
    OneDesign,
    check_scores,
    check_widths,
    geometry,
    over_designs,
)
from fgnas.hardware.pipeline.latency import Workload, latency_cycles
from fgnas.hardware.pipeline.resources import Resources, resources, with_tables
from fgnas.hardware.pipeline.tables import layer_tables
from fgnas.hardware.pipeline.traffic import Reals, clock_mhz_of, mb_s_of, memory_bytes, peak_beats
from fgnas.hardware.pipeline.work import multiplications
from fgnas.hardware.prices import Priced
from fgnas.hardware.shape import GraphShape, Sized
from fgnas.hardware.specification import DEFAULT_FAMILY, Specification
from fgnas.space import Columns
from fgnas.tasks.nodes import GraphData


@dataclass(frozen=True, eq=False)
class Prices(Priced):
    """Latency (cycles), resources, and bytes from and to main memory of n designs, each an array [n].

    bram36 counts halves. peak_beats is the highest rate of each phase, see `fgnas.hardware.pipeline.traffic`, and
    beat_cycles the cycles of the memory port for a beat, of all designs. In a row, memory_mb_s is the mean bandwidth at
    the specification's clock, memory_clock_mhz the clock at which a memory port of the kernel's width, a beat a cycle,
    carries just that, and peak_mb_s the bandwidth of peak_beats; busy is the share of multiplier cycles that the
    network's multiplications need.
    """

    latency_cycles: Ints
    lut: Ints
    ff: Ints
    dsp: Ints
    bram36: NDArray[np.float64]
    memory_bytes: Ints
    peak_beats: dict[str, Reals]
    multipliers: Ints
    multiplications: Ints
    beat_cycles: float = 1.0

    def named(self) -> dict[str, Any]:
        """Every price that is a number, by name, [n] each."""
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    def feasible(self, specification: Specification) -> Bools:
        """[n] whether every limit is kept."""
        return feasible(self.named(), specification.bounds())

    def columns(self, specification: Specification) -> dict[str, list[Any]]:
        """The prices as plain JSON values, [n] each by name; equal dictionaries are one object."""
        limits = specification.bounds()
        kept = feasible(self.named(), limits).tolist()
        bandwidths = self.memory_bytes * specification.clock_mhz / np.maximum(self.latency_cycles, 1)
        mb_s = {name: mb_s_of(rates, specification.clock_mhz) for name, rates in self.peak_beats.items()}
        busy = self.multiplications / np.maximum(self.multipliers * self.latency_cycles, 1)
        none: list[str] = []
        return {
            "latency_cycles": self.latency_cycles.tolist(),
            "latency_ms": (self.latency_cycles / specification.clock_mhz / 1000.0).tolist(),
            "lut": self.lut.tolist(),
            "ff": self.ff.tolist(),
            "dsp": self.dsp.tolist(),
            "bram36": [whole(bram36) for bram36 in self.bram36.tolist()],
            "memory_bytes": self.memory_bytes.tolist(),
            "memory_mb_s": np.round(bandwidths, 1).tolist(),
            "memory_clock_mhz": np.round(clock_mhz_of(bandwidths), 1).tolist(),
            "peak_beats": _named_rates(self.peak_beats),
            "peak_mb_s": _named_rates(mb_s),
            "beat_cycles": [self.beat_cycles] * len(kept),
            "multipliers": self.multipliers.tolist(),
            "multiplications": self.multiplications.tolist(),
            "busy": np.round(busy, 4).tolist(),
            "feasible": kept,
            "violations": [none if ok else violations(self.named(), limits, i) for i, ok in enumerate(kept)],
        }


def _named_rates(columns: dict[str, Reals]) -> list[dict[str, float]]:
    """[n] rates by name, rounded; equal ones are one object."""
    rounded = [np.round(column, 4) for column in columns.values()]
    # The number of each row's combination: combinations are few, rows are many.
    place = np.zeros(len(rounded[0]), np.int64)
    for column in rounded:
        values, number = np.unique(column, return_inverse=True)
        place = np.unique(place * len(values) + number, return_inverse=True)[1]
    first = np.unique(place, return_index=True)[1]
    distinct = zip(*(column[first].tolist() for column in rounded), strict=True)
    made = [dict(zip(columns, rates, strict=True)) for rates in distinct]
    return [made[number] for number in place.tolist()]


class Pricer:
    """Prices designs for one graph, on one family of devices."""

    def __init__(self, data: Sized, family: str = DEFAULT_FAMILY, beat_cycles: float = 1.0) -> None:
        """`beat_cycles`: those of the memory port for a beat, see `Specification`."""
        self.family, self.beat_cycles = family, beat_cycles
        self.shape = GraphShape.of(data)
        self.workload = Workload.of(data)

    def price(self, columns: Columns, dsp: int | Ints) -> Prices:
        """Prices of n designs given as columns, with the DSP budget of each."""
        if any(np.any(one == MLP) for one in columns["aggregation"]):
            raise UserError(NO_MLP)
        if any(np.any(one == GATHER_FIRST) for one in columns.get("order", ())):
            raise UserError(GATHERS)
        layers = geometry(columns, self.shape)
        check_scores(layers)
        check_widths(layers)
        budget = np.broadcast_to(np.asarray(dsp, np.int64), layers[0].k.shape)
        multipliers = bind_multipliers(layers, budget)
        used = resources(layers, multipliers, self.shape, self.family)
        cycles = latency_cycles(layers, self.workload, beat_cycles=self.beat_cycles)
        traffic = memory_bytes(layers, self.workload)
        peaks = peak_beats(layers)
        return Prices(
            cycles, used.lut, used.ff, used.dsp, used.bram36, traffic, peaks, *_use(layers, self.workload),
            self.beat_cycles,
        )  # fmt: skip


def design_resources(design: Design, shape: GraphShape, family: str = DEFAULT_FAMILY) -> dict[str, float]:
    """Resources by name of one design that is not lowered."""
    layers = geometry(columns_of([design]), shape)
    used = resources(layers, bind_multipliers(layers, np.array([design.dsp])), shape, family)
    return {name: float(value[0]) for name, value in vars(used).items()}


def price_accelerator(
    accelerator: Accelerator, data: GraphData, family: str = DEFAULT_FAMILY, beat_cycles: float = 1.0
) -> Prices:
    """Prices of one lowered design on a graph, read from the accelerator itself: arrays of length one."""
    layers = [over_designs(layer.geometry) for layer in accelerator.layers]
    # A row of gat waits for room in the ring that is built, whatever ring this graph would need.
    workload = Workload(data.non_zeros, data.degrees, accelerator.shape.degree_capacity)
    used = _lowered_resources(accelerator, family)
    cycles = latency_cycles(layers, workload, beat_cycles=beat_cycles)
    traffic, peaks = memory_bytes(layers, workload), peak_beats(layers)
    use = _use(layers, workload)
    return Prices(cycles, used.lut, used.ff, used.dsp, used.bram36, traffic, peaks, *use, beat_cycles)


def _use(layers: Sequence[ManyDesigns], workload: Workload) -> tuple[Ints, Ints]:
    """[n] multipliers, and [n] multiplications that the networks need."""
    non_zeros, edges = int(workload.non_zeros.sum()), int(workload.degrees.sum())
    lanes = [group.lanes for group in stage_multipliers(layers)]
    return np.sum(lanes, axis=0), multiplications(layers, non_zeros, workload.nodes, edges)


def accelerator_resources(accelerator: Accelerator, family: str = DEFAULT_FAMILY) -> dict[str, float]:
    """Resources by name of one lowered design, read from the accelerator itself."""
    return {name: float(value[0]) for name, value in vars(_lowered_resources(accelerator, family)).items()}


def _lowered_resources(accelerator: Accelerator, family: str) -> Resources:
    layers = [over_designs(layer.geometry) for layer in accelerator.layers]
    bound = [
        replace(group, dsp=np.array([getattr(accelerator.layers[group.layer], f"{group.stage}_dsp")]))
        for group in stage_multipliers(layers)
    ]
    tables = [
        table
        for layer in accelerator.layers
        for table in layer_tables(layer.geometry, layer.value_format, layer.output_format)
    ]
    return with_tables(resources(layers, bound, accelerator.shape, family), layers, tables, family)


def written_layers(summary: dict[str, Any]) -> list[OneDesign]:
    """The geometry of the accelerator that `Accelerator.summary` described.

    Raises UserError for a summary that another version of this package wrote.
    """
    try:
        return [OneDesign(**layer["geometry"]) for layer in summary["layers"]]
    except (KeyError, TypeError):
        raise UserError(OTHER_VERSION) from None


def written_resources(summary: dict[str, Any], family: str = DEFAULT_FAMILY) -> dict[str, float]:
    """Resources by name of the accelerator that `Accelerator.summary` described.

    Raises UserError for a summary that another version of this package wrote.
    """
    layers = [over_designs(layer) for layer in written_layers(summary)]
    try:
        shape = GraphShape(**summary["shape"])
        bound = [
            replace(group, dsp=np.array([int(summary["layers"][group.layer][f"{group.stage}_dsp"])]))
            for group in stage_multipliers(layers)
        ]
        formats = [
            (FixedPoint(**layer["value_format"]), FixedPoint(**layer["output_format"])) for layer in summary["layers"]
        ]
    except (KeyError, TypeError, ValueError):
        raise UserError(OTHER_VERSION) from None
    written = zip(written_layers(summary), formats, strict=True)
    tables = [table for layer, (value, output) in written for table in layer_tables(layer, value, output)]
    found = with_tables(resources(layers, bound, shape, family), layers, tables, family)
    return {name: float(value[0]) for name, value in vars(found).items()}
