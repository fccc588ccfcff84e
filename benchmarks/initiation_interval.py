"""The longest recurrence of every loop in the C++ of random pipelines and arrays, compared with the clock period.

Run by `make bench-ii`. `recurrence.py` measures a project; a project of the same C++ is not measured again, so an
interrupted run continues. `--as before` files the figures as those of an earlier state of the sources, for comparison.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import math
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import recurrence
from array_networks import UNITS
from array_random import cases_of
from block_ram import SHAPE, lowered, random_designs
from memory import digest_of_files
from pages import RESULTS, read_record, render, write_page, write_record

from fgnas.backends import array as array_project
from fgnas.backends.pipeline import write_project
from fgnas.design import Design
from fgnas.hardware.array.engine import LANES, Engine
from fgnas.hardware.array.programme import LARGEST_INDEX
from fgnas.hardware.devices import FAMILIES
from fgnas.tasks.nodes import GraphData, build

CLOCK_NS, UNCERTAINTY = 10.0, 0.27
"""100 MHz, and the share of it that Vitis HLS keeps by default (UG1399, Specifying the Clock Frequency)."""
BUDGET = CLOCK_NS * (1 - UNCERTAINTY)
DESIGNS, ARRAYS = 200, 10
MOST_UNITS = 6
"""Upper limit of the arrays' units."""
LARGE = ((7, 16), (14, 16), (7, 32), (14, 32))
"""Arrays of many units: each like a random engine by its number, of so many units. The first has no attention, the
other has scores of edges and activation tables."""
LARGEST = "compute"
"""The function with most operations: all units in lock step."""
NETWORKS = 2
"""Networks for which an array is made."""
COMMAND = "make bench-ii"
NAME = "initiation-interval"

Measured = dict[str, dict[str, dict[str, Any]]]
"""family -> stage -> ns, file, line and path of its worst loop."""


def graph() -> GraphData:
    """A few nodes with Cora's columns and classes: recurrences depend on the capacities, not on the graph."""
    rng, nodes = np.random.default_rng(1), 8
    everyone, labels = np.ones(nodes, bool), np.arange(nodes) % SHAPE.classes
    ends = rng.integers(0, nodes, (2, 2 * nodes))
    return build("few nodes", np.eye(nodes, SHAPE.width_in), ends, labels, everyone, everyone, everyone, SHAPE.classes)


def stage_of(function: str) -> str:
    """The name of a stage without its template arguments."""
    return re.sub("<.*>", "", function)


def write_pipeline(design: Design, project: Path) -> None:
    """Write the project of a design."""
    write_project(lowered(design), graph(), project)


def write_array(number: int, project: Path, units: int | None = None) -> Engine:
    """Write the project of random engine `number`, or of one like it of so many units; the memories of every other one
    are the largest that there are. Returns the engine as it was drawn."""
    engine, cases = cases_of(number, NETWORKS, units)
    case = cases[0]
    if number % 2:
        deepest = replace(engine, table_words=LARGEST_INDEX + 1, own_words=LARGEST_INDEX + 1)
        case = replace(case, array=case.array.on(deepest))
    array_project.write_encoded(case.encoded(), project)
    return engine


def few_units(count: int) -> list[int]:
    """The first `count` numbers of random engines of few units: of larger ones clang takes minutes."""
    return list(itertools.islice((one for one in itertools.count() if UNITS[one % len(UNITS)] <= MOST_UNITS), count))


def measured(write: Callable[[Path], object], folder: Path) -> Measured:
    """The worst loop of each stage of the project that a function writes."""
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch) / "project"
        write(project)
        return loops_of(project, folder)


def loops_of(project: Path, folder: Path) -> Measured:
    """The worst loop of each stage of a project; of sources that were measured before, from the file in `folder`."""
    place = folder / f"{digest_of(project)}.json"
    if place.is_file():
        return dict(json.loads(place.read_text(encoding="utf-8")))
    loops = recurrence.pipelined_loops(recurrence.optimised(recurrence.project_ir(project)))
    found: Measured = {}
    for family in FAMILIES:
        delays, worst = recurrence.Delays.of(family), found.setdefault(family, {})
        for loop in loops:
            one = recurrence.worst_recurrence(loop, delays)
            if (stage := stage_of(one.function)) not in worst or one.ns > worst[stage]["ns"]:
                ns = None if math.isinf(one.ns) else round(one.ns, 3)
                worst[stage] = {"ns": ns, "file": one.file, "line": one.line, "path": list(one.path)}
    folder.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(found), encoding="utf-8")
    return found


def sized(number: int, units: int, folder: Path) -> dict[str, Any]:
    """An array of many units: its worst loops, and the operations of its largest function as they are scheduled, and as
    they would be if no function were apart."""
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch) / "project"
        engine = write_array(number, project, units)
        loops = loops_of(project, folder)
        place = folder / f"{digest_of(project)}-operations.json"
        if not place.is_file():
            ir = recurrence.project_ir(project)
            counts = [most_operations(recurrence.operations(ir, apart)) for apart in (True, False)]
            place.write_text(json.dumps(counts), encoding="utf-8")
    apart, inlined = json.loads(place.read_text(encoding="utf-8"))
    return {
        "multipliers": engine.multipliers, "attention": engine.softmax is not None, "operations": apart,
        "inlined": inlined, "worst": {family: rows[0] for family, rows in summary([loops]).items()},
    }  # fmt: skip


def most_operations(counts: dict[str, int]) -> int:
    """Operations of the largest function, which is that of all units. Raises MeasurementError for another."""
    name = max(counts, key=lambda one: counts[one])
    if LARGEST not in name:
        raise recurrence.MeasurementError(f"{name} has more operations than {LARGEST}")
    return counts[name]


def digest_of(project: Path) -> str:
    """A digest of what a measurement depends on: the C++ of a project, the delays, and the measurement itself."""
    own = [recurrence.DELAYS, Path(recurrence.__file__), *sorted(recurrence.SHIM.iterdir())]
    return digest_of_files([*sorted((project / "src").iterdir()), *own])[:16]


def summary(results: list[Measured]) -> dict[str, list[dict[str, Any]]]:
    """For each family its stages, the worst first: the worst loop of all designs."""
    worst: dict[str, dict[str, dict[str, Any]]] = {}
    for result in results:
        for family, stages in result.items():
            for stage, one in stages.items():
                kept = worst.setdefault(family, {}).get(stage)
                if kept is None or nanoseconds(one) > nanoseconds(kept):
                    worst[family][stage] = one
    return {
        family: sorted(({"stage": stage, **one} for stage, one in stages.items()), key=nanoseconds, reverse=True)
        for family, stages in worst.items()
    }


def worst_of(
    pool: ProcessPoolExecutor, writers: Sequence[Callable[[Path], object]], folder: Path
) -> dict[str, list[dict[str, Any]]]:
    """The summary of the projects that these functions write."""
    results: list[Measured] = []
    for result in pool.map(measured, writers, [folder] * len(writers)):
        results.append(result)
        print(f"\r{len(results)}/{len(writers)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return summary(results)


def nanoseconds(one: dict[str, Any]) -> float:
    """The ns of a loop, infinite where no iteration can start every cycle."""
    return math.inf if one["ns"] is None else one["ns"]


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    now, before, arrays = record["now"], record.get("before"), record.get("arrays")
    earlier = {
        family: {one["stage"]: nanoseconds(one) for one in stages}
        for family, stages in (before["stages"] if before else {}).items()
    }
    return render(
        "initiation-interval.md", budget=BUDGET, clock=CLOCK_NS, uncertainty=UNCERTAINTY, designs=now["designs"],
        stages=now["stages"], arrays=arrays, large=record.get("large"), before=before, earlier=earlier,
        sources=record["sources"],
        worst={family: nanoseconds(stages[0]) for family, stages in now["stages"].items()},
        worst_before={family: max(each.values()) for family, each in earlier.items()},
    )  # fmt: skip


def main() -> None:
    """Measure, and write docs/results/initiation-interval.{md,json}."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=DESIGNS, help="number of designs; default: all")
    parser.add_argument("--arrays", type=int, default=ARRAYS, help="number of arrays; default: %(default)s")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--as", dest="state", choices=("now", "before"), default="now")
    parser.add_argument("--folder", type=Path, default=Path("build") / NAME, help="of the measurements; %(default)s")
    options = parser.parse_args()
    record = read_record(NAME) if (RESULTS / f"{NAME}.json").is_file() else {}
    record |= {"command": COMMAND, "sources": recurrence.sources()}
    with ProcessPoolExecutor(options.workers) as pool:
        designs = [functools.partial(write_pipeline, one) for one in random_designs(options.count)]
        record[options.state] = {"designs": len(designs), "stages": worst_of(pool, designs, options.folder)}
        if options.state == "now":
            arrays = [functools.partial(write_array, number) for number in few_units(options.arrays)]
            record["arrays"] = {"count": len(arrays), "most": LANES * MOST_UNITS}
            record["arrays"]["stages"] = worst_of(pool, arrays, options.folder)
            record["large"] = list(pool.map(sized, *zip(*LARGE, strict=True), [options.folder] * len(LARGE)))
    write_record(NAME, record)
    if "now" in record:
        write_page(f"{NAME}.md", page(record))


if __name__ == "__main__":
    main()
