"""Random designs of the whole space on the whole of Cora: C++ and RTL beside the reference, cycles beside the model.

A design that differs is left in build/every-design/HASH; `fgnas sim` on it names the stage and the node. A
design whose generated files equal those of an earlier run is not measured again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from common import Record
from memory import digest_of_files
from pages import render, write_page

from fgnas import api
from fgnas.engine.run import cpu_name
from fgnas.network import Network
from fgnas.networks.calibration import calibrated
from fgnas.networks.training import child_seed, recipe_for, train
from fgnas.tasks.nodes import GraphData, load
from fgnas.tools.csim import run_csim
from fgnas.tools.lint import lint
from fgnas.tools.simulate import Vectors, build_simulator, own_sources, run_simulation

BUILD = Path(__file__).parent.parent / "build" / "every-design"
DATASET, SEED, COUNT = "cora", 2024, 30
EPOCHS = 30
"""Enough for weights like those of a trained network."""
RATE, SECONDS, MOST_CYCLES = 200_000, 60, 10_000_000
"""The requirements: cycles a second, and seconds of build and run for a design with at most this many cycles."""


def digest_of(project: Path) -> str:
    """A digest of everything that is measured: C++, RTL and vectors of a project, and its predicted cycles."""
    folders = ("src", "rtl", "vectors")
    files = digest_of_files(path for folder in folders for path in sorted((project / folder).iterdir()))
    predicted = json.loads((project / "report" / "price.json").read_text())["latency_cycles"]
    return hashlib.sha256(f"{files} {predicted}".encode()).hexdigest()[:12]


def trained(design: api.Design, data: GraphData) -> api.Design:
    """The design with weights of a short training, reused from an earlier run if there are any."""
    place = BUILD / "weights" / f"{design.hash}-{EPOCHS}.npz"
    if not place.is_file():
        torch.set_num_threads(1)
        architecture = design.choices.architecture()
        recipe = replace(recipe_for(data.name), epochs=EPOCHS)
        made = train(data, architecture, child_seed(0, architecture), recipe)
        place.parent.mkdir(parents=True, exist_ok=True)
        calibrated(design.choices, made.network, data).save(place)
    return api.Design(design.choices, Network.load(place), data.name, data.fingerprint)


def measure(design: api.Design, directory: Path) -> dict[str, Any]:
    """Compile, lint and simulate the project of one design."""
    cpp, cpp_seconds = timed(lambda: run_csim(directory))
    vectors = Vectors.read(directory)
    _, build_seconds = timed(lambda: build_simulator(vectors, own_sources(vectors.directory), "sim"))
    rtl, run_seconds = timed(lambda: run_simulation(directory))
    return {
        "design": design.to_dict(),
        "logits": rtl["logits"],
        "cpp_mismatches": cpp["mismatches"] + cpp["failed_checks"],
        "rtl_mismatches": rtl["mismatches"] + rtl["protocol_errors"],
        "cycles": rtl["cycles"],
        "predicted_cycles": rtl["predicted_cycles"],
        "cycles_per_second": rtl["cycles_per_second"],
        "cpp_seconds": cpp_seconds,
        "build_seconds": build_seconds,
        "run_seconds": run_seconds,
        "cpp_warnings": len((directory / "build" / "csim" / "compile.log").read_text().splitlines()),
        "rtl_warnings": len(lint(directory / "rtl").splitlines()),
    }


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """The result of a call, and its processor time in seconds with its child processes: the machine has other work."""
    before = processor_seconds()
    result = call()
    return result, round(processor_seconds() - before, 1)


def processor_seconds() -> float:
    """Processor time of this process and of the processes that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def error_of(found: dict[str, Any]) -> float:
    """Relative error of the predicted cycles."""
    return found["predicted_cycles"] / found["cycles"] - 1


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    found = sorted((record[key] for key in record["shown"]), key=lambda each: each["cycles"])
    errors = [abs(error_of(each)) for each in found]
    return render(
        "every-design.md",
        designs=[
            {**each, "hash": api.Design.of(each["design"]).hash, "layers": layers_of(each["design"]),
             "error": error_of(each)}
            for each in found
        ],
        epochs=EPOCHS,
        sample_command=f"fgnas sample --space fgnas --dataset {DATASET} --seed {SEED} -n {COUNT}",
        median_error=statistics.median(errors),
        worst_error=max(errors),
        longest=max(seconds_of(each) for each in found if each["cycles"] <= MOST_CYCLES),
        wanted={"rate": RATE, "seconds": SECONDS, "cycles": MOST_CYCLES},
        machine=record["machine"],
    )  # fmt: skip


def seconds_of(found: dict[str, Any]) -> float:
    """Seconds to build and run the RTL."""
    return float(found["build_seconds"] + found["run_seconds"])


def shortest(count: int, data: GraphData) -> list[api.Design]:
    """So many designs of the sample, the one with the fewest predicted cycles first."""
    designs = list(api.sample(COUNT, SEED))
    cycles = {design.hash: api.prices([design], data)[0]["latency_cycles"] for design in designs}
    return sorted(designs, key=lambda each: cycles[each.hash])[:count]


def layers_of(design: dict[str, Any]) -> str:
    """A short description of a design."""
    sizes = (f"{layer['k']} × {layer['d']}" if layer["d"] else f"{layer['k']}" for layer in design["layers"])
    kinds = (f"{layer['attention']} {layer['aggregation']}" for layer in design["layers"])
    return "; ".join(f"{kind} {size}" for kind, size in zip(kinds, sizes, strict=True))


def main() -> None:
    """Measure every design, the shortest first, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="number of designs, the shortest first; default: all")
    options = parser.parse_args()
    data = load(DATASET)
    record = Record("every-design", "by project")
    shown: list[str] = []
    for design in shortest(options.count, data):
        begun = time.monotonic()
        directory = trained(design, data).lower(data).write(BUILD / design.hash).directory
        key = f"{design.hash} {digest_of(directory)}"
        for stale in [name for name in record.results if name.startswith(design.hash) and name != key]:
            del record.results[stale]
        found = record.fill(key, lambda design=design, at=directory: measure(design, at))  # type: ignore[misc]
        shown.append(key)
        print(
            f"{design.hash}: {found['cycles']:,} cycles ({error_of(found):+.2%}), mismatches C++ "
            f"{found['cpp_mismatches']}, RTL {found['rtl_mismatches']}; {time.monotonic() - begun:.0f} s", flush=True
        )  # fmt: skip
    machine = f"{cpu_name()} ({os.cpu_count()} cores), Python {platform.python_version()}"
    record.note(machine=machine, shown=shown)
    write_page("every-design.md", page(record.results))


if __name__ == "__main__":
    main()
