"""The costs of a subnet: those of one mapping on the exact front of its steps (the inner tier).

Source: MaGNAS, section 4.3. The mapping is the one that eq. 13 prefers, the least product of latency and energy; with a
limit on latency that of least energy within it, and with one on energy the fastest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fgnas.costs import Costs, Quantity
from fgnas.errors import UserError
from fgnas.mapping.options import MapOptions
from fgnas.mapping.platform import Platform
from fgnas.mapping.study import Answer, Point, solve
from fgnas.networks.vision.steps import steps_of
from fgnas.networks.vision.subnet import Subnet
from fgnas.networks.vision.supernet import VigSpace
from fgnas.networks.vision.vig import Backbone
from fgnas.space import Rows
from fgnas.systems.magnas.kernels import WholeKernel, kernel_of

NETWORK = "subnet"
LATENCY = Quantity("latency_ms", "Latency", "ms")
ENERGY = Quantity("energy_mj", "Energy", "mJ")
POWER = Quantity("power_w", "Power", "W")


@dataclass(frozen=True)
class Mapping:
    """A setting of the platform, and the unit of every step.

    Attributes:
        parts: steps that are mapped as one, from the first to the last; a unit may run them in fewer starts.
    """

    setting: str
    units: tuple[str, ...]
    parts: tuple[int, ...]

    @classmethod
    def of(cls, content: dict[str, Any]) -> Mapping:
        """The mapping of plain values. Raises UserError for those of another version of this package."""
        try:
            return cls(content["setting"], tuple(content["units"]), tuple(content["parts"]))
        except KeyError as error:
            cause = f"the run's mapping has no {error}, because another version of fgnas wrote it"
            raise UserError(f"{cause}: search again") from None


class MappedTarget:
    """Latency, energy and mean power of subnets, each mapped by itself."""

    def __init__(self, space: VigSpace, backbone: Backbone, platform: Platform, options: MapOptions) -> None:
        self.space, self.backbone, self.platform, self.options = space, backbone, platform, options
        kernels = {name: kernel_of(name, facts) for name, facts in platform.builds.items()}
        self.whole = {name: kernel for name, kernel in kernels.items() if isinstance(kernel, WholeKernel)}
        self._known: dict[bytes, tuple[float, ...]] = {}
        # Without stated power every energy is 0, and no objective.
        self.costs: tuple[Quantity, ...] = (LATENCY, ENERGY, POWER) if platform.states_energy else (LATENCY,)

    def price(self, rows: Rows) -> Costs:
        """Every cost of n rows, [n] each."""
        for row in rows:
            if row.tobytes() not in self._known:
                self._known[row.tobytes()] = self._price(self.space.candidate(row))
        columns = np.array([self._known[row.tobytes()] for row in rows], np.float64).reshape(len(rows), -1)
        return {cost.name: columns[:, place] for place, cost in enumerate(self.costs)}

    def mapped(self, subnet: Subnet) -> Answer:
        """The exact front of a subnet's mappings."""
        whole = {
            name: self.platform.starts[name].taking(kernel.nanoseconds(subnet, self.backbone))
            for name, kernel in self.whole.items()
        }
        platform = self.platform.with_model(NETWORK, subnet.hash, steps_of(subnet, self.backbone), whole)
        return solve(platform, NETWORK, self.options)

    def mapping(self, subnet: Subnet) -> Mapping:
        """The mapping that a subnet is priced by."""
        answer = self.mapped(subnet)
        return self.mapping_of(subnet, answer, preferred(answer))

    def mapping_of(self, subnet: Subnet, answer: Answer, point: Point) -> Mapping:
        """A point of a subnet's answer with the unit of every step."""
        sizes = [len(item["steps"]) if isinstance(item, dict) else 1 for item in steps_of(subnet, self.backbone)]
        parts = sizes if self.options.granularity == "block" else [1] * sum(sizes)
        chosen = [answer.platform.units[unit] for unit in point.mapping]
        if chosen[0] in self.whole:
            parts, chosen = [sum(sizes)], chosen[:1]
        units = [unit for unit, size in zip(chosen, parts, strict=True) for _ in range(size)]
        return Mapping(point.setting, tuple(units), tuple(parts))

    def _price(self, subnet: Subnet) -> tuple[float, ...]:
        answer = self.mapped(subnet)
        point = preferred(answer)
        found = answer.milliseconds(point.time), answer.millijoules(point.energy), answer.watts(point)
        return found[: len(self.costs)]


def preferred(answer: Answer) -> Point:
    """The mapping that a subnet is priced by; where none keeps the limits, the nearest."""
    if answer.nearest is not None:
        return answer.nearest
    return answer.points[answer.chosen()]
