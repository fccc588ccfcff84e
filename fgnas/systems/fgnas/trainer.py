"""The trainer of FGNAS designs: float training shared by an architecture, scores with quantised weights."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fgnas.costs import Quantity
from fgnas.design import Design
from fgnas.engine.contracts import Outcome, Score
from fgnas.engine.jobs import Workers
from fgnas.engine.store import RunStore
from fgnas.engine.trial import Trial
from fgnas.network import Network
from fgnas.networks.answers import quality_of
from fgnas.networks.quantised import quantised_accuracy
from fgnas.networks.training import Recipe, Trained, child_seed, float_accuracy, input_seed, of_repetition
from fgnas.systems.fgnas.jobs import Job, Result, bundled, run_bundle
from fgnas.systems.fgnas.warming import warm_up
from fgnas.tasks.nodes import GraphData

NETWORKS_KEPT_BYTES = 512 << 20
"""Capacity of the cache of float networks; the least recently used are dropped and trained again."""


class DesignTrainer:
    """Trains, quantises and validates designs.

    Float training is shared by all designs of an architecture, the scores by all that also share its formats:
    parallelism changes no number. "Earlier" means earlier in the order of requests, so it depends on no clock.
    """

    warm_up = staticmethod(warm_up)

    def __init__(self, data: GraphData, seed: int, recipe: Recipe) -> None:
        self.data, self.seed, self.recipe = data, seed, recipe
        self.scores = (*scores_of(data), Quantity("epoch", "Best epoch", lower_is_better=False))
        self._scores: dict[str, dict[str, float]] = {}
        self._designs: set[str] = set()
        self._architectures: set[str] = set()
        self._networks: OrderedDict[str, Trained] = OrderedDict()

    def prepare(self, store: RunStore, workers: Workers) -> None:
        """Nothing to do: every architecture is trained by itself."""

    def score(self, candidates: Sequence[Design], workers: Workers) -> list[Score]:
        """The scores of designs, in order."""
        found = self._score_new(candidates, workers)
        scores = []
        for design in candidates:
            values = self._scores.get(design.score_key) or found[design.score_key]
            first, cached = design.training_key not in self._architectures, design.hash in self._designs
            scores.append(Score(values, first, cached))
            self._remember(design.score_key, design.hash, design.training_key, values)
        return scores

    def _score_new(self, designs: Sequence[Design], workers: Workers) -> dict[str, dict[str, float]]:
        """The scores of designs that were never scored before: one job for each architecture."""
        groups: dict[str, dict[str, Design]] = {}
        for design in designs:
            if (key := design.score_key) not in self._scores:
                groups.setdefault(design.training_key, {})[key] = design
        jobs = [self.job(list(group.values()), 0, self._networks.get(name)) for name, group in groups.items()]
        found: dict[str, dict[str, float]] = {}
        for (name, group), result in zip(groups.items(), _run(jobs, workers), strict=True):
            self._keep_network(name, result.trained)
            shared = {"float_val": result.trained.val, "epoch": result.trained.epoch}
            found |= {key: {"val": val, **shared} for key, val in zip(group, result.val, strict=True)}
        return found

    def job(self, designs: Sequence[Design], repetition: int, trained: Trained | None = None) -> Job:
        """Designs of one architecture; repetition 0 is the search's own training, others are retrainings."""
        architecture = designs[0].architecture()
        seeds = child_seed(self.seed, architecture, repetition), input_seed(self.seed, repetition)
        data = self.data
        recipe = of_repetition(self.recipe, repetition)
        return Job(data.name, data.fingerprint, architecture, *seeds, recipe, tuple(designs), trained)

    def _remember(self, score_key: str, design_hash: str, training_key: str, values: dict[str, float]) -> None:
        self._scores[score_key] = values
        self._designs.add(design_hash)
        self._architectures.add(training_key)

    def _keep_network(self, training_key: str, trained: Trained) -> None:
        """Cache a network for later designs of its architecture."""
        self._networks[training_key] = trained
        self._networks.move_to_end(training_key)
        while len(self._networks) > 1 and sum(map(_bytes, self._networks.values())) > NETWORKS_KEPT_BYTES:
            self._networks.popitem(last=False)

    def resume(self, trials: Sequence[Trial], store: RunStore) -> None:
        """Continue after these trials, with the networks in the store."""
        for trial in trials:
            self._remember(trial.score_key, trial.design_hash, trial.training_key, trial.scores)
            path = store.model_path(trial.training_key)
            if path.is_file():
                values = trial.scores
                trained = Trained(Network.load(path), values["float_val"], int(values["epoch"]))
                self._keep_network(trial.training_key, trained)

    def keep(self, leaders: Sequence[Trial], store: RunStore) -> None:
        """Keep only the leaders' float networks on disk."""
        names = list(dict.fromkeys(trial.training_key for trial in leaders))
        for name in names:
            if name in self._networks and not store.model_path(name).is_file():
                self._networks[name].network.save(store.model_path(name))
        store.keep_models(names)

    def retrain(self, candidates: Sequence[Design], repetition: int, workers: Workers) -> list[Outcome]:
        """Train every architecture once with the repetition's seed, and score all its designs."""
        groups: dict[str, list[Design]] = {}
        for design in candidates:
            groups.setdefault(design.training_key, []).append(design)
        jobs = [self.job(designs, repetition) for designs in groups.values()]
        outcomes: dict[str, Outcome] = {}
        for designs, job, result in zip(groups.values(), jobs, _run(jobs, workers), strict=True):
            for design, val in zip(designs, result.val, strict=True):
                outcomes[design.hash] = Outcome({"val": val}, job.seed, result.trained)
        return [outcomes[design.hash] for design in candidates]

    def rescore(
        self, jobs: Sequence[tuple[Sequence[Design], int, Outcome]], workers: Workers
    ) -> list[list[float]]:
        """Quantised validation accuracies of designs of one architecture with a retrained network, by job."""
        work = [self.job(designs, repetition, outcome.model) for designs, repetition, outcome in jobs]
        return [result.val for result in _run(work, workers)]

    def refine(self, jobs: Sequence[tuple[Design, int, Outcome]], workers: Workers) -> list[Outcome]:
        """Fine-tune each network with the roundings of its design."""
        work = [replace(self.job([design], seed, outcome.model), tune=True) for design, seed, outcome in jobs]
        return [
            Outcome({"val": result.val[0]}, job.seed, result.tuned[0])
            for job, result in zip(work, _run(work, workers), strict=True)
        ]

    def save(self, name: str, outcome: Outcome, store: RunStore) -> dict[str, Any]:
        """Store the fine-tuned network; returns its path in the run and its SHA-256."""
        path = store.model_path(name)
        return {"weights": path.relative_to(store.folder).as_posix(), "sha256": outcome.model.save(path)}

    def test(self, candidate: Design, outcome: Outcome) -> dict[str, dict[str, float]]:
        """Accuracy of the float network and of its hardware on the validation and the test split."""
        return {
            "float": float_accuracy(candidate.architecture(), outcome.model, self.data),
            "quantised": quantised_accuracy(candidate, outcome.model, self.data),
        }


def scores_of(data: GraphData) -> tuple[Quantity, ...]:
    """How good networks are on the validation part, in the integers of their hardware and in float."""
    quality = f"Validation {quality_of(data)}"
    return (
        Quantity("val", quality, "share", lower_is_better=False),
        Quantity("float_val", f"{quality} in float", "share", lower_is_better=False),
    )


def _run(jobs: Sequence[Job], workers: Workers) -> list[Result]:
    """The results in the order of the jobs, of which one bundle after the other goes to a worker."""
    if not jobs:
        return []
    bundles = bundled(jobs, workers.count)
    found: dict[int, Result] = {}
    for bundle, results in zip(bundles, workers.run(bundles, run_bundle), strict=True):
        found |= {id(job): result for job, result in zip(bundle, results, strict=True)}
    return [found[id(job)] for job in jobs]


def _bytes(trained: Trained) -> int:
    return sum(layer.weight.nbytes for layer in trained.network.layers)
