"""A search for networks with arrays on a made graph of PubMed's size, which no array holds whole.

    python benchmarks/large_graph.py [--workers 2] [--children 200] [--updates 150] [--epochs 30]

The graph is made of a seed: 19,717 nodes, 88,648 edges between them, both ways, of degrees that follow a power law, and
500 features of which a node has about 50. Nodes of one of three hidden classes know each other and share words. It
prints what the search, the best design's project, C++ and RTL take, and fails where one of them is wrong.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fgnas

BUILD = Path(__file__).parent.parent / "build" / "large-graph"
WORDS = 50
"""Features of a node, in the mean."""
EXPONENT = 2.2
"""Exponent of the power law of the nodes' weights; degrees are proportional to the weights."""
ALIKE = 0.8
"""Share of the ends that are looked for in the node's own class."""


@dataclass(frozen=True)
class Made:
    """Sizes of a made graph: nodes, edges between two of them (counted once), features, classes."""

    nodes: int = 19_717
    pairs: int = 44_324
    width: int = 500
    classes: int = 3

    def write(self, path: Path, seed: int = 0) -> Path:
        """The graph as a file that `--dataset` reads."""
        rng = np.random.default_rng(seed)
        y = rng.integers(0, self.classes, self.nodes)
        part = rng.permutation(self.nodes) % 10  # 1 : 2 : 7, so that a training is short
        masks = {"train_mask": part == 0, "val_mask": (part == 1) | (part == 2), "test_mask": part > 2}
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, x=self._features(rng, y), y=y, edge_index=self._edges(rng, y), **masks)
        return path

    def _edges(self, rng: np.random.Generator, y: NDArray[np.int64]) -> NDArray[np.int64]:
        """[2, 2 * pairs] edges, both ways, none twice and none to itself."""
        weight = rng.pareto(EXPONENT - 1, self.nodes) + 1
        weight = np.minimum(weight, np.sqrt(self.nodes))  # no node knows half of the graph
        members = [np.flatnonzero(y == one) for one in range(self.classes)]
        found = np.zeros(0, np.int64)
        while len(found) < self.pairs:
            count = 2 * self.pairs
            source = rng.choice(self.nodes, count, p=weight / weight.sum())
            target = rng.choice(self.nodes, count, p=weight / weight.sum())
            own = rng.random(count) < ALIKE
            for one, nodes in enumerate(members):
                here = np.flatnonzero(own & (y[source] == one))
                target[here] = rng.choice(nodes, len(here), p=weight[nodes] / weight[nodes].sum())
            low, high = np.minimum(source, target), np.maximum(source, target)
            keys = np.concatenate([found, (low * self.nodes + high)[low < high]])
            found = keys[np.sort(np.unique(keys, return_index=True)[1])]
        low, high = np.divmod(found[: self.pairs], self.nodes)
        return np.stack([np.concatenate([low, high]), np.concatenate([high, low])])

    def _features(self, rng: np.random.Generator, y: NDArray[np.int64]) -> NDArray[np.float32]:
        """[nodes, width] words by their frequency and rarity; a class has each word up to twice as often as others."""
        often = 1 / np.arange(4, 4 + self.width) ** 0.7
        often = rng.permutation(often * min(WORDS, self.width / 4) / often.sum())
        share = np.minimum(0.95, often * rng.uniform(0.7, 1.3, (self.classes, self.width)))
        there = rng.random((self.nodes, self.width), np.float32) < share[y]
        rarity = np.log(1 / share.mean(axis=0))
        return (there * rng.uniform(0.5, 1.5, there.shape) * rarity).astype(np.float32)


def measured(dataset: Path, folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """A search, its best design's project, and both simulations, with their seconds."""
    seconds, begun = {}, time.perf_counter()

    def done(name: str) -> None:
        nonlocal begun
        seconds[name], begun = round(time.perf_counter() - begun, 1), time.perf_counter()

    run = fgnas.search(
        system="g-cos", dataset=str(dataset), workers=arguments.workers, children=arguments.children,
        updates=arguments.updates, paths=4, leaders=4, retrain_seeds=1, retrain_epochs=arguments.epochs,
        seed=arguments.seed, runs=folder, run="run",
    )  # fmt: skip
    done("search_s")
    project = run.design("best").lower().write(folder / "project")
    done("write_s")
    csim = project.csim()
    done("csim_s")
    rtl = project.simulate()
    done("sim_s")
    assert csim["mismatches"] == csim["failed_checks"] == 0, csim
    assert rtl["mismatches"] == rtl["cycle_difference"] == rtl["phase_differences"] == 0, rtl
    best = run.best
    assert rtl["cycles"] == best["costs"]["latency_cycles"]
    layers = json.loads((folder / "project/report/accelerator.json").read_text())["layers"]
    division = {name: layers[0].get(name, 1) for name in ("passes", "slices", "blocks")}
    return {"trials": len(run.trials()), "costs": best["costs"], "delivered": best["delivered"], **division, **seconds}


def main() -> None:
    """Make the graph, search, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("workers", 2), ("children", 200), ("updates", 150), ("epochs", 30), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    dataset = Made().write(BUILD / "made-pubmed.npz")
    print(json.dumps(measured(dataset, BUILD, parser.parse_args()), indent=2))


if __name__ == "__main__":
    main()
