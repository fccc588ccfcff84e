"""The controllers compared under tight constraints, on the same children."""

from __future__ import annotations

import argparse
import itertools
from typing import Any

import numpy as np
from common import Record, behaviour, options_of, run
from memory import Sharing
from pages import render, write_page
from tables import TARGET, key_of

from fgnas.hardware.specification import Specification

SPECIFICATIONS = {
    "Cora, 1.0 ms, 100,000 LUT and FF, 100 DSP": ("cora", Specification(1.0, 100_000, 100_000, 100)),
    "Cora, 0.8 ms, 10,000 LUT and FF, 10 DSP": ("cora", Specification(0.8, 10_000, 10_000, 10)),
    "CiteSeer, 0.8 ms, 10,000 LUT and FF, 10 DSP": ("citeseer", Specification(0.8, 10_000, 10_000, 10)),
}
CONTROLLERS = ("random", "warm", "conditioned", "masked", "paper")
PAPER_SHARE = 5
"""The paper's controller draws batches of five and discards nearly all, so it gets one child where others get five."""


def page(record: dict[str, Any]) -> str:
    """The page of a record: a table for each specification."""
    children, seeds = record["options"]["children"], record["options"]["seeds"]
    tables: dict[str, list[dict[str, Any]]] = {}
    for name in SPECIFICATIONS:
        tables[name] = []
        for controller in CONTROLLERS:
            keys = [key_of(name, controller, seed, count_of(controller, children)) for seed in range(seeds)]
            if found := [record[key] for key in keys if key in record]:
                tables[name].append(row_of(controller, found))
    command = f"python benchmarks/controllers.py --children {children} --seeds {seeds}"
    return render("controllers.md", tables=tables, command=command)


MEANS = (
    "children", "first_50", "last_fifth", "best", "share_first_fifth", "share_last_fifth", "draws", "sampling_s",
)  # fmt: skip


def row_of(controller: str, results: list[dict[str, Any]]) -> dict[str, Any]:
    """A controller's means over its seeds, and the errors that ended some of its searches."""
    ended = "".join(f"; ended: {result['error']}" for result in results if "error" in result)
    results = [result for result in results if result["children"]]
    last = [result["last_fifth"] for result in results]
    return {
        "controller": controller,
        "ended": ended,
        "seeds": len(results),
        "mean": {field: np.mean([result[field] for result in results]) for field in MEANS} if results else None,
        "error": np.std(last, ddof=1) / len(last) ** 0.5 if len(last) > 1 else None,
    }


def count_of(controller: str, children: int) -> int:
    """How many children a controller gets."""
    return children // PAPER_SHARE if controller == "paper" else children


def main() -> None:
    """Run what is missing, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--children", type=int, default=150)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    record = Record("controllers", behaviour())
    record.note(options={"children": options.children, "seeds": options.seeds})
    with Sharing(options.workers) as sharing:
        for seed, name, controller in itertools.product(range(options.seeds), SPECIFICATIONS, CONTROLLERS):
            dataset, specification = SPECIFICATIONS[name]
            learning = {"method": "reinforce", "controller": controller}
            choice = {"method": "random"} if controller == "random" else learning
            count = count_of(controller, options.children)
            wanted = options_of(
                dataset, specification, target=TARGET, children=count, seed=seed, leaders=1, retrain_seeds=1, **choice
            )
            key = key_of(name, controller, seed, count)
            record.fill(key, lambda wanted=wanted: run(wanted, sharing))
            write_page("controllers.md", page(record.results))


if __name__ == "__main__":
    main()
