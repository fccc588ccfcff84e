"""A real scheduler with two worker processes on the loopback address."""

import os
from pathlib import Path

import pytest

from fgnas.engine import cluster as module
from fgnas.engine import loop
from fgnas.engine.cluster import cluster
from fgnas.engine.jobs import Workers, process_pool
from fgnas.engine.run import SearchConfig, search
from fgnas.engine.store import RunStore
from fgnas.errors import UserError
from fgnas.hardware.pipeline.pricing import Specification
from fgnas.networks.training import Recipe
from fgnas.tasks.nodes import load

distributed = pytest.importorskip("distributed")


class Silent:
    """Reports nothing."""

    def __getattr__(self, name):
        return lambda *arguments: None


@pytest.fixture(scope="module")
def scheduler():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    with distributed.LocalCluster(**options, silence_logs="CRITICAL") as local:
        yield local.scheduler_address


def die_once(path):
    """Ends its worker the first time."""
    if not Path(path).exists():
        Path(path).touch()
        os._exit(1)
    return "done"


def square(number):
    return number * number


def test_a_worker_may_die(scheduler, tmp_path):
    with Workers(cluster(scheduler)) as workers:
        assert workers.run(range(5), square) == [0, 1, 4, 9, 16]
        assert workers.run([tmp_path / "mark"], die_once) == ["done"]


def test_an_error_in_a_job_comes_home(scheduler):
    with Workers(cluster(scheduler)) as workers, pytest.raises(ZeroDivisionError):
        workers.run([0], lambda number: 1 // number)


def test_nobody_there_is_one_line(monkeypatch):
    monkeypatch.setattr(module, "CONNECT_S", 1)
    with pytest.raises(UserError, match="no scheduler answers at tcp://127.0.0.1:9"):
        cluster("tcp://127.0.0.1:9")()


def test_the_executor_changes_no_trial(scheduler, tmp_path, in_place, monkeypatch):
    monkeypatch.setattr(loop, "SURVEY_DRAWS", 2_000)
    specification = Specification(latency_ms=3.0, dsp=20)
    options = {"specification": specification, "children": 6, "leaders": 2, "retrain_seeds": 2, "batch": 3}
    config, data, found = SearchConfig("digits", recipe=Recipe(epochs=3), **options), load("digits"), set()
    for name, factory in {"one": in_place, "two": process_pool(2), "dask": cluster(scheduler)}.items():
        search(config, data, lambda name=name: RunStore.create(tmp_path, name, {}), factory, Silent())
        files = ("trials.jsonl", "leaders.json", "best.json", "pareto.json")
        found.add(tuple((tmp_path / name / file).read_bytes() for file in files))
    assert len(found) == 1
