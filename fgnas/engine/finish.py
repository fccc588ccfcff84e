"""The end of a search: leaders retrained with fresh seeds, one chosen, fine-tuned, its test accuracy read once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from fgnas.design import Design
from fgnas.engine.evaluator import CoDesign
from fgnas.engine.loop import PRICES
from fgnas.engine.store import RunStore
from fgnas.network import Network
from fgnas.networks.quantised import quantised_accuracy
from fgnas.networks.training import Trained, float_accuracy


def spread(values: list[float]) -> dict[str, Any]:
    """Mean, sample standard deviation, and the values themselves."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return {"mean": float(np.mean(values)), "std": deviation, "values": values}


class Leaders:
    """Retrained designs.

    A lucky seed is chosen by any search over one seed, so the leaders compete again on fresh ones: ranked by mean
    quantised validation accuracy, each keeping the network of its best seed. What they keep is fine-tuned with the
    roundings of its design; of the winner every seed is, so that its spread is that of what is delivered.
    """

    def __init__(self, evaluator: CoDesign, trials: list[dict[str, Any]], seeds: int) -> None:
        self.evaluator, self.seeds = evaluator, seeds
        self.trials = {trial["design_hash"]: trial for trial in trials}
        self.designs = {name: Design.from_dict(trial["design"]) for name, trial in self.trials.items()}
        self.networks: dict[str, list[Trained]] = {}
        self.val: dict[str, list[float]] = {name: [] for name in self.designs}
        # By design and place of the seed: validation accuracy after fine-tuning, and the network.
        self.tuned: dict[str, dict[int, tuple[float, Network]]] = {name: {} for name in self.designs}

    def retrain(self, report: Callable[[int, int], None] = lambda done, total: None) -> None:
        """Train every architecture once a seed, and score all its designs with each."""
        groups: dict[str, list[Design]] = {}
        for design in self.designs.values():
            groups.setdefault(design.architecture_hash, []).append(design)
        for done, seed in enumerate(range(1, self.seeds + 1), 1):
            jobs = [self.evaluator.job(designs, seed) for designs in groups.values()]
            for (name, designs), result in zip(groups.items(), self.evaluator.run(jobs), strict=True):
                self.networks.setdefault(name, []).append(result.trained)
                for design, val in zip(designs, result.val, strict=True):
                    self.val[design.hash].append(val)
            report(done, self.seeds + 1)  # fine-tuning is one round more

    def fine_tune(self, report: Callable[[int, int], None] = lambda done, total: None) -> None:
        """Train on with the roundings of each design: of the winner every seed's network, of others the best."""
        winner = self.ranking()[0]
        kept = [
            (name, place)
            for name, val in self.val.items()
            for place in (range(self.seeds) if name == winner else [int(np.argmax(val))])
        ]
        jobs = []
        for name, place in kept:
            design = self.designs[name]
            trained = self.networks[design.architecture_hash][place]
            jobs.append(replace(self.evaluator.job([design], place + 1, trained), tune=True))
        for (name, place), result in zip(kept, self.evaluator.run(jobs), strict=True):
            self.tuned[name][place] = (result.val[0], result.tuned[0])
        report(self.seeds + 1, self.seeds + 1)

    def ranking(self) -> list[str]:
        """Design hashes, best mean first; the earlier trial of equals first."""
        return sorted(self.designs, key=lambda name: (-float(np.mean(self.val[name])), self.trials[name]["trial"]))

    def deliver(self, store: RunStore) -> dict[str, Any]:
        """Write the leaders, their weights and the best of them; only now are test nodes looked at, for it alone."""
        ranking = self.ranking()
        entries = [self._entry(store, rank, name) for rank, name in enumerate(ranking, 1)]
        store.write_json("leaders.json", entries)
        best = entries[0] | self._delivered(ranking[0], entries[0]["repetition"] - 1)
        store.write_json("best.json", best)
        searched = {trial["architecture_hash"] for trial in self.trials.values()}
        stored = {entry["weights"].removeprefix("children/").removesuffix(".npz") for entry in entries}
        store.keep_networks(searched | stored)
        return best

    def _entry(self, store: RunStore, rank: int, name: str) -> dict[str, Any]:
        trial, design = self.trials[name], self.designs[name]
        # The earlier seed of equals.
        place = max(self.tuned[name], key=lambda place: (self.tuned[name][place][0], -place))
        repetition, (tuned_val, network) = place + 1, self.tuned[name][place]
        weights, sha256 = store.save_network(f"{name}-{repetition}", network)
        return {
            "rank": rank,
            "design": design.to_dict(),
            "design_hash": name,
            "dataset": self.evaluator.data.name,
            "fingerprint": self.evaluator.data.fingerprint,
            "weights": weights,
            "sha256": sha256,
            "repetition": repetition,
            "seed": self.evaluator.job([design], repetition).seed,
            "trial": trial["trial"],
            "searched_val": trial["val"],
            "val": spread(self.val[name]),
            "tuned_val": tuned_val,
            "prices": {price: trial[price] for price in PRICES},
        }

    def _delivered(self, name: str, place: int) -> dict[str, Any]:
        """Accuracies of the winner: of the network that is delivered, and over its seeds."""
        design, data = self.designs[name], self.evaluator.data
        networks = [self.tuned[name][seed][1] for seed in range(self.seeds)]
        quantised = [quantised_accuracy(design, network, data) for network in networks]
        exact = [float_accuracy(design.architecture(), network, data) for network in networks]
        return {
            "specification": self.evaluator.specification.to_dict(),
            "delivered": {"float": exact[place], "quantised": quantised[place]},
            "retrained": {
                "seeds": [self.evaluator.job([design], seed).seed for seed in range(1, self.seeds + 1)],
                "float": {split: spread([each[split] for each in exact]) for split in ("val", "test")},
                "quantised": {split: spread([each[split] for each in quantised]) for split in ("val", "test")},
            },
        }
