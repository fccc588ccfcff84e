"""Jobs of a search for networks of operations, which workers run: pure functions of records, in one thread."""

from __future__ import annotations

import functools
import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from fgnas.errors import UserError
from fgnas.files import canonical_json
from fgnas.networks.points import supernet, training
from fgnas.networks.points.operations import PointNetwork, Tail
from fgnas.networks.points.supernet import PointSupernet, supernet_of
from fgnas.networks.points.training import Recipe
from fgnas.networks.points.work import Cloud
from fgnas.systems.hgnas.space import POSITIONS
from fgnas.tasks.points import GraphSet, load_graphs


@dataclass(frozen=True)
class Source:
    """Graphs by name, with their fingerprint."""

    dataset: str
    fingerprint: str

    @classmethod
    def of(cls, data: GraphSet) -> Source:
        """The name of graphs that are loaded."""
        return cls(data.name, data.fingerprint)


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


class Fold(NamedTuple):
    """One of so many parts of the training and validation graphs, drawn with a seed."""

    place: int
    folds: int
    seed: int


@dataclass(frozen=True)
class Alone:
    """A network to train alone; with a fold, which validates, on all others."""

    source: Source
    network: PointNetwork
    recipe: Recipe
    seed: int
    fold: Fold | None = None

    @property
    def name(self) -> str:
        """A hash of all of it."""
        content = {**vars(self), "source": vars(self.source), "network": self.network.to_dict(),
                   "recipe": vars(self.recipe)}  # fmt: skip
        return hashlib.sha256(canonical_json(content).encode()).hexdigest()[:16]


def run_scoring(job: Scoring) -> list[float]:
    """The accuracy of each network."""
    data = opened(job.source)
    model = _loaded(job.weights, job.sha256, job.kind, job.cloud, job.tail)
    found = [supernet.accuracy(model, one, data) for one in job.networks]
    training.release_memory()
    return found


def run_alone(job: Alone) -> tuple[float, dict[str, Tensor]]:
    """Validation accuracy and weights of a network."""
    data = opened(job.source)
    if job.fold is not None:
        data = data.held_out(*job.fold)
    model = training.train(job.network, data, job.recipe, job.seed)
    return training.accuracy(model, data, "val"), model.state_dict()


def run_judged(job: Alone) -> float:
    """Validation accuracy of a network."""
    return run_alone(job)[0]


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
