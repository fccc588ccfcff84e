"""The quality of networks: scores with a supernet's weights, and leaders trained alone."""

from __future__ import annotations

import functools
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fgnas import progress
from fgnas.costs import Quantity
from fgnas.engine.contracts import Outcome, Score
from fgnas.engine.jobs import Workers
from fgnas.engine.store import RunStore
from fgnas.engine.trial import Trial
from fgnas.errors import UserError
from fgnas.files import replace_file
from fgnas.networks.answers import QUALITIES
from fgnas.networks.points import supernet, training
from fgnas.networks.points.model import PointModel
from fgnas.networks.points.operations import PointNetwork, Tail
from fgnas.networks.points.supernet import PointSupernet, SupernetRecipe, supernet_of
from fgnas.networks.points.training import Recipe
from fgnas.networks.points.work import Cloud
from fgnas.systems.hgnas.edges import on_array, quality
from fgnas.systems.hgnas.finetuning import quantised
from fgnas.systems.hgnas.integers import accuracy
from fgnas.systems.hgnas.space import POSITIONS, PointCandidate, PointSpace
from fgnas.tasks.points import GraphSet, load_graphs

SHARED = "shared"


@dataclass(frozen=True)
class Source:
    """Graphs by name, with their fingerprint."""

    dataset: str
    fingerprint: str


@dataclass(frozen=True)
class Scoring:
    """Networks to score with the weights in a file, whose digest makes it a value."""

    source: Source
    weights: str
    sha256: str
    kind: str
    cloud: Cloud
    tail: Tail
    networks: tuple[PointNetwork, ...]


@dataclass(frozen=True)
class Alone:
    """A network to train alone."""

    source: Source
    network: PointNetwork
    recipe: Recipe
    seed: int


class PointTrainer:
    """Scores networks with a shared supernet, or with one of their own functions that continues from it."""

    TOGETHER = 4
    """Networks of one job."""

    def __init__(
        self, data: GraphSet, seed: int, space: PointSpace, recipe: SupernetRecipe, own_epochs: int,
        bits: int | None = None,
    ) -> None:  # fmt: skip
        self.data, self.seed, self.space, self.recipe, self.own_epochs = data, seed, space, recipe, own_epochs
        self.bits = bits
        self.scores = (Quantity("val", f"Validation {QUALITIES[data.kind]}", "share", lower_is_better=False),)
        self.folder, self.digests = Path(), dict[str, str]()
        self._known: dict[str, float] = {}
        self._seen: set[str] = set()

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

    def score(self, candidates: Sequence[PointCandidate], workers: Workers) -> list[Score]:
        """The validation quality of networks, in order; none is trained alone."""
        new = list({one.score_key: one for one in candidates if one.score_key not in self._known}.values())
        for one in new:
            self._trained(one.supernet, one.functions)
        jobs, asked = list[Scoring](), list[PointCandidate]()
        for name in dict.fromkeys(one.supernet for one in new):
            mine = [one for one in new if one.supernet == name]
            asked += mine
            parts = [mine[first : first + self.TOGETHER] for first in range(0, len(mine), self.TOGETHER)]
            jobs += [self._scoring(name, part) for part in parts]
        values = [value for result in workers.run(jobs, run_scoring) for value in result]
        self._known |= {one.score_key: value for one, value in zip(asked, values, strict=True)}
        found = []
        for one in candidates:
            found.append(Score({"val": self._known[one.score_key]}, trained=False, cached=one.score_key in self._seen))
            self._seen.add(one.score_key)
        return found

    def _scoring(self, name: str, candidates: Sequence[PointCandidate]) -> Scoring:
        networks = tuple(one.network for one in candidates)
        weights, space = str(self._file(name)), self.space
        return Scoring(self._source, weights, self.digests[name], self.recipe.kind, space.cloud, space.tail, networks)

    @property
    def _source(self) -> Source:
        return Source(self.data.name, self.data.fingerprint)

    def resume(self, trials: Sequence[Trial], store: RunStore) -> None:
        """Continue after these trials."""
        self._known |= {trial.score_key: trial.scores["val"] for trial in trials}
        self._seen |= {trial.score_key for trial in trials}

    def keep(self, leaders: Sequence[Trial], store: RunStore) -> None:
        """All networks share the supernets' files."""

    def retrain(self, candidates: Sequence[PointCandidate], repetition: int, workers: Workers) -> list[Outcome]:
        """Train every network alone, with the repetition's seed."""
        seed = self.seed + repetition
        jobs = [Alone(self._source, one.network, self.recipe.alone, seed) for one in candidates]
        return [Outcome({"val": value}, seed, weights) for value, weights in workers.run(jobs, run_alone)]

    def refine(self, jobs: Sequence[tuple[PointCandidate, int, Outcome]], workers: Workers) -> list[Outcome]:
        """The outcomes as they are."""
        return [outcome for _, _, outcome in jobs]

    def save(self, name: str, outcome: Outcome, store: RunStore) -> dict[str, Any]:
        """Store the weights; returns their path in the run and their SHA-256."""
        path = Path("networks") / f"{name}.pt"
        buffer = io.BytesIO()
        torch.save(outcome.model, buffer)
        (store.folder / path).parent.mkdir(exist_ok=True)
        replace_file(store.folder / path, buffer.getvalue())
        return {"weights": str(path), "sha256": hashlib.sha256(buffer.getvalue()).hexdigest()}

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


def run_scoring(job: Scoring) -> list[float]:
    """The accuracy of each network: a pure function of the job, in one thread."""
    data = opened(job.source)
    model = _loaded(job.weights, job.sha256, job.kind, job.cloud, job.tail)
    found = [supernet.accuracy(model, one, data) for one in job.networks]
    training.release_memory()
    return found


def run_alone(job: Alone) -> tuple[float, dict[str, Tensor]]:
    """Validation accuracy and weights of a network: a pure function of the job, in one thread."""
    data = opened(job.source)
    model = training.train(job.network, data, job.recipe, job.seed)
    return training.accuracy(model, data, "val"), model.state_dict()


def opened(source: Source) -> GraphSet:
    """The graphs, for one thread. Raises UserError where they are others."""
    training.keep_memory()
    torch.set_num_threads(1)
    data = load_graphs(source.dataset)
    if data.fingerprint != source.fingerprint:
        fix = "give all the same FGNAS_DATA_ROOT, or the same file"
        raise UserError(f"the graphs {source.dataset} are not those of the search: {fix}")
    return data


@functools.lru_cache(maxsize=2)
def _loaded(weights: str, sha256: str, kind: str, cloud: Cloud, tail: Tail) -> PointSupernet:
    """The supernet in a file."""
    content = Path(weights).read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise UserError(f"{weights} is not the supernet of this run: it is damaged; start a new run")
    model = supernet_of(kind, POSITIONS, cloud, tail)
    model.load_state_dict(torch.load(io.BytesIO(content), weights_only=True)["model"])
    return model.eval()
