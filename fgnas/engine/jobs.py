"""Workers: processes on this machine that run jobs, and how jobs survive a worker that dies."""

from __future__ import annotations

import contextlib
import functools
import importlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from typing import Any

from fgnas.errors import UserError

ATTEMPTS = 3
"""How often a job is restarted after its worker died."""

WORKERS_DIED = (
    f"workers died {1 + ATTEMPTS} times on the same job, most likely out of memory: "
    "give fewer --workers, then continue with --resume"
)

WATCHED_EVERY_S = 2.0
"""How often a caller gets the status of running jobs, also when none has ended."""

ExecutorFactory = Callable[[], Executor]


class Processes(Executor):
    """Worker processes on this machine, each its own pool, so that a killed process loses only its own job."""

    def __init__(self, workers: int) -> None:
        self.count = workers
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
        """End the processes after their current jobs."""
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        for pool in list(self._pools):
            pool.shutdown(wait, cancel_futures=cancel_futures)


def process_pool(workers: int) -> ExecutorFactory:
    """A factory of worker processes on this machine."""
    return functools.partial(Processes, workers)


def _start_worker() -> None:
    """Leave Ctrl-C to the parent, and end when it ends, even if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


class Workers:
    """Runs jobs on executors from a factory; replaces a broken executor and restarts its unfinished jobs.

    Attributes:
        watch: called with the ended jobs and their total, every `WATCHED_EVERY_S` seconds while some run.
    """

    def __init__(self, factory: ExecutorFactory) -> None:
        self._factory = factory
        self.watch: Callable[[int, int], None] = lambda ended, total: None
        self._executor: Executor | None = None

    @property
    def count(self) -> int:
        """Jobs that the executor runs at the same time; 1 where it does not say."""
        return int(getattr(self._started(), "count", 1))

    def _started(self) -> Executor:
        if self._executor is None:
            self._executor = self._factory()
        return self._executor

    def warm_up(self, what: Callable[[], Any]) -> None:
        """Start the workers, and let each load what its jobs need, while the caller has other work."""
        with contextlib.suppress(BrokenExecutor):  # `run` replaces an executor that breaks
            for _ in range(self.count):
                self._started().submit(what)

    def warm_up_for(self, trainer: Any) -> None:
        """Warm up for the jobs of a trainer: by its function `warm_up` if it has one, else by importing its module."""
        own = getattr(trainer, "warm_up", None)
        self.warm_up(own or functools.partial(importlib.import_module, type(trainer).__module__))

    def run(
        self, jobs: Sequence[Any], function: Callable[[Any], Any],
        ended: Callable[[int, Any], None] = lambda place, result: None,
    ) -> list[Any]:  # fmt: skip
        """The results in the order of the jobs, in whatever order these end; `ended` is told each, with its place."""
        results: dict[int, Any] = {}
        for _ in range(1 + ATTEMPTS):
            waiting = [place for place in range(len(jobs)) if place not in results]
            if not waiting:
                return [results[place] for place in range(len(jobs))]
            self._run_once(waiting, jobs, function, results, ended)
        if len(results) == len(jobs):
            return [results[place] for place in range(len(jobs))]
        raise UserError(WORKERS_DIED)

    def _run_once(
        self, waiting: list[int], jobs: Sequence[Any], function: Callable[[Any], Any], results: dict[int, Any],
        told: Callable[[int, Any], None],
    ) -> None:  # fmt: skip
        """Store the results of finished jobs, even if the executor breaks meanwhile."""
        executor = self._started()
        futures: dict[Future[Any], int] = {}
        broken = False
        try:
            for place in waiting:
                futures[executor.submit(function, jobs[place])] = place
        except BrokenExecutor:
            broken = True
        left = set(futures)
        while left:
            ended, left = wait(left, WATCHED_EVERY_S, FIRST_COMPLETED)
            for future in sorted(ended, key=lambda one: one.exception() is not None):  # an error loses no result
                try:
                    results[futures[future]] = result = future.result()
                    told(futures[future], result)
                except BrokenExecutor:
                    broken = True
            if left:
                self.watch(len(results), len(jobs))
        if broken:
            self.close()

    def close(self) -> None:
        """Cancel the jobs that have not started, and wait for the others."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
            self._executor = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
