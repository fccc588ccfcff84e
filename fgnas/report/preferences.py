"""Which options a search came to prefer: shares early and late in it, beside those of chance alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fgnas.hardware.pipeline.pricing import Pricer, Specification
from fgnas.space import Rows, Space

PARTS = 5
"""The search is split into this many equal parts, of which the first and the last are compared."""
CHANCE_DRAWS, CHANCE_KEPT = 20_000, 1_000
"""Uniform draws at once, up to five times, until so many of them keep the specification."""

Chance = Mapping[tuple[int, str], Mapping[Any, float]]
"""(layer, choice) -> option -> share."""


@dataclass(frozen=True)
class Option:
    """Shares of one option, 0 to 1, of the designs in which its choice has an effect; None where there are none."""

    value: Any
    uniform: float
    feasible: float | None
    first: float | None
    last: float | None


@dataclass(frozen=True)
class Preference:
    """One choice of one layer, and how far its shares moved: 0 nothing, 1 to options that were never taken before."""

    layer: int
    choice: str
    options: tuple[Option, ...]
    moved: float


def preferences(
    trials: Sequence[dict[str, Any]], choices: Mapping[str, Sequence[Any]], chance: Chance | None = None
) -> list[Preference]:
    """Every choice of every layer that has an effect in some trial, in the order of the space.

    `choices` are the options by name; `chance` the shares among uniform draws that keep the specification.
    """
    if not trials:
        return []
    size = max(1, len(trials) // PARTS)
    first, last = trials[:size], trials[-size:]
    found = []
    for layer in range(len(trials[0]["design"]["layers"])):
        for name, options in choices.items():
            if all(trial["design"]["layers"][layer][name] is None for trial in trials):
                continue
            early, late = _shares(first, layer, name), _shares(last, layer, name)
            known = (chance or {}).get((layer, name), {})
            rows = tuple(
                Option(option, 1 / len(options), known.get(option), _share(early, option), _share(late, option))
                for option in options
            )
            moved = sum(abs(row.last - row.first) for row in rows if row.last is not None and row.first is not None)
            found.append(Preference(layer, name, rows, moved / 2))
    return found


def _shares(trials: Sequence[dict[str, Any]], layer: int, name: str) -> dict[Any, float] | None:
    values = [trial["design"]["layers"][layer][name] for trial in trials]
    values = [value for value in values if value is not None]
    return {value: values.count(value) / len(values) for value in set(values)} if values else None


def _share(shares: Mapping[Any, float] | None, option: Any) -> float | None:
    return None if shares is None else shares.get(option, 0.0)


def feasible_shares(space: Space, pricer: Pricer, specification: Specification, dsp: int) -> Chance:
    """Shares of the options among uniform draws that keep the specification: what no preference leads to."""
    rng = np.random.default_rng(0)
    parts: list[Rows] = []
    while len(parts) < 5 and sum(len(part) for part in parts) < CHANCE_KEPT:
        samples = space.draw(CHANCE_DRAWS, rng)
        parts.append(samples[pricer.price(space.columns(samples), dsp).feasible(specification)])
    kept = np.concatenate(parts)
    found: dict[tuple[int, str], dict[Any, float]] = {}
    for column, decision in enumerate(space.decisions):
        taken = kept[kept[:, column] >= 0, column]
        counts = np.bincount(taken, minlength=len(decision.options))
        if len(taken):
            shares = (counts / len(taken)).tolist()
            found[decision.position or 0, decision.choice] = dict(zip(decision.options, shares, strict=True))
    return found
