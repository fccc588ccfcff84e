"""Shared fixtures: a four-node graph that can be checked by hand, Cora where its raw files are, and a search on the
former that runs in a second, with its jobs in place."""

import os
from concurrent.futures import Executor, Future
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import settings

from fgnas.engine.contracts import Composition, Problem
from fgnas.engine.jobs import Workers
from fgnas.engine.survey import Survey
from fgnas.hardware.specification import Specification
from fgnas.networks.training import Recipe
from fgnas.systems.fgnas import jobs
from fgnas.systems.fgnas.space import find_space
from fgnas.systems.fgnas.target import PipelineTarget
from fgnas.systems.fgnas.trainer import DesignTrainer
from fgnas.tasks.nodes import GraphData, build, load

torch.set_num_threads(1)
# A busy machine must not fail a test.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def four_nodes() -> GraphData:
    """Edges 0 - 1, 1 - 2 twice; node 3 is isolated; three features, two classes."""
    features = np.array([[1, 0, 1], [0, 2, 2], [4, 0, 0], [0, 0, 0]], np.float32)
    edges = np.array([[0, 1, 1, 2, 1, 2], [1, 0, 2, 1, 2, 1]])
    yes, no = True, False
    return build(
        "four", features, edges, np.array([0, 1, 1, 0]),
        np.array([yes, yes, no, no]), np.array([no, no, yes, no]), np.array([no, no, no, yes]),
    )  # fmt: skip


def planetoid(name: str, raw: str) -> GraphData:
    """A graph of FGNAS_DATA_ROOT, if it is there; tests never download."""
    root = os.environ.get("FGNAS_DATA_ROOT")
    if not root or not (Path(root) / "Planetoid" / raw / "raw" / f"ind.{name}.graph").is_file():
        pytest.skip(f"FGNAS_DATA_ROOT names no folder that holds Planetoid/{raw}/raw")
    return load(name)


@pytest.fixture(scope="session")
def cora() -> GraphData:
    """Cora, if FGNAS_DATA_ROOT holds it."""
    return planetoid("cora", "Cora")


@pytest.fixture(scope="session")
def citeseer() -> GraphData:
    """CiteSeer, if FGNAS_DATA_ROOT holds it."""
    return planetoid("citeseer", "CiteSeer")


class InPlace(Executor):
    """Runs every job when it is submitted."""

    def submit(self, function, /, *arguments, **named):
        future = Future()
        try:
            future.set_result(function(*arguments, **named))
        except BaseException as error:
            future.set_exception(error)
        return future


@pytest.fixture
def in_place():
    return InPlace


@pytest.fixture
def workers():
    return Workers(InPlace)


@pytest.fixture
def space():
    restricted = find_space("fgnas").restrict(attention=("constant", "gcn"), k=(1, 2), d=(4, 8))
    return replace(restricted, dsp=20)


@pytest.fixture
def compose(four_nodes, space, monkeypatch):
    """Composes searches on the four-node graph with a latency limit that about half of the space meets."""
    monkeypatch.setattr(jobs, "load", lambda name: four_nodes)

    def made(specification=None, seed=0, in_space=space):
        specification = specification or Specification(latency_ms=0.0025, dsp=20)
        return Composition(
            space=in_space, target=PipelineTarget(in_space, four_nodes, specification),
            trainer=DesignTrainer(four_nodes, seed, Recipe(epochs=2)), limits=specification.bounds(),
            objectives=("val",), fronts=(("latency_cycles",), ("lut",)),
            delivered={"dataset": four_nodes.name, "fingerprint": four_nodes.fingerprint},
        )  # fmt: skip

    return made


@pytest.fixture
def problem_of():
    """The problem that a composition poses to a searcher; every uniform draw counts as feasible."""

    def made(parts, seed=5, children=25, **options):
        known = parts.space.draw(50, np.random.default_rng(0))
        survey = Survey(50, 1.0, {}, None, known)
        return Problem(parts.space, parts.target, parts.limits, survey, seed, children, options)

    return made
