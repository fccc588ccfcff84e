"""Random designs through an open HLS compiler: bambu's Verilog of the C++ on the whole of Cora, beside the reference.

The designs, their weights and their order are those of every_design.py. A design whose C++ and vectors equal those of
an earlier run is not measured again. Without bambu on PATH the script says so and measures nothing.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from common import Record
from every_design import COUNT, DATASET, EPOCHS, SEED, layers_of, shortest, trained
from memory import digest_of_files
from pages import render, write_page

from fgnas import api
from fgnas.errors import UserError
from fgnas.tasks.nodes import load
from fgnas.tools.bambu import run_bambu
from fgnas.tools.find import find_bambu

BUILD = Path(__file__).parent.parent / "build" / "open-compiler"
DESIGNS = 10


def digest_of(project: Path) -> str:
    """A digest of the C++ and the vectors of a project."""
    return digest_of_files(path for folder in ("src", "vectors") for path in sorted((project / folder).iterdir()))[:12]


def measure(design: api.Design, directory: Path) -> dict[str, Any]:
    """Compile and simulate one design; with the reason where bambu or its kernel fails."""
    described = {"hash": design.hash, "layers": layers_of(design.to_dict())}
    try:
        return described | run_bambu(directory)
    except UserError as error:
        return described | {"error": str(error).replace(str(directory), "the project")}


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    designs = [record[key] for key in record["shown"]]
    return render("bambu.md", designs=designs, of=COUNT, seed=SEED, dataset=DATASET, epochs=EPOCHS)


def main() -> None:
    """Measure the shortest designs of the sample, the shortest first, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=DESIGNS, help="number of designs; default: %(default)s")
    options = parser.parse_args()
    try:
        find_bambu()
    except UserError as error:
        print(error)
        return
    data = load(DATASET)
    record = Record("bambu", "by project")
    shown: list[str] = []
    for design in shortest(options.count, data):
        lowered = trained(design, data).lower(data)
        directory = lowered.write(BUILD / design.hash, compiler="bambu").directory
        key = f"{design.hash} {digest_of(directory)}"
        found = record.fill(key, lambda design=design, at=directory: measure(design, at))  # type: ignore[misc]
        shown.append(key)
        verdict = found["error"] if "error" in found else f"{found['mismatches']} mismatches"
        print(f"{design.hash}: {verdict}", flush=True)
    record.note(shown=shown)
    write_page("bambu.md", page(record.results))


if __name__ == "__main__":
    main()
