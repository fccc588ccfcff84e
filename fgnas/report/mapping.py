"""The page of a mapped network's project: which unit runs which steps, every start of an accelerator, the evidence."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fgnas.backends.project import MAPPING, MARK, read_specification
from fgnas.report.record import read_json
from fgnas.report.verification import RESOURCES


@dataclass(frozen=True)
class UnitStretch:
    """Consecutive steps on one unit; `colour` is the unit's number."""

    unit: str
    colour: int
    steps: int


@dataclass(frozen=True)
class Start:
    """A start of an accelerator: its cycles by the model and in the last simulation (None before one)."""

    step: str
    unit: str
    facts: str
    predicted: int
    simulated: int | None
    mismatches: int | None


@dataclass(frozen=True)
class UnitRow:
    """An accelerator: the folder of its project below the page, its clock in MHz, its starts, cycles and resources."""

    name: str
    clock_mhz: float
    starts: int
    cycles: int
    resources: list[float | None]

    @property
    def milliseconds(self) -> float:
        """Time of all its starts."""
        return self.cycles / self.clock_mhz / 1e3


@dataclass(frozen=True)
class MappingPage:
    """The content of the page. `val` is the validation accuracy of the network as it is mapped."""

    directory: str
    name: str
    val: float
    superblocks: list[dict[str, Any]]
    stretches: list[UnitStretch]
    starts: list[Start]
    units: list[UnitRow]
    resources: list[str]
    simulated: bool


def is_mapped(directory: Path) -> bool:
    """Whether a folder holds a mapped network, with a project for each of its accelerators."""
    return (directory / MAPPING).is_file()


def mapping_page(directory: Path) -> MappingPage:
    """The page of a folder. Raises UserError for a damaged one."""
    content = read_json(directory / MAPPING)
    report = directory / "report" / "sim.json"
    by_step = read_json(report)["by_step"] if report.is_file() else {}
    units = list(dict.fromkeys(content["units"]))
    return MappingPage(
        directory=str(directory),
        name=directory.resolve().name,
        val=content["val"],
        superblocks=read_json(directory / MARK)["superblocks"],
        stretches=[
            UnitStretch(unit, units.index(unit) % 5, len(list(steps)))
            for unit, steps in itertools.groupby(content["units"])
        ],
        starts=[start(call, by_step.get(call["step"], {})) for call in content["calls"]],
        units=[
            unit_row(directory / name, name, list(calls))
            for name, calls in itertools.groupby(
                sorted(content["calls"], key=lambda call: units.index(call["unit"])), lambda call: call["unit"]
            )
        ],
        resources=[label for _, label in RESOURCES],
        simulated=bool(by_step),
    )


def start(call: dict[str, Any], seen: dict[str, Any]) -> Start:
    """A call of mapping.json, with the figures of its simulation."""
    facts = f"{call['nodes']} nodes, {' → '.join(map(str, call['widths']))} features" if "widths" in call else ""
    if call.get("neighbours"):
        facts += f", {call['neighbours']} neighbour{'' if call['neighbours'] == 1 else 's'}"
    return Start(call["step"], call["unit"], facts, call["cycles"], seen.get("cycles"), seen.get("mismatches"))


def unit_row(folder: Path, name: str, calls: list[dict[str, Any]]) -> UnitRow:
    """An accelerator; resources are those of synthesis, where it has run."""
    price, synth = read_json(folder / "report" / "price.json"), folder / "report" / "synth.json"
    used = read_json(synth)["total"] if synth.is_file() else price
    return UnitRow(
        name, read_specification(folder).clock_mhz, len(calls), sum(call["cycles"] for call in calls),
        [used.get(key) for key, _ in RESOURCES],
    )  # fmt: skip
