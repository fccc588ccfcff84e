"""Pricing: latency and resources of many designs at once, compared with a specification."""

from __future__ import annotations

import functools
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.costs import Limit, feasible, violations, whole
from fgnas.design import MLP, Design, columns_of
from fgnas.errors import OTHER_VERSION, UserError
from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.binding import bind_multipliers, stage_multipliers
from fgnas.hardware.pipeline.geometry import (
    NO_MLP,
    Bools,
    GraphShape,
    Ints,
    ManyDesigns,
    OneDesign,
    check_scores,
    check_widths,
    geometry,
    over_designs,
)
from fgnas.hardware.pipeline.latency import Workload, latency_cycles
from fgnas.hardware.pipeline.resources import DEFAULT_FAMILY, Resources, resources, with_tables
from fgnas.hardware.pipeline.tables import layer_tables
from fgnas.hardware.pipeline.traffic import Reals, clock_mhz_of, mb_s_of, memory_bytes, peak_beats
from fgnas.hardware.pipeline.work import multiplications
from fgnas.hardware.port import beat_cycles
from fgnas.space import Columns
from fgnas.tasks.nodes import GraphData

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


class Priced(ABC):
    """Prices of n designs of one target, by name."""

    @abstractmethod
    def columns(self, specification: Specification) -> dict[str, list[Any]]:
        """The prices as plain JSON values, [n] each by name; equal dictionaries are one object."""

    def rows(self, specification: Specification) -> list[dict[str, Any]]:
        """The price of each design as plain JSON values."""
        columns = self.columns(specification)
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]

    def lines(self, specification: Specification) -> list[str]:
        """The price of each design as a line of JSON with sorted keys: `rows`, several times as fast."""
        columns = sorted(self.columns(specification).items())
        line = "{" + ", ".join(f"{json.dumps(name)}: %s" for name, _ in columns) + "}\n"
        return [line % values for values in zip(*(_json_texts(column) for _, column in columns), strict=True)]


@dataclass(frozen=True, eq=False)
class Prices(Priced):
    """Latency (cycles), resources, and bytes from and to main memory of n designs, each an array [n].

    bram36 counts halves. peak_beats is the highest rate of each phase, see `fgnas.hardware.pipeline.traffic`, and
    beat_cycles the cycles of the memory port for a beat, of all designs. Of a row, memory_mb_s is the mean bandwidth at
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


def _json_texts(column: list[Any]) -> list[str]:
    """Each value of a column as JSON with sorted keys; an object that occurs many times is written once."""
    if column and type(column[0]) in (int, float) and None not in column:
        return list(map(repr, column))
    texts = {id(value): value for value in column}
    texts = {key: json.dumps(value, sort_keys=True, allow_nan=False) for key, value in texts.items()}
    return [texts[id(value)] for value in column]


class Pricer:
    """Prices designs for one graph, on one family of devices."""

    def __init__(self, data: GraphData, family: str = DEFAULT_FAMILY, beat_cycles: float = 1.0) -> None:
        """`beat_cycles`: those of the memory port for a beat, see `Specification`."""
        self.family, self.beat_cycles = family, beat_cycles
        self.shape = GraphShape.of(data)
        self.workload = Workload.of(data)

    def price(self, columns: Columns, dsp: int | Ints) -> Prices:
        """Prices of n designs given as columns, with the DSP budget of each."""
        if any(np.any(one == MLP) for one in columns["aggregation"]):
            raise UserError(NO_MLP)
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
