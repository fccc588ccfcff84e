"""Mappings: the published figures of MaGNAS, computed again, and the exact front beside searched ones.

Run by `make bench-mapping`.
"""

from __future__ import annotations

import time
import tomllib
from pathlib import Path
from platform import python_version
from typing import Any

import numpy as np
from pages import render, write_page, write_record
from scipy.optimize import lsq_linear

from fgnas import pareto
from fgnas.engine.run import cpu_name
from fgnas.mapping.baselines import METHODS
from fgnas.mapping.chain import Chain, shares, transitions
from fgnas.mapping.exact import Limits, exact_front
from fgnas.mapping.platform import find_platform

PUBLISHED: dict[str, Any] = tomllib.loads(Path(__file__).with_name("magnas.toml").read_text(encoding="utf-8"))
COMMAND = "make bench-mapping"
GPU, DLA = 0, 1
MODELS = ("b0", "b1", "b2", "b3", "a3")
FITTED = ("stem", "head", "sage", "gin", "ffn", "transition")
SEEDS = 5
BUDGETS = (200, 500, 1000, 2000, 5000)
REPEATS = 7


def main() -> None:
    """Compute everything, then write docs/results/mapping.{md,json}."""
    machine = f"{cpu_name()}, Python {python_version()}"
    record = {
        "command": COMMAND, "machine": machine, "headline": headline(), "fit": fit(rows()),
        "left_out": left_out(), "mappings": mappings(), "front": len(exact_front(xavier("a3")).costs),
        "shares": gpu_shares(), "searched": searched(), "granularity": granularity(), "speed": speed(),
    }  # fmt: skip
    write_record("mapping", record)
    write_page("mapping.md", page(record))


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    return render("mapping.md", published=PUBLISHED, **record)


def xavier(model: str) -> Chain:
    return find_platform("xavier").chain(model)


def dataflows(granularity: Any) -> Chain:
    """The three accelerators' network, charged as in eq. 6 of the paper."""
    return find_platform("dataflows").chain("pyramid-vig-m", granularity).without_shortcuts()


def headline() -> dict[str, list[float]]:
    """Mean latency and energy of b0 on one unit over the mean of the paper's sixteen mapped models (Table 2)."""
    ours = np.mean(PUBLISHED["ours"]["mapped"], axis=0)
    return {unit: (np.array(PUBLISHED["baselines"]["b0"][unit]) / ours).tolist() for unit in ("gpu", "dla")}


Row = tuple[str, dict[str, int], tuple[float, float], tuple[float, float]]
"""Name, number of steps of each kind on the DLA and of transitions, published cost, and the model's cost on the GPU."""


def rows() -> list[Row]:
    """The measurements that identify costs of steps: six mappings of Table 3, and b2 and b3 on the DLA."""
    found: list[Row] = []
    gpu = PUBLISHED["mappings"]["gpu"]["cost"]
    kinds = find_platform("xavier").steps_of("a3")
    for name, row in PUBLISHED["mappings"].items():
        on_dla = np.array([unit == "D" for unit in row["units"]])
        counts = {kind: int(sum(on_dla[place] for place, one in enumerate(kinds) if one == kind)) for kind in FITTED}
        counts["transition"] = int(transitions(on_dla[None].astype(np.int8))[0])
        if name != "gpu":
            found.append((name, counts, tuple(row["cost"]), tuple(gpu)))
    for name in ("b2", "b3"):
        row = PUBLISHED["baselines"][name]
        steps = find_platform("xavier").steps_of(name)
        counts = {kind: steps.count(kind) for kind in FITTED}
        found.append((name, counts, tuple(row["dla"]), tuple(row["gpu"])))
    return found


def fit(known: list[Row]) -> dict[str, list[float]]:
    """DLA minus GPU of each kind of step, and a transition, which costs nothing or more: [ms, mJ], least squares."""
    matrix = np.array([[counts[kind] for kind in FITTED] for _, counts, _, _ in known], float)
    gains = np.array([np.subtract(cost, gpu) for _, _, cost, gpu in known])
    lowest = [0.0 if kind == "transition" else -np.inf for kind in FITTED]
    found = [lsq_linear(matrix, gains[:, which], (lowest, np.inf), tol=1e-14).x.round(4).tolist() for which in (0, 1)]
    return {kind: list(pair) for kind, pair in zip(FITTED, zip(*found, strict=True), strict=True)}


def predicted(row: Row, costs: dict[str, list[float]]) -> list[float]:
    """A row's cost by fitted costs."""
    _, counts, _, gpu = row
    return (np.array(gpu) + sum(counts[kind] * np.array(costs[kind]) for kind in FITTED)).tolist()


def left_out() -> list[dict[str, Any]]:
    """Each row with its relative errors by the fit to all rows, and by the fit to the others."""
    known = rows()
    found = []
    for place, row in enumerate(known):
        both = (predicted(row, fit(known)), predicted(row, fit(known[:place] + known[place + 1 :])))
        errors = [(np.array(guess) / row[2] - 1).tolist() for guess in both]
        found.append({
            "name": row[0], "published": row[2], "rebuilt": both[0], "error": errors[0], "left_out": errors[1],
        })  # fmt: skip
    return found


def mappings() -> list[dict[str, Any]]:
    """Table 3: each published mapping by the shipped platform, and the exact best at its latency."""
    chain, found = xavier("a3"), []
    for name, row in PUBLISHED["mappings"].items():
        mapping = np.array([[DLA if unit == "D" else GPU for unit in row["units"]]], np.int8)
        (cost,) = chain.costs(mapping)
        best = exact_front(chain, Limits(time=round(row["cost"][0] * 1e6))).costs
        found.append({
            "name": name, "transitions": int(transitions(mapping)[0]), "published": row["cost"],
            "rebuilt": (cost / 1e6).tolist(), "exact": (best[-1] / 1e6).tolist() if len(best) else None,
        })  # fmt: skip
    return found


def gpu_shares() -> list[float]:
    """Table 4: the GPU's share of the steps by allowed increase of latency, over fronts and models."""
    found = []
    for increase in PUBLISHED["shares"]["increase"]:
        means = []
        for model in MODELS:
            chain = xavier(model)
            bound = int(chain.alone()[GPU][0]) * (100 + increase) // 100
            front = exact_front(chain, Limits(time=bound))
            means.append(shares(front.mappings, len(chain.units))[:, GPU].mean())
        found.append(float(np.mean(means)))
    return found


def searched() -> list[dict[str, Any]]:
    """Hypervolume of searched fronts over the exact one's, below the worst values on one unit; mean and spread."""
    found = []
    chains = {
        "xavier b0": xavier("b0"), "dataflows, blocks": dataflows("block"), "dataflows, layers": dataflows("layer"),
    }  # fmt: skip
    for name, chain in chains.items():
        corner = -np.max(list(chain.alone().values()), axis=0)
        exact = exact_front(chain)
        whole = pareto.hypervolume(-exact.costs, corner)
        for method, search in METHODS.items():
            for budget in BUDGETS:
                fronts = [search(chain, budget, np.random.default_rng(seed), None) for seed in range(SEEDS)]
                volumes = [pareto.hypervolume(-front.costs, corner) / whole for front in fronts]
                found.append({
                    "chain": name, "steps": len(chain.steps), "units": len(chain.units), "points": len(exact.costs),
                    "method": method, "evaluations": budget, "mean": float(np.mean(volumes)),
                    "deviation": float(np.std(volumes, ddof=1)),
                })  # fmt: skip
    return found


def granularity() -> dict[str, float]:
    """The least energy (mJ) at the latency of DSA-y alone, by granularity, and that of DSA-y alone."""
    found = {}
    for name in ("block", "layer"):
        chain = dataflows(name)
        alone = chain.alone()[chain.units.index("y")]
        found[name] = float(exact_front(chain, Limits(time=int(alone[0]))).costs[-1, 1]) / 1e9
    return found | {"alone": float(alone[1]) / 1e9}


def speed() -> list[dict[str, Any]]:
    """Milliseconds of an exact front: the least of some repetitions, on one thread."""
    chains = {
        "xavier a3": xavier("a3"), "xavier b0": xavier("b0"), "dataflows, blocks": dataflows("block"),
        "dataflows, layers": dataflows("layer"),
        "dataflows, layers, shortcuts": find_platform("dataflows").chain("pyramid-vig-m", "layer"),
    }  # fmt: skip
    found = []
    for name, chain in chains.items():
        times = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            front = exact_front(chain)
            times.append(time.perf_counter() - start)
        found.append({
            "chain": name, "steps": len(chain.steps), "units": len(chain.units), "points": len(front.costs),
            "ms": min(times) * 1000,
        })  # fmt: skip
    return found


if __name__ == "__main__":
    main()
