"""Designs for molecules, searched by fgnas and g-cos beside random search with the same budget; each delivered one in
RTL with 64 molecules in a start and with a single one, beside PyG on one thread and the preparation on the host. Runs
are in build/molecule-designs and continue."""

from __future__ import annotations

import argparse
import functools
import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import Record
from memory import SCORING, digest
from pages import render, write_page
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, global_mean_pool

import fgnas
from fgnas.api import Run
from fgnas.api.designs import Accelerator
from fgnas.design import Design
from fgnas.networks.model import ACTIVATIONS
from fgnas.tasks.pooled import TOGETHER, PooledData, reference

NAME = "molecule-designs"
FOLDER = Path(__file__).parent.parent / "build" / NAME
CODE = (*SCORING, "networks/supernet.py", "networks/finetuning.py", "engine", "searchers", "systems/fgnas",
        "systems/gcos", "hardware/array", "hardware/pipeline")  # fmt: skip
DATASET, CLOCK_MHZ, SEEDS, TIMED = "esol", 100, 3, 200
SHARED: dict[str, Any] = {"leaders": 5, "retrain_seeds": 3, "epochs": 100, "retrain_epochs": 300}
SEARCHES: dict[str, dict[str, Any]] = {
    "fgnas": SHARED | {"children": 120, "target": "any"},
    "g-cos": SHARED | {"children": 400},
}
METHODS = {"fgnas": ("evolution", "random"), "g-cos": ("pool", "random")}
"""Each system's own searcher, and random search."""


def found(system: str, method: str, seed: int) -> Run:
    """A search, continued where it was stopped."""
    name = f"{system}-{method}-{seed}"
    return fgnas.search(DATASET, system=system, method=method, seed=seed, run=name, runs=FOLDER, workers=1,
                        resume=(FOLDER / name).is_dir(), **SEARCHES[system])  # fmt: skip


def searched(system: str, method: str, seed: int) -> dict[str, Any]:
    """The delivered design of a search: costs, quality, both starts in RTL, and one molecule beside PyG."""
    run = found(system, method, seed)
    best, design = run.best, run.design("best")
    data = design.data()
    assert isinstance(data, PooledData)
    together, alone = design.lower(), design.lower(reference(DATASET, graphs=1))
    one = alone.data
    assert isinstance(one, PooledData)
    return {
        "system": system, "method": method, "seed": seed, "children": len(run.trials()), "costs": best["costs"],
        "layers": [layer.model_dump() for layer in design.choices.layers],
        "array": None if design.choices.array is None else design.choices.array.model_dump(),
        "deviation": best["deviation"], "delivered": best["delivered"], "retrained": best["retrained"]["quantised"],
        "together": in_rtl(together, f"{system}-{method}-{seed}-{TOGETHER}"),
        "alone": in_rtl(alone, f"{system}-{method}-{seed}-1"), "atoms": one.nodes,
        **on_host(together, data), "pyg_us": pyg_us(design.choices, one),
    }  # fmt: skip


def in_rtl(accelerator: Accelerator, name: str) -> dict[str, int]:
    """The logits and cycles of a start."""
    folder = FOLDER / "projects" / name
    shutil.rmtree(folder, ignore_errors=True)
    report = accelerator.write(folder).simulate()
    return {one: report[one] for one in ("logits", "mismatches", "cycles", "cycle_difference")}


def on_host(accelerator: Accelerator, data: PooledData) -> dict[str, float]:
    """Microseconds of the host for a molecule that it has not seen, and for each of those of a start."""
    each = [data.part(np.array([row])) for row in data.graphs_of("test")]
    accelerator.regions(each[0])
    alone = [taken_us(functools.partial(accelerator.regions, one)) for one in each[1:]]
    again = data.part(data.graphs_of("test")[-TOGETHER:])
    return {"prepared_us": statistics.median(alone),
            "together_us": taken_us(lambda: accelerator.regions(again)) / TOGETHER}  # fmt: skip


def taken_us(run: Callable[[], Any]) -> float:
    """Microseconds of a call."""
    begun = time.perf_counter()
    run()
    return 1e6 * (time.perf_counter() - begun)


class Layers(nn.Module):
    """A design's layers as PyG's, with the mean over a graph behind them: as many products and messages."""

    def __init__(self, design: Design, width: int, classes: int) -> None:
        super().__init__()
        self.convolutions, self.functions = nn.ModuleList(), []
        for layer in design.layers:
            d = classes if layer.d is None else layer.d
            if layer.attends:
                made: nn.Module = GATConv(width, d, layer.k, concat=layer.d is not None, aggr=layer.aggregation)
            else:
                made = GCNConv(width, layer.k * d, aggr=layer.aggregation, normalize=layer.attention == "gcn")
            self.convolutions.append(made)
            self.functions.append(layer.activation)
            width = layer.k * d

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        """[graphs, classes]."""
        for convolution, function in zip(self.convolutions, self.functions, strict=True):
            x = convolution(x, edge_index)
            x = x if function is None else ACTIVATIONS[function](x)
        return global_mean_pool(x, batch)


def pyg_us(design: Design, data: PooledData) -> float:
    """Microseconds of PyG's own run of one molecule, the median of many, one thread."""
    torch.set_num_threads(1)
    model = Layers(design, data.width_in, data.classes).eval()
    apart = data.sources != data.targets
    edges = torch.from_numpy(np.stack([data.sources[apart], data.targets[apart]]))
    given = torch.from_numpy(data.features.toarray()), edges, torch.from_numpy(data.labels)
    with torch.no_grad():
        return statistics.median(taken_us(lambda: model(*given)) for _ in range(TIMED))


def page(results: dict[str, Any]) -> str:
    """The page of a record."""
    rows = [one for one in results.values() if isinstance(one, dict) and "method" in one]
    return render(f"{NAME}.md", rows=rows, dataset=DATASET, clock=CLOCK_MHZ, searches=SEARCHES, shared=SHARED,
                  timed=TIMED, together=TOGETHER, note=results.get("note"))  # fmt: skip


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="searches of each method; default: %(default)s")
    options = parser.parse_args()
    record = Record(NAME, digest(CODE))
    for seed in range(options.seeds):
        for system, methods in METHODS.items():
            for method in methods:
                record.fill(f"{system} {method} {seed}", functools.partial(searched, system, method, seed))
                write_page(f"{NAME}.md", page(record.results))


if __name__ == "__main__":
    main()
