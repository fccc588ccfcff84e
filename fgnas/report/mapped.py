"""The front of a run that maps its candidates to units: three projections, and the chain of each mapping."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fgnas.costs import Quantity
from fgnas.report import axis
from fgnas.report.axis import Axis
from fgnas.report.chart import Frame

SHOWN = 40
"""Most mappings whose chains the page holds."""
LATENCY, ENERGY = Quantity("latency_ms", "Latency", "ms"), Quantity("energy_mj", "Energy", "mJ")


@dataclass(frozen=True)
class Stretch:
    """Consecutive steps on one unit, with their time and energy; `colour` is the unit's number."""

    unit: str
    colour: int
    steps: list[str]
    latency_ms: float
    energy_mj: float


@dataclass(frozen=True)
class Member:
    """A mapping on the front, and its chain."""

    number: int
    design_hash: str
    setting: str
    score: float
    latency_ms: float
    energy_mj: float
    chain: list[Stretch]

    @property
    def transitions(self) -> int:
        """Changes of unit."""
        return len(self.chain) - 1


@dataclass(frozen=True)
class Projection:
    """Two of the three objectives of every mapping: a point each."""

    title: str
    frame: Frame
    points: list[tuple[float, float]]


@dataclass(frozen=True)
class MappedFront:
    """The front. `members` are all mappings, `shown` the numbers of those with a chain on the page."""

    units: list[str]
    projections: list[Projection]
    members: list[Member]
    shown: list[int]

    @property
    def has_energy(self) -> bool:
        """Whether the platform states energy."""
        return len(self.projections) > 1


def mapped_front(content: Sequence[dict[str, Any]], score: Quantity, score_axis: Axis, label: Any) -> MappedFront:
    """The front from the content of mappings.json; without energy it has one projection.

    `label` makes the text of a number on an axis.
    """
    units = list(dict.fromkeys(step["unit"] for one in content for step in one["chain"]))
    members = [_member(number, one, score, units) for number, one in enumerate(content)]
    axes = {score.label: score_axis}
    for cost in (LATENCY, ENERGY):
        values = [one[cost.name] for one in content]
        if any(values):
            axes[cost.label] = axis.costs(f"{cost.label} ({cost.unit})", values, None, label)
    named = {score.label: [one.score for one in members], LATENCY.label: [one.latency_ms for one in members],
             ENERGY.label: [one.energy_mj for one in members]}  # fmt: skip
    projections = []
    for upwards, across in itertools.combinations(axes, 2):
        frame = Frame(axes[across], axes[upwards], top=28)
        points = [frame.at(x, y) for x, y in zip(named[across], named[upwards], strict=True)]
        projections.append(Projection(f"{upwards} against {across}", frame, points))
    return MappedFront(units, projections, members, _spread(len(members)))


def _spread(count: int) -> list[int]:
    """At most SHOWN places of `count`, spread evenly, with the first and the last."""
    if count <= SHOWN:
        return list(range(count))
    return sorted({round(place * (count - 1) / (SHOWN - 1)) for place in range(SHOWN)})


def _member(number: int, content: dict[str, Any], score: Quantity, units: list[str]) -> Member:
    chain = []
    for unit, steps in itertools.groupby(content["chain"], key=lambda step: step["unit"]):
        held = list(steps)
        spent = [sum(step[cost.name] for step in held) for cost in (LATENCY, ENERGY)]
        chain.append(Stretch(unit, units.index(unit) % 5, [step["step"] for step in held], spent[0], spent[1]))
    return Member(
        number, content["design_hash"], content["setting"], content[score.name], content["latency_ms"],
        content["energy_mj"], chain,
    )  # fmt: skip
