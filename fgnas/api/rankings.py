"""How well a search's scores rank networks: Kendall's tau against networks that are trained alone."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fgnas import progress, systems
from fgnas.errors import UserError
from fgnas.files import canonical_json, replace_file

if TYPE_CHECKING:
    from fgnas.engine.contracts import Candidate, Composition, Trainer
    from fgnas.engine.jobs import Workers
    from fgnas.engine.store import RunStore

TOGETHER = 20
"""Networks that are trained before their results are stored."""
RESULTS = "rank.jsonl"


def rank(
    store: RunStore, factory: Callable[[], Executor], networks: int, seeds: int, trained: RunStore | None = None
) -> dict[str, Any]:
    """Rank correlations of a run's scores over uniform networks within its limits; see `correlations`.

    Each network is scored as in the run, and trained alone with fresh seeds as a leader is; or it has the results of
    `trained`, a run that ranked it with as many seeds and differs in nothing that a training alone depends on.
    Measurements are kept in the run's folder, so that a later call continues.
    """
    from fgnas.engine.jobs import Workers
    from fgnas.engine.run import check_resumable, configuration

    if networks < 2 or seeds < 2:
        raise UserError("a rank correlation needs two networks and two seeds at least")
    config = store.config()
    module = systems.find(config["system"])
    options = module.Options(**config["options"])
    with progress.step("load the data and the models"):
        parts = module.compose(options)
    check_resumable(store, configuration(config["system"], config["options"], parts))
    if store.best() is None:
        raise UserError(f"the run {store.name} is not finished: continue with --run {store.name} --resume")
    with Workers(factory) as workers:
        workers.warm_up_for(parts.trainer)
        with progress.step(f"draw {networks} networks within the limits"):
            candidates = uniform(parts, networks, options.seed)
        with progress.step("prepare what every score needs"):
            parts.trainer.prepare(store, workers)
        found = measured(store, parts.trainer, workers, candidates, seeds, trained)
    scores = np.array([one["score"] for one in found])
    return {"run": store.name, **correlations(scores, np.array([one["alone"] for one in found]).T)}


def uniform(parts: Composition, count: int, seed: int) -> list[Candidate]:
    """Uniform draws that keep the limits and share no training."""
    rng = np.random.default_rng([seed, count])
    found: dict[str, Candidate] = {}
    for _ in range(1000):
        rows = parts.space.draw(count, rng)
        for row in rows[parts.feasible(rows)]:
            candidate = parts.space.candidate(row)
            found.setdefault(candidate.training_key, candidate)
        if len(found) >= count:
            return list(found.values())[:count]
    raise UserError(f"the space has no {count} different networks: ask for {len(found)}")


Known = dict[tuple[str, int], dict[str, Any]]
"""(hash, number of seeds) -> what was measured of a network."""


def known_of(store: RunStore) -> Known:
    """What a run has measured."""
    path = store.folder / RESULTS
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines() if path.is_file() else [])
    return {(one["hash"], len(one["alone"])): one for one in lines}


def measured(
    store: RunStore, trainer: Trainer, workers: Workers, candidates: Sequence[Candidate], seeds: int,
    trained: RunStore | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """The score of each candidate, and its scores when it is trained alone with each seed, see `rank`."""
    name, known = trainer.scores[0].name, known_of(store)
    others = known_of(trained) if trained else Known()
    alone = {digest: one["alone"] for (digest, count), one in others.items() if count == seeds}
    missing = [candidate for candidate in candidates if (candidate.hash, seeds) not in known]
    for first in range(0, len(missing), TOGETHER):
        part = missing[first : first + TOGETHER]
        with _shown(workers, len(candidates) - len(missing) + first, len(candidates)):
            scores = trainer.score(part, workers)
            new = [candidate for candidate in part if candidate.hash not in alone]
            outcomes = [trainer.retrain(new, repetition, workers) for repetition in range(1, seeds + 1) if new]
        for place, candidate in enumerate(new):
            alone[candidate.hash] = [outcome[place].scores[name] for outcome in outcomes]
        for candidate, score in zip(part, scores, strict=True):
            one = {"hash": candidate.hash, "score": score.values[name], "alone": alone[candidate.hash]}
            known[candidate.hash, seeds] = one
        content = "".join(f"{canonical_json(one)}\n" for one in known.values())
        replace_file(store.folder / RESULTS, content.encode())
        store.end_trainings()
    return [known[candidate.hash, seeds] for candidate in candidates]


@contextmanager
def _shown(workers: Workers, done: int, total: int) -> Iterator[None]:
    """Show how many networks are measured while others are."""
    with progress.counted("rank", total, "networks") as bar:
        workers.watch = lambda ended, jobs: bar.show(done, f"{ended} of {jobs} jobs of the next {TOGETHER}")
        yield


def correlations(scores: NDArray[np.float64], alone: NDArray[np.float64]) -> dict[str, Any]:
    """Kendall's tau of scores [n] against the means of [seeds, n] accuracies of networks that are trained alone.

    `seeds` is the mean tau between two seeds: no score can rank networks much better. Both also over the half that is
    better when trained alone.
    """
    means = alone.mean(axis=0)
    better = np.argsort(-means, kind="stable")[: (len(means) + 1) // 2]
    return {
        "networks": len(scores), "trainings": alone.size,
        "tau": tau(scores, means), "tau_better_half": tau(scores[better], means[better]),
        "seeds_tau": _between(alone), "seeds_tau_better_half": _between(alone[:, better]),
        "mean_score": float(scores.mean()), "mean_alone": float(means.mean()),
    }  # fmt: skip


def tau(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Kendall's tau-b; 0 where one of both is constant."""
    from scipy.stats import kendalltau

    found = float(kendalltau(one, other).statistic)
    return 0.0 if np.isnan(found) else found


def _between(alone: NDArray[np.float64]) -> float:
    return float(np.mean([tau(one, other) for one, other in itertools.combinations(alone, 2)]))
