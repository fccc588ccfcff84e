"""Controllers against each other under tight constraints, on the same children."""

from __future__ import annotations

import argparse
from typing import Any

from common import RESULTS, Record, run
from memory import Sharing

from fgnas.hardware.pricing import Specification
from fgnas.search.run import SearchConfig

SPECIFICATIONS = {
    "cora, 1.0 ms, 100,000 LUT, 100 DSP": ("cora", Specification(1.0, 100_000, 100_000, 100)),
    "citeseer, 0.8 ms, 10,000 LUT, 10 DSP": ("citeseer", Specification(0.8, 10_000, 10_000, 10)),
}
CONTROLLERS = ("random", "conditioned", "masked", "warm", "paper")


def page(results: dict[str, Any], children: int, seeds: int) -> str:
    """The table of each specification."""
    lines = [
        "# Controllers under tight constraints",
        "",
        f"`python benchmarks/controllers.py --children {children} --seeds {seeds}`: mean quantised validation accuracy",
        f"of the first 50 and of the last fifth of {children} children, and the feasible share of the draws. Runs that",
        "are equal in dataset and seed share their trainings, so times are of sampling and learning alone.",
    ]
    for name in SPECIFICATIONS:
        lines += [
            "", f"## {name}", "",
            "| controller | seed | children | first 50 | last fifth | best | feasible, first | last | draws | s |",
            "|---|---|---|---|---|---|---|---|---|---|",
        ]  # fmt: skip
        for key, result in results.items():
            if not key.startswith(name):
                continue
            if result["children"]:
                _, controller, seed, _ = key.split(" | ")
                accuracies = " | ".join(f"{result[field]:.1%}" for field in ("first_50", "last_fifth", "best"))
                shares = " | ".join(f"{result[field]:.2%}" for field in ("share_first_fifth", "share_last_fifth"))
                lines.append(
                    f"| {controller} | {seed} | {result['children']} | {accuracies} | {shares} | {result['draws']:,} "
                    f"| {result['sampling_s']:.0f} |"
                )
            if "error" in result:
                lines += [f"| {key.split(' | ')[1]} | | ended: {result['error']} | | | | | | | |"]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run what is missing, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--children", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    record = Record("controllers.json")
    for seed in range(options.seeds):
        for name, (dataset, specification) in SPECIFICATIONS.items():
            for controller in CONTROLLERS:
                choice = {"method": "random"} if controller == "random" else {"controller": controller}
                config = SearchConfig.of(
                    dataset, specification=specification, children=options.children, seed=seed, leaders=1,
                    retrain_seeds=1, **choice,
                )  # fmt: skip
                with Sharing(options.workers) as sharing:
                    record.fill(
                        f"{name} | {controller} | {seed} | {options.children}",
                        lambda config=config, sharing=sharing: run(config, sharing),
                    )
                (RESULTS / "controllers.md").write_text(page(record.results, options.children, options.seeds))


if __name__ == "__main__":
    main()
