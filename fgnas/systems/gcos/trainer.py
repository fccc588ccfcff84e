"""A trainer of networks for the array: they are scored with a supernet's weights, and leaders trained by themselves."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fgnas import progress
from fgnas.design import MLP, Design
from fgnas.engine.contracts import Outcome, Score
from fgnas.engine.jobs import Workers
from fgnas.engine.store import RunStore
from fgnas.engine.trial import Trial
from fgnas.networks import supernet
from fgnas.networks.model import Architecture
from fgnas.networks.training import Recipe
from fgnas.systems.fgnas.trainer import DesignTrainer, scores_of
from fgnas.systems.gcos.jobs import Scoring, run_scoring
from fgnas.systems.gcos.space import ArraySpace
from fgnas.tasks.nodes import GraphData

SUPERNET = "supernet.npz"


class SupernetTrainer:
    """Scores networks with the weights of one supernet, which `prepare` trains; leaders are trained by themselves."""

    TOGETHER = 5
    """Designs of one job."""

    def __init__(
        self, data: GraphData, seed: int, recipe: Recipe, space: ArraySpace, shared: supernet.SupernetRecipe
    ) -> None:
        self.data, self.seed, self.space, self.shared = data, seed, space, shared
        self.scores = scores_of(data)
        self.alone = DesignTrainer(data, seed, recipe)
        self.bounds = bounds_of(space, data)
        self.weights, self.sha256 = Path(), ""
        self._known: dict[str, dict[str, float]] = {}
        self._designs: set[str] = set()

    def prepare(self, store: RunStore, workers: Workers) -> None:
        """Train the supernet, or continue after its last checkpoint; its file stays in the run's folder."""
        self.weights = store.folder / SUPERNET
        with progress.counted("supernet", self.shared.updates, "updates") as bar:
            supernet.train(self.data, self.bounds, self._draw, self.shared, self.seed, self.weights, bar.show)
        self.sha256 = hashlib.sha256(self.weights.read_bytes()).hexdigest()

    def _draw(self, count: int, rng: np.random.Generator) -> list[Architecture]:
        return [self.space.candidate(row).architecture() for row in self.space.draw(count, rng)]

    def score(self, candidates: Sequence[Design], workers: Workers) -> list[Score]:
        """The validation accuracies of designs, in order; none is trained."""
        new = list({one.score_key: one for one in candidates if one.score_key not in self._known}.values())
        jobs = [self._scoring(new[first : first + self.TOGETHER]) for first in range(0, len(new), self.TOGETHER)]
        values = [value for result in workers.run(jobs, run_scoring) for value in result]
        self._known |= dict(zip((one.score_key for one in new), values, strict=True))
        found = []
        for design in candidates:
            cached = design.hash in self._designs
            self._designs.add(design.hash)
            found.append(Score(self._known[design.score_key], trained=False, cached=cached))
        return found

    def _scoring(self, designs: Sequence[Design]) -> Scoring:
        data = self.data
        return Scoring(data.name, data.fingerprint, str(self.weights), self.sha256, self.bounds, tuple(designs))

    def resume(self, trials: Sequence[Trial], store: RunStore) -> None:
        """Continue after these trials."""
        self._known |= {trial.score_key: trial.scores for trial in trials}
        self._designs |= {trial.design_hash for trial in trials}

    def keep(self, leaders: Sequence[Trial], store: RunStore) -> None:
        """All networks share the supernet's file."""

    def retrain(self, candidates: Sequence[Design], repetition: int, workers: Workers) -> list[Outcome]:
        """Train every architecture by itself with the repetition's seed."""
        return self.alone.retrain(candidates, repetition, workers)

    def refine(self, jobs: Sequence[tuple[Design, int, Outcome]], workers: Workers) -> list[Outcome]:
        """Fine-tune each network with the roundings of its design."""
        return self.alone.refine(jobs, workers)

    def save(self, name: str, outcome: Outcome, store: RunStore) -> dict[str, Any]:
        """Store the fine-tuned network; returns its path in the run and its SHA-256."""
        return self.alone.save(name, outcome, store)

    def test(self, candidate: Design, outcome: Outcome) -> dict[str, dict[str, float]]:
        """Accuracy of the float network and of its array on the validation and the test split."""
        return self.alone.test(candidate, outcome)


def bounds_of(space: ArraySpace, data: GraphData) -> supernet.Bounds:
    """The shape of a supernet that holds every network of a space."""
    options = {choice.name: choice.options for choice in space.choices}
    widest, heads = max(options["d"]), max(options.get("k", (1,)))
    return supernet.Bounds(
        width_in=data.width_in,
        heads=(*(heads for _ in range(space.layers - 1)), 1),
        features=(*(widest for _ in range(space.layers - 1)), data.classes),
        attentions=tuple(name for name in supernet.WITH_VECTORS if name in options["attention"]),
        mlp=MLP in options["aggregation"],
    )
