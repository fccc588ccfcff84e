"""Warm-up of a worker: it imports modules and compiles loops before its first job."""

from __future__ import annotations

import numpy as np
import torch

from fgnas.networks.training import Recipe
from fgnas.systems.fgnas.jobs import Job, results_on
from fgnas.systems.fgnas.space import fgnas_space
from fgnas.tasks.nodes import build

WARMING = 24
"""Random designs that together run every compiled loop of trainings and scores."""


def warm_up() -> None:
    """Compile or load the loops of trainings and scores, by a few designs on four nodes; nothing is kept."""
    torch.set_num_threads(1)
    edges = np.array([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
    place = np.arange(4)
    data = build("four nodes", np.eye(4, dtype=np.float32), edges, place % 2, place < 2, place == 2, place == 3)
    space = fgnas_space()
    designs = [space.candidate(row) for row in space.draw(WARMING, np.random.default_rng(0))]
    recipe = Recipe(epochs=1)
    results_on(data, [
        Job(data.name, "", one.architecture(), seed, 0, recipe, (one,)) for seed, one in enumerate(designs)
    ])  # fmt: skip
