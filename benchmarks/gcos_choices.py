"""Alternatives to choices made for G-CoS, measured: single paths, more bits, unlike sub-accelerators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from gcos_figures import HANDMADE, SEEDS, handmade
from gcos_searches import SYSTEM, fastest
from numpy.typing import NDArray

from fgnas.api.rankings import tau
from fgnas.engine.contracts import Candidate
from fgnas.engine.jobs import Processes, Workers
from fgnas.engine.run import configuration
from fgnas.engine.store import RunStore
from fgnas.hardware.array.dealing import deal
from fgnas.systems.gcos.composition import composed
from fgnas.systems.gcos.options import Options
from fgnas.systems.gcos.space import SPACES
from fgnas.tasks.nodes import load

TRAININGS = ((1, 600), (1, 9_600))
"""Paths of an update, and updates: the paper's single paths; and these with as many paths in all as ours."""
WIDTH = "GCN, 16"
"""The network whose bits are compared."""
GROUPS = (2, 4, 8, 12)
"""Groups of units among which rows are dealt."""


def ranks_by_paths(dataset: str, candidates: Sequence[Candidate], alone: NDArray[np.float64]) -> dict[str, float]:
    """Kendall's tau of supernets against networks that were trained alone, [networks], by how they were trained."""
    found = {}
    for paths, updates in TRAININGS:
        options = Options(dataset=dataset, paths=paths, updates=updates)
        parts = composed(options)
        with TemporaryDirectory() as folder, Workers(lambda: Processes(1)) as workers:
            store = RunStore.create(Path(folder), "run", configuration(SYSTEM, asdict(options), parts))
            parts.trainer.prepare(store, workers)
            scores = parts.trainer.score(candidates, workers)
        found[key_of(options)] = tau(np.array([one.values["val"] for one in scores]), alone)
    return found


def key_of(options: Options) -> str:
    """Paths and updates."""
    return f"{options.paths} | {options.updates}"


def bits(dataset: str) -> dict[str, Any]:
    """Validation accuracy by seed of a network trained afresh: in float, and fine-tuned in each number of bits.

    With them the cycles of its fastest array within 100 DSPs.
    """
    trainer = composed(Options(dataset=dataset, scoring="training")).trainer
    offered = next(choice.options for choice in SPACES["g-cos"](1, 128).choices if choice.name == "bits")
    designs = {number: fastest(dataset, handmade(*HANDMADE[WIDTH], number)) for number in offered}
    found: dict[str, Any] = {}
    with Workers(lambda: Processes(1)) as workers:
        first = next(iter(designs.values()))[0]
        outcomes = [trainer.retrain([first], seed, workers)[0] for seed in range(1, SEEDS + 1)]
        plain = [trainer.test(first, replace(one, model=one.model.network)) for one in outcomes]
        found["float"] = {"val": [one["float"]["val"] for one in plain]}
        for number, (design, costs) in designs.items():
            refined = trainer.refine([(design, seed, one) for seed, one in enumerate(outcomes, 1)], workers)
            values = [trainer.test(design, one)["quantised"]["val"] for one in refined]
            found[str(number)] = {"val": values, "cycles": costs["latency_cycles"]}
    return found


def imbalance(dataset: str) -> dict[str, list[float]]:
    """By number of groups, how far the fullest is above the mean: its entries of X, and its edges, as shares."""
    data = load(dataset)
    loads = np.stack([data.non_zeros, data.degrees], axis=1)
    return {str(groups): over_mean(loads, groups) for groups in GROUPS}


def over_mean(loads: NDArray[np.int64], groups: int) -> list[float]:
    """How far the fullest of the dealt groups is above the mean, for each of the [N, d] loads, as a share."""
    group = deal(loads, groups).group
    sums = np.stack([np.bincount(group, weights=load, minlength=groups) for load in loads.T])
    return [float(one) for one in sums.max(axis=1) / sums.mean(axis=1) - 1]
