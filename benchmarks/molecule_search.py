"""Networks for molecules, searched for the multiplier array: the staged search beside random search, each delivered
network in RTL. Runs are in build/molecule-search and continue."""

from __future__ import annotations

import argparse
import functools
import json
import tempfile
from pathlib import Path
from typing import Any

import hgnas
from common import Record, listed
from memory import digest
from pages import render, write_page

import fgnas
from fgnas.api import Run

NAME = "molecule-search"
FOLDER = Path(__file__).parent.parent / "build" / NAME
CODE = (*hgnas.CODE, "networks/imported", "hardware/array", "tasks/collection.py", "tasks/molecules.py")
DATASET, MULTIPLIERS, CLOCK_MHZ, MICROSECONDS, SEEDS = "esol", 64, 100, 250, 3
CHILDREN = 600
METHODS = ("staged", "random")


def found(method: str, seed: int) -> Run:
    """The search of a method and a seed, continued where it was stopped."""
    name = f"{method}-{seed}"
    return fgnas.search(
        DATASET, system="hgnas", target="array", multipliers=MULTIPLIERS, latency_ms=MICROSECONDS / 1000,
        method=method, children=CHILDREN, seed=seed, run=name, runs=FOLDER, resume=(FOLDER / name).is_dir(), workers=1,
    )  # fmt: skip


def searched(method: str, seed: int) -> dict[str, Any]:
    """The delivered network of a search: costs, errors, operations; its molecules in RTL."""
    run = found(method, seed)
    best = run.best
    with tempfile.TemporaryDirectory() as scratch:
        project = run.write(Path(scratch) / "project")
        rtl = project.simulate()
        described = json.loads((project.directory / "report/accelerator.json").read_text(encoding="utf-8"))
    return {
        "method": method, "seed": seed, "costs": best["costs"], "operations": listed(best),
        "rmse": described["design"]["metrics"], "retrained": best["retrained"]["float"], "children": len(run.trials()),
        "deviation": best["deviation"],
        **{f"rtl_{name}": rtl[name] for name in ("mismatches", "cycles", "cycle_difference")},
    }  # fmt: skip


def page(results: dict[str, Any]) -> str:
    """The page of a record."""
    rows = [one for one in results.values() if isinstance(one, dict) and "method" in one]
    return render(f"{NAME}.md", rows=rows, dataset=DATASET, multipliers=MULTIPLIERS, clock=CLOCK_MHZ, children=CHILDREN,
                  microseconds=MICROSECONDS, note=results.get("note"))  # fmt: skip


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="searches of each method; default: %(default)s")
    options = parser.parse_args()
    record = Record(NAME, digest(CODE))
    for seed in range(options.seeds):
        for method in METHODS:
            record.fill(f"{method} {seed}", functools.partial(searched, method, seed))
            write_page(f"{NAME}.md", page(record.results))


if __name__ == "__main__":
    main()
