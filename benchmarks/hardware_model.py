"""Hold the resource model against synthesis: held-out designs, whole tops, both families.

Run by `make bench-model`. Designs are those of `fgnas sample --seed 4242`, whatever the points were that the model was
fitted to. Each synthesis is kept, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from fgnas.codegen.rtl import write_rtl
from fgnas.hardware.devices import FAMILIES
from fgnas.hardware.geometry import GraphShape
from fgnas.hardware.pricing import design_resources
from fgnas.space import fgnas_space
from fgnas.tools.characterise import random_accelerator
from fgnas.tools.synth import TOP, instance_totals, synthesise, tidy

SEED = 4242
SHAPE = GraphShape(1433, 7, 3072, 256)
"""Cora."""
NAMES = ("lut", "ff", "dsp", "bram36")
COMMAND = "make bench-model"


def measure(index: int, family: str, folder: Path) -> dict[str, Any]:
    """Synthesised and predicted resources of held-out design `index`."""
    space = fgnas_space()
    row = space.draw(index + 1, np.random.default_rng(SEED))[index]
    budget = int(np.random.default_rng([SEED, index]).integers(0, 100))
    design = space.design(row, budget)
    place = folder / f"{family}-{index}.json"
    if not place.is_file():
        project = folder / f"{family}-{index}"
        write_rtl(random_accelerator(design, SHAPE, index), project)
        result = synthesise(["-f", "files.f"], TOP, family, project / "rtl", project / "log")
        instances = instance_totals(result["modules"], TOP)
        place.write_text(json.dumps({"design": design.to_dict(), "tool": result["version"], "instances": instances}))
    kept = json.loads(place.read_text(encoding="utf-8"))
    return {
        "design": design.hash,
        "index": index,
        "family": family,
        "tool": kept["tool"],
        "synthesised": {name: kept["instances"][TOP][name] for name in NAMES},
        "predicted": {name: tidy(design_resources(design, SHAPE, family))[name] for name in NAMES},
    }


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Relative errors of each resource: median, mean and worst; and how many are exact."""
    result: dict[str, Any] = {}
    for name in NAMES:
        used = np.array([row["synthesised"][name] for row in rows], float)
        guess = np.array([row["predicted"][name] for row in rows], float)
        error = np.abs(guess - used) / np.maximum(used, 1)
        result[name] = {
            "median": float(np.median(error)), "mean": float(error.mean()), "worst": float(error.max()),
            "exact": int((guess == used).sum()),
        }  # fmt: skip
    return result


def main() -> None:
    """Measure, then write docs/results/hardware-model.{md,json,svg}."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--families", nargs="+", default=list(FAMILIES))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path("build/hardware-model"))
    parser.add_argument("--results", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    jobs = [(index, family) for family in options.families for index in range(options.count)]
    rows = []
    with ThreadPoolExecutor(options.workers) as pool:
        futures = [pool.submit(measure, index, family, options.folder) for index, family in jobs]
        for done, future in enumerate(futures, 1):
            rows.append(future.result())
            print(f"\r{done}/{len(jobs)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    write_results(rows, options)


def write_results(rows: list[dict[str, Any]], options: argparse.Namespace) -> None:
    """The table, the numbers and the picture."""
    families = {family: [row for row in rows if row["family"] == family] for family in options.families}
    summaries = {family: summary(own) for family, own in families.items()}
    lines = [
        "# The resource model against synthesis", "",
        f"`{COMMAND}` wrote this page: {options.count} designs drawn uniformly from the whole space (seed {SEED}, none",
        "of them used to fit the model) for Cora, random weights, a DSP budget of 0 to 99; the whole top is",
        f"synthesised with {rows[0]['tool']}, hierarchy kept, and counted as",
        "[the accelerator](../accelerator.md) defines.", "",
        "| family | resource | median error | mean error | worst error | exact |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for family, found in summaries.items():
        for name, error in found.items():
            cells = " | ".join(f"{100 * error[key]:.1f} %" for key in ("median", "mean", "worst"))
            lines.append(f"| {family} | {name} | {cells} | {error['exact']} of {len(families[family])} |")
    lines += ["", "![predicted against synthesised](hardware-model.svg)", ""]
    options.results.mkdir(parents=True, exist_ok=True)
    (options.results / "hardware-model.md").write_text("\n".join(lines), encoding="utf-8")
    document = {"command": COMMAND, "seed": SEED, "summary": summaries, "designs": rows}
    (options.results / "hardware-model.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    (options.results / "hardware-model.svg").write_text(scatter(families), encoding="utf-8")
    print("\n".join(lines[6:-3]))
    print(options.results / "hardware-model.md")


def scatter(families: dict[str, list[dict[str, Any]]], size: int = 320) -> str:
    """Predicted over synthesised, one panel each for LUTs and FFs, logarithmic, as SVG."""
    colours = dict(zip(families, ("#1f77b4", "#d62728"), strict=False))
    parts = []
    for panel, name in enumerate(("lut", "ff")):
        every = [row for rows in families.values() for row in rows]
        values = [row[kind][name] for row in every for kind in ("synthesised", "predicted")]
        low, high = np.log10(min(values)) - 0.05, np.log10(max(values)) + 0.05
        left, top = 60 + panel * (size + 80), 40

        def place(value: float, low: float = low, high: float = high) -> float:
            return float((np.log10(value) - low) / (high - low) * size)

        parts.append(f'<rect x="{left}" y="{top}" width="{size}" height="{size}" fill="none" stroke="#888"/>')
        parts.append(f'<line x1="{left}" y1="{top + size}" x2="{left + size}" y2="{top}" stroke="#888"/>')
        parts.append(f'<text x="{left + size / 2}" y="{top - 12}" text-anchor="middle">{name.upper()}</text>')
        parts.append(f'<text x="{left + size / 2}" y="{top + size + 38}" text-anchor="middle">synthesised</text>')
        for tick in (1000, 2000, 5000, 10000, 20000, 50000, 100000):
            if low < np.log10(tick) < high:
                x, y = left + place(tick), top + size - place(tick)
                parts.append(f'<text x="{x:.0f}" y="{top + size + 18}" text-anchor="middle">{tick}</text>')
                parts.append(f'<text x="{left - 6}" y="{y + 4:.0f}" text-anchor="end">{tick}</text>')
        for family, rows in families.items():
            for row in rows:
                x = left + place(row["synthesised"][name])
                y = top + size - place(row["predicted"][name])
                parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colours[family]}" fill-opacity="0.7"/>')
    for number, (family, colour) in enumerate(colours.items()):
        parts.append(f'<text x="{70 + 60 * number}" y="60" fill="{colour}">{family}</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * size + 160}" height="{size + 100}"'
    return "\n".join([f'{head} font-family="sans-serif" font-size="12">', *parts, "</svg>", ""])


if __name__ == "__main__":
    main()
