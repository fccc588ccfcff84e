"""Named quantities over many candidates at once: costs, scores, and the limits that costs must keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Costs = Mapping[str, NDArray[np.float64]]
"""Name of a cost -> its value for each of n candidates, [n]."""


@dataclass(frozen=True)
class Quantity:
    """A cost or a score, as store, front, page and tables know it.

    Attributes:
        name: its key in a trial.
        label: its name for people.
        unit: its unit, "" for a count. "share" means 0 to 1, shown as per cent.
        exact: whether hardware gives exactly this number.
        lower_is_better: True for costs, False for scores.
        scale: the factor from `unit` to `shown_unit`, such as from cycles to milliseconds.
        shown_unit: unit of the displayed value; "" if it is displayed unchanged.
    """

    name: str
    label: str
    unit: str = ""
    exact: bool = True
    lower_is_better: bool = True
    scale: float = 1.0
    shown_unit: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Limit:
    """An upper bound on a cost; the bound itself is allowed.

    Attributes:
        cost: name of the cost.
        bound: in the cost's unit.
        told: formats a violation, such as "lut 120 is over 100".
    """

    cost: str
    bound: float
    told: Callable[[float], str]


def excess(costs: Costs, limits: Sequence[Limit]) -> dict[str, NDArray[np.float64]]:
    """Value over bound by the name of each limited cost, [n]; a value above 1 breaks the limit."""
    return {limit.cost: costs[limit.cost] / max(limit.bound, 1e-9) for limit in limits}


def worst(costs: Costs, limits: Sequence[Limit]) -> NDArray[np.float64]:
    """[n] the largest value over bound among the limits; there must be at least one limit."""
    return np.max(np.stack(list(excess(costs, limits).values())), axis=0)


def feasible(costs: Costs, limits: Sequence[Limit]) -> NDArray[np.bool_]:
    """[n] whether every limit is kept."""
    kept = np.ones(len(next(iter(costs.values()))), bool)
    for limit in limits:
        kept &= costs[limit.cost] <= limit.bound
    return kept


def violations(costs: Costs, limits: Sequence[Limit], i: int = 0) -> list[str]:
    """One line for each limit that candidate i breaks."""
    return [limit.told(costs[limit.cost][i]) for limit in limits if costs[limit.cost][i] > limit.bound]


def whole(value: float) -> int | float:
    """A whole number as an integer, any other as a float: block RAMs come in halves."""
    return int(value) if value == int(value) else float(value)


def plain(costs: Costs, i: int) -> dict[str, int | float]:
    """The costs of candidate i as JSON values."""
    return {name: whole(values[i]) for name, values in costs.items()}
