"""HGNAS: canonical forms, baselines, searches for a measured device, ways to search, ranks of supernets.

The device is that of benchmarks/predictors.py, measured first if it is not there. Runs are in build/hgnas and continue.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import Record, interval
from memory import PACKAGE, digest
from pages import read_record, render, write_page
from predictors import FIRST, SECOND, device

import fgnas
from fgnas import searchers
from fgnas.api import Run
from fgnas.engine.contracts import Composition
from fgnas.engine.jobs import process_pool
from fgnas.engine.run import Plan, configuration
from fgnas.engine.run import search as engine_search
from fgnas.engine.store import RunStore
from fgnas.hardware.measured.device import DeviceFolder
from fgnas.hardware.measured.measure import time_now
from fgnas.networks.points import training
from fgnas.networks.points.baselines import BASELINES, baseline
from fgnas.networks.points.graphs import Batch
from fgnas.networks.points.model import PointModel
from fgnas.networks.points.operations import LARGEST_WIDTH, TAILS, Combine, PointNetwork
from fgnas.networks.points.work import widest
from fgnas.pareto import hypervolume
from fgnas.systems.hgnas import Options, compose
from fgnas.systems.hgnas.composition import cloud_of
from fgnas.systems.hgnas.space import PointSpace, point_space
from fgnas.systems.hgnas.target import MeasuredTarget
from fgnas.tasks.points import EMBEDDED, load_graphs

NAME = "hgnas"
RUNS = PACKAGE.parent / "build" / "hgnas"
PARTS = ("canonical", "baselines", "found", "fast", "searchers", "rank", "timed")
CODE = (
    "networks/points", "networks/norm.py", "systems/hgnas", "searchers/staged.py", "hardware/measured",
    "tasks/points.py",
)  # fmt: skip
SEEDS = 5
ROWS, ROWS_SEED = 1_000, 241_124
TRAINED = ("dgcnn", "dgcnn-static", "pointnet")
"""Baselines that are trained: the fused one has the weights of the first."""
ROUNDS = 15
FAST = 6.0
"""How many times as fast as fused DGCNN a network of the part "fast" is at least."""
METHODS = ("staged", "evolution", "random")
RANKED, RANK_SEEDS = 100, 2
SUPERNETS = ("sliced", "aligned")


def canonical() -> dict[str, Any]:
    """Random rows of the space: the outputs of the row and of its canonical network, compared bit for bit."""
    tail, rng = TAILS["small"], np.random.default_rng(ROWS_SEED)
    space = point_space(cloud_of(load_graphs(EMBEDDED)), tail)
    equal = compared = 0
    for seed in itertools.count():
        if compared == ROWS:
            return {"rows": compared, "equal": equal, "seed": ROWS_SEED}
        row = space.draw(1, rng)[0]
        listed, short = space.operations(row), space.candidate(row).network.operations
        if widest(listed, 3) > 4 * LARGEST_WIDTH:
            continue
        compared += 1
        equal += same_outputs(PointNetwork(listed, tail), PointNetwork(short, tail), seed)
    raise AssertionError


def same_outputs(row: PointNetwork, short: PointNetwork, seed: int) -> bool:
    """Whether two networks give the same bits with the same weights, on three clouds of 24 points."""
    torch.manual_seed(seed)
    after = PointModel(short, 3, 10).eval()
    before = PointModel(PointNetwork((), row.tail), 3, 10).eval()
    before.network, before.tail = row, after.tail
    places = [place for place, one in enumerate(row.operations) if isinstance(one, Combine)]
    before.layers = torch.nn.ModuleDict(zip(map(str, places), after.layers.values(), strict=True))
    x, batch = torch.randn(72, 3), Batch((24, 24, 24), 8)
    with torch.no_grad():
        return torch.equal(before(x, batch), after(x, batch))


def trained(name: str, seed: int) -> dict[str, Any]:
    """A baseline trained as winners are: accuracy on validation and test."""
    data, torch_threads = load_graphs(EMBEDDED), 1
    torch.set_num_threads(torch_threads)
    begun = time.process_time()
    model = training.train(baseline(name, TAILS["small"]), data, training.recipe_of(data), seed)
    found = {split: training.accuracy(model, data, split) for split in ("val", "test")}
    return found | {"cpu_s": time.process_time() - begun}


def timed(network: PointNetwork, name: str = FIRST) -> dict[str, float]:
    """Share of fused DGCNN's time and milliseconds of a network, now, on this processor."""
    one = device(name).device()
    share, milliseconds = time_now(network, one, load_graphs(one.dataset), ROUNDS)
    return {"share": share, "ms": milliseconds}


def search(name: str, **options: Any) -> Run:
    """A search on the device, continued where it was stopped."""
    begun = (RUNS / name / "config.json").is_file()
    given = {} if begun else {"system": "hgnas", "target": str(device(FIRST).path), **options}
    return fgnas.search(runs=RUNS, run=name, resume=begun, **given)


def searched(name: str, **options: Any) -> dict[str, Any]:
    """The delivered network of a search, with its accuracies, predicted and measured time; and the seconds it took."""
    begun = time.perf_counter()
    run = search(name, **options)
    best = run.best
    network = PointNetwork.from_dict(best["design"])
    return {
        "val": best["retrained_val"]["values"], "test": best["retrained"]["float"]["test"]["values"],
        "predicted": best["costs"]["share"], "measured": timed(network), "memory": best["costs"]["memory"],
        "products": best["costs"]["products"], "seconds": time.perf_counter() - begun,
        "operations": [one["operation"] + " " + " ".join(str(value) for key, value in one.items() if key != "operation")
                       for one in best["design"]["operations"]],
        "on": {other: timed(network, other) for other in (SECOND,) if (device_path(other) / "judged.json").is_file()},
    }  # fmt: skip


def device_path(name: str) -> Path:
    """The folder of a device, measured or not."""
    return PACKAGE.parent / "build" / "devices" / name


def compared_methods(method: str, seed: int) -> dict[str, Any]:
    """The front of a method's leaders, each trained alone: its hypervolume over (accuracy, share of the time)."""
    begun = time.process_time()
    run = search(f"{method}-{seed}", method=method, seed=seed, retrain_seeds=1, workers=1)
    points = [(one["retrained_val"]["mean"], -one["costs"]["share"]) for one in run.store.leaders()]
    return {
        "hypervolume": hypervolume(np.array(points), (0.5, -1.0)), "points": points,
        "cpu_s": time.process_time() - begun, "trials": len(run.trials()),
    }  # fmt: skip


def ranked(supernet: str) -> dict[str, Any]:
    """Kendall's tau of a supernet's scores."""
    run = search(f"rank-{supernet}", method="random", supernet=supernet, children=20, leaders=1, retrain_seeds=1)
    return run.rank(RANKED, RANK_SEEDS)


class TimedTarget(MeasuredTarget):
    """Prices whose times are measured when they are asked for: one block of every network, once."""

    def __init__(self, space: PointSpace, folder: DeviceFolder) -> None:
        super().__init__(space, folder)
        one = folder.device()
        self.data = load_graphs(one.dataset)
        self.device = one
        self.known: dict[str, float] = {}
        self.seconds = 0.0

    def of(self, networks: list[PointNetwork]) -> dict[str, Any]:
        """As `MeasuredTarget.of`."""
        begun = time.perf_counter()
        for network in networks:
            if network.hash not in self.known:
                self.known[network.hash] = time_now(network, self.device, self.data, 1)[0]
        self.seconds += time.perf_counter() - begun
        share = np.array([self.known[one.hash] for one in networks])
        return {**super().of(networks), "share": share, "latency": share * self.reference_ms}


def beside_timing(seed: int) -> dict[str, Any]:
    """A search whose target times every network that it prices, and one that predicts: the fronts of their leaders,
    scored alike, with the times of both measured again."""
    folder = device(FIRST)
    options = Options(target=str(folder.path), seed=seed, leaders=10, retrain_seeds=1)
    found = {}
    for name in ("predicted", "timed"):
        parts = compose(options)
        target = TimedTarget(parts.space, folder) if name == "timed" else parts.target
        best = engine_front(replace(parts, target=target), options, RUNS / f"{name}-{seed}")
        points = [(val, -timed(network)["share"]) for val, network in best]
        found[name] = {
            "hypervolume": hypervolume(np.array(points), (0.5, -1.0)), "points": points,
            "device_s": getattr(target, "seconds", 0.0), "networks": len(getattr(target, "known", ())),
        }  # fmt: skip
    spent = [line.milliseconds for line in folder.lines() if line.milliseconds is not None]
    # A block of the network and one of the reference, of 20 runs and 20 ms at least.
    return {**found, "measured_s": sum(2 * max(20.0, 20 * one) for one in spent) / 1000}


def engine_front(parts: Composition, options: Options, folder: Path) -> list[tuple[float, PointNetwork]]:
    """The leaders of a search, each with its accuracy when it is trained alone."""
    shutil.rmtree(folder, ignore_errors=True)
    store = RunStore.create(folder.parent, folder.name, configuration("hgnas", asdict(options), parts))
    engine_search(parts, Plan.of(options), searchers.find(options.method), lambda: store, process_pool(2))
    return [(one["retrained_val"]["mean"], PointNetwork.from_dict(one["design"])) for one in store.leaders()]


def jobs(parts: list[str], seeds: int) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """The name of every result, and what makes it."""
    if "canonical" in parts:
        yield "canonical", canonical
    if "baselines" in parts:
        for name in BASELINES:
            yield f"timed {name}", lambda name=name: timed(baseline(name, TAILS["small"]))  # type: ignore[misc]
        for seed, name in itertools.product(range(seeds), TRAINED):
            yield f"baseline {name} {seed}", lambda name=name, seed=seed: trained(name, seed)  # type: ignore[misc]
    for seed in range(seeds):
        if "found" in parts:
            yield f"found {seed}", lambda seed=seed: searched(f"found-{seed}", seed=seed)  # type: ignore[misc]
        if "fast" in parts:
            limit = device(FIRST).verdict().reference_ms / FAST
            yield f"fast {seed}", lambda seed=seed, limit=limit: searched(  # type: ignore[misc]
                f"fast-{seed}", seed=seed, latency_ms=limit)
        for method in METHODS if "searchers" in parts else ():
            yield f"method {method} {seed}", lambda m=method, s=seed: compared_methods(m, s)  # type: ignore[misc]
    for seed in range(seeds) if "timed" in parts else ():
        yield f"beside {seed}", lambda seed=seed: beside_timing(seed)  # type: ignore[misc]
    for supernet in SUPERNETS if "rank" in parts else ():
        yield f"rank {supernet}", lambda supernet=supernet: ranked(supernet)  # type: ignore[misc]


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    def starting(prefix: str) -> list[dict[str, Any]]:
        return [value for key, value in record.items() if key.startswith(prefix)]

    return render(
        f"{NAME}.md", canonical=record.get("canonical"),
        times={name: record[f"timed {name}"] for name in BASELINES if f"timed {name}" in record},
        baselines={name: found for name in TRAINED if (found := starting(f"baseline {name} "))},
        found=starting("found "), fast=starting("fast "), least=FAST,
        methods={name: found for name in METHODS if (found := starting(f"method {name} "))},
        beside=starting("beside "),
        ranks={name: record[f"rank {name}"] for name in SUPERNETS if f"rank {name}" in record}, interval=interval,
    )  # fmt: skip


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="default: %(default)s")
    options = parser.parse_args()
    folder = device(FIRST)
    fitted = json.dumps(folder.verdict().to_dict(), sort_keys=True)
    record = Record(NAME, digest(CODE))
    record.note(device=folder.device().to_dict(), verdict=json.loads(fitted))
    for key, make in jobs(options.only.split(","), options.seeds):
        record.fill(key, make)
        write_page(f"{NAME}.md", page(record.results))
    write_page(f"{NAME}.md", page(read_record(NAME)))


if __name__ == "__main__":
    main()
