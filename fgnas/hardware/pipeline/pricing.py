"""Pricing: latency and resources of many designs at once, compared with a specification."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.costs import Limit, feasible, violations, whole
from fgnas.design import Design, columns_of
from fgnas.errors import UserError
from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.binding import bind_multipliers, stage_multipliers
from fgnas.hardware.pipeline.geometry import Bools, GraphShape, Ints, OneDesign, geometry, over_designs
from fgnas.hardware.pipeline.latency import Workload, latency_cycles
from fgnas.hardware.pipeline.resources import DEFAULT_FAMILY, Resources, resources, with_tables
from fgnas.hardware.pipeline.tables import layer_tables
from fgnas.hardware.pipeline.traffic import Reals, clock_mhz_of, mb_s_of, memory_bytes, peak_beats
from fgnas.hardware.port import beat_cycles
from fgnas.space import Columns
from fgnas.tasks.nodes import GraphData

OTHER_VERSION = "the project's report/accelerator.json was made by another version; write it again"
RESOURCES = ("lut", "ff", "dsp", "bram36")
GUARDED = ("lut", "ff")
"""Resources that the model does not give exactly."""


@dataclass(frozen=True)
class Specification:
    """The limits of the hardware, all to be kept at once; None is no limit.

    Attributes:
        latency_ms, lut, ff, dsp, bram36: limits.
        clock_mhz: clock of the kernel.
        family: family of devices that resources are counted for (xc7, xcup).
        guard_band: per cent of the limits of LUTs and FFs that a design must leave free, for the error of their model;
            DSPs and block RAMs are exact and need none.
        part: the device's part, for the vendor's tool; it is no limit.
        port_bits, port_mhz: width and highest clock of the device's memory port; None is a port of any width or clock.
    """

    latency_ms: float | None = None
    lut: int | None = None
    ff: int | None = None
    dsp: int | None = None
    clock_mhz: float = 100.0
    bram36: float | None = None
    family: str = DEFAULT_FAMILY
    guard_band: float = 0.0
    part: str | None = None
    port_bits: int | None = None
    port_mhz: float | None = None

    @property
    def beat_cycles(self) -> float:
        """Cycles of the kernel's clock that the memory port takes for a beat."""
        return beat_cycles(self.port_bits, self.port_mhz, self.clock_mhz)

    def limits(self) -> dict[str, float]:
        """Limits by the name of the price they bound, less the guard band; latency in cycles."""
        found: dict[str, float] = {}
        if self.latency_ms is not None:
            # Rounded, because a product of decimals may be slightly below the whole number of cycles that it means.
            found["latency_cycles"] = round(self.latency_ms * self.clock_mhz * 1000.0, 6)
        for name, limit in self.resources().items():
            found[name] = limit * ((100.0 - self.guard_band) / 100.0 if name in GUARDED else 1.0)
        return found

    def bounds(self) -> tuple[Limit, ...]:
        """The limits as upper bounds on costs, each with its violation in words."""
        return tuple(Limit(name, bound, functools.partial(self._told, name)) for name, bound in self.limits().items())

    def _told(self, name: str, value: float) -> str:
        """A violated limit in words."""
        if name == "latency_cycles":
            return f"latency {value / self.clock_mhz / 1000.0:.4f} ms is over {self.latency_ms} ms"
        guarded = name in GUARDED and self.guard_band > 0
        less = f" less the guard band of {self.guard_band:g} %" if guarded else ""
        return f"{name} {whole(value)} is over {whole(getattr(self, name))}{less}"

    def resources(self) -> dict[str, float]:
        """The amount of each limited resource, the guard band included."""
        return {name: limit for name in RESOURCES if (limit := getattr(self, name)) is not None}

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; a port only where there is one."""
        absent = {name for name in ("port_bits", "port_mhz") if getattr(self, name) is None}
        return {name: value for name, value in asdict(self).items() if name not in absent}

    @classmethod
    def of(cls, content: Any, source: Path) -> Specification:
        """The specification that `to_dict` wrote, read from the file `source`. Raises UserError for anything else."""
        kinds = {one.name: str if one.name in ("family", "part") else (int, float) for one in fields(cls)}
        right = isinstance(content, dict) and all(
            name in kinds and (isinstance(value, kinds[name]) or value is None) for name, value in content.items()
        )
        if not right:
            raise UserError(f"the specification in {source} is damaged: it must hold limits, not {content!r:.80}")
        return cls(**content)


@dataclass(frozen=True, eq=False)
class Prices:
    """Latency (cycles), resources, and bytes from and to main memory of n designs, each an array [n].

    bram36 counts halves. peak_beats is the highest rate of each phase, see `fgnas.hardware.pipeline.traffic`, and
    beat_cycles the cycles of the memory port for a beat, of all designs. Of a row, memory_mb_s is the mean bandwidth at
    the specification's clock, memory_clock_mhz the clock at which a memory port of the kernel's width, a beat a cycle,
    carries just that, and peak_mb_s the bandwidth of peak_beats.
    """

    latency_cycles: Ints
    lut: Ints
    ff: Ints
    dsp: Ints
    bram36: NDArray[np.float64]
    memory_bytes: Ints
    peak_beats: dict[str, Reals]
    beat_cycles: float = 1.0

    def named(self) -> dict[str, Any]:
        """Every price that is a number, by name, [n] each."""
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    def feasible(self, specification: Specification) -> Bools:
        """[n] whether every limit is kept."""
        return feasible(self.named(), specification.bounds())

    def rows(self, specification: Specification) -> list[dict[str, Any]]:
        """The price of each design as plain JSON values."""
        limits = specification.bounds()
        kept = feasible(self.named(), limits).tolist()
        bandwidths = self.memory_bytes * specification.clock_mhz / np.maximum(self.latency_cycles, 1)
        clocks = clock_mhz_of(bandwidths)
        peaks = [dict(zip(self.peak_beats, rates, strict=True)) for rates in _rows_of(self.peak_beats.values())]
        needed = {name: mb_s_of(rates, specification.clock_mhz) for name, rates in self.peak_beats.items()}
        peak_mb_s = [dict(zip(needed, rates, strict=True)) for rates in _rows_of(needed.values())]
        columns = zip(
            self.latency_cycles.tolist(), self.lut.tolist(), self.ff.tolist(), self.dsp.tolist(), self.bram36.tolist(),
            self.memory_bytes.tolist(), bandwidths.tolist(), clocks.tolist(), peaks, peak_mb_s, kept, strict=True,
        )  # fmt: skip
        return [
            {
                "latency_cycles": cycles,
                "latency_ms": cycles / specification.clock_mhz / 1000.0,
                "lut": lut,
                "ff": ff,
                "dsp": dsp,
                "bram36": whole(bram36),
                "memory_bytes": memory_bytes,
                "memory_mb_s": round(bandwidth, 1),
                "memory_clock_mhz": round(clock, 1),
                "peak_beats": peak,
                "peak_mb_s": peak_mb,
                "beat_cycles": self.beat_cycles,
                "feasible": ok,
                "violations": [] if ok else violations(self.named(), limits, i),
            }
            for i, (
                cycles, lut, ff, dsp, bram36, memory_bytes, bandwidth, clock, peak, peak_mb, ok,
            ) in enumerate(columns)
        ]


def _rows_of(columns: Iterable[Reals]) -> list[list[float]]:
    """[n] rows of rounded values from columns [n]."""
    return np.stack([np.round(column, 4) for column in columns], axis=1).tolist()


class Pricer:
    """Prices designs for one graph, on one family of devices."""

    def __init__(self, data: GraphData, family: str = DEFAULT_FAMILY, beat_cycles: float = 1.0) -> None:
        """`beat_cycles`: those of the memory port for a beat, see `Specification`."""
        self.family, self.beat_cycles = family, beat_cycles
        self.shape = GraphShape.of(data)
        self.workload = Workload.of(data)

    def price(self, columns: Columns, dsp: int | Ints) -> Prices:
        """Prices of n designs given as columns, with the DSP budget of each."""
        layers = geometry(columns, self.shape)
        budget = np.broadcast_to(np.asarray(dsp, np.int64), layers[0].k.shape)
        multipliers = bind_multipliers(layers, budget)
        used = resources(layers, multipliers, self.shape, self.family)
        cycles = latency_cycles(layers, self.workload, beat_cycles=self.beat_cycles)
        traffic = memory_bytes(layers, self.workload)
        peaks = peak_beats(layers)
        return Prices(cycles, used.lut, used.ff, used.dsp, used.bram36, traffic, peaks, self.beat_cycles)


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
    return Prices(cycles, used.lut, used.ff, used.dsp, used.bram36, traffic, peaks, beat_cycles)


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
