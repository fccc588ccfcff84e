"""The gain of quantisation-aware fine-tuning: leaders of a search, with two learning rates."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import torch
from common import leading_designs, options_of
from memory import Sharing
from pages import render, write_page, write_record

from fgnas.design import Design
from fgnas.hardware.specification import Specification
from fgnas.networks.calibration import calibrated
from fgnas.networks.finetuning import EPOCHS, fine_tuned
from fgnas.networks.quantised import quantised_accuracy
from fgnas.networks.training import Trained
from fgnas.systems.fgnas import Options, compose
from fgnas.systems.fgnas.trainer import DesignTrainer
from fgnas.tasks.nodes import load

SPECIFICATIONS = {
    "cora": Specification(1.0, 100_000, 100_000, 100),
    "citeseer": Specification(1.0, 100_000, 100_000, 1000),
}
RATES = (1e-3, 5e-3)


def leaders_of(dataset: str, children: int, sharing: Sharing) -> list[tuple[Design, list[Trained]]]:
    """The leaders of a search, each with the networks of its retraining."""
    options = options_of(dataset, SPECIFICATIONS[dataset], children=children)
    trainer = trainer_of(options)
    found = []
    for design in leading_designs(options, sharing):
        jobs = [trainer.job([design], repetition + 1) for repetition in range(options.retrain_seeds)]
        found.append((design, [trained for job in jobs if (trained := sharing.memory.trained(job))]))
    return found


def trainer_of(options: Options) -> DesignTrainer:
    """The trainer of a search."""
    trainer = compose(options).trainer
    assert isinstance(trainer, DesignTrainer)
    return trainer


def measure(dataset: str, options: argparse.Namespace, sharing: Sharing) -> dict[str, Any]:
    """[designs x seeds] validation and test accuracy before fine-tuning, and after it with each rate."""
    data, recipe = load(dataset), trainer_of(options_of(dataset, SPECIFICATIONS[dataset])).recipe
    rows = []
    for design, networks in leaders_of(dataset, options.children, sharing)[: options.designs]:
        for seed, trained in enumerate(networks[: options.seeds]):
            network = calibrated(design, trained.network, data)
            row = [quantised_accuracy(design, network, data)]
            for rate in RATES:
                tuned = fine_tuned(design, network, data, seed, recipe, rate)
                row.append(quantised_accuracy(design, tuned, data))
            rows.append({"design": design.hash, "before": row[0], "after": row[1:]})
            print(dataset, seed, row, flush=True)
    return {"rows": rows}


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    rows = [
        {"dataset": dataset, "designs": len({row["design"] for row in result["rows"]}), "rate": rate,
         "splits": [gains(result["rows"], place, split) for split in ("val", "test")]}
        for dataset, result in record["datasets"].items()
        for place, rate in enumerate(RATES)
    ]  # fmt: skip
    return render("finetuning.md", rows=rows, epochs=EPOCHS, command=record["command"])


def gains(rows: list[dict[str, Any]], place: int, split: str) -> dict[str, float]:
    """Accuracy before, and the gain of one rate: its mean and standard error over designs, each averaged over seeds."""
    found: dict[str, list[float]] = {}
    for row in rows:
        found.setdefault(row["design"], []).append(row["after"][place][split] - row["before"][split])
    means = np.array([np.mean(values) for values in found.values()])
    return {
        "before": float(np.mean([row["before"][split] for row in rows])),
        "gain": float(means.mean()),
        "error": float(means.std(ddof=1) / len(means) ** 0.5),
    }


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--children", type=int, default=300)
    parser.add_argument("--designs", type=int, default=10, help="of the leaders, best first")
    parser.add_argument("--seeds", type=int, default=3, help="of their five")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with Sharing(options.workers) as sharing:
        datasets = {name: measure(name, options, sharing) for name in SPECIFICATIONS}
    numbers = f"--children {options.children} --designs {options.designs} --seeds {options.seeds}"
    record = {"command": f"python benchmarks/finetuning.py {numbers}", "datasets": datasets}
    write_record("finetuning", record)
    write_page("finetuning.md", page(record))


if __name__ == "__main__":
    main()
