"""The limits that hardware must keep, with its clock and its device."""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from fgnas.costs import Limit, whole
from fgnas.errors import UserError
from fgnas.hardware.port import beat_cycles

DEFAULT_FAMILY = "xc7"
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

    def milliseconds(self, cycles: float) -> float:
        """The time of so many cycles."""
        return cycles / self.clock_mhz / 1000.0

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
            return f"latency {self.milliseconds(value):.4f} ms is over {self.latency_ms} ms"
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
