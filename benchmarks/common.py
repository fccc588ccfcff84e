"""What the benchmarks of the search share: runs without a terminal, and trainings that several runs have in common."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import fgnas
from fgnas.child.train import Trained
from fgnas.data import load
from fgnas.errors import UserError
from fgnas.search.jobs import Job, Processes
from fgnas.search.run import SearchConfig, search
from fgnas.search.store import RunStore

RESULTS = Path(__file__).parent.parent / "docs" / "results"
SMALL_BYTES = 1 << 20
"""Only smaller networks are kept for other runs."""


class Sharing(Executor):
    """Worker processes, with a memory of what they trained.

    A child's seed follows from run seed and architecture, so runs with one seed train equal networks: what another
    run has trained already is handed to the job, which changes the time it takes and nothing else.
    """

    trained: dict[int, Trained] = {}

    def __init__(self, workers: int) -> None:
        self.processes = Processes(workers)

    def submit(self, function: Callable[..., Any], /, job: Job) -> Future[Any]:  # type: ignore[override]
        """Run a job, with its network where it is known."""
        known = dataclasses.replace(job, trained=job.trained or self.trained.get(job.seed))
        future = self.processes.submit(function, known)
        future.add_done_callback(lambda done: self._keep(job.seed, done))
        return future

    def _keep(self, seed: int, done: Future[Any]) -> None:
        if not done.cancelled() and done.exception() is None:
            trained = done.result().trained
            if sum(layer.weight.nbytes for layer in trained.network.layers) < SMALL_BYTES:
                self.trained[seed] = trained

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes; what they trained stays."""
        self.processes.shutdown(wait, cancel_futures=cancel_futures)


class Silent:
    """Reports nothing."""

    def surveyed(self, survey: Any) -> None:
        """Before the first draw."""

    def searched(self, status: Any) -> None:
        """After every batch."""

    def retrained(self, done: int, total: int) -> None:
        """After every seed."""


def run(config: SearchConfig, workers: int) -> dict[str, Any]:
    """One search, in numbers; its error where it cannot end."""
    data, begun = load(config.dataset), time.perf_counter()
    with TemporaryDirectory() as folder:
        store = RunStore.create(Path(folder), "run", {})
        try:
            best = search(config, data, lambda: store, lambda: Sharing(workers), Silent())
        except UserError as error:
            best, reason = None, str(error)
        trials = store.trials()
        batches = (store.folder / "timings.jsonl").read_text().splitlines() if trials else []
        sampling = sum(json.loads(line)["sampling_s"] for line in batches)
    result = curve(trials) | {"seconds": time.perf_counter() - begun, "sampling_s": sampling}
    if best is None:
        return result | {"error": reason}
    retrained = best["retrained"]
    return result | {
        "test": retrained["quantised"]["test"]["values"],
        "float_test": retrained["float"]["test"]["values"],
        "delivered_test": best["delivered"]["quantised"]["test"],
        "prices": best["prices"],
        "design": best["design"],
    }


def curve(trials: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean validation accuracy at both ends of a search, and the share of its draws that were feasible."""
    if not trials:
        return {"children": 0}
    val, draws = np.array([trial["val"] for trial in trials]), np.array([0, *(trial["draws"] for trial in trials)])
    fifth = max(1, len(trials) // 5)
    return {
        "children": len(trials),
        "trainings": sum(trial["trained"] for trial in trials),
        "draws": int(draws[-1]),
        "first_50": float(val[:50].mean()),
        "last_fifth": float(val[-fifth:].mean()),
        "mean": float(val.mean()),
        "best": float(val.max()),
        "share_first_fifth": float(fifth / draws[fifth]),
        "share_last_fifth": float(fifth / max(1, draws[-1] - draws[-1 - fifth])),
    }


def code_version() -> str:
    """Names what results depend on: the hardware model, the children and the searchers, tables included."""
    digest, package = hashlib.sha256(), Path(fgnas.__file__).parent
    for part in ("hardware", "child", "search"):
        for path in sorted(path for path in (package / part).rglob("*") if path.suffix in (".py", ".json", ".csv")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


class Record:
    """Results by name in a JSON file, written after each: an interrupted benchmark goes on.

    Results of other code are begun anew: half a table of each would be worth nothing.
    """

    def __init__(self, name: str, version: str | None = None) -> None:
        self.path, version = RESULTS / name, version or code_version()
        self.results: dict[str, Any] = json.loads(self.path.read_text()) if self.path.is_file() else {}
        if self.results.get("code") != version:
            self.results = {"code": version}

    def fill(self, key: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The result of that name, made if it is not there."""
        if key not in self.results:
            print(key, flush=True)
            self.results[key] = make()
            RESULTS.mkdir(parents=True, exist_ok=True)
            scratch = self.path.with_suffix(".part")
            scratch.write_text(json.dumps(self.results, indent=1, sort_keys=True) + "\n")
            os.replace(scratch, self.path)
        return self.results[key]
