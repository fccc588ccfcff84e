"""The work of a worker: train architectures, and score designs of them in the integers of their own hardware.

It never uses the test nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from fgnas.design import Design
from fgnas.errors import UserError
from fgnas.network import Network
from fgnas.networks.calibration import calibrate, observe
from fgnas.networks.finetuning import fine_tuned
from fgnas.networks.model import Architecture
from fgnas.networks.quantised import quantised_accuracy
from fgnas.networks.training import Recipe, Trained, train_many
from fgnas.tasks.nodes import GraphData
from fgnas.tasks.pooled import load


@dataclass(frozen=True, eq=False)
class Job:
    """Designs of one architecture, to score with one trained network.

    Attributes:
        dataset, fingerprint: the dataset to load, and its expected fingerprint.
        architecture, seed, input_seed, recipe: the network to train, and the settings of its training.
        designs: the designs to score.
        trained: the trained network, if it already exists.
        tune: whether to fine-tune for each design, with its roundings, before scoring.
    """

    dataset: str
    fingerprint: str
    architecture: Architecture
    seed: int
    input_seed: int
    recipe: Recipe
    designs: tuple[Design, ...]
    trained: Trained | None = None
    tune: bool = False

    @property
    def columns(self) -> int:
        """Columns of the first layer, as a measure of the work."""
        first = self.architecture[0]
        return int(first["k"] * (first["d"] or 1))


@dataclass(frozen=True, eq=False)
class Result:
    """The trained network, the quantised validation accuracy of each design, and the fine-tuned networks."""

    trained: Trained
    val: list[float]
    tuned: list[Network] = field(default_factory=list)


TOGETHER = 128
"""Columns of the first layer that are trained at once: more no longer fit in a processor's cache."""


def bundled(jobs: Sequence[Job], workers: int) -> list[tuple[Job, ...]]:
    """Jobs to run together, trainings in at least one bundle for each worker, others in a bundle each.

    How jobs are bundled changes no result.
    """
    new = [job for job in jobs if job.trained is None]
    parts = max(min(workers, len(new)), -(-sum(job.columns for job in new) // TOGETHER))
    bundles: list[list[Job]] = [[] for _ in range(parts)]
    filled = [0] * parts
    for job in sorted(new, key=lambda job: -job.columns):
        place = filled.index(min(filled))
        bundles[place].append(job)
        filled[place] += job.columns
    alone = [(job,) for job in jobs if job.trained is not None]
    return [*(tuple(bundle) for bundle in bundles if bundle), *alone]


def run_bundle(bundle: Sequence[Job]) -> list[Result]:
    """A pure function of the jobs, in one thread, networks of one recipe at once; it never uses the test nodes."""
    torch.set_num_threads(1)
    data = load(bundle[0].dataset)
    if data.fingerprint != bundle[0].fingerprint:
        name = bundle[0].dataset
        raise UserError(f"a worker read another {name} than the search; give all the same FGNAS_DATA_ROOT")
    return results_on(data, bundle)


def results_on(data: GraphData, bundle: Sequence[Job]) -> list[Result]:
    """The results of jobs whose data are loaded."""
    new = [job for job in bundle if job.trained is None]
    trained = {job.seed: job.trained for job in bundle}
    if new:
        architectures, seeds = [job.architecture for job in new], [job.seed for job in new]
        found = train_many(data, architectures, seeds, new[0].recipe, new[0].input_seed)
        trained |= dict(zip(seeds, found, strict=True))
    return [_scored(job, trained[job.seed], data) for job in bundle]


def _scored(job: Job, trained: Trained | None, data: GraphData) -> Result:
    """The scores of a job's designs with its network."""
    assert trained is not None
    observation = observe(job.architecture, trained.network, data)
    val, tuned = [], []
    for design in job.designs:
        network = calibrate(design, trained.network, observation)
        if job.tune:
            network = fine_tuned(design, network, data, job.seed, job.recipe)
            tuned.append(network)
        val.append(quantised_accuracy(design, network, data, ("val",))["val"])
    return Result(trained, val, tuned)
