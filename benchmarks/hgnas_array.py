"""HGNAS for the multiplier array: networks found for it run whole in RTL; networks found for it, for one thread and
for two threads of this processor, each on all three.

`make bench-hgnas-array` runs it. Runs are in build/hgnas and continue; processors are those of
benchmarks/predictors.py, measured first where they are not.
"""

from __future__ import annotations

import argparse
import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hgnas
import numpy as np
from common import Record, interval, listed
from memory import digest
from pages import read_record, render, write_page
from predictors import FIRST, SECOND

import fgnas
from fgnas.api import Run
from fgnas.hardware.measured.device import LATENCY
from fgnas.networks.points.baselines import baseline
from fgnas.networks.points.operations import TAILS, PointNetwork
from fgnas.networks.points.work import multiplications
from fgnas.systems.hgnas import Options

NAME = "hgnas-array"
CODE = (*hgnas.CODE, "hardware/array/points")
SEEDS = 5
MULTIPLIERS, CLOCK_MHZ, BITS, MICROSECONDS = 64, 100, 8, 120
ARRAY = "array"
DEVICES = {FIRST: "one thread", SECOND: "two threads", ARRAY: "the array"}
"""Devices for which networks are found, in words."""
PARTS = ("found", "rtl", "priced")
FUSED = baseline("dgcnn-fused", TAILS["small"])


def found(device: str, seed: int) -> Run:
    """The search of a seed for a device, with the default budget, continued where it was stopped."""
    if device != ARRAY:
        return hgnas.search(f"{'found' if device == FIRST else device}-{seed}", device, seed=seed)
    return hgnas.continued(f"{ARRAY}-{seed}", lambda: Options(
        target=ARRAY, seed=seed, multipliers=MULTIPLIERS, bits=BITS, latency_ms=MICROSECONDS / 1000,
    ))  # fmt: skip


def searched(device: str, seed: int) -> dict[str, Any]:
    """The delivered network of a search: costs, accuracies, operations; and processor seconds."""
    begun = hgnas.processor_seconds()
    best = found(device, seed).best
    seconds = hgnas.processor_seconds() - begun
    return {
        "costs": best["costs"], "val": best["retrained_val"]["values"],
        "test": best["retrained"]["float"]["test"]["values"], "delivered": best["delivered"],
        "operations": listed(best), "cpu_s": seconds,
    }  # fmt: skip


def simulated(seed: int) -> dict[str, Any]:
    """The delivered network of a search for the array, whole in RTL."""
    with tempfile.TemporaryDirectory() as scratch:
        result = found(ARRAY, seed).write(Path(scratch) / "project").simulate()
    return {name: result[name] for name in ("mismatches", "cycles", "cycle_difference", "status")}


def on_each(device: str, seed: int) -> dict[str, dict[str, float]]:
    """Cost of one cloud in the network that was found for a device: now on one and two threads, and on the array."""
    run = found(device, seed)
    cycles = fgnas.price_on_array(run.folder / "best.json", multipliers=MULTIPLIERS, bits=BITS)["latency_cycles"]
    return on_threads(PointNetwork.from_dict(run.best["design"])) | {ARRAY: cost(cycles / CLOCK_MHZ, cycles / least())}


def on_threads(network: PointNetwork) -> dict[str, dict[str, float]]:
    """Cost of one cloud now, on one and on two threads of this processor."""
    times = {threads: hgnas.timed(network, threads) for threads in (FIRST, SECOND)}
    return {threads: cost(1000 * one["ms"], one["share"]) for threads, one in times.items()}


def cost(microseconds: float, share: float) -> dict[str, float]:
    """Time of one cloud, and what a search weighs against accuracy: its share of fused DGCNN's time on the device."""
    return {"us": microseconds, "share": share}


def least() -> float:
    """The least cycles of fused DGCNN on the array: shares of a search for it are of them."""
    return multiplications(FUSED, hgnas.device(FIRST).device().cloud) / MULTIPLIERS


def measured(threads: str) -> dict[str, float]:
    """How wrong a device's predictor is on networks that it has not seen, and how far one round is from another."""
    verdict = hgnas.device(threads).verdict()
    assert verdict.floor is not None
    held = verdict.held_out[LATENCY][verdict.chosen[LATENCY]]
    return {"error": held.mape, "floor": verdict.floor.mape}


def jobs(parts: list[str], devices: list[str], seeds: range) -> list[tuple[str, Callable[[], dict[str, Any]]]]:
    """The name of every result, and what makes it."""
    pairs = [(device, seed) for seed in seeds for device in devices]
    listed: list[tuple[str, Callable[[], dict[str, Any]]]] = []
    if "found" in parts:
        listed += [(f"found {device} {seed}", functools.partial(searched, device, seed)) for device, seed in pairs]
    if "rtl" in parts:
        listed += [(f"rtl {seed}", functools.partial(simulated, seed)) for seed in seeds]
    if "priced" in parts:
        listed += [(f"device {threads}", functools.partial(measured, threads)) for threads in (FIRST, SECOND)]
        listed += [("priced reference", functools.partial(on_threads, FUSED))]
        listed += [(f"priced {device} {seed}", functools.partial(on_each, device, seed)) for device, seed in pairs]
    return listed


def page(results: dict[str, Any]) -> str:
    """The page of a record."""
    def of(what: str, device: str) -> list[dict[str, Any]]:
        return [results[key] for key in sorted(results) if key.startswith(f"{what} {device} ")]

    networks = {device: of("found", device) for device in DEVICES}
    prices = {device: rows for device in DEVICES if (rows := of("priced", device))}
    kinds = [kind(networks[one][: len(rows)], rows) for one, rows in prices.items()]
    first, second = ([one["operations"] for one in networks[threads]] for threads in (FIRST, SECOND))
    slow = [one[ARRAY]["us"] > MICROSECONDS for threads in (FIRST, SECOND) for one in prices.get(threads, ())]
    return render(
        f"{NAME}.md", networks=networks, prices=prices, kinds=kinds, alike=first == second, slow=slow,
        devices=DEVICES, rtl=[value for key, value in sorted(results.items()) if key.startswith("rtl ")],
        reference=results.get("priced reference"), measured=[results.get(f"device {one}") for one in (FIRST, SECOND)],
        weight=Options().weight, interval=interval, most=MICROSECONDS,
        multipliers=MULTIPLIERS, bits=BITS, clock=CLOCK_MHZ,
    )  # fmt: skip


def kind(networks: list[dict[str, Any]], prices: list[dict[str, Any]]) -> dict[str, Any]:
    """Values of all networks that were found for one device: accuracies, and on each device the time and the merit,
    validation accuracy less the weighted share of time, which a search maximises."""
    val, test = ([float(np.mean(one[split])) for one in networks] for split in ("val", "test"))
    weight = Options().weight
    return {
        "val": val, "test": test, "us": {on: [one[on]["us"] for one in prices] for on in DEVICES},
        "merit": {on: [accuracy - weight * one[on]["share"] for accuracy, one in zip(val, prices, strict=True)]
                  for on in DEVICES},
    }  # fmt: skip


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--devices", default=",".join(DEVICES), help="default: all")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="default: %(default)s")
    options = parser.parse_args()
    record = Record(NAME, digest(CODE))
    for key, make in jobs(options.only.split(","), options.devices.split(","), range(options.seeds)):
        record.fill(key, make)
        write_page(f"{NAME}.md", page(record.results))
    write_page(f"{NAME}.md", page(read_record(NAME)))


if __name__ == "__main__":
    main()
