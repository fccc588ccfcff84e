"""Random designs of the search space on the multiplier array, on whole graphs: nothing may be refused.

Designs are uniform draws of the space `fgnas`, as a search sees them, with random weights. Each is delivered within 64
multipliers behind a port of random width, as `fgnas hls --target array` does it. Every logit of its C++ is compared
with the integer reference, and that with the interpreter of the integer network; of every fifth the RTL, too, and its
cycles.
"""

from __future__ import annotations

import argparse
import shutil
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from array_networks import any_network
from array_random import QUICKER, version
from common import Record
from pages import render, write_page

from fgnas.backends.project import Request, write
from fgnas.design import Design
from fgnas.errors import UserError
from fgnas.hardware.array import reference
from fgnas.hardware.array.calls import CalledArray
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.kind import FittedArray
from fgnas.hardware.array.programme import PORT_WIDTHS
from fgnas.hardware.kind import Wanted
from fgnas.hardware.kinds import ARRAY
from fgnas.hardware.specification import Specification
from fgnas.network import Network
from fgnas.systems.fgnas.space import fgnas_space
from fgnas.tasks.nodes import GraphData, load
from fgnas.tools.calls import calls_of
from fgnas.tools.csim import run_csim
from fgnas.tools.simulate import run_calls, run_simulation

NAME = "array-space"
BUILD = Path(__file__).parent.parent / "build" / NAME
GRAPHS = ("cora", "citeseer")
MULTIPLIERS, DESIGNS, SEED = 64, 200, 90_517
EVERY = 5
"""One design of so many runs in RTL, too."""


def case(seed: int, number: int) -> tuple[Design, Network, GraphData, int]:
    """Design, weights and graph of a number, and the bits of the memory port."""
    rng = np.random.default_rng([seed, number])
    data, space = load(GRAPHS[number % len(GRAPHS)]), fgnas_space()
    design = space.design(space.draw(1, rng)[0], MULTIPLIERS)
    return design, any_network(rng, design, data), data, int(rng.choice(PORT_WIDTHS))


def measured(seed: int, number: int, folder: Path) -> dict[str, Any]:
    """Deliver a design and run it; a refusal is recorded in its own words."""
    design, network, data, beat_bits = case(seed, number)
    layers = [
        f"{one.attention} {one.aggregation} {one.k} × {one.d or data.classes}, {one.ai + one.af + 1} and "
        f"{one.wi + one.wf + 1} bits" for one in design.layers
    ]  # fmt: skip
    found: dict[str, Any] = {"graph": data.name, "beat_bits": beat_bits, "layers": layers, "refusal": ""}
    begun, wanted = time.monotonic(), Wanted(multipliers=MULTIPLIERS, beat_bits=beat_bits)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        fitted = ARRAY.fit(design, network, data, wanted)
        write(fitted, data, folder, Request(Specification()))
    except UserError as error:
        return found | {"refusal": str(error)}
    right = np.array_equal(fitted.logits(data), _reference(fitted, data))
    cpp = run_csim(folder, QUICKER)
    found |= {"calls": len(calls_of(folder)) or 1, "interpreter": right, "logits": cpp["logits"],
              "mismatches": cpp["mismatches"], "failed_checks": cpp["failed_checks"]}  # fmt: skip
    if number % EVERY == 0:
        rtl = run_calls(folder) if calls_of(folder) else run_simulation(folder)
        counted = ("cycles", "cycle_difference", "phase_differences")
        found |= {"rtl_mismatches": rtl["mismatches"], **{name: rtl[name] for name in counted}}
    shutil.rmtree(folder, ignore_errors=True)
    return found | {"seconds": round(time.monotonic() - begun)}


def _reference(fitted: FittedArray, data: GraphData) -> np.ndarray:
    """The logits of the machine's integer reference."""
    if isinstance(fitted.made, CalledArray):
        return fitted.made.logits()
    return reference.run(encode_array(fitted.made, data))


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    designs = [record[key] for key in record["shown"]]
    return render(f"{NAME}.md", designs=designs, seed=record["seed"], multipliers=MULTIPLIERS, every=EVERY)


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=DESIGNS, help="designs; default: %(default)s")
    parser.add_argument("--seed", type=int, default=SEED, help="of the draws; default: %(default)s")
    parser.add_argument("--workers", type=int, default=2, help="processes; default: %(default)s")
    options = parser.parse_args()
    record = Record(NAME, f"{version()} {options.seed}")
    record.note(seed=options.seed)
    keys = {f"design {number:03}": number for number in range(options.count)}
    with ProcessPoolExecutor(options.workers) as pool:
        jobs = {
            key: pool.submit(measured, options.seed, number, BUILD / f"{number:03}")
            for key, number in keys.items() if key not in record.results
        }  # fmt: skip
        for key, job in jobs.items():
            record.fill(key, job.result)
            record.note(shown=[one for one in record.results if one.startswith("design")])
            write_page(f"{NAME}.md", page(record.results))


if __name__ == "__main__":
    main()
