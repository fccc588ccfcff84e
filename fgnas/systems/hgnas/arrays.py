"""The multiplier array as a target: networks of points cost their exact cycles, DSPs and block RAMs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from fgnas.costs import Costs, Limit, Quantity
from fgnas.errors import UserError
from fgnas.hardware.array.engine import LANES, Engine
from fgnas.hardware.array.points.pricing import priced
from fgnas.hardware.array.programme import NARROW_BITS, PORT_WIDTHS
from fgnas.hardware.array.resources import resources_of
from fgnas.hardware.measured.device import REFERENCE
from fgnas.hardware.specification import DEFAULT_FAMILY, RESOURCES
from fgnas.networks.points.baselines import baseline
from fgnas.networks.points.operations import LARGEST_WIDTH, PointNetwork
from fgnas.networks.points.work import Cloud, multiplications, widest
from fgnas.space import Rows
from fgnas.systems.hgnas.shapes import shaped
from fgnas.systems.hgnas.space import PointSpace
from fgnas.systems.hgnas.target import PRODUCTS, WIDTH, counted

MULTIPLIERS, BEAT_BITS, BITS = 64, 512, 8


@dataclass(frozen=True)
class ArraySize:
    """The sizes of an array that a user chooses; the network determines the others.

    Attributes:
        multipliers: a multiple of eight, the multipliers of a unit.
        beat_bits: width of the memory port.
        bits: width of every number.
    """

    multipliers: int = MULTIPLIERS
    beat_bits: int = BEAT_BITS
    bits: int = BITS

    def __post_init__(self) -> None:
        if self.multipliers < LANES or self.multipliers % LANES:
            raise UserError(f"--multipliers is {self.multipliers}: an array has whole units of {LANES}")
        if not 2 <= self.bits < NARROW_BITS:
            raise UserError(f"--bits is {self.bits}: numbers of points have 2 to {NARROW_BITS - 1} bits, fewer than "
                            f"an entry's value")  # fmt: skip
        if self.beat_bits not in PORT_WIDTHS:
            raise UserError(f"--beat-bits is {self.beat_bits}: the memory port of an array has one of {PORT_WIDTHS}")

    def changed(self, **given: int | None) -> ArraySize:
        """With those values that are not None."""
        return replace(self, **{name: value for name, value in given.items() if value is not None})

    @property
    def units(self) -> int:
        """S."""
        return self.multipliers // LANES


class OnEngine(NamedTuple):
    """The smallest array that runs a network, and its cycles for one cloud."""

    cycles: int
    engine: Engine


Lowering = Callable[[PointNetwork], OnEngine]
"""A network on the smallest array of a size. Raises UserError where none holds it."""


class ArrayTarget:
    """Exact cycles of one cloud, and the smallest array of a size that runs the network.

    Cycles depend on shapes alone, so that a network is lowered without weights; each is lowered once. LUTs and
    flip-flops are modelled, for usual shifts. A network that no array of the size holds is `refused`; its
    other costs are the least that its multiplications allow. So are those of a network that takes more than
    `most_cycles` even so: it is not lowered.
    """

    fronts = (("latency_cycles",), ("bram36",))
    identity: dict[str, Any]

    def __init__(
        self, space: PointSpace, size: ArraySize, lowering: Lowering, clock_mhz: float = 100.0,
        family: str = DEFAULT_FAMILY, most_cycles: float = math.inf,
    ) -> None:  # fmt: skip
        self.space, self.size, self.family = space, size, family
        self._lowering, self._most_cycles = lowering, most_cycles
        self.reference = multiplications(baseline(REFERENCE, space.tail), space.cloud) / size.multipliers
        self.costs: tuple[Quantity, ...] = (
            Quantity("latency_cycles", "Latency", "cycles", scale=1 / (clock_mhz * 1000), shown_unit="ms"),
            Quantity("share", "Of fused DGCNN's least cycles", "share"),
            Quantity("lut", "LUT", exact=False), Quantity("ff", "FF", exact=False), Quantity("dsp", "DSP"),
            Quantity("bram36", "Block RAM (36 Kb)"), PRODUCTS, WIDTH,
            Quantity("refused", "Networks that no array of the size holds"),
        )  # fmt: skip
        self.identity = {"array": vars(size)}
        self._known: dict[str, OnEngine | None] = {}

    @property
    def held(self) -> Limit:
        """The limit of what the array's memories hold."""
        return Limit("refused", 0, lambda _: f"no array of {self.size.multipliers} multipliers holds it: `fgnas price "
                                             f"NETWORK.json --target array` says why")  # fmt: skip

    def price(self, rows: Rows) -> Costs:
        """Every cost of n rows, [n] each."""
        return self.of([self.space.candidate(row).network for row in rows])

    def of(self, networks: Sequence[PointNetwork]) -> Costs:
        """Every cost of n networks, [n] each."""
        products, width = counted(networks, self.space)
        least = np.ceil(products / self.size.multipliers)
        over = least > self._most_cycles
        found = [None if beyond else self.lowered(one) for one, beyond in zip(networks, over, strict=True)]
        latency = np.array([there if one is None else one.cycles for one, there in zip(found, least, strict=True)])
        resources = {name: np.zeros(len(networks)) for name in RESOURCES}
        held = np.array([one is not None for one in found], bool)
        if held.any():
            there = resources_of([one.engine for one in found if one is not None], self.family)
            for name, values in there.items():
                resources[name][held] = values
        return {
            "latency_cycles": latency.astype(np.float64), "share": latency / self.reference, **resources,
            "products": products, "width": width, "refused": (~held & ~over).astype(np.float64),
        }  # fmt: skip

    def lowered(self, network: PointNetwork) -> OnEngine | None:
        """A network on its array; None where none holds it."""
        if network.hash not in self._known:
            self._known[network.hash] = self._lowered(network)
        return self._known[network.hash]

    def _lowered(self, network: PointNetwork) -> OnEngine | None:
        if widest(network.operations, self.space.cloud.width) > LARGEST_WIDTH:
            return None  # whatever it costs, the space has no such network
        try:
            return self._lowering(network)
        except UserError:
            return None


def on_engine(network: PointNetwork, cloud: Cloud, size: ArraySize) -> OnEngine:
    """A network for such clouds on the smallest array of a size. Raises UserError where none holds it."""
    return OnEngine(*priced(shaped(network, cloud, size.bits), cloud.points, size.units, size.beat_bits))
