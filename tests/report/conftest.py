"""A run and a project to draw: designs of the real sampler at their real prices, with invented accuracies."""

import functools
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from support import random_accelerator, random_design

from fgnas.backends.pipeline import write_project
from fgnas.costs import plain
from fgnas.engine.run import configuration
from fgnas.engine.trial import Trial
from fgnas.report.record import RunRecord
from fgnas.systems.fgnas import Options, compose


def _make_run(count, data, name="made-up", draws=3, finished=True):
    """A run of `count` trials, of which every tenth draws the design of five trials before again."""
    limits = {"latency_ms": 0.004, "lut": 30_000, "ff": None, "dsp": 30}
    options = Options(dataset="digits", target="pipeline", children=count, **limits)
    parts, rng = compose(options, data), np.random.default_rng(1)
    rows = parts.space.draw(count, rng)
    for row in range(10, count, 10):
        rows[row] = rows[row - 5]
    costs = parts.target.price(rows)
    kept = parts.feasible(rows)
    trials = []
    for i, row in enumerate(rows):
        design = parts.space.candidate(row)
        if i >= 10 and i % 10 == 0:
            val = trials[i - 5].scores["val"]
        else:
            val = round(float(np.clip(0.3 + 0.6 * i / count + rng.normal(0, 0.08), 0.0, 0.99)), 4)
        trials.append(Trial(
            trial=i, draws=draws * (i + 1), row=tuple(row.tolist()), design=design.to_dict(), design_hash=design.hash,
            training_key=design.training_key, score_key=design.score_key, feasible=bool(kept[i]),
            scores={"val": val, "float_val": min(1.0, val + 0.01), "epoch": 3}, costs=plain(costs, i),
            trained=i % 3 == 0, cached=False,
        ))  # fmt: skip
    config = configuration("fgnas", asdict(options), parts)
    ranked = [trial for trial in trials if trial.feasible]
    ranked.sort(key=lambda trial: (-trial.scores["val"], trial.trial))
    leaders = [
        {
            "rank": rank, "design": trial.design, "design_hash": trial.design_hash, "dataset": "digits",
            "trial": trial.trial, "searched": trial.scores["val"],
            "retrained_val": {"mean": trial.scores["val"], "std": 0.01, "values": [trial.scores["val"]] * 5},
            "costs": trial.costs,
        }
        for rank, trial in enumerate(ranked[:5], 1)
    ] if finished else []  # fmt: skip
    return RunRecord(name, config, trials, leaders, _make_best(leaders[0]) if leaders else None)


def _make_best(leader):
    """The content of best.json, with accuracies that are easy to find on a page."""
    over = {"mean": 0.8125, "std": 0.0123, "values": [0.8] * 5}
    both = {"val": over, "test": over}
    return {
        **leader,
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


@pytest.fixture(scope="session")
def every_page(small_run, project, four_nodes, tmp_path_factory) -> dict[str, Path]:
    """The file of a page of every kind, by kind."""
    from tests.report.kinds import write_pages

    return write_pages(tmp_path_factory.mktemp("kinds"), small_run, project, four_nodes)
