"""A whole search: from the survey to the delivered candidate."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fgnas import progress
from fgnas.engine.contracts import Composition, MakeSearcher, Problem
from fgnas.engine.finish import Leaders
from fgnas.engine.front import fronts
from fgnas.engine.jobs import ExecutorFactory, Workers
from fgnas.engine.loop import SearchLoop, Status
from fgnas.engine.store import RunStore, compare
from fgnas.engine.survey import survey
from fgnas.errors import UserError
from fgnas.options import SearchOptions


@dataclass(frozen=True)
class Plan:
    """The size of a search, and the options that its searcher reads.

    Attributes:
        children: valid samples to evaluate, repeats included.
        seed: the seed of all random numbers.
        leaders, retrain_seeds: number of distinct candidates retrained at the end, and of seeds for each.
        options: every option of the run, by name.
        trainings: at most so many distinct trainings before that; None: no limit.
    """

    children: int
    seed: int
    leaders: int
    retrain_seeds: int
    options: dict[str, Any]
    trainings: int | None = None

    @classmethod
    def of(cls, options: SearchOptions) -> Plan:
        """The plan of a search with these options."""
        size = (options.children, options.seed, options.leaders, options.retrain_seeds)
        return cls(*size, asdict(options), options.trainings)


def configuration(system: str, options: dict[str, Any], parts: Composition) -> dict[str, Any]:
    """The content of config.json: everything that determines a run, and the meaning of its trials."""
    described: dict[str, Any] = {
        "system": system,
        "label": parts.label,
        "options": options,
        "space": {
            "name": parts.space.name, "decisions": [decision.to_dict() for decision in parts.space.decisions],
        },
        "costs": [cost.to_dict() for cost in parts.target.costs],
        "scores": [score.to_dict() for score in parts.trainer.scores],
        "limits": {limit.cost: limit.bound for limit in parts.limits},
        "objectives": list(parts.objectives),
        "fronts": [list(costs) for costs in parts.fronts],
        "saved": parts.saved,
        "identity": dict(parts.identity),
        "versions": versions(),
    }  # fmt: skip
    return dict(json.loads(json.dumps(described)))


def versions() -> dict[str, str]:
    """The versions that results depend on, in addition to the configuration."""
    return {
        "fgnas": importlib.metadata.version("fgnas"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": torch.__version__,
        "cpu": cpu_name(),
    }


def cpu_name() -> str:
    """The processor's model, as Linux reports it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def check_resumable(store: RunStore, config: dict[str, Any]) -> None:
    """Raise UserError if the configuration or the versions differ from the run's."""
    if difference := compare(store.config(), config):
        raise UserError(f"cannot continue the run {store.name}: {difference}; start a new run")


def search(
    parts: Composition,
    plan: Plan,
    make_searcher: MakeSearcher,
    open_store: Callable[[], RunStore],
    factory: ExecutorFactory,
    *,
    resume: bool = False,
) -> dict[str, Any]:
    """Search, retrain the leaders, deliver the best: the content of best.json.

    The store is created only after the limits have proven feasible.
    """
    # The number of threads that sum a product decides its last bits.
    torch.set_num_threads(1)
    with Workers(factory) as workers:
        surveyed = survey(parts.space, parts.target, parts.limits, parts.survey_draws)
        progress.say(f"{surveyed}{parts.remark(surveyed.found)}")
        problem = Problem(parts.space, parts.target, parts.limits, surveyed, plan.seed, plan.children, plan.options)
        searcher = make_searcher(problem)
        distinct = bool(plan.options.get("distinct")) or getattr(searcher, "distinct", False)
        store = open_store()
        parts.trainer.prepare(store, workers)
        with progress.counted("search", plan.children) as bar:
            loop = SearchLoop(
                searcher, parts, store, workers, children=plan.children, batch=searcher.batch, leaders=plan.leaders,
                distinct=distinct, trainings=plan.trainings, report=lambda status: bar.show(status.done, told(status)),
            )  # fmt: skip
            if resume:
                loop.resume()
            trials = loop.run()
        store.write_json("pareto.json", fronts(trials, parts.trainer.scores[0].name, parts.fronts))
        for name, content in parts.results(trials).items():
            store.write_json(name, content)
        chosen = loop.leaders()
        candidates = [parts.space.candidate(np.array(trial.row, np.int16)) for trial in chosen]
        finalists = Leaders(parts, chosen, candidates, plan.retrain_seeds)
        progress.say("the best designs are trained again with fresh seeds")
        with progress.counted("retrain", plan.retrain_seeds + 1, "rounds") as bar:
            finalists.retrain(workers, lambda done, total: bar.show(done))
            finalists.choose_cheapest(workers)
            finalists.refine(workers, lambda done, total: bar.show(done))
        return finalists.deliver(store)


def told(status: Status) -> str:
    """The state of a search in a few words."""
    return f"best {status.best:.1%}, feasible {status.share:.2%}, {status.trainings} trained"
