"""A run and a project to draw: designs of the real sampler at their real prices, with accuracies made up."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest
from support import random_accelerator, random_design

from fgnas.backends.project import write_project
from fgnas.engine.loop import PRICES
from fgnas.engine.run import SearchConfig
from fgnas.hardware.pipeline.pricing import Pricer, Specification, whole
from fgnas.report.record import RunRecord
from fgnas.systems.fgnas.space import find_space


def _make_run(count, data, name="made-up", draws=3, finished=True):
    """A run of `count` trials, of which every tenth draws the design of five trials before again."""
    specification = Specification(latency_ms=0.004, lut=30_000, dsp=30)
    space, rng = find_space("fgnas"), np.random.default_rng(1)
    samples = space.draw(count, rng)
    for row in range(10, count, 10):
        samples[row] = samples[row - 5]
    prices = Pricer(data).price(space.columns(samples), 30)
    feasible = prices.feasible(specification)
    trials = []
    for i, sample in enumerate(samples):
        design = space.design(sample, 30)
        if i >= 10 and i % 10 == 0:
            val = trials[i - 5]["val"]
        else:
            val = round(float(np.clip(0.3 + 0.6 * i / count + rng.normal(0, 0.08), 0.0, 0.99)), 4)
        trials.append({
            "trial": i, "draws": draws * (i + 1), "design": design.to_dict(), "design_hash": design.hash,
            "training_key": design.training_key, "feasible": bool(feasible[i]), "val": val,
            "float_val": min(1.0, val + 0.01), "epoch": 3, "trained": i % 3 == 0, "cached": False,
            **{price: whole(getattr(prices, price)[i]) for price in PRICES},
        })  # fmt: skip
    config = json.loads(json.dumps(SearchConfig("digits", specification, children=count).to_dict(data)))
    ranked = sorted((trial for trial in trials if trial["feasible"]), key=lambda trial: (-trial["val"], trial["trial"]))
    leaders = [
        {
            "rank": rank, "design": trial["design"], "design_hash": trial["design_hash"], "dataset": "digits",
            "trial": trial["trial"], "searched_val": trial["val"],
            "val": {"mean": trial["val"], "std": 0.01, "values": [trial["val"]] * 5},
            "prices": {price: trial[price] for price in PRICES},
        }
        for rank, trial in enumerate(ranked[:5], 1)
    ] if finished else []  # fmt: skip
    return RunRecord(name, config, trials, leaders, _make_best(leaders[0], specification) if leaders else None)


def _make_best(leader, specification):
    """What best.json holds, with accuracies that are easy to find on a page."""
    over = {"mean": 0.8125, "std": 0.0123, "values": [0.8] * 5}
    both = {"val": over, "test": over}
    return {
        **leader,
        "specification": specification.to_dict(),
        "delivered": {"float": {"val": 0.83, "test": 0.82}, "quantised": {"val": 0.82, "test": 0.8075}},
        "retrained": {"seeds": [1, 2, 3, 4, 5], "float": both, "quantised": both},
    }


@pytest.fixture(scope="session")
def make_run(four_nodes):
    """Makes runs on four nodes: make_run(count, **options)."""
    return functools.partial(_make_run, data=four_nodes)


@pytest.fixture(scope="session")
def small_run(make_run):
    """A hundred trials."""
    return make_run(100)


@pytest.fixture(scope="session")
def project(four_nodes, tmp_path_factory) -> Path:
    """The folder of a two-layer project on four nodes, its first layer attending; nothing has been run on it."""
    rng = np.random.default_rng(3)
    design = random_design(rng, 2, ({"attention": "gat", "t_attn": 2}, {"attention": "gcn", "t_attn": None}))
    folder = tmp_path_factory.mktemp("page") / "project"
    write_project(random_accelerator(rng, design, four_nodes), four_nodes, folder)
    return folder
