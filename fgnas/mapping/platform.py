"""A platform: compute units, and what every step costs on each of them, read from one TOML file.

docs/mapping.md explains the format. Every number names its source, and every table of results repeats it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from fgnas.errors import UserError
from fgnas.files import read_text
from fgnas.mapping.chain import NO_SHORTCUT, Chain
from fgnas.mapping.options import SHIPPED, shipped

Kind = Literal["published", "reconstructed", "computed", "measured", "exact", "assumed"]
Granularity = Literal["block", "layer"]
Pair = tuple[int, int]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _pair(value: Any) -> Any:
    """TOML has arrays where this module has pairs."""
    return tuple(value) if isinstance(value, list) else value


Cost = Annotated[Pair, BeforeValidator(_pair)]
"""Time and energy in the platform's integers."""
Crossing = Annotated[tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]], BeforeValidator(_pair)]


class Source(_Strict):
    """Where numbers come from."""

    kind: Kind
    about: str


class Scale(_Strict):
    """The unit that integers count, as a multiple of a nanosecond or a picojoule, written as a decimal number."""

    unit: str
    times: str = "1"
    source: str | None = None

    @property
    def factor(self) -> Fraction:
        """Nanoseconds or picojoules of one."""
        return Fraction(self.times)

    @model_validator(mode="after")
    def _check(self) -> Self:
        try:
            positive = self.factor > 0
        except (ValueError, ZeroDivisionError):
            positive = False
        if not positive:
            raise ValueError(f"times must be a number above 0 in quotes, not {self.times!r}")
        return self


class Ability(_Strict):
    """The cost of a step on a unit, by setting where settings differ."""

    source: str
    cost: Cost | None = None
    at: dict[str, Cost] = {}

    def cost_at(self, setting: str) -> Pair | None:
        """The cost at a setting; None where the step is not supported."""
        return self.at.get(setting, self.cost)


def _parts(value: Any) -> Any:
    """A single part may be written without its list."""
    return tuple(value) if isinstance(value, list) else (value,)


Abilities = Annotated[tuple[Ability, ...], BeforeValidator(_parts), Field(min_length=1)]
"""The cost on a unit as a sum of parts, each with a source of its own."""


def _sum_at(parts: Iterable[Ability], setting: str) -> Pair | None:
    """The cost of all parts at a setting; None where one of them is not supported."""
    found = [part.cost_at(setting) for part in parts]
    known = [pair for pair in found if pair is not None]
    return (sum(time for time, _ in known), sum(energy for _, energy in known)) if len(known) == len(found) else None


class Step(_Strict):
    """A kind of step: the units that support it, and the elements of its output."""

    elements: Annotated[int, Field(ge=0)] = 0
    on: dict[str, Abilities]


class Together(_Strict):
    """Consecutive steps that make a whole block, and what they cost on units that run them as one."""

    steps: Annotated[tuple[str, ...], BeforeValidator(_pair), Field(min_length=2)]
    on: dict[str, Abilities]


class Transfer(_Strict):
    """The cost of moving a tensor in one direction: a constant, and a part that grows with its elements."""

    source: str
    cost: Crossing = (0, 0)
    elements_per_time: Annotated[int, Field(gt=0)] | None = None
    energy_per_element: Annotated[int, Field(ge=0)] = 0

    def of(self, elements: int) -> Pair:
        """Time and energy of a tensor."""
        time = 0 if self.elements_per_time is None else -(-elements // self.elements_per_time)
        return self.cost[0] + time, self.cost[1] + elements * self.energy_per_element


class Transition(_Strict):
    """Moves between units through main memory: a unit sends, another one receives."""

    send: Transfer
    receive: Transfer


class Group(_Strict):
    """Steps that repeat, or that block-wise mapping keeps together."""

    steps: list[str | Group]
    repeat: Annotated[int, Field(ge=1)] = 1
    block: str | None = None
    shortcut: bool = False


class Offset(_Strict):
    """A cost of a whole model whatever its mapping."""

    cost: Cost
    source: str


class Model(_Strict):
    """A network of known steps.

    Attributes:
        whole: {unit that runs all of it in one start: cost of the start}.
    """

    about: str
    steps: list[str | Group]
    offset: Offset | None = None
    whole: dict[str, Abilities] = {}


class Start(_Strict):
    """The cost of one start of a unit that runs whole networks, apart from the time of the unit itself.

    Attributes:
        parts: costs of the processor.
        power: energy, in the platform's integers, of all units in a million of its integers of time while this one
            works.
        source: origin of the time of the unit itself.
    """

    parts: Abilities
    power: Annotated[int, Field(ge=0)] = 0
    source: str

    def taking(self, time: int) -> tuple[Ability, ...]:
        """All parts of the cost of a start in which the unit works for so long."""
        return (*self.parts, Ability(source=self.source, cost=(time, -(-time * self.power // 10**6))))


class Platform(_Strict):
    """Units, steps and transitions of a platform, and the networks that it names.

    Attributes:
        together: steps that a unit runs as one, where blocks are mapped: in place of the sum of their costs.
        starts: by unit that runs whole networks and no single step.
        builds: by unit, what its hardware is built from; mapping reads none of it.
        complete: whether any chain of its steps can be mapped; if not, only its models.
    """

    about: str
    units: list[str]
    time: Scale
    energy: Scale
    sources: dict[str, Source]
    steps: dict[str, Step]
    together: tuple[Together, ...] = Field(default=(), strict=False)
    starts: dict[str, Start] = {}
    transition: Transition
    transitions: dict[str, Transition] = {}
    models: dict[str, Model] = {}
    settings: list[str] = ["default"]
    builds: dict[str, dict[str, str | int | float]] = {}
    complete: bool = True

    @model_validator(mode="after")
    def _check(self) -> Self:
        for fault in self._faults():
            raise ValueError(fault)
        return self

    def _faults(self) -> Iterator[str]:
        """Names that are used and not defined."""
        for name in self._sources():
            if name not in self.sources:
                yield f"the source {name!r} is not in [sources]"
        named = [*((f"step {name!r}", step.on) for name, step in self.steps.items())]
        named += [(f"[[together]] of {', '.join(one.steps)}", one.on) for one in self.together]
        named += [(f"[models.{name}.whole]", model.whole) for name, model in self.models.items()]
        for what, on in named:
            for unit in sorted({*on} - {*self.units}):
                yield f"{what} names the unit {unit!r}, which is not one of {', '.join(self.units)}"
            for setting in sorted({setting for parts in on.values() for part in parts for setting in part.at}):
                if setting not in self.settings:
                    yield f"{what} names the setting {setting!r}, which is not one of {', '.join(self.settings)}"
        for missing in (step for one in self.together for step in one.steps if step not in self.steps):
            yield f"[[together]] names the step {missing!r}, which is not in [steps]"
        for unit in sorted({*self.transitions} - {*self.units}):
            yield f"[transitions.{unit}] is of no unit: they are {', '.join(self.units)}"
        for unit in sorted({*self.starts} - {*self.units}):
            yield f"[starts.{unit}] is of no unit: they are {', '.join(self.units)}"
        whole = {*self.starts}.union(*(model.whole for model in self.models.values()))
        for name, unit in ((name, unit) for name, step in self.steps.items() for unit in step.on if unit in whole):
            yield f"step {name!r} is one of {unit!r}, which runs whole networks"
        for unit in sorted({*self.builds} - {*self.units}):
            yield f"[builds.{unit}] is of no unit: they are {', '.join(self.units)}"
        for name, model in self.models.items():
            for layer in _layers(model.steps):
                if layer.step not in self.steps:
                    yield f"model {name!r} has the step {layer.step!r}, which is not in [steps]"

    def _sources(self) -> set[str]:
        """The sources that numbers name."""
        found = {scale.source for scale in (self.time, self.energy) if scale.source is not None}
        found |= {part.source for part in self._abilities()}
        found |= {one.source for one in self.starts.values()}
        found |= {
            move.source for one in (self.transition, *self.transitions.values()) for move in (one.send, one.receive)
        }
        return found | {model.offset.source for model in self.models.values() if model.offset is not None}

    def _abilities(self, names: Iterable[str] | None = None) -> Iterator[Ability]:
        """The costs of all steps, or of those named, alone and together."""
        wanted = {*self.steps} if names is None else {*names}
        stated = [step.on for name, step in self.steps.items() if name in wanted]
        stated += [one.on for one in self.together if wanted.issuperset(one.steps)]
        if names is None:
            stated += [{unit: one.parts for unit, one in self.starts.items()}]
            stated += [model.whole for model in self.models.values()]
        return (part for on in stated for parts in on.values() for part in parts)

    def sources_of(self, names: Iterable[str], model: Model | None = None) -> dict[str, Source]:
        """The sources of a network's numbers by name: those of its steps, of the transitions and of the scales."""
        used = {part.source for part in self._abilities(names)}
        moves = [self.transitions.get(unit, self.transition) for unit in self.units]
        used |= {move.source for one in moves for move in (one.send, one.receive)}
        used |= {scale.source for scale in (self.time, self.energy) if scale.source is not None}
        if model is not None:
            used |= {model.offset.source} if model.offset is not None else set()
            used |= {part.source for parts in model.whole.values() for part in parts}
        return {name: self.sources[name] for name in sorted(used)}

    @property
    def states_energy(self) -> bool:
        """Whether any step costs energy on any unit at any setting."""
        stated = (cost[1] for one in self._abilities() for cost in (one.cost or (0, 0), *one.at.values()))
        return any(stated) or any(one.power for one in self.starts.values())

    def supports(self, steps: tuple[str, ...], setting: str | None = None) -> bool:
        """Whether some unit runs these consecutive steps, each alone or all together."""
        known = all(step in self.steps for step in steps)
        setting = setting or self.settings[0]
        return known and any(self._cost(steps, unit, setting) is not None for unit in self.units)

    def with_model(
        self, name: str, about: str, steps: list[Any], whole: dict[str, tuple[Ability, ...]] | None = None
    ) -> Platform:
        """The platform with one more network: its steps as in the file, and the costs of units that run all of it.

        Raises UserError where the platform's numbers identify no other network, or lack a step.
        """
        if not self.complete:
            raise UserError(f"{self.about}: its numbers identify no other networks than {', '.join(self.models)}")
        model = Model.model_validate({"about": about, "steps": steps}).model_copy(update={"whole": whole or {}})
        if unknown := [layer.step for layer in _layers(model.steps) if layer.step not in self.steps]:
            raise UserError(f"the platform has no step {unknown[0]!r}: it has {', '.join(self.steps)}")
        return self.model_copy(update={"models": {**self.models, name: model}})

    def chain(self, model: str, granularity: Granularity = "block", setting: str | None = None) -> Chain:
        """A model's steps with their costs at a setting, the first one by default.

        Raises UserError for an unknown model or setting, and where no unit supports a step.
        """
        if model not in self.models:
            rest = "" if self.complete else "; its numbers identify no other network"
            raise UserError(f"the platform has no model {model!r}: it has {', '.join(self.models) or 'none'}{rest}")
        setting = setting or self.settings[0]
        if setting not in self.settings:
            raise UserError(f"the platform has no setting {setting!r}: it has {', '.join(self.settings)}")
        found = self.models[model]
        offset = (0, 0) if found.offset is None else found.offset.cost
        costs = {unit: _sum_at(parts, setting) for unit, parts in found.whole.items()}
        whole = {self.units.index(unit): cost for unit, cost in costs.items() if cost is not None}
        return self._chain(list(_layers(found.steps)), granularity, setting, offset, whole)

    def _chain(
        self, layers: list[_Layer], granularity: Granularity, setting: str, offset: Pair, whole: dict[int, Pair]
    ) -> Chain:
        parts = _blocks(layers) if granularity == "block" else [[layer] for layer in layers]
        n, m = len(parts), len(self.units)
        cost, supported = np.zeros((n, m, 2), np.int64), np.ones((n, m), bool)
        send, receive = np.zeros((n, m, 2), np.int64), np.zeros((n, m, 2), np.int64)
        for row, part in enumerate(parts):
            for column, unit in enumerate(self.units):
                found = self._cost(tuple(layer.step for layer in part), unit, setting)
                move = self.transitions.get(unit, self.transition)
                send[row, column] = move.send.of(self.steps[part[-1].step].elements)
                receive[row, column] = move.receive.of(self.steps[parts[row - 1][-1].step].elements) if row else (0, 0)
                supported[row, column] = found is not None
                cost[row, column] = found or (0, 0)
            if not (supported[row].any() or whole):
                raise UserError(f"no unit of the platform supports {part[0].name!r} at the setting {setting!r}")
        row_of = {layer.place: row for row, part in enumerate(parts) for layer in part}
        shortcut = np.full(n, NO_SHORTCUT)
        for row, part in enumerate(parts):
            begin = part[-1].reads
            # A part that holds the whole block already receives the block's input.
            if begin is not None and begin > 0 and row_of[begin] < row:
                shortcut[row] = row_of[begin] - 1
        names = tuple(part[0].block or part[0].name if granularity == "block" else part[0].name for part in parts)
        return Chain(names, tuple(self.units), cost, supported, send, receive, shortcut,
                     np.array(offset, np.int64), whole)  # fmt: skip

    def _cost(self, steps: tuple[str, ...], unit: str, setting: str) -> Pair | None:
        """The cost of consecutive steps on a unit: what is stated for them together, or else the sum."""
        for one in self.together:
            if one.steps == steps and unit in one.on:
                return _sum_at(one.on[unit], setting)
        stated = [self.steps[step].on.get(unit) for step in steps]
        if any(parts is None for parts in stated):
            return None
        return _sum_at((part for parts in stated if parts for part in parts), setting)

    def steps_of(self, model: str) -> list[str]:
        """The kinds of steps of a model, in order."""
        return [layer.step for layer in _layers(self.models[model].steps)]


class _Layer(_Strict):
    """A step of a network: its kind, its name, its block if it has one, and the first step of the block it closes."""

    step: str
    place: int
    block: str | None = None
    reads: int | None = None

    @property
    def name(self) -> str:
        return f"{self.block} {self.step}" if self.block and self.block != self.step else self.step


def _layers(items: list[str | Group], block: str | None = None, start: int = 0) -> Iterator[_Layer]:
    """The steps of a network in order, groups expanded; a repeated block is numbered from 1."""
    place = start
    for item in items:
        if isinstance(item, str):
            yield _Layer(step=item, place=place, block=block)
            place += 1
            continue
        for turn in range(item.repeat):
            name = item.block and (f"{item.block} {turn + 1}" if item.repeat > 1 else item.block)
            inner = list(_layers(item.steps, name or block, place))
            if item.shortcut:
                inner[-1] = inner[-1].model_copy(update={"reads": place})
            yield from inner
            place += len(inner)


def _blocks(layers: list[_Layer]) -> list[list[_Layer]]:
    """Consecutive steps of one block together; a step without a block alone."""
    parts: list[list[_Layer]] = []
    for layer in layers:
        if parts and layer.block is not None and parts[-1][0].block == layer.block:
            parts[-1].append(layer)
        else:
            parts.append([layer])
    return parts


def find_platform(name: str) -> Platform:
    """A shipped platform by name, or the one in a .toml file. Raises UserError where it is unknown or wrong."""
    path = Path(name) if name.endswith(".toml") else SHIPPED / f"{name}.toml"
    if not name.endswith(".toml") and name not in shipped():
        raise UserError(f"unknown platform {name!r}; known: {', '.join(shipped())}; or name a .toml file of your own")
    try:
        table = tomllib.loads(read_text(path, "platform"))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: not TOML ({error})") from None
    try:
        return Platform.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"] if not str(part).startswith(("function-", "tuple[")))
        raise UserError(
            f"{path}: {place + ': ' if place else ''}{first['msg'].removeprefix('Value error, ')}"
        ) from None
