"""Algorithm 1 of G-CoS beside other ways to search, at equal evaluations and at equal processor seconds."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from gcos_searches import WIDTHS, found_by, scored, searched_alone
from moocore import hypervolume

from fgnas.design import Design
from fgnas.systems.gcos.composition import composed
from fgnas.systems.gcos.options import Options

DATASET, CYCLES = "cora", 20_000
"""The graph, and the most cycles of a design."""
EPOCHS = 20
"""Epochs of the short trainings in the supernet's place."""
BASELINE, OURS, STAGED = "random", "Algorithm 1", "network first, then engine"
SHORT = f"Algorithm 1, {EPOCHS} epochs for each network"
METHODS: dict[str, dict[str, Any]] = {
    BASELINE: {"method": "random", "distinct": True},
    OURS: {"method": "pool"},
    "reinforce": {"method": "reinforce"},
    "GCN-16, engine searched": {"space": "gcn-16"},
    "one engine, network searched": {"space": "one-engine"},
    STAGED: {**searched_alone(max(WIDTHS)), "latency_ms": None},
    SHORT: {"scoring": "training", "epochs": EPOCHS},
}
"""Every method by the options that make it."""
LEAST_ACCURACY = 0.5
"""The hypervolume is of the accuracy above this, and of the cycles below the limit, as shares of the latter."""
SIZES = {"children": 600, "leaders": 4, "retrain_seeds": 2}
"""Size of each search at equal evaluations."""
MOST_CHILDREN = 5_000

Points = Sequence[Sequence[float]]
"""Accuracies and cycles."""


def milliseconds(cycles: int) -> float:
    """Latency at the default clock."""
    return cycles / (1000 * Options.clock_mhz)


def compared(method: str, seed: int, children: int = SIZES["children"]) -> dict[str, Any]:
    """The leaders of a search as retrained accuracies and cycles, its front by its own scores, and its time."""
    given = {"dataset": DATASET, "latency_ms": milliseconds(CYCLES), "seed": seed, **SIZES, **METHODS[method]}
    found = found_by(**{name: value for name, value in (given | {"children": children}).items() if value is not None})
    taken = cycles_on_any_engine if method == STAGED else cycles_on_its_engine
    points = [[one["retrained_val"]["mean"], taken(one["design"], one["costs"])] for one in found.leaders]
    trials = [[one.scores["val"], taken(one.design, one.costs)] for one in found.trials]
    points, trials = ([[score, cycles] for score, cycles in part if cycles < np.inf] for part in (points, trials))
    return {
        "points": points, "volume": volume(points), "searched": None if method == SHORT else volume(trials),
        "children": len(found.trials), "search_s": found.search_s, "supernet_s": found.supernet_s,
    }  # fmt: skip


def cycles_on_its_engine(design: dict[str, Any], costs: dict[str, float]) -> float:
    """The cycles of a design."""
    return costs["latency_cycles"]


def cycles_on_any_engine(design: dict[str, Any], costs: dict[str, float]) -> float:
    """The fewest cycles of a network with its formats; infinite without an engine that keeps the limit."""
    return cycles_by_network().get(Design.from_dict(design).score_key, np.inf)


def affordable(record: dict[str, dict[str, Any]], method: str) -> int:
    """Evaluations of a method in the processor seconds of Algorithm 1, from searches at equal evaluations.

    A search that ended early spent most of its time on draws that were evaluated before, to be sure that there is no
    other; the time of one of its evaluations is taken from Algorithm 1.
    """
    ours, own = of_method(record, OURS), of_method(record, method)
    budget = sum(np.median([one[name] for one in ours]) for name in ("supernet_s", "search_s"))
    ended = any(one["children"] < SIZES["children"] for one in own)
    each = np.median([one["search_s"] / one["children"] for one in (ours if ended else own)])
    left = float(budget - np.median([one["supernet_s"] for one in own]))
    return max(1, min(MOST_CHILDREN, int(left / each)))


def of_method(record: dict[str, dict[str, Any]], method: str) -> list[dict[str, Any]]:
    """The results of a method, by seed."""
    return [one for key, one in sorted(record.items()) if key.startswith(f"{method} | ")]


def volume(points: Points) -> float:
    """Hypervolume of accuracies and cycles, each a share."""
    inside = [[-mean, taken / CYCLES] for mean, taken in points if mean > LEAST_ACCURACY and taken <= CYCLES]
    return float(hypervolume(np.array(inside), ref=[-LEAST_ACCURACY, 1.0])) if inside else 0.0


def everything(seed: int) -> dict[str, Any]:
    """The volume of all designs: every network in every format scored with the supernet, on its fastest engine."""
    designs, cycles = on_fastest_engines()
    points = [[score, taken] for score, taken in zip(scored(DATASET, designs, seed), cycles, strict=True)]
    return {"volume": volume(points), "scores": len(points)}


@functools.cache
def cycles_by_network() -> dict[str, float]:
    """The cycles of every network in every format that an engine runs within the limit, on its fastest engine."""
    return {one.score_key: taken for one, taken in zip(*on_fastest_engines(), strict=True)}


@functools.cache
def on_fastest_engines() -> tuple[list[Design], list[float]]:
    """Every network in every format that an engine runs within the limit, and its fewest cycles."""
    parts = composed(Options(dataset=DATASET))
    kinds = np.array([decision.kind == "hardware" for decision in parts.space.decisions])
    options = [range(len(decision.options)) for decision in parts.space.decisions]
    engines = np.array(list(itertools.product(*itertools.compress(options, kinds))), np.int16)
    designs, cycles = [], []
    for network in itertools.product(*itertools.compress(options, ~kinds)):
        rows = np.zeros((len(engines), len(kinds)), np.int16)
        rows[:, kinds], rows[:, ~kinds] = engines, network
        rows = np.unique(parts.space.repaired(rows), axis=0)
        costs = parts.target.price(rows)
        taken = np.where(parts.feasible(rows), costs["latency_cycles"], np.inf)
        if taken.min() <= CYCLES:
            designs.append(parts.space.candidate(rows[taken.argmin()]))
            cycles.append(float(taken.min()))
    return designs, cycles
