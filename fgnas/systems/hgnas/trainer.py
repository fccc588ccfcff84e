"""The quality of networks: scores while a search runs, and leaders trained alone and judged."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fgnas.costs import Quantity
from fgnas.engine.contracts import Outcome, Score
from fgnas.engine.jobs import Workers
from fgnas.engine.kept import Kept
from fgnas.engine.store import RunStore
from fgnas.engine.trial import Trial
from fgnas.files import replace_file, torch_bytes
from fgnas.networks.answers import QUALITIES
from fgnas.networks.points import training
from fgnas.networks.points.model import PointModel
from fgnas.networks.points.training import Recipe
from fgnas.systems.hgnas.edges import on_array, quality
from fgnas.systems.hgnas.finetuning import quantised
from fgnas.systems.hgnas.integers import accuracy
from fgnas.systems.hgnas.jobs import Alone, Fold, Source, run_alone, run_judged
from fgnas.systems.hgnas.scoring import Scorer
from fgnas.systems.hgnas.space import PointCandidate
from fgnas.tasks.points import GraphSet


class PointTrainer:
    """Scores networks with a scorer; trains leaders alone by a recipe, and judges them on folds."""

    def __init__(
        self, data: GraphSet, seed: int, scorer: Scorer, alone: Recipe, folds: int = 0, bits: int | None = None
    ) -> None:
        self.data, self.seed, self.scorer, self.alone, self.folds, self.bits = data, seed, scorer, alone, folds, bits
        self.scores = (Quantity("val", f"Validation {QUALITIES[data.kind]}", "share", lower_is_better=False),)
        self.source, self.kept = Source.of(data), Kept()
        self._known: dict[str, float] = {}
        self._seen: set[str] = set()

    def prepare(self, store: RunStore, workers: Workers) -> None:
        """Make what every score needs; trainings that end from now on are kept in the run."""
        self.kept = Kept(store.trainings)
        self.scorer.prepare(store, workers)

    def score(self, candidates: Sequence[PointCandidate], workers: Workers) -> list[Score]:
        """The validation quality of networks, in order."""
        new = list({one.score_key: one for one in candidates if one.score_key not in self._known}.values())
        values = self.scorer.values(new, workers) if new else []
        self._known |= {one.score_key: value for one, value in zip(new, values, strict=True)}
        found = []
        for one in candidates:
            cached = one.score_key in self._seen
            found.append(Score({"val": self._known[one.score_key]}, self.scorer.trains and not cached, cached))
            self._seen.add(one.score_key)
        return found

    def resume(self, trials: Sequence[Trial], store: RunStore) -> None:
        """Continue after these trials."""
        self._known |= {trial.score_key: trial.scores["val"] for trial in trials}
        self._seen |= {trial.score_key for trial in trials}

    def keep(self, leaders: Sequence[Trial], store: RunStore) -> None:
        """All networks share the supernets' files."""

    def retrain(self, candidates: Sequence[PointCandidate], repetition: int, workers: Workers) -> list[Outcome]:
        """Train every network alone, with the repetition's seed."""
        seed = self.seed + repetition
        jobs = [Alone(self.source, one.network, self.alone, seed) for one in candidates]
        return [Outcome({"val": value}, seed, weights) for value, weights in self.kept.run(workers, jobs, run_alone)]

    def judge(self, candidates: Sequence[PointCandidate], workers: Workers) -> list[list[float]]:
        """The quality of each network on every fold, whose graphs its training does not see. The seed draws them."""
        folds = [Fold(place, self.folds, self.seed) for place in range(self.folds)]
        jobs = [
            Alone(self.source, one.network, self.alone, self.seed + 1 + fold.place, fold)
            for one in candidates for fold in folds
        ]  # fmt: skip
        values = self.kept.run(workers, jobs, run_judged)
        return [values[first : first + self.folds] for first in range(0, len(values), self.folds)]

    def refine(self, jobs: Sequence[tuple[PointCandidate, int, Outcome]], workers: Workers) -> list[Outcome]:
        """The outcomes as they are."""
        return [outcome for _, _, outcome in jobs]

    def save(self, name: str, outcome: Outcome, store: RunStore) -> dict[str, Any]:
        """Store the weights; returns their path in the run and their SHA-256."""
        path = Path("networks") / f"{name}.pt"
        content = torch_bytes(outcome.model)
        (store.folder / path).parent.mkdir(exist_ok=True)
        replace_file(store.folder / path, content)
        return {"weights": str(path), "sha256": hashlib.sha256(content).hexdigest()}

    def test(self, candidate: PointCandidate, outcome: Outcome) -> dict[str, dict[str, float]]:
        """Quality on the validation and the test split, as floats, and where it has a number of bits in integers."""
        model = PointModel(candidate.network, self.data.width_in, self.data.classes).eval()
        model.load_state_dict(outcome.model)
        found = {"float": {split: training.accuracy(model, self.data, split) for split in ("val", "test")}}
        if self.bits is not None and self.data.edge_index is not None:
            metrics = on_array(model, self.data, self.bits, 1).accuracy["quantised"]
            found["quantised"] = {split: quality(self.data, value) for split, value in metrics.items()}
        elif self.bits is not None:
            numbers = quantised(model, self.data, self.bits)
            found["quantised"] = {split: accuracy(numbers, self.data, split) for split in ("val", "test")}
        return found
