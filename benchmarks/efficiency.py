"""How close the best designs come to their own arithmetic in simulation, and their time compared with PyG's."""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import Record, code_version, create_store, options_of
from common import search as run_search
from pages import render, write_page
from search import Plain

from fgnas.backends.pipeline import write_project
from fgnas.design import Design
from fgnas.engine.jobs import process_pool
from fgnas.engine.run import cpu_name
from fgnas.engine.store import RunStore
from fgnas.hardware.pipeline.efficiency import multiplications, multipliers, phases, tile_bound, unrounded_bound
from fgnas.hardware.pipeline.latency import Workload, phase_cycles
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.specification import Specification
from fgnas.systems.fgnas import back_end
from fgnas.tasks.nodes import GraphData, load
from fgnas.tools.simulate import run_simulation

BUILD = Path(__file__).parent.parent / "build" / "efficiency"
CASES = tuple(
    (dataset, Specification(latency, 100_000, 100_000, dsp))
    for dataset, dsp in (("cora", 100), ("citeseer", 1000))
    for latency in (0.8, 1.0)
)
THREADS = (1, 2)
CHILDREN = 300
PASSES = 60
CLOCK_MHZ = 100.0

Case = tuple[str, Specification]


def name_of(case: Case) -> str:
    """Dataset, latency and DSPs."""
    dataset, specification = case
    return f"{dataset}, {specification.latency_ms} ms, {specification.dsp} DSP"


def best_of(case: Case, children: int, workers: int) -> RunStore:
    """The finished search of a case: one in the build folder is continued, or used if it is complete."""
    dataset, specification = case
    options = options_of(dataset, specification, children=children)
    name = f"{dataset}-{specification.latency_ms}-{children}-{code_version()}"

    def store() -> RunStore:
        there = (BUILD / name / "config.json").is_file()
        return RunStore.find(BUILD, name) if there else create_store(BUILD, name, options)

    if not (BUILD / name / "best.json").is_file():
        run_search(options, store, process_pool(workers))
    return store()


def measure(case: Case, children: int, workers: int) -> dict[str, Any]:
    """One design: simulated on the whole graph, counted, and its float network timed."""
    data, found = load(case[0]), best_of(case, children, workers)
    best = found.best()
    assert best is not None
    delivered = back_end.open(best, found.folder)
    design = delivered.design
    accelerator = lower(design, delivered.network, GraphShape.of(data), data.name)
    project = BUILD / "projects" / design.hash
    write_project(accelerator, data, project)
    simulated = run_simulation(project)
    if simulated["mismatches"]:
        raise SystemExit(f"the simulation of {project} differs from the reference: {simulated}")
    workload = Workload.of(data)
    layers = [layer.geometry for layer in accelerator.layers]
    work = phases(layers, workload)
    cycles = [int(taken[0]) for taken in phase_cycles(layers, workload)]
    needed, lanes = multiplications(layers, workload), multipliers(layers)
    return {
        "design": design.to_dict(),
        "prices": best["costs"],
        "test": best["retrained"]["quantised"]["test"]["mean"],
        "cycles": simulated["cycles"],
        "predicted_cycles": simulated["predicted_cycles"],
        "tile_bound": tile_bound(work),
        "load_beats": work[0].busiest.tiles,
        "unrounded_bound": unrounded_bound(work),
        "multiplications": needed,
        "multipliers": lanes,
        "multiplier_use": needed / (simulated["cycles"] * lanes),
        "phases": [
            {
                "phase": phase.name, "cycles": taken, "bound": phase.busiest.tiles, "busiest": phase.busiest.stage,
                "stages": {stage.stage: stage.tiles for stage in phase.stages},
            }
            for phase, taken in zip(work, cycles, strict=True)
        ],
    }  # fmt: skip


def time_pyg(case: Case, design: dict[str, Any]) -> dict[str, Any]:
    """Milliseconds of the design's float network by threads, and the machine's load before."""
    load_average, data = os.getloadavg()[0], load(case[0])
    taken = {str(threads): pyg_milliseconds(data, Design.from_dict(design), threads) for threads in THREADS}
    return {"pyg_ms": taken, "load_average": round(load_average, 1)}


def pyg_milliseconds(
    data: GraphData, design: Design, threads: int, passes: int = PASSES, clock: Callable[[], float] = time.perf_counter
) -> float:
    """The fastest pass of the same network in PyG's modules: float32, dense features, normalised once beforehand."""
    torch.set_num_threads(threads)
    network = Plain(design.architecture(), data.width_in, data.classes).eval()
    for convolution in network.layers:
        if hasattr(convolution, "cached"):
            convolution.cached = True
    x = torch.from_numpy(data.features.toarray())
    edges = torch.from_numpy(np.stack([data.sources, data.targets]))
    taken = []
    with torch.no_grad():
        for _ in range(passes):
            begun = clock()
            network(x, edges, False)
            taken.append(clock() - begun)
    return 1000 * min(taken)


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    designs = {}
    for case in CASES:
        name = name_of(case)
        found = record[f"{name} | {record['children']}"]
        phases = [
            phase | {"others": [f"{s} {work:,.0f}" for s, work in phase["stages"].items() if s != phase["busiest"]]}
            for phase in found["phases"]
        ]
        layers = [describe(layer) for layer in found["design"]["layers"]]
        designs[name] = found | record[f"pyg | {name}"] | {"layers": layers, "phases": phases}
    option = f" CHILDREN={record['children']}" if record["children"] != CHILDREN else ""
    return render(
        "efficiency.md",
        children=record["children"],
        designs=designs,
        passes=PASSES,
        machine=record["machine"],
        clock_mhz=CLOCK_MHZ,
        threads=THREADS,
        command=f"make bench-efficiency{option}",
    )


def describe(layer: dict[str, Any]) -> str:
    """A layer in a few words."""
    size = f"{layer['k']} × {layer['d']}" if layer["d"] else f"{layer['k']} head{'s' if layer['k'] > 1 else ''}"
    lanes = f"{layer['t_in']} × {layer['t_out']} multipliers, {layer['t_aggr']} aggregation lanes"
    return f"{layer['attention']} {layer['aggregation']} {size}, {lanes}"


def main() -> None:
    """Search, simulate, time, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--children", type=int, default=CHILDREN)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    record = Record("efficiency")
    versions = f"Python {platform.python_version()}, torch {torch.__version__}"
    record.note(children=options.children, machine=f"{cpu_name()} ({os.cpu_count()} cores), {versions}")
    for case in CASES:
        key = f"{name_of(case)} | {options.children}"
        found = record.fill(key, lambda case=case: measure(case, options.children, options.workers))
        record.fill(f"pyg | {name_of(case)}", lambda case=case, found=found: time_pyg(case, found["design"]))
    write_page("efficiency.md", page(record.results))


if __name__ == "__main__":
    main()
