"""Trainings and scores that runs have in common, kept on disk: they change the time a run takes, and nothing else."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pickle
import sqlite3
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import fgnas
from fgnas.engine.jobs import Job, Processes, Result
from fgnas.engine.run import versions
from fgnas.networks.training import Trained

PACKAGE = Path(fgnas.__file__).parent
PLACE = PACKAGE.parent / "build" / "children.sqlite"

TRAINING = (*(f"networks/{name}.py" for name in (
    "__init__", "attention", "calibration", "model", "quantised", "scatter", "training")), "network.py")  # fmt: skip
"""What a trained network depends on, beside the data, which has a fingerprint."""
SCORING = (*TRAINING, "fixedpoint.py", *(f"hardware/pipeline/{name}.py" for name in (
    "accelerator", "encoding", "geometry", "lowering", "reference")))  # fmt: skip
"""What a quantised accuracy depends on."""


def digest(parts: Iterable[str]) -> str:
    """Names the content of files and folders of the package, tables included."""
    found = hashlib.sha256()
    for part in parts:
        place = PACKAGE / part
        paths = [place] if place.is_file() else sorted(place.rglob("*"))
        for path in paths:
            if path.suffix in (".py", ".json", ".csv"):
                found.update(path.read_bytes())
    return found.hexdigest()[:12]


class Memory:
    """Networks by what they were trained on and from which seed; scores by network and formats."""

    def __init__(self, path: Path = PLACE) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._base = sqlite3.connect(path, timeout=600, check_same_thread=False)
        self._lock = threading.Lock()
        with self._lock, self._base:
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute("PRAGMA synchronous = OFF")
            self._base.execute("CREATE TABLE IF NOT EXISTS networks (key TEXT PRIMARY KEY, network BLOB)")
            self._base.execute("CREATE TABLE IF NOT EXISTS scores (key TEXT PRIMARY KEY, val REAL)")
        versioned = json.dumps(versions(), sort_keys=True)
        self._training, self._scoring = (
            hashlib.sha256(f"{digest(parts)} {versioned}".encode()).hexdigest()[:12] for parts in (TRAINING, SCORING)
        )

    def trained(self, job: Job) -> Trained | None:
        """The network of a job."""
        with self._lock:
            found = self._base.execute("SELECT network FROM networks WHERE key = ?", (self._name(job),)).fetchone()
        return pickle.loads(found[0]) if found else None

    def result(self, job: Job) -> Result | None:
        """A job's result, where nothing of it is left to do."""
        trained = job.trained or self.trained(job)
        scores = []
        with self._lock:
            for key in self._scores(job):
                scores.append(self._base.execute("SELECT val FROM scores WHERE key = ?", (key,)).fetchone())
        return Result(trained, [val for (val,) in scores]) if trained and all(scores) else None

    def keep(self, job: Job, result: Result) -> None:
        """Take in what a worker found."""
        scores = zip(self._scores(job), result.val, strict=True)
        with self._lock, self._base:
            if job.trained is None:
                row = (self._name(job), pickle.dumps(result.trained, pickle.HIGHEST_PROTOCOL))
                self._base.execute("INSERT OR REPLACE INTO networks VALUES (?, ?)", row)
            self._base.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?)", scores)

    def _name(self, job: Job) -> str:
        # The seed follows from run seed, architecture and repetition.
        recipe = json.dumps(dataclasses.asdict(job.recipe), sort_keys=True)
        return f"{self._training} {job.fingerprint} {recipe} {job.seed}"

    def _scores(self, job: Job) -> list[str]:
        return [f"{self._scoring} {self._name(job)} {design.score_key}" for design in job.designs]


class Sharing(Executor):
    """Worker processes with a memory; runs borrow it one after another.

    A child's seed follows from run seed and architecture, so runs with one seed train equal networks: what another
    run has trained already is handed to the job.
    """

    def __init__(self, workers: int) -> None:
        self.memory = Memory()
        self.processes = Processes(workers)

    def submit(self, function: Callable[..., Any], /, job: Job) -> Future[Any]:  # type: ignore[override]
        """Run a job, or what is left of it to do."""
        if job.tune:
            return self.processes.submit(function, job)
        if (known := self.memory.result(job)) is not None:
            done: Future[Any] = Future()
            done.set_result(known)
            return done
        left = dataclasses.replace(job, trained=job.trained or self.memory.trained(job))
        future = self.processes.submit(function, left)
        future.add_done_callback(lambda ended: self._keep(left, ended))
        return future

    def _keep(self, job: Job, ended: Future[Any]) -> None:
        if not ended.cancelled() and ended.exception() is None:
            self.memory.keep(job, ended.result())

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """A run gives it back; the processes stay for the next."""

    def __exit__(self, *_: object) -> None:
        self.processes.shutdown()
