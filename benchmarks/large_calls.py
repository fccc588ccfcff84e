"""A plain network on a made graph that no array holds, as calls: cycles of C++ and RTL beside the pipeline's; what its
price and its project take for a graph ten times as large; a search on the first graph; and the price on a graph of
Reddit's published size."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import RESULTS, read_record, render, write_page, write_record

NAME = "large-calls"
FOLDER = Path(__file__).parent.parent / "build" / NAME
FEATURES, CLASSES, HIDDEN, MULTIPLIERS, BEAT_BITS = 64, 4, 16, 64, 512
NODES, EDGES, SEED = 100_000, 600_000, 7
LARGEST, LARGEST_EDGES = 1_000_000, 5_000_000
"""A graph whose project is written and not simulated."""
EXPONENT = 1.2
"""Exponent of the Pareto law that the weights of one end of the edges follow."""
CHILDREN, LEADERS, MILLISECONDS = 20, 4, 100
"""The budget of the search on the first graph, and its limit of latency."""
PUBLISHED, PUBLISHED_EDGES, PUBLISHED_FEATURES, PUBLISHED_CLASSES = 232_965, 114_615_892, 602, 41
"""Reddit's nodes, edges, features and classes, as PyG's table of datasets has them (Hamilton et al., 2017)."""


def write_graph(path: Path, nodes: int, edges: int, seed: int) -> None:
    """A graph with so many edges, both ways, one end drawn by a power law; all features are dense."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, CLASSES, nodes)
    weight = np.minimum(rng.pareto(EXPONENT, nodes) + 1, np.sqrt(nodes))
    edge_index = _edges(rng, weight / weight.sum(), edges // 2)
    x = rng.normal(size=(nodes, FEATURES)).astype(np.float32) + 2 * np.eye(CLASSES, FEATURES, dtype=np.float32)[y]
    part = rng.permutation(nodes) % 10
    masks = {"train_mask": part == 0, "val_mask": (part == 1) | (part == 2), "test_mask": part > 2}
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, x=x, y=y, edge_index=edge_index, **masks)


def _edges(rng: np.random.Generator, share: NDArray[np.float64], pairs: int) -> NDArray[np.int64]:
    """[2, 2 * pairs] edges, none twice and none to itself."""
    nodes, found = len(share), np.zeros(0, np.int64)
    while len(found) < pairs:
        one, other = rng.choice(nodes, 2 * pairs, p=share), rng.integers(0, nodes, 2 * pairs)
        low, high = np.minimum(one, other), np.maximum(one, other)
        found = np.unique(np.concatenate([found, (low * nodes + high)[low != high]]))
    low, high = np.divmod(rng.permutation(found)[:pairs], nodes)
    return np.stack([np.concatenate([low, high]), np.concatenate([high, low])])


def run(*words: str) -> dict[str, Any]:
    """A command's JSON with its seconds, its processor seconds and its largest memory in MB."""
    begun = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        command = [sys.executable, "-m", "fgnas", *words, "--json", "--quiet"]
        process = subprocess.Popen(command, cwd=FOLDER, stdout=output)
        _, status, used = os.wait4(process.pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0, words
        output.seek(0)
        found = dict(json.loads(output.read()))
    return found | {"seconds": round(time.perf_counter() - begun),
                    "processor_s": round(used.ru_utime + used.ru_stime),
                    "memory_mb": round(used.ru_maxrss / 1024)}  # fmt: skip


def written(nodes: int, edges: int, seed: int) -> dict[str, Any]:
    """The pipeline's price and the array's project, and what both took."""
    write_graph(FOLDER / "graph.npz", nodes, edges, seed)
    run("design", "gcn", str(HIDDEN), "--out", "gcn.json")
    pipeline = run("price", "gcn.json", "--dataset", "graph.npz")
    size = ("--multipliers", str(MULTIPLIERS), "--beat-bits", str(BEAT_BITS))
    project = run("hls", "gcn.json", "--dataset", "graph.npz", "--target", "array", *size, "--out", "project")
    price = json.loads((FOLDER / "project/report/price.json").read_text(encoding="utf-8"))
    return {
        "nodes": nodes, "edges": edges, "seed": seed, "pipeline": pipeline["latency_cycles"],
        "calls": price.get("calls", 1), "predicted": price["latency_cycles"],
        **{name: price[name] for name in ("multiplications", "lut", "ff", "dsp", "bram36")},
        "steps": taken({"price": pipeline, "hls": project}),
    }  # fmt: skip


def by_degrees(nodes: int, edges: int, seed: int) -> dict[str, Any]:
    """The pipeline's price on a graph of which the degrees are known alone; they are drawn by the power law."""
    rng = np.random.default_rng(seed)
    weight = np.minimum(rng.pareto(EXPONENT, nodes) + 1, np.sqrt(nodes))
    degrees = rng.multinomial(edges, weight / weight.sum())
    FOLDER.mkdir(parents=True, exist_ok=True)
    np.savez(FOLDER / "degrees.npz", degrees=degrees, features=PUBLISHED_FEATURES, classes=PUBLISHED_CLASSES)
    run("design", "gcn", str(HIDDEN), "--out", "gcn.json")
    price = run("price", "gcn.json", "--degrees", "degrees.npz")
    kept = ("latency_cycles", "multiplications", "multipliers", "lut", "ff", "dsp", "bram36", "memory_bytes")
    return {"nodes": nodes, "edges": edges, "seed": seed, "largest": int(degrees.max()),
            "features": PUBLISHED_FEATURES, "classes": PUBLISHED_CLASSES, **{name: price[name] for name in kept},
            "steps": taken({"price": price})}  # fmt: skip


def taken(steps: dict[str, dict[str, Any]]) -> dict[str, dict[str, int]]:
    """What commands took."""
    return {name: {key: one[key] for key in ("seconds", "processor_s", "memory_mb")} for name, one in steps.items()}


def measured(nodes: int, edges: int, seed: int) -> dict[str, Any]:
    """`written`, and all calls of the project in C++ and RTL."""
    record = written(nodes, edges, seed)
    steps = {"csim": run("csim", "project"), "sim": run("sim", "project")}
    record["steps"] |= taken(steps)
    cpp, rtl = steps["csim"], steps["sim"]
    assert rtl["cycles"] == rtl["predicted_cycles"] == record["predicted"]
    return record | {"logits": rtl["logits"], "cycles": rtl["cycles"],
                     "mismatches": [cpp["mismatches"], rtl["mismatches"]]}  # fmt: skip


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    return render(f"{NAME}.md", features=FEATURES, classes=CLASSES, hidden=HIDDEN, multipliers=MULTIPLIERS,
                  port=BEAT_BITS, **record)  # fmt: skip


def searched(nodes: int, edges: int, seed: int) -> dict[str, Any]:
    """A small search for a pipeline on a large graph, and what it took."""
    write_graph(FOLDER / "graph.npz", nodes, edges, seed)
    budget = ("--children", str(CHILDREN), "--leaders", str(LEADERS), "--latency-ms", str(MILLISECONDS))
    best = run("search", "--dataset", "graph.npz", *budget, "--run", f"search-{seed}")
    return {"children": CHILDREN, "leaders": LEADERS, "milliseconds": MILLISECONDS,
            "costs": best["costs"], "test": best["delivered"]["quantised"]["test"],
            "steps": taken({"search": best})}  # fmt: skip


PARTS = ("simulated", "searched", "written", "priced")
"""What is measured, on three graphs."""


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, help="one of these; default: all")
    options = parser.parse_args()
    record = read_record(NAME) if (RESULTS / f"{NAME}.json").is_file() else {}
    wanted = PARTS if options.only is None else (options.only,)
    if "simulated" in wanted:
        record |= measured(NODES, EDGES, SEED)
    if "searched" in wanted:
        record["search"] = searched(NODES, EDGES, SEED)
    if "written" in wanted:
        record["larger"] = written(LARGEST, LARGEST_EDGES, SEED)
    if "priced" in wanted:
        record["published"] = by_degrees(PUBLISHED, PUBLISHED_EDGES, SEED)
    write_record(NAME, record)
    write_page(f"{NAME}.md", page(record))


if __name__ == "__main__":
    main()
