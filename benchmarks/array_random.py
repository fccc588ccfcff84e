"""The multiplier array built at random sizes: random networks on random graphs, several on each build.

Verilator and g++ make each build once. Every logit of both is compared with the integer reference, and the cycles of
every phase of the RTL with the model.
"""

from __future__ import annotations

import argparse
import math
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from array_cpp import sources as cpp_sources
from common import Record
from memory import digest, digest_of_files
from multiplier_array import random_network
from pages import render, write_page

from fgnas.backends.array import SHARED, write_project, write_step
from fgnas.design import Design, Layer
from fgnas.errors import UserError
from fgnas.hardware.array import cycles, reference
from fgnas.hardware.array.choosing import powers
from fgnas.hardware.array.encoding import EncodedArray, encode_array, fit
from fgnas.hardware.array.engine import LANES, RESULTS, Engine, joined, table_banks
from fgnas.hardware.array.lowering import ArrayAccelerator, default_columns
from fgnas.hardware.array.programme import BEAT_BITS
from fgnas.hardware.pipeline.geometry import GraphShape
from fgnas.hardware.pipeline.lowering import lower as lower_network
from fgnas.hardware.pipeline.pricing import Specification
from fgnas.network import Network
from fgnas.paths import templates_directory
from fgnas.systems.fgnas.space import find_space
from fgnas.tasks.nodes import GraphData, build
from fgnas.tools.csim import run_bench
from fgnas.tools.simulate import run_simulation

NAME = "multiplier-array-random"
BUILD = Path(__file__).parent.parent / "build" / "array-random"
SEED = 2025
ENGINES = 40
UNITS = (4, 1, 8, 3, 12, 2, 6, 16, 5, 7)
"""Units of the builds, one after the other; so do the widths of the port, and those of the numbers."""
BITS = (8, 6, 10)
HUB = 1000
"""Neighbours of a graph's hub."""
MOST_CYCLES = 40_000
"""Of a run; a longer one is drawn again."""
QUICKER = ("-O1",)
"""For g++: graphs are small, and a better build takes longer than it saves."""


@dataclass(frozen=True)
class Case:
    """A network with its weights, its place on an engine, and a graph."""

    array: ArrayAccelerator
    network: Network
    data: GraphData


@dataclass(frozen=True)
class Size:
    """What an engine is drawn with; its memories, modes and shifts are those that its networks need."""

    units: int
    beat_bits: int
    bits: int
    results: int


def sparse(rng: np.random.Generator, units: int) -> GraphData:
    """Rows of few features out of many."""
    nodes, width = int(rng.integers(50, 800)), int(rng.integers(60, 300))
    return graph("sparse", rng, nodes, width, 6 / width, 2 * nodes)


def dense(rng: np.random.Generator, units: int) -> GraphData:
    """Rows with all of their features, and more neighbours."""
    nodes, width = int(rng.integers(50, 200)), int(rng.integers(3, 24))
    return graph("dense", rng, nodes, width, 1.0, 6 * nodes)


def hub(rng: np.random.Generator, units: int) -> GraphData:
    """A node of a thousand neighbours."""
    nodes, width = int(rng.integers(HUB + 1, HUB + 200)), int(rng.integers(20, 80))
    spokes = np.stack([np.arange(1, HUB + 1), np.zeros(HUB, np.int64)])
    return graph("hub", rng, nodes, width, 2 / width, nodes // 2, spokes)


def few(rng: np.random.Generator, units: int) -> GraphData:
    """Fewer rows than units; of a single unit one row."""
    nodes = int(rng.integers(1, max(2, units)))
    return graph("few rows", rng, nodes, int(rng.integers(3, 60)), 0.5, 3 * nodes)


def single(rng: np.random.Generator, units: int) -> GraphData:
    """One node."""
    return graph("one node", rng, 1, int(rng.integers(3, 60)), 0.7, 0)


KINDS = (sparse, dense, hub, few, single)
"""The graphs of a build, one of each kind."""


def graph(
    name: str, rng: np.random.Generator, nodes: int, width: int, density: float, edges: int,
    further: np.ndarray | None = None,
) -> GraphData:  # fmt: skip
    """A random graph, repeated edges among its own; a tenth of its nodes have no feature, a quarter no neighbour."""
    present = (rng.random((nodes, width)) < density) & (rng.random((nodes, 1)) < 0.9)
    ends = rng.integers(0, max(1, 3 * nodes // 4), (2, edges))
    if further is not None:
        ends = np.concatenate([ends, further], axis=1)
    classes = int(rng.integers(2, 20))
    everyone = np.ones(nodes, bool)
    labels = rng.integers(0, classes, nodes)
    return build(name, rng.random((nodes, width)) * present, ends, labels, everyone, everyone, everyone, classes)


def size_of(number: int, rng: np.random.Generator) -> Size:
    """The size of build `number`."""
    units, beat_bits = UNITS[number % len(UNITS)], BEAT_BITS[number % len(BEAT_BITS)]
    results = [one for one in RESULTS if one <= table_banks(beat_bits)]
    return Size(units, beat_bits, BITS[number // len(BEAT_BITS) % len(BITS)], int(rng.choice(results)))


def random_design(rng: np.random.Generator, bits: int) -> Design:
    """One to three layers of operators that the array runs, in numbers of `bits` or up to two less."""
    space = find_space("fgnas", int(rng.integers(1, 4))).restrict(attention=("constant", "gcn"), k=(1, 2, 4))
    layers = []
    for layer in space.design(space.draw(1, rng)[0], 0).layers:
        ai, wi, narrower, lighter = (int(one) for one in rng.integers((1, 1, 0, 0), (4, 3, 3, 3)))
        formats = {"ai": ai, "af": bits - narrower - 1 - ai, "wi": wi, "wf": bits - lighter - 1 - wi}
        own = {"k": 1} if layer.d is None else {}
        layers.append(Layer(**layer.model_dump() | {name: max(0, one) for name, one in formats.items()} | own))
    return Design(schema=1, layers=tuple(layers), dsp=0)


def random_case(size: Size, data: GraphData, rng: np.random.Generator) -> Case:
    """A random network on units of this size: any columns side by side, any split of the last layer, any passes."""
    design = random_design(rng, size.bits)
    network = random_network(design, data, rng)
    source = lower_network(design, network, GraphShape.of(data), data.name)
    columns = [int(rng.choice(powers(default_columns(layer, size.units)))) for layer in source.layers[:-1]]
    whole = source.layers[-1].geometry.maximum
    split = 1 if whole else int(rng.choice([one for one in powers(4) if size.units % one == 0]))
    words = math.ceil(source.layers[0].geometry.features / LANES / columns[0]) if columns else 1
    passes = int(rng.choice([one for one in range(1, words + 1) if words % one == 0]))
    array = fit(source, data, size.units, columns, split, size.beat_bits, passes, size.results)
    return Case(array, network, data)


def cases_of(number: int, networks: int = len(KINDS)) -> tuple[Engine, list[Case]]:
    """Random networks for build `number`, and the engine that runs them all."""
    rng = np.random.default_rng([SEED, number])
    size, kept = size_of(number, rng), []
    while len(kept) < networks:
        try:
            case = random_case(size, KINDS[len(kept)](rng, size.units), rng)
            engine = joined([one.array.engine for one in (*kept, case)])
        except UserError:
            continue  # it exceeds a unit's memories, or needs more modes or shifts than the engine has left
        if cycles.total_cycles(encode_array(case.array, case.data)) <= MOST_CYCLES:
            kept.append(case)
    engine = replace(engine, bits=size.bits)
    return engine, [replace(one, array=one.array.on(engine)) for one in kept]


def measured(number: int, folder: Path, networks: int = len(KINDS)) -> dict[str, Any]:
    """Build an engine's RTL and C++ once, and run every network on both."""
    shutil.rmtree(folder, ignore_errors=True)
    engine, cases = cases_of(number, networks)
    steps = [None, *(folder / f"network-{place}" for place in range(1, networks))]
    return {
        "multipliers": engine.multipliers, "beat_bits": engine.beat_bits, "results": engine.results,
        "bits": engine.bits, "modes": len(engine.modes), "shifts": len(engine.shifts), "tiles": engine.tiles,
        "table_words": engine.table_words, "own_words": engine.own_words,
        "networks": [ran(case, folder, step) for case, step in zip(cases, steps, strict=True)],
    }  # fmt: skip


def ran(case: Case, project: Path, step: Path | None) -> dict[str, Any]:
    """The project's own network, or with a folder `step` another one on what the project has built."""
    work = project / "build"
    made = [work / "sim" / "built", work / "csim" / "csim"]
    before = [path.stat().st_mtime_ns for path in made if path.is_file()]
    if step is None:
        write_project(case.array, case.data, project, network=case.network)
    else:
        write_step(case.array, case.data, step, Specification(), case.network)
    rtl = run_simulation(step or project, project=project)
    cpp = run_bench(project, QUICKER, work / "csim", vectors=(step or project) / "vectors")
    return described(case) | {
        "logits": rtl["logits"],
        "rtl_mismatches": rtl["mismatches"], "protocol_errors": rtl["protocol_errors"],
        "cycles": rtl["cycles"], "cycle_difference": rtl["cycle_difference"],
        "phases": len(rtl["phases"]), "phase_differences": rtl["phase_differences"],
        "cpp_mismatches": cpp["mismatches"], "failed_checks": cpp["failed_checks"],
        "built": before != [path.stat().st_mtime_ns for path in made],
    }  # fmt: skip


def described(case: Case) -> dict[str, Any]:
    """What was drawn, for the record."""
    encoded = encode_array(case.array, case.data)
    layers, plans = case.array.source.design.layers, case.array.plans
    return {
        "graph": case.data.name, "nodes": case.data.nodes, "edges": len(case.data.sources),
        "non_zeros": case.data.features.nnz, "largest": int(case.data.degrees.max()),
        "layers": [
            f"{one.attention} {one.aggregation} {one.k} × {one.d or case.data.classes} {one.activation or ''}".strip()
            for one in layers
        ],
        "columns": [plan.aggregate.n for plan in plans[:-1]], "split": plans[-1].aggregate.k,
        "passes": plans[0].passes, "different_logits": different(encoded),
    }  # fmt: skip


def different(encoded: EncodedArray) -> int:
    """Different values among the logits: equal ones alone would compare little."""
    return len(np.unique(encoded.read_logits(reference.run_region(encoded))))


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    builds = [record[key] for key in record["shown"]]
    networks = [network for one in builds for network in one["networks"]]
    return render(f"{NAME}.md", builds=builds, networks=networks, drawn=drawn(builds), seed=SEED, hub=HUB)


def drawn(builds: Sequence[dict[str, Any]]) -> dict[str, int]:
    """How many networks have a property, by its name."""
    found: Counter[str] = Counter()
    for engine in builds:
        for one in engine["networks"]:
            words = {word for layer in one["layers"] for word in layer.split() if word.isalpha()}
            heads = any(layer.split()[2] != "1" for layer in one["layers"])
            depth = len(one["layers"])
            true = [f"{depth} layer{'s' if depth > 1 else ''}", *words, f"graph: {one['graph']}"]
            true += ["several heads"] * heads + ["several passes"] * (one["passes"] > 1)
            true += ["units that share a row of logits"] * (one["split"] > 1)
            true += [f"numbers of {engine['bits']} bits", f"port of {engine['beat_bits']} bits"]
            found.update(true)
    return dict(sorted(found.items()))


STREAMS = tuple(f"hardware/array/{name}.py" for name in (
    "cycles", "dealing", "encoding", "engine", "lowering", "packing", "programme", "reference"))  # fmt: skip
"""The code that decides what an array reads, what it answers and when."""


def version() -> str:
    """A digest of the RTL, of the C++, and of what is compared with them."""
    templates = templates_directory()
    files = [*(templates / "rtl" / f"{name}.sv" for name in SHARED), *sorted((templates / "rtl" / "array").iterdir())]
    return f"{digest(STREAMS)} {digest_of_files([*files, *cpp_sources()])[:12]}"


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=ENGINES, help="engines; default: %(default)s")
    options = parser.parse_args()
    record = Record(NAME, version())
    for number in range(options.count):
        key = f"engine {number:02}"
        record.fill(key, lambda number=number, key=key: measured(number, BUILD / key.replace(" ", "-")))  # type: ignore[misc]
        record.note(shown=[one for one in record.results if one.startswith("engine")])
        shutil.rmtree(BUILD / key.replace(" ", "-"), ignore_errors=True)
        write_page(f"{NAME}.md", page(record.results))


if __name__ == "__main__":
    main()
