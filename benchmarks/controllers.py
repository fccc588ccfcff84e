"""Controllers against each other under tight constraints, on the same children."""

from __future__ import annotations

import argparse
import itertools
from textwrap import wrap
from typing import Any

import numpy as np
from common import RESULTS, Record, behaviour, run
from memory import Sharing

from fgnas.engine.run import SearchConfig
from fgnas.hardware.pipeline.pricing import Specification

SPECIFICATIONS = {
    "Cora, 1.0 ms, 100,000 LUT and FF, 100 DSP": ("cora", Specification(1.0, 100_000, 100_000, 100)),
    "Cora, 0.8 ms, 10,000 LUT and FF, 10 DSP": ("cora", Specification(0.8, 10_000, 10_000, 10)),
    "CiteSeer, 0.8 ms, 10,000 LUT and FF, 10 DSP": ("citeseer", Specification(0.8, 10_000, 10_000, 10)),
}
CONTROLLERS = ("random", "warm", "conditioned", "masked", "paper")
PAPER_SHARE = 5
"""The paper's controller draws five designs at a time and throws nearly all away: it gets one child in so many."""


def key_of(name: str, controller: str, seed: int, children: int) -> str:
    """Of a run in the record."""
    return f"{name} | {controller} | {seed} | {children}"


def page(results: dict[str, Any], children: int, seeds: int) -> str:
    """A table for each specification."""
    lines = [
        "# Controllers under tight constraints",
        "",
        *wrap(
            f"`python benchmarks/controllers.py --children {children} --seeds {seeds}`: mean quantised validation "
            "accuracy of the first 50 and of the last fifth of the children, and of the best child; the feasible share "
            "of the draws in the first and in the last fifth. All are means over the seeds, the last fifth with its "
            "standard error. Runs that are equal in dataset and seed share their trainings, so times are of sampling "
            "and learning alone. The paper's controller, which draws by fives, was given a fifth of the children.",
            120,
        ),
    ]
    for name in SPECIFICATIONS:
        if not any(key.startswith(f"{name} | ") for key in results):
            lines += ["", f"## {name}", "", "Not run yet."]
            continue
        lines += [
            "", f"## {name}", "",
            "| controller | seeds | children | first 50 | last fifth | best | feasible, first | last | draws | s |",
            "|---|---|---|---|---|---|---|---|---|---|",
        ]  # fmt: skip
        for controller in CONTROLLERS:
            keys = [key_of(name, controller, seed, count_of(controller, children)) for seed in range(seeds)]
            if found := [results[key] for key in keys if key in results]:
                lines.append(line(controller, found))
    return "\n".join(lines) + "\n"


def line(controller: str, results: list[dict[str, Any]]) -> str:
    """A controller's means over its seeds; why some of them ended."""
    ended = "".join(f"; ended: {result['error']}" for result in results if "error" in result)
    results = [result for result in results if result["children"]]
    if not results:
        return f"| {controller}{ended} | | | | | | | | | |"

    def mean(field: str) -> float:
        return float(np.mean([result[field] for result in results]))

    last = [result["last_fifth"] for result in results]
    error = f" ± {np.std(last, ddof=1) / len(last) ** 0.5:.1%}" if len(last) > 1 else ""
    return (
        f"| {controller}{ended} | {len(results)} | {mean('children'):.0f} | {mean('first_50'):.1%} "
        f"| {mean('last_fifth'):.1%}{error} | {mean('best'):.1%} | {mean('share_first_fifth'):.2%} "
        f"| {mean('share_last_fifth'):.2%} | {mean('draws'):,.0f} | {mean('sampling_s'):.0f} |"
    )


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
    record = Record("controllers.json", behaviour())
    with Sharing(options.workers) as sharing:
        for seed, name, controller in itertools.product(range(options.seeds), SPECIFICATIONS, CONTROLLERS):
            dataset, specification = SPECIFICATIONS[name]
            choice = {"method": "random"} if controller == "random" else {"controller": controller}
            count = count_of(controller, options.children)
            config = SearchConfig.of(
                dataset, specification=specification, children=count, seed=seed, leaders=1, retrain_seeds=1, **choice
            )
            record.fill(key_of(name, controller, seed, count), lambda config=config: run(config, sharing))
            (RESULTS / "controllers.md").write_text(page(record.results, options.children, options.seeds))


if __name__ == "__main__":
    main()
