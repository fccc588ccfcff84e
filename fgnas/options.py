"""Options as data: a field of a dataclass is an option of the command line, of Python, and a row of the docs."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from fgnas.errors import UserError

CONTROLLERS = ("warm", "conditioned", "masked", "paper")
"""Controllers of the method reinforce; the first is the default."""
CHECKPOINTS = ("accuracy", "loss")
"""Criteria for the epoch whose weights a training keeps, on the validation nodes; the first is the default."""


@dataclass(frozen=True)
class Kind:
    """A type of option: its name in messages, its parser, and the values it takes."""

    name: str
    parse: Callable[[str], Any] = str
    holds: Callable[[Any], bool] = lambda value: True
    otherwise: str = ""

    def checked(self, value: Any) -> Any:
        """The value. Raises ValueError where the option does not take it."""
        if not self.holds(value):
            raise ValueError(f"{value} {self.otherwise}")
        return value


TEXT = Kind("text")
FLAG = Kind("flag")
NATURAL = Kind("whole number", int, lambda value: value >= 0, "is below zero")
POSITIVE = Kind("whole number", int, lambda value: value >= 1, "is below one")
AT_LEAST_TWO = Kind("whole number", int, lambda value: value >= 2, "is below two")
ABOVE_ZERO = Kind("number", float, lambda value: 0 < value < math.inf, "is not above zero")
NOT_NEGATIVE = Kind("number", float, lambda value: 0 <= value < math.inf, "is below zero")
PERCENTAGE = Kind("number", float, lambda value: 0 <= value < 100, "is not from 0 to below 100")


def option(
    default: Any, text: str, kind: Kind = TEXT, metavar: str | None = None, choices: tuple[str, ...] | None = None
) -> Any:
    """A field that is an option: its default (None: no value), help, type, and the placeholder for its value."""
    metadata = {"help": text, "kind": kind, "metavar": metavar, "choices": choices}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class SearchOptions:
    """Options of every search. A system adds its own in a subclass.

    Attributes:
        SHAPES: names of the options that say what candidates there are.
        DRAWN: options of a draw without a search, where they are not the search's.
    """

    SHAPES: ClassVar[tuple[str, ...]] = (
        "dataset", "split", "normalise", "graphs", "space", "target", "dsp", "beat_bits",
    )  # fmt: skip
    DRAWN: ClassVar[dict[str, Any]] = {}

    method: str = option(
        "evolution",
        "the searcher: evolution, reinforce, random, disjoint, distinct, pool, nsga2, or an installed one",
        TEXT, "NAME",
    )  # fmt: skip
    controller: str = option(
        CONTROLLERS[0], f"how reinforce learns: {', '.join(CONTROLLERS)}", TEXT, "NAME", CONTROLLERS
    )
    weight: float | None = option(
        None, "lambda of pool: what each further objective counts beside the first; default: 0.05", NOT_NEGATIVE, "F"
    )
    children: int = option(500, "valid samples to evaluate, repeats included", POSITIVE, "N")
    trainings: int | None = option(None, "at most this many distinct trainings, whatever the children", POSITIVE, "N")
    distinct: bool | None = option(None, "no candidate is a child twice, whatever the searcher", FLAG)
    leaders: int = option(20, "distinct designs that are retrained at the end", POSITIVE, "N")
    retrain_seeds: int = option(5, "fresh seeds for each retraining", POSITIVE, "N")
    seed: int = option(0, "seed of all random numbers", NATURAL, "N")

    @classmethod
    def resolved(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Given options (None: not given) with shorthands for several options expanded.

        A controller is one of reinforce, so naming one chooses that searcher.
        """
        chosen = given.get("controller") is not None and given.get("method") is None
        return given | {"method": "reinforce"} if chosen else given

    @classmethod
    def unresolved(cls, options: dict[str, Any]) -> dict[str, Any]:
        """The command-line options that `resolved` turns into these."""
        return options


def spelt(name: str) -> str:
    """A field's name as an option: "--latency-ms"."""
    return f"--{name.replace('_', '-')}"


def option_fields(cls: type[Any], names: Iterable[str] | None = None) -> list[Any]:
    """The fields of a dataclass that are options, all or the named ones."""
    wanted = None if names is None else set(names)
    return [one for one in fields(cls) if "kind" in one.metadata and (wanted is None or one.name in wanted)]


def add_arguments(
    parser: argparse.ArgumentParser, cls: type[Any], names: Iterable[str] | None = None, defaults: bool = True
) -> None:
    """Add options to a parser. Each is None unless given; `defaults`: whether the help names the defaults."""
    for one in option_fields(cls, names):
        data = one.metadata
        text = data["help"].replace("%", "%%")
        if data["kind"] is FLAG:
            parser.add_argument(spelt(one.name), action="store_true", default=None, help=text)
            continue
        if defaults and one.default is not None:
            text += f"; default: {one.default}"
        parser.add_argument(
            spelt(one.name), type=parser_of(data["kind"]), metavar=data["metavar"], choices=data["choices"], help=text
        )


def parser_of(kind: Kind) -> Callable[[str], Any]:
    """A type for argparse, which names it in its message: "invalid whole number value"."""

    def parse(text: str) -> Any:
        value = kind.parse(text)
        try:
            return kind.checked(value)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    parse.__name__ = kind.name
    return parse


def chosen(namespace: argparse.Namespace, cls: type[Any], names: Iterable[str] | None = None) -> dict[str, Any]:
    """The options that a command line gives, by name."""
    found = {one.name: getattr(namespace, one.name) for one in option_fields(cls, names)}
    return {name: value for name, value in found.items() if value is not None}


def refuse(options: Any, names: Iterable[str], why: str) -> None:
    """Raise UserError for the first of these options that is given; `why` follows its name."""
    for name in names:
        if getattr(options, name) is not None:
            raise UserError(f"{spelt(name)} {why}")


def made(cls: type[Any], given: dict[str, Any]) -> Any:
    """The options, with defaults for those not given. Raises UserError for unknown names and wrong values."""
    known = {one.name: one for one in fields(cls)}
    for name, value in given.items():
        if name not in known:
            raise UserError(f"there is no option {name!r}; there are {', '.join(known)}")
        data = known[name].metadata
        if value is None or "kind" not in data or data["kind"] is FLAG:
            continue
        try:
            data["kind"].checked(value)
        except (TypeError, ValueError) as error:
            raise UserError(f"{spelt(name)}: {error}") from None
        if data["choices"] and value not in data["choices"]:
            raise UserError(f"unknown {name} {value!r}; known: {', '.join(data['choices'])}")
    return cls(**{name: value for name, value in given.items() if value is not None})


def table(cls: type[Any]) -> str:
    """The options as a table in Markdown: option, meaning, default. A default that follows from others is in words."""
    lines = ["| option | meaning | default |", "|---|---|---|"]
    for one in option_fields(cls):
        value = one.metadata["metavar"]
        shown = f"{spelt(one.name)} {value}" if value else spelt(one.name)
        meaning, _, words = one.metadata["help"].partition("; default: ")
        default = words if one.default in (None, False) else f"`{one.default}`"
        cells = (f"`{shown}`", meaning, default)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells).rstrip() + " |")
    return "\n".join(lines) + "\n"
