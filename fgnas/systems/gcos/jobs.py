"""The work of a worker: score networks with the weights of a supernet. It never uses the test nodes."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

import torch

from fgnas.design import Design
from fgnas.errors import UserError
from fgnas.networks import supernet
from fgnas.tasks.pooled import load


@dataclass(frozen=True)
class Scoring:
    """Designs to score with a supernet's file, whose digest makes it a value."""

    dataset: str
    fingerprint: str
    weights: str
    sha256: str
    bounds: supernet.Bounds
    designs: tuple[Design, ...]


def run_scoring(job: Scoring) -> list[dict[str, float]]:
    """The validation accuracies of each design: a pure function of the job, in one thread."""
    torch.set_num_threads(1)
    data = load(job.dataset)
    if data.fingerprint != job.fingerprint:
        raise UserError(f"a worker read another {job.dataset} than the search; give all the same FGNAS_DATA_ROOT")
    shared = _loaded(job.weights, job.bounds, job.sha256)
    return [supernet.accuracies(shared, design, data) for design in job.designs]


@functools.lru_cache(maxsize=1)
def _loaded(weights: str, bounds: supernet.Bounds, sha256: str) -> supernet.Supernet:
    return supernet.load(Path(weights), bounds, sha256)
