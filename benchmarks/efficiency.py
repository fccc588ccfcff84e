"""How near the best designs come to their own arithmetic, in simulation; and their time beside PyG's on this CPU."""

from __future__ import annotations

import argparse
import os
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import RESULTS, Record, Silent, code_version
from search import Plain

from fgnas.backends.project import write_project
from fgnas.design import Design
from fgnas.engine.jobs import process_pool
from fgnas.engine.run import SearchConfig, cpu_name, search
from fgnas.engine.store import RunStore
from fgnas.hardware.pipeline.efficiency import multiplications, multipliers, phases, tile_bound, unrounded_bound
from fgnas.hardware.pipeline.geometry import GraphShape
from fgnas.hardware.pipeline.latency import Workload, phase_cycles
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.pipeline.pricing import Specification
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
    """The finished search of a case: what stands in the build folder goes on, or is used as it is."""
    dataset, specification = case
    config, data = SearchConfig.of(dataset, specification=specification, children=children), load(dataset)
    name = f"{dataset}-{specification.latency_ms}-{children}-{code_version()}"

    def store() -> RunStore:
        there = (BUILD / name / "config.json").is_file()
        return RunStore.find(BUILD, name) if there else RunStore.create(BUILD, name, config.to_dict(data))

    if not (BUILD / name / "best.json").is_file():
        search(config, data, store, process_pool(workers), Silent())
    return store()


def measure(case: Case, children: int, workers: int) -> dict[str, Any]:
    """One design: simulated on the whole graph, counted, and its float network timed."""
    data, found = load(case[0]), best_of(case, children, workers)
    best = found.best()
    assert best is not None
    design = Design.from_dict(best["design"])
    accelerator = lower(design, found.load_network(best), GraphShape.of(data), data.name)
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
        "prices": best["prices"],
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


def pyg_milliseconds(data: GraphData, design: Design, threads: int) -> float:
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
        for _ in range(PASSES):
            begun = time.perf_counter()
            network(x, edges, False)
            taken.append(time.perf_counter() - begun)
    return 1000 * min(taken)


def page(results: dict[str, dict[str, Any]], options: argparse.Namespace, machine: str) -> str:
    """The tables."""
    lines = [
        "# Hardware efficiency",
        "",
        f"The best designs of searches with {options.children} children under 100,000 LUT and FF, simulated with",
        "Verilator on the whole graph, every logit compared. Cycles run from the accepted start to the interrupt.",
        "",
        "| design | test | simulated | predicted | tile bound | without load | unrounded | multiplier use |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, found in results.items():
        cycles, bound = found["cycles"], found["tile_bound"]
        lines.append(
            f"| {name} | {found['test']:.1%} | {cycles:,} | {found['predicted_cycles']:,} | {bound / cycles:.1%} | "
            f"{(bound - found['load_beats']) / cycles:.1%} | {found['unrounded_bound'] / cycles:.1%} | "
            f"{found['multiplier_use']:.1%} |"
        )
    lines += [
        "",
        "- *Tile bound*: Σ over phases of the work of the busiest stage, as if it never waited, over simulated cycles.",
        "  Tiles of outputs and of lanes are rounded up, non-zeros are not. The load is a phase, one beat a cycle;",
        "  *without load* its beats do not count as work, while its cycles still count.",
        "- *Unrounded*: the same with nothing rounded up and no padding.",
        "- *Multiplier use*: the multiplications that the network needs on this graph, over cycles × multipliers.",
        "  Every layer and stage has multipliers of its own, and one phase follows another: while a layer works, the",
        "  multipliers of the others rest. Published for their accelerators: I-GCN 79 %, LW-GCN 33 %.",
        "",
        "## Where the cycles go",
    ]
    for name, found in results.items():
        lines += ["", f"{name}: {describe(found)}", ""]
        lines += ["| phase | cycles | busiest stage | its work | waits | other stages |", "|---|---|---|---|---|---|"]
        for phase in found["phases"]:
            taken, bound = phase["cycles"], phase["bound"]
            others = [f"{stage} {work:,.0f}" for stage, work in phase["stages"].items() if stage != phase["busiest"]]
            lines.append(
                f"| {phase['phase']} | {taken:,} | {phase['busiest']} | {bound:,.0f} | {1 - bound / taken:.1%} | "
                f"{', '.join(others) or '-'} |"
            )
    threads = [f"PyG, {count} thread{'s' if count > 1 else ''}" for count in THREADS]
    lines += [
        "",
        "## Beside PyG on the CPU",
        "",
        "The same network in float32 by PyTorch Geometric (`GCNConv`, `GATConv`, `SimpleConv`; dense features,",
        f"coefficients of `gcn` cached), the fastest of {PASSES} passes or more,",
        f"measured on {machine}.",
        "Where the load average is above the number of cores, others ran beside PyG and its times are upper bounds.",
        "",
        f"| design | accelerator at {CLOCK_MHZ:.0f} MHz | {' | '.join(threads)} | load average before |",
        "|---|---|" + "---|" * len(THREADS) + "---|",
    ]
    for name, found in results.items():
        own = found["cycles"] / CLOCK_MHZ / 1000
        cells = [f"{found['pyg_ms'][str(n)]:.2f} ms, {found['pyg_ms'][str(n)] / own:.1f} times" for n in THREADS]
        lines.append(f"| {name} | {own:.3f} ms | {' | '.join(cells)} | {found['load_average']:.1f} |")
    command = "make bench-efficiency" + (f" CHILDREN={options.children}" if options.children != CHILDREN else "")
    return "\n".join([*lines, "", f"Made by `{command}`; the numbers are in `efficiency.json`."]) + "\n"


def describe(found: dict[str, Any]) -> str:
    """A design in a line."""
    layers = []
    for layer in found["design"]["layers"]:
        size = f"{layer['k']} × {layer['d']}" if layer["d"] else f"{layer['k']} head{'s' if layer['k'] > 1 else ''}"
        lanes = f"{layer['t_in']} × {layer['t_out']} multipliers, {layer['t_aggr']} aggregation lanes"
        layers.append(f"{layer['attention']} {layer['aggregation']} {size}, {lanes}")
    return "; then ".join(layers) + "."


def main() -> None:
    """Search, simulate, time, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--children", type=int, default=CHILDREN)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    record = Record("efficiency.json")
    versions = f"Python {platform.python_version()}, torch {torch.__version__}"
    machine = f"{cpu_name()} ({os.cpu_count()} cores), {versions}"
    results = {}
    for case in CASES:
        key = f"{name_of(case)} | {options.children}"
        results[name_of(case)] = record.fill(key, lambda case=case: measure(case, options.children, options.workers))
    for case in CASES:
        found = results[name_of(case)]
        timed = record.fill(f"pyg | {name_of(case)}", lambda case=case, found=found: time_pyg(case, found["design"]))
        results[name_of(case)] = found | timed
    (RESULTS / "efficiency.md").write_text(text := page(results, options, machine))
    print(text)


if __name__ == "__main__":
    main()
