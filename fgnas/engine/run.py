"""A whole search: from the survey to the delivered candidate."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fgnas import progress
from fgnas.engine.contracts import Composition, MakeSearcher, Problem, Searcher, Watcher
from fgnas.engine.early import Early
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
        finalists: leaders that train with every seed, the best by the first one; None: all.
    """

    children: int
    seed: int
    leaders: int
    retrain_seeds: int
    options: dict[str, Any]
    trainings: int | None = None
    finalists: int | None = None

    @classmethod
    def of(cls, options: SearchOptions) -> Plan:
        """The plan of a search with these options."""
        size = (options.children, options.seed, options.leaders, options.retrain_seeds)
        return cls(*size, asdict(options), options.trainings, getattr(options, "finalists", None))


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
    if parts.weights:
        described["weights"] = dict(parts.weights)
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


SIZE = ("children", "trainings")
"""Options of which a run that is continued may have more than before."""


def check_resumable(store: RunStore, config: dict[str, Any]) -> bool:
    """Whether more children or trainings are wanted than before.

    Raises UserError if anything else in the configuration or the versions differs from the run's.
    """
    stored = store.config()
    before, now = stored["options"], config["options"]
    more = {name: now[name] for name in SIZE if None not in (before[name], now[name]) and now[name] > before[name]}
    if difference := compare(stored | {"options": before | more}, config):
        raise UserError(f"cannot continue the run {store.name}: {difference}; start a new run")
    return bool(more)


def check_plan(searcher: Searcher, method: str, before: int | None, children: int) -> None:
    """Raise UserError where a searcher that wanted another number of children would have begun in another way."""
    planned = getattr(searcher, "planned", None)
    if planned is not None and before is not None and planned(before) != planned(children):
        raise UserError(
            f"--method {method} plans its children from the start: with {children} of them instead of {before} it "
            "searches in another way from the first; start a new run"
        )


def search(
    parts: Composition,
    plan: Plan,
    make_searcher: MakeSearcher,
    open_store: Callable[[], RunStore],
    factory: ExecutorFactory,
    *,
    resume: bool = False,
    before: int | None = None,
    watchers: Sequence[Watcher] = (),
) -> dict[str, Any]:
    """Search, retrain the leaders, deliver the best: the content of best.json.

    The store is created only after the limits have proven feasible. `before`: the children that a resumed run wanted.
    """
    # The number of threads that sum a product decides its last bits.
    torch.set_num_threads(1)
    with Workers(factory) as workers:
        workers.warm_up_for(parts.trainer)
        with progress.step("price random candidates"):
            surveyed = survey(parts.space, parts.target, parts.limits, parts.survey_draws)
        progress.say(f"{surveyed}{parts.remark(surveyed.found)}")
        problem = Problem(parts.space, parts.target, parts.limits, surveyed, plan.seed, plan.children, plan.options)
        searcher = make_searcher(problem)
        check_plan(searcher, plan.options["method"], before, plan.children)
        store = open_store()
        with progress.step("prepare what every score needs"):
            parts.trainer.prepare(store, workers)
        loop = SearchLoop(
            searcher, parts, store, workers, children=plan.children, batch=searcher.batch, leaders=plan.leaders,
            distinct=bool(plan.options.get("distinct")) or getattr(searcher, "distinct", False),
            trainings=plan.trainings,
        )  # fmt: skip
        if resume:
            loop.resume()
        _watched(loop, watchers)
        best = _deliver(parts, plan, loop, store, workers)
        store.end_trainings()
        for watcher in watchers:
            watcher.end(store, best)
        return best


def _watched(loop: SearchLoop, watchers: Sequence[Watcher]) -> None:
    """Run the loop to its end, in sight of the user and the watchers; its best design so far can be built meanwhile."""
    early, seen = Early(loop.parts, loop.store, loop.workers), len(loop.trials)
    for watcher in watchers:
        watcher.begin(loop.store, loop.trials)
    with progress.counted("search", loop.children) as bar:

        def report(status: Status) -> None:
            nonlocal seen
            new, seen = loop.trials[seen:], len(loop.trials)
            bar.show(status.done, told(status))
            for watcher in watchers:
                watcher.see(new)
            early.update(status.done, loop.leaders())

        loop.report = report
        loop.workers.watch = lambda ended, total: bar.show(len(loop.trials), f"{ended} of {total} jobs of this batch")
        if loop.trials:  # it was stopped before its first design was ready
            early.update(len(loop.trials), loop.leaders())
        loop.run()


def _deliver(parts: Composition, plan: Plan, loop: SearchLoop, store: RunStore, workers: Workers) -> dict[str, Any]:
    """Write the fronts, retrain the leaders and deliver the best of them."""
    trials = loop.trials
    store.write_json("pareto.json", fronts(trials, parts.trainer.scores[0].name, parts.fronts))
    for name, content in parts.results(trials).items():
        store.write_json(name, content)
    chosen = loop.leaders()
    candidates = [parts.space.candidate(np.array(trial.row, np.int16)) for trial in chosen]
    finalists = Leaders(parts, chosen, candidates, plan.retrain_seeds, plan.finalists)
    progress.say("the best designs are trained again with fresh seeds")
    with progress.counted("retrain", finalists.rounds, "rounds") as bar:
        shown = Rounds(bar)
        workers.watch = shown.watch
        finalists.retrain(workers, shown.round)
        finalists.choose_cheapest(workers)
        finalists.refine(workers, shown.round)
    with progress.step("store the leaders and test the best"):
        store.end_early()
        return finalists.deliver(store)


class Rounds:
    """The retrainings on a display: the finished rounds, and the jobs of the one that runs."""

    def __init__(self, bar: progress.Count) -> None:
        self.bar, self.done = bar, 0

    def round(self, done: int, total: int) -> None:
        """Show that a round has ended."""
        self.done = done
        self.bar.show(done)

    def watch(self, ended: int, total: int) -> None:
        """Show how many jobs of the round have ended."""
        self.bar.show(self.done, f"{ended} of {total} jobs of this round")


def told(status: Status) -> str:
    """The state of a search in a few words."""
    return f"best {status.best:.1%}, feasible {status.share:.2%}, {status.trainings} trained"
