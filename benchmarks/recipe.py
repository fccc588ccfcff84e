"""Recipes of training compared on random splits, without the nodes of the public test split."""

from __future__ import annotations

import argparse
import functools
import itertools
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
from common import Record, digest, leading_designs, options_of
from finetuning import SPECIFICATIONS
from memory import Sharing
from pages import render, write_page

from fgnas.engine.jobs import process_pool
from fgnas.engine.statistics import difference
from fgnas.networks.model import Architecture
from fgnas.networks.training import Recipe, child_seed, float_accuracy, recipe_for, train_many
from fgnas.tasks.nodes import GraphData, load

DROPOUTS, EPOCHS, KEPT_BY = (0.5, 0.6), (200, 400), ("accuracy", "loss")
"""The first of each is the recipe of the FGNAS paper's search."""
TRAINED_PER_CLASS, VALIDATED = 20, 500
"""Nodes of a split, as in the public one."""
CODE = ("networks", "network.py")


def split(data: GraphData, seed: int) -> GraphData:
    """Random nodes to train and to validate, and all others that are not in the public test split to judge by."""
    rng = np.random.default_rng(seed)
    masks = {name: np.zeros(len(data.labels), bool) for name in ("train", "val", "test")}
    for label in range(data.classes):
        masks["train"][rng.choice(np.flatnonzero((data.labels == label) & ~data.test), TRAINED_PER_CLASS, False)] = True
    left = rng.permutation(np.flatnonzero(~data.test & ~masks["train"]))
    masks["val"][left[:VALIDATED]] = True
    masks["test"][left[VALIDATED:]] = True
    return replace(data, **masks)


def architectures(dataset: str, count: int, sharing: Sharing) -> list[Architecture]:
    """The architectures that a search on the public split finds best by validation."""
    method = {"method": "evolution", "target": "solved-cycles", "children": 300}
    options = options_of(dataset, SPECIFICATIONS[dataset], leaders=count, retrain_seeds=1, **method)
    return [design.architecture() for design in leading_designs(options, sharing)]


def recipes(dataset: str) -> list[Recipe]:
    """The recipes that are compared."""
    settings = itertools.product(DROPOUTS, EPOCHS, KEPT_BY)
    return [
        replace(recipe_for(dataset), dropout=dropout, epochs=epochs, checkpoint=checkpoint)
        for dropout, epochs, checkpoint in settings
    ]


def judged(dataset: str, chosen: list[Architecture], task: tuple[Recipe, int]) -> list[float]:
    """[architectures] accuracy on the nodes of a split that neither trained nor chose anything."""
    torch.set_num_threads(1)
    recipe, seed = task
    data = _split(dataset, seed)
    seeds = [child_seed(seed, architecture) for architecture in chosen]
    trained = train_many(data, chosen, seeds, recipe, seed)
    return [float_accuracy(one, found.network, data)["test"] for one, found in zip(chosen, trained, strict=True)]


@functools.lru_cache(maxsize=16)
def _split(dataset: str, seed: int) -> GraphData:
    return split(load(dataset), seed)


def measure(dataset: str, options: argparse.Namespace) -> dict[str, Any]:
    """For every recipe [splits][architectures] accuracies."""
    with Sharing(options.workers) as sharing:
        chosen = architectures(dataset, options.architectures, sharing)
    tasks = list(itertools.product(recipes(dataset), range(options.splits)))
    with process_pool(options.workers)() as pool:
        found = list(pool.map(functools.partial(judged, dataset, chosen), tasks))
    by_recipe = [found[place : place + options.splits] for place in range(0, len(found), options.splits)]
    return {
        "architectures": chosen,
        "recipes": [
            asdict(recipe) | {"accuracy": values} for recipe, values in zip(recipes(dataset), by_recipe, strict=True)
        ],
    }


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    tables = []
    for dataset in SPECIFICATIONS:
        result = record.get(dataset)
        if result is None:
            continue
        first = np.array(result["recipes"][0]["accuracy"]).mean(1)
        rows = []
        for one in result["recipes"]:
            means = np.array(one["accuracy"]).mean(1)
            gain = difference([[value] for value in means - first], [[0.0]] * len(first))
            deviation = np.array(one["accuracy"]).std(0).mean()
            rows.append(one | {"mean": means.mean(), "deviation": deviation, "gain": gain})
        count = {"architectures": len(result["architectures"]), "splits": len(first)}
        tables.append({"dataset": dataset, "rows": rows, **count})
    return render("recipe.md", tables=tables, validated=VALIDATED, per_class=TRAINED_PER_CLASS)


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--architectures", type=int, default=16)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    record = Record("recipe", digest(CODE))
    for dataset in SPECIFICATIONS:
        record.fill(dataset, lambda dataset=dataset: measure(dataset, options))  # type: ignore[misc]
    write_page("recipe.md", page(record.results))


if __name__ == "__main__":
    main()
