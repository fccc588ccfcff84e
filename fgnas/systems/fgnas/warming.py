"""Warm-up: modules are imported and loops compiled before a worker's first job, and once when fgnas is set up."""

from __future__ import annotations

import numpy as np
import torch

from fgnas.hardware.pipeline.latency import Workload
from fgnas.hardware.pipeline.pricing import Pricer
from fgnas.networks.training import Recipe
from fgnas.systems.fgnas.jobs import Job, results_on
from fgnas.systems.fgnas.space import fgnas_space
from fgnas.tasks.nodes import GraphData, build

WARMING = 24
"""Random designs that together run every compiled loop of trainings and scores."""
MANY = 1 << 24
"""Edges for each edge of four nodes: cycles then need float64, for which the recurrence is compiled once more."""


def warm_up() -> None:
    """Compile or load the loops of trainings and scores, by a few designs on four nodes; nothing is kept."""
    torch.set_num_threads(1)
    data, space = four_nodes(), fgnas_space()
    designs = [space.candidate(row) for row in space.draw(WARMING, np.random.default_rng(0))]
    recipe = Recipe(epochs=1)
    results_on(data, [
        Job(data.name, "", one.architecture(), seed, 0, recipe, (one,)) for seed, one in enumerate(designs)
    ])  # fmt: skip


def compile_loops() -> None:
    """Compile the loops of trainings, scores and prices, which Numba stores beside their modules.

    A set-up calls it, so that the first search does not wait, and its workers do not all compile the same.
    """
    warm_up()
    space = fgnas_space()
    columns = space.columns(space.draw(WARMING, np.random.default_rng(0)))
    pricer = Pricer(four_nodes())
    few = pricer.workload
    for workload in (few, Workload(few.non_zeros, MANY * few.degrees, MANY * few.degree_capacity)):
        pricer.workload = workload
        pricer.price(columns, space.dsp)


def four_nodes() -> GraphData:
    """A path of four nodes of two classes."""
    edges = np.array([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
    place = np.arange(4)
    return build("four nodes", np.eye(4, dtype=np.float32), edges, place % 2, place < 2, place == 2, place == 3)
