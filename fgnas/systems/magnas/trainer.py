"""The quality of subnets: accuracy with the weights of a supernet that is trained once (MaGNAS, section 4.1)."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from fgnas import progress
from fgnas.costs import Quantity
from fgnas.engine.contracts import Outcome, Score
from fgnas.engine.jobs import Workers
from fgnas.engine.store import RunStore
from fgnas.engine.trial import Trial
from fgnas.errors import UserError
from fgnas.networks.vision import supernet
from fgnas.networks.vision.subnet import Subnet
from fgnas.networks.vision.vig import Backbone, Vig
from fgnas.tasks.images import ImageData, load_images

SUPERNET = "supernet.pt"


@dataclass(frozen=True)
class Job:
    """Subnets to score on one split, with a supernet's file, whose digest makes it a value."""

    dataset: str
    fingerprint: str
    weights: str
    sha256: str
    subnets: tuple[Subnet, ...]
    split: str = "val"


class SupernetTrainer:
    """Scores subnets with the weights of one supernet, which `prepare` trains."""

    scores = (Quantity("val", "Validation accuracy", "share", lower_is_better=False),)
    TOGETHER = 4
    """Subnets of one job."""

    def __init__(self, data: ImageData, seed: int, recipe: supernet.Recipe) -> None:
        self.data, self.seed, self.recipe = data, seed, recipe
        self.weights, self.sha256 = Path(), ""
        self._known: dict[str, float] = {}

    def prepare(self, store: RunStore, workers: Workers) -> None:
        """Train the supernet, or continue after its last whole epoch; its file stays in the run's folder."""
        self.weights = store.folder / SUPERNET
        with progress.counted("supernet", self.recipe.epochs, "epochs") as bar:
            supernet.train(self.data, self.recipe, self.seed, self.weights, bar.show)
        self.sha256 = hashlib.sha256(self.weights.read_bytes()).hexdigest()

    def score(self, candidates: Sequence[Subnet], workers: Workers) -> list[Score]:
        """The validation accuracy of subnets, in order; none is trained."""
        new = list({one.hash: one for one in candidates if one.hash not in self._known}.values())
        jobs = [self._job(new[first : first + self.TOGETHER]) for first in range(0, len(new), self.TOGETHER)]
        found = [value for result in workers.run(jobs, run_job) for value in result]
        cached = [one.hash in self._known for one in candidates]
        self._known |= {one.hash: value for one, value in zip(new, found, strict=True)}
        return [
            Score({"val": self._known[one.hash]}, trained=False, cached=known)
            for one, known in zip(candidates, cached, strict=True)
        ]

    def _job(self, subnets: Sequence[Subnet], split: str = "val") -> Job:
        return Job(self.data.name, self.data.fingerprint, str(self.weights), self.sha256, tuple(subnets), split)

    def resume(self, trials: Sequence[Trial], store: RunStore) -> None:
        """Continue after these trials."""
        self._known |= {trial.score_key: trial.scores["val"] for trial in trials}

    def keep(self, leaders: Sequence[Trial], store: RunStore) -> None:
        """Every subnet shares the supernet's file."""

    def retrain(self, candidates: Sequence[Subnet], repetition: int, workers: Workers) -> list[Outcome]:
        """The scores again: the weights are the supernet's."""
        return [Outcome(score.values, self.seed, None) for score in self.score(candidates, workers)]

    def refine(self, jobs: Sequence[tuple[Subnet, int, Outcome]], workers: Workers) -> list[Outcome]:
        """The outcomes as they are."""
        return [outcome for _, _, outcome in jobs]

    def save(self, name: str, outcome: Outcome, store: RunStore) -> dict[str, Any]:
        """The supernet's file, relative to the run's folder, and its SHA-256."""
        return {"weights": SUPERNET, "sha256": self.sha256}

    def test(self, candidate: Subnet, outcome: Outcome) -> dict[str, dict[str, float]]:
        """Accuracy with the supernet's weights on the validation and the test split."""
        return {"supernet": {split: run_job(self._job([candidate], split))[0] for split in ("val", "test")}}


def run_job(job: Job) -> list[float]:
    """The accuracy of each subnet: a pure function of the job, in one thread."""
    torch.set_num_threads(1)
    data = load_images(job.dataset)
    if data.fingerprint != job.fingerprint:
        raise UserError(f"a worker read other images {job.dataset} than the search; give all the same FGNAS_DATA_ROOT")
    model = _loaded(Backbone.of(data), job.weights, job.sha256)
    return [supernet.accuracy(model, one, data, job.split) for one in job.subnets]


@functools.lru_cache(maxsize=1)
def _loaded(backbone: Backbone, weights: str, sha256: str) -> Vig:
    """The supernet in a file."""
    content = Path(weights).read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise UserError(f"{weights} is not the supernet of this run: it is damaged; start a new run")
    model = Vig(backbone)
    model.load_state_dict(torch.load(weights, weights_only=True)["model"])
    return model.eval()
