"""The multiplier array built at random sizes: random networks on random graphs, several on each build.

Verilator and g++ make each build once. Every logit of both is compared with the integer reference, and the cycles of
every phase of the RTL with the model.
"""

from __future__ import annotations

import argparse
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from array_cpp import sources as cpp_sources
from array_networks import HUB, KINDS, PLAIN_ENGINES, Case, random_case, size_of
from common import Record
from memory import digest, digest_of_files
from pages import render, write_page

from fgnas.activations import NAMES
from fgnas.backends.array import SHARED, write_encoded, write_encoded_step
from fgnas.design import VECTORS
from fgnas.errors import UserError
from fgnas.hardware.array import cycles, reference
from fgnas.hardware.array.encoded import EncodedArray
from fgnas.hardware.array.engine import LANES, Engine, joined
from fgnas.hardware.specification import Specification
from fgnas.paths import templates_directory
from fgnas.tools.csim import run_bench
from fgnas.tools.lint import lint
from fgnas.tools.simulate import run_simulation

NAME = "multiplier-array-random"
BUILD = Path(__file__).parent.parent / "build" / "array-random"
SEED = 2025
ENGINES = 44
MOST_CYCLES = 40_000
"""Limit of the cycles of a run; a longer one is drawn again."""
LEAST_DIFFERENT = 10
"""Values among the logits of a network, or half as many as it has."""
QUICKER = ("-O1",)
"""For g++: graphs are small, and a better build takes longer than it saves."""


def cases_of(number: int, networks: int = len(KINDS), units: int | None = None) -> tuple[Engine, list[Case]]:
    """Random networks for build `number`, or for one like it of so many units, and the engine that runs them all."""
    rng = np.random.default_rng([SEED, number])
    size, kept = size_of(number, rng), list[Case]()
    size = replace(size, units=units or size.units)
    while len(kept) < networks:
        try:
            case = random_case(size, KINDS[len(kept)](rng, size.units), rng)
            engine = replace(joined([one.array.engine for one in (*kept, case)]), bits=size.bits)
            placed = [replace(one, array=one.array.on(engine)) for one in (*kept, case)]
            if cycles.total_cycles(case.encoded()) <= MOST_CYCLES and (size.plain or compares(case.encoded())):
                kept, found = [*kept, case], placed
        except UserError:
            continue  # it exceeds a unit's memories, or needs more modes or shifts than the engine has left
    return engine, found


def compares(encoded: EncodedArray) -> bool:
    """Whether the logits are no few values: equal ones alone would compare little."""
    logits = encoded.outputs * encoded.accelerator.source.shape.classes
    return different(encoded) >= min(LEAST_DIFFERENT, logits // 2)


def measured(number: int, folder: Path, networks: int = len(KINDS)) -> dict[str, Any]:
    """Build an engine's RTL and C++ once, and run every network on both."""
    shutil.rmtree(folder, ignore_errors=True)
    engine, cases = cases_of(number, networks)
    steps = [None, *(folder / f"network-{place}" for place in range(1, networks))]
    found = [ran(case, folder, step) for case, step in zip(cases, steps, strict=True)]
    return {
        "multipliers": engine.multipliers, "beat_bits": engine.beat_bits, "results": engine.results,
        "bits": engine.bits, "modes": len(engine.modes), "shifts": len(engine.shifts), "tiles": engine.tiles,
        "table_words": engine.table_words, "own_words": engine.own_words, "finished": engine.finished,
        "shared": engine.shared, "plain": number < PLAIN_ENGINES, "warnings": warnings_of(folder), "networks": found,
    }  # fmt: skip


def warnings_of(project: Path) -> dict[str, int]:
    """Warnings of the linters for a project's RTL, but that packages state the whole interface; of g++ for its C++."""
    said = lint(project / "rtl").splitlines()
    rtl = [line for line in said if re.search("warning:|error:|%", line) and "unused package" not in line]
    cpp = (project / "build" / "csim" / "compile.log").read_text(encoding="utf-8")
    return {"rtl": len(rtl), "cpp": cpp.count("warning:")}


def ran(case: Case, project: Path, step: Path | None) -> dict[str, Any]:
    """The project's own network, or with a folder `step` another one on what the project has built."""
    work = project / "build"
    made = [work / "sim" / "built", work / "csim" / "csim"]
    before = [path.stat().st_mtime_ns for path in made if path.is_file()]
    encoded = case.encoded()
    if step is None:
        write_encoded(encoded, project, network=case.network)
    else:
        write_encoded_step(encoded, step, Specification(), case.network)
    rtl = run_simulation(step or project, project=project)
    cpp = run_bench(project, QUICKER, work / "csim", vectors=(step or project) / "vectors")
    return described(case, encoded) | {
        "logits": rtl["logits"],
        "rtl_mismatches": rtl["mismatches"], "protocol_errors": rtl["protocol_errors"],
        "cycles": rtl["cycles"], "cycle_difference": rtl["cycle_difference"],
        "phases": len(rtl["phases"]), "phase_differences": rtl["phase_differences"],
        "cpp_mismatches": cpp["mismatches"], "failed_checks": cpp["failed_checks"],
        "built": before != [path.stat().st_mtime_ns for path in made],
    }  # fmt: skip


def described(case: Case, encoded: EncodedArray) -> dict[str, Any]:
    """A random case in plain values, for the record."""
    source, plans = case.array.source, case.array.plans
    layers = source.design.layers
    return {
        "graph": case.data.name, "nodes": case.data.nodes, "edges": len(case.data.sources),
        "non_zeros": case.data.features.nnz, "largest": int(case.data.degrees.max()),
        "layers": [
            f"{one.attention} {one.aggregation} {one.k} × {one.d or case.data.classes} {one.activation or ''}".strip()
            for one in layers
        ],
        "columns": [plan.aggregate.n for plan in plans if not plan.layer.second][:-1], "split": plans[-1].aggregate.k,
        "passes": plans[0].passes, "slices": plans[0].slices, "blocks": max(plan.blocks for plan in plans),
        "sampling": source.design.sampling, "graphs": encoded.outputs if encoded.outputs != case.data.nodes else None,
        "averaged": plans[-1].averaged, "apart": layers[-1].k if source.layers[-1].adds_heads else 1,
        "added": sum(one.residual for one in encoded.programme), "different_logits": different(encoded),
    }  # fmt: skip


def different(encoded: EncodedArray) -> int:
    """Different values among the logits."""
    return len(np.unique(encoded.read_logits(reference.run_region(encoded))))


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    builds = [record[key] for key in record["shown"]]
    networks = [network for one in builds for network in one["networks"]]
    warnings = {name: sum(one["warnings"][name] for one in builds) for name in ("rtl", "cpp")}
    return render(
        f"{NAME}.md", builds=builds, networks=networks, drawn=drawn(builds), seed=SEED, hub=HUB, warnings=warnings
    )  # fmt: skip


def drawn(builds: Sequence[dict[str, Any]]) -> dict[str, int]:
    """How many networks have a property, by its name."""
    found = Counter(name for engine in builds for one in engine["networks"] for name in {*properties(engine, one)})
    return dict(sorted(found.items()))


def properties(engine: dict[str, Any], network: dict[str, Any]) -> Iterator[str]:
    """The properties of a network and of the engine that runs it, in words."""
    layers = [layer.split() for layer in network["layers"]]
    yield f"{len(layers)} layer{'s' if len(layers) > 1 else ''}"
    for attention, aggregation, heads, _, _, *activation in layers:
        yield f"attention {attention}" if attention in NAMES else attention
        yield from (f"activation {name}" if name in VECTORS else name for name in (aggregation, *activation))
        if heads != "1":
            yield "several heads"
    yield f"graph: {network['graph']}"
    yield from (f"numbers of {engine['bits']} bits", f"port of {engine['beat_bits']} bits")
    several = {
        "passes": "several passes", "split": "units that share a row of logits", "slices": "slices of W",
        "blocks": "blocks of H", "averaged": "heads of the last layer, averaged by its sum",
        "apart": "heads of the last layer, each with its own softmax or maximum",
    }  # fmt: skip
    yield from (words for name, words in several.items() if network.get(name, 1) > 1)
    some = {"sampling": "node sampling", "graphs": "a readout of several graphs", "added": "rows that add own rows"}
    yield from (words for name, words in some.items() if network.get(name))
    if (shared := engine.get("shared", 1)) > 1:
        yield f"{shared} units share a table"
    if (finished := engine.get("finished", LANES)) < LANES:
        yield f"lanes finished in a cycle: {finished}"


STREAMS = tuple(f"hardware/array/{name}.py" for name in (
    "cycles", "dealing", "encoding", "engine", "issue", "lowering", "packing", "programme", "reference"))  # fmt: skip
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
