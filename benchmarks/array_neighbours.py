"""Networks of points at random on random arrays: interpreter, machine reference, C++ and RTL, several on each build.

Networks are uniform draws of HGNAS's space, as a search sees them, with random weights, for clouds of 16 to 256 points
on a coarse grid: many distances are equal, and a third of the points coincide with others. The cycles of every phase of
the RTL are compared with the model. A network that the array refuses is a failure, and its message is recorded.
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from array_cpp import sources as cpp_sources
from common import Record
from memory import digest, digest_of_files
from pages import render, write_page

from fgnas.backends.array import SHARED, write_points, write_points_step
from fgnas.errors import UserError
from fgnas.fixedpoint import Codes
from fgnas.hardware.array import cycles, reference
from fgnas.hardware.array.engine import LANES, MOST_PLACES, Engine, joined
from fgnas.hardware.array.points.encoded import EncodedPoints, PointSource, lowered
from fgnas.hardware.array.programme import PORT_WIDTHS
from fgnas.hardware.specification import Specification
from fgnas.networks.points import training
from fgnas.networks.points.model import PointModel
from fgnas.networks.points.operations import LARGEST_WIDTH, TAILS, Aggregate, PointNetwork, Sample, Tail
from fgnas.networks.points.work import Cloud, widest
from fgnas.paths import templates_directory
from fgnas.systems.hgnas.integers import logits, network_of
from fgnas.systems.hgnas.space import point_space
from fgnas.tasks.points import GraphSet, of_clouds
from fgnas.tools.csim import run_bench
from fgnas.tools.simulate import run_simulation

NAME = "neighbours"
BUILD = Path(__file__).parent.parent / "build" / NAME
SEED = 251_125
ENGINES, NETWORKS = 40, 5
UNITS = (4, 8, 2, 6, 12, 3, 16, 5)
BITS = (8, 6, 8, 5, 9, 8, 4, 7)
POINTS = (16, 256)
MOST_CYCLES = 50_000
"""Limit of the cycles of a start; a network that takes more with one cloud is drawn again, and counted."""
TRAINED_ON, TESTED = 6, 2
"""Clouds that choose formats, and those that are run, one or both in a start."""
QUICKER = ("-O1",)
"""For g++: clouds are small, and a better build takes longer than it saves."""


@dataclass(frozen=True, eq=False)
class Case:
    """A network in integers with its clouds, and its programme.

    Attributes:
        network: its operations.
        data: the set of its clouds; clouds: [B, N, F] those that are run together.
        source: the integers; encoded: the regions that the host sends to an engine.
    """

    network: PointNetwork
    data: GraphSet
    clouds: Codes
    source: PointSource
    encoded: EncodedPoints

    def on(self, engine: Engine) -> Case:
        """The same on an engine that has all that it needs."""
        units, beat_bits = engine.units, engine.beat_bits
        return replace(self, encoded=lowered(self.source, units, beat_bits, engine).with_clouds(self.clouds))

    @property
    def interpreted(self) -> Codes:
        """[B, classes] logits of the interpreter."""
        given, _ = self.data.clouds("test")
        return logits(self.source.integers, given[: len(self.clouds)])


def clouds_of(rng: np.random.Generator, points: int, k: int) -> GraphSet:
    """Clouds on a coarse grid, of two to nine numbers a point; a third of the points coincide with others."""
    count, width = TRAINED_ON + 2 * TESTED, int(rng.integers(2, 10))
    made = rng.integers(-3, 4, (count, points, width)) / 4
    moved, stay = np.split(rng.permutation(points), [points // 3])
    made[:, moved] = made[:, rng.choice(stay, len(moved))]
    place = np.arange(count)
    masks = [place < TRAINED_ON, (place >= TRAINED_ON) & (place < TRAINED_ON + TESTED), place >= TRAINED_ON + TESTED]
    labels = place % int(rng.integers(2, min(count, 20) + 1))
    return replace(of_clouds("made", made, labels, masks), neighbours=k)


def weighted(network: PointNetwork, data: GraphSet, seed: int) -> PointModel:
    """Random weights, with statistics of the training clouds."""
    torch.manual_seed(seed)
    model = PointModel(network, data.width_in, data.classes)
    x, batch, _ = training.graphs_of(data, np.flatnonzero(data.train))
    with torch.no_grad():
        for _ in range(30):
            model(x, batch)
    return model.eval()


def drawn(rng: np.random.Generator) -> tuple[PointNetwork, GraphSet]:
    """A row of the space with a tail, and clouds; the widest rows that a search takes are among them."""
    points = int(np.exp(rng.uniform(*np.log(POINTS))).round())
    k = int(rng.integers(1, min(points, MOST_PLACES) + 1))
    data = clouds_of(rng, points, k)
    tails = (*TAILS.values(), Tail(int(rng.integers(8, 129)), (int(rng.integers(8, 65)),)))
    cloud = Cloud(points, data.width_in, k, data.classes)
    space = point_space(cloud, tails[int(rng.integers(len(tails)))])
    while True:
        network = space.candidate(space.draw(1, rng)[0]).network
        if widest(network.operations, data.width_in) <= LARGEST_WIDTH:
            return network, data


def case_of(rng: np.random.Generator, units: int, beat_bits: int, bits: int) -> Case:
    """A random network on the smallest engine. Raises UserError where the array refuses it."""
    network, data = drawn(rng)
    integers = network_of(weighted(network, data, int(rng.integers(1 << 31))), data, bits, passes=0)
    assert data.points is not None
    given, _ = data.clouds("test")
    source = PointSource(integers, data.points, network.hash, data.name)
    several = integers.number.quantise(given[: int(rng.integers(1, TESTED + 1))])
    encoded = lowered(source, units, beat_bits).with_clouds(several)
    if cycles.total_cycles(encoded) > MOST_CYCLES:
        several = several[:1]
    return Case(network, data, several, source, encoded.with_clouds(several))


@dataclass(frozen=True, eq=False)
class Drawn:
    """An engine with its networks, and the networks that were drawn but not used: messages of refusals, and how many
    take too long for RTL or have formats for which the engine has no shifts left."""

    engine: Engine
    cases: tuple[Case, ...]
    refusals: tuple[str, ...]
    longer: int
    others: int


def drawn_for(seed: int, number: int, networks: int = NETWORKS) -> Drawn:
    """Engine `number` of a seed."""
    rng = np.random.default_rng([seed, number])
    units, beat_bits = UNITS[number % len(UNITS)], PORT_WIDTHS[number % len(PORT_WIDTHS)]
    bits = BITS[number // len(UNITS) % len(BITS)]
    kept, refusals, longer, others = list[Case](), list[str](), 0, 0
    while len(kept) < networks:
        try:
            case = case_of(rng, units, beat_bits, bits)
        except UserError as error:
            refusals.append(str(error))
            continue
        if cycles.total_cycles(case.encoded) > MOST_CYCLES:
            longer += 1
            continue
        try:
            joined([one.encoded.engine for one in (*kept, case)])
        except UserError:
            others += 1
            continue
        kept.append(case)
    engine = extended(joined([one.encoded.engine for one in kept]), rng)
    return Drawn(engine, tuple(one.on(engine) for one in kept), tuple(refusals), longer, others)


def extended(engine: Engine, rng: np.random.Generator) -> Engine:
    """An engine with more than its networks need: places of a chain, indices, words of memories."""
    assert engine.neighbours is not None
    chain = engine.neighbours
    places, words = int(rng.integers(chain.places, MOST_PLACES + 1)), chain.words + int(rng.integers(64))
    more = replace(chain, places=places, words=words, root=chain.root or bool(rng.integers(2)))
    whole = engine.copy_banks
    return replace(
        engine, neighbours=more, table_words=engine.table_words + whole * int(rng.integers(16)),
        own_words=engine.own_words + int(rng.integers(32)), bias_words=engine.bias_words + int(rng.integers(8)),
    )  # fmt: skip


def measured(seed: int, number: int, folder: Path, networks: int = NETWORKS) -> dict[str, Any]:
    """Build an engine's RTL and C++ once, and run every network on both."""
    begun = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    made = drawn_for(seed, number, networks)
    engine, chain = made.engine, made.engine.neighbours
    assert chain is not None
    found = [ran(case, folder, place) for place, case in enumerate(made.cases)]
    log = (folder / "build" / "csim" / "compile.log").read_text(encoding="utf-8")
    return {
        "multipliers": engine.multipliers, "beat_bits": engine.beat_bits, "bits": engine.bits, "places": chain.places,
        "row_words": chain.row_words, "root": chain.root, "shifts": len(engine.shifts), "tiles": engine.tiles,
        "table_words": engine.table_words, "own_words": engine.own_words, "warnings": log.count("warning:"),
        "refusals": list(made.refusals), "longer": made.longer, "others": made.others, "networks": found,
        "seconds": round(time.monotonic() - begun),
    }  # fmt: skip


def ran(case: Case, project: Path, place: int) -> dict[str, Any]:
    """A network on what the project has built; the first one builds it."""
    work, folder = project / "build", project / f"network-{place}" if place else project
    made = [work / "sim" / "built", work / "csim" / "csim"]
    before = [path.stat().st_mtime_ns for path in made if path.is_file()]
    if place:
        write_points_step(case.encoded, folder, Specification())
    else:
        write_points(case.encoded, folder, Specification())
    found = reference.run(case.encoded)
    rtl = run_simulation(folder, project=project)
    cpp = run_bench(project, QUICKER, work / "csim", vectors=folder / "vectors")
    return described(case) | {
        "logits": rtl["logits"], "interpreter": int((found != case.interpreted).sum()),
        "rtl_mismatches": rtl["mismatches"], "protocol_errors": rtl["protocol_errors"], "status": rtl["status"],
        "cycles": rtl["cycles"], "cycle_difference": rtl["cycle_difference"], "phases": len(rtl["phases"]),
        "phase_differences": rtl["phase_differences"], "cpp_mismatches": cpp["mismatches"],
        "failed_checks": cpp["failed_checks"], "different_logits": len(np.unique(found)),
        "built": before != [path.stat().st_mtime_ns for path in made],
    }  # fmt: skip


def described(case: Case) -> dict[str, Any]:
    """A random case in plain values, for the record."""
    tail = case.network.tail
    words = [" ".join(map(str, vars(one).values())) for one in case.network.operations]
    return {
        "points": case.data.points, "neighbours": case.data.neighbours, "width": case.data.width_in,
        "classes": case.data.classes, "clouds": len(case.clouds), "operations": words,
        "widest": widest(case.network.operations, case.data.width_in), "tail": [tail.embedding, *tail.hidden],
        "properties": sorted(set(properties(case))),
    }  # fmt: skip


def properties(case: Case) -> Iterator[str]:
    """Yield the properties of a case in words: operations, points, clouds in a start, neighbours and widest rows."""
    for one in case.network.operations:
        match one:
            case Aggregate():
                yield from (f"message {one.message}", f"reducer {one.reducer}")
            case Sample():
                yield f"sample {one.function}"
            case _:
                yield one.KIND
    assert case.data.points is not None
    first = 1 << (case.data.points.bit_length() - 1)
    yield f"{first:3} to {2 * first - 1} points"
    yield f"{len(case.clouds)} clouds in a start" if len(case.clouds) > 1 else "a cloud in a start"
    if case.data.neighbours > 16:
        yield "more than 16 neighbours"
    if widest(case.network.operations, case.data.width_in) > 15 * LANES:
        yield "rows of more than 120 numbers"


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    builds = [record[key] for key in record["shown"]]
    networks = [network for one in builds for network in one["networks"]]
    counted = Counter(name for one in networks for name in one["properties"])
    return render(f"{NAME}.md", builds=builds, networks=networks, drawn=dict(sorted(counted.items())),
                  seed=record["seed"], most=MOST_CYCLES, points=POINTS, places=MOST_PLACES)  # fmt: skip


COMPARED = (
    *(f"hardware/array/{name}.py" for name in ("cycles", "engine", "issue", "packing", "programme", "reference")),
    "hardware/array/points", "hardware/integer", "systems/hgnas/integers.py", "systems/hgnas/space.py",
)  # fmt: skip
"""The code that decides what networks are drawn, what an array reads, what it answers and when."""


def version(seed: int) -> str:
    """A digest of the RTL, of the C++, and of what is compared with them."""
    templates = templates_directory()
    files = [*(templates / "rtl" / f"{name}.sv" for name in SHARED), *sorted((templates / "rtl" / "array").iterdir())]
    return f"{digest(COMPARED)} {digest_of_files([*files, *cpp_sources(), Path(__file__)])[:12]} {seed}"


def shown(results: dict[str, Any]) -> Sequence[str]:
    """The engines that are there."""
    return [one for one in results if one.startswith("engine")]


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=ENGINES, help="engines; default: %(default)s")
    parser.add_argument("--seed", type=int, default=SEED, help="of the draws; default: %(default)s")
    options = parser.parse_args()
    record = Record(NAME, version(options.seed))
    record.note(seed=options.seed)
    for number in range(options.count):
        key = f"engine {number:02}"
        folder = BUILD / key.replace(" ", "-")
        record.fill(key, lambda number=number, folder=folder: measured(options.seed, number, folder))  # type: ignore[misc]
        record.note(shown=shown(record.results))
        shutil.rmtree(folder, ignore_errors=True)
        write_page(f"{NAME}.md", page(record.results))


if __name__ == "__main__":
    main()
