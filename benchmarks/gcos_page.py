"""The page of G-CoS and its drawings, from the record alone: as much of them as has been run."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import gcos_beside as beside
import gcos_figures as figures
import numpy as np
from gcos_searches import DATASETS
from pages import render
from tables import statistics_of

from fgnas.engine.statistics import difference
from fgnas.report import axis
from fgnas.report.chart import Frame, Panel, Series, dots
from fgnas.report.figure import figure_svg
from fgnas.systems.gcos.options import Options

PUBLISHED: dict[str, Any] = tomllib.loads(Path(__file__).with_name("gcos.toml").read_text(encoding="utf-8"))


class Aim(NamedTuple):
    """A design to deliver: its graph, cycles at most, words of H a cycle, and the test accuracy that is asked for."""

    dataset: str
    cycles: int
    results: int
    accuracy: float

    @property
    def name(self) -> str:
        """The key of its result."""
        return f"{self.dataset} {self.cycles}"


AIMS = (Aim("citeseer", 30_000, 1, 0.70), Aim("cora", 20_000, 1, 0.81), Aim("cora", 9_000, 2, 0.79))
FRAME = {"width": 420, "height": 300, "top": 28}


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    options, defaults = record["options"], {name: getattr(Options, name) for name in ("children", "leaders")}
    everything = whole(record)
    volumes = {seed: one["volume"] for seed, one in everything.items()}
    fronts = {dataset: frontier(points(record, dataset)) for dataset in DATASETS if points(record, dataset)}
    return render(
        "gcos.md",
        delivered=delivered(record.get("delivered", {})), ranked=record.get("ranked", {}), **options,
        **{part: compared(record.get(part, {}), volumes) for part in ("compared", "timed")},
        scores=mean(one["scores"] for one in everything.values()), pairs=record.get("figure 1", {}), fronts=fronts,
        speeds=speeds(record.get("figure 8", {})), choices=choices(record.get("choices", {})),
        published=PUBLISHED, machine=record["machine"], defaults=defaults, beside=beside, figures=figures,
    )  # fmt: skip


def delivered(results: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for each design that was delivered, or refused."""
    rows = []
    for aim in AIMS:
        if found := results.get(aim.name):
            rows.append({"aim": aim, "tested": statistics_of(found.get("test", [])), **found})
    return rows


def choices(results: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The measurements of each choice, by graph; empty if nothing was measured."""
    found: dict[str, dict[str, Any]] = {}
    for key, one in results.items():
        choice, dataset = key.split(" | ")
        found.setdefault(choice, {})[dataset] = one
    if "bits" in found:
        found["bits"] = {dataset: with_statistics(one) for dataset, one in found["bits"].items()}
    return found


def with_statistics(measured: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Measurements with the mean and deviation of their validation accuracies."""
    return {name: one | {"val": statistics_of(one["val"])} for name, one in measured.items()}


# --- ways to search ---


def compared(record: dict[str, Any], everything: dict[str, float]) -> dict[str, Any] | None:
    """One line for each method, and what Algorithm 1 beats; None where it has not been run.

    `everything` is the volume of the whole space by seed, for the shares of it that searches evaluate.
    """
    results = {method: by_seed(record, method) for method in beside.METHODS}
    if not results[beside.OURS]:
        return None
    ours = results[beside.OURS]
    lines = [line(method, found, ours, everything) for method, found in results.items() if found]
    others = [one for one in lines if one["method"] != beside.OURS]
    return {"lines": lines, "leaders": verdict(others, "gap"), "searched": verdict(others, "share_gap")}


def by_seed(record: dict[str, Any], method: str) -> dict[str, dict[str, Any]]:
    """The searches of a method by their seeds, as text."""
    begin = f"{method} | "
    return {key.removeprefix(begin): one for key, one in sorted(record.items()) if key.startswith(begin)}


Searches = dict[str, dict[str, Any]]
"""Seed -> search."""


def line(method: str, found: Searches, ours: Searches, everything: dict[str, float]) -> dict[str, Any]:
    """Means of a method over its searches, and the gains of Algorithm 1 over it."""
    volumes, own_volumes = ({seed: one["volume"] for seed, one in each.items()} for each in (found, ours))
    best = [max((p[0] for p in one["points"] if p[1] <= beside.CYCLES), default=None) for one in found.values()]
    own = shares(found, everything)
    names = ("children", "search_s", "supernet_s")
    return {
        "method": method, "searches": len(found), "volume": mean(volumes.values()),
        "best": mean(one for one in best if one is not None), "share": mean(own.values()),
        "gap": gain(own_volumes, volumes), "share_gap": gain(shares(ours, everything), own),
        **{name: float(np.mean([one[name] for one in found.values()])) for name in names},
    }  # fmt: skip


def shares(found: Searches, everything: dict[str, float]) -> dict[str, float]:
    """Volume of the candidates that each search scored, by seed, as a share of the whole space's volume."""
    return {
        seed: one["searched"] / everything[seed] for seed, one in found.items()
        if one["searched"] is not None and seed in everything
    }  # fmt: skip


def gain(ours: dict[str, float], theirs: dict[str, float]) -> dict[str, float] | None:
    """The mean difference over the seeds that both have, with its interval; None without one.

    Searches of one seed share a supernet and their retrainings, so its luck is no part of a difference.
    """
    gaps = [[ours[seed] - theirs[seed]] for seed in ours if seed in theirs]
    return difference(gaps, [[0.0]] * len(gaps)) if gaps else None


def verdict(others: Sequence[dict[str, Any]], gap: str) -> dict[str, list[str]]:
    """The methods that Algorithm 1 beats, those without a certain difference, and those that beat it."""
    found = [(one["method"], one[gap]) for one in others if one[gap] is not None]
    return {
        "beaten": [method for method, one in found if one["low"] > 0],
        "even": [method for method, one in found if one["low"] <= 0 <= one["high"]],
        "better": [method for method, one in found if one["high"] < 0],
    }  # fmt: skip


def mean(values: Iterable[float]) -> float | None:
    """The mean of some values; None of none."""
    found = list(values)
    return float(np.mean(found)) if found else None


def whole(record: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Volume and number of all designs by the supernet of each seed."""
    return by_seed(record.get("compared", {}), "all")


# --- Figure 7 ---


def points(record: dict[str, Any], dataset: str) -> dict[str, dict[str, Any]]:
    """The designs of Figure 7 on a graph, by name."""
    found = record.get("figure 7", {})
    return {key.removeprefix(f"{dataset} | "): one for key, one in found.items() if key.startswith(f"{dataset} | ")}


def frontier(designs: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each design; for those of others, what ours are at no more cycles, and at no less accuracy.

    Ours are chosen by validation accuracy, and compared by test accuracy.
    """
    means = {name: {split: float(np.mean(one[split])) for split in ("val", "test")} for name, one in designs.items()}
    ours = [name for name in designs if is_ours(name)]
    rows = []
    for name, one in designs.items():
        row: dict[str, Any] = {"name": name, **one, **means[name], "spread": statistics_of(one["test"])["std"]}
        if not is_ours(name):
            cheap = [mine for mine in ours if designs[mine]["cycles"] <= one["cycles"]]
            good = [mine for mine in ours if means[mine]["val"] >= means[name]["val"]]
            if cheap:
                best = max(cheap, key=lambda mine: means[mine]["val"])
                row["gain"] = means[best]["test"] - means[name]["test"]
            if good:
                fast = min(good, key=lambda mine: designs[mine]["cycles"])
                row["faster"] = one["cycles"] / designs[fast]["cycles"]
                row["faster_gain"] = means[fast]["test"] - means[name]["test"]
        rows.append(row)
    return rows


def is_ours(name: str) -> bool:
    """Whether a design of Figure 7 is one of the sweep."""
    return name.startswith("λ")


def kind(name: str) -> str:
    """The series of a design in the drawing."""
    if is_ours(name):
        return "G-CoS, by λ"
    return "network searched first" if name.startswith(figures.NETWORK_SEARCHES) else "given network"


# --- Figure 8 ---


def speeds(results: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each network and budget: how many times PyG's fastest time the array's is."""
    rows = []
    for key, found in results.items():
        dataset, network, hidden = key.split(" | ")
        fastest = min(found["pyg_ms"].values())
        for one in found["arrays"].values():
            taken = one["cycles"] / (1000 * Options.clock_mhz)
            rows.append({
                "dataset": dataset, "network": f"{network}, {hidden}", "pyg_ms": found["pyg_ms"], **one,
                "ms": taken, "faster": fastest / taken, "mb_s": one["bytes"] / taken / 1000,
                "spilt": (one["bytes"] + found["spilt_bytes"]) / one["bytes"], "load": found["load_average"],
            })  # fmt: skip
    return rows


# --- drawings ---


def pairs_figure(record: dict[str, Any]) -> str:
    """Figure 1 as SVG: networks on their fastest and slowest array, and two networks on every array."""
    panels = []
    for dataset, found in record.get("figure 1", {}).items():
        accuracies, least, most = zip(*found["networks"], strict=True)
        across = axis.logarithmic("Cycles", min(least), max(most), "{:,.0f}".format)
        frame = Frame(across, axis.linear("Accuracy by the supernet", 0, max(accuracies), "{:.0%}".format), **FRAME)
        ends = (("fastest array", least), ("slowest array", most))
        series = [Series(name, dots(frame, cycles, accuracies), dots=True) for name, cycles in ends]
        panels.append(Panel(f"{dataset}: accuracy of {len(accuracies)} networks over cycles", frame, series))
        drawn = {name: found["arrays"][str(name)] for name in figures.DRAWN}
        every = [point for one in drawn.values() for point in one]
        sizes, taken = zip(*every, strict=True)
        frame = Frame(
            axis.logarithmic("DSPs", min(sizes), max(sizes), "{:,.0f}".format),
            axis.logarithmic("Cycles", min(taken), max(taken), "{:,.0f}".format), **FRAME,
        )  # fmt: skip
        series = [
            Series(f"{width} features", dots(frame, *zip(*one, strict=True)), dots=True) for width, one in drawn.items()
        ]
        panels.append(Panel(f"{dataset}: cycles of one network over DSPs", frame, series))
    return figure_svg("Random networks on random arrays", panels, columns=2)


def frontier_figure(record: dict[str, Any]) -> str:
    """Figure 7 as SVG: test accuracy over cycles."""
    panels = []
    for dataset in DATASETS:
        rows = frontier(points(record, dataset))
        if not rows:
            continue
        cycles, tests = [row["cycles"] for row in rows], [row["test"] for row in rows]
        frame = Frame(
            axis.logarithmic("Cycles", min(cycles), max(cycles), "{:,.0f}".format),
            axis.linear("Test accuracy", min(tests), max(tests), "{:.1%}".format), **FRAME,
        )  # fmt: skip
        series = []
        for name in dict.fromkeys(kind(row["name"]) for row in rows):
            own = [row for row in rows if kind(row["name"]) == name]
            places = dots(frame, [row["cycles"] for row in own], [row["test"] for row in own])
            series.append(Series(name, places, dots=True))
        panels.append(Panel(f"{dataset}: test accuracy over cycles", frame, series))
    return figure_svg("Accuracy and cycles", panels, columns=2)


FIGURES = {"gcos-pairs.svg": pairs_figure, "gcos-frontier.svg": frontier_figure}
"""Drawings of the page by file."""
