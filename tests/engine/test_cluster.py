"""A real scheduler with two worker processes on the loopback address."""

import os
from pathlib import Path

import pytest

import fgnas
from fgnas.engine import cluster as module
from fgnas.engine import survey
from fgnas.engine.cluster import cluster
from fgnas.engine.jobs import Workers
from fgnas.errors import UserError

distributed = pytest.importorskip("distributed")


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


@pytest.mark.slow
def test_the_executor_changes_no_trial(scheduler, tmp_path, monkeypatch):
    monkeypatch.setattr(survey, "SURVEY_DRAWS", 2_000)
    options = {"target": "pipeline", "latency_ms": 3.0, "dsp": 20, "children": 6, "leaders": 2, "retrain_seeds": 2,
               "epochs": 3}  # fmt: skip
    found = set()
    for name, where in {
        "one": {"workers": 1}, "two": {"workers": 2}, "dask": {"executor": "dask", "scheduler": scheduler},
    }.items():  # fmt: skip
        fgnas.search("digits", run=name, runs=tmp_path, **options, **where)
        files = ("trials.jsonl", "leaders.json", "best.json", "pareto.json")
        found.add(tuple((tmp_path / name / file).read_bytes() for file in files))
    assert len(found) == 1
