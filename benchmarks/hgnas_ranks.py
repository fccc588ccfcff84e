"""HGNAS: how scores rank the networks of one set of functions, which the second stage of a search does.

Each network is scored with the shared supernet, with one of its set's functions that continues from it, and by a short
training; then it is trained alone. Sets are uniform among those that have enough networks; a search judges the best set
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fgnas.api.rankings import correlations, measured
from fgnas.engine.contracts import Composition
from fgnas.engine.jobs import Workers
from fgnas.engine.store import RunStore
from fgnas.systems.hgnas import Options, compose
from fgnas.systems.hgnas.space import PointCandidate

SETS, EACH = 3, 20
DRAW_SEED = (0, 5, 20)
DRAWN = 400
"""Rows of a set, among which its networks are looked for."""
SEEDS = 2


def within_sets(folder: Path, factory: Callable[[], Executor]) -> dict[str, dict[str, Any]]:
    """Correlations of each kind of scores, means over sets of functions: {"shared": ..., "own": ..., "training": ...}.

    `folder` has the shared supernet of the default search's seed, and keeps what was measured.
    """
    parts, briefly = compose(Options()), compose(Options(scoring="training"))
    sets = drawn(parts, DRAW_SEED)
    networks = [[replace(one, functions=()) for one in mine] for mine in sets]
    shared, own, short = RunStore(folder), RunStore(folder / "own"), RunStore(folder / "training")
    for store in (own, short):
        store.folder.mkdir(exist_ok=True)
    with Workers(factory) as workers:
        workers.warm_up_for(parts.trainer)
        parts.trainer.prepare(shared, workers)
        found = {
            "shared": [measured(shared, parts.trainer, workers, mine, SEEDS, None) for mine in networks],
            "own": [measured(own, parts.trainer, workers, mine, SEEDS, shared) for mine in sets],
            "training": [measured(short, briefly.trainer, workers, mine, SEEDS, shared) for mine in networks],
        }
    return {name: averaged(results) for name, results in found.items()}


def drawn(parts: Composition, seed: Sequence[int]) -> list[list[PointCandidate]]:
    """SETS sets of functions, each with EACH uniform networks that share no training, scored with their own weights."""
    space, rng = parts.space, np.random.default_rng(seed)
    kinds = np.array([one.kind for one in space.decisions])
    found, taken = list[list[PointCandidate]](), set[str]()
    while len(found) < SETS:
        rows = np.where(kinds == "function", space.draw(1, rng), space.draw(DRAWN, rng))
        rows[:, kinds == "stage"] = 0
        candidates = (space.candidate(row) for row in rows[parts.feasible(rows)])
        mine = {one.training_key: one for one in candidates if one.training_key not in taken}
        if len(mine) >= EACH:
            found.append(list(mine.values())[:EACH])
            taken.update(one.training_key for one in found[-1])
    return found


def averaged(sets: Sequence[Sequence[dict[str, Any]]]) -> dict[str, Any]:
    """Means over sets of the correlations within each; and tau of each set."""
    each = [
        correlations(np.array([one["score"] for one in mine]), np.array([one["alone"] for one in mine]).T)
        for mine in sets
    ]
    means = {name: float(np.mean([one[name] for one in each])) for name in each[0]}
    return means | {"sets": len(each), "taus": [one["tau"] for one in each]}
