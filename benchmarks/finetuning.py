"""What quantisation-aware fine-tuning gains: leaders of a search, by two learning rates."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from common import RESULTS, Silent
from memory import Sharing

from fgnas.design import Design
from fgnas.engine.evaluator import CoDesign
from fgnas.engine.run import SearchConfig, search
from fgnas.engine.store import RunStore
from fgnas.hardware.pipeline.pricing import Specification
from fgnas.networks.calibration import calibrated
from fgnas.networks.finetuning import EPOCHS, fine_tuned
from fgnas.networks.quantised import quantised_accuracy
from fgnas.networks.training import Trained
from fgnas.space import find_space
from fgnas.tasks.nodes import load

SPECIFICATIONS = {
    "cora": Specification(1.0, 100_000, 100_000, 100),
    "citeseer": Specification(1.0, 100_000, 100_000, 1000),
}
RATES = (1e-3, 5e-3)


def leaders_of(dataset: str, children: int, sharing: Sharing) -> list[tuple[Design, list[Trained]]]:
    """The leaders of a search, each with the networks of its retraining."""
    config = SearchConfig.of(dataset, specification=SPECIFICATIONS[dataset], children=children)
    data = load(dataset)
    with TemporaryDirectory() as folder:
        store = RunStore.create(Path(folder), "run", {})
        search(config, data, lambda: store, lambda: sharing, Silent())
        designs = [Design.from_dict(entry["design"]) for entry in store.leaders()]
    evaluator = CoDesign(data, find_space("fgnas"), config.specification, config.seed, config.recipe, lambda jobs: [])
    found = []
    for design in designs:
        jobs = [evaluator.job([design], repetition + 1) for repetition in range(config.retrain_seeds)]
        found.append((design, [trained for job in jobs if (trained := sharing.memory.trained(job))]))
    return found


def measure(dataset: str, options: argparse.Namespace, sharing: Sharing) -> dict[str, Any]:
    """[designs x seeds] validation and test accuracy before, and after fine-tuning by each rate."""
    data, config = load(dataset), SearchConfig.of(dataset, specification=SPECIFICATIONS[dataset])
    rows = []
    for design, networks in leaders_of(dataset, options.children, sharing)[: options.designs]:
        for seed, trained in enumerate(networks[: options.seeds]):
            network = calibrated(design, trained.network, data)
            row = [quantised_accuracy(design, network, data)]
            for rate in RATES:
                tuned = fine_tuned(design, network, data, seed, config.recipe, rate)
                row.append(quantised_accuracy(design, tuned, data))
            rows.append({"design": design.hash, "before": row[0], "after": row[1:]})
            print(dataset, seed, row, flush=True)
    return {"rows": rows}


def page(results: dict[str, Any], command: str) -> str:
    """The table; a design's seeds are averaged first, for they share a design."""
    lines = []
    for dataset, result in results.items():
        for place, rate in enumerate(RATES):
            cells = []
            for split in ("val", "test"):
                gains: dict[str, list[float]] = {}
                for row in result["rows"]:
                    gains.setdefault(row["design"], []).append(row["after"][place][split] - row["before"][split])
                means = np.array([np.mean(values) for values in gains.values()])
                before = np.mean([row["before"][split] for row in result["rows"]])
                cells += [f"{before:.1%}", f"{means.mean():+.2%} ± {means.std(ddof=1) / len(means) ** 0.5:.2%}"]
            lines.append(f"| {dataset} | {len(means)} | {rate} | {' | '.join(cells)} |")
    body = "\n".join(lines)
    return f"""# Quantisation-aware fine-tuning

The best leaders of a search at 1.0 ms, 100,000 LUT and FF (Cora 100, CiteSeer 1,000 DSP), each trained with fresh seeds
and calibrated, then trained on for {EPOCHS} epochs by Adam with every rounding of the hardware in the forward pass, its
gradient passed straight through; dropout and weight decay as before. Kept is the epoch with the best rounded validation
accuracy, the one before the first among them: validation accuracy can only rise, so test accuracy is what counts.
Gain: mean over designs ± its standard error.

| dataset | designs | rate | validation | gain | test | gain |
|---|---|---|---|---|---|---|
{body}

Made by `{command}`.
"""


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
        results = {name: measure(name, options, sharing) for name in SPECIFICATIONS}
    (RESULTS / "finetuning.json").write_text(json.dumps(results, indent=1) + "\n")
    numbers = f"--children {options.children} --designs {options.designs} --seeds {options.seeds}"
    command = f"python benchmarks/finetuning.py {numbers}"
    (RESULTS / "finetuning.md").write_text(text := page(results, command))
    print(text)


if __name__ == "__main__":
    main()
