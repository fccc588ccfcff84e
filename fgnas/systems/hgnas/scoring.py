"""Scores of candidates: with weights of a supernet, or each by a short training."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import torch

from fgnas import progress
from fgnas.engine.jobs import Workers
from fgnas.engine.kept import Kept
from fgnas.engine.store import RunStore
from fgnas.networks.points import supernet
from fgnas.networks.points.supernet import SupernetRecipe, supernet_of
from fgnas.networks.points.training import Recipe
from fgnas.systems.hgnas.jobs import Alone, Scoring, Source, run_judged, run_scoring
from fgnas.systems.hgnas.space import POSITIONS, PointCandidate, PointSpace
from fgnas.tasks.points import GraphSet

SHARED = "shared"


class Scorer(Protocol):
    """What says how good candidates are on the validation split, before any of them is trained with the whole recipe.

    `trains`: whether every candidate has a training of its own.
    """

    trains: bool

    def prepare(self, store: RunStore, workers: Workers) -> None:
        """Make what every score needs, once; resumable, in the run's folder."""

    def values(self, candidates: Sequence[PointCandidate], workers: Workers) -> list[float]:
        """The scores of candidates, in order."""


class SupernetScorer:
    """Scores with a shared supernet, or with one of a candidate's own functions that continues from it."""

    trains = False
    TOGETHER = 4
    """Networks of one job."""

    def __init__(self, data: GraphSet, seed: int, space: PointSpace, recipe: SupernetRecipe, own_epochs: int) -> None:
        self.data, self.seed, self.space, self.recipe, self.own_epochs = data, seed, space, recipe, own_epochs
        self.folder, self.digests = Path(), dict[str, str]()

    def prepare(self, store: RunStore, workers: Workers) -> None:
        """Train the shared supernet, or continue after its last whole epoch; its file stays in the run's folder."""
        self.folder = store.folder
        self._trained(SHARED, ())

    def _trained(self, name: str, functions: tuple[Any, ...]) -> None:
        """Train the supernet of a set of functions; one of its own continues from the shared one's weights."""
        if name in self.digests:
            return
        torch.manual_seed(self.seed)
        torch.set_num_threads(1)
        model = supernet_of(self.recipe.kind, POSITIONS, self.space.cloud, self.space.tail)
        own = name != SHARED
        if own:
            model.load_state_dict(torch.load(self._file(SHARED), weights_only=True)["model"])
        epochs = self.own_epochs if own else self.recipe.epochs
        recipe = replace(self.recipe, epochs=epochs)
        label = "own supernet" if own else "supernet"
        with progress.counted(label, epochs, "epochs") as bar:
            supernet.train(self.data, model, recipe, lambda rng: self.space.draw_of(functions, recipe.paths, rng),
                           self.seed, self._file(name), bar.show)  # fmt: skip
        self.digests[name] = hashlib.sha256(self._file(name).read_bytes()).hexdigest()

    def _file(self, name: str) -> Path:
        return self.folder / f"supernet-{name}.pt"

    def values(self, candidates: Sequence[PointCandidate], workers: Workers) -> list[float]:
        """As `Scorer.values`."""
        for one in candidates:
            self._trained(one.supernet, one.functions)
        jobs, places = list[Scoring](), list[int]()
        for name in dict.fromkeys(one.supernet for one in candidates):
            mine = [place for place, one in enumerate(candidates) if one.supernet == name]
            places += mine
            parts = [mine[first : first + self.TOGETHER] for first in range(0, len(mine), self.TOGETHER)]
            jobs += [self._scoring(name, [candidates[place] for place in part]) for part in parts]
        values = [value for result in workers.run(jobs, run_scoring) for value in result]
        found = dict(zip(places, values, strict=True))
        return [found[place] for place in range(len(candidates))]

    def _scoring(self, name: str, candidates: Sequence[PointCandidate]) -> Scoring:
        networks = tuple(one.network for one in candidates)
        weights, space, source = str(self._file(name)), self.space, Source.of(self.data)
        return Scoring(source, weights, self.digests[name], self.recipe.kind, space.cloud, space.tail, networks)


class TrainingScorer:
    """Scores each candidate by a training of a few epochs, with the search's seed."""

    trains = True

    def __init__(self, data: GraphSet, seed: int, recipe: Recipe) -> None:
        self.source, self.seed, self.recipe, self.kept = Source.of(data), seed, recipe, Kept()

    def prepare(self, store: RunStore, workers: Workers) -> None:
        """Trainings that end from now on are kept in the run."""
        self.kept = Kept(store.trainings)

    def values(self, candidates: Sequence[PointCandidate], workers: Workers) -> list[float]:
        """As `Scorer.values`."""
        jobs = [Alone(self.source, one.network, self.recipe, self.seed) for one in candidates]
        return self.kept.run(workers, jobs, run_judged)
