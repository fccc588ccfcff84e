"""Ways to search compared at equal distinct trainings, over many seeds; resumable, search by search."""

from __future__ import annotations

import argparse
import itertools
from typing import Any

import numpy as np
from common import Record, behaviour, options_of, run
from memory import Sharing
from moocore import hypervolume
from pages import render, write_page
from tables import CITESEER, TABLE_IV, Row, key_of, name_of, statistics_of

from fgnas.engine.statistics import difference

ROWS = {1: TABLE_IV[0], 6: TABLE_IV[5], 12: TABLE_IV[11], 13: CITESEER}
"""Rows of the tables, by their number there."""
METHODS: dict[str, dict[str, Any]] = {
    "random designs": {"method": "random", "target": "pipeline"},
    "random architectures": {"method": "distinct", "target": "solved-cycles"},
    "evolution": {"method": "evolution", "target": "solved-cycles"},
    "reinforce": {"method": "reinforce", "target": "solved-cycles", "distinct": True},
    "nsga2, accuracy and cycles": {"method": "nsga2", "target": "solved-cycles", "objectives": "val,latency_cycles"},
    "reinforce, designs": {"method": "reinforce", "target": "pipeline"},
}
"""The baseline first; every method by the options that make it."""
MOST_CHILDREN = 5_000
LEAST_ACCURACY = 0.5
CHEAPEST = ("latency_cycles", "lut")
"""Costs of the cheapest design that the page shows."""
"""The hypervolume is of the accuracy above this, and of the cycles below the limit, as shares of the latter."""


def volume(result: dict[str, Any], row: Row) -> float:
    """Hypervolume of the leaders' retrained accuracy and cycles, each a share; 0 where nothing was found."""
    limit = row[1].limits()["latency_cycles"]
    points = [
        [-np.mean(values), costs["latency_cycles"] / limit] for values, costs in result.get("leaders", [])
        if np.mean(values) > LEAST_ACCURACY
    ]  # fmt: skip
    return float(hypervolume(np.array(points), ref=[-LEAST_ACCURACY, 1.0])) if points else 0.0


def share_of_best(result: dict[str, Any], cost: str) -> float:
    """A cost of the cheapest design within one standard error, as a share of the best design's."""
    return float(result["cheapest"]["prices"][cost] / result["prices"][cost])


def compared(row: Row, record: dict[str, Any], options: dict[str, int]) -> list[dict[str, Any]]:
    """One line of the table for each method that has been run on a row."""
    lines: list[dict[str, Any]] = []
    baseline: dict[str, list[list[float]]] = {}
    for method in METHODS:
        keys = [key_of(name_of(row), method, seed, options["trainings"]) for seed in range(options["seeds"])]
        found = [record[key] for key in keys if key in record]
        ended = [result for result in found if "test" in result]
        if not ended:
            continue
        tests = [result["test"] for result in ended]
        volumes = [[volume(result, row)] for result in found]
        baseline = baseline or {"test": tests, "volume": volumes}
        lines.append({
            "method": method, "searches": len(found), "failed": len(found) - len(ended),
            "trainings": np.mean([result["trainings"] for result in found]),
            "children": np.mean([result["children"] for result in found]),
            "seconds": np.mean([result["seconds"] for result in found]),
            "test": statistics_of([float(np.mean(values)) for values in tests]),
            "cycles": np.mean([result["prices"]["latency_cycles"] for result in ended]),
            "cheapest": {name: np.mean([share_of_best(result, name) for result in ended]) for name in CHEAPEST},
            "volume": np.mean(volumes),
            "gap": difference(tests, baseline["test"]),
            "volume_gap": difference(volumes, baseline["volume"]),
        })  # fmt: skip
    return lines


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    options = record["options"]
    tables = [
        {"number": number, "name": name_of(row), "lines": compared(row, record, options)}
        for number, row in ROWS.items()
    ]
    return render("methods.md", tables=[table for table in tables if table["lines"]], least=LEAST_ACCURACY, **options)


def main() -> None:
    """Run what is missing, and write after each search."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", help=f"of {', '.join(map(str, ROWS))}; default: all", metavar="N,N")
    parser.add_argument("--methods", help=f"of 1 to {len(METHODS)}; default: all", metavar="N,N")
    parser.add_argument("--trainings", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    record = Record("methods", behaviour())
    record.note(options={"trainings": options.trainings, "seeds": options.seeds})
    numbers = [int(number) for number in options.rows.split(",")] if options.rows else list(ROWS)
    methods = [list(METHODS)[int(number) - 1] for number in options.methods.split(",")] if options.methods else METHODS
    with Sharing(options.workers) as sharing:
        tasks = itertools.product(range(options.seeds), numbers, methods)
        for seed, number, method in tasks:
            given = METHODS[method] | {"children": MOST_CHILDREN, "trainings": options.trainings, "seed": seed}
            wanted = options_of(*ROWS[number], **given)
            key = key_of(name_of(ROWS[number]), method, seed, options.trainings)
            record.fill(key, lambda wanted=wanted: run(wanted, sharing))  # type: ignore[misc]
            write_page("methods.md", page(record.results))


if __name__ == "__main__":
    main()
