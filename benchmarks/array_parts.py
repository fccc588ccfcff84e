"""Where an array's LUTs go, module by module, and engines that find nearest points beside the resource model.

`make bench-array-parts` runs it. Held-out engines are those of random networks of HGNAS's space. Every synthesis is
kept in the folder, so that an interrupted run continues where it stopped.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from array_area import measure
from hardware_model import NAMES, summary
from multiplier_array import source_of
from pages import read_record, render, write_page, write_record
from points_array import BEAT_BITS, LARGE, POINTS, integers_of
from points_array import UNITS as POINT_UNITS

from fgnas.backends.array import AnyOnEngine, write_rtl
from fgnas.backends.rtl import KERNEL
from fgnas.hardware.array.area import CHAIN
from fgnas.hardware.array.choosing import Room, fastest
from fgnas.hardware.array.engine import LANES, MOST_PLACES, Engine
from fgnas.hardware.array.points.encoded import PointArray, PointSource, lowered
from fgnas.hardware.array.resources import engine_resources
from fgnas.hardware.devices import FAMILIES
from fgnas.laboratory.array import BENCH, draw_finding, draw_points_array
from fgnas.laboratory.bench import Batch, code_digest
from fgnas.tasks.nodes import load
from fgnas.tools.synth import count_cells, synthesise, tidy

NAME = "array-parts"
COMMAND = "make bench-array-parts"
SEED = 41_126
ENGINES, UNITS = 8, range(1, 5)
"""Held-out engines, and units of each: larger ones take long to map."""
PLACES = (5, 10, 20, MOST_PLACES)
"""Places of the chains that are measured by themselves."""
MULTIPLIERS = 96
UNIT = "gen_unit["
"""In the path of what is a unit's."""


def of_cora() -> AnyOnEngine:
    """G-CoS's baseline on the fastest array of so many multipliers for Cora."""
    data = load("cora")
    return fastest(source_of(data), data, Room(MULTIPLIERS, BEAT_BITS))


def of_points() -> PointArray:
    """A network of points as searches find them, for large clouds."""
    integers = integers_of(LARGE["found-like"], np.random.default_rng(SEED))
    return lowered(PointSource(integers, POINTS), POINT_UNITS, BEAT_BITS).accelerator


ARRAYS: dict[str, Callable[[], AnyOnEngine]] = {
    "two layers of gcn with 16 hidden features, on Cora": of_cora,
    f"the found-like network of points, {POINTS:,} points": of_points,
}
"""The arrays whose modules are listed."""


@functools.cache
def held_out() -> tuple[PointArray, ...]:
    """Arrays of random networks of points, the smallest first; of every second one what it has for nearest points is
    random, too."""
    rng = np.random.default_rng(SEED)
    arrays = [draw_points_array(rng, UNITS) if place % 2 else draw_finding(rng, UNITS) for place in range(ENGINES)]
    return tuple(sorted(arrays, key=lambda one: one.engine.units))


def measured_parts(array: AnyOnEngine, family: str, folder: Path) -> list[dict[str, Any]]:
    """Every module of an array with its own cells, of all instances together: those with most LUTs first."""
    project = folder / "project"
    files = write_rtl(array, project)
    digest = code_digest(path.read_text(encoding="utf-8") for path in files if path.suffix == ".sv")
    place = folder / f"parts-{family}-{digest}.json"
    if not place.is_file():
        modules = synthesise(["-f", "files.f"], KERNEL, family, project / "rtl", project / "log", apart=True)["modules"]
        place.write_text(json.dumps(parts_of(modules, KERNEL)), encoding="utf-8")
    return list(json.loads(place.read_text(encoding="utf-8")))


def parts_of(modules: dict[str, Any], top: str) -> list[dict[str, Any]]:
    """The modules of a synthesised design as `measured_parts`; a module of units and of others is two."""
    found: dict[tuple[str, bool], dict[str, Any]] = {}
    for path, module in instances(modules, top):
        key = module.split("$")[0], UNIT in path
        part = found.setdefault(key, {"module": key[0], "of_unit": key[1], "instances": 0, **dict.fromkeys(NAMES, 0)})
        own = count_cells(modules[module]["cells"])
        part |= {name: part[name] + own[name] for name in NAMES} | {"instances": part["instances"] + 1}
    parts = [one | tidy({name: one[name] for name in NAMES}) for one in found.values()]
    return sorted((one for one in parts if any(one[name] for name in NAMES)), key=lambda one: -one["lut"])


def instances(modules: dict[str, Any], name: str, path: str = "") -> Iterator[tuple[str, str]]:
    """Path and module of everything from a module on."""
    yield path, name
    for instance, kind in modules[name]["instances"].items():
        yield from instances(modules, kind, f"{path}.{instance}")


def measured_array(name: str, family: str, folder: Path) -> dict[str, Any]:
    """The modules of an array, its units' parts mapped apart."""
    array = ARRAYS[name]()
    return {"name": name, "family": family, "engine": array.engine.summary(),
            "parts": measured_parts(array, family, folder)}  # fmt: skip


def measured_chains(family: str, folder: Path) -> list[dict[str, Any]]:
    """Chains by themselves, for the numbers and rows of the array of points."""
    array = of_points()
    own = array.engine.neighbours
    assert own is not None
    engines = [replace(array.engine, neighbours=replace(own, places=places)) for places in PLACES]
    points: tuple[AnyOnEngine, ...] = tuple(replace(array, engine=engine) for engine in engines)
    place = folder / f"chains-{family}-{BENCH.digest(CHAIN)}.json"
    if not place.is_file():
        with tempfile.TemporaryDirectory() as scratch:
            sizes = BENCH.synthesised(Batch(CHAIN, points), family, Path(scratch))
        key_bits = own.distance_bits(array.engine.bits) + array.engine.entry.place("index")[1]
        rows = [{"family": family, "places": places, "key_bits": key_bits, **tidy(size)}
                for places, size in zip(PLACES, sizes, strict=True)]  # fmt: skip
        place.write_text(json.dumps(rows), encoding="utf-8")
    return list(json.loads(place.read_text(encoding="utf-8")))


def record_of(chains: list[dict[str, Any]], rows: list[dict[str, Any]], arrays: list[dict[str, Any]]) -> dict[str, Any]:
    """The numbers of the page."""
    designs = [
        row | {"predicted": tidy(engine_resources(Engine.of(row["engine"]), row["family"]))} for row in rows
    ]
    families = [family for family in FAMILIES if any(row["family"] == family for row in designs)]
    summaries = {family: summary([row for row in designs if row["family"] == family]) for family in families}
    return {"command": COMMAND, "seed": SEED, "chains": chains, "summary": summaries, "designs": designs,
            "arrays": arrays}  # fmt: skip


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    arrays = [
        one | {"apart": {name: sum(part[name] for part in one["parts"]) for name in NAMES},
               "predicted": tidy(engine_resources(Engine.of(one["engine"]), one["family"]))}
        for one in record["arrays"]
    ]  # fmt: skip
    counts = {family: sum(row["family"] == family for row in record["designs"]) for family in record["summary"]}
    return render(f"{NAME}.md", **record | {"arrays": arrays}, counts=counts, tool=record["designs"][0]["tool"],
                  multipliers=[LANES * UNITS[0], LANES * UNITS[-1]], names=NAMES)  # fmt: skip


def main() -> None:
    """Synthesise what is missing, and write the page after each engine and array."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=ENGINES, help="held-out engines; default: %(default)s")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), help="default: %(default)s")
    parser.add_argument("--folder", type=Path, default=Path("build") / NAME, help="default: %(default)s")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    chains = [one for family in options.families for one in measured_chains(family, options.folder)]
    rows, arrays = list[dict[str, Any]](), list[dict[str, Any]]()

    def write() -> None:
        write_record(NAME, record_of(chains, rows, arrays))
        write_page(f"{NAME}.md", page(read_record(NAME)))

    for array, family in itertools.product(held_out()[: options.count], options.families):
        rows.append(measure(array, family, options.folder))
        write()
    for name in ARRAYS:
        arrays.append(measured_array(name, options.families[0], options.folder))
        write()


if __name__ == "__main__":
    main()
