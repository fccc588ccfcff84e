"""Search spaces as data: names, options, which layer, when a choice has an effect.

A *sample* is a row of option indices, one column per decision, -1 where a decision has no effect.
`columns` turns rows into arrays of values, which the hardware model prices without building designs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fgnas.design import Design, Layer
from fgnas.errors import UserError

Indices = NDArray[np.int8]
Columns = dict[str, list[NDArray[Any]]]
"""Field name -> one array of values per layer; 0 or "" stands for a choice without effect."""


@dataclass(frozen=True)
class Choice:
    """One row of the paper's Table II."""

    name: str
    options: tuple[Any, ...]
    kind: Literal["architecture", "hardware", "precision"]
    where: Literal["everywhere", "hidden"] = "everywhere"
    only_if: tuple[str, Any] | None = None
    """(earlier choice of the same layer, value) without which this one has no effect."""


@dataclass(frozen=True)
class Decision:
    """One choice in one layer: a step of the controller."""

    layer: int
    choice: Choice
    depends_on: int | None
    """Column of the decision that `choice.only_if` names."""

    @property
    def name(self) -> str:
        """For example "0.t_in"."""
        return f"{self.layer}.{self.choice.name}"


@dataclass(frozen=True)
class Space:
    """A product of choices, each in every layer where it has an effect."""

    name: str
    layers: int
    choices: tuple[Choice, ...]
    decisions: tuple[Decision, ...] = field(init=False)

    def __post_init__(self) -> None:
        decisions: list[Decision] = []
        for layer in range(self.layers):
            for choice in self.choices:
                if choice.where == "hidden" and layer == self.layers - 1:
                    continue
                depends = None
                if choice.only_if is not None:
                    names = [(decision.layer, decision.choice.name) for decision in decisions]
                    depends = names.index((layer, choice.only_if[0]))
                decisions.append(Decision(layer, choice, depends))
        object.__setattr__(self, "decisions", tuple(decisions))

    def restrict(self, **options: tuple[Any, ...]) -> Space:
        """The same space with fewer options for the named choices."""
        known = {choice.name for choice in self.choices}
        if unknown := sorted(set(options) - known):
            raise UserError(f"space {self.name} has no choice {unknown[0]}; it has {', '.join(sorted(known))}")
        choices = tuple(
            Choice(c.name, options.get(c.name, c.options), c.kind, c.where, c.only_if) for c in self.choices
        )
        return Space(self.name, self.layers, choices)

    def offered(self, indices: Indices, column: int) -> NDArray[np.bool_]:
        """Rows [n] in which the decision `column` has an effect, given the columns before it."""
        decision = self.decisions[column]
        if decision.depends_on is None:
            return np.ones(len(indices), bool)
        assert decision.choice.only_if is not None
        options = self.decisions[decision.depends_on].choice.options
        wanted = decision.choice.only_if[1]
        if wanted not in options:
            return np.zeros(len(indices), bool)
        return indices[:, decision.depends_on] == options.index(wanted)

    def repaired(self, indices: Indices, column: int, option: int) -> Indices:
        """Rows [n] with one choice made anew; what thereby gains an effect takes its first option, or loses it."""
        changed = indices.copy()
        changed[:, column] = option
        for place, decision in enumerate(self.decisions):
            if decision.depends_on is not None:
                changed[:, place] = np.where(self.offered(changed, place), np.maximum(changed[:, place], 0), -1)
        return changed

    def draw(self, count: int, rng: np.random.Generator) -> Indices:
        """[count, decisions] rows, uniform per offered choice."""
        indices = np.empty((count, len(self.decisions)), np.int8)
        for column, decision in enumerate(self.decisions):
            drawn = rng.integers(0, len(decision.choice.options), count, dtype=np.int8)
            indices[:, column] = np.where(self.offered(indices, column), drawn, -1)
        return indices

    def columns(self, indices: Indices) -> Columns:
        """Arrays of values, by field name and layer; absent choices are 0 (numbers) or "" (names)."""
        result: Columns = {}
        for choice in self.choices:
            numeric = isinstance(choice.options[0], int)
            absent: Any = 0 if numeric else ""
            values = np.array([*choice.options, absent], dtype=np.int64 if numeric else np.str_)
            result[choice.name] = [np.full(len(indices), absent, values.dtype) for _ in range(self.layers)]
            for column, decision in enumerate(self.decisions):
                if decision.choice is choice:
                    result[choice.name][decision.layer] = values[indices[:, column]]
        return result

    def design(self, row: NDArray[np.int8], dsp: int) -> Design:
        """The design of one row, with the DSP budget of its multipliers."""
        layers: list[dict[str, Any]] = [dict.fromkeys(Layer.model_fields) for _ in range(self.layers)]
        for index, decision in zip(row.tolist(), self.decisions, strict=True):
            if index >= 0:
                layers[decision.layer][decision.choice.name] = decision.choice.options[index]
        return Design(schema=1, layers=tuple(Layer(**layer) for layer in layers), dsp=dsp)


def columns_of(designs: list[Design]) -> Columns:
    """The columns of designs with equally many layers, as `Space.columns` gives them."""
    fields: Mapping[str, Any] = Layer.model_fields
    result: Columns = {}
    for name in fields:
        text = name in ("attention", "aggregation", "activation")
        absent: Any = "" if text else 0
        result[name] = []
        for layer in range(len(designs[0].layers)):
            values = [getattr(design.layers[layer], name) for design in designs]
            array = [absent if value is None else value for value in values]
            result[name].append(np.array(array, np.str_ if text else np.int64))
    return result


FRACTION_BITS = (0, 1, 2, 3, 4, 5, 6)

TABLE_II = (
    Choice("attention", ("constant", "gat", "gcn"), "architecture"),
    Choice("aggregation", ("add", "max", "mean"), "architecture"),
    Choice("k", (1, 2, 4, 8, 16), "architecture"),
    Choice("d", (4, 8, 12, 16, 32, 64), "architecture", where="hidden"),
    Choice("activation", ("relu", "tanh", "sigmoid", "elu"), "architecture", where="hidden"),
    Choice("t_in", (1, 2, 3, 4, 5), "hardware"),
    Choice("t_out", (1, 2, 3, 4, 5), "hardware"),
    Choice("t_attn", (1, 2, 4, 8), "hardware", only_if=("attention", "gat")),
    Choice("t_aggr", (1, 2, 4, 8), "hardware"),
    Choice("t_act", (1, 2, 3, 4, 5), "hardware", where="hidden"),
    Choice("ai", (1, 2, 3), "precision"),
    Choice("af", FRACTION_BITS, "precision"),
    Choice("wi", (1, 2, 3), "precision"),
    Choice("wf", FRACTION_BITS, "precision"),
)
"""The FGNAS paper's Table II; attn, aggr and act are spelt out."""


def fgnas_space(layers: int = 2) -> Space:
    """The paper's space; it stays at two layers."""
    return Space("fgnas", layers, TABLE_II)


SPACES: dict[str, Callable[[int], Space]] = {"fgnas": fgnas_space}


def find_space(name: str, layers: int = 2) -> Space:
    """A space by name, or UserError."""
    if name not in SPACES:
        raise UserError(f"unknown space {name!r}; known: {', '.join(sorted(SPACES))}")
    return SPACES[name](layers)
