"""The search loop: ask, throw away what breaks a constraint, evaluate the rest, tell, commit."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.design import Design
from fgnas.engine.contracts import Searcher
from fgnas.engine.evaluator import CoDesign, Score
from fgnas.engine.store import RunStore
from fgnas.errors import UserError
from fgnas.hardware.pipeline.pricing import Pricer, Prices, Specification, whole
from fgnas.network import Network
from fgnas.networks.training import Trained
from fgnas.space import Columns, Indices, Space

DRAWS_AT_ONCE = 2_000
MAX_FRUITLESS_DRAWS = 200_000
"""Samples drawn without a feasible one before a search gives up: a share of 0.005 % would show with 99.995 %."""
MAX_FRUITLESS_EPISODES = 20_000
"""The same where the searcher learns from every draw, five at a time."""
SURVEY_DRAWS = 100_000
KNOWN = 256
"""Feasible designs that a survey hands on."""
DESCENTS = 4
"""Nearest designs of each batch of a fruitless survey that are improved."""

PER_ARCHITECTURE = 2
"""Designs of one architecture among the leaders, as long as there are others."""

PRICES = ("latency_cycles", "lut", "ff", "dsp", "bram36")


@dataclass(frozen=True)
class Status:
    """Where a search stands.

    Attributes:
        done, children: valid samples so far, and wanted.
        best: highest quantised validation accuracy so far, 0 to 1.
        share: feasible share of the last batch's draws.
        trainings: distinct float trainings so far.
    """

    done: int
    children: int
    best: float
    share: float
    trainings: int


@dataclass(frozen=True, eq=False)
class Proposal:
    """Samples to evaluate, what they cost, whether they keep every constraint, and the how-manieth draw each was.

    Attributes:
        samples: [m, decisions].
        prices: of each, by name.
        feasible: [m].
        draws: [m], counted from 1 and ascending.
        asked: the last samples that the searcher was asked for, where it wants to be told about all of them.
        drawn: how many draws it took.
    """

    samples: Indices
    prices: list[dict[str, int | float]]
    feasible: NDArray[np.bool_]
    draws: NDArray[np.int64]
    drawn: int
    asked: Indices | None = None

    def told(self, rewards: NDArray[np.float64]) -> tuple[Indices, NDArray[np.float64]]:
        """What the searcher is told."""
        if self.asked is None:
            return self.samples, rewards
        all_rewards = np.zeros(len(self.asked))
        all_rewards[self.draws - 1 - (self.drawn - len(self.asked))] = rewards
        return self.asked, all_rewards


def propose(searcher: Searcher, evaluator: CoDesign, count: int, batch: int) -> Proposal:
    """One to `count` samples to evaluate; what is infeasible is treated as the searcher wishes."""
    if searcher.infeasible == "accept":
        asked = searcher.ask(count)
        prices, feasible = evaluator.check(asked)
        return Proposal(asked, [_row(prices, row) for row in range(count)], feasible, np.arange(1, count + 1), count)
    if searcher.infeasible == "zero":
        return episodes(searcher, evaluator, count, batch)
    return redrawn(searcher, evaluator, count)


def episodes(searcher: Searcher, evaluator: CoDesign, count: int, batch: int) -> Proposal:
    """Draws in batches, told as zeros, up to the first batch with a feasible one."""
    nearest = Nearest(evaluator.specification)
    for drawn in range(0, MAX_FRUITLESS_EPISODES, batch):
        asked = searcher.ask(batch)
        prices, feasible = evaluator.check(asked)
        if feasible.any():
            rows = np.flatnonzero(feasible)[:count]
            priced = [_row(prices, int(row)) for row in rows]
            return Proposal(asked[rows], priced, feasible[rows], drawn + rows + 1, drawn + batch, asked)
        nearest.see(prices)
        searcher.tell(asked, np.zeros(batch))
    raise UserError(f"no feasible design in {MAX_FRUITLESS_EPISODES:,} draws: {nearest}")


def _row(prices: Prices, row: int) -> dict[str, int | float]:
    return {name: whole(getattr(prices, name)[row]) for name in PRICES}


def redrawn(searcher: Searcher, evaluator: CoDesign, count: int) -> Proposal:
    """The first `count` feasible samples, redrawn in batches that grow to 2,000."""
    samples: list[Indices] = []
    prices: list[dict[str, int | float]] = []
    draws: list[int] = []
    drawn, fruitless, size = 0, 0, 4 * count
    nearest = Nearest(evaluator.specification)
    while len(draws) < count:
        asked = searcher.ask(size)
        priced, feasible = evaluator.check(asked)
        accepted = np.flatnonzero(feasible)[: count - len(draws)]
        for row in map(int, accepted):
            samples.append(asked[row])
            prices.append(_row(priced, row))
            draws.append(drawn + row + 1)
        drawn += size
        fruitless = 0 if len(accepted) else fruitless + size
        if not len(accepted):
            nearest.see(priced)
        if fruitless >= MAX_FRUITLESS_DRAWS:
            raise UserError(f"no feasible design in {fruitless:,} draws: {nearest}")
        size = min(4 * size, DRAWS_AT_ONCE)
    return Proposal(np.array(samples), prices, np.ones(count, bool), np.array(draws), draws[-1])


class Nearest:
    """The infeasible design that came nearest to holding, by its worst constraint."""

    def __init__(self, specification: Specification) -> None:
        self.specification = specification
        self.excess = np.inf
        self.violation = ""

    def see(self, prices: Prices) -> None:
        """Take in designs of which none is feasible."""
        excess = prices.excess(self.specification)
        most = worst(prices, self.specification)
        if most.min() < self.excess:
            row = int(most.argmin())
            self.excess = float(most[row])
            broken = [name for name, values in excess.items() if values[row] > 1]
            lines = prices.violations(self.specification, row)
            self.violation = lines[int(np.argmax([excess[name][row] for name in broken]))]

    def __str__(self) -> str:
        return f"in the nearest one {self.violation} (by {self.excess - 1:.1%}); relax that constraint"


@dataclass(frozen=True, eq=False)
class Survey:
    """What uniform draws say about a specification.

    Attributes:
        draws: how many there were.
        share: feasible share of them.
        holds: share in which each constraint holds by itself.
        binding: the constraint that holds least often; None without constraints.
        widest: largest k * d of a hidden layer in a feasible design.
        known: [n, decisions] the first feasible designs found, up to `KNOWN`; at least one.
    """

    draws: int
    share: float
    holds: dict[str, float]
    binding: str | None
    widest: int
    known: Indices

    def __str__(self) -> str:
        binding = "none" if self.binding is None else f"{self.binding} (holds in {self.holds[self.binding]:.3%})"
        beside = "" if self.share else " (but some were found by improving the nearest)"
        return (
            f"feasible {self.share:.3%} of {self.draws:,} uniform draws{beside}; "
            f"binding constraint {binding}; widest k*d {self.widest}"
        )


def survey(space: Space, pricer: Pricer, specification: Specification, dsp: int) -> Survey:
    """Price uniform draws before a search begins; where none of many is feasible, improve those that come nearest.

    Raises UserError where that finds nothing either.
    """
    rng = np.random.default_rng(0)
    held = dict.fromkeys(specification.limits(), 0)
    known: list[Indices] = []
    nearest = space.draw(0, rng)
    drawn = feasible = 0
    while drawn < SURVEY_DRAWS or (feasible == 0 and drawn < MAX_FRUITLESS_DRAWS):
        samples = space.draw(SURVEY_DRAWS // 5, rng)
        prices = pricer.price(space.columns(samples), dsp)
        for name, values in prices.excess(specification).items():
            held[name] += int((values <= 1).sum())
        ok = prices.feasible(specification)
        drawn, feasible = drawn + len(ok), feasible + int(ok.sum())
        known.append(samples[ok])
        if not feasible:
            closest = samples[np.argsort(worst(prices, specification), kind="stable")[:DESCENTS]]
            nearest = np.concatenate([nearest, closest])
    found = np.concatenate(known)
    if not feasible:
        found = feasible_near(nearest, space, pricer, specification, dsp, drawn)
    shares = {name: count / drawn for name, count in held.items()}
    binding = min(shares, key=shares.__getitem__, default=None)
    return Survey(drawn, feasible / drawn, shares, binding, int(_width(space.columns(found)).max()), found[:KNOWN])


def feasible_near(
    samples: Indices, space: Space, pricer: Pricer, specification: Specification, dsp: int, drawn: int
) -> Indices:
    """Feasible designs by coordinate descent from infeasible ones, or UserError."""
    improved = descended(samples, space, pricer, specification, dsp)
    prices = pricer.price(space.columns(improved), dsp)
    if not (ok := prices.feasible(specification)).any():
        nearest = Nearest(specification)
        nearest.see(prices)
        raise UserError(f"no feasible design in {drawn:,} draws, nor by improving the nearest: {nearest}")
    return np.unique(improved[ok], axis=0)


def descended(samples: Indices, space: Space, pricer: Pricer, specification: Specification, dsp: int) -> Indices:
    """[n, decisions] each sample moved, one choice at a time, to where the constraint that it breaks most is nearest.

    Of all single changes the best is taken, as long as it improves.
    """
    samples, best = samples.copy(), worst(pricer.price(space.columns(samples), dsp), specification)
    moving = np.arange(len(samples))
    while len(moving):
        changed = np.stack([
            space.repaired(samples[moving], column, option)
            for column, decision in enumerate(space.decisions)
            for option in range(len(decision.choice.options))
        ])  # fmt: skip
        flat = changed.reshape(-1, samples.shape[1])
        excess = worst(pricer.price(space.columns(flat), dsp), specification).reshape(len(changed), -1)
        change, place = excess.argmin(axis=0), np.arange(len(moving))
        better = excess[change, place] < best[moving]
        moving, change, place = moving[better], change[better], place[better]
        samples[moving], best[moving] = changed[change, place], excess[change, place]
        moving = moving[best[moving] > 1]
    return samples


def worst(prices: Prices, specification: Specification) -> NDArray[np.float64]:
    """[n] value over limit of the constraint that is broken most, or nearest to it."""
    return np.max(np.stack(list(prices.excess(specification).values())), axis=0)


def _width(columns: Columns) -> NDArray[np.int64]:
    """[n] the largest k * d of the hidden layers."""
    widths = [k * d for k, d in zip(columns["k"][:-1], columns["d"][:-1], strict=True)]
    return np.max(np.stack(widths or [columns["k"][0]]), axis=0)


class SearchLoop:
    """Runs a searcher against an evaluator, batch by batch, into a store."""

    def __init__(
        self,
        searcher: Searcher,
        evaluator: CoDesign,
        store: RunStore,
        *,
        children: int,
        batch: int,
        leaders: int,
        report: Callable[[Status], None] = lambda status: None,
    ) -> None:
        self.searcher, self.evaluator, self.store, self.report = searcher, evaluator, store, report
        self.children, self.batch, self.leader_count = children, batch, leaders
        self.trials: list[dict[str, Any]] = []
        self.draws = 0

    def resume(self) -> None:
        """Go on from the last committed batch."""
        state = self.store.resume()
        if state is None:
            return
        self.searcher.restore(state["searcher"])
        self.trials, self.draws = self.store.trials(), state["draws"]
        for trial in self.trials:
            score = Score(trial["val"], trial["float_val"], trial["epoch"], False, False)
            self.evaluator.remember(design := Design.from_dict(trial["design"]), score)
            trial.setdefault("numerics_hash", design.numerics_hash)  # older runs have none
            path = self.store.children / f"{trial['architecture_hash']}.npz"
            if path.is_file():
                trained = Trained(Network.load(path), trial["float_val"], trial["epoch"])
                self.evaluator.keep(trial["architecture_hash"], trained)
        self.evaluator.trainings = sum(trial["trained"] for trial in self.trials)

    def run(self) -> list[dict[str, Any]]:
        """Search until there are enough children; returns every trial."""
        while len(self.trials) < self.children:
            start = time.monotonic()
            count = min(self.batch, self.children - len(self.trials))
            proposal = propose(self.searcher, self.evaluator, count, self.batch)
            priced = time.monotonic()
            designs = [self.evaluator.space.design(row, self.evaluator.dsp) for row in proposal.samples]
            scores = self.evaluator.evaluate(designs)
            self.searcher.tell(*proposal.told(np.array([score.val for score in scores])))
            new = self._record(designs, scores, proposal)
            self._keep_networks()
            self.store.commit(new, {"searcher": self.searcher.state(), "draws": self.draws})
            self.store.record_timing({
                "trials": len(self.trials),
                "trained": sum(score.trained for score in scores),
                "sampling_s": round(priced - start, 4),
                "total_s": round(time.monotonic() - start, 4),
            })  # fmt: skip
            share = float(proposal.feasible.sum()) / proposal.drawn
            best = max((trial["val"] for trial in self.trials if trial["feasible"]), default=0.0)
            self.report(Status(len(self.trials), self.children, best, share, self.evaluator.trainings))
        return self.trials

    def _record(self, designs: list[Design], scores: list[Score], proposal: Proposal) -> list[dict[str, Any]]:
        """The batch as trials, which join the others."""
        new = [
            {
                "trial": len(self.trials) + place,
                "draws": self.draws + int(proposal.draws[place]),
                "design": design.to_dict(),
                "design_hash": design.hash,
                "architecture_hash": design.architecture_hash,
                "numerics_hash": design.numerics_hash,
                "feasible": bool(proposal.feasible[place]),
                **vars(score),
                **proposal.prices[place],
            }
            for place, (design, score) in enumerate(zip(designs, scores, strict=True))
        ]
        self.draws += proposal.drawn
        self.trials += new
        return new

    def _keep_networks(self) -> None:
        """Hold on disk the networks of the best designs so far."""
        best = [trial["architecture_hash"] for trial in leaders(self.trials, self.leader_count)]
        for name, trained in self.evaluator.networks(best).items():
            if not (self.store.children / f"{name}.npz").is_file():
                self.store.save_network(name, trained.network)
        self.store.keep_networks(best)


def leaders(trials: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """The best distinct feasible designs by quantised validation accuracy; the earlier of equals first.

    Designs of one architecture share one training and its luck, so no more than `PER_ARCHITECTURE` of them come
    before the best ones of other architectures; and only the first of those that differ in nothing but parallelism,
    which retraining could not tell apart.
    """
    first = {trial["design_hash"]: trial for trial in reversed(trials) if trial["feasible"]}
    ranked = sorted(first.values(), key=lambda trial: (-trial["val"], trial["trial"]))
    seen: Counter[str] = Counter()
    numerics: set[str] = set()
    ahead: list[dict[str, Any]] = []
    behind: list[dict[str, Any]] = []
    for trial in ranked:
        new = trial["numerics_hash"] not in numerics
        numerics.add(trial["numerics_hash"])
        seen[trial["architecture_hash"]] += new
        (ahead if new and seen[trial["architecture_hash"]] <= PER_ARCHITECTURE else behind).append(trial)
    return (ahead + behind)[:count]
