"""One question about a network on a platform, and its answer: the front within limits, and one mapping explained."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.errors import UserError
from fgnas.mapping.baselines import METHODS
from fgnas.mapping.chain import Chain, Integers, transitions
from fgnas.mapping.exact import Front, Limits, exact_front, front_of
from fgnas.mapping.options import BASELINES, EXACT, MapOptions
from fgnas.mapping.platform import Platform, Source


@dataclass(frozen=True)
class Point:
    """One mapping: its setting, the unit of each step, and its cost in the platform's integers."""

    setting: str
    mapping: NDArray[np.int8]
    time: int
    energy: int

    @property
    def transitions(self) -> int:
        """Changes of unit."""
        return int(transitions(self.mapping[None])[0])


@dataclass(frozen=True)
class Move:
    """A step's unit, and the changes if this step alone ran on another unit.

    Attributes:
        place: of the step in the chain.
        unit: index of the unit that runs it.
        time, energy: of the step itself.
        others: (unit, change of time, change of energy, the limits that would break) of every other supported unit.
    """

    place: int
    unit: int
    time: int
    energy: int
    others: list[tuple[int, int, int, list[str]]]


@dataclass(frozen=True)
class Answer:
    """The mappings of a model that no other one dominates, and how they were found.

    Attributes:
        chains: by setting.
        points: the front within the limits, by rising time; empty if no mapping keeps them.
        nearest: without a point: the mapping that exceeds the limits by the least factor.
    """

    platform: Platform
    model: str
    options: MapOptions
    limits: Limits
    chains: dict[str, Chain]
    points: list[Point]
    nearest: Point | None

    def milliseconds(self, time: int) -> float:
        """Time in milliseconds."""
        return float(time * self.platform.time.factor / 10**6)

    def millijoules(self, energy: int) -> float:
        """Energy in millijoules."""
        return float(energy * self.platform.energy.factor / 10**9)

    def watts(self, point: Point) -> float:
        """Mean power in watts; pJ over ns is mW."""
        energy, time = point.energy * self.platform.energy.factor, point.time * self.platform.time.factor
        return float(energy / time / 1000) if time else math.inf

    def chosen(self) -> int:
        """The place of the point that a user most likely wants.

        With a limit on latency the least energy, with one on energy the least latency; otherwise the least product of
        both, which eq. 13 of the paper prefers.
        """
        if self.options.latency_ms is not None:
            return len(self.points) - 1
        if self.options.energy_mj is not None:
            return 0
        return min(range(len(self.points)), key=lambda place: self.points[place].time * self.points[place].energy)

    def alone(self) -> Iterator[tuple[str, Point]]:
        """(unit, mapping) of everything on one unit, at each setting."""
        for setting, chain in self.chains.items():
            for unit, (time, energy) in chain.alone().items():
                mapping = np.full(len(chain.steps), unit, np.int8)
                yield chain.units[unit], Point(setting, mapping, int(time), int(energy))

    def moves(self, point: Point) -> list[Move]:
        """Each step of a mapping with its alternatives; of a mapping that runs everything as one, none."""
        chain = self.chains[point.setting]
        if int(point.mapping[0]) in chain.whole:
            return []
        found = []
        for place, unit in enumerate(map(int, point.mapping)):
            others = []
            for other in np.flatnonzero(chain.supported[place]):
                if other != unit:
                    moved = point.mapping.copy()
                    moved[place] = other
                    time, energy = (int(value) for value in chain.costs(moved[None])[0])
                    broken = self.broken(Point(point.setting, moved, time, energy))
                    others.append((int(other), time - point.time, energy - point.energy, broken))
            time, energy = (int(value) for value in chain.cost[place, unit])
            found.append(Move(place, unit, time, energy, others))
        return found

    def sources(self) -> dict[str, Source]:
        """The sources of the model's numbers, by name."""
        return self.platform.sources_of(self.platform.steps_of(self.model), self.platform.models[self.model])

    def broken(self, point: Point) -> list[str]:
        """The limits that a mapping breaks, in words."""
        costs, changes = np.array([[point.time, point.energy]]), np.array([point.transitions])
        return [
            "latency" if one.name == "time" else one.name for one in fields(Limits)
            if not Limits(**{one.name: getattr(self.limits, one.name)}).kept(costs, changes)[0]
        ]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: the front, the sources of its numbers, and the chosen point."""
        return {
            "platform": self.platform.about, "model": self.model, "method": self.options.method,
            "exact": self.options.method == EXACT,
            "units": self.platform.units, "steps": list(next(iter(self.chains.values())).steps),
            "sources": {name: source.model_dump() for name, source in self.sources().items()},
            "front": [self._plain(point) for point in self.points],
            "chosen": self.chosen() if self.points else None,
            "nearest": None if self.nearest is None else self._plain(self.nearest),
            "alone": {f"{unit} {point.setting}": self._plain(point) for unit, point in self.alone()},
        }  # fmt: skip

    def _plain(self, point: Point) -> dict[str, Any]:
        return {
            "setting": point.setting, "time": point.time, "energy": point.energy,
            "latency_ms": self.milliseconds(point.time), "energy_mj": self.millijoules(point.energy),
            "power_w": self.watts(point), "transitions": point.transitions,
            "mapping": [self.platform.units[unit] for unit in point.mapping],
        }  # fmt: skip


def solve(platform: Platform, model: str, options: MapOptions | None = None) -> Answer:
    """The front of a platform's model. Raises UserError for unknown names."""
    options = options or MapOptions()
    settings = [options.setting] if options.setting is not None else platform.settings
    chains = {}
    for setting in settings:
        chain = platform.chain(model, options.granularity, setting)  # type: ignore[arg-type]
        chains[setting] = chain if options.shortcuts else chain.without_shortcuts()
    limits = _limits(platform, options)
    points = _united({setting: _front(chain, options, limits) for setting, chain in chains.items()})
    answer = Answer(platform, model, options, limits, chains, points, None)
    if points:
        return answer
    free = _united({setting: _front(chain, options, Limits()) for setting, chain in chains.items()})
    nearest = min(free, key=lambda point: _excess(point, limits))
    return Answer(platform, model, options, limits, chains, [], nearest)


def _front(chain: Chain, options: MapOptions, limits: Limits) -> Front:
    if options.method == EXACT or not chain.supported.any(axis=1).all():  # else there is nothing to search
        return exact_front(chain, limits)
    if options.method not in METHODS:
        raise UserError(f"unknown method {options.method!r}; known: {', '.join((EXACT, *BASELINES))}")
    return METHODS[options.method](chain, options.evaluations, np.random.default_rng(options.seed), limits)


def _united(fronts: dict[str, Front]) -> list[Point]:
    """The front of the settings' fronts."""
    points = [
        Point(setting, mapping, int(time), int(energy))
        for setting, front in fronts.items()
        for (time, energy), mapping in zip(front.costs, front.mappings, strict=True)
    ]  # fmt: skip
    costs: Integers = np.array([(point.time, point.energy) for point in points], np.int64).reshape(-1, 2)
    return [points[place] for place in front_of(costs)]


def _limits(platform: Platform, options: MapOptions) -> Limits:
    """The user's limits in the platform's integers, rounded down; decimal numbers are taken as they are written."""

    def of(value: float | None, unit: Fraction) -> int | None:
        return None if value is None else math.floor(Fraction(str(value)) / unit)

    time, energy = platform.time.factor, platform.energy.factor
    power = None if options.power_w is None else Fraction(str(options.power_w)) * 1000 * time / energy
    return Limits(
        of(options.latency_ms, time / 10**6), of(options.energy_mj, energy / 10**9), power, options.transitions
    )


def _excess(point: Point, limits: Limits) -> float:
    """The largest factor by which a mapping exceeds a limit."""
    pairs = [
        (point.time, limits.time), (point.energy, limits.energy), (point.transitions, limits.transitions),
        (point.energy / max(point.time, 1), limits.power),
    ]  # fmt: skip
    return max(float(value) / max(float(bound), 1e-9) for value, bound in pairs if bound is not None)
