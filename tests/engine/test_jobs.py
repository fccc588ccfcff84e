"""Workers: order, pure jobs, and pools that break."""

import os
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from fgnas.engine.jobs import ATTEMPTS, Workers, process_pool
from fgnas.errors import UserError


class Breaking:
    """A factory of executors that break at their second job, a given number of times."""

    def __init__(self, executor, times):
        self.executor, self.times, self.made = executor, times, 0

    def __call__(self):
        self.made += 1
        breaks, executor, submitted = self.made <= self.times, self.executor(), []
        submit = executor.submit

        def count(function, *arguments):
            submitted.append(1)
            if breaks and len(submitted) == 2:
                raise BrokenExecutor("a worker died")
            return submit(function, *arguments)

        executor.submit = count
        return executor


def slow_first(number):
    time.sleep(0.05 if number == 0 else 0)
    return number * number


def die_once(path):
    """Ends its process the first time."""
    if not Path(path).exists():
        Path(path).touch()
        os._exit(1)
    return "done"


def note_and_maybe_die(path):
    """Writes a dot at every start; "dies" ends its process the first time."""
    with path.open("a") as file:
        file.write(".")
    if path.name == "dies" and path.read_text() == ".":
        os._exit(1)
    if path.name == "slow":
        time.sleep(1)
    return path.name


def test_results_come_in_the_order_of_the_jobs():
    with Workers(lambda: ThreadPoolExecutor(3)) as workers:
        assert workers.run(range(4), slow_first) == [0, 1, 4, 9]


def test_no_jobs_start_no_pool():
    def factory():
        raise AssertionError("a pool was made")

    assert Workers(factory).run([], slow_first) == []


@pytest.mark.parametrize("times", [1, ATTEMPTS])
def test_a_broken_pool_is_replaced(in_place, times):
    factory = Breaking(in_place, times)
    assert Workers(factory).run(range(5), slow_first) == [0, 1, 4, 9, 16]
    assert factory.made == times + 1


def test_a_pool_that_breaks_for_ever_is_given_up(in_place):
    factory = Breaking(in_place, 99)
    with pytest.raises(UserError, match="fewer --workers"):
        Workers(factory).run(range(5), slow_first)
    assert factory.made == ATTEMPTS + 1


def test_an_error_in_a_job_is_no_broken_pool(in_place):
    with pytest.raises(ZeroDivisionError):
        Workers(in_place).run([1], lambda job: job // 0)


def test_a_real_worker_may_die(tmp_path):
    with Workers(process_pool(1)) as workers:
        assert workers.run([tmp_path / "mark"], die_once) == ["done"]


def test_a_killed_process_costs_its_own_job_alone(tmp_path):
    """The surviving process continues: its slow job is started once."""
    with Workers(process_pool(2)) as workers:
        assert workers.run([tmp_path / "slow", tmp_path / "dies"], note_and_maybe_die) == ["slow", "dies"]
    assert (tmp_path / "slow").read_text() == "."
    assert (tmp_path / "dies").read_text() == ".."


def test_a_job_that_ends_every_process_is_given_up():
    with Workers(process_pool(1)) as workers, pytest.raises(UserError, match="fewer --workers"):
        workers.run([1], os._exit)


def test_a_caller_is_told_of_jobs_that_run(monkeypatch):
    """Also while none has ended, and for the last time before all have."""
    monkeypatch.setattr("fgnas.engine.jobs.WATCHED_EVERY_S", 0.05)
    told = []
    with Workers(lambda: ThreadPoolExecutor(2)) as workers:
        workers.watch = lambda ended, total: told.append((ended, total))
        assert workers.run([0.3, 0.1], lambda seconds: time.sleep(seconds) or seconds) == [0.3, 0.1]
    assert told[0] == (0, 2) and (1, 2) in told and (2, 2) not in told
    assert len(told) > 3


def test_every_worker_warms_up_for_a_trainer() -> None:
    """By the trainer's own function, in as many jobs as there are workers, or else by importing its module."""

    class Counted(ThreadPoolExecutor):
        count = 2

    calls: list[int] = []
    with Workers(lambda: Counted(2)) as workers:
        workers.warm_up_for(SimpleNamespace(warm_up=lambda: calls.append(1)))
        workers.warm_up_for(SimpleNamespace())
        assert workers.run([3], abs) == [3]
    assert calls == [1, 1]


def test_a_failed_warm_up_fails_no_search() -> None:
    def broken() -> None:
        raise RuntimeError("no compiler")

    with Workers(lambda: ThreadPoolExecutor(1)) as workers:
        workers.warm_up_for(SimpleNamespace(warm_up=broken))
        assert workers.run([3], abs) == [3]


def test_designs_are_warmed_up_for_all_compiled_loops() -> None:
    """In a process of its own, which has run nothing else: only a backward pass that no random design needs is left."""
    program = (
        "from fgnas.systems.fgnas.warming import warm_up\nfrom fgnas.networks import kernels\nwarm_up()\n"
        "loops = {name for name, one in vars(kernels).items() if hasattr(one, 'signatures')}\n"
        "print(*(name for name in sorted(loops) if not getattr(kernels, name).signatures))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["softplus_backward"]


def test_a_set_up_compiles_the_recurrence_of_prices_for_small_and_large_counts() -> None:
    program = (
        "from fgnas.hardware import recurrence\nfrom fgnas.systems.fgnas.warming import compile_loops\n"
        "compile_loops()\nprint(*sorted(str(given[0].dtype) for given in recurrence._recurrence.signatures))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["float32", "float64"]
