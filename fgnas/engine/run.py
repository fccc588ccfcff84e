"""A whole search: its configuration, from the first draw to the delivered design."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from fgnas.engine.contracts import Searcher
from fgnas.engine.evaluator import CoDesign
from fgnas.engine.finish import Leaders
from fgnas.engine.jobs import ExecutorFactory, Workers
from fgnas.engine.loop import SearchLoop, Status, Survey, leaders, survey
from fgnas.engine.statistics import pareto_fronts
from fgnas.engine.store import RunStore, compare
from fgnas.errors import UserError
from fgnas.hardware.pipeline.pricing import Specification
from fgnas.networks.training import Recipe, recipe_for
from fgnas.searchers.disjoint import Disjoint
from fgnas.searchers.masks import Bounds
from fgnas.searchers.paper import PaperReinforce, PaperSettings
from fgnas.searchers.random import RandomSearch
from fgnas.searchers.reinforce import Reinforce, ReinforceSettings
from fgnas.space import Space, find_space
from fgnas.tasks.nodes import GraphData

METHODS = ("reinforce", "random", "disjoint")

CONTROLLERS = ("warm", "conditioned", "masked", "paper")
"""Of the method reinforce; the first is the default."""

WARM_STEPS = 100


def make_searcher(config: SearchConfig, space: Space, evaluator: CoDesign, found: Survey) -> Searcher:
    """The searcher of a configuration, for a specification that a survey found this of.

    What no uniform draw keeps is searched with both masks and warm start, whatever learning controller is asked for.
    """
    if config.method == "random":
        return RandomSearch(space, config.seed)
    if config.method == "disjoint":
        return Disjoint(space, config.seed, config.children, lambda samples: evaluator.check(samples)[1])
    if config.controller == "paper":
        return PaperReinforce(space, config.seed)
    masked, warm = (config.controller == name or found.share == 0 for name in ("masked", "warm"))
    mask = Bounds(space, evaluator.pricer, config.specification, evaluator.dsp) if masked else None
    searcher = Reinforce(space, config.seed, mask=mask)
    if warm:
        searcher.imitate(found.known, WARM_STEPS)
    return searcher


@dataclass(frozen=True)
class SearchConfig:
    """Everything that determines a search, beside the versions it runs with.

    Attributes:
        dataset: name of the data.
        specification: what the hardware must keep to.
        method: reinforce, random or disjoint.
        controller: how reinforce learns (see CONTROLLERS).
        children: valid samples to evaluate, repeats included.
        seed: of everything.
        batch: children between two updates, whatever the workers.
        leaders, retrain_seeds: distinct designs that are retrained at the end, and with how many seeds.
    """

    dataset: str
    specification: Specification
    method: str = "reinforce"
    controller: str = "warm"
    children: int = 300
    seed: int = 0
    space: str = "fgnas"
    batch: int = 10
    leaders: int = 20
    retrain_seeds: int = 5
    recipe: Recipe = field(default_factory=Recipe)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UserError(f"unknown method {self.method!r}; known: {', '.join(sorted(METHODS))}")
        if self.controller not in CONTROLLERS:
            raise UserError(f"unknown controller {self.controller!r}; known: {', '.join(CONTROLLERS)}")
        if self.children < 1:
            raise UserError(f"--children is {self.children}: give at least 1")
        if self.seed < 0:
            raise UserError(f"--seed is {self.seed}: give 0 or more")

    @classmethod
    def of(cls, dataset: str, device: str = "cpu", **options: Any) -> SearchConfig:
        """A configuration with the paper's recipe for the dataset."""
        return cls(dataset, recipe=recipe_for(dataset, device), **options)

    def to_dict(self, data: GraphData) -> dict[str, Any]:
        """What config.json holds: the configuration, what the data is, and the versions."""
        space = find_space(self.space)
        choices = {choice.name: list(choice.options) for choice in space.choices}
        return {
            **asdict(self),
            "fingerprint": data.fingerprint,
            "space": {"name": space.name, "layers": space.layers, "choices": choices},
            "settings": asdict(PaperSettings() if self.controller == "paper" else ReinforceSettings()),
            "versions": versions(),
        }


def versions() -> dict[str, str]:
    """What equal results depend on besides the configuration."""
    return {
        "fgnas": importlib.metadata.version("fgnas"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": torch.__version__,
        "cpu": cpu_name(),
    }


def cpu_name() -> str:
    """The processor's model, as Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


class Reporter(Protocol):
    """What a search tells while it runs."""

    def surveyed(self, survey: Survey) -> None:
        """Before the first draw."""

    def searched(self, status: Status) -> None:
        """After every batch."""

    def retrained(self, done: int, total: int) -> None:
        """After every seed of the leaders' retraining, and after their fine-tuning."""


def check_resumable(store: RunStore, config: SearchConfig, data: GraphData) -> None:
    """Refuse to go on with a run under another configuration or other versions."""
    current = json.loads(json.dumps(config.to_dict(data)))
    if difference := compare(store.config(), current):
        raise UserError(f"cannot go on with the run {store.name}: {difference}; start a new run")


def search(
    config: SearchConfig,
    data: GraphData,
    open_store: Callable[[], RunStore],
    factory: ExecutorFactory,
    reporter: Reporter,
    *,
    resume: bool = False,
) -> dict[str, Any]:
    """Search, retrain the leaders, deliver the best: the content of best.json.

    The store is opened only when the specification is known to be feasible.
    """
    # How many threads sum a product decides its last bits.
    torch.set_num_threads(1)
    space = find_space(config.space)
    with Workers(factory) as workers:
        evaluator = CoDesign(data, space, config.specification, config.seed, config.recipe, workers.run)
        reporter.surveyed(found := survey(space, evaluator.pricer, config.specification, evaluator.dsp))
        searcher = make_searcher(config, space, evaluator, found)
        batch = PaperSettings().batch if config.controller == "paper" else config.batch
        loop = SearchLoop(
            searcher, evaluator, open_store(), children=config.children, batch=batch, leaders=config.leaders,
            report=reporter.searched,
        )  # fmt: skip
        if resume:
            loop.resume()
        trials = loop.run()
        loop.store.write_json("pareto.json", pareto_fronts(trials))
        chosen = Leaders(evaluator, leaders(trials, config.leaders), config.retrain_seeds)
        chosen.retrain(reporter.retrained)
        chosen.fine_tune(reporter.retrained)
        return chosen.deliver(loop.store)
