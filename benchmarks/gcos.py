"""G-CoS: what its searches deliver, how well its supernet ranks, and other ways to search beside it; resumable."""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import resource
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from common import Record
from memory import SCORING, digest
from moocore import hypervolume
from pages import render, write_page
from tables import statistics_of

import fgnas
from fgnas import systems
from fgnas.api.rankings import correlations, measured, tau, uniform
from fgnas.design import Design, Layer
from fgnas.engine.jobs import Processes, Workers
from fgnas.engine.run import configuration
from fgnas.engine.statistics import difference
from fgnas.engine.store import RunStore
from fgnas.errors import UserError
from fgnas.systems.gcos.composition import composed
from fgnas.systems.gcos.options import Options
from fgnas.systems.gcos.target import ArrayTarget
from fgnas.tasks.nodes import load

SYSTEM = "g-cos"
PARTS = ("delivered", "ranked", "compared")
BUILD = Path(__file__).parent.parent / "build" / "gcos"
CODE = (*SCORING, "networks/finetuning.py", "networks/supernet.py", "engine", "searchers/pool.py", "systems/gcos",
        "systems/fgnas/jobs.py", "systems/fgnas/trainer.py", "space.py", "costs.py")  # fmt: skip
"""Code that scores, searches and chooses; of the array's model, the prices count."""
DELIVERED = (("cora", 20_000, 0.81), ("cora", 9_000, 0.79), ("cora", 10_000, None), ("citeseer", 30_000, 0.70))
"""Graph, cycles at most, and the test accuracy that is aimed at."""
RANKED = ("cora", "citeseer")
EPOCHS = 20
"""Epochs of the short trainings in the supernet's place."""
METHODS: dict[str, dict[str, Any]] = {
    "random": {"method": "random", "distinct": True},
    "Algorithm 1": {"method": "pool"},
    "reinforce": {"method": "reinforce"},
    "GCN-16, engine searched": {"space": "gcn-16"},
    "one engine, network searched": {"space": "one-engine"},
    "network first, then engine": {"space": "one-engine", "objectives": "val", "latency_ms": None},
    f"Algorithm 1, {EPOCHS} epochs for each network": {"scoring": "training", "epochs": EPOCHS},
}
"""The baseline first; every method by the options that make it."""
STAGED = "network first, then engine"
COMPARED = ("cora", 20_000)
LEAST_ACCURACY = 0.5
"""The hypervolume is of the accuracy above this, and of the cycles below the limit, as shares of the latter."""
SIZES = {"children": 600, "leaders": 6, "retrain_seeds": 5}
"""Of the searches whose designs are delivered."""
OTHERS = {"children": 200, "leaders": 4, "retrain_seeds": 2}
"""Of each of the searches that are compared."""


def version() -> str:
    """A digest of everything that a search depends on."""
    found = hashlib.sha256(digest(CODE).encode())
    for dataset in RANKED:
        parts = composed(Options(dataset=dataset))
        prices = parts.target.price(parts.space.draw(1_000, np.random.default_rng(0)))
        found.update(np.stack([prices[name] for name in sorted(prices)]).tobytes())
    return found.hexdigest()[:12]


def milliseconds(cycles: int) -> float:
    """Latency at the default clock."""
    return cycles / (1000 * Options.clock_mhz)


def search(name: str, workers: int, **options: Any) -> tuple[fgnas.api.Run, dict[str, float]]:
    """A search in its own folder, which continues where it stopped; and the seconds of this call."""
    begun, used = time.perf_counter(), cpu_seconds()
    known = (BUILD / name / "config.json").is_file()
    given = {} if known else options
    run = fgnas.search(system=SYSTEM, run=name, runs=BUILD, resume=known, workers=workers, **given)
    return run, {"seconds": time.perf_counter() - begun, "cpu_s": cpu_seconds() - used, "continued": known}


def cpu_seconds() -> float:
    """Processor time of this process and of the workers that have ended."""
    return sum(one.ru_utime + one.ru_stime for one in map(resource.getrusage, (
        resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    )))  # fmt: skip


def delivered(dataset: str, cycles: int, workers: int, name: str) -> dict[str, Any]:
    """The best design of a search within so many cycles, and its RTL on the whole graph; or why there is none."""
    try:
        run, spent = search(name, workers, dataset=dataset, latency_ms=milliseconds(cycles), **SIZES)
    except UserError as error:
        return {"refused": str(error)}
    project = run.design("best").lower().write(BUILD / f"{name}-project")
    simulated = project.simulate()
    retrained, design = run.best["retrained"]["quantised"]["test"], run.best["design"]
    return {
        "layers": "; ".join(map(described, Design.from_dict(design).layers)), "array": design["array"],
        "test": retrained["values"], "delivered_test": run.best["delivered"]["quantised"]["test"],
        "costs": run.best["costs"], "mismatches": simulated["mismatches"], "simulated": simulated["cycles"],
        "cheapest": cheapest(run), **spent,
    }  # fmt: skip


def described(layer: Layer) -> str:
    """A layer in a few words."""
    words = (layer.attention, layer.aggregation, layer.d, layer.activation, f"{layer.ai + layer.af + 1} bit")
    return " ".join(str(word) for word in words if word)


def cheapest(run: fgnas.api.Run) -> dict[str, Any] | None:
    """Cycles and test accuracy of the cheapest design."""
    found = run.cheapest
    return found and {
        "cycles": found["costs"]["latency_cycles"], "test": found["delivered"]["quantised"]["test"],
    }  # fmt: skip


def ranked(dataset: str, networks: int, workers: int, name: str) -> dict[str, Any]:
    """Kendall's tau of the supernet and of short trainings, against networks trained alone with two seeds."""
    options = Options(dataset=dataset, retrain_epochs=Options.epochs)
    parts = composed(options)
    known = (BUILD / name / "config.json").is_file()
    store = RunStore(BUILD / name) if known else RunStore.create(
        BUILD, name, configuration(SYSTEM, asdict(options), parts)
    )  # fmt: skip
    candidates = uniform(parts, networks, options.seed)
    with Workers(lambda: Processes(workers)) as pool:
        parts.trainer.prepare(store, pool)
        found = measured(store, parts.trainer, pool, candidates, 2)
        short = composed(Options(dataset=dataset, scoring="training", epochs=EPOCHS)).trainer.score(candidates, pool)
    scores, alone = np.array([one["score"] for one in found]), np.array([one["alone"] for one in found]).T
    trained, means = np.array([one.values["val"] for one in short]), alone.mean(axis=0)
    better = np.argsort(-means, kind="stable")[: (len(means) + 1) // 2]
    return correlations(scores, alone) | {
        "short_tau": tau(trained, means), "short_tau_better_half": tau(trained[better], means[better]),
    }  # fmt: skip


def compared(method: str, seed: int, workers: int, name: str) -> dict[str, Any]:
    """The leaders of a search as retrained accuracies and cycles."""
    dataset, cycles = COMPARED
    given = {"dataset": dataset, "latency_ms": milliseconds(cycles), "seed": seed, **OTHERS, **METHODS[method]}
    given = {option: value for option, value in given.items() if value is not None}
    run, spent = search(name, workers, **given)
    leaders = run.store.leaders()
    points = [[one["retrained_val"]["mean"], one["costs"]["latency_cycles"]] for one in leaders]
    if method == STAGED:
        points = [[mean, fastest(dataset, one["design"])] for (mean, _), one in zip(points, leaders, strict=True)]
    return {"points": points, "volume": volume(points, cycles), "trials": len(run.trials()), **spent}


def fastest(dataset: str, design: dict[str, Any]) -> int:
    """The fewest cycles of a network with its formats, on any engine of the default options."""
    network = Design.from_dict(design)
    space = composed(Options(dataset=dataset)).space
    values = {decision.name: decision.options for decision in space.decisions}
    row: list[range | tuple[int, ...]] = []
    for decision in space.decisions:
        if decision.kind == "hardware":
            row.append(range(len(decision.options)))
        elif decision.position is None:
            layer = network.layers[0]
            row.append((values[decision.name].index(layer.ai + layer.af + 1),))
        else:
            row.append((decision.options.index(getattr(network.layers[decision.position], decision.choice)),))
    rows = np.array(list(itertools.product(*row)), np.int16)
    target = ArrayTarget(space, load(dataset), Options.family, Options.clock_mhz)
    return int(target.price(rows)["latency_cycles"].min())


def volume(points: list[list[float]], cycles: int) -> float:
    """Hypervolume of accuracies and cycles, each a share."""
    inside = [[-mean, taken / cycles] for mean, taken in points if mean > LEAST_ACCURACY and taken <= cycles]
    return float(hypervolume(np.array(inside), ref=[-LEAST_ACCURACY, 1.0])) if inside else 0.0


def page(record: dict[str, Any]) -> str:
    """The page of a record: as much as has been run."""
    results = record.get("delivered", {})
    rows = [
        {"dataset": dataset, "cycles": cycles, "aim": aim, **results[f"{dataset} {cycles}"]}
        for dataset, cycles, aim in DELIVERED if f"{dataset} {cycles}" in results
    ]  # fmt: skip
    for row in rows:
        row["statistics"] = statistics_of(row.get("test", []))
    lines = []
    baseline: list[list[float]] = []
    for method in METHODS:
        found = [one for key, one in sorted(record.get("compared", {}).items()) if key.startswith(f"{method} | ")]
        if not found:
            continue
        volumes = [[one["volume"]] for one in found]
        baseline = baseline or volumes
        best = [max((p for p in one["points"] if p[1] <= COMPARED[1]), default=None) for one in found]
        lines.append({
            "method": method, "searches": len(found), "volume": np.mean(volumes),
            "gap": difference(volumes, baseline), "cpu_s": np.mean([one["cpu_s"] for one in found]),
            "best": np.mean([one[0] for one in best if one]) if any(best) else None,
        })  # fmt: skip
    return render(
        "gcos.md", rows=rows, ranked=record.get("ranked", {}), lines=lines, sizes=SIZES, others=OTHERS,
        compared=COMPARED, least=LEAST_ACCURACY, epochs=EPOCHS, **record["options"],
    )  # fmt: skip


def main() -> None:
    """Run what is missing, and write after each part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rows", help=f"of {','.join(PARTS)}; default: all", default=",".join(PARTS))
    options = parser.parse_args()
    code = version()
    record = Record("gcos", code)
    record.note(options={"networks": options.networks, "seeds": options.seeds})

    def fill(part: str, key: str, make: Any) -> None:
        """Add a result to a part, and write the page."""
        if key in record.results.get(part, {}):
            return
        print(f"{part}: {key}", flush=True)
        name = "-".join(f"{part} {key} {code}".replace("|", "").replace(",", "").lower().split())
        record.note(**{part: record.results.get(part, {}) | {key: json.loads(json.dumps(make(name)))}})
        write_page("gcos.md", page(record.results))

    asked = options.rows.split(",")
    for dataset, cycles, _ in DELIVERED if "delivered" in asked else ():
        fill("delivered", f"{dataset} {cycles}", lambda name: delivered(dataset, cycles, options.workers, name))  # noqa: B023
    for dataset in RANKED if "ranked" in asked else ():
        fill("ranked", dataset, lambda name: ranked(dataset, options.networks, options.workers, name))  # noqa: B023
    for seed, method in itertools.product(range(options.seeds), METHODS) if "compared" in asked else ():
        fill("compared", f"{method} | {seed}", lambda name: compared(method, seed, options.workers, name))  # noqa: B023


if __name__ == "__main__":
    systems.find(SYSTEM)
    main()
