"""What a worker does: train one architecture, score designs of it; and how jobs outlive a killed worker."""

from __future__ import annotations

import functools
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any

import torch

from fgnas.design import Design
from fgnas.errors import UserError
from fgnas.network import Network
from fgnas.networks.calibration import calibrate, observe
from fgnas.networks.finetuning import fine_tuned
from fgnas.networks.model import Architecture
from fgnas.networks.quantised import quantised_accuracy
from fgnas.networks.training import Recipe, Trained, train
from fgnas.tasks.nodes import load

ATTEMPTS = 3
"""How often a job is begun again after a worker died under it."""

WORKERS_DIED = (
    f"workers died {1 + ATTEMPTS} times over the same job, most likely for want of memory: "
    "give fewer --workers, then go on with --resume"
)

ExecutorFactory = Callable[[], Executor]


@dataclass(frozen=True, eq=False)
class Job:
    """Designs of one architecture, to be scored with one trained network.

    Attributes:
        dataset, fingerprint: what to load, and what it must turn out to be.
        architecture, seed, recipe: what to train, and how.
        designs: what to score.
        trained: the trained network, where it is there already.
        tune: whether to train on for each design, with its roundings, before it is scored.
    """

    dataset: str
    fingerprint: str
    architecture: Architecture
    seed: int
    recipe: Recipe
    designs: tuple[Design, ...]
    trained: Trained | None = None
    tune: bool = False

    @property
    def cost(self) -> float:
        """About how long it takes, in any unit: the longest is begun first, so that workers end together."""
        if self.trained is not None and not self.tune:
            return len(self.designs)
        slow = {"gat": 3.0, "gcn": 1.0, "constant": 1.0}
        return 10 + sum(
            layer["k"] * (layer["d"] or 8) * slow[layer["attention"]] * (2 if layer["aggregation"] == "max" else 1)
            for layer in self.architecture
        )


@dataclass(frozen=True, eq=False)
class Result:
    """The trained network, the quantised validation accuracy of each design, and what it became if it was tuned."""

    trained: Trained
    val: list[float]
    tuned: list[Network] = field(default_factory=list)


def run_job(job: Job) -> Result:
    """A pure function of the job, in one thread; it never looks at the test nodes."""
    torch.set_num_threads(1)
    data = load(job.dataset)
    if data.fingerprint != job.fingerprint:
        raise UserError(f"a worker read another {job.dataset} than the search; give all the same FGNAS_DATA_ROOT")
    trained = job.trained or train(data, job.architecture, job.seed, job.recipe)
    observation = observe(job.architecture, trained.network, data)
    val, tuned = [], []
    for design in job.designs:
        network = calibrate(design, trained.network, observation)
        if job.tune:
            network = fine_tuned(design, network, data, job.seed, job.recipe)
            tuned.append(network)
        val.append(quantised_accuracy(design, network, data, ("val",))["val"])
    return Result(trained, val, tuned)


class Processes(Executor):
    """Worker processes on this machine, each a pool of its own: one that is killed costs its own child's time."""

    def __init__(self, workers: int) -> None:
        self._threads = ThreadPoolExecutor(workers)
        self._own = threading.local()
        self._pools: set[ProcessPoolExecutor] = set()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Run a function in the next process that is free."""
        return self._threads.submit(self._run, functools.partial(function, *arguments, **named))

    def _run(self, call: Callable[[], Any]) -> Any:
        for _ in range(1 + ATTEMPTS):
            pool = self._pool()
            try:
                return pool.submit(call).result()
            except BrokenExecutor:
                pool.shutdown()
                self._pools.discard(pool)
                del self._own.pool
        raise UserError(WORKERS_DIED)

    def _pool(self) -> ProcessPoolExecutor:
        """This thread's process."""
        if not hasattr(self._own, "pool"):
            context = multiprocessing.get_context("spawn")
            self._own.pool = ProcessPoolExecutor(1, mp_context=context, initializer=_start_worker)
            self._pools.add(self._own.pool)
        return self._own.pool

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes, after what they are at."""
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        for pool in list(self._pools):
            pool.shutdown(wait, cancel_futures=cancel_futures)


def process_pool(workers: int) -> ExecutorFactory:
    """A factory of worker processes on this machine."""
    return functools.partial(Processes, workers)


def _start_worker() -> None:
    """Leave Ctrl-C to the parent, and end with it, even where it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


class Workers:
    """Runs jobs on executors out of a factory; a broken executor is replaced, and what is unfinished begun again."""

    def __init__(self, factory: ExecutorFactory) -> None:
        self._factory = factory
        self._executor: Executor | None = None

    def run(self, jobs: Sequence[Any], function: Callable[[Any], Any] = run_job) -> list[Any]:
        """The results in the order of the jobs, whatever the order they end in."""
        results: dict[int, Any] = {}
        for _ in range(1 + ATTEMPTS):
            waiting = [place for place in range(len(jobs)) if place not in results]
            if not waiting:
                return [results[place] for place in range(len(jobs))]
            self._run_once(waiting, jobs, function, results)
        if len(results) == len(jobs):
            return [results[place] for place in range(len(jobs))]
        raise UserError(WORKERS_DIED)

    def _run_once(
        self, waiting: list[int], jobs: Sequence[Any], function: Callable[[Any], Any], results: dict[int, Any]
    ) -> None:
        """Fill in what ends, though the executor may break on the way."""
        if self._executor is None:
            self._executor = self._factory()
        futures: dict[Future[Any], int] = {}
        broken = False
        try:
            for place in sorted(waiting, key=lambda place: -getattr(jobs[place], "cost", 0)):
                futures[self._executor.submit(function, jobs[place])] = place
        except BrokenExecutor:
            broken = True
        for future in as_completed(futures):
            try:
                results[futures[future]] = future.result()
            except BrokenExecutor:
                broken = True
        if broken:
            self.close()

    def close(self) -> None:
        """Drop what has not begun, and wait for what has."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
            self._executor = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
