"""Two products in a DSP slice of the multiplier array: random networks in RTL, C++ and Yosys, and what a budget of DSPs
holds with them and without.

Random networks are those of the tests' generator, on arrays of 8 to 128 multipliers and 4 to 8 bits.
"""

from __future__ import annotations

import argparse
import functools
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
from array_random import QUICKER
from common import Record
from memory import digest_of_files
from multiplier_array import DATASETS, lowered, source_of
from multiplier_array import design as baseline_design
from pages import render, write_page

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from arrays import paired_array

from fgnas.backends.array import write_project
from fgnas.hardware.array.choosing import Room, fastest
from fgnas.hardware.array.cycles import total_cycles
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.engine import PAIRED_BITS
from fgnas.hardware.array.programme import PORT_WIDTHS
from fgnas.hardware.array.resources import engine_resources
from fgnas.hardware.devices import FAMILIES
from fgnas.paths import templates_directory
from fgnas.tasks.nodes import load
from fgnas.tools.csim import run_bench
from fgnas.tools.simulate import run_simulation
from fgnas.tools.synth import run_synthesis

NAME = "array-pairs"
BUILD = Path(__file__).parent.parent / "build" / NAME
RANDOM_SEED, RANDOM, SYNTHESISED = 261_126, 20, 5
"""Random arrays, and how many of them Yosys maps for each family."""
LIMITS = {"dsp": 100, "lut": 100_000, "ff": 100_000}


def random_case(number: int) -> dict[str, Any]:
    """A random array: its RTL and C++, and for the first ones the slices that Yosys maps."""
    array, data = paired_array(np.random.default_rng([RANDOM_SEED, number]), 1 + number % 3)
    folder = BUILD / str(number)
    shutil.rmtree(folder, ignore_errors=True)
    write_project(array, data, folder)
    rtl, cpp = run_simulation(folder), run_bench(folder, QUICKER, folder / "build" / "csim")
    found = {
        "multipliers": array.engine.multipliers, "bits": array.engine.bits, "beat_bits": array.engine.beat_bits,
        "dsp": array.engine.dsp, "logits": rtl["logits"], "mismatches": rtl["mismatches"],
        "protocol_errors": rtl["protocol_errors"], "cycles": rtl["cycles"],
        "cycle_difference": rtl["cycle_difference"], "phase_differences": rtl["phase_differences"],
        "cpp_mismatches": cpp["mismatches"], "failed_checks": cpp["failed_checks"],
    }  # fmt: skip
    if number < SYNTHESISED:
        found["synthesised"] = {family: mapped(folder, family) for family in FAMILIES}
    shutil.rmtree(folder)
    return found


def mapped(folder: Path, family: str) -> dict[str, Any]:
    """What Yosys maps a project to, and what the model predicts."""
    report = run_synthesis(folder, family)
    return {name: {one: report[name][one] for one in ("lut", "ff", "dsp", "bram36")} for name in ("total", "predicted")}


def within(dataset: str, paired: bool) -> dict[str, Any]:
    """The fastest array of G-CoS's baseline within the limits of the paper's Table IV."""
    data = load(dataset)
    source = lowered(baseline_design(), data, np.random.default_rng(0), scaled=False)
    limits = {name: LIMITS[name] for name in ("lut", "ff")}
    array = fastest(source, data, Room.within(LIMITS["dsp"], None, PORT_WIDTHS[-1], limits, paired=paired))
    return {
        "dataset": dataset, "paired": array.engine.paired, "multipliers": array.engine.multipliers,
        "cycles": total_cycles(encode_array(array, data)), **engine_resources(array.engine),
    }  # fmt: skip


def whole(dataset: str) -> dict[str, Any]:
    """The RTL of the array with two products in a slice on the whole graph."""
    data, folder = load(dataset), BUILD / dataset
    array = fastest(source_of(data), data, Room.within(LIMITS["dsp"], None, PORT_WIDTHS[-1], {}, paired=True))
    write_project(array, data, folder)
    report = run_simulation(folder)
    shutil.rmtree(folder)
    kept = ("logits", "mismatches", "protocol_errors", "cycles", "cycle_difference", "phase_differences")
    return {"dataset": dataset, "multipliers": array.engine.multipliers, "dsp": array.engine.dsp,
            **{name: report[name] for name in kept}}  # fmt: skip


def page(results: dict[str, Any]) -> str:
    """The page of a record."""
    def of(prefix: str) -> list[dict[str, Any]]:
        return [value for key, value in sorted(results.items()) if key.startswith(prefix)]

    return render(f"{NAME}.md", randoms=of("random "), within=of("within "), whole=of("whole "), limits=LIMITS,
                  seed=RANDOM_SEED, families=FAMILIES, most=PAIRED_BITS)  # fmt: skip


def main() -> None:
    """Measure what is missing, and write the page."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    templates = sorted((templates_directory() / "rtl" / "array").iterdir())
    record = Record(NAME, digest_of_files([*templates, Path(__file__)])[:12])
    for dataset in DATASETS:
        for paired in (False, True):
            record.fill(f"within {dataset} {int(paired)}", functools.partial(within, dataset, paired))
        record.fill(f"whole {dataset}", functools.partial(whole, dataset))
    for number in range(RANDOM):
        record.fill(f"random {number:02}", functools.partial(random_case, number))
        write_page(f"{NAME}.md", page(record.results))


if __name__ == "__main__":
    main()
