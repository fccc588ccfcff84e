"""The end of a search: leaders retrained with fresh seeds, one chosen, refined, its test accuracy read once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fgnas.engine import choice
from fgnas.engine.contracts import Candidate, Composition, Outcome
from fgnas.engine.jobs import Workers
from fgnas.engine.store import RunStore
from fgnas.engine.trial import Trial

Rounds = Callable[[int, int], None]
"""Called with the number of finished rounds and the total."""


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Mean, sample standard deviation, and the values themselves."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return {"mean": float(np.mean(values)), "std": deviation, "values": list(values)}


class Leaders:
    """Retrained candidates.

    A search over one seed favours lucky candidates, so the leaders compete again on fresh seeds. They are ranked by the
    mean of the first score, and each keeps the model of its best seed. The kept models are refined. The winner's models
    of all seeds are refined, so that the reported spread is that of the delivered candidate.
    """

    def __init__(
        self, parts: Composition, trials: Sequence[Trial], candidates: Sequence[Candidate], seeds: int
    ) -> None:
        self.parts, self.seeds = parts, seeds
        self.ranked_by = parts.trainer.scores[0].name
        self.trials = {trial.design_hash: trial for trial in trials}
        self.candidates = {candidate.hash: candidate for candidate in candidates}
        self.outcomes: dict[str, list[Outcome]] = {name: [] for name in self.candidates}
        # By candidate and index of the seed.
        self.refined: dict[str, dict[int, Outcome]] = {name: {} for name in self.candidates}

    def values(self, name: str) -> list[float]:
        """The first score of a leader, by seed."""
        return [outcome.scores[self.ranked_by] for outcome in self.outcomes[name]]

    def retrain(self, workers: Workers, report: Rounds = lambda done, total: None) -> None:
        """Train every leader once per seed."""
        candidates = list(self.candidates.values())
        for repetition in range(1, self.seeds + 1):
            found = self.parts.trainer.retrain(candidates, repetition, workers)
            for candidate, outcome in zip(candidates, found, strict=True):
                self.outcomes[candidate.hash].append(outcome)
            report(repetition, self.seeds + 1)  # refining is one round more

    def refine(self, workers: Workers, report: Rounds = lambda done, total: None) -> None:
        """Refine the models of all seeds of the winner, and of the best seed of every other leader."""
        winner = self.ranking()[0]
        kept = [
            (name, place)
            for name in self.candidates
            for place in (range(self.seeds) if name == winner else [int(np.argmax(self.values(name)))])
        ]
        jobs = [(self.candidates[name], place + 1, self.outcomes[name][place]) for name, place in kept]
        for (name, place), outcome in zip(kept, self.parts.trainer.refine(jobs, workers), strict=True):
            self.refined[name][place] = outcome
        report(self.seeds + 1, self.seeds + 1)

    def ranking(self) -> list[str]:
        """Candidates' hashes, best mean first; equal ones in the order of their trials."""
        return sorted(
            self.candidates, key=lambda name: (-float(np.mean(self.values(name))), self.trials[name].trial)
        )

    def deliver(self, store: RunStore) -> dict[str, Any]:
        """Write the leaders, their models, the cheapest and the best of them.

        Test accuracies are read only now, and only of these two.
        """
        ranking = self.ranking()
        entries = [self._entry(store, rank, name) for rank, name in enumerate(ranking, 1)]
        store.write_json("leaders.json", entries)
        self._deliver_cheapest(store, entries)
        best = entries[0] | self._tested(ranking[0], entries[0]["repetition"] - 1)
        store.write_json("best.json", best)
        return best

    def _deliver_cheapest(self, store: RunStore, entries: list[dict[str, Any]]) -> None:
        """Write the cheapest leader within one standard error of the best, with the accuracies of its model."""
        if (saved := self.parts.saved) is None:
            return
        entry = choice.cheapest(entries, saved)
        name = entry["design_hash"]
        tested = self.parts.trainer.test(self.candidates[name], self.refined[name][entry["repetition"] - 1])
        store.write_json("cheapest.json", entry | {"saved": saved, "delivered": tested})

    def _entry(self, store: RunStore, rank: int, name: str) -> dict[str, Any]:
        trial, refined = self.trials[name], self.refined[name]
        # The earlier of equal seeds.
        place = max(refined, key=lambda place: (refined[place].scores[self.ranked_by], -place))
        return {
            "rank": rank,
            "design": trial.design,
            "design_hash": name,
            **self.parts.delivered,
            **self.parts.trainer.save(f"{name}-{place + 1}", refined[place], store),
            "repetition": place + 1,
            "seed": refined[place].seed,
            "trial": trial.trial,
            "searched": trial.scores[self.ranked_by],
            "retrained_val": spread(self.values(name)),
            "refined_val": refined[place].scores[self.ranked_by],
            "costs": dict(trial.costs),
        }

    def _tested(self, name: str, delivered: int) -> dict[str, Any]:
        """Accuracies of the winner: the delivered model, and statistics over its seeds."""
        outcomes = [self.refined[name][place] for place in range(self.seeds)]
        found = [self.parts.trainer.test(self.candidates[name], outcome) for outcome in outcomes]
        spreads = {
            kind: {split: spread([each[kind][split] for each in found]) for split in splits}
            for kind, splits in found[0].items()
        }
        return {
            "delivered": found[delivered],
            "retrained": {"seeds": [outcome.seed for outcome in outcomes], **spreads},
        }
