"""The two tiers of MaGNAS on digits: ways to search at equally many scored architectures, and the supernet's figures.

The supernet and the platform are made once and recorded; every method scores with the same weights. Resumable, method
by method and network by network.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import math
import time
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from common import Record
from memory import digest
from pages import render, write_page
from scipy.stats import spearmanr

from fgnas import pareto, searchers
from fgnas.api.mappings import measure_platform
from fgnas.engine.contracts import Composition, Problem
from fgnas.engine.jobs import Workers, process_pool
from fgnas.engine.loop import SearchLoop
from fgnas.engine.run import configuration
from fgnas.engine.statistics import difference
from fgnas.engine.store import RunStore
from fgnas.engine.survey import survey
from fgnas.engine.trial import Trial
from fgnas.mapping.options import MapOptions
from fgnas.mapping.platform import Platform
from fgnas.networks.vision import supernet
from fgnas.networks.vision.subnet import OPERATORS, Subnet
from fgnas.networks.vision.supernet import Recipe, extreme, vig_space
from fgnas.networks.vision.vig import Backbone
from fgnas.systems.magnas.options import Options
from fgnas.systems.magnas.target import MappedTarget
from fgnas.systems.magnas.trainer import SupernetTrainer
from fgnas.tasks.images import ImageData, load_images

KERNELS = sorted((Path(__file__).parent / "kernels").glob("*.json"))
WATTS = {"watts": 15.0, "idle_watts": 3.0}
"""Power of the processor, assumed, not measured."""
FOLDER = Path(__file__).parents[1] / "build" / "two-tiers"
CODE = ("networks/vision", "systems/magnas", "mapping", "searchers", "engine", "space.py", "tasks/images.py")
CPU = "cpu"
METHODS = {
    "stand-alone": ("nsga2", True, True), "random": ("random", False, False),
    "search on one unit, then map": ("nsga2", True, False), "nested": ("nsga2", False, False),
}  # fmt: skip
"""Name -> (searcher, whether it searches on the processor alone, whether its mappings are of the processor alone)."""
RANDOM_SUBNETS, LEAST_ACCURACY = 50, 0.5


class Shared(SupernetTrainer):
    """Scores with a supernet that is trained already, and remembers scores for all searches."""

    def use(self, weights: Path, sha256: str, known: dict[str, float]) -> Shared:
        """Take the supernet's file and the scores so far."""
        self.weights, self.sha256, self._known = weights, sha256, known
        return self


def trained(data: ImageData, recipe: Recipe, weights: Path) -> dict[str, Any]:
    """Train the supernet into a file, or continue; wall-clock and CPU seconds, None for a training in parts."""
    weights.parent.mkdir(parents=True, exist_ok=True)
    whole, begin, begin_cpu = not weights.is_file(), time.perf_counter(), time.process_time()
    supernet.train(data, recipe, 0, weights, lambda epoch: print(f"epoch {epoch}", flush=True))
    took = {"seconds": time.perf_counter() - begin, "cpu_seconds": time.process_time() - begin_cpu}
    return took if whole else dict.fromkeys(took)


def platform_text() -> dict[str, Any]:
    """A platform of this processor and the kernels, as it is measured now."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "platform.toml"
        measure_platform(path, kernels=KERNELS, **WATTS)
        return {"toml": path.read_text(encoding="utf-8")}


def alone(platform: Platform) -> Platform:
    """The platform without its kernels."""
    steps = {name: step.model_copy(update={"on": {CPU: step.on[CPU]}}) for name, step in platform.steps.items()}
    return platform.model_copy(update={"units": [CPU], "steps": steps, "together": (), "builds": {}})


def search(parts: Composition, method: str, children: int, seed: int, workers: Workers) -> list[Trial]:
    """The trials of a search for so many distinct architectures, without the end that retrains leaders."""
    found = survey(parts.space, parts.target, parts.limits, parts.survey_draws)
    problem = Problem(parts.space, parts.target, parts.limits, found, seed, children, {})
    searcher = searchers.find(method)(problem)
    with TemporaryDirectory() as folder:
        store = RunStore.create(Path(folder), "run", configuration("magnas", {}, parts))
        loop = SearchLoop(
            searcher, parts, store, workers, children=children, batch=searcher.batch, leaders=1, distinct=True
        )
        return loop.run()


def points(trials: Sequence[Trial], target: MappedTarget) -> list[tuple[float, float, float]]:
    """(accuracy, latency, energy) of every mapping on the exact fronts of the trials, less those that others beat."""
    found = []
    for trial in trials:
        answer = target.mapped(Subnet.from_dict(trial.design))
        found += [
            (trial.scores["val"], answer.milliseconds(one.time), answer.millijoules(one.energy))
            for one in answer.points
        ]
    signed = np.array(found) * [1, -1, -1]
    return [found[place] for place in np.flatnonzero(pareto.front(signed))]


def compared(record: dict[str, Any], options: dict[str, Any], reference: Sequence[float]) -> list[dict[str, Any]]:
    """One line for each method: its hypervolume as a share of the mean of stand-alone."""
    volumes: dict[str, list[list[float]]] = {}
    for method in METHODS:
        keys = [f"{method} {seed} {options['children']}" for seed in range(options["seeds"])]
        fronts = [record[key]["front"] for key in keys if key in record]
        volumes[method] = [
            [pareto.hypervolume(np.array(front) * [1, -1, -1], [LEAST_ACCURACY, -reference[0], -reference[1]])]
            for front in fronts
        ]  # fmt: skip
    base = volumes["stand-alone"]
    mean = float(np.mean(base)) if base and np.mean(base) > 0 else math.nan
    return [
        {
            "method": method, "searches": len(found), "volume": float(np.mean(found)) / mean,
            "gap": {name: value / mean for name, value in difference(found, base).items()},
        }
        for method, found in volumes.items() if found
    ]  # fmt: skip


def train_alone(subnet: Subnet, data: ImageData, epochs: int, seed: int) -> dict[str, float]:
    """The validation accuracy of a subnet trained by itself, by the supernet's recipe."""
    model = supernet.train(data, Recipe(epochs=epochs), seed, draw=lambda rng: [subnet])
    return {"val": supernet.accuracy(model, subnet, data)}


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    options = record["options"]
    inherited = record.get("random subnets", {"val": []})["val"]
    trained_alone = (record.get(f"alone {place} {options['alone_epochs']}") for place in range(len(inherited)))
    pairs = [(val, one["val"]) for val, one in zip(inherited, trained_alone, strict=True) if one is not None]
    rank = float(spearmanr(*zip(*pairs, strict=True)).statistic) if len(pairs) > 2 else None
    return render(
        "two-tiers.md", training=record.get("supernet"), inherited=inherited, pairs=pairs, rank=rank,
        largest=record.get("largest"),
        lines=compared(record, options, record["reference"]["costs"]) if "reference" in record else [],
        reference=record.get("reference", {}).get("costs"), least=LEAST_ACCURACY, watts=WATTS, **options,
    )  # fmt: skip


def main() -> None:
    """Run what is missing, and write after each part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=Options().epochs, help="of the supernet")
    parser.add_argument("--children", type=int, default=300, help="scored architectures of a search")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--alone", type=int, default=20, help="subnets that are trained alone, too")
    parser.add_argument("--alone-epochs", type=int, default=30)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    data = load_images("digit-images")
    backbone, recipe = Backbone.of(data), Recipe(epochs=options.epochs)
    record = Record("two-tiers", digest((*CODE,)) + f"-{options.epochs}")
    wanted = ("epochs", "children", "seeds", "alone", "alone_epochs")
    record.note(options={name: getattr(options, name) for name in wanted})
    weights = FOLDER / f"supernet-{record.results['code']}.pt"
    record.fill("supernet", lambda: trained(data, recipe, weights))
    if not weights.is_file():  # a record from another machine
        trained(data, recipe, weights)
    sha256 = hashlib.sha256(weights.read_bytes()).hexdigest()
    platform = Platform.model_validate(tomllib.loads(record.fill("platform", platform_text)["toml"]))
    done = filled(record)
    with Workers(process_pool(options.workers)) as workers:
        everything = MappedTarget(vig_space(backbone), backbone, platform, MapOptions())
        single = MappedTarget(everything.space, backbone, alone(platform), MapOptions())
        trainer = Shared(data, 0, recipe, everything).use(weights, sha256, {})
        rows = everything.space.draw(RANDOM_SUBNETS, np.random.default_rng(0))
        subnets = [everything.space.candidate(row) for row in rows]
        largest = [extreme(backbone, True, operator) for operator in OPERATORS]
        done("largest", lambda: {"val": scored(trainer, largest, workers)})
        done("random subnets", lambda: {"val": scored(trainer, subnets, workers)})
        worst = single.price(np.concatenate([rows, everything.space.draw(500, np.random.default_rng(1))]))
        record.fill("reference", lambda: {"costs": [float(worst[name].max()) for name in ("latency_ms", "energy_mj")]})
        for seed, (name, (method, on_one, stays)) in itertools.product(range(options.seeds), METHODS.items()):
            target = single if on_one else everything
            parts = Composition(
                everything.space, target, trainer, (), ("val", "latency_ms", "energy_mj"), survey_draws=200
            )
            mapped = single if stays else everything
            done(f"{name} {seed} {options.children}", lambda parts=parts, method=method, seed=seed, mapped=mapped: {
                "front": points(search(parts, method, options.children, seed, workers), mapped),
            })  # fmt: skip
        for number in range(min(options.alone, RANDOM_SUBNETS)):
            key = f"alone {number} {options.alone_epochs}"
            done(key, lambda one=subnets[number]: train_alone(one, data, options.alone_epochs, 0))
    write_page("two-tiers.md", page(record.results))


def filled(record: Record) -> Callable[[str, Callable[[], dict[str, Any]]], None]:
    """`Record.fill`, with the page written after each result."""

    def fill(key: str, make: Callable[[], dict[str, Any]]) -> None:
        record.fill(key, make)
        write_page("two-tiers.md", page(record.results))

    return fill


def scored(trainer: Shared, subnets: Sequence[Subnet], workers: Workers) -> list[float]:
    """The validation accuracy of subnets with the supernet's weights."""
    return [score.values["val"] for score in trainer.score(subnets, workers)]


if __name__ == "__main__":
    main()
