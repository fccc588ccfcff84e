"""Measured points of a characterisation: a file for each module, a point a line, which an interrupted run continues."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, TypeVar

Batch = TypeVar("Batch")
Progress = Callable[[int, int], None]
"""Called with the number of finished batches and the total."""


def place_of(folder: Path, family: str, module: str, digest: str) -> Path:
    """The file of a module's sizes; a changed source, which the digest names, has a file of its own."""
    return folder / family / f"{module}-{digest}.jsonl"


def read(place: Path) -> list[dict[str, Any]]:
    """The points in a file; none where there is no file."""
    if not place.is_file():
        return []
    return [json.loads(line) for line in place.read_text(encoding="utf-8").splitlines()]


def table(place: Path) -> dict[str, Any]:
    """A family's table of coefficients; empty if there is none."""
    return json.loads(place.read_text(encoding="utf-8")) if place.is_file() else {}


def append(place: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Add points to a file."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("a", encoding="utf-8") as output:
        output.writelines(json.dumps(row) + "\n" for row in rows)


def measure_all(
    batches: Sequence[Batch], measure: Callable[[Batch], None], workers: int, progress: Progress
) -> None:
    """Measure batches in so many threads; the first error ends it."""
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(measure, batch) for batch in batches]
        for done, future in enumerate(as_completed(futures), 1):
            if future.exception():
                pool.shutdown(cancel_futures=True)
            future.result()
            progress(done, len(batches))
