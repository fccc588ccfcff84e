"""A search small enough to run in a second: four nodes, one layer's worth of choices, jobs run in place."""

from concurrent.futures import Executor, Future

import pytest

from fgnas.engine import jobs
from fgnas.engine.evaluator import CoDesign
from fgnas.engine.jobs import Workers
from fgnas.hardware.pipeline.pricing import Specification
from fgnas.networks.training import Recipe
from fgnas.systems.fgnas.space import find_space


class InPlace(Executor):
    """Runs every job when it is submitted."""

    def submit(self, function, /, *arguments, **named):
        future = Future()
        try:
            future.set_result(function(*arguments, **named))
        except BaseException as error:
            future.set_exception(error)
        return future


@pytest.fixture
def in_place():
    return InPlace


@pytest.fixture
def space():
    return find_space("fgnas").restrict(attention=("constant", "gcn"), k=(1, 2), d=(4, 8))


@pytest.fixture
def make_evaluator(four_nodes, space, monkeypatch):
    """Makes evaluators of the four-node graph, whose latency limit about half of the space keeps."""
    monkeypatch.setattr(jobs, "load", lambda name: four_nodes)

    def make(run=None, specification=None, seed=0):
        run = run or Workers(InPlace).run
        specification = specification or Specification(latency_ms=0.0025, dsp=20)
        return CoDesign(four_nodes, space, specification, seed, Recipe(epochs=2), run)

    return make
