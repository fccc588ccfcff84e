"""The power of a platform's units, as the user states it, and the energy of a span in which one of them works."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fgnas.errors import UserError
from fgnas.systems.magnas.kernels import AnyKernel


@dataclass(frozen=True)
class Power:
    """Watts of each unit, (while it computes, while it waits); one computes at a time, and the others wait."""

    watts: dict[str, tuple[float, float]]

    def nanojoules(self, nanoseconds: int, unit: str) -> int:
        """The energy of all units while one works."""
        return round(nanoseconds * self.working(unit))

    def working(self, unit: str) -> float:
        """Watts of all units while one works."""
        return self.watts[unit][0] + sum(idle for name, (_, idle) in self.watts.items() if name != unit)

    def __str__(self) -> str:
        """Every unit in words."""
        return ", ".join(f"{name} {active:g} W, {idle:g} W idle" for name, (active, idle) in self.watts.items())


def stated_power(
    processor: str, watts: float | None, idle_watts: float | None, kernels: Sequence[AnyKernel]
) -> Power | None:
    """The power of all units, or None where none is stated. Raises UserError where some of it is.

    A processor without kernels never waits.
    """
    found = {processor: (watts, idle_watts if kernels or idle_watts is not None else 0.0)}
    found |= {kernel.name: (kernel.watts, kernel.idle_watts) for kernel in kernels}
    stated = [value for pair in found.values() for value in pair]
    if watts is None and idle_watts is None and all(value is None for value in stated[2:]):
        return None
    for name, (active, idle) in found.items():
        for what, value in (("watts", active), ("idle_watts", idle)):
            if value is None:
                place = f"--{what.replace('_', '-')}" if name == processor else f"the field {what} of {name}.json"
                raise UserError(f"energy needs the power of every unit: {place} is missing; or state none at all")
    return Power({name: (float(active or 0), float(idle or 0)) for name, (active, idle) in found.items()})
