"""The search loop: ask, drop rows that break a limit, score the others, tell, commit."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fgnas import pareto, progress
from fgnas.engine.choice import merit
from fgnas.engine.contracts import Candidate, Composition, Objectives, Score, Searcher
from fgnas.engine.jobs import Workers
from fgnas.engine.proposal import Proposal, propose
from fgnas.engine.store import RunStore
from fgnas.engine.trial import Trial

PER_TRAINING = 2
"""Candidates that share one training among the leaders, as long as there are others."""
NO_WEIGHTS: Mapping[str, float] = {}


@dataclass(frozen=True)
class Status:
    """The state of a running search.

    Attributes:
        done, children: valid samples so far, and their target number.
        best: highest first score of a feasible trial so far.
        share: feasible share of the last batch's draws.
        trainings: distinct trainings so far.
    """

    done: int
    children: int
    best: float
    share: float
    trainings: int


class SearchLoop:
    """Runs a searcher against a composition, batch by batch, into a store."""

    def __init__(
        self,
        searcher: Searcher,
        parts: Composition,
        store: RunStore,
        workers: Workers,
        *,
        children: int,
        batch: int,
        leaders: int,
        distinct: bool = False,
        trainings: int | None = None,
        report: Callable[[Status], None] = lambda status: None,
    ) -> None:
        self.searcher, self.parts, self.store, self.workers, self.report = searcher, parts, store, workers, report
        self.children, self.batch, self.leader_count = children, batch, leaders
        self.trainings = trainings
        self.seen: set[bytes] | None = set() if distinct else None
        self.ranking = parts.trainer.scores[0].name
        quantities = (*parts.trainer.scores, *parts.target.costs)
        self.signs = {one.name: -1.0 if one.lower_is_better else 1.0 for one in quantities}
        self.trials: list[Trial] = []
        self.draws = 0

    def resume(self) -> None:
        """Continue after the last committed batch."""
        state = self.store.resume()
        if state is None:
            return
        self.searcher.restore(state["searcher"])
        self.trials, self.draws = self.store.trials(), state["draws"]
        self._see([np.array(trial.row, np.int16) for trial in self.trials])
        self.parts.trainer.resume(self.trials, self.store)

    def _see(self, rows: Iterable[NDArray[np.int16]]) -> None:
        """Remember rows that are not to be children again."""
        if self.seen is not None:
            self.seen.update(row.tobytes() for row in rows)

    def run(self) -> list[Trial]:
        """Search until there are enough children or trainings, or no new ones are found; returns every trial."""
        while (count := self._wanted()) > 0:
            start = time.monotonic()
            proposal = propose(self.searcher, self.parts, count, self.batch, self.seen)
            if not len(proposal.rows):
                progress.say(f"every feasible candidate found is a child: the search ends with {len(self.trials)}")
                break
            self._see(proposal.rows)
            priced = time.monotonic()
            candidates = [self.parts.space.candidate(row) for row in proposal.rows]
            scores = self.parts.trainer.score(candidates, self.workers)
            self.searcher.tell(*proposal.told(self._objectives(scores, proposal)))
            new = self._record(candidates, scores, proposal)
            self.parts.trainer.keep(self.leaders(), self.store)
            state = {"searcher": self.searcher.state(), "draws": self.draws}
            self.store.commit(new, state, whole=count == self.batch)
            self.store.record_timing({
                "trials": len(self.trials),
                "trained": sum(score.trained for score in scores),
                "sampling_s": round(priced - start, 4),
                "total_s": round(time.monotonic() - start, 4),
            })  # fmt: skip
            self.report(self._status(float(proposal.feasible.sum()) / proposal.drawn))
        return self.trials

    def _wanted(self) -> int:
        """Children of the next batch: each may need a training."""
        wanted = min(self.batch, self.children - len(self.trials))
        if self.trainings is None:
            return wanted
        return min(wanted, self.trainings - self._trained())

    def _trained(self) -> int:
        """Distinct trainings so far."""
        return sum(trial.trained for trial in self.trials)

    def _objectives(self, scores: Sequence[Score], proposal: Proposal) -> Objectives:
        """[m, objectives] of a batch: scores and costs by name, turned so that more is better."""
        names = self.parts.objectives
        rows = [self._told(names, score.values, costs) for score, costs in zip(scores, proposal.costs, strict=True)]
        return np.array(rows, np.float64)

    def _told(
        self, names: Sequence[str], scores: Mapping[str, float], costs: Mapping[str, float]
    ) -> list[float]:
        """The named scores and costs of one candidate, more being better."""
        return [self.signs[name] * {**costs, **scores}[name] for name in names]

    def leaders(self) -> list[Trial]:
        """The candidates to retrain: half of them the best by merit, the others from a front.

        It is that of the objectives, and for a single one that of score and the cost that leaders save.
        """
        names = self.parts.objectives
        if len(names) == 1 and self.parts.saved is not None:
            names = (self.ranking, self.parts.saved)
        ranked = leaders(self.trials, len(self.trials), self.ranking, self.parts.weights)
        found = [self._told(names, trial.scores, trial.costs) for trial in ranked]
        objectives = np.array(found).reshape(len(ranked), len(names))
        return with_front(ranked, objectives, self.leader_count) if ranked else []

    def _record(self, candidates: Sequence[Candidate], scores: Sequence[Score], proposal: Proposal) -> list[Trial]:
        """The batch as trials, appended to the earlier ones."""
        new = [
            Trial(
                trial=len(self.trials) + place,
                draws=self.draws + int(proposal.draws[place]),
                row=tuple(proposal.rows[place].tolist()),
                design=candidate.to_dict(),
                design_hash=candidate.hash,
                training_key=candidate.training_key,
                score_key=candidate.score_key,
                feasible=bool(proposal.feasible[place]),
                scores=score.values,
                costs=dict(proposal.costs[place]),
                trained=score.trained,
                cached=score.cached,
            )
            for place, (candidate, score) in enumerate(zip(candidates, scores, strict=True))
        ]
        self.draws += proposal.drawn
        self.trials += new
        return new

    def _status(self, share: float) -> Status:
        best = max((trial.scores[self.ranking] for trial in self.trials if trial.feasible), default=0.0)
        return Status(len(self.trials), self.children, best, share, self._trained())


def with_front(ranked: Sequence[Trial], objectives: Objectives, count: int) -> list[Trial]:
    """Half of `count` by rank; then those that cover the front of the objectives, [ranked, objectives]; then others."""
    half = range(min(count - count // 2, len(ranked)))
    ahead = [*half, *pareto.covering(objectives, half, count // 2)]
    behind = [place for place in range(len(ranked)) if place not in ahead]
    return [ranked[place] for place in [*ahead, *behind][:count]]


def leaders(
    trials: Sequence[Trial], count: int, ranking: str, weights: Mapping[str, float] = NO_WEIGHTS
) -> list[Trial]:
    """The best distinct feasible trials by the score `ranking` less weighted costs; equal ones in the order of their
    trials.

    Candidates that share a training share its luck, so no more than `PER_TRAINING` of them come before the best ones
    of other trainings. Among candidates with equal score keys only the first counts, because retraining could not tell
    them apart.
    """
    first = {trial.design_hash: trial for trial in reversed(trials) if trial.feasible}
    ranked = sorted(
        first.values(), key=lambda trial: (-merit(trial.scores[ranking], trial.costs, weights), trial.trial)
    )
    seen: Counter[str] = Counter()
    scored: set[str] = set()
    ahead: list[Trial] = []
    behind: list[Trial] = []
    for trial in ranked:
        new = trial.score_key not in scored
        scored.add(trial.score_key)
        seen[trial.training_key] += new
        (ahead if new and seen[trial.training_key] <= PER_TRAINING else behind).append(trial)
    return (ahead + behind)[:count]
