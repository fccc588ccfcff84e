"""Shared by the benchmarks of the search: searches as numbers, and a record of results that can be continued."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
from memory import SCORING, Sharing, digest
from pages import RESULTS, read_record, write_record
from scipy import stats

from fgnas import searchers
from fgnas.design import Design
from fgnas.engine.contracts import Outcome, Trainer
from fgnas.engine.jobs import ExecutorFactory, Workers
from fgnas.engine.run import Plan, configuration
from fgnas.engine.run import search as engine_search
from fgnas.engine.store import RunStore
from fgnas.engine.trial import Trial
from fgnas.errors import UserError
from fgnas.hardware.pipeline.pricing import Pricer
from fgnas.hardware.specification import Specification
from fgnas.systems.fgnas import Options, compose
from fgnas.systems.fgnas.space import find_space
from fgnas.tasks.nodes import load

BLOCK = 10
"""A point of a learning curve is the mean of this many children."""


def options_of(dataset: str, specification: Specification, **others: Any) -> Options:
    """The options of a search on a dataset within a specification."""
    limits = {name: getattr(specification, name) for name in ("latency_ms", "lut", "ff", "dsp")}
    return Options(dataset=dataset, **limits, **others)


def create_store(folder: Path, name: str, options: Options) -> RunStore:
    """A new run of these options."""
    return RunStore.create(folder, name, configuration("fgnas", asdict(options), compose(options)))


def search(options: Options, open_store: Callable[[], RunStore], factory: ExecutorFactory) -> dict[str, Any]:
    """One search; returns the content of best.json."""
    return engine_search(compose(options), Plan.of(options), searchers.find(options.method), open_store, factory)


def leading_designs(options: Options, sharing: Sharing) -> list[Design]:
    """The leaders of a search, the best first."""
    with TemporaryDirectory() as folder:
        store = create_store(Path(folder), "run", options)
        search(options, lambda: store, lambda: sharing)
        return [Design.from_dict(entry["design"]) for entry in store.leaders()]


class Here(Executor):
    """Runs a job when it is submitted, so that all of its time is processor time of this process."""

    count = 1

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """The finished job."""
        done: Future[Any] = Future()
        done.set_running_or_notify_cancel()
        done.set_result(function(*arguments, **named))
        return done


class Clocked:
    """A trainer that counts the processor time between its preparation and the first retraining: that of a search."""

    def __init__(self, trainer: Trainer) -> None:
        self.trainer = trainer
        self.begun = self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.trainer, name)

    def prepare(self, store: RunStore, workers: Workers) -> None:
        """Prepare, then start the clock."""
        self.trainer.prepare(store, workers)
        self.begun = time.process_time()

    def retrain(self, candidates: Sequence[Any], repetition: int, workers: Workers) -> list[Outcome]:
        """Stop the clock, then retrain."""
        self.seconds = self.seconds or time.process_time() - self.begun
        return self.trainer.retrain(candidates, repetition, workers)


def processor_seconds(options: Options) -> dict[str, float]:
    """Processor seconds of a search in this process, without its retrainings, and its distinct trainings."""
    once = replace(options, leaders=1, retrain_seeds=1, retrain_epochs=1)
    parts = compose(once)
    clock = Clocked(parts.trainer)
    timed = replace(parts, trainer=cast(Trainer, clock))
    with TemporaryDirectory() as folder:
        store = create_store(Path(folder), "run", once)
        engine_search(timed, Plan.of(once), searchers.find(once.method), lambda: store, Here)
        return {"seconds": clock.seconds, "trainings": sum(trial.trained for trial in store.trials())}


def timings(store: RunStore, name: str) -> float:
    """The sum of one field over the batches of a run, in seconds."""
    path = store.folder / "timings.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return float(sum(json.loads(line)[name] for line in lines))


def run(options: Options, sharing: Sharing) -> dict[str, Any]:
    """The numbers of one search, with its error if it failed."""
    begun = time.perf_counter()
    with TemporaryDirectory() as folder:
        store = create_store(Path(folder), "run", options)
        try:
            best = search(options, lambda: store, lambda: sharing)
            leaders, cheapest = store.leaders(), store.cheapest()
        except UserError as error:
            best, reason = None, str(error)
        result = curve(store.trials()) | {
            "seconds": time.perf_counter() - begun, "sampling_s": timings(store, "sampling_s")
        }
    if best is None:
        return result | {"error": reason}
    retrained = best["retrained"]
    return result | {
        "test": retrained["quantised"]["test"]["values"],
        "float_test": retrained["float"]["test"]["values"],
        "delivered_test": best["delivered"]["quantised"]["test"],
        "prices": best["costs"],
        "design": best["design"],
        "cheapest": cheapest and {
            "saved": cheapest["saved"], "prices": cheapest["costs"], "val": cheapest["retrained_val"]["mean"],
            "test": cheapest["delivered"]["quantised"]["test"],
        },
        "leaders": [[one["retrained_val"]["values"], one["costs"]] for one in leaders],
    }


def curve(trials: list[Trial]) -> dict[str, Any]:
    """Mean validation accuracy at both ends of a search, and the feasible share of its draws."""
    if not trials:
        return {"children": 0}
    val, draws = np.array([trial.scores["val"] for trial in trials]), np.array([0, *(trial.draws for trial in trials)])
    fifth = max(1, len(trials) // 5)
    return {
        "children": len(trials),
        "trainings": sum(trial.trained for trial in trials),
        "draws": int(draws[-1]),
        "first_50": float(val[:50].mean()),
        "last_fifth": float(val[-fifth:].mean()),
        "mean": float(val.mean()),
        "best": float(val.max()),
        "blocks": [round(float(block.mean()), 4) for block in np.split(val, range(BLOCK, len(val), BLOCK))],
        "share_first_fifth": float(fifth / draws[fifth]),
        "share_last_fifth": float(fifth / max(1, draws[-1] - draws[-1 - fifth])),
    }


def code_version() -> str:
    """A digest of the code that results depend on: hardware model, training, searchers and engine, tables included."""
    return digest(("hardware", "networks", *SEARCHING))


SEARCHING = ("engine", "searchers", "systems/fgnas", "space.py", "costs.py", "pareto.py")
"""Code that decides which designs a search draws and chooses."""


def behaviour() -> str:
    """A digest of everything that searches on Cora and CiteSeer depend on; of the hardware model, its prices."""
    parts = (*SCORING, "networks/finetuning.py", *SEARCHING)
    found = hashlib.sha256(digest(parts).encode())
    space = find_space("fgnas")
    columns = space.columns(space.draw(5_000, np.random.default_rng(0)))
    for dataset in ("cora", "citeseer"):
        prices = Pricer(load(dataset)).price(columns, 100)
        for values in (prices.latency_cycles, prices.lut, prices.ff, prices.dsp):
            found.update(values.astype(np.int64).tobytes())
    return found.hexdigest()[:12]


def listed(best: dict[str, Any]) -> list[str]:
    """The operations of a delivered network of points, in words."""
    return [" ".join((one["operation"], *(str(value) for name, value in sorted(one.items()) if name != "operation")))
            for one in best["design"]["operations"]]  # fmt: skip


class Record:
    """Results by name in docs/results/NAME.json, written after each one, so that an interrupted benchmark can continue.

    Parts of a benchmark may run beside each other: what another has written meanwhile stays.

    Results that other code gave are dropped: a table must not mix two versions. `version` names the code; by default
    it is that of the whole search.
    """

    def __init__(self, name: str, version: str | None = None) -> None:
        self.name, self.version = name.removesuffix(".json"), version or code_version()
        self.results: dict[str, Any] = {"code": self.version} | self._written()

    def fill(self, key: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The result of that name, made if it is missing."""
        self.results = self.results | self._written()
        if key not in self.results:
            print(key, flush=True)
            self.note(**{key: make()})
        return self.results[key]

    def note(self, **facts: Any) -> None:
        """Store facts, such as the options of the benchmark, beside the results."""
        self.results = dict(sorted((self.results | self._written() | facts).items()))
        write_record(self.name, self.results)

    def _written(self) -> dict[str, Any]:
        """The results on disk, where the same code gave them."""
        written = read_record(self.name) if (RESULTS / f"{self.name}.json").is_file() else {}
        return written if written.get("code") == self.version else {}


def interval(values: Any, scale: float = 100.0, digits: int = 2) -> str:
    """Mean and 95 % interval of values, by default as per cent."""
    found = scale * np.asarray(values, float)
    if len(found) < 2:
        return f"{found.mean():.{digits}f}"
    half = float(stats.t.ppf(0.975, len(found) - 1) * found.std(ddof=1) / np.sqrt(len(found)))
    return f"{found.mean():.{digits}f} ± {half:.{digits}f}"
