"""A page of every kind, made quickly: real spaces, prices and projects, with invented accuracies."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch
from arrays import random_source_of
from point_clouds import write_clouds
from pyg_models import LAYERS, Two, settled
from support import random_design, random_graph

from fgnas import systems
from fgnas.api import ImportedNetwork, import_model
from fgnas.backends.array import write_project
from fgnas.backends.points import write_project as write_points
from fgnas.backends.project import MAPPING
from fgnas.costs import plain
from fgnas.engine.contracts import Composition
from fgnas.engine.run import configuration
from fgnas.engine.trial import Trial
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.placing import fit
from fgnas.hardware.measured.device import LATENCY, Device, Verdict
from fgnas.hardware.measured.judge import NOISE_FLOOR, Judged
from fgnas.networks.points.operations import TAILS, Aggregate, Combine, PointNetwork, Sample
from fgnas.networks.points.training import Recipe, train
from fgnas.networks.points.work import Cloud
from fgnas.networks.vision.steps import elements
from fgnas.networks.vision.vig import Backbone
from fgnas.report.compare import compared_page
from fgnas.report.device import DevicePage, Predicted, Row, panel
from fgnas.report.make import report_project
from fgnas.report.page import compared_html, device_html, run_html
from fgnas.report.record import RunRecord
from fgnas.report.run import Built, run_page
from fgnas.systems.hgnas.delivery import Delivered, on_array
from fgnas.tasks.images import load_images
from fgnas.tasks.nodes import GraphData
from fgnas.tasks.points import load_graphs
from tests.systems.kernels import PLATFORM_HEAD


def run_of(name: str, options: dict[str, Any], parts: Composition, count: int, fresh: bool = True) -> RunRecord:
    """A finished run of a system: candidates of its space at their prices. `fresh`: whether leaders train again."""
    rng = np.random.default_rng(1)
    rows = parts.space.draw(count, rng)
    costs, kept = parts.target.price(rows), parts.feasible(rows)
    names = [score.name for score in parts.trainer.scores]
    trials = []
    for place, row in enumerate(rows):
        one = parts.space.candidate(row)
        val = round(float(rng.uniform(0.3, 0.99)), 4)
        trials.append(Trial(
            place, 2 * place + 2, tuple(row.tolist()), one.to_dict(), one.hash, one.training_key, one.score_key,
            bool(kept[place]), dict.fromkeys(names, val), plain(costs, place), fresh, False,
        ))  # fmt: skip
    ranked = sorted((one for one in trials if one.feasible), key=lambda one: -one.scores[names[0]])[:3]
    assert ranked, f"no feasible candidate of {name} among {count}"
    seeds = [7, 8] if fresh else [options["seed"]]
    spread = {"mean": 0.75, "std": 0.01, "values": [0.75] * len(seeds)}
    leaders = [
        {"rank": rank, "design": one.design, "design_hash": one.design_hash, "trial": one.trial, "costs": one.costs,
         "searched": one.scores[names[0]], "retrained_val": spread, "kernels": {}, "mapping": {"units": ["cpu"]}}
        for rank, one in enumerate(ranked, 1)
    ]  # fmt: skip
    splits = {"val": spread, "test": spread}
    best = {**leaders[0], "delivered": {"float": {"val": 0.75, "test": 0.7}},
            "retrained": {"seeds": seeds, "float": splits}}  # fmt: skip
    config = json.loads(json.dumps(configuration(name, options, parts)))
    results = parts.results(trials)
    return RunRecord(name, config, trials, leaders, best, {**leaders[0], "saved": parts.saved},
                     json.loads(json.dumps(results.get("mappings.json", results.get("mappings", [])))))  # fmt: skip


def composed(name: str, data: Any = None, **given: Any) -> tuple[dict[str, Any], Composition]:
    """A system's options, and what they compose."""
    module = systems.find(name)
    options = module.Options(**given)
    return dataclasses.asdict(options), module.compose(options, data)


def runs(four_nodes: GraphData, folder: Path) -> dict[str, RunRecord]:
    """A run of each system but fgnas, whose runs are those of the fixtures."""
    platform = PLATFORM_HEAD
    for name, count in elements(Backbone.of(load_images("digit-images"))).items():
        platform += f'[steps.{name}]\nelements = {count}\non.cpu = {{source = "invented", cost = [40, 50]}}\n'
        platform += 'on.kernel = {source = "invented", cost = [9, 90]}\n' if name != "head" else ""
    (folder / "board.toml").write_text(platform)
    gcos = composed("g-cos", four_nodes, seed=1)
    magnas = composed("magnas", platform=str(folder / "board.toml"), seed=1)
    hgnas = composed("hgnas", dataset=str(write_clouds(folder)), tail="small", seed=1)
    return {
        "g-cos": run_of("g-cos", *gcos, 30),
        "magnas": run_of("magnas", *magnas, 8, fresh=False),
        "hgnas": run_of("hgnas", *hgnas, 60),
    }


def array_project(folder: Path) -> Path:
    """An array of three passes with a graph of 30 nodes."""
    rng = np.random.default_rng(3)
    data = random_graph(rng, 30, 12, 4, 60)
    gcn: dict[str, Any] = {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1}
    source = random_source_of(rng, random_design(rng, 2, ({**gcn, "d": 24}, gcn)), data)
    write_project(fit(source, data, Arrangement(2, (1,), beat_bits=256, passes=3)), data, folder)
    return folder


def points_project(folder: Path, clouds: Path) -> Path:
    """A network of three operations on an array of four units."""
    network = PointNetwork((Sample("nearest"), Aggregate("max", "target-relative"), Combine(16)), TAILS["small"])
    data = load_graphs(clouds)
    model = train(network, data, Recipe(2), 0)
    delivered = Delivered(network, model.state_dict(), data.name, data.fingerprint)
    write_points(on_array(delivered, data).project(), folder, delivered.specification)
    return folder


def imported_project(folder: Path) -> Path:
    """Two layers of SAGEConv on an array."""
    rng, place = np.random.default_rng(0), np.arange(24) % 3
    masks = {"train_mask": place < 1, "val_mask": place == 1, "test_mask": place == 2}
    path = folder.parent / "graph.npz"
    np.savez(path, x=rng.random((24, 6)).astype(np.float32), edge_index=rng.integers(0, 24, (2, 50)), y=place, **masks)
    torch.manual_seed(0)
    network = import_model(settled(Two(LAYERS["SAGEConv"], 6, 8, 3), 1), path, dsp=16)
    assert isinstance(network, ImportedNetwork)
    network.write(folder, multipliers=16)
    return folder


def mapped_project(folder: Path, accelerator: Path) -> Path:
    """A mapped network of two accelerators, which are copies of one; one of its starts has been simulated."""
    block = {"depth": 1, "operator": "gin", "pre": True, "ffn": False, "width": None}
    calls = [
        {"step": f"0{place}-step", "unit": unit, "nodes": 64, "widths": [64, 64], "neighbours": 8, "cycles": 1234}
        for place, unit in enumerate(("dense", "graph", "dense"))
    ]
    for unit in ("dense", "graph"):
        shutil.copytree(accelerator, folder / unit)
    units = ["dense", "cpu", "cpu", "graph", "dense", "cpu"]
    (folder / MAPPING).write_text(json.dumps({"val": 0.875, "units": units, "calls": calls}))
    (folder / "design.json").write_text(json.dumps({"superblocks": [block, {**block, "ffn": True, "width": 32}]}))
    (folder / "report").mkdir()
    seen = {one["step"]: {"unit": one["unit"], "cycles": 1234, "mismatches": 0} for one in calls}
    (folder / "report" / "sim.json").write_text(json.dumps({"by_step": seen}))
    return folder


def board_project(folder: Path, accelerator: Path) -> Path:
    """A project with a bitstream whose clock was missed."""
    shutil.copytree(accelerator, folder)
    cells = ("lut4", "ff", "block_ram", "multipliers")
    report = {
        "board": "ulx3s-85f", "part": "LFE5U-85F", "clock_mhz": 25.0, "routed_mhz": 24.61, "load": "openFPGALoader",
        "used": dict.fromkeys(cells, 120), "available": dict.fromkeys(cells, 1000), "memory_bytes": 65_536,
        "memory_needed_bytes": 41_000,
    }  # fmt: skip
    (folder / "board" / "ulx3s-85f").mkdir(parents=True)
    (folder / "board" / "ulx3s-85f" / "report.json").write_text(json.dumps(report))
    return folder


def device() -> DevicePage:
    """A measured device with invented errors."""
    found = Judged(0.0512345, (0.125, 0.5, 0.875), 0.987654, 24)
    versions = {"python": "3.11", "torch": "2.4"}
    measured = Device("a processor", 1, versions, "clouds", "0f", Cloud(10, 3, 4, 2), TAILS["small"], 0, 24, 2, False)
    return DevicePage(
        "here", measured, Verdict(1.2345678, {LATENCY: "ours"}, {LATENCY: {"ours": found}}, {LATENCY: {"ours": found}}),
        [Predicted(LATENCY, [Row("ours", True, found, found), Row(NOISE_FLOOR, False, None, found)],
                   [panel("ours, ms", [0.1, 0.2, 0.30000000000000004], [0.11, 0.19, 0.3])])],
    )  # fmt: skip


def write_pages(folder: Path, fgnas: RunRecord, pipeline: Path, four_nodes: GraphData) -> dict[str, Path]:
    """A page of every kind in a folder, by kind; `fgnas` is a run of that system, `pipeline` a project."""
    made = runs(four_nodes, folder)
    every: Built = lambda entry: True  # noqa: E731
    html = {
        "run-fgnas": run_html(run_page(fgnas, built=every)),
        **{f"run-{name}": run_html(run_page(run, built=(lambda entry: False) if name == "magnas" else every))
           for name, run in made.items()},
        "compared": compared_html(compared_page([fgnas, made["g-cos"]])),
        "device": device_html(device()),
    }  # fmt: skip
    pages = {name: folder / f"{name}.html" for name in html}
    for name, text in html.items():
        pages[name].write_text(text, encoding="utf-8")
    projects = {
        "pipeline": pipeline,
        "array": array_project(folder / "array"),
        "points": points_project(folder / "points", folder / "clouds.npz"),
        "imported": imported_project(folder / "imported"),
        "board": board_project(folder / "board", pipeline),
        "mapped": mapped_project(folder / "mapped", pipeline),
    }
    return pages | {name: report_project(project, folder / f"{name}.html") for name, project in projects.items()}
