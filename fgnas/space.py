"""Search spaces as data: choices by name, the layers they are made in, and the conditions for their effect.

A *row* holds the option index of every decision, -1 where a decision has no effect. `Space.columns` turns rows into
arrays of values, so that a target can price thousands of candidates without building one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from fgnas.errors import UserError

Rows = NDArray[np.int16]
"""[n, decisions] option indices, -1 where a decision has no effect."""
Columns = dict[str, list[NDArray[Any]]]
"""Choice name -> one array of values per layer; 0 or "" marks a choice without effect."""


@dataclass(frozen=True)
class Choice:
    """One row of a space's table.

    Attributes:
        name: unique in the space.
        options: the values to choose from.
        kind: which aspect of a candidate it changes, such as "architecture", "hardware" or "precision".
        where: the layers that make it: each, each but the last, or one choice for the whole design.
        only_if: (earlier choice of the same layer, or of the whole design, value) without which it has no effect.
        fastest, smallest: the options that complete a partial candidate fastest and smallest: an option, or "least"
            or "most" of a number. They bound what a partial candidate can still become.
        label: its name for people; by default the name itself.
    """

    name: str
    options: tuple[Any, ...]
    kind: str
    where: Literal["everywhere", "hidden", "design"] = "everywhere"
    only_if: tuple[str, Any] | None = None
    fastest: Any = "least"
    smallest: Any = "least"
    label: str = ""


@dataclass(frozen=True)
class Decision:
    """One choice at one position: a column of the rows, and a step of a controller.

    Attributes:
        name: for example "0.t_in", or "beats" for a decision of the whole design.
        choice: the name without the position.
        position: the layer; None for a decision of the whole design.
        options, kind: as in `Choice`.
        condition: (earlier column, option indices) without which this decision has no effect. No indices: it never has.
        fastest, smallest: option indices, as in `Choice`.
        label: name of the choice for people.
    """

    name: str
    choice: str
    position: int | None
    options: tuple[Any, ...]
    kind: str
    condition: tuple[int, tuple[int, ...]] | None = None
    fastest: int = 0
    smallest: int = 0
    label: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", self.label or self.choice.replace("_", " "))

    @property
    def possible(self) -> bool:
        """Whether the decision has an effect in any row."""
        return self.condition is None or bool(self.condition[1])

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, for a run's configuration and its page."""
        return {
            "name": self.name, "choice": self.choice, "position": self.position, "options": list(self.options),
            "kind": self.kind, "label": self.label,
        }  # fmt: skip


def offered(decisions: Sequence[Decision], rows: Rows, column: int) -> NDArray[np.bool_]:
    """[n] whether the decision `column` has an effect, given the columns before it."""
    condition = decisions[column].condition
    if condition is None:
        return np.ones(len(rows), bool)
    return np.isin(rows[:, condition[0]], condition[1])


@dataclass(frozen=True)
class Space:
    """A product of choices, each at every position where it is made."""

    name: str
    layers: int
    choices: tuple[Choice, ...]
    decisions: tuple[Decision, ...] = field(init=False)

    def __post_init__(self) -> None:
        decisions: list[Decision] = []
        for choice in self.choices:
            if choice.where == "design":
                decisions.append(_decision(choice, None, decisions))
        for layer in range(self.layers):
            for choice in self.choices:
                if choice.where == "everywhere" or (choice.where == "hidden" and layer < self.layers - 1):
                    decisions.append(_decision(choice, layer, decisions))
        object.__setattr__(self, "decisions", tuple(decisions))

    def restrict(self, **options: tuple[Any, ...]) -> Self:
        """The same space with other options for the named choices. Raises UserError for a name it does not have."""
        known = {choice.name for choice in self.choices}
        if unknown := sorted(set(options) - known):
            raise UserError(f"space {self.name} has no choice {unknown[0]}; it has {', '.join(sorted(known))}")
        choices = (replace(choice, options=options.get(choice.name, choice.options)) for choice in self.choices)
        return replace(self, choices=tuple(choices))

    def offered(self, rows: Rows, column: int) -> NDArray[np.bool_]:
        """[n] whether the decision `column` has an effect, given the columns before it."""
        return offered(self.decisions, rows, column)

    def repaired(self, rows: Rows) -> Rows:
        """Rows in which exactly the decisions with an effect are made.

        It repairs the rows of a mutation or a crossover: a decision that gained an effect takes its first option.
        """
        changed = rows.copy()
        for column, decision in enumerate(self.decisions):
            if decision.condition is not None:
                changed[:, column] = np.where(self.offered(changed, column), np.maximum(changed[:, column], 0), -1)
        return changed

    def draw(self, count: int, rng: np.random.Generator) -> Rows:
        """[count, decisions] rows, uniform over the options of every decision that has an effect."""
        rows = np.empty((count, len(self.decisions)), np.int16)
        for column, decision in enumerate(self.decisions):
            # Small integers: the generator's bits, and so every seed's draws, depend on the type.
            drawn = rng.integers(0, len(decision.options), count, dtype=np.int8)
            rows[:, column] = np.where(self.offered(rows, column), drawn, -1)
        return rows

    def columns(self, rows: Rows) -> Columns:
        """Arrays of values by choice and layer; a choice without effect is 0 (numbers) or "" (names)."""
        result: Columns = {}
        places = {(decision.choice, decision.position): column for column, decision in enumerate(self.decisions)}
        for choice in self.choices:
            numeric = isinstance(choice.options[0], int)
            absent: Any = 0 if numeric else ""
            values = np.array([*choice.options, absent], dtype=np.int64 if numeric else np.str_)
            positions = [None] if choice.where == "design" else range(self.layers)
            result[choice.name] = [
                values[rows[:, places[choice.name, position]]] if (choice.name, position) in places
                else np.full(len(rows), absent, values.dtype)
                for position in positions
            ]  # fmt: skip
        return result


def _decision(choice: Choice, layer: int | None, before: Sequence[Decision]) -> Decision:
    """A choice at a position, after the decisions `before`."""
    condition = None
    if choice.only_if is not None:
        name, value = choice.only_if
        column = [(decision.choice, decision.position) for decision in before].index((name, layer))
        condition = (column, tuple(i for i, option in enumerate(before[column].options) if option == value))
    name = choice.name if layer is None else f"{layer}.{choice.name}"
    fastest, smallest = (_index(choice.options, wanted) for wanted in (choice.fastest, choice.smallest))
    return Decision(
        name, choice.name, layer, choice.options, choice.kind, condition, fastest, smallest, choice.label
    )


def _index(options: tuple[Any, ...], wanted: Any) -> int:
    """The index of an option, or of the least or greatest one; 0 if it is not offered."""
    if wanted in options:
        return options.index(wanted)
    if not isinstance(options[0], int):
        return 0
    return int(np.argmax(options) if wanted == "most" else np.argmin(options))
