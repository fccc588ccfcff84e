"""The C++ of the multiplier array on whole graphs: random networks, several on each build, against the reference.

A build is one engine, which several networks share; each runs the whole graph twice, and the programmes and streams
that the kernel must refuse.
"""

from __future__ import annotations

import argparse
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common import Record
from memory import digest_of_files
from multiplier_array import RANDOM, SEED, has_wide_heads, lowered
from pages import render, write_page

from fgnas.backends.array import SHARED_HEADERS, write_project, write_vectors
from fgnas.errors import UserError
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.engine import LANES, Engine, joined, table_banks
from fgnas.hardware.array.lowering import ArrayAccelerator
from fgnas.hardware.array.placing import fit
from fgnas.hardware.array.programme import PORT_WIDTHS
from fgnas.paths import templates_directory
from fgnas.systems.fgnas.space import find_space
from fgnas.tasks.nodes import GraphData, load
from fgnas.tools.csim import run_bench, run_csim

BUILD = Path(__file__).parent.parent / "build" / "array-cpp"
UNITS = (4, 8, 12, 16, 32)
"""Units of the builds, one after the other; so do the widths of the port."""
TOGETHER = 6
"""Networks of a build, where an engine can have as many modes and shifts."""
NAME = "multiplier-array-cpp"


@dataclass(frozen=True)
class Build:
    """An engine with the networks that it runs, by number; `layers` describes each."""

    engine: Engine
    numbers: tuple[int, ...]
    arrays: tuple[ArrayAccelerator, ...]
    layers: tuple[str, ...]


def builds(data: GraphData, count: int, first: int) -> list[Build]:
    """`count` random networks of FGNAS's space that the array runs, in builds of TOGETHER at most; the sizes of the
    builds begin with pair `first` of UNITS and PORT_WIDTHS."""
    found: list[Build] = []
    while (begun := sum(len(one.numbers) for one in found)) < count:
        place = first + len(found)
        units, beat_bits = UNITS[place % len(UNITS)], PORT_WIDTHS[place % len(PORT_WIDTHS)]
        found.append(_build(data, range(begun, min(count, begun + TOGETHER)), units, beat_bits))
    return found


def _build(data: GraphData, numbers: range, units: int, beat_bits: int) -> Build:
    """As many of the networks with these numbers as one engine takes, and that engine."""
    engine: Engine | None = None
    kept: list[tuple[int, ArrayAccelerator, str]] = []
    for number in numbers:
        array, layers = random_array(data, number, units, beat_bits)
        try:
            wider = joined([engine, array.engine]) if engine else array.engine
        except UserError:
            break  # more modes or shifts than an engine has
        engine = wider
        kept.append((number, array, layers))
    assert engine is not None
    numbered, arrays, layers = zip(*kept, strict=True)
    return Build(engine, numbered, tuple(array.on(engine) for array in arrays), layers)


def random_array(data: GraphData, number: int, units: int, beat_bits: int) -> tuple[ArrayAccelerator, str]:
    """Random network `number` on so many units that write as much of H a cycle as they can; its layers in words."""
    rng, space = np.random.default_rng([SEED, number]), find_space("fgnas")
    while True:
        chosen = space.design(space.draw(1, rng)[0], 0)
        source = lowered(chosen, data, rng)
        if has_wide_heads(source):
            continue
        try:
            array = fit(source, data, Arrangement(units, beat_bits=beat_bits, results=table_banks(beat_bits)))
        except UserError:
            continue  # its weights or rows exceed a unit's memories
        words = (f"{one.attention} {one.aggregation} {one.k} × {one.d or data.classes}" for one in chosen.layers)
        return array, "; ".join(words)


def measured(data: GraphData, build: Build, directory: Path) -> dict[str, Any]:
    """Compile the engine once, and run every network on it."""
    shutil.rmtree(directory, ignore_errors=True)
    networks = []
    for number, array, layers in zip(build.numbers, build.arrays, build.layers, strict=True):
        if not networks:
            write_project(array, data, directory)
            report = run_csim(directory)
        else:
            vectors = directory / f"vectors-{number}"
            write_vectors(encode_array(array, data), vectors)
            report = run_bench(directory, (), directory / "build" / "csim", vectors=vectors)
        wanted = ("logits", "mismatches", "failed_checks")
        networks.append({"layers": layers, **{name: report[name] for name in wanted}})
    warnings = (directory / "build" / "csim" / "compile.log").read_text(encoding="utf-8").count("warning:")
    engine = build.engine
    return {
        "dataset": data.name, "multipliers": engine.multipliers, "beat_bits": engine.beat_bits,
        "results": engine.results, "modes": len(engine.modes), "shifts": len(engine.shifts), "tiles": engine.tiles,
        "bits": engine.bits, "warnings": warnings, "networks": networks,
    }  # fmt: skip


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    shown = [record[key] for key in record["shown"]]
    networks = [network for build in shown for network in build["networks"]]
    return render("multiplier-array-cpp.md", builds=shown, networks=networks, seed=SEED, lanes=LANES)


def version() -> str:
    """A digest of the C++ and of what makes it."""
    return digest_of_files(sources())[:12]


def sources() -> list[Path]:
    """The C++ and what makes it."""
    templates = templates_directory()
    own = [*sorted((templates / "array" / "src").iterdir()), templates / "array" / "tb" / "testbench.cpp.j2"]
    return [*own, *(templates / "hls" / "src" / name for name in SHARED_HEADERS)]


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, help="networks of each graph at most; default: all")
    options = parser.parse_args()
    record, shown = Record(NAME, version()), []
    for first, (dataset, count) in enumerate(RANDOM.items()):
        data = load(dataset)
        for build in builds(data, min(count, options.count or count), first * len(UNITS)):
            key = f"{dataset} {build.numbers[0]} to {build.numbers[-1]}"
            directory = BUILD / key.replace(" ", "-")
            record.fill(key, lambda data=data, build=build, directory=directory: measured(data, build, directory))  # type: ignore[misc]
            shown.append(key)
    record.note(shown=shown)
    write_page(f"{NAME}.md", page(record.results))


if __name__ == "__main__":
    main()
