"""Workers on many machines, through the scheduler of a dask.distributed cluster (an optional extra)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Any

from fgnas.errors import UserError

CONNECT_S = 30


class Cluster(Executor):
    """Submits to a running scheduler.

    The scheduler restarts a job on another worker if its worker dies. A job that kills several workers breaks this
    executor, as a killed process breaks a pool.
    """

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise UserError("--executor dask needs dask.distributed: pip install 'fgnas[distributed]'") from None
        try:
            self.client = Client(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:  # a timeout is an OSError
            raise UserError(f"no scheduler answers at {address} ({error}); start one with `dask scheduler`") from None
        try:
            self.client.wait_for_workers(1, timeout=CONNECT_S)
        except TimeoutError:
            self.client.close()
            raise UserError(f"the scheduler {address} has no workers; start some: dask worker --nthreads 1") from None
        self._check_threads()
        self._waiting: set[Any] = set()

    def _check_threads(self) -> None:
        """Raise UserError unless every worker has one thread: the jobs of a process share buffers."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"]
        self.count = len(workers)
        if several := [name for name, worker in workers.items() if worker["nthreads"] != 1]:
            self.client.close()
            raise UserError(f"the dask worker {several[0]} has several threads; start workers with --nthreads 1")

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Run a function on some worker."""
        future: Future[Any] = Future()
        remote = self.client.submit(function, *arguments, **named, pure=False)
        self._waiting.add(remote)  # dask drops a task without references
        remote.add_done_callback(functools.partial(self._pass_on, future))
        return future

    def _pass_on(self, future: Future[Any], remote: Any) -> None:
        from distributed import KilledWorker

        self._waiting.discard(remote)
        if remote.status == "finished":
            future.set_result(remote.result())
        elif remote.status == "error" and not isinstance(error := remote.exception(), KilledWorker):
            future.set_exception(error)
        else:
            future.set_exception(BrokenExecutor("a worker of the cluster died, or its scheduler left"))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster, which keeps running."""
        if cancel_futures:
            self.client.cancel(list(self._waiting))
        self.client.close()


def cluster(address: str) -> Callable[[], Executor]:
    """A factory of connections to a scheduler."""
    return functools.partial(Cluster, address)
