"""Networks of points at 1,024 points, whole on the array: one as searches find them, and DGCNN.

Weights are random: cycles depend on shapes alone. The logits of the machine reference are compared with the
interpreter's, those of the RTL with the reference's, and its cycles with the model's.
"""

from __future__ import annotations

import argparse
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from array_random import version
from common import Record
from pages import render, write_page

from fgnas.backends.array import write_points
from fgnas.hardware.array import cycles, reference
from fgnas.hardware.array.points.encoded import PointSource, lowered
from fgnas.hardware.integer.network import IntegerNetwork
from fgnas.hardware.specification import Specification
from fgnas.networks.points.baselines import BASELINES
from fgnas.networks.points.model import PointModel
from fgnas.networks.points.operations import (
    TAILS,
    Aggregate,
    Combine,
    Operation,
    PointNetwork,
    Sample,
)
from fgnas.networks.points.training import graphs_of
from fgnas.networks.scaled import logits
from fgnas.systems.hgnas.integers import network_of
from fgnas.tasks.points import GraphSet, of_clouds
from fgnas.tools.simulate import run_simulation

NAME = "points-array"
BUILD = Path(__file__).parent.parent / "build" / NAME
SEED = 251_125
CALIBRATED, CLASSES = 64, 40
"""Points of the clouds that choose formats, and classes of made clouds."""
FOUND: tuple[Operation, ...] = (
    Sample("nearest"), Aggregate("max", "source-relative"), Combine(32), Aggregate("max", "relative"), Combine(64),
    Combine(128),
)  # fmt: skip
"""A network as searches find them."""
LARGE = {
    "found-like": PointNetwork(FOUND, TAILS["middle"]),
    "DGCNN with the same tail": PointNetwork(BASELINES["dgcnn-fused"](), TAILS["middle"]),
    "DGCNN": PointNetwork(BASELINES["dgcnn-fused"](), TAILS["paper"]),
}
POINTS, WIDTH, NEIGHBOURS, UNITS, BEAT_BITS, CLOCK_MHZ = 1024, 3, 20, 8, 512, 100


def made_clouds(rng: np.random.Generator) -> GraphSet:
    """Small clouds on a coarse grid."""
    place = np.arange(2 * CLASSES)
    made = rng.integers(-6, 7, (len(place), CALIBRATED, WIDTH)) / 4
    return replace(of_clouds("made", made, place % CLASSES, [place < CLASSES, *2 * [place >= CLASSES]]),
                   neighbours=NEIGHBOURS)  # fmt: skip


def integers_of(network: PointNetwork, rng: np.random.Generator) -> IntegerNetwork:
    """The integers of a network with random weights; small clouds choose its formats."""
    data = made_clouds(rng)
    torch.manual_seed(int(rng.integers(1 << 31)))
    model = PointModel(network, WIDTH, CLASSES)
    x, batch, _ = graphs_of(data, np.flatnonzero(data.train))
    with torch.no_grad():
        for _ in range(30):  # statistics of the norms
            model(x, batch)
    found = network_of(model.eval(), data, 8, 0)
    steps = tuple(
        replace(one, operation=replace(one.operation, points=POINTS))  # type: ignore[call-arg]
        if hasattr(one.operation, "points") else one for one in found.steps
    )  # fmt: skip
    return IntegerNetwork(found.width_in, found.number, steps)


def run(name: str, seed: int, simulated: bool) -> dict[str, Any]:
    """Lower a network and run it, in RTL, too, where it is asked for."""
    network = LARGE[name]
    rng, begun = np.random.default_rng(seed), time.monotonic()
    integers = integers_of(network, rng)
    encoded = lowered(PointSource(integers, POINTS, "large", "made"), UNITS, BEAT_BITS)
    given = (rng.integers(-6, 7, (1, POINTS, WIDTH)) / 4).astype(np.float32)
    encoded = encoded.with_clouds(integers.number.quantise(given))
    wanted = logits(integers, given)
    found: dict[str, Any] = {
        "predicted": cycles.total_cycles(encoded), "logits": wanted.size,
        "mismatches": int((reference.run(encoded) != wanted).sum()), "descriptors": len(encoded.programme),
        "table_words": encoded.engine.table_words, "own_words": encoded.engine.own_words,
        "busy": sum(encoded.multiplications) / encoded.engine.multipliers / cycles.total_cycles(encoded),
    }  # fmt: skip
    if simulated:
        folder = BUILD / name.replace(" ", "-")
        shutil.rmtree(folder, ignore_errors=True)
        write_points(encoded, folder, Specification())
        rtl = run_simulation(folder)
        shutil.rmtree(folder)
        found |= {"rtl_mismatches": rtl["mismatches"], **{one: rtl[one] for one in ("cycles", "cycle_difference")}}
    return found | {"seconds": round(time.monotonic() - begun)}


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    large = [{"name": name, **record[name]} for name in LARGE if name in record]
    return render(f"{NAME}.md", large=large, points=POINTS, neighbours=NEIGHBOURS, multipliers=8 * UNITS,
                  beat_bits=BEAT_BITS, classes=CLASSES, clock=CLOCK_MHZ)  # fmt: skip


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED, help="of weights and clouds; default: %(default)s")
    parser.add_argument("--rows", default=",".join(LARGE), help="networks that run in RTL, too; default: %(default)s")
    options = parser.parse_args()
    record = Record(NAME, f"{version()} {options.seed}")
    for name in LARGE:
        simulated = name in options.rows.split(",")
        if simulated and "cycles" not in record.results.get(name, {}):
            print(name, flush=True)
            record.note(**{name: run(name, options.seed, simulated=True)})
        record.fill(name, lambda name=name: run(name, options.seed, simulated=False))  # type: ignore[misc]
    write_page(f"{NAME}.md", page(record.results))  # it names all three networks


if __name__ == "__main__":
    main()
