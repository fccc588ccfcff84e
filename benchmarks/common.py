"""What the benchmarks of the search share: runs without a terminal, in numbers, and a record of them that can go on."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from memory import SCORING, Sharing, digest
from pages import RESULTS, read_record, write_record

from fgnas.engine.run import SearchConfig, search
from fgnas.engine.store import RunStore
from fgnas.errors import UserError
from fgnas.hardware.pipeline.pricing import Pricer
from fgnas.systems.fgnas.space import find_space
from fgnas.tasks.nodes import load

BLOCK = 10
"""Children that one point of a learning curve is the mean of."""


class Silent:
    """Reports nothing."""

    def surveyed(self, survey: Any) -> None:
        """Before the first draw."""

    def searched(self, status: Any) -> None:
        """After every batch."""

    def retrained(self, done: int, total: int) -> None:
        """After every seed."""


def run(config: SearchConfig, sharing: Sharing) -> dict[str, Any]:
    """One search, in numbers; its error where it cannot end."""
    data, begun = load(config.dataset), time.perf_counter()
    with TemporaryDirectory() as folder:
        store = RunStore.create(Path(folder), "run", {})
        try:
            best = search(config, data, lambda: store, lambda: sharing, Silent())
        except UserError as error:
            best, reason = None, str(error)
        trials = store.trials()
        batches = (store.folder / "timings.jsonl").read_text().splitlines() if trials else []
        sampling = sum(json.loads(line)["sampling_s"] for line in batches)
    result = curve(trials) | {"seconds": time.perf_counter() - begun, "sampling_s": sampling}
    if best is None:
        return result | {"error": reason}
    retrained = best["retrained"]
    return result | {
        "test": retrained["quantised"]["test"]["values"],
        "float_test": retrained["float"]["test"]["values"],
        "delivered_test": best["delivered"]["quantised"]["test"],
        "prices": best["prices"],
        "design": best["design"],
    }


def curve(trials: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean validation accuracy at both ends of a search, and the share of its draws that were feasible."""
    if not trials:
        return {"children": 0}
    val, draws = np.array([trial["val"] for trial in trials]), np.array([0, *(trial["draws"] for trial in trials)])
    fifth = max(1, len(trials) // 5)
    return {
        "children": len(trials),
        "trainings": sum(trial["trained"] for trial in trials),
        "draws": int(draws[-1]),
        "first_50": float(val[:50].mean()),
        "last_fifth": float(val[-fifth:].mean()),
        "mean": float(val.mean()),
        "best": float(val.max()),
        "blocks": [round(float(block.mean()), 4) for block in np.split(val, range(BLOCK, len(val), BLOCK))],
        "share_first_fifth": float(fifth / draws[fifth]),
        "share_last_fifth": float(fifth / max(1, draws[-1] - draws[-1 - fifth])),
    }


def code_version() -> str:
    """Names what results depend on: the hardware model, the children and the searchers, tables included."""
    return digest(("hardware", "networks", "engine", "searchers"))


SEARCHING = ("engine", "searchers")
"""Packages that decide what a search draws and chooses."""


def behaviour() -> str:
    """Names what searches on Cora and CiteSeer depend on, the hardware model by the prices that it gives."""
    parts = (*SCORING, "networks/finetuning.py", *SEARCHING)
    found = hashlib.sha256(digest(parts).encode())
    space = find_space("fgnas")
    columns = space.columns(space.draw(5_000, np.random.default_rng(0)))
    for dataset in ("cora", "citeseer"):
        prices = Pricer(load(dataset)).price(columns, 100)
        for values in (prices.latency_cycles, prices.lut, prices.ff, prices.dsp):
            found.update(values.astype(np.int64).tobytes())
    return found.hexdigest()[:12]


class Record:
    """Results by name in docs/results/NAME.json, written after each one, so that an interrupted benchmark can continue.

    Results that other code gave are dropped: a table must not mix two versions. `version` names the code; by default
    it is that of the whole search.
    """

    def __init__(self, name: str, version: str | None = None) -> None:
        self.name, version = name.removesuffix(".json"), version or code_version()
        exists = (RESULTS / f"{self.name}.json").is_file()
        self.results: dict[str, Any] = read_record(self.name) if exists else {}
        if self.results.get("code") != version:
            self.results = {"code": version}

    def fill(self, key: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The result of that name, made if it is missing."""
        if key not in self.results:
            print(key, flush=True)
            self.note(**{key: make()})
        return self.results[key]

    def note(self, **facts: Any) -> None:
        """Store facts, such as the options of the benchmark, beside the results."""
        self.results = dict(sorted((self.results | facts).items()))
        write_record(self.name, self.results)
