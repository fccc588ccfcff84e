"""Trainings and scores that searches share, kept on disk. They change the time of a search and nothing else."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, Executor, Future
from pathlib import Path
from typing import Any

from diskcache import Cache

import fgnas
from fgnas.engine.jobs import Processes
from fgnas.engine.run import versions
from fgnas.networks.training import Trained
from fgnas.systems.fgnas.jobs import Job, Result

PACKAGE = Path(fgnas.__file__).parent
FOLDER = PACKAGE.parent / "build" / "children"

TRAINED, SCORED = "networks/training.py", "systems/fgnas/jobs.py"
"""The modules that train and that score: a test walks what they import."""
TRAINING = (*(f"networks/{name}.py" for name in (
    "__init__", "answers", "attention", "batch", "kernels", "model", "scatter", "training")),
    "activations.py", "array_sizes.py", "design.py", "fixedpoint.py", "network.py",
    "tasks/collection.py", "tasks/pooled.py", "tasks/sampling.py")  # fmt: skip
"""The code that a trained network depends on."""
KINDS = ("hardware/kind.py", "hardware/kinds.py", "hardware/array/kind.py", "hardware/pipeline/kind.py")
"""Modules that say how each kind of hardware rounds; what they import prices, fits and writes, and scores nothing."""
SCORING = (*TRAINING, "networks/calibration.py", "networks/quantised.py", "networks/rounding.py",
           "hardware/__init__.py", "hardware/arithmetic.py", "hardware/integer", "hardware/wire.py", *KINDS,
           SCORED)  # fmt: skip
"""The code that a quantised accuracy depends on: integer networks, and the lowering of a design to one."""
_TASKS = ("__init__", "files", "fingerprint", "molecules", "nodes", "sources", "tudata")
AROUND = ("errors.py", "files.py", "options.py", "space.py", "networks/finetuning.py",
          *(f"tasks/{name}.py" for name in _TASKS))  # fmt: skip
"""Code that is imported and changes no number: messages, names and types; the data, which have a fingerprint of their
own; and fine-tuning, whose results are not kept."""


def digest_of_files(paths: Iterable[Path]) -> str:
    """A digest of the names and contents of files, in their order."""
    found = hashlib.sha256()
    for path in paths:
        found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()


def digest(parts: Iterable[str]) -> str:
    """A digest of files and folders of the package, tables included. Raises FileNotFoundError for a missing one."""
    found = hashlib.sha256()
    for part in parts:
        place = PACKAGE / part
        if not place.exists():
            raise FileNotFoundError(place)
        paths = [place] if place.is_file() else sorted(place.rglob("*"))
        for path in paths:
            if path.suffix in (".py", ".json", ".csv"):
                found.update(path.read_bytes())
    return found.hexdigest()[:12]


class Memory:
    """Networks by their training data, recipe and seed, and scores by network and design, in a folder."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._cache = Cache(folder, eviction_policy="none")
        versioned = json.dumps(versions(), sort_keys=True)
        self._training, self._scoring = (f"{digest(parts)} {versioned}" for parts in (TRAINING, SCORING))

    def trained(self, job: Job) -> Trained | None:
        """The network of a job."""
        return self._cache.get(self._name(job))

    def result(self, job: Job) -> Result | None:
        """The result of a job; None unless all of it is known."""
        trained = job.trained or self.trained(job)
        scores = [self._cache.get(key) for key in self._scores(job)]
        return Result(trained, scores) if trained is not None and None not in scores else None

    def keep(self, job: Job, result: Result) -> None:
        """Store the result of a job."""
        with self._cache.transact():
            if job.trained is None:
                self._cache[self._name(job)] = result.trained
            for key, val in zip(self._scores(job), result.val, strict=True):
                self._cache[key] = val

    def _name(self, job: Job) -> str:
        # The seed follows from the seed of the run, the architecture and the repetition.
        recipe = json.dumps(dataclasses.asdict(job.recipe), sort_keys=True)
        return f"network {self._training} {job.fingerprint} {recipe} {job.seed}"

    def _scores(self, job: Job) -> list[str]:
        return [f"score {self._scoring} {self._name(job)} {design.score_key}" for design in job.designs]


class Sharing(Executor):
    """Worker processes with a memory, for one search after another.

    The seed of a child follows from the seed of its run and its architecture, so runs with equal seeds train equal
    networks: a network that another run has trained is passed to the job.
    """

    def __init__(self, workers: int) -> None:
        self.count = workers
        self.memory = Memory()
        self.processes = Processes(workers)

    def submit(self, function: Callable[..., Any], /, bundle: Sequence[Job]) -> Future[Any]:  # type: ignore[override]
        """Run a bundle of jobs, without the parts whose results are known."""
        if any(job.tune for job in bundle):
            return self.processes.submit(function, bundle)
        known = [self.memory.result(job) for job in bundle]
        left = [
            dataclasses.replace(job, trained=job.trained or self.memory.trained(job))
            for job, result in zip(bundle, known, strict=True) if result is None
        ]  # fmt: skip
        whole: Future[Any] = Future()
        whole.set_running_or_notify_cancel()
        if left:
            ends = functools.partial(self._end, whole, known, left)
            self.processes.submit(function, tuple(left)).add_done_callback(ends)
        else:
            whole.set_result(known)
        return whole

    def _end(self, whole: Future[Any], known: list[Result | None], left: list[Job], ended: Future[Any]) -> None:
        """Keep the new results, and pass all of them on."""
        if ended.cancelled() or ended.exception() is not None:
            whole.set_exception(ended.exception() if not ended.cancelled() else CancelledError())
            return
        for job, result in zip(left, ended.result(), strict=True):
            self.memory.keep(job, result)
        new = iter(ended.result())
        whole.set_result([next(new) if result is None else result for result in known])

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing: the processes stay for the next search, and end with the context."""

    def __exit__(self, *_: object) -> None:
        self.processes.shutdown()
