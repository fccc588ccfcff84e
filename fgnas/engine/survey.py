"""The survey before a search: the feasible share of uniform draws, the binding limit, and some feasible rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fgnas.costs import Costs, Limit, excess, feasible, violations, worst
from fgnas.engine.contracts import Space, Target
from fgnas.errors import UserError
from fgnas.space import Rows

SURVEY_DRAWS = 100_000
MAX_FRUITLESS_DRAWS = 200_000
"""Rows drawn without a feasible one before a search gives up. A share of 0.005 % is found with probability 99.995 %."""
KNOWN = 256
"""Feasible rows that a survey passes on to a searcher."""
ENOUGH = KNOWN
"""Feasible rows after which a survey ends: they give the feasible share to a fifth of itself (three sigma)."""
DESCENTS = 4
"""Nearest rows of each batch of a fruitless survey that are improved."""


class Nearest:
    """The infeasible candidate that comes nearest to keeping every limit, judged by its worst one."""

    def __init__(self, limits: tuple[Limit, ...]) -> None:
        self.limits = limits
        self.excess = np.inf
        self.violation = ""

    def see(self, costs: Costs) -> None:
        """Take in candidates, none of which is feasible."""
        most = worst(costs, self.limits)
        if most.min() < self.excess:
            row = int(most.argmin())
            self.excess = float(most[row])
            broken = [values[row] for values in excess(costs, self.limits).values() if values[row] > 1]
            self.violation = violations(costs, self.limits, row)[int(np.argmax(broken))]

    def __str__(self) -> str:
        return f"in the nearest one {self.violation} (by {self.excess - 1:.1%}); relax that constraint"


@dataclass(frozen=True, eq=False)
class Survey:
    """The result of pricing uniform draws.

    Attributes:
        draws: how many there were.
        share: feasible share of them.
        holds: share in which each limit holds by itself, by cost.
        binding: the cost whose limit holds least often; None without limits.
        found: [n, decisions] every feasible row found, at least one.
    """

    draws: int
    share: float
    holds: dict[str, float]
    binding: str | None
    found: Rows

    @property
    def known(self) -> Rows:
        """The first `KNOWN` feasible rows."""
        return self.found[:KNOWN]

    def __str__(self) -> str:
        binding = "none" if self.binding is None else f"{self.binding} (holds in {self.holds[self.binding]:.3%})"
        beside = "" if self.share else " (but some were found by improving the nearest)"
        return f"feasible {self.share:.3%} of {self.draws:,} uniform draws{beside}; binding constraint {binding}"


def survey(space: Space, target: Target, limits: tuple[Limit, ...], draws: int | None = None) -> Survey:
    """Price uniform draws, `SURVEY_DRAWS` by default, in batches of a fifth, until `ENOUGH` are feasible.

    If none of twice as many is feasible, the nearest ones are improved.
    Raises UserError if that finds no feasible row either.
    """
    rng = np.random.default_rng(0)
    held = {limit.cost: 0 for limit in limits}
    known: list[Rows] = []
    nearest = space.draw(0, rng)
    drawn = kept = 0
    wanted = draws or SURVEY_DRAWS
    most = MAX_FRUITLESS_DRAWS if draws is None else 2 * draws
    while (drawn < wanted and kept < ENOUGH) or (kept == 0 and drawn < most):
        rows = space.draw(wanted // 5, rng)
        costs = target.price(rows)
        for limit in limits:
            # By the quotient: the decision of a limit alone may differ from `feasible` in its last bit.
            held[limit.cost] += int((excess(costs, (limit,))[limit.cost] <= 1).sum())
        ok = feasible(costs, limits)
        drawn, kept = drawn + len(ok), kept + int(ok.sum())
        known.append(rows[ok])
        if not kept:
            closest = rows[np.argsort(worst(costs, limits), kind="stable")[:DESCENTS]]
            nearest = np.concatenate([nearest, closest])
    found = np.concatenate(known)
    if not kept:
        found = feasible_near(nearest, space, target, limits, drawn)
    shares = {name: count / drawn for name, count in held.items()}
    return Survey(drawn, kept / drawn, shares, min(shares, key=shares.__getitem__, default=None), found)


def feasible_near(rows: Rows, space: Space, target: Target, limits: tuple[Limit, ...], drawn: int) -> Rows:
    """Feasible rows by coordinate descent from infeasible ones, or UserError."""
    improved = descended(rows, space, target, limits)
    costs = target.price(improved)
    if not (ok := feasible(costs, limits)).any():
        nearest = Nearest(limits)
        nearest.see(costs)
        raise UserError(f"no feasible design in {drawn:,} draws, nor by improving the nearest: {nearest}")
    return np.unique(improved[ok], axis=0)


def descended(rows: Rows, space: Space, target: Target, limits: tuple[Limit, ...]) -> Rows:
    """[n, decisions] each row changed, one decision at a time, towards keeping the limit that it breaks most.

    Every step takes the best single change, until none improves.
    """
    rows, best = rows.copy(), worst(target.price(rows), limits)
    moving = np.arange(len(rows))
    while len(moving):
        changed = np.stack([
            space.repaired(_with_option(rows[moving], column, option))
            for column, decision in enumerate(space.decisions)
            for option in range(len(decision.options))
        ])  # fmt: skip
        flat = changed.reshape(-1, rows.shape[1])
        reached = worst(target.price(flat), limits).reshape(len(changed), -1)
        change, place = reached.argmin(axis=0), np.arange(len(moving))
        better = reached[change, place] < best[moving]
        moving, change, place = moving[better], change[better], place[better]
        rows[moving], best[moving] = changed[change, place], reached[change, place]
        moving = moving[best[moving] > 1]
    return rows


def _with_option(rows: Rows, column: int, option: int) -> Rows:
    changed = rows.copy()
    changed[:, column] = option
    return changed
