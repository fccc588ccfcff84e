"""`python -m fgnas.laboratory pipeline|array`: measure the modules of a kind of hardware, and write its tables."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from rich.progress import MofNCompleteColumn, Progress, TaskID

from fgnas.hardware.devices import FAMILIES
from fgnas.laboratory import array, pipeline
from fgnas.laboratory.bench import Bench

BENCHES: dict[str, Bench[Any]] = {one.name: one for one in (pipeline.BENCH, array.BENCH)}
FOLDERS = {pipeline.BENCH.name: Path("build/characterisation"), array.BENCH.name: Path("build/characterisation-array")}


def main(arguments: list[str] | None = None) -> None:
    """Measure the families one after the other, with a progress bar."""
    parser = argparse.ArgumentParser(prog="python -m fgnas.laboratory", description=__doc__)
    parser.add_argument("kind", choices=list(BENCHES), help="of hardware")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), help="default: %(default)s")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes; default: %(default)s")
    parser.add_argument("--most", type=int, metavar="N", help="points of a module at most; default: all")
    parser.add_argument("--folder", type=Path, help="of the points; default: build/characterisation, with the kind")
    options = parser.parse_args(arguments)
    folder = options.folder or FOLDERS[options.kind]
    for family in options.families:
        with Progress(*Progress.get_default_columns(), MofNCompleteColumn()) as bar:
            task = bar.add_task(family, total=None)

            def show(done: int, total: int, bar: Progress = bar, task: TaskID = task) -> None:
                bar.update(task, completed=done, total=total)

            place = BENCHES[options.kind].characterise(family, folder, options.workers, show, options.most)
        print(place)


if __name__ == "__main__":
    main()
