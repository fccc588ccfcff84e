"""Compare the array's resource model with synthesis of whole engines that it was not fitted to.

`make bench-array-area` runs it. Engines are drawn as those that the modules were measured on, with another seed. Every
synthesis is kept in the folder, so that an interrupted run continues where it stopped.
"""

from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
from hardware_model import NAMES, figure, summary
from pages import read_record, render, write_page, write_record

from fgnas.backends.array import AnyOnEngine, write_rtl
from fgnas.backends.rtl import KERNEL
from fgnas.hardware.array.engine import LANES, Engine
from fgnas.hardware.array.lowering import ArrayAccelerator
from fgnas.hardware.array.resources import engine_resources
from fgnas.hardware.devices import FAMILIES
from fgnas.laboratory.array import draw_array, draw_sharing
from fgnas.laboratory.bench import code_digest
from fgnas.tools.synth import instance_totals, synthesise, tidy

SEED = 4242
ENGINES = 20
ATTENDING = 5
"""One in this many engines has attention with scores."""
MOST_UNITS = 24
"""Units of the engines: larger ones take long to map."""
SHARING = (2, 4, 8, 4, 2, 16)
"""Units that share a table in each further engine, which has FEW_UNITS at most, or as many as share."""
SHARING_SEED = 4243
FEW_UNITS = 8
COMMAND = "make bench-array-area"
NAME = "multiplier-array-area"


def held_out() -> list[ArrayAccelerator]:
    """Arrays with random engines, none of which is among the points that the modules were measured on; every fifth has
    attention with scores, and units of the last, one for each of SHARING, share tables."""
    rng, found = np.random.default_rng(SEED), []
    while len(found) < ENGINES:
        array = draw_array(rng, attending=len(found) % ATTENDING == ATTENDING - 1)
        if array.engine.units <= MOST_UNITS:
            found.append(array)
    further = np.random.default_rng(SHARING_SEED)
    return found + [draw_sharing(further, shared, max(FEW_UNITS, shared)) for shared in SHARING]


def measure(array: AnyOnEngine, family: str, folder: Path) -> dict[str, Any]:
    """Synthesised resources of a whole engine."""
    project = folder / "project"
    files = write_rtl(array, project)
    digest = code_digest(path.read_text(encoding="utf-8") for path in files if path.suffix == ".sv")
    place = folder / f"{family}-{digest}.json"
    if not place.is_file():
        result = synthesise(["-f", "files.f"], KERNEL, family, project / "rtl", project / "log")
        total = instance_totals(result["modules"], KERNEL)[KERNEL]
        row = {"tool": result["version"], "synthesised": {name: total[name] for name in NAMES}}
        place.write_text(json.dumps(row), encoding="utf-8")
    return {"engine": array.engine.summary(), "family": family, **json.loads(place.read_text(encoding="utf-8"))}


def record_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The numbers of the page: every engine as synthesised and as predicted."""
    designs = [
        row | {"predicted": tidy(engine_resources(Engine.of(row["engine"]), row["family"]))} for row in rows
    ]
    families = [family for family in FAMILIES if any(row["family"] == family for row in designs)]
    summaries = {family: summary([row for row in designs if row["family"] == family]) for family in families}
    return {"command": COMMAND, "seed": SEED, "tool": rows[0]["tool"], "summary": summaries, "designs": designs}


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    designs = record["designs"]
    counts = {family: sum(row["family"] == family for row in designs) for family in record["summary"]}
    return render(
        f"{NAME}.md", command=record["command"], seed=record["seed"], tool=record["tool"], summary=record["summary"],
        counts=counts, drawn=ENGINES, most=LANES * MOST_UNITS, designs=designs,
        attending=any("softmax" in one["engine"] for one in designs),
        sharing=any("shared" in one["engine"] for one in designs), further=len(SHARING), further_seed=SHARING_SEED,
    )  # fmt: skip


def main() -> None:
    """Synthesise what is missing, and write the page after each engine."""
    parser = argparse.ArgumentParser(description=__doc__)
    every = ENGINES + len(SHARING)
    parser.add_argument("--count", type=int, default=every, help="engines that are synthesised; default: %(default)s")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), help="default: %(default)s")
    parser.add_argument("--folder", type=Path, default=Path("build") / NAME, help="default: %(default)s")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for array, family in itertools.product(held_out()[: options.count], options.families):
        rows.append(measure(array, family, options.folder))
        print(f"{len(rows)}/{options.count * len(options.families)}", flush=True)
        write_record(NAME, record_of(rows))
    write_page(f"{NAME}.md", page(read_record(NAME)))
    write_page(f"{NAME}.svg", figure(read_record(NAME)))


if __name__ == "__main__":
    main()
