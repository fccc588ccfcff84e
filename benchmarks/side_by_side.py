"""Networks trained side by side compared with the same ones trained one by one with torch: accuracies and time."""

from __future__ import annotations

import argparse
import functools
import time
from typing import Any

import numpy as np
import torch
from common import options_of
from pages import render, write_page, write_record
from tables import TABLE_IV, name_of

from fgnas.engine.jobs import process_pool
from fgnas.engine.statistics import difference
from fgnas.networks.model import Architecture
from fgnas.networks.training import (
    Trained,
    child_seed,
    float_accuracy,
    recipe_for,
    train_many,
    train_with_torch,
)
from fgnas.systems.fgnas import compose
from fgnas.tasks.nodes import load

ROW = TABLE_IV[11]
TOGETHER = 5
"""Networks of a bundle, about as many as a batch of a search gives a worker at once."""


def architectures(count: int) -> list[Architecture]:
    """Distinct random architectures for which some hardware keeps the limits."""
    parts = compose(options_of(*ROW, target="solved-cycles"))
    rng, found = np.random.default_rng(0), {}
    while len(found) < count:
        rows = parts.space.draw(200, rng)
        for row in rows[parts.feasible(rows)]:
            candidate = parts.space.candidate(row)
            found.setdefault(candidate.training_key, candidate.architecture())
    return list(found.values())[:count]


def trained(dataset: str, task: tuple[list[Architecture], int, bool]) -> dict[str, Any]:
    """Accuracies of the architectures with one seed, and the seconds of their training."""
    torch.set_num_threads(1)
    chosen, seed, bundled = task
    data, recipe = load(dataset), recipe_for(dataset)
    seeds = [child_seed(seed, architecture) for architecture in chosen]
    begun, found = time.process_time(), []
    for start in range(0, len(chosen), TOGETHER):
        some, own = chosen[start : start + TOGETHER], seeds[start : start + TOGETHER]
        if bundled:
            found += train_many(data, some, own, recipe, seed)
        else:
            found += [train_with_torch(data, one, mine, recipe) for one, mine in zip(some, own, strict=True)]
    seconds = time.process_time() - begun
    return {"seconds": seconds, **_accuracies(dataset, chosen, found)}


def _accuracies(dataset: str, chosen: list[Architecture], found: list[Trained]) -> dict[str, list[float]]:
    """[architectures] float accuracies on the validation and the test nodes."""
    data = load(dataset)
    both = [float_accuracy(one, each.network, data) for one, each in zip(chosen, found, strict=True)]
    return {split: [one[split] for one in both] for split in ("val", "test")}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Both ways, seed by seed."""
    dataset, chosen = ROW[0], architectures(options.architectures)
    tasks = [(chosen, seed, bundled) for seed in range(options.seeds) for bundled in (True, False)]
    with process_pool(options.workers)() as pool:
        pool.submit(trained, dataset, (chosen[:1], 0, True)).result()  # compile
        found = list(pool.map(functools.partial(trained, dataset), tasks))
    ways = {"side by side": found[::2], "one by one": found[1::2]}
    result: dict[str, Any] = {
        "row": name_of(ROW), "architectures": len(chosen), "seeds": options.seeds, "together": TOGETHER,
        "seconds": {way: sum(one["seconds"] for one in each) for way, each in ways.items()},
    }  # fmt: skip
    for split in ("val", "test"):
        # [architectures][seeds]: the architectures are drawn, and then seeds of each.
        by_way = {way: np.array([one[split] for one in each]).T.tolist() for way, each in ways.items()}
        result[split] = {way: float(np.mean(values)) for way, values in by_way.items()}
        gaps = np.array(by_way["side by side"]) - np.array(by_way["one by one"])
        result[f"{split}_gap"] = difference(gaps.tolist(), np.zeros_like(gaps).tolist())
    return result


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    return render("side-by-side.md", **record)


def main() -> None:
    """Measure, and write the record and its page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--architectures", type=int, default=30)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    result = measure(parser.parse_args())
    write_record("side-by-side", result)
    write_page("side-by-side.md", page(result))


if __name__ == "__main__":
    main()
