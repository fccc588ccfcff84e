"""Compare the resource model with synthesis of whole tops: held-out designs, and designs near a constraint.

`make bench-model` runs it. Held-out designs are those of `fgnas sample --seed 4242`, none of which the model was fitted
to; the others are designs that the model puts just below a limit. Every synthesis is kept in the folder, so that an
interrupted run continues where it stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from pages import render, write_page, write_record

from fgnas.backends.rtl import KERNEL, write_rtl
from fgnas.design import Design
from fgnas.hardware.devices import FAMILIES
from fgnas.hardware.pipeline.binding import bind_multipliers
from fgnas.hardware.pipeline.geometry import geometry
from fgnas.hardware.pipeline.pricing import design_resources
from fgnas.hardware.pipeline.resources import resources
from fgnas.hardware.shape import GraphShape
from fgnas.report import axis
from fgnas.report.chart import Frame, Panel, Series, dots, line
from fgnas.report.figure import figure_svg
from fgnas.systems.fgnas.space import fgnas_space
from fgnas.tools.characterise import code_digest, random_accelerator
from fgnas.tools.synth import instance_totals, synthesise, tidy

SEED, NEAR_SEED = 4242, 777
SHAPE = GraphShape(1433, 7, 3072, 256)
"""Cora."""
NAMES = ("lut", "ff", "dsp", "bram36")
DESIGNS = 40
COMMAND = "make bench-model"
LIMIT, DSP_LIMIT, NEAR = 10_000, 100, 0.05
"""The limit on LUTs and on FFs, as in half the rows of the paper's Table IV; the one on DSPs; the share of the first
limit below which a design is not near it."""
NEAR_DRAWS = 200_000
MARGIN = 1.1
"""The guard band over the held-out designs' worst error."""


def held_out_designs(count: int) -> list[Design]:
    """The first designs of `fgnas sample --seed 4242 -n 40`, each with a DSP budget of its own."""
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
    project = folder / "projects" / f"{family}-{design.hash}"
    files = write_rtl(random_accelerator(design, SHAPE, SEED), project)
    digest = code_digest(path.read_text(encoding="utf-8") for path in files if path.suffix == ".sv")
    place = folder / f"{family}-{design.hash}-{digest}.json"
    if not place.is_file():
        result = synthesise(["-f", "files.f"], KERNEL, family, project / "rtl", project / "log")
        instances = instance_totals(result["modules"], KERNEL)
        place.write_text(json.dumps({"design": design.to_dict(), "tool": result["version"], "instances": instances}))
    kept = json.loads(place.read_text(encoding="utf-8"))
    return {
        "design": design.hash,
        "family": family,
        "tool": kept["tool"],
        "synthesised": {name: kept["instances"][KERNEL][name] for name in NAMES},
        "predicted": {name: tidy(design_resources(design, SHAPE, family))[name] for name in NAMES},
    }


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Median, mean and worst relative error of each resource, and the number of exact predictions."""
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
    """Number of designs that are feasible after synthesis, and that the model calls feasible with a guard band."""
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
    write_record("hardware-model", record := record_of(rows["held out"], rows["near"], options.families))
    write_page("hardware-model.md", page(record))
    write_page("hardware-model.svg", figure(record))


def record_of(rows: list[dict[str, Any]], near: list[dict[str, Any]], families: list[str]) -> dict[str, Any]:
    """The numbers of the page, and of every design."""
    summaries = {family: summary([row for row in rows if row["family"] == family]) for family in families}
    worst = max(summaries[families[0]][name]["worst"] for name in ("lut", "ff"))
    return {
        "command": COMMAND, "seed": SEED, "summary": summaries, "guard_band": round(MARGIN * worst, 3),
        "designs": rows, "near": near,
    }  # fmt: skip


def page(record: dict[str, Any]) -> str:
    """The page of a record. Figures of other commands are in templates/best-designs.md, which it includes."""
    rows, near, families = record["designs"], record["near"], list(record["summary"])
    bands = []
    for band in (0.0, record["guard_band"]):
        held, called = feasible_after(near, band)
        bands.append({"band": band, "held": held, "called": called})
    return render(
        "hardware-model.md",
        command=record["command"], seed=record["seed"], summary=record["summary"], tool=rows[0]["tool"],
        count=len(rows) // len(families), drawn=DESIGNS, margin=MARGIN,
        near={
            "designs": len(near), "percent": 100 * NEAR, "limit": LIMIT, "family": families[0], "dsp": DSP_LIMIT,
            "bands": bands,
        } if near else None,
    )  # fmt: skip


def figure(record: dict[str, Any]) -> str:
    """Predicted over synthesised LUTs and FFs, on logarithmic axes, as SVG."""
    panels = []
    for name in ("lut", "ff"):
        values = [row[kind][name] for row in record["designs"] for kind in ("synthesised", "predicted")]
        scales = [
            axis.logarithmic(f"{title} {name.upper()}", min(values), max(values), "{:g}".format)
            for title in ("Synthesised", "Predicted")
        ]
        frame = Frame(*scales, width=400, height=400, top=28)
        series = []
        for family in record["summary"]:
            rows = [row for row in record["designs"] if row["family"] == family]
            used, guess = ([row[kind][name] for row in rows] for kind in ("synthesised", "predicted"))
            series.append(Series(family, dots(frame, used, guess), dots=True))
        ends = [scales[0].low, scales[0].high]
        panels.append(Panel(f"{name.upper()}, predicted over synthesised", frame, series, line(frame, ends, ends)))
    return figure_svg("Predicted over synthesised resources", panels, columns=2)


if __name__ == "__main__":
    main()
