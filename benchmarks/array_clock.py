"""Clocks of the multiplier array, placed and routed on an ECP5, with what bounds them.

A project is routed from several seeds, and every seed's result stays in its folder, so that an interrupted run
continues where it stopped.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from multiplier_array import design, lowered, source_of
from pages import read_record, render, write_page, write_record
from points_array import LARGE, integers_of

from fgnas import progress
from fgnas.backends.array import AnyOnEngine, write_rtl
from fgnas.backends.rtl import KERNEL
from fgnas.hardware.array.choosing import Room, fastest
from fgnas.hardware.array.cycles import total_cycles
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.layers import ArrayNetwork
from fgnas.hardware.array.points import encoded as points
from fgnas.hardware.array.resources import engine_resources
from fgnas.laboratory.bench import code_digest
from fgnas.tasks.nodes import GraphData, load
from fgnas.tools.synth import run_yosys
from fgnas.tools.timing import SPEEDS, TARGET_MHZ, place_and_route, read_report

NAME = "array-clock"
FOLDER = Path(__file__).parent.parent / "build" / NAME
SEEDS = 3
SEED = 41_126
POINTS = 256
"""Of the clouds whose nearest points are found."""


Made = tuple[AnyOnEngine, int | None]
"""An array, and its cycles on the graph that it was chosen for; None of clouds."""


def plain(multipliers: int, dataset: str, beat_bits: int, **limits: float) -> Made:
    """Two layers of gcn with 16 hidden features on the fastest array of so many multipliers."""
    data = load(dataset)
    return chosen(source_of(data), data, Room(multipliers, beat_bits, limits))


def gat(multipliers: int, dataset: str) -> Made:
    """Two layers of gat, of two heads of 8 features and of one head."""
    data, like = load(dataset), design()
    scored = {"attention": "gat", "t_attn": 1}
    layers = (like.layers[0].model_copy(update={"k": 2, "d": 8, **scored}), like.layers[1].model_copy(update=scored))
    source = lowered(like.model_copy(update={"layers": layers}), data, np.random.default_rng(0))
    return chosen(source, data, Room(multipliers))


def chosen(source: ArrayNetwork, data: GraphData, room: Room) -> Made:
    """The fastest array of a network."""
    array = fastest(source, data, room)
    return array, total_cycles(encode_array(array, data))


def neighbours(units: int) -> Made:
    """A network of points as searches find them, with the nearest points of each."""
    integers = integers_of(LARGE["found-like"], np.random.default_rng(SEED))
    return points.lowered(points.PointSource(integers, POINTS), units, 128).accelerator, None


ARRAYS: dict[str, Callable[[], Made]] = {
    "gcn, 16 multipliers, digits": lambda: plain(16, "digits", 128),
    "gcn, 16 multipliers, Cora": lambda: plain(16, "cora", 128),
    "gat, 16 multipliers, Cora": lambda: gat(16, "cora"),
    f"nearest points, 16 multipliers, {POINTS} points": lambda: neighbours(2),
    "gcn, 64 multipliers, Cora": lambda: plain(64, "cora", 128),
    "gcn, 64 multipliers, tables shared, Cora, port of 512 bits": lambda: plain(64, "cora", 512, bram36=70),
}
"""The arrays, those that are routed soonest first."""


def measured(name: str, seeds: int) -> dict[str, Any]:
    """An array with the clocks and the critical paths of so many seeds."""
    (array, cycles), begun = ARRAYS[name](), time.monotonic()
    scratch = FOLDER / name.replace(" ", "-").replace(",", "")
    files = write_rtl(array, scratch)
    digest = code_digest(path.read_text(encoding="utf-8") for path in files if path.suffix == ".sv")
    netlist = scratch / f"{digest}.json"
    if not netlist.is_file():
        job = {"files": ["-f", "files.f"], "top": KERNEL, "kind": "netlist", "netlist": str(netlist)}
        run_yosys(job, scratch / "rtl", scratch / "synth.log")
    found = []
    for seed in range(1, seeds + 1):
        result = scratch / f"{digest}-{seed}.json"
        if not result.is_file():
            with progress.step(f"place and route {name}, seed {seed}"):
                place_and_route(netlist, result, scratch / f"{digest}-{seed}.log", seed, SPEEDS[0])
        found.append(read_report(json.loads(result.read_text(encoding="utf-8"))))
    best = max(found, key=lambda one: one["fmax_mhz"])
    return {"name": name, "engine": array.engine.summary(), "fmax_of_seeds": [one["fmax_mhz"] for one in found],
            "path": best["critical_path"], "utilisation": best["utilisation"], "cycles": cycles,
            "lut": engine_resources(array.engine)["lut"], "seconds": round(time.monotonic() - begun)}  # fmt: skip


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    rows = [one | {"best": max(one["fmax_of_seeds"]), "ends": [ends(one["path"][0]), ends(one["path"][-1])]}
            for one in record["arrays"]]  # fmt: skip
    return render(f"{NAME}.md", arrays=rows, target=TARGET_MHZ, speed=SPEEDS[0])


def ends(step: dict[str, Any]) -> str:
    """The instance and signal of a step of a path, without the units' numbers."""
    return f"{step['instance'].rpartition('.')[2] or KERNEL}.{step['signal']}"


def main() -> None:
    """Route what is missing, and write the page after each array."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="default: %(default)s")
    parser.add_argument("--rows", type=int, nargs="+", default=list(range(len(ARRAYS))), help="default: all")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    names = list(ARRAYS)
    for row in options.rows:
        one = measured(names[row], options.seeds)
        try:
            kept = {old["name"]: old for old in read_record(NAME)["arrays"]}
        except FileNotFoundError:
            kept = {}
        kept[names[row]] = one
        write_record(NAME, {"arrays": [kept[name] for name in names if name in kept]})
        write_page(f"{NAME}.md", page(read_record(NAME)))


if __name__ == "__main__":
    main()
