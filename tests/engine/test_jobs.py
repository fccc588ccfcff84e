"""Workers: order, pure jobs, and pools that break."""

import os
import time
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from pathlib import Path

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
