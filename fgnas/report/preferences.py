"""The options that a search came to prefer: their shares early and late in it, compared with feasible draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.costs import feasible
from fgnas.engine.contracts import Composition
from fgnas.space import Decision, Rows

PARTS = 5
"""The search is split into this many equal parts; the first and the last one are compared."""
CHANCE_BATCH, CHANCE_KEPT, CHANCE_DRAWS = 1_000, 400, 100_000
"""Uniform draws in a batch; feasible draws to collect, which give a share to 2.5 points (one sigma) at worst; draws at
most, or five times those of a survey where it has fewer."""

Chance = Mapping[str, Sequence[float]]
"""Name of a decision -> share of each option among feasible draws."""


@dataclass(frozen=True)
class Option:
    """Shares of one option, 0 to 1, among candidates in which its decision has an effect; None if there are none."""

    value: Any
    uniform: float
    feasible: float | None
    first: float | None
    last: float | None


@dataclass(frozen=True)
class Preference:
    """One decision, and how far its shares moved: 0 for no change, 1 for only options that were never chosen before."""

    decision: Decision
    options: tuple[Option, ...]
    moved: float


def preferences(rows: Rows, decisions: Sequence[Decision], chance: Chance | None = None) -> list[Preference]:
    """Every decision that has an effect in some of the trials' rows [n, decisions], in the order of the space."""
    size = max(1, len(rows) // PARTS)
    found = []
    for column, decision in enumerate(decisions):
        if not (rows[:, column] >= 0).any():
            continue
        count = len(decision.options)
        early, late = (_shares(part[:, column], count) for part in (rows[:size], rows[-size:]))
        by_chance = (chance or {}).get(decision.name)
        options = tuple(
            Option(value, 1 / count, _at(by_chance, place), _at(early, place), _at(late, place))
            for place, value in enumerate(decision.options)
        )
        moved = 0.0 if early is None or late is None else sum(abs(a - b) for a, b in zip(early, late, strict=True)) / 2
        found.append(Preference(decision, options, moved))
    return found


def _shares(indices: NDArray[np.integer[Any]], count: int) -> list[float] | None:
    """Share of each of `count` options among the indices of one column; None if none has an effect."""
    taken = indices[indices >= 0]
    return (np.bincount(taken, minlength=count) / len(taken)).tolist() if len(taken) else None


def _at(shares: Sequence[float] | None, place: int) -> float | None:
    return None if shares is None else shares[place]


def feasible_shares(parts: Composition) -> Chance:
    """Shares of the options among uniform draws that keep the limits: the shares without preferences."""
    rng = np.random.default_rng(0)
    most = min(CHANCE_DRAWS, 5 * (parts.survey_draws or CHANCE_DRAWS))
    found: list[Rows] = []
    while len(found) * CHANCE_BATCH < most and sum(map(len, found)) < CHANCE_KEPT:
        rows = parts.space.draw(CHANCE_BATCH, rng)
        found.append(rows[feasible(parts.target.price(rows), parts.limits)])
    kept = np.concatenate(found)
    shares = {
        decision.name: _shares(kept[:, column], len(decision.options))
        for column, decision in enumerate(parts.space.decisions)
    }
    return {name: found for name, found in shares.items() if found is not None}
