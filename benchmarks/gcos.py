"""G-CoS: what its searches deliver, how well its supernet ranks, other ways to search, and its figures; resumable."""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import platform
import resource
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import gcos_beside
import gcos_choices
import gcos_figures
import numpy as np
import torch
from common import Record
from gcos_page import AIMS, FIGURES, Aim, page
from gcos_searches import BUILD, DATASETS, NETWORKS, SEARCHES, SYSTEM, WIDTHS, supernet_of, version
from pages import write_page

import fgnas
from fgnas.api.rankings import correlations, measured, tau, uniform
from fgnas.design import Design
from fgnas.engine.contracts import Candidate
from fgnas.engine.jobs import Processes, Workers
from fgnas.engine.run import configuration, cpu_name
from fgnas.engine.store import RunStore
from fgnas.errors import UserError
from fgnas.systems.gcos.composition import composed
from fgnas.systems.gcos.options import Options
from fgnas.systems.gcos.trainer import SUPERNET

CODE: dict[str, Sequence[str]] = {
    "figure 1": NETWORKS, "figure 8": (), "compared": SEARCHES, "timed": SEARCHES, "ranked": NETWORKS,
    "choices": NETWORKS, "figure 7": SEARCHES, "delivered": SEARCHES,
}  # fmt: skip
"""Part -> the code on which it depends beside the array's model, in the order in which the parts are run."""
LAYOUT = "each part has its own"
"""The code of the record: its parts are dropped one by one."""

Task = tuple[str, Callable[[], Any]]
"""A result by its key, and what makes it."""


def search(name: str, workers: int, **options: Any) -> tuple[fgnas.api.Run, dict[str, Any]]:
    """A search in its own folder, which continues where it stopped; and the seconds of this call."""
    begun, used = time.perf_counter(), cpu_seconds()
    known = (BUILD / name / "config.json").is_file()
    given = {} if known else options
    run = fgnas.search(system=SYSTEM, run=name, runs=BUILD, resume=known, workers=workers, **given)
    spent = {"seconds": time.perf_counter() - begun, "cpu_s": cpu_seconds() - used, "workers": workers}
    return run, spent | {"continued": known}


def cpu_seconds() -> float:
    """Processor time of this process and of the workers that have ended."""
    return sum(one.ru_utime + one.ru_stime for one in map(resource.getrusage, (
        resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    )))  # fmt: skip


def delivered(aim: Aim, workers: int, code: str) -> dict[str, Any]:
    """The best design of a search within so many cycles, its RTL and C++ on the whole graph; or why there is none."""
    name, latency_ms = f"{aim.dataset}-{aim.cycles}-{code}", gcos_beside.milliseconds(aim.cycles)
    try:
        run, spent = search(name, workers, dataset=aim.dataset, latency_ms=latency_ms, results=aim.results)
    except UserError as error:
        return {"refused": str(error)}
    project = run.design("best").lower().write(BUILD / f"{name}-project")
    simulated, compiled = project.simulate(), project.csim()
    retrained, design = run.best["retrained"]["quantised"]["test"], run.best["design"]
    return {
        "layers": "; ".join(map(gcos_figures.described, Design.from_dict(design).layers)), "array": design["array"],
        "test": retrained["values"], "delivered_test": run.best["delivered"]["quantised"]["test"],
        "costs": run.best["costs"], "mismatches": simulated["mismatches"], "in_cpp": compiled["mismatches"],
        "simulated": simulated["cycles"], "cheapest": cheapest(run), **spent,
    }  # fmt: skip


def cheapest(run: fgnas.api.Run) -> dict[str, Any] | None:
    """Cycles and test accuracy of the cheapest design."""
    found = run.cheapest
    return found and {
        "cycles": found["costs"]["latency_cycles"], "test": found["delivered"]["quantised"]["test"],
    }  # fmt: skip


def measured_networks(
    dataset: str, networks: int, workers: int, code: str
) -> tuple[list[Candidate], list[dict[str, Any]]]:
    """Uniform networks; and of each its score by the supernet, and its accuracies when trained alone with two seeds."""
    options = Options(dataset=dataset, retrain_epochs=Options.epochs)
    parts, name = composed(options), f"ranked-{dataset}-{code}"
    known = (BUILD / name / "config.json").is_file()
    store = RunStore(BUILD / name) if known else RunStore.create(
        BUILD, name, configuration(SYSTEM, asdict(options), parts)
    )  # fmt: skip
    shutil.copy(supernet_of(dataset, options.seed)[0], store.folder / SUPERNET)
    candidates = uniform(parts, networks, options.seed)
    with Workers(lambda: Processes(workers)) as pool:
        parts.trainer.prepare(store, pool)
        return candidates, measured(store, parts.trainer, pool, candidates, 2)


def ranked(dataset: str, networks: int, workers: int, code: str) -> dict[str, Any]:
    """Kendall's tau of the supernet and of short trainings, against networks trained alone with two seeds."""
    candidates, found = measured_networks(dataset, networks, workers, code)
    with Workers(lambda: Processes(workers)) as pool:
        given = Options(dataset=dataset, scoring="training", epochs=gcos_beside.EPOCHS)
        short = composed(given).trainer.score(candidates, pool)
    scores, alone = np.array([one["score"] for one in found]), np.array([one["alone"] for one in found]).T
    trained, means = np.array([one.values["val"] for one in short]), alone.mean(axis=0)
    better = np.argsort(-means, kind="stable")[: (len(means) + 1) // 2]
    return correlations(scores, alone) | {
        "short_tau": tau(trained, means), "short_tau_better_half": tau(trained[better], means[better]),
    }  # fmt: skip


def by_paths(dataset: str, networks: int, workers: int, code: str) -> dict[str, float]:
    """Kendall's tau of the supernet, and of others that were trained otherwise, against the networks of `ranked`."""
    candidates, found = measured_networks(dataset, networks, workers, code)
    alone = np.array([np.mean(one["alone"]) for one in found])
    ours = {gcos_choices.key_of(Options(dataset=dataset)): tau(np.array([one["score"] for one in found]), alone)}
    return ours | gcos_choices.ranks_by_paths(dataset, candidates, alone)


def tasks(part: str, options: argparse.Namespace, record: dict[str, Any], code: str) -> list[Task]:
    """The results of a part by key, each with what makes it."""
    make, given = functools.partial, (options.networks, options.workers, code)
    seeds = list(itertools.product(range(options.seeds), gcos_beside.METHODS))
    match part:
        case "figure 1":
            return [(one, make(gcos_figures.figure_1, one)) for one in DATASETS]
        case "figure 8":
            cases = itertools.product(DATASETS, gcos_figures.TIMED, gcos_figures.HIDDEN)
            return [(" | ".join(map(str, case)), make(gcos_figures.over_pyg, *case)) for case in cases]
        case "compared":
            found: list[Task] = [(f"{name} | {seed}", make(gcos_beside.compared, name, seed)) for seed, name in seeds]
            return found + [(f"all | {seed}", make(gcos_beside.everything, seed)) for seed in range(options.seeds)]
        case "timed":
            return [(f"{name} | {seed}", make(timed, record, name, seed)) for seed, name in seeds]
        case "ranked":
            return [(dataset, make(ranked, dataset, *given)) for dataset in DATASETS]
        case "choices":
            made = [(f"paths | {one}", make(by_paths, one, *given)) for one in DATASETS]
            made += [(f"bits | {one}", make(gcos_choices.bits, one)) for one in DATASETS]
            return made + [(f"groups | {one}", make(gcos_choices.imbalance, one)) for one in DATASETS]
        case "figure 7":
            return [(f"{dataset} | {name}", one) for dataset in DATASETS for name, one in frontier(dataset)]
        case _:
            return [(aim.name, make(delivered, aim, options.workers, code)) for aim in AIMS]


def timed(record: dict[str, Any], method: str, seed: int) -> dict[str, Any]:
    """A search with as many evaluations as the processor seconds of Algorithm 1 allow."""
    return gcos_beside.compared(method, seed, gcos_beside.affordable(record["compared"], method))


def frontier(dataset: str) -> list[Task]:
    """The points of Figure 7 on a graph."""
    make, figures = functools.partial, gcos_figures
    found: list[Task] = [(f"λ = {one:g}", make(figures.on_frontier, dataset, one)) for one in figures.WEIGHTS]
    for name, given in figures.HANDMADE.items():
        found.append((name, make(figures.on_fastest, dataset, figures.handmade(*given))))
    found.append((figures.GAT, make(figures.gat_on_array, dataset)))
    for method, width in itertools.product(figures.NETWORK_SEARCHES, WIDTHS):
        found.append((f"{method}, up to {width} features", make(figures.network_first, dataset, method, width)))
    return found


def run_part(record: Record, part: str, options: argparse.Namespace) -> None:
    """Make what a part lacks, and store each result; what other code gave is dropped."""
    code = version(CODE[part])
    codes = record.results.get("codes", {})
    if codes.get(part) != code or part not in record.results:
        record.note(**{part: {}}, codes=codes | {part: code})
    for key, make in tasks(part, options, record.results, code):
        if options.only in key and key not in record.results[part]:
            print(f"{part}: {key}", flush=True)
            record.note(**{part: record.results[part] | {key: json.loads(json.dumps(make()))}})


def main() -> None:
    """Run what is missing of the parts, and write after each result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=100, help="that are trained alone")
    parser.add_argument("--seeds", type=int, default=5, help="of every way to search")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rows", help=f"of {','.join(CODE)}; default: all", default=",".join(CODE))
    parser.add_argument("--only", help="the results whose names have this in them; default: all", default="")
    options = parser.parse_args()
    if unknown := set(options.rows.split(",")) - set(CODE):
        parser.error(f"--rows: unknown {', '.join(sorted(unknown))}; known: {', '.join(CODE)}")
    versions = f"Python {platform.python_version()}, torch {torch.__version__}"
    record = Record("gcos", LAYOUT)
    record.note(
        options={"networks": options.networks, "seeds": options.seeds},
        machine=f"{cpu_name()} ({os.cpu_count()} cores), {versions}",
    )
    for part in (one for one in CODE if one in options.rows.split(",")):
        run_part(record, part, options)
        write_page("gcos.md", page(record.results))
        for name, figure in FIGURES.items():
            write_page(name, figure(record.results))


if __name__ == "__main__":
    main()
