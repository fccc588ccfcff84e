"""The work of a worker: train one architecture, and score designs of it. It never uses the test nodes."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from fgnas.design import Design
from fgnas.errors import UserError
from fgnas.network import Network
from fgnas.networks.calibration import calibrate, observe
from fgnas.networks.finetuning import fine_tuned
from fgnas.networks.model import Architecture
from fgnas.networks.quantised import quantised_accuracy
from fgnas.networks.training import Recipe, Trained, train
from fgnas.tasks.nodes import load


@dataclass(frozen=True, eq=False)
class Job:
    """Designs of one architecture, to score with one trained network.

    Attributes:
        dataset, fingerprint: the dataset to load, and its expected fingerprint.
        architecture, seed, recipe: the network to train, and the settings of its training.
        designs: the designs to score.
        trained: the trained network, if it already exists.
        tune: whether to fine-tune for each design, with its roundings, before scoring.
    """

    dataset: str
    fingerprint: str
    architecture: Architecture
    seed: int
    recipe: Recipe
    designs: tuple[Design, ...]
    trained: Trained | None = None
    tune: bool = False

    @property
    def cost(self) -> float:
        """Approximate duration in arbitrary units: the longest job starts first, so that workers end together."""
        if self.trained is not None and not self.tune:
            return len(self.designs)
        slow = {"gat": 3.0, "gcn": 1.0, "constant": 1.0}
        return 10 + sum(
            layer["k"] * (layer["d"] or 8) * slow[layer["attention"]] * (2 if layer["aggregation"] == "max" else 1)
            for layer in self.architecture
        )


@dataclass(frozen=True, eq=False)
class Result:
    """The trained network, the quantised validation accuracy of each design, and the fine-tuned networks."""

    trained: Trained
    val: list[float]
    tuned: list[Network] = field(default_factory=list)


def run_job(job: Job) -> Result:
    """A pure function of the job, in one thread; it never uses the test nodes."""
    torch.set_num_threads(1)
    data = load(job.dataset)
    if data.fingerprint != job.fingerprint:
        raise UserError(f"a worker read another {job.dataset} than the search; give all the same FGNAS_DATA_ROOT")
    trained = job.trained or train(data, job.architecture, job.seed, job.recipe)
    observation = observe(job.architecture, trained.network, data)
    val, tuned = [], []
    for design in job.designs:
        network = calibrate(design, trained.network, observation)
        if job.tune:
            network = fine_tuned(design, network, data, job.seed, job.recipe)
            tuned.append(network)
        val.append(quantised_accuracy(design, network, data, ("val",))["val"])
    return Result(trained, val, tuned)
