"""The gain of calibrated scales: designs that fit a specification, quantised with them and without."""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import torch
from pages import render, write_page, write_record

from fgnas.design import Design
from fgnas.hardware.pipeline.pricing import Pricer
from fgnas.hardware.specification import Specification
from fgnas.networks.calibration import calibrated
from fgnas.networks.quantised import quantised_accuracy
from fgnas.networks.training import child_seed, float_accuracy, recipe_for, train
from fgnas.systems.fgnas.space import find_space
from fgnas.tasks.nodes import GraphData, load

SPECIFICATION = Specification(1.0, 100_000, 100_000, 100)
LEARNT = 0.6
"""Trainings with a lower float validation accuracy are left out: they learnt nothing that quantisation could lose."""
KINDS = ("float", "without scales", "with scales")


def designs_that_fit(data: GraphData, count: int) -> list[Design]:
    """Uniform draws that keep the specification."""
    space, pricer, rng = find_space("fgnas"), Pricer(data), np.random.default_rng(5)
    found: list[Design] = []
    while len(found) < count:
        samples = space.draw(20_000, rng)
        fits = pricer.price(space.columns(samples), SPECIFICATION.dsp).feasible(SPECIFICATION)
        found += [space.design(row, SPECIFICATION.dsp) for row in samples[fits]]
    return found[:count]


def measure(dataset: str, count: int, seeds: int) -> dict[str, Any]:
    """Test accuracy of each kind: [designs x seeds that learnt]."""
    data, accuracies, seconds = load(dataset), [], 0.0
    for design in designs_that_fit(data, count):
        architecture = design.architecture()
        for seed in range(seeds):
            trained = train(data, architecture, child_seed(seed, architecture), recipe_for(dataset))
            if trained.val < LEARNT:
                continue
            begun = time.perf_counter()
            network = calibrated(design, trained.network, data)
            seconds += time.perf_counter() - begun
            accuracies.append((
                float_accuracy(architecture, trained.network, data)["test"],
                quantised_accuracy(design, trained.network, data)["test"],
                quantised_accuracy(design, network, data)["test"],
            ))  # fmt: skip
    table = np.array(accuracies)
    return {
        "designs": count, "seeds": seeds, "learnt": len(table), "calibration_s": seconds / len(table),
        "means": dict(zip(KINDS, table.mean(axis=0).tolist(), strict=True)),
        "gains": (table[:, 2] - table[:, 1]).tolist(),
    }  # fmt: skip


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    rows = []
    for dataset, result in record["datasets"].items():
        gains = np.array(result["gains"])
        rows.append({
            "dataset": dataset,
            "trainings": result["learnt"],
            "means": [result["means"][kind] for kind in KINDS],
            "gain": gains.mean(),
            "error": gains.std(ddof=1) / len(gains) ** 0.5,
            "gained": (gains > 0).mean(),
            "milliseconds": 1000 * result["calibration_s"],
        })
    return render("calibration.md", rows=rows, kinds=KINDS, learnt=LEARNT, command=record["command"])


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--designs", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    datasets = {name: measure(name, options.designs, options.seeds) for name in ("cora", "citeseer")}
    command = f"python benchmarks/calibration.py --designs {options.designs} --seeds {options.seeds}"
    write_record("calibration", record := {"command": command, "datasets": datasets})
    write_page("calibration.md", page(record))


if __name__ == "__main__":
    main()
