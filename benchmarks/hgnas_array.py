"""HGNAS for the multiplier array: searches whose networks run whole on it, beside a thread of this processor.

`make bench-hgnas-array` runs it. Runs are in build/hgnas-array and continue.
"""

from __future__ import annotations

import argparse
import functools
import json
import tempfile
from pathlib import Path
from typing import Any

from common import Record, listed
from memory import PACKAGE, digest
from pages import read_record, render, write_page

import fgnas
from fgnas.hardware.measured.measure import time_now
from fgnas.networks.points.operations import PointNetwork
from fgnas.systems.hgnas.measuring import device_of
from fgnas.systems.hgnas.options import MeasureOptions
from fgnas.tasks.points import EMBEDDED, load_graphs

NAME = "hgnas-array"
FOLDER = PACKAGE.parent / "build" / NAME
CODE = ("networks/points", "systems/hgnas", "hardware/array/points", "tasks/points.py")
SEEDS = 5
MULTIPLIERS, CLOCK_MHZ, BITS, MICROSECONDS = 64, 100, 8, 120
BUDGET: dict[str, Any] = {
    "epochs": 10, "own_epochs": 4, "children": 120, "leaders": 3, "retrain_seeds": 1, "retrain_epochs": 30,
}  # fmt: skip
"""A twelfth of a default search: what is shown is what an array does, not how well a search finds."""
ROUNDS = 5


def found(seed: int) -> dict[str, Any]:
    """The delivered network of a search for the array: accuracies, cycles, its RTL, and a thread's time now."""
    name = f"found-{seed}"
    begun = (FOLDER / name / "config.json").is_file()
    given = {} if begun else {
        "system": "hgnas", "target": "array", "multipliers": MULTIPLIERS, "bits": BITS,
        "latency_ms": MICROSECONDS / 1000, "seed": seed, **BUDGET,
    }  # fmt: skip
    run = fgnas.search(runs=FOLDER, run=name, resume=begun, **given)
    best, data = run.best, load_graphs(EMBEDDED)
    network = PointNetwork.from_dict(best["design"])
    with tempfile.TemporaryDirectory() as scratch:
        simulated = run.write(Path(scratch) / "project").simulate()
    share, milliseconds = time_now(network, device_of(MeasureOptions(), data), data, ROUNDS)
    return {
        "costs": best["costs"], "accuracies": best["delivered"],
        "thread_us": 1000 * milliseconds, "thread_share": share,
        "simulated": {name: simulated[name] for name in ("mismatches", "cycles", "cycle_difference", "status")},
        "operations": listed(best),
    }  # fmt: skip


def elsewhere(path: Path) -> dict[str, Any]:
    """The delivered network of a search for one thread: its accuracy, its cycles on the array, a thread's time now."""
    best = json.loads(path.read_text(encoding="utf-8"))
    network, data = PointNetwork.from_dict(best["design"]), load_graphs(EMBEDDED)
    share, milliseconds = time_now(network, device_of(MeasureOptions(), data), data, ROUNDS)
    priced = fgnas.price_on_array(path, multipliers=MULTIPLIERS, bits=BITS)
    return {
        "cycles": priced["latency_cycles"], "thread_us": 1000 * milliseconds, "thread_share": share,
        "val": best["retrained_val"]["mean"], "operations": listed(best),
    }  # fmt: skip


def page(results: dict[str, Any]) -> str:
    """The page of a record."""
    searches = [value for key, value in results.items() if key.startswith("found ")]
    others = [value for key, value in results.items() if key.startswith("thread ")]
    return render(f"{NAME}.md", searches=searches, others=others, budget=BUDGET, most=MICROSECONDS,
                  multipliers=MULTIPLIERS, bits=BITS, clock=CLOCK_MHZ)  # fmt: skip


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="default: %(default)s")
    about = "folder with runs of make bench-hgnas, found for one thread; default: build/hgnas"
    parser.add_argument("--threads", type=Path, default=PACKAGE.parent / "build" / "hgnas", help=about)
    options = parser.parse_args()
    record = Record(NAME, digest(CODE))
    for seed in range(options.seeds):
        record.fill(f"found {seed}", functools.partial(found, seed))
        write_page(f"{NAME}.md", page(record.results))
    for path in sorted(options.threads.glob("found-*/best.json")):
        record.fill(f"thread {path.parent.name}", functools.partial(elsewhere, path))
    write_page(f"{NAME}.md", page(read_record(NAME)))


if __name__ == "__main__":
    main()
