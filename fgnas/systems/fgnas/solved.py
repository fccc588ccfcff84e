"""Architectures are searched, hardware is solved: each architecture gets the cheapest hardware that keeps the limits.

The solver needs no training, because the model prices hardware exactly. Formats belong to the hardware: after
calibration their width decides nearly all of their effect on accuracy, so the solver takes the widest with which any
lanes keep the limits, and then the lanes that are cheapest in one cost.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fgnas.costs import Costs, Limit, Quantity, feasible, plain, worst
from fgnas.design import Design
from fgnas.engine.contracts import Target
from fgnas.space import Rows
from fgnas.systems.fgnas.space import DesignSpace

WIDTHS = (10, 8, 7, 6, 5, 4)
"""Bits of every feature and every weight of a design, sign included, in the order in which they are tried."""
NARROWED = (10, 8, 7, 6, 5)
"""Bits of features, and of weights, that smaller hardware is offered in."""
PARTS = (("t_in", "t_out"), ("t_attn",), ("t_aggr",), ("t_act",))
"""Choices of lanes that are measured together, because one stage uses them."""
AFTER_MEMORY = ("t_aggr", "t_act")
"""Lanes of a layer that work in the phase after its linear stage's, and so beside the next layer's linear stage."""
DSP_IN_LUTS = 1000.0
"""LUTs that a DSP slice counts as where DSPs are to be few."""
FRONT = 128
"""Points that are kept of the estimated front of time and area."""
NEAREST, SPREAD = 12, 6
"""Points of that front that are priced: the best by estimate, and some from its whole length."""
TOGETHER = 512
"""Architectures solved together: their variants are priced in one call and fit in memory."""

Grid = NDArray[np.float64]
"""[variants or points, n] cycles or area of n architectures."""


class Solves(Protocol):
    """A solver for the hardware of an architecture."""

    def design(self, architectures: ArchitectureSpace, row: NDArray[np.int16], dsp: int) -> Design:
        """The design with the solved hardware of a row of `architectures`, with a DSP budget."""


class Narrows(Protocol):
    """Where smaller hardware for an architecture is found; `saved` is the cost that it keeps low."""

    @property
    def saved(self) -> str: ...

    def variants(self, row: NDArray[np.int16]) -> list[tuple[Design, dict[str, int | float]]]:
        """Designs of a row's architecture within the limits, each with its costs by name."""


@dataclass(frozen=True)
class ArchitectureSpace(DesignSpace):
    """The architectures of a space of designs; the candidate of one is its solved design."""

    solver: Solves | None = None

    @classmethod
    def of(cls, space: DesignSpace, solver: Solves) -> ArchitectureSpace:
        """The architectures of a space, solved by `solver`."""
        choices = tuple(choice for choice in space.choices if choice.kind == "architecture")
        return cls(
            f"{space.name} architectures", space.layers, choices, space.dsp, space.beat_bits, space.paired, solver
        )

    def design(self, row: NDArray[np.int16], dsp: int) -> Design:
        """The solved design of an architecture."""
        assert self.solver is not None
        return self.solver.design(self, row, dsp)


@dataclass(frozen=True)
class Lanes:
    """Lanes of one stage: their columns, their variants [m, columns] of option indices, and the phase they work in."""

    columns: tuple[int, ...]
    variants: NDArray[np.int16]
    phase: int


class Solver:
    """The cheapest hardware of architectures, found by pricing and remembered.

    Within a phase the slowest stage decides, and phases follow each other. So each part's variants are priced by
    themselves: for time beside the fastest other lanes, for area beside the smallest. At each threshold of time a
    phase takes the smallest variant of every part; the phases' fronts of time and area are added up. The points that
    look best, and then every single change of the best of them, are priced exactly. The costs found are exact and the
    limits are kept, but a slightly cheaper combination may be missed.
    """

    def __init__(self, space: DesignSpace, target: Target, limits: Sequence[Limit], cheapest: str) -> None:
        self.space, self.target, self.limits = space, target, tuple(limits)
        ties = [name for name in ("lut", "latency_cycles") if name != cheapest]
        self.order = (cheapest, *ties)
        self.parts = parts_of(space)
        self.formats = formats_of(space)
        self.known: dict[bytes, Rows] = {}

    def lifted(self, architectures: ArchitectureSpace, rows: Rows) -> Rows:
        """[n, decisions of the full space] the rows with the fastest lanes and the narrowest formats."""
        return lifted(self.space, architectures, rows)

    def design(self, architectures: ArchitectureSpace, row: NDArray[np.int16], dsp: int) -> Design:
        """The design with the solved hardware of a row of `architectures`, with a DSP budget."""
        return self.space.design(self.solved(self.lifted(architectures, row[None]))[0], dsp)

    def solved(self, rows: Rows) -> Rows:
        """[n, decisions] lifted rows with their solved hardware."""
        names = [row.tobytes() for row in rows]
        missing = {name: place for place, name in enumerate(names) if name not in self.known}
        places = list(missing.values())
        for start in range(0, len(places), TOGETHER):
            some = places[start : start + TOGETHER]
            found = self._solve(rows[some])
            self.known.update({names[place]: row for place, row in zip(some, found, strict=True)})
        return np.stack([self.known[name] for name in names]) if names else rows

    def _solve(self, rows: Rows) -> Rows:
        """The solved rows of distinct architectures. One that no lanes make fast enough stays as it is."""
        result = rows.copy()
        left = np.flatnonzero(self._in_time(self.target.price(rows)))
        if not len(left):
            return result
        for formats in self.formats:
            base = rows[left]
            base[:, list(formats)] = list(formats.values())
            result[left], ok = self.with_formats(base)
            left = left[~ok]
            if not len(left):
                break
        return result

    def with_formats(self, rows: Rows) -> tuple[Rows, NDArray[np.bool_]]:
        """Lifted rows with the cheapest lanes for the formats that they have, and whether each keeps every limit."""
        return self._polished(*self._best(self._candidates(rows)))

    def _in_time(self, costs: Costs) -> NDArray[np.bool_]:
        return feasible(costs, [limit for limit in self.limits if limit.cost == "latency_cycles"])

    def _candidates(self, rows: Rows) -> Rows:
        """[candidates, n, decisions] the hardware that looks best by estimate, and some from the whole front."""
        time, luts, dsps = self._measured(rows)
        phases, every, found = sorted({part.phase for part in self.parts}), np.arange(len(rows)), []
        for weight in (0.0, DSP_IN_LUTS) if self.order[0] == "dsp" else (0.0,):
            area = [lut + weight * dsp for lut, dsp in zip(luts, dsps, strict=True)]
            front = functools.reduce(_added, (self._phase(phase, time, area) for phase in phases))
            places = self._promising(front, weight)
            found += [self._assembled(rows, front.variants[:, place, every]) for place in places]
        return np.stack(found)

    def _measured(self, rows: Rows) -> tuple[list[Grid], list[Grid], list[Grid]]:
        """For each part [variants, n]: cycles beside the fastest others, LUTs and DSPs beside the smallest others."""
        smallest = rows.copy()
        for part in self.parts:
            for column in part.columns:
                smallest[:, column] = self.space.decisions[column].smallest
        variants = [_varied(base, part) for base in (rows, smallest) for part in self.parts]
        priced = self.target.price(self.space.repaired(np.concatenate(variants)))
        ends, count = np.cumsum([len(some) for some in variants])[:-1], len(self.parts)

        def by_part(name: str, place: slice) -> list[Grid]:
            return [values.reshape(-1, len(rows)) for values in np.split(priced[name], ends)[place]]

        small = slice(count, None)
        return by_part("latency_cycles", slice(count)), by_part("lut", small), by_part("dsp", small)

    def _phase(self, phase: int, time: list[Grid], area: list[Grid]) -> Front:
        """The front of one phase; the parts of other phases have variant 0 and cost nothing."""
        members = [place for place, part in enumerate(self.parts) if part.phase == phase]
        thresholds = np.concatenate([time[place] for place in members])
        total = np.zeros_like(thresholds)
        chosen = np.zeros((len(self.parts), *thresholds.shape), np.int16)
        for place in members:
            fits = time[place][None] <= thresholds[:, None]
            sizes = np.where(fits, area[place][None], np.inf)
            chosen[place] = sizes.argmin(axis=1)
            total += sizes.min(axis=1)
        fastest, smallest = (np.min(values[members[0]], axis=0) for values in (time, area))
        return _pruned(Front(thresholds - fastest, total - len(members) * smallest, fastest, smallest, chosen))

    def _promising(self, front: Front, weight: float) -> NDArray[np.int64]:
        """[candidates, n] points of the front: the best by estimate, then some of its whole length."""
        estimates = {"latency_cycles": front.fastest + front.time, "lut": front.smallest + front.area}
        if weight:  # the area counts DSPs, too
            del estimates["lut"]
        excess = np.max([
            estimates[limit.cost] / max(limit.bound, 1e-9) for limit in self.limits if limit.cost in estimates
        ] or [np.zeros_like(front.time)], axis=0)  # fmt: skip
        wanted = front.time if self.order[0] == "latency_cycles" else front.area
        best = np.lexsort((wanted, np.maximum(excess, 1.0)), axis=0)[:NEAREST]
        length = np.isfinite(front.time).sum(axis=0)
        return np.concatenate([best, *(((length - 1) * step // (SPREAD - 1))[None] for step in range(SPREAD))])

    def _assembled(self, rows: Rows, chosen: NDArray[np.int16]) -> Rows:
        changed = rows.copy()
        for part, variant in zip(self.parts, chosen, strict=True):
            changed[:, list(part.columns)] = part.variants[variant]
        return self.space.repaired(changed)

    def _best(self, candidates: Rows) -> tuple[Rows, list[NDArray[np.float64]]]:
        """[n, decisions] the best of [candidates, n, decisions], and its keys, [n] each."""
        count, n, width = candidates.shape
        costs = self.target.price(candidates.reshape(-1, width))
        ok = feasible(costs, self.limits)
        broken = np.where(ok, 0.0, worst(costs, self.limits)) if self.limits else np.zeros(len(ok))
        keys = [values.reshape(count, n) for values in (broken, *(costs[name] for name in self.order))]
        place, every = first_least(keys), np.arange(n)
        return candidates[place, every], [key[place, every] for key in keys]

    def _polished(self, rows: Rows, keys: list[NDArray[np.float64]]) -> tuple[Rows, NDArray[np.bool_]]:
        """The rows after changes of one part at a time until none improves; and whether each keeps every limit."""
        moving = np.arange(len(rows))
        while len(moving):
            here = rows[moving]
            changed = np.concatenate([_varied(here, part).reshape(-1, *here.shape) for part in self.parts])
            changed = self.space.repaired(changed.reshape(-1, here.shape[1])).reshape(changed.shape)
            found, reached = self._best(np.concatenate([here[None], changed]))
            better = np.any(found != here, axis=1)
            for key, value in zip(keys, reached, strict=True):
                key[moving] = value
            rows[moving] = found
            moving = moving[better]
        return rows, keys[0] == 0


@dataclass(frozen=True, eq=False)
class Front:
    """Estimates of n architectures that no other combination of variants beats; infinite where there are fewer points.

    Attributes:
        time, area: [points, n] above the fastest and the smallest lanes.
        fastest, smallest: [n] time of the fastest lanes, area of the smallest.
        variants: [parts, points, n] the variant of each part.
    """

    time: Grid
    area: Grid
    fastest: Grid
    smallest: Grid
    variants: NDArray[np.int16]


def _pruned(front: Front) -> Front:
    """The points that are smaller than every faster one, in the order of time; `FRONT` at most."""
    order = np.lexsort((front.area, front.time), axis=0)
    area = np.take_along_axis(front.area, order, axis=0)
    before = np.minimum.accumulate(area, axis=0)
    kept = np.isfinite(area)
    kept[1:] &= area[1:] < before[:-1]
    places = np.argsort(~kept, axis=0, kind="stable")[: min(FRONT, int(kept.sum(axis=0).max()))]
    order = np.take_along_axis(order, places, axis=0)
    absent = ~np.take_along_axis(kept, places, axis=0)
    return replace(
        front,
        time=np.where(absent, np.inf, np.take_along_axis(front.time, order, axis=0)),
        area=np.where(absent, np.inf, np.take_along_axis(front.area, order, axis=0)),
        variants=np.take_along_axis(front.variants, order[None], axis=1),
    )


def _added(one: Front, other: Front) -> Front:
    """The front of two phases that follow each other."""
    n = one.time.shape[1]
    time, area = (
        (left[:, None] + right[None]).reshape(-1, n) for left, right in ((one.time, other.time), (one.area, other.area))
    )
    variants = (one.variants[:, :, None] + other.variants[:, None]).reshape(len(one.variants), -1, n)
    return _pruned(replace(one, time=time, area=area, variants=variants))


def first_least(keys: Sequence[NDArray[np.float64]]) -> NDArray[np.int64]:
    """[n] the first of the candidates whose keys, [candidates, n] each, are lexicographically least."""
    kept = np.ones(keys[0].shape, bool)
    for key in keys:
        here = np.where(kept, key, np.inf)
        kept &= here == here.min(axis=0)
    return kept.argmax(axis=0)


def lifted(space: DesignSpace, architectures: ArchitectureSpace, rows: Rows) -> Rows:
    """[n, decisions of the full space] rows of architectures with the fastest lanes and the narrowest formats."""
    places = {decision.name: place for place, decision in enumerate(architectures.decisions)}
    full = np.zeros((len(rows), len(space.decisions)), np.int16)
    for column, decision in enumerate(space.decisions):
        if decision.name in places:
            options = architectures.decisions[places[decision.name]].options
            index = np.array([decision.options.index(option) for option in options], np.int16)
            full[:, column] = index[rows[:, places[decision.name]]]
        else:
            full[:, column] = decision.fastest
    narrowest = formats_of(space)[-1]
    full[:, list(narrowest)] = list(narrowest.values())
    return space.repaired(full)


def _varied(rows: Rows, part: Lanes) -> Rows:
    """[variants * n, decisions] the rows with each variant of a part."""
    changed = np.tile(rows, (len(part.variants), 1))
    changed[:, list(part.columns)] = np.repeat(part.variants, len(rows), axis=0)
    return changed


def parts_of(space: DesignSpace) -> list[Lanes]:
    """The lanes of a space's designs, stage by stage."""
    places = {decision.name: column for column, decision in enumerate(space.decisions)}
    found = []
    for layer, names in itertools.product(range(space.layers), PARTS):
        columns = tuple(places[f"{layer}.{name}"] for name in names if f"{layer}.{name}" in places)
        if columns:
            ranges = (range(len(space.decisions[column].options)) for column in columns)
            variants = np.array(list(itertools.product(*ranges)), np.int16)
            found.append(Lanes(columns, variants, layer + (names[0] in AFTER_MEMORY)))
    return found


def formats_of(space: DesignSpace) -> list[dict[int, int]]:
    """Column -> option of the formats of each width, widest first."""
    return formats_of_widths(space, [(width, width) for width in WIDTHS])


def formats_of_widths(space: DesignSpace, widths: Iterable[tuple[int, int]]) -> list[dict[int, int]]:
    """Column -> option of the distinct formats nearest to each (bits of features, bits of weights).

    Among formats of equal width, it takes the one with most fraction bits.
    """
    found = []
    for features, weights in widths:
        parts = {"a": min(features - 2, 6), "w": min(weights - 2, 6)}
        wanted = {f"{name}f": fraction for name, fraction in parts.items()}
        wanted |= {"ai": features - 1 - parts["a"], "wi": weights - 1 - parts["w"]}
        formats = {
            column: _nearest(decision.options, wanted[decision.choice])
            for column, decision in enumerate(space.decisions) if decision.kind == "precision"
        }  # fmt: skip
        if formats not in found:
            found.append(formats)
    return found


def in_formats(row: Rows, formats: Sequence[dict[int, int]]) -> Rows:
    """[formats, decisions] one full row, [1, decisions], in each of the formats."""
    found = row.repeat(len(formats), axis=0)
    for base, one in zip(found, formats, strict=True):
        base[list(one)] = list(one.values())
    return found


def _nearest(options: tuple[int, ...], wanted: int) -> int:
    """The index of the option that is nearest, the smaller of two."""
    return min(range(len(options)), key=lambda index: (abs(options[index] - wanted), options[index]))


class NarrowedHardware:
    """Hardware for one architecture in every pair of widths, features and weights apart.

    Cycles below the limit are worth less than area where networks are equally good, so it takes the lanes with the
    fewest LUTs, or DSPs, that keep the limits.
    """

    def __init__(self, architectures: ArchitectureSpace, solver: Solver) -> None:
        self.architectures, self.solver, self.saved = architectures, solver, solver.order[0]
        self.formats = formats_of_widths(solver.space, itertools.product(NARROWED, NARROWED))

    def rows(self, row: NDArray[np.int16]) -> tuple[Rows, Costs]:
        """[n, decisions of the full space] an architecture's hardware within the limits, and its costs."""
        bases = in_formats(self.solver.lifted(self.architectures, row[None]), self.formats)
        found, ok = self.solver.with_formats(self.solver.space.repaired(bases))
        return found[ok], self.solver.target.price(found[ok])

    def variants(self, row: NDArray[np.int16]) -> list[tuple[Design, dict[str, int | float]]]:
        """The designs of an architecture's hardware within the limits, with their costs."""
        rows, costs = self.rows(row)
        return [(self.solver.space.candidate(found), plain(costs, place)) for place, found in enumerate(rows)]


class SolvedTarget:
    """A target whose rows are architectures; it prices each with its solved hardware."""

    survey_draws: int | None = 10_000
    limits: tuple[Limit, ...] = ()

    def __init__(self, space: DesignSpace, target: Target, limits: Sequence[Limit], cheapest: str) -> None:
        self.solver, self.inner, self.saved = Solver(space, target, limits, cheapest), target, cheapest
        least = "lut" if cheapest == "latency_cycles" else cheapest
        self.space = ArchitectureSpace.of(space, self.solver)
        self.smaller = NarrowedHardware(self.space, Solver(space, target, limits, least))

    @property
    def costs(self) -> tuple[Quantity, ...]:
        """The costs of the hardware."""
        return self.inner.costs

    def price(self, rows: Rows) -> Costs:
        """Every cost of n architectures with their solved hardware, [n] each."""
        return self.inner.price(self.solver.solved(self.solver.lifted(self.space, rows)))
