"""Throughput on Cora: pricing, children and trainings a second, compared with the same recipe in plain PyG modules."""

from __future__ import annotations

import argparse
import os
import platform
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from common import create_store, options_of, timings
from common import search as run_search
from pages import render, write_page, write_record
from torch_geometric.nn import GATConv, GCNConv, SimpleConv

from fgnas.engine.jobs import process_pool
from fgnas.engine.run import cpu_name
from fgnas.engine.trial import Trial
from fgnas.hardware.pipeline.pricing import Pricer
from fgnas.hardware.specification import Specification
from fgnas.networks.model import ACTIVATIONS
from fgnas.networks.training import child_seed, recipe_for, train
from fgnas.systems.fgnas.space import find_space
from fgnas.tasks.nodes import GraphData, load

SPECIFICATION = Specification(latency_ms=1.0, lut=100_000, ff=100_000, dsp=100)
CHILDREN = 500


def pricing_rate(data: GraphData, designs: int) -> float:
    """Designs a second: latency and resources of uniform draws, one core."""
    space, pricer = find_space("fgnas"), Pricer(data)
    columns = space.columns(space.draw(designs, np.random.default_rng(0)))
    pricer.price(space.columns(space.draw(100, np.random.default_rng(1))), 100)
    begun = time.perf_counter()
    pricer.price(columns, 100)
    return designs / (time.perf_counter() - begun)


def search_rates(data: GraphData, children: int, workers: int) -> tuple[dict[str, Any], list[Trial]]:
    """The rates of a whole search, and its trials."""
    options = options_of(data.name, SPECIFICATION, children=children)
    with TemporaryDirectory() as folder:
        begun = time.perf_counter()
        store = create_store(Path(folder), "run", options)
        best = run_search(options, lambda: store, process_pool(workers))
        whole, trials, searched = time.perf_counter() - begun, store.trials(), timings(store, "total_s")
    trainings = sum(trial.trained for trial in trials)
    rates = {
        "method": options.method,
        "children": children,
        "workers": workers,
        "search_s": searched,
        "with_retraining_s": whole,
        "children_per_s": children / searched,
        "trainings": trainings,
        "trainings_per_s": trainings / searched,
        "retrained_quantised_test": best["retrained"]["quantised"]["test"],
    }
    return rates, trials


class Plain(torch.nn.Module):
    """The network in PyG's own modules, written in the usual way: dense features, the whole graph."""

    def __init__(self, architecture: list[dict[str, Any]], width: int, classes: int) -> None:
        super().__init__()
        self.architecture, self.classes = architecture, classes
        self.layers = torch.nn.ModuleList()
        for layer in architecture:
            d = layer["d"] or classes
            self.layers.append(_convolution(layer, width, d))
            width = layer["k"] * d

    def forward(self, x: torch.Tensor, edges: torch.Tensor, input_dropout: bool) -> torch.Tensor:
        """[N, classes] logits."""
        dropout = torch.nn.functional.dropout
        for index, (layer, convolution) in enumerate(zip(self.architecture, self.layers, strict=True)):
            if index > 0 or input_dropout:
                x = dropout(x, 0.5, self.training)
            x = convolution(x, edges)
            if layer["activation"] is not None:
                x = ACTIVATIONS[layer["activation"]](x)
        return x.view(len(x), -1, self.classes).mean(1)


class Constant(torch.nn.Module):
    """Linear, then plain message passing."""

    def __init__(self, width: int, features: int, aggregation: str) -> None:
        super().__init__()
        self.linear, self.passing = torch.nn.Linear(width, features), SimpleConv(aggregation)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        """[N, features]."""
        return self.passing(self.linear(x), edges)


def _convolution(layer: dict[str, Any], width: int, d: int) -> torch.nn.Module:
    k, aggregation = layer["k"], layer["aggregation"]
    if layer["attention"] == "constant":
        return Constant(width, k * d, aggregation)
    if layer["attention"] == "gcn":
        return GCNConv(width, k * d, add_self_loops=False, aggr=aggregation)
    return GATConv(width, d, heads=k, add_self_loops=False, aggr=aggregation)


def plain_seconds(data: GraphData, architecture: list[dict[str, Any]], input_dropout: bool, epochs: int) -> float:
    """Training by the same recipe, validated every epoch; the time of `epochs`, scaled up to the recipe's."""
    recipe, x = recipe_for(data.name), torch.from_numpy(data.features.toarray())
    edges = torch.from_numpy(np.stack([data.sources, data.targets]))
    labels, train_nodes, val_nodes = (torch.from_numpy(array) for array in (data.labels, data.train, data.val))
    network = Plain(architecture, data.width_in, data.classes)
    optimiser = torch.optim.Adam(network.parameters(), recipe.learning_rate, weight_decay=recipe.weight_decay)
    begun = time.perf_counter()
    for _ in range(epochs):
        network.train()
        optimiser.zero_grad()
        logits = network(x, edges, input_dropout)
        torch.nn.functional.cross_entropy(logits[train_nodes], labels[train_nodes]).backward()
        optimiser.step()
        network.eval()
        with torch.no_grad():
            (network(x, edges, input_dropout)[val_nodes].argmax(1) == labels[val_nodes]).float().mean()
    return (time.perf_counter() - begun) * recipe.epochs / epochs


def against_plain(data: GraphData, trials: list[Trial], sample: int, epochs: int) -> dict[str, Any]:
    """Total time of a sample of the distinct trainings of a search, by this package and by plain modules, in turn."""
    torch.set_num_threads(1)
    layers = ("d", "attention", "aggregation", "k", "activation")
    trained = [trial.design["layers"] for trial in trials if trial.trained]
    places = np.random.default_rng(0).choice(len(trained), min(sample, len(trained)), replace=False)
    total = {"ours": 0.0, "plain": 0.0, "plain_without_input_dropout": 0.0}
    for place in sorted(places):
        architecture = [{name: layer[name] for name in layers} for layer in trained[place]]
        if total["ours"] == 0:  # compile, and lay out the fields
            train(data, architecture, 0, recipe_for(data.name))
        begun = time.perf_counter()
        train(data, architecture, child_seed(0, architecture), recipe_for(data.name))
        total["ours"] += time.perf_counter() - begun
        total["plain"] += plain_seconds(data, architecture, True, epochs)
        total["plain_without_input_dropout"] += plain_seconds(data, architecture, False, epochs)
    return {"sample": len(places), "of": len(trained), "epochs_timed": epochs, "seconds": total,
            "ratio": total["plain"] / total["ours"],
            "ratio_without_input_dropout": total["plain_without_input_dropout"] / total["ours"]}  # fmt: skip


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    return render("search-throughput.md", **record)


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--children", type=int, default=CHILDREN)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--designs", type=int, default=100_000, help="to price")
    parser.add_argument("--sample", type=int, default=12, help="architectures in the comparison with plain modules")
    parser.add_argument("--epochs", type=int, default=40, help="of plain modules, timed and scaled to 200")
    options = parser.parse_args()
    load_average, data = os.getloadavg()[0], load("cora")
    pricing = pricing_rate(data, options.designs)
    rates, trials = search_rates(data, options.children, options.workers)
    versions = f"Python {platform.python_version()}, torch {torch.__version__}"
    note = f" ({options.children} children)" if options.children != CHILDREN else ""
    record = {
        "command": f"make bench-search{note}",
        "machine": f"{cpu_name()} ({os.cpu_count()} cores), {versions}",
        "load": load_average,
        "pricing_per_s": pricing,
        "search": rates,
        "plain": against_plain(data, trials, options.sample, options.epochs),
    }
    write_record("search-throughput", record)
    write_page("search-throughput.md", page(record))


if __name__ == "__main__":
    main()
