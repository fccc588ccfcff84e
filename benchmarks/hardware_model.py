"""Hold the resource model against synthesis: held-out designs and designs near a constraint, whole tops.

Run by `make bench-model`. Designs are those of `fgnas sample --seed 4242`, whatever the points were that the model was
fitted to, and designs that the model puts just below a limit. Each synthesis is kept, so that a run that was stopped
goes on where it was; the page is written anew from whatever there is.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from fgnas.backends.rtl import write_rtl
from fgnas.design import Design
from fgnas.hardware.devices import FAMILIES
from fgnas.hardware.pipeline.binding import bind_multipliers
from fgnas.hardware.pipeline.geometry import GraphShape, geometry
from fgnas.hardware.pipeline.pricing import design_resources
from fgnas.hardware.pipeline.resources import resources
from fgnas.paths import templates_directory
from fgnas.space import fgnas_space
from fgnas.tools.characterise import random_accelerator, rtl_digest
from fgnas.tools.synth import TOP, instance_totals, synthesise, tidy

SEED, NEAR_SEED = 4242, 777
SHAPE = GraphShape(1433, 7, 3072, 256)
"""Cora."""
NAMES = ("lut", "ff", "dsp", "bram36")
DESIGNS = 40
COMMAND = "make bench-model"
LIMIT, DSP_LIMIT, NEAR = 10_000, 100, 0.05
"""Of LUTs and of FFs, as in half the rows of the paper's Table IV; of DSPs; and how near below it counts as near."""
NEAR_DRAWS = 200_000
BY_HAND = "## Best designs"
"""Heading of the part of the page that other commands' figures stand in."""
MARGIN = 1.1
"""The guard band over the held-out designs' worst error."""


def held_out_designs(count: int) -> list[Design]:
    """The first of what `fgnas sample --seed 4242 -n 40` draws, each with a DSP budget of its own."""
    space, rows = fgnas_space(), fgnas_space().draw(DESIGNS, np.random.default_rng(SEED))
    budgets = np.random.default_rng([SEED, 1]).integers(0, 100, DESIGNS).tolist()
    return [space.design(row, budget) for row, budget in zip(rows[:count], budgets[:count], strict=True)]


def near_designs(count: int, family: str) -> list[Design]:
    """Uniform draws that the model puts within LIMIT of LUTs and FFs, and the larger of both near it."""
    space, rng = fgnas_space(), np.random.default_rng(NEAR_SEED)
    rows = space.draw(NEAR_DRAWS, rng)
    layers = geometry(space.columns(rows), SHAPE)
    priced = resources(layers, bind_multipliers(layers, np.full(NEAR_DRAWS, DSP_LIMIT)), SHAPE, family)
    largest = np.maximum(priced.lut, priced.ff)
    chosen = np.flatnonzero((largest <= LIMIT) & (largest > (1 - NEAR) * LIMIT))[:count]
    return [space.design(row, DSP_LIMIT) for row in rows[chosen]]


def measure(design: Design, family: str, folder: Path) -> dict[str, Any]:
    """Synthesised and predicted resources of a design with random weights."""
    rtl = sorted(path.name for path in (templates_directory() / "rtl").iterdir())
    name = f"{family}-{design.hash}-{rtl_digest(rtl)}"
    place = folder / f"{name}.json"
    if not place.is_file():
        project = folder / "projects" / name
        write_rtl(random_accelerator(design, SHAPE, SEED), project)
        result = synthesise(["-f", "files.f"], TOP, family, project / "rtl", project / "log")
        instances = instance_totals(result["modules"], TOP)
        place.write_text(json.dumps({"design": design.to_dict(), "tool": result["version"], "instances": instances}))
    kept = json.loads(place.read_text(encoding="utf-8"))
    return {
        "design": design.hash,
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


def feasible_after(rows: list[dict[str, Any]], guard_band: float) -> tuple[int, int]:
    """How many of the designs that the model calls feasible with a guard band synthesis does too, and of how many."""
    called = [row for row in rows if max(row["predicted"][name] for name in ("lut", "ff")) <= (1 - guard_band) * LIMIT]
    return sum(max(row["synthesised"][name] for name in ("lut", "ff")) <= LIMIT for row in called), len(called)


def main() -> None:
    """Measure, then write docs/results/hardware-model.{md,json,svg}."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=DESIGNS, help="held-out designs of each family")
    parser.add_argument("--near", type=int, default=DESIGNS, help="designs near the constraint, of the first family")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path("build/hardware-model"))
    parser.add_argument("--results", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    jobs = [("held out", design, family) for design in held_out_designs(options.count) for family in options.families]
    jobs += [("near", design, options.families[0]) for design in near_designs(options.near, options.families[0])]
    rows: dict[str, list[dict[str, Any]]] = {"held out": [], "near": []}
    with ThreadPoolExecutor(options.workers) as pool:
        futures = [(kind, pool.submit(measure, design, family, options.folder)) for kind, design, family in jobs]
        for done, (kind, future) in enumerate(futures, 1):
            rows[kind].append(future.result())
            print(f"\r{done}/{len(jobs)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    write_results(rows["held out"], rows["near"], options)


def write_results(rows: list[dict[str, Any]], near: list[dict[str, Any]], options: argparse.Namespace) -> None:
    """The table, the numbers and the picture; what was written by hand below a last heading of its own stays."""
    families = {family: [row for row in rows if row["family"] == family] for family in options.families}
    summaries = {family: summary(own) for family, own in families.items()}
    lines = [
        "# The resource model against synthesis", "",
        f"`{COMMAND}` wrote this page. The first {options.count} of {DESIGNS} uniform draws from the whole space",
        f"(`fgnas sample --seed {SEED} -n {DESIGNS}`, none of them used to fit the model) for Cora, with random",
        "weights and a DSP budget of 0 to 99; the whole top",
        f"is synthesised with {rows[0]['tool']}, hierarchy kept, and counted as",
        "[the hardware model](../hardware-model.md) defines.", "",
        "| family | resource | median error | mean error | worst error | exact |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for family, found in summaries.items():
        for name, error in found.items():
            cells = " | ".join(f"{100 * error[key]:.1f} %" for key in ("median", "mean", "worst"))
            lines.append(f"| {family} | {name} | {cells} | {error['exact']} of {len(families[family])} |")
    lines += ["", "![predicted against synthesised](hardware-model.svg)", ""]
    worst = max(summaries[options.families[0]][name]["worst"] for name in ("lut", "ff"))
    guard_band = round(MARGIN * worst, 3)
    if near:
        lines += [
            "## Near a constraint", "",
            f"{len(near)} other uniform draws whose larger predicted use of LUTs or FFs lies up to {100 * NEAR:g} %",
            f"below a limit of {LIMIT:,} ({options.families[0]}, {DSP_LIMIT} DSPs).", "",
            "| guard band | called feasible | feasible after synthesis |", "|---|---|---|",
        ]  # fmt: skip
        for band in (0.0, guard_band):
            held, called = feasible_after(near, band)
            lines.append(f"| {100 * band:.1f} % | {called} | {held} |")
        lines += ["", f"The guard band is {MARGIN} times the worst error of the held-out designs.", ""]
    document = {
        "command": COMMAND, "seed": SEED, "summary": summaries, "guard_band": guard_band, "designs": rows, "near": near,
    }  # fmt: skip
    options.results.mkdir(parents=True, exist_ok=True)
    page = options.results / "hardware-model.md"
    before = page.read_text(encoding="utf-8") if page.is_file() else ""
    kept = before[before.index(BY_HAND) :] if BY_HAND in before else ""
    page.write_text("\n".join([*lines, kept]), encoding="utf-8")
    (options.results / "hardware-model.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    (options.results / "hardware-model.svg").write_text(scatter(families), encoding="utf-8")
    print("\n".join(lines))
    print(page)


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
