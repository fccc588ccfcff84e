"""The end of a search: leaders retrained with fresh seeds, one chosen, refined, its test accuracy read once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fgnas.engine import choice
from fgnas.engine.contracts import Candidate, Composition, Outcome
from fgnas.engine.jobs import Workers
from fgnas.engine.store import RunStore, model_name
from fgnas.engine.trial import Trial

Rounds = Callable[[int, int], None]
"""Called with the number of finished rounds and the total."""


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Mean, sample standard deviation, and the values themselves."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return {"mean": float(np.mean(values)), "std": deviation, "values": list(values)}


@dataclass(eq=False)
class Finalist:
    """A candidate with its retrained models.

    Attributes:
        candidate, costs: the delivered candidate, and its costs.
        trial: the trial that the search found it in.
        score: the name of the score that it is judged by.
        outcomes: its models, by seed.
        folds: its scores on data that was held out in turn, see `Composition.judge`; none where nobody judged it.
        refined: refined models, by index of the seed.
    """

    candidate: Candidate
    costs: dict[str, int | float]
    trial: Trial
    score: str
    outcomes: list[Outcome] = field(default_factory=list)
    folds: list[float] = field(default_factory=list)
    refined: dict[int, Outcome] = field(default_factory=dict)

    @property
    def values(self) -> list[float]:
        """Its score, by seed."""
        return [outcome.scores[self.score] for outcome in self.outcomes]

    @property
    def luckiest(self) -> int:
        """Index of the seed with the best score, the earlier of equal ones."""
        return int(np.argmax(self.values))

    @property
    def kept(self) -> int:
        """Index of the seed whose refined model is the best, the earlier of equal ones."""
        return max(self.refined, key=lambda place: (self.refined[place].scores[self.score], -place))

    def judged(self, rank: int) -> dict[str, Any]:
        """The part of its entry that choices are made by."""
        return {
            "rank": rank,
            "design": self.candidate.to_dict(),
            "design_hash": self.candidate.hash,
            "retrained_val": spread(self.values),
            **({"folds": spread(self.folds)} if self.folds else {}),
            "costs": dict(self.costs),
        }


class Leaders:
    """Retrained candidates.

    A search over one seed favours lucky candidates, so the leaders compete again on fresh seeds. They are ranked by the
    mean of the first score less weighted costs, and each keeps the model of its best seed. With `finalists` only so
    many, the best by the first seed, train with the others, and rank before those that do not. Where the composition
    has a judge, it scores the better half by the first seed, finalists at least, and its mean replaces that of their
    own scores. The kept models are refined. The winner's models of all seeds are refined, so that the reported spread
    is that of the delivered candidate.
    """

    def __init__(
        self, parts: Composition, trials: Sequence[Trial], candidates: Sequence[Candidate], seeds: int,
        finalists: int | None = None,
    ) -> None:  # fmt: skip
        self.parts, self.seeds, self.last = parts, seeds, finalists
        self.ranked_by = parts.trainer.scores[0].name
        self.finalists = [
            Finalist(candidate, trial.costs, trial, self.ranked_by)
            for candidate, trial in zip(candidates, trials, strict=True)
        ]
        self.cheapest: Finalist | None = None

    @property
    def rounds(self) -> int:
        """Rounds of work: a seed each, one that judges, one that refines."""
        return self.seeds + (self.parts.judge is not None) + 1

    def retrain(self, workers: Workers, report: Rounds = lambda done, total: None) -> None:
        """Train every leader once, judge the better half, and train those that are left with every further seed."""
        racing, judge, done = self.finalists, self.parts.judge, 0
        for repetition in range(1, self.seeds + 1):
            found = self.parts.trainer.retrain([one.candidate for one in racing], repetition, workers)
            for finalist, outcome in zip(racing, found, strict=True):
                finalist.outcomes.append(outcome)
            report(done := done + 1, self.rounds)
            if judge is not None and repetition == 1:
                better = self.ranking()[: max((len(racing) + 1) // 2, self.last or len(racing))]
                for finalist, folds in zip(better, judge([one.candidate for one in better], workers), strict=True):
                    finalist.folds = folds
                report(done := done + 1, self.rounds)
            racing = self.ranking()[: self.last]

    def choose_cheapest(self, workers: Workers) -> None:
        """Choose the cheapest that is as good as the best: a leader, or its models on smaller hardware."""
        if self.saved is None:
            return
        ranked = self.ranking()
        ranks = {one.candidate.hash: rank for rank, one in enumerate(ranked, 1)}
        whole = [one for one in ranked if len(one.outcomes) == self.seeds]
        as_good = {one["rank"] for one in choice.as_good([one.judged(ranks[one.candidate.hash]) for one in whole])}
        offered = [*whole, *self._shrunk([one for one in whole if ranks[one.candidate.hash] in as_good], workers)]
        entries = [one.judged(ranks[one.trial.design_hash]) for one in offered]
        self.cheapest = offered[entries.index(choice.cheapest(entries, self.saved))]

    @property
    def saved(self) -> str | None:
        """The name of the cost that the cheapest saves; None without costs."""
        return self.parts.saved if self.parts.smaller is None else self.parts.smaller.saved

    def _shrunk(self, leaders: Sequence[Finalist], workers: Workers) -> list[Finalist]:
        """The models of leaders on smaller hardware, each with its scores."""
        if (smaller := self.parts.smaller) is None:
            return []
        offers = [smaller.variants(np.array(leader.trial.row, np.int16)) for leader in leaders]
        candidates = [[candidate for candidate, _ in offer] for offer in offers]
        # A leader that no smaller hardware keeps within the limits has no variant to score.
        pairs = [(leader, place) for leader, some in enumerate(candidates) if some for place in range(self.seeds)]
        jobs = [(candidates[leader], place + 1, leaders[leader].outcomes[place]) for leader, place in pairs]
        found = dict(zip(pairs, smaller.score(jobs, workers), strict=True))
        return [
            Finalist(candidate, costs, leader.trial, self.ranked_by, [
                Outcome({self.ranked_by: found[number, place][variant]}, outcome.seed, outcome.model)
                for place, outcome in enumerate(leader.outcomes)
            ])
            for number, leader in enumerate(leaders) for variant, (candidate, costs) in enumerate(offers[number])
        ]  # fmt: skip

    def refine(self, workers: Workers, report: Rounds = lambda done, total: None) -> None:
        """Refine the models of all seeds of the winner, and of the best seed of every other leader and the cheapest."""
        winner = self.ranking()[0]
        every = self.finalists + [one for one in [self.cheapest] if one is not None and one not in self.finalists]
        kept = [(one, place) for one in every for place in (range(self.seeds) if one is winner else [one.luckiest])]
        jobs = [(one.candidate, place + 1, one.outcomes[place]) for one, place in kept]
        for (one, place), outcome in zip(kept, self.parts.trainer.refine(jobs, workers), strict=True):
            one.refined[place] = outcome
        report(self.rounds, self.rounds)

    def ranking(self) -> list[Finalist]:
        """The leaders, those with most seeds, the judged, then the best mean merit first; equal ones in the order of
        their trials."""
        return sorted(
            self.finalists, key=lambda one: (-len(one.outcomes), not one.folds, -self._merit(one), one.trial.trial)
        )

    def _merit(self, one: Finalist) -> float:
        return choice.merit(float(np.mean(one.folds or one.values)), one.costs, self.parts.weights)

    def entries(self, store: RunStore) -> list[dict[str, Any]]:
        """Store the models of the leaders; returns what leaders.json says of each, best first."""
        return [self._entry(store, rank, one) for rank, one in enumerate(self.ranking(), 1)]

    def deliver(self, store: RunStore) -> dict[str, Any]:
        """Write the leaders, their models, the cheapest and the best of them.

        Test accuracies are read only now, and only of these two.
        """
        ranked, entries = self.ranking(), self.entries(store)
        store.write_json("leaders.json", entries)
        self._deliver_cheapest(store, ranked, entries)
        best = entries[0] | self._tested(ranked[0])
        store.write_json("best.json", best)
        return best

    def _deliver_cheapest(self, store: RunStore, ranked: list[Finalist], entries: list[dict[str, Any]]) -> None:
        """Write the cheapest that is as good as the best, with the accuracies of its model."""
        if (one := self.cheapest) is None:
            return
        rank = 1 + [leader.trial for leader in ranked].index(one.trial)
        entry = entries[rank - 1] if one is ranked[rank - 1] else self._entry(store, rank, one)
        tested = self.parts.trainer.test(one.candidate, one.refined[one.kept])
        store.write_json("cheapest.json", entry | {"saved": self.saved, "delivered": tested})

    def _entry(self, store: RunStore, rank: int, one: Finalist) -> dict[str, Any]:
        """The entry of a leader, or of its models on smaller hardware, which has the rank of the leader."""
        place = one.kept
        return {
            **one.judged(rank),
            **self.parts.delivered,
            **self.parts.trainer.save(model_name(one.candidate.hash, place + 1), one.refined[place], store),
            "repetition": place + 1,
            "seed": one.refined[place].seed,
            "trial": one.trial.trial,
            "searched": one.trial.scores[self.ranked_by],
            "refined_val": one.refined[place].scores[self.ranked_by],
        }

    def _tested(self, winner: Finalist) -> dict[str, Any]:
        """Accuracies of the winner: the delivered model, and statistics over its seeds."""
        outcomes = [winner.refined[place] for place in range(self.seeds)]
        found = [self.parts.trainer.test(winner.candidate, outcome) for outcome in outcomes]
        spreads = {
            kind: {split: spread([each[kind][split] for each in found]) for split in splits}
            for kind, splits in found[0].items()
        }
        return {
            "kinds": list(found[0]),  # the files sort names: this keeps the kind that is nearest to the hardware last
            "delivered": found[winner.kept],
            "retrained": {"seeds": [outcome.seed for outcome in outcomes], **spreads},
        }
