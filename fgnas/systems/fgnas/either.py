"""The better of several kinds of hardware, for each architecture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fgnas.costs import Costs, Limit, feasible, worst
from fgnas.design import Design
from fgnas.engine.contracts import Target
from fgnas.space import Rows
from fgnas.systems.fgnas.solved import ArchitectureSpace, Narrows, first_least, lifted

ORDER = ("latency_cycles", "lut")
"""Costs that decide between hardware that keeps the limits."""


class OfArchitectures(Target, Protocol):
    """A target whose rows are architectures."""

    @property
    def space(self) -> ArchitectureSpace: ...

    @property
    def limits(self) -> tuple[Limit, ...]: ...

    @property
    def smaller(self) -> Narrows: ...


class EitherTarget:
    """Prices each architecture with the better hardware of several targets, which search the same architectures.

    The better keeps the limits, or comes nearest to them, then takes fewer cycles, then fewer LUTs; among equals it is
    the first. A cost that a kind of hardware does not have, such as a unit's table, counts as zero.
    """

    survey_draws: int | None = 2_000
    saved = ORDER[0]

    def __init__(self, targets: Sequence[OfArchitectures], limits: Sequence[Limit]) -> None:
        self.targets = tuple(targets)
        self.costs = tuple({cost.name: cost for one in targets for cost in one.costs}.values())
        self.limits = tuple({limit.cost: limit for one in targets for limit in one.limits}.values())
        self.every_limit = (*limits, *self.limits)
        self.space = ArchitectureSpace.of(targets[0].space, self)
        self.smaller = EitherNarrowed([one.smaller for one in targets])

    def price(self, rows: Rows) -> Costs:
        """Every cost of n architectures with the better hardware, [n] each."""
        costs, chosen = self._chosen(rows)
        every = np.arange(len(rows))
        return {name: values[chosen, every] for name, values in costs.items()}

    def design(self, architectures: ArchitectureSpace, row: NDArray[np.int16], dsp: int) -> Design:
        """The design with the better hardware of a row of `architectures`; `dsp` is a pipeline's budget."""
        own = lifted(self.space, architectures, row[None])
        _, chosen = self._chosen(own)
        return self.targets[chosen[0]].space.design(own[0], dsp)

    def _chosen(self, rows: Rows) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.int64]]:
        """[targets, n] each cost, and [n] the place of the better target."""
        priced = [one.price(rows) for one in self.targets]
        none = np.zeros(len(rows))
        costs = {cost.name: np.stack([one.get(cost.name, none) for one in priced]) for cost in self.costs}
        flat = {name: values.ravel() for name, values in costs.items()}
        excess = worst(flat, self.every_limit) if self.every_limit else np.zeros(len(self.targets) * len(rows))
        broken = np.where(feasible(flat, self.every_limit), 0.0, excess).reshape(len(self.targets), -1)
        return costs, first_least([broken, *(costs[name] for name in ORDER)])


class EitherNarrowed:
    """Smaller hardware of several kinds."""

    def __init__(self, kinds: Sequence[Narrows]) -> None:
        self.kinds, self.saved = tuple(kinds), kinds[0].saved

    def variants(self, row: NDArray[np.int16]) -> list[tuple[Design, dict[str, int | float]]]:
        """The designs of a row's architecture on every kind of hardware, with their costs."""
        return [found for one in self.kinds for found in one.variants(row)]
