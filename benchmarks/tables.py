"""Tables III and IV of the FGNAS paper, with random and disjoint search beside ours; resumable, row by row."""

from __future__ import annotations

import argparse
import functools
import hashlib
import itertools
from typing import Any

import numpy as np
from common import BLOCK, Record, behaviour, options_of, run
from memory import Sharing
from pages import render, write_page

from fgnas.costs import Costs, feasible
from fgnas.engine.statistics import difference
from fgnas.engine.survey import survey
from fgnas.errors import UserError
from fgnas.hardware.specification import Specification
from fgnas.report import axis
from fgnas.report.chart import Frame, Panel, Series, line
from fgnas.report.figure import figure_svg
from fgnas.systems.fgnas import compose

TABLE_IV = [
    ("cora", Specification(latency, area, area, dsp))
    for latency, area, dsp in itertools.product((0.8, 0.9, 1.0), (10_000, 100_000), (10, 100))
]
CITESEER = ("citeseer", Specification(1.0, 100_000, 100_000, 1000))
"""A row of Table III. Its row of Cora is the last one of Table IV."""
ROWS = [*TABLE_IV, CITESEER]
PAPER = (66.2, 62.9, 67.8, 68.7, 68.1, 69.2, 68.8, 70.2, 68.1, 70.1, 68.8, 71.5, 72.4)
"""Test accuracy of the paper's joint search in each row, per cent."""
FIGURE = "tables-learning.svg"
METHODS = ("reinforce", "random", "disjoint")
TARGET = "pipeline"
"""Everything is sampled, as in the paper."""
SMALL = {"width": 280, "height": 180, "left": 40, "right": 20, "top": 24, "bottom": 40}
"""The frame of one chart of the figure."""
SAMPLES = 200_000
"""Uniform draws on which feasible sets are compared."""

Row = tuple[str, Specification]


def rows_of(text: str | None) -> list[Row]:
    """All rows, or those whose numbers are named: 1 to 12 are Table IV's, 13 is CiteSeer's of Table III."""
    return ROWS if text is None else [ROWS[int(number) - 1] for number in text.split(",")]


def name_of(row: Row) -> str:
    """Dataset, latency, area and DSPs."""
    dataset, specification = row
    return f"{dataset}, {specification.latency_ms} ms, {specification.lut:,} LUT and FF, {specification.dsp} DSP"


def feasible_set(row: Row) -> dict[str, Any]:
    """The survey of a row, and a checksum of the uniform draws that are feasible."""
    parts = compose(options_of(*row, target=TARGET))
    try:
        surveyed = survey(parts.space, parts.target, parts.limits)
    except UserError as error:
        return {"survey": str(error), "set": "", "empty": True}
    allowed = hashlib.sha256()
    for costs in uniform_costs(row[0], row[1].dsp):
        allowed.update(feasible(costs, parts.limits).tobytes())
    return {"survey": f"{surveyed}{parts.remark(surveyed.found)}", "set": allowed.hexdigest(), "empty": False}


@functools.cache
def uniform_costs(dataset: str, dsp: int) -> list[Costs]:
    """Costs of many uniform draws, in parts."""
    parts, rng = compose(options_of(dataset, Specification(dsp=dsp), target=TARGET)), np.random.default_rng(1)
    return [parts.target.price(parts.space.draw(SAMPLES // 10, rng)) for _ in range(10)]


def twins(record: dict[str, Any]) -> dict[str, str]:
    """Row -> the first row of the same dataset with an equal feasible set."""
    first: dict[tuple[str, str], str] = {}
    return {
        name_of(row): first.setdefault((row[0], record[f"set | {name_of(row)}"]["set"]), name_of(row)) for row in ROWS
    }


Found = dict[str, dict[str, list[dict[str, Any]]]]
"""Row -> method -> the results of its searches."""


def found_in(record: dict[str, Any]) -> Found:
    """The results of every row, taken from the row with the same feasible set."""
    twin, options = twins(record), record["options"]
    return {
        name: {
            method: [
                record[key] for seed in range(options["seeds"])
                if (key := key_of(twin[name], method, seed, options["children"])) in record
            ]
            for method in METHODS
        }
        for name in map(name_of, ROWS)
    }  # fmt: skip


def page(record: dict[str, Any]) -> str:
    """The page of a record: the tables as far as they are filled."""
    found, twin, options = found_in(record), twins(record), record["options"]
    rows = []
    for number, (name, paper) in enumerate(zip(map(name_of, ROWS), PAPER, strict=True), 1):
        results = found[name]
        rows.append({
            "number": number, "name": name, "paper": paper, "twin": twin[name],
            "empty": record[f"set | {name}"]["empty"],
            "survey": record[f"set | {name}"]["survey"],
            "accuracy": {method: spread(results[method]) for method in METHODS},
            "float": spread(results["reinforce"], "float_test"),
            "gap": {method: gap(results["reinforce"], results[method]) for method in METHODS[1:]},
            "learning": learning(results) if twin[name] == name else None,
        })  # fmt: skip
    return render(
        "tables.md", rows=rows, added=added(found), figure=FIGURE, **options,
        command=f"make bench-tables CHILDREN={options['children']}",
    )  # fmt: skip


def figure(record: dict[str, Any]) -> str:
    """Learning curves of the distinct rows that have been run, as SVG."""
    found, twin = found_in(record), twins(record)
    along = axis.linear("Children", 0, record["options"]["children"], "{:g}".format, 3)
    panels = []
    for number, name in enumerate(map(name_of, ROWS), 1):
        results = {label: found[name][method] for label, method in (("search", "reinforce"), ("random", "random"))}
        curves = {
            label: averaged([result["blocks"] for result in runs if result["children"]])
            for label, runs in results.items()
        }
        if twin[name] != name or not any(curves.values()):
            continue
        frame = Frame(along, axis.linear("Accuracy", 0, 0.8, "{:.0%}".format, 4), **SMALL)
        series = [Series(label, line(frame, *zip(*points, strict=True))) for label, points in curves.items() if points]
        panels.append(Panel(f"{number}. {name}", frame, series))
    return figure_svg("Learning curves", panels, columns=3)


def averaged(curves: list[list[float]]) -> list[tuple[float, float]]:
    """The mean of curves of equal length, each value in the middle of its block."""
    return [((place + 0.5) * BLOCK, float(np.mean(values))) for place, values in enumerate(zip(*curves, strict=True))]


def key_of(name: str, method: str, seed: int, size: int) -> str:
    """The name of a search of so many children or trainings in the record."""
    return f"{name} | {method} | {seed} | {size}"


def spread(results: list[dict[str, Any]], field: str = "test") -> dict[str, Any]:
    """Mean and standard deviation of all values of a field, and how many searches ended with and without a design."""
    values = [value for result in results for value in result.get(field, [])]
    failed = sum("error" in result for result in results)
    return {**statistics_of(values), "searches": len(results) - failed, "failed": failed}


def statistics_of(values: list[float]) -> dict[str, float | None]:
    """Mean and sample standard deviation; None without values, or without a second one."""
    mean = np.mean(values) if values else None
    return {"mean": mean, "std": np.std(values, ddof=1) if len(values) > 1 else None}


def gap(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> dict[str, float] | None:
    """Difference of two methods with its interval; None where one has no results."""
    pair = [[result["test"] for result in results if "test" in result] for results in (ours, theirs)]
    return difference(*pair) if all(pair) else None


def added(found: Found) -> dict[str, Any] | None:
    """The search beside random and disjoint search, over all rows of Cora that all three have run."""
    rows = [results for name, results in found.items() if name.startswith("cora") and all(results.values())]
    if not rows:
        return None
    tests = {method: by_seed(rows, method) for method in METHODS}
    methods = []
    for method in (one for one in METHODS if sum(map(len, tests[one])) > 1):
        results = [result for row in rows for result in row[method]]
        methods.append({
            "method": method,
            "best": statistics_of([result["best"] for result in results if "test" in result]),
            "test": statistics_of([value for values in tests[method] for value in values]),
            "gap": difference(tests["reinforce"], tests[method]) if method != "reinforce" else None,
            "failed": sum("error" in result for result in results),
            "searches": len(results),
            "trainings": np.mean([result["trainings"] for result in results]),
        })
    return {"rows": len(rows), "methods": methods}


def by_seed(rows: list[dict[str, list[dict[str, Any]]]], method: str) -> list[list[float]]:
    """[seeds][rows] mean test accuracy of what was delivered, without the searches that found nothing."""
    seeds = zip(*(row[method] for row in rows), strict=False)  # as many as every row has
    found = [[float(np.mean(result["test"])) for result in results if "test" in result] for results in seeds]
    return [values for values in found if values]


def learning(results: dict[str, list[dict[str, Any]]]) -> dict[str, Any] | None:
    """Accuracy of the search's first and last children, beside the mean of random search; None before a search."""
    ours, theirs = ([r for r in results[method] if r.get("children")] for method in ("reinforce", "random"))
    if not ours:
        return None
    return {
        "first": np.mean([result["first_50"] for result in ours]),
        "last": np.mean([result["last_fifth"] for result in ours]),
        "trainings": np.mean([result["trainings"] for result in ours]),
        "random": np.mean([result["mean"] for result in theirs]) if theirs else None,
        "random_trainings": np.mean([result["trainings"] for result in theirs]) if theirs else None,
    }


def main() -> None:
    """Run what is missing, and write after each run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", metavar="N,N", help="1 to 12: Table IV; 13: CiteSeer of Table III; default: all")
    parser.add_argument("--children", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    record = Record("tables", behaviour())
    record.note(options={"children": options.children, "seeds": options.seeds})
    for row in ROWS:
        record.fill(f"set | {name_of(row)}", lambda row=row: feasible_set(row))
    twin = twins(record.results)
    asked = [row for row in rows_of(options.rows) if not record.results[f"set | {name_of(row)}"]["empty"]]
    with Sharing(options.workers) as sharing:
        for seed, row, method in itertools.product(range(options.seeds), asked, METHODS):
            dataset, specification = next(one for one in ROWS if name_of(one) == twin[name_of(row)])
            how = {"method": method, "target": TARGET, "children": options.children, "seed": seed}
            wanted = options_of(dataset, specification, **how)
            key = key_of(twin[name_of(row)], method, seed, options.children)
            record.fill(key, lambda wanted=wanted: run(wanted, sharing))
            write_page("tables.md", page(record.results))
            write_page(FIGURE, figure(record.results))


if __name__ == "__main__":
    main()
