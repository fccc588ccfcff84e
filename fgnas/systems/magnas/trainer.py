"""The quality of subnets: accuracy with the weights of a supernet that is trained once (MaGNAS, section 4.1)."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
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
from fgnas.systems.magnas.kernels import AnyKernel, kernel_of
from fgnas.systems.magnas.mapped import mapped_subnet
from fgnas.systems.magnas.target import MappedTarget, Mapping
from fgnas.tasks.images import ImageData, load_images

SUPERNET = "supernet.pt"


@dataclass(frozen=True)
class Source:
    """Images, and a supernet's file, whose digest makes it a value, with the metric of its nearest patches."""

    dataset: str
    fingerprint: str
    weights: str
    sha256: str
    metric: str = "cosine"


@dataclass(frozen=True)
class Job:
    """Subnets to score on one split, in floats."""

    source: Source
    subnets: tuple[Subnet, ...]
    split: str = "val"


@dataclass(frozen=True)
class MappedJob:
    """A mapped subnet to score, its steps on kernels in fixed point."""

    source: Source
    subnet: Subnet
    mapping: Mapping
    kernels: tuple[AnyKernel, ...]
    splits: tuple[str, ...] = ("val",)


class SupernetTrainer:
    """Scores subnets with the weights of one supernet, which `prepare` trains.

    The leaders are scored again as they are mapped, with the integers of their kernels.
    """

    scores = (Quantity("val", "Validation accuracy", "share", lower_is_better=False),)
    TOGETHER = 4
    """Subnets of one job."""

    def __init__(self, data: ImageData, seed: int, recipe: supernet.Recipe, target: MappedTarget) -> None:
        self.data, self.seed, self.recipe, self.target = data, seed, recipe, target
        self.kernels = {name: kernel_of(name, facts) for name, facts in target.platform.builds.items()}
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
        return Job(self._source, tuple(subnets), split)

    @property
    def _source(self) -> Source:
        return Source(self.data.name, self.data.fingerprint, str(self.weights), self.sha256, self.recipe.metric)

    def _mapped_job(self, subnet: Subnet, mapping: Mapping, *splits: str) -> MappedJob | None:
        """The job of a mapped subnet; None where it runs on no kernel."""
        used = tuple(kernel for name, kernel in self.kernels.items() if name in mapping.units)
        return MappedJob(self._source, subnet, mapping, used, splits) if used else None

    def resume(self, trials: Sequence[Trial], store: RunStore) -> None:
        """Continue after these trials."""
        self._known |= {trial.score_key: trial.scores["val"] for trial in trials}

    def keep(self, leaders: Sequence[Trial], store: RunStore) -> None:
        """Every subnet shares the supernet's file."""

    def retrain(self, candidates: Sequence[Subnet], repetition: int, workers: Workers) -> list[Outcome]:
        """The scores as the subnets are mapped; the weights are the supernet's."""
        floats = [score.values["val"] for score in self.score(candidates, workers)]
        mappings = [self.target.mapping(subnet) for subnet in candidates]
        jobs = [self._mapped_job(subnet, mapping, "val") for subnet, mapping in zip(candidates, mappings, strict=True)]
        found = iter(workers.run([job for job in jobs if job is not None], run_mapped))
        values = [value if job is None else next(found)[0] for value, job in zip(floats, jobs, strict=True)]
        return [Outcome({"val": value}, self.seed, mapping) for value, mapping in zip(values, mappings, strict=True)]

    def refine(self, jobs: Sequence[tuple[Subnet, int, Outcome]], workers: Workers) -> list[Outcome]:
        """The outcomes as they are."""
        return [outcome for _, _, outcome in jobs]

    def save(self, name: str, outcome: Outcome, store: RunStore) -> dict[str, Any]:
        """The supernet's file, relative to the run's folder, its SHA-256, the mapping, and the platform's kernels."""
        kernels = {name: kernel.to_dict() for name, kernel in self.kernels.items()}
        return {
            "weights": SUPERNET, "sha256": self.sha256, "mapping": asdict(outcome.model), "kernels": kernels,
        }  # fmt: skip

    def test(self, candidate: Subnet, outcome: Outcome) -> dict[str, dict[str, float]]:
        """Accuracy in floats, and as mapped where kernels run some steps, on the validation and the test split."""
        splits = ("val", "test")
        found = {"supernet": {split: run_job(self._job([candidate], split))[0] for split in splits}}
        job = self._mapped_job(candidate, outcome.model, *splits)
        return found if job is None else found | {"mapped": dict(zip(splits, run_mapped(job), strict=True))}


def run_job(job: Job) -> list[float]:
    """The accuracy of each subnet: a pure function of the job, in one thread."""
    data, model = opened(job.source)
    return [supernet.accuracy(model, one, data, job.split) for one in job.subnets]


@functools.lru_cache(maxsize=4)
def run_mapped(job: MappedJob) -> tuple[float, ...]:
    """The accuracy of a mapped subnet on each split: a pure function of the job, in one thread."""
    data, model = opened(job.source)
    kernels = {kernel.name: kernel for kernel in job.kernels}
    subnet = mapped_subnet(model, job.subnet, data, job.mapping, kernels)
    found = tuple(subnet.accuracy(data, split) for split in job.splits)
    model.forget()
    return found


def opened(source: Source) -> tuple[ImageData, Vig]:
    """The images and the supernet, for one thread. Raises UserError where either is another one."""
    torch.set_num_threads(1)
    data = load_images(source.dataset)
    if data.fingerprint != source.fingerprint:
        fix = "give all the same FGNAS_DATA_ROOT, or the same file"
        raise UserError(f"the images {source.dataset} are not those of the search: {fix}")
    return data, _loaded(Backbone.of(data, source.metric), source.weights, source.sha256)


@functools.lru_cache(maxsize=1)
def _loaded(backbone: Backbone, weights: str, sha256: str) -> Vig:
    """The supernet in a file."""
    content = Path(weights).read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise UserError(f"{weights} is not the supernet of this run: it is damaged; start a new run")
    model = Vig(backbone)
    model.load_state_dict(torch.load(weights, weights_only=True)["model"])
    return model.eval()
