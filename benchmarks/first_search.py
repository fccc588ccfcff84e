"""The search of `make all` on the embedded digits beside one of the default's size: accuracies and processor time."""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from pages import RESULTS, read_record, render, write_page, write_record

NAME = "first-search"
SIZES = {
    "small": {"children": 120, "leaders": 6, "retrain_seeds": 3, "epochs": 100, "retrain_epochs": 400},
    "default": {},
}
"""The sizes of `make all` (the Makefile has them, too: a test compares), and the default's."""
FOLDER = Path("build") / NAME


def measured(size: str, seed: int) -> dict[str, Any]:
    """The result of a search, and the processor time of its whole command."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    given = [word for name, value in SIZES[size].items() for word in (f"--{name.replace('_', '-')}", str(value))]
    command = [sys.executable, "-m", "fgnas.cli", "search", "--seed", str(seed), "--workers", "1", *given]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*command, "--json", "--quiet"], cwd=FOLDER, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return facts(json.loads(done.stdout)) | {"seconds": round(seconds, 1)}


def facts(best: dict[str, Any]) -> dict[str, Any]:
    """The accuracies of the hardware that best.json tells."""
    return {
        "validation": best["retrained_val"]["mean"],
        "test": best["delivered"]["quantised"]["test"],
        "test_of_seeds": best["retrained"]["quantised"]["test"]["mean"],
    }


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    rows = [{"size": key.split()[0], "seed": int(key.split()[1]), **row} for key, row in record.items()]
    rows.sort(key=lambda row: (list(SIZES).index(row["size"]), row["seed"]))
    means = {
        size: {
            name: float(np.mean([row[name] for row in rows if row["size"] == size]))
            for name in ("validation", "test", "test_of_seeds", "seconds")
        }
        for size in SIZES
    }
    counts = {size: sum(row["size"] == size for row in rows) for size in SIZES}
    return render(f"{NAME}.md", rows=rows, means=means, counts=counts, small=SIZES["small"])


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    record = read_record(NAME) if (RESULTS / f"{NAME}.json").is_file() else {}
    for seed in range(parser.parse_args().seeds):
        for size in SIZES:
            if (key := f"{size} {seed}") not in record:
                record[key] = measured(size, seed)
                write_record(NAME, record)
    write_page(f"{NAME}.md", page(record))


if __name__ == "__main__":
    main()
