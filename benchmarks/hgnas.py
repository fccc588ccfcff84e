"""HGNAS: canonical forms, baselines, searches for a measured device, ways to search, ranks of supernets.

The device is that of benchmarks/predictors.py, measured first if it is not there. Runs are in build/hgnas and continue.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from common import Record, interval, listed
from hgnas_ranks import within_sets
from memory import PACKAGE, digest
from pages import read_record, render, write_page
from predictors import FIRST, MIDDLE, QUICK, SECOND, device

import fgnas
from fgnas import searchers
from fgnas.api import Run
from fgnas.api.rankings import rank
from fgnas.engine.contracts import Composition
from fgnas.engine.jobs import Workers, process_pool
from fgnas.engine.run import Plan, configuration
from fgnas.engine.run import search as engine_search
from fgnas.engine.statistics import difference
from fgnas.engine.store import RunStore
from fgnas.hardware.measured.device import DeviceFolder
from fgnas.hardware.measured.measure import time_now, times_now
from fgnas.hardware.measured.timing import Block
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
PARTS = (
    "canonical", "baselines", "found", "accurate", "judged", "trained", "fast", "searchers", "rank", "own", "timed",
    "shapes", "folds",
)  # fmt: skip
OTHER_DEVICE = {"canonical", "own", "judged", "trained", "shapes"}
"""Parts for which the first device is not measured."""
CODE = (
    "networks/points", "networks/norm.py", "systems/hgnas", "searchers/staged.py", "hardware/measured",
    "tasks/points.py",
)  # fmt: skip
SEEDS = 5
ROWS, ROWS_SEED = 1_000, 241_124
TRAINED = ("dgcnn", "dgcnn-static", "pointnet")
"""Baselines that are trained: the fused one has the weights of the first."""
ROUNDS = 15
ACCURATE, FAST, ACCURATE_SHAPES = 3.5, 6.0, 3.0
"""How many times as fast as fused DGCNN a network of the parts "accurate", "fast" and "shapes" is at least; time beyond
that is worth no accuracy to the first and the last."""
METHODS = ("staged", "evolution", "random")
RANKED, RANK_SEEDS = 100, 2
RANK_WORKERS = 2
SHAPES: dict[str, dict[str, Any]] = {
    "supernet": {"epochs": 24, "own_epochs": 8, "children": 600, "leaders": 5, "finalists": 1},
    "trained": {
        "scoring": "training", "method": "evolution", "score_epochs": 8, "children": 120, "leaders": 6,
        "finalists": 2,
    },
}  # fmt: skip
"""Budgets of searches for `shapes`, 256 points: clouds are four times as large, and there are 1.6 times as many."""
OF_SHAPES: dict[str, Any] = {"dataset": "shapes", "retrain_seeds": 2, "retrain_epochs": 24, "weight": 0.0}
SHAPES_SEEDS = 2
SUPERNETS = ("sliced", "aligned")
SHARED = "supernet-shared.pt"
SEARCHES = ("found", "accurate", "judged", "trained", "fast")
JUDGED: dict[str, Any] = {"leaders": 24, "folds": 5}
"""How the part "judged" chooses among leaders, where "accurate" has the default's ten and the validation split."""
BRIEFLY: dict[str, Any] = JUDGED | {"scoring": "training", "method": "evolution", "children": 240}
"""How the part "trained" scores candidates as well: each by a training of its own."""
FOLDS, FOLDS_SEED = 5, 261_128
"""Parts into which the clouds of training and validation are drawn."""
ALIKE = ("seed", "dataset", "tail", "supernet", "epochs", "own_epochs", "retrain_epochs")
"""Options on which supernets depend."""


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


def trained(
    name: str, seed: int, dataset: str = EMBEDDED, tail: str = "small", epochs: int | None = None,
) -> dict[str, Any]:  # fmt: skip
    """A baseline trained as winners are: accuracy on validation and test."""
    data, torch_threads = load_graphs(dataset), 1
    torch.set_num_threads(torch_threads)
    begun = time.process_time()
    recipe = training.recipe_of(data)
    model = training.train(baseline(name, TAILS[tail]), data, replace(recipe, epochs=epochs or recipe.epochs), seed)
    found = {split: training.accuracy(model, data, split) for split in ("val", "test")}
    return found | {"cpu_s": time.process_time() - begun}


def timed(network: PointNetwork, name: str = FIRST) -> dict[str, float]:
    """Share of fused DGCNN's time and milliseconds of a network, now, on this processor."""
    one = device(name).device()
    share, milliseconds = time_now(network, one, load_graphs(one.dataset), ROUNDS)
    return {"share": share, "ms": milliseconds}


def search(name: str, target: str = FIRST, **options: Any) -> Run:
    """A search on a device, continued where it was stopped; with its seed's supernet."""
    return continued(name, lambda: Options(target=str(device(target).path), **options))


def continued(name: str, options: Callable[[], Options]) -> Run:
    """A run, begun with these options where it is not there yet."""
    if not (RUNS / name / "config.json").is_file():
        begin(name, options())
    return fgnas.search(runs=RUNS, run=name, resume=True, workers=1)


def begin(name: str, options: Options, parts: Composition | None = None) -> RunStore:
    """A new run, which has the supernets of its seed that are trained already: searches of one seed have equal ones."""
    parts = parts or compose(options)
    store = RunStore.create(RUNS, name, configuration("hgnas", asdict(options), parts))
    if options.scoring == "training":
        return store
    for done in (path.parent for path in RUNS.glob("*/best.json")):
        theirs = RunStore(done).config()["options"]
        if all(theirs[one] == getattr(options, one) for one in ALIKE):
            for path in done.glob("supernet-*.pt"):
                shutil.copy(path, store.folder)
    shutil.copy(supernet(options) / SHARED, store.folder)
    return store


def supernet(options: Options) -> Path:
    """The folder of the shared supernet of a search's seed and kind, trained as far as it is not."""
    folder = RUNS / "supernets" / f"{options.dataset}-{options.supernet}-{options.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    with Workers(process_pool(1)) as workers:
        alone = Options(**{one: getattr(options, one) for one in ALIKE})
        compose(alone).trainer.prepare(RunStore(folder), workers)
    return folder


def prepared(kind: str, seed: int) -> dict[str, Any]:
    """Processor seconds of a shared supernet's training."""
    begun = processor_seconds()
    supernet(Options(supernet=kind, seed=seed))
    return {"cpu_s": processor_seconds() - begun}


def processor_seconds() -> float:
    """Processor seconds of this process and of its finished workers."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def within(times: float, name: str = FIRST) -> float:
    """Milliseconds of a network so many times as fast as fused DGCNN on a device."""
    return device(name).verdict().reference_ms / times


def searched(name: str, target: str = FIRST, **options: Any) -> dict[str, Any]:
    """The delivered network of a search, with its accuracies, predicted and measured time; and processor seconds."""
    begun = processor_seconds()
    run = search(name, target, **options)
    best, seconds = run.best, processor_seconds() - begun
    network = PointNetwork.from_dict(best["design"])
    return {
        "val": best["retrained_val"]["values"], "test": best["retrained"]["float"]["test"]["values"],
        "folds": best.get("folds", {}).get("values"),
        "predicted": best["costs"]["share"], "measured": timed(network, target), "memory": best["costs"]["memory"],
        "products": best["costs"]["products"], "cpu_s": seconds,
        "operations": listed(best),
        "on": {other: timed(network, other) for other in (SECOND,) if (device_path(other) / "judged.json").is_file()},
    }  # fmt: skip


def device_path(name: str) -> Path:
    """The folder of a device, measured or not."""
    return PACKAGE.parent / "build" / "devices" / name


def compared_methods(method: str, seed: int) -> dict[str, Any]:
    """The front of a method's leaders, each trained alone with one seed: its hypervolume over (accuracy, share of the
    time). The default method's are those of the part "found"."""
    begun = processor_seconds()
    default = method == METHODS[0]
    run = search(f"found-{seed}", seed=seed) if default else search(
        f"{method}-{seed}", method=method, seed=seed, retrain_seeds=1)  # fmt: skip
    points = [(one["retrained_val"]["values"][0], -one["costs"]["share"]) for one in run.store.leaders()]
    return {
        "hypervolume": hypervolume(np.array(points), (0.5, -1.0)), "points": points,
        "cpu_s": None if default else processor_seconds() - begun, "trials": len(run.trials()),
    }  # fmt: skip


def ranked(supernet: str) -> dict[str, Any]:
    """Kendall's tau of a supernet's scores. Trainings alone do not depend on a supernet: the first one's serve all."""
    first, own = (
        search(f"rank-{kind}", method="random", supernet=kind, children=20, leaders=1, retrain_seeds=1)
        for kind in (SUPERNETS[0], supernet)
    )
    return rank(own.store, process_pool(1), RANKED, RANK_SEEDS, first.store)


def ranked_own() -> dict[str, Any]:
    """Scores of the shared supernet, of sets' own ones and of short trainings, see `within_sets`."""
    return within_sets(supernet(Options()), process_pool(RANK_WORKERS))


class TimedTarget(MeasuredTarget):
    """Prices whose times are measured when they are asked for: one block of every network, once."""

    def __init__(self, space: PointSpace, folder: DeviceFolder) -> None:
        super().__init__(space, folder)
        self.device = folder.device()
        self.data = load_graphs(self.device.dataset)
        self.known: dict[str, Timed] = {}

    def of(self, networks: list[PointNetwork]) -> dict[str, Any]:
        """As `MeasuredTarget.of`."""
        new = {network.hash: network for network in networks if network.hash not in self.known}
        found = times_now(list(new.values()), self.device, self.data)
        self.known |= {name: Timed(*one) for name, one in zip(new, found, strict=True)}
        share = np.array([self.known[one.hash].share for one in networks])
        return {**super().of(networks), "share": share, "latency": share * self.reference_ms}


class Timed(NamedTuple):
    """A network's share of the reference's time, and its milliseconds."""

    share: float
    milliseconds: float


def block_seconds(milliseconds: Iterable[float]) -> float:
    """Seconds of timing networks once: a block of each and one of the reference, of 5 runs and 20 ms at least."""
    shortest, runs = Block().milliseconds, Block().runs
    return sum(max(shortest, runs * one) + shortest for one in milliseconds) / 1000


def beside_timing(seed: int) -> dict[str, Any]:
    """A search whose target times every network that it prices, and two that predict, from all networks of the device
    and from a round of few: the fronts of their leaders, scored alike, with the times of all measured again."""
    found = {}
    for name, folder in (("predicted", device(FIRST)), ("few", device(QUICK)), ("timed", device(FIRST))):
        options = Options(target=str(folder.path), seed=seed, retrain_seeds=1)
        parts = compose(options)
        target = TimedTarget(parts.space, folder) if name == "timed" else parts.target
        best = engine_front(replace(parts, target=target), options, RUNS / f"{name}-{seed}")
        points = [(val, -timed(network)["share"]) for val, network in best]
        spent = (
            [one.milliseconds for one in target.known.values()] if isinstance(target, TimedTarget)
            else [line.milliseconds for line in folder.lines() if line.milliseconds is not None]
        )  # fmt: skip
        found[name] = {
            "hypervolume": hypervolume(np.array(points), (0.5, -1.0)), "points": points,
            "device_s": block_seconds(spent), "timings": len(spent),
        }  # fmt: skip
    return found


def engine_front(parts: Composition, options: Options, folder: Path) -> list[tuple[float, PointNetwork]]:
    """The leaders of a search, each with its accuracy when it is trained alone."""
    shutil.rmtree(folder, ignore_errors=True)
    store = begin(folder.name, options, parts)
    engine_search(parts, Plan.of(options), searchers.find(options.method), lambda: store, process_pool(1))
    return [(one["retrained_val"]["mean"], PointNetwork.from_dict(one["design"])) for one in store.leaders()]


def folded(network: PointNetwork, fold: int) -> dict[str, float]:
    """The accuracy on a fold of the clouds of training and validation of a network that the other folds train."""
    torch.set_num_threads(1)
    data = load_graphs(EMBEDDED)
    split = data.held_out(fold, FOLDS, FOLDS_SEED)
    model = training.train(network, split, training.recipe_of(data), fold)
    return {"val": training.accuracy(model, split, "val"), "clouds": int((data.train | data.val).sum())}


def accurately(seed: int, name: str = FIRST) -> dict[str, Any]:
    """The options of a search for accuracy alone on a device."""
    return {"seed": seed, "latency_ms": within(ACCURATE, name), "weight": 0.0}


def folded_accurate(seed: int, fold: int) -> dict[str, float]:
    """As `folded`, of the network that such a search delivers."""
    best = search(f"accurate-{seed}", **accurately(seed)).best
    return folded(PointNetwork.from_dict(best["design"]), fold)


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
        if {"found", "accurate", "judged", "fast", "searchers", "timed"} & set(parts):
            yield f"supernet {seed}", lambda seed=seed: prepared("sliced", seed)  # type: ignore[misc]
        if "found" in parts:
            yield f"found {seed}", lambda seed=seed: searched(f"found-{seed}", seed=seed)  # type: ignore[misc]
        if "accurate" in parts:
            yield f"accurate {seed}", lambda seed=seed: searched(  # type: ignore[misc]
                f"accurate-{seed}", **accurately(seed))
        if "judged" in parts:
            yield f"judged {seed}", lambda seed=seed: searched(  # type: ignore[misc]
                f"judged-{seed}", QUICK, **accurately(seed, QUICK), **JUDGED)
        if "trained" in parts:
            yield f"trained {seed}", lambda seed=seed: searched(  # type: ignore[misc]
                f"trained-{seed}", QUICK, **accurately(seed, QUICK), **BRIEFLY)
        if "fast" in parts:
            yield f"fast {seed}", lambda seed=seed: searched(  # type: ignore[misc]
                f"fast-{seed}", seed=seed, latency_ms=within(FAST))
        for method in METHODS if "searchers" in parts else ():
            yield f"method {method} {seed}", lambda m=method, s=seed: compared_methods(m, s)  # type: ignore[misc]
    for seed in range(seeds) if "timed" in parts else ():
        yield f"beside {seed}", lambda seed=seed: beside_timing(seed)  # type: ignore[misc]
    if "shapes" in parts:
        yield "shapes timed", lambda: timed(baseline("dgcnn-fused", TAILS["middle"]), MIDDLE)
        for seed in range(min(seeds, SHAPES_SEEDS)):
            yield f"shapes dgcnn {seed}", lambda seed=seed: trained(  # type: ignore[misc]
                "dgcnn", seed, "shapes", "middle", OF_SHAPES["retrain_epochs"])
        for seed, kind in itertools.product(range(min(seeds, SHAPES_SEEDS)), SHAPES):
            yield f"shapes {kind} {seed}", lambda seed=seed, kind=kind: searched(  # type: ignore[misc]
                f"shapes-{kind}-{seed}", MIDDLE, seed=seed, latency_ms=within(ACCURATE_SHAPES, MIDDLE), **OF_SHAPES,
                **SHAPES[kind])
    for fold in range(FOLDS) if "folds" in parts else ():
        yield f"fold dgcnn {fold}", lambda fold=fold: folded(baseline("dgcnn", TAILS["small"]), fold)  # type: ignore[misc]
        for seed in range(seeds):
            yield f"fold accurate {seed} {fold}", lambda seed=seed, fold=fold: folded_accurate(seed, fold)  # type: ignore[misc]
    for supernet in SUPERNETS if "rank" in parts else ():
        yield f"rank {supernet}", lambda supernet=supernet: ranked(supernet)  # type: ignore[misc]
    if "own" in parts:
        yield "own", ranked_own


def gap(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> str:
    """Points of test accuracy by which delivered networks are above a baseline, with the bootstrap's interval."""
    one = difference([each["test"] for each in ours], [[each["test"]] for each in theirs])
    return f"{100 * one['difference']:+.2f} ({100 * one['low']:+.2f} to {100 * one['high']:+.2f})"


def shapes(record: dict[str, Any]) -> dict[str, Any] | None:
    """The page's values for `shapes`: time and trainings of the reference; searches by what scores, with their gaps."""
    of = {name: [value for key, value in record.items() if key.startswith(f"shapes {name} ")]
          for name in ("dgcnn", *SHAPES)}  # fmt: skip
    dgcnn = of.pop("dgcnn")
    searches = {kind: found for kind, found in of.items() if found}
    if not (searches and dgcnn):
        return None
    gaps = {kind: gap(found, dgcnn) for kind, found in searches.items()}
    return {"reference": record["shapes timed"], "searches": searches, "dgcnn": dgcnn, "gaps": gaps}


def folds(record: dict[str, Any]) -> dict[str, Any] | None:
    """Accuracies by fold of DGCNN, and means over the searches' networks; and by how much these are above."""
    ours = [[record.get(f"fold accurate {seed} {fold}") for seed in range(SEEDS)] for fold in range(FOLDS)]
    dgcnn = [record.get(f"fold dgcnn {fold}") for fold in range(FOLDS)]
    if None in (*dgcnn, *itertools.chain(*ours)):
        return None
    found, theirs = np.array([[one["val"] for one in row] for row in ours]), np.array([one["val"] for one in dgcnn])
    return {
        "count": FOLDS, "clouds": record["fold dgcnn 0"]["clouds"], "dgcnn": theirs, "found": found.mean(axis=1),
        "above": found.mean(axis=1) - theirs,
    }  # fmt: skip


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    def starting(prefix: str) -> list[dict[str, Any]]:
        return [value for key, value in record.items() if key.startswith(prefix)]

    return render(
        f"{NAME}.md", canonical=record.get("canonical"),
        times={name: record[f"timed {name}"] for name in BASELINES if f"timed {name}" in record},
        baselines={name: found for name in TRAINED if (found := starting(f"baseline {name} "))},
        searches={name: found for name in SEARCHES if (found := starting(f"{name} "))}, least=FAST, accurate=ACCURATE,
        note=record.get("note"),
        gap=gap,
        methods={name: found for name in METHODS if (found := starting(f"method {name} "))},
        beside=starting("beside "), shapes=shapes(record), folds=folds(record),
        ranks={name: record[f"rank {name}"] for name in SUPERNETS if f"rank {name}" in record},
        own=record.get("own"), interval=interval,
    )  # fmt: skip


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="default: %(default)s")
    options = parser.parse_args()
    parts = options.only.split(",")
    record = Record(NAME, digest(CODE))
    if not OTHER_DEVICE.issuperset(parts):
        folder = device(FIRST)
        fitted = json.dumps(folder.verdict().to_dict(), sort_keys=True)
        record.note(device=folder.device().to_dict(), verdict=json.loads(fitted))
    for key, make in jobs(parts, options.seeds):
        record.fill(key, make)
        write_page(f"{NAME}.md", page(record.results))
    write_page(f"{NAME}.md", page(read_record(NAME)))


if __name__ == "__main__":
    main()
