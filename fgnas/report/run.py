"""The page of a search: its trials as charts, preferences and tables; pure, from what a run holds to what is drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fgnas.engine.statistics import pareto_fronts
from fgnas.hardware.devices import devices
from fgnas.hardware.pipeline.pricing import Specification
from fgnas.report import axis, chart
from fgnas.report.axis import Axis
from fgnas.report.chart import Frame
from fgnas.report.preferences import Chance, Preference, preferences
from fgnas.report.record import RunRecord
from fgnas.report.verification import RESOURCES

WINDOW_PARTS = 20
"""The moving mean and the moving share look back over this part of the trials."""
LARGEST_WINDOW, SMALLEST_WINDOW = 100, 10
FIRST_ROWS = 25
"""Rows of the table of designs before more are asked for."""


@dataclass(frozen=True)
class Gauge:
    """A use of something: used, available (None without a limit), and its share."""

    label: str
    used: float
    available: float | None
    unit: str = ""

    @property
    def share(self) -> float | None:
        """Used over available."""
        return self.used / self.available if self.available else None


@dataclass(frozen=True)
class Limit:
    """A constraint on an axis: its value, and whether it lies in the picture."""

    label: str
    place: float
    inside: bool


@dataclass(frozen=True)
class Scatter:
    """Accuracy against one cost: a point for each distinct design, the front, the limit."""

    key: str
    title: str
    frame: Frame
    points: list[tuple[float, float]]
    front: str
    members: list[int]
    limit: Limit | None


@dataclass(frozen=True)
class Curve:
    """How a search went: accuracies, feasible share and samples drawn, over the trials."""

    accuracy: Frame
    dots: str
    best: str
    mean: str
    window: int
    share: Frame
    shares: str
    drawn: Frame
    draws: str


@dataclass(frozen=True)
class RunPage:
    """Everything that the page of a run shows.

    `designs` are the distinct designs in the order of their first trial; leaders and fronts name them by index.
    """

    name: str
    config: dict[str, Any]
    specification: Specification
    command: str
    finished: bool
    best: dict[str, Any] | None
    gauges: list[Gauge]
    counts: dict[str, Any]
    curve: Curve | None
    scatters: list[Scatter]
    preferences: list[Preference]
    has_chance: bool
    delivered: int | None
    leaders: list[dict[str, Any]]
    fronts: dict[str, list[int]]
    designs: list[dict[str, Any]]
    columns: list[tuple[int, str]]
    payload: dict[str, Any]

    @property
    def top(self) -> list[int]:
        """The designs that the table shows first."""
        order = sorted(range(len(self.designs)), key=lambda i: (-self.designs[i]["val"], i))
        return order[:FIRST_ROWS]


def run_page(run: RunRecord, chance: Chance | None = None) -> RunPage:
    """The page of a run; `chance` is what feasible designs choose by themselves (see `preferences`)."""
    specification = Specification(**run.config["specification"])
    designs = distinct_designs(run.trials, specification.clock_mhz)
    place = {design["design_hash"]: index for index, design in enumerate(designs)}
    fronts = {
        name: [place[row["design_hash"]] for row in rows] for name, rows in pareto_fronts(run.trials).items()
    }
    columns = effective_choices(designs)
    best = run.best
    return RunPage(
        name=run.name,
        config=run.config,
        specification=specification,
        command=command(run),
        finished=best is not None,
        best=best,
        gauges=gauges(best["prices"], specification) if best else [],
        counts=counts(run, designs),
        curve=curve(run.trials) if run.trials else None,
        scatters=[
            scatter("latency_ms", "Latency (ms)", designs, fronts["latency"], specification.latency_ms),
            scatter("lut", "LUT", designs, fronts["lut"], specification.limits().get("lut")),
        ] if designs else [],
        preferences=preferences(run.trials, run.config["space"]["choices"], chance),
        has_chance=chance is not None,
        delivered=place[best["design_hash"]] if best else None,
        leaders=[{**entry, "index": place[entry["design_hash"]]} for entry in run.leaders],
        fronts=fronts,
        designs=designs,
        columns=columns,
        payload=payload(run, designs, columns, fronts),
    )  # fmt: skip


def distinct_designs(trials: Sequence[dict[str, Any]], clock_mhz: float) -> list[dict[str, Any]]:
    """The first trial of each design, with `times` it was drawn and its `latency_ms`."""
    times = Counter(trial["design_hash"] for trial in trials)
    first = {trial["design_hash"]: trial for trial in reversed(trials)}
    return [
        {**trial, "times": times[name], "latency_ms": trial["latency_cycles"] / clock_mhz / 1000.0}
        for name, trial in sorted(first.items(), key=lambda item: item[1]["trial"])
    ]


def effective_choices(designs: Sequence[dict[str, Any]]) -> list[tuple[int, str]]:
    """(layer, field) of every choice that has an effect in some design."""
    layers = range(len(designs[0]["design"]["layers"])) if designs else range(0)
    fields = designs[0]["design"]["layers"][0] if designs else {}
    return [
        (layer, name) for layer in layers for name in FIELD_ORDER if name in fields
        if any(design["design"]["layers"][layer][name] is not None for design in designs)
    ]  # fmt: skip


FIELD_ORDER = (
    "attention", "aggregation", "k", "d", "activation", "t_in", "t_out", "t_attn", "t_aggr", "t_act", "ai", "af", "wi",
    "wf",
)  # fmt: skip


def counts(run: RunRecord, designs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The numbers in the sentences of the page."""
    feasible = [trial for trial in run.trials if trial["feasible"]]
    drawn = run.trials[-1]["draws"] if run.trials else 0
    return {
        "trials": len(run.trials),
        "wanted": run.config["children"],
        "drawn": drawn,
        "designs": len(designs),
        "feasible": len(feasible),
        "share": len(feasible) / drawn if drawn else None,
        "trainings": sum(trial["trained"] for trial in run.trials),
        "best": max((trial["val"] for trial in feasible), default=None),
    }


def command(run: RunRecord) -> str:
    """The command that starts this run again."""
    import shlex

    config, parts = run.config, ["fgnas", "search", "--dataset", run.config["dataset"]]
    # Written out though they may be defaults: another version's may differ.
    parts += ["--method", config["method"]]
    if config["method"] == "reinforce":
        parts += ["--controller", config["controller"]]
    limits = dict(config["specification"])
    part = limits.pop("part", None)
    # A device of the user's own lies in a file whose name the run does not keep: its limits and its family say enough.
    if part in {device.part for device in devices().values()}:
        parts += ["--fpga", part]
    for name, value in limits.items():
        if value is not None:
            parts += [f"--{name.replace('_', '-')}", f"{value:g}" if isinstance(value, float) else str(value)]
    parts += ["--children", str(config["children"]), "--seed", str(config["seed"])]
    if config["recipe"]["device"] != "cpu":
        parts += ["--device", config["recipe"]["device"]]
    return shlex.join(parts)


def gauges(prices: dict[str, Any], specification: Specification) -> list[Gauge]:
    """Latency and resources of the delivered design, held against the specification."""
    milliseconds = prices["latency_cycles"] / specification.clock_mhz / 1000.0
    found = [Gauge(f"Latency at {specification.clock_mhz:g} MHz", milliseconds, specification.latency_ms, "ms")]
    return found + [Gauge(label, prices[name], getattr(specification, name, None)) for name, label in RESOURCES]


def scatter(
    key: str, title: str, designs: Sequence[dict[str, Any]], front: Sequence[int], limit: float | None
) -> Scatter:
    """Validation accuracy of each distinct design against one cost."""
    feasible = [design[key] for design in designs]
    across = axis.costs(title, feasible, limit, short)
    frame = Frame(across, axis.accuracy("Validation accuracy", [design["val"] for design in designs]), top=28)
    points = [frame.at(design[key], design["val"]) for design in designs]
    # The front as a staircase from its cheapest design to its most accurate: between them nothing dominates.
    ordered = sorted((designs[i][key], designs[i]["val"]) for i in front)
    ordered += [(across.high, ordered[-1][1])] if ordered else []
    steps = chart.line(frame, [x for x, _ in ordered], [y for _, y in ordered], steps=True)
    drawn = None
    if limit is not None:
        inside = across.low <= limit <= across.high
        unit = " ms" if key == "latency_ms" else ""
        drawn = Limit(f"limit {short(limit)}{unit}", frame.across(across.place(limit)), inside)
    return Scatter(key, title, frame, points, steps, list(front), drawn)


def curve(trials: Sequence[dict[str, Any]]) -> Curve:
    """The search curve. Its mean and its share look back over `window` trials."""
    count = len(trials)
    window = min(LARGEST_WINDOW, max(SMALLEST_WINDOW, count // WINDOW_PARTS))
    xs = np.arange(1, count + 1)
    values = np.array([trial["val"] for trial in trials])
    feasible = np.array([trial["feasible"] for trial in trials])
    best = np.maximum.accumulate(np.where(feasible, values, 0.0))
    mean = moving_mean(values, window)
    draws = np.array([trial["draws"] for trial in trials])
    shares = moving_share(feasible, draws, window)
    along = axis.linear("Trial", 0, count, short)
    along = Axis("Trial", 0, count, float, tuple(_rescaled(along, count)))
    small = {"width": 360, "height": 150, "left": 48, "right": 14, "top": 10, "bottom": 30}
    accuracy = Frame(along, axis.accuracy("Accuracy", values.tolist()), height=330, bottom=32)
    known = shares[shares > 0].tolist()
    low, high = min(known, default=0.1), max(known, default=1.0)
    percent = axis.logarithmic("Feasible", low, high, lambda value: f"{100 * value:g} %")
    share = Frame(along, percent, **small)
    drawn = Frame(along, axis.linear("Drawn", 0, float(draws[-1]), short, 3), **small)
    found = feasible.cumsum() > 0
    return Curve(
        accuracy=accuracy,
        dots=chart.dots(accuracy, xs.tolist(), values.tolist()),
        best=chart.line(accuracy, xs[found].tolist(), best[found].tolist(), steps=True),
        mean=chart.line(accuracy, xs.tolist(), mean.tolist()),
        window=window,
        share=share,
        shares=chart.line(share, xs[shares > 0].tolist(), known),
        drawn=drawn,
        draws=chart.line(drawn, [0, *xs.tolist()], [0, *draws.tolist()]),
    )


def _rescaled(along: Axis, end: float) -> list[axis.Tick]:
    """The ticks of an axis that ends at `end` and not at a round number."""
    found = []
    for tick in along.ticks:
        value = along.low + tick.place * (along.high - along.low)
        if value <= end:
            found.append(axis.Tick(value / end, tick.label))
    return found


def moving_mean(values: np.ndarray, window: int) -> np.ndarray:
    """[n] mean of the last `window` values, of as many as there are at the beginning."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(values) + 1)
    begins = np.maximum(0, ends - window)
    return (total[ends] - total[begins]) / (ends - begins)


def moving_share(feasible: np.ndarray, draws: np.ndarray, window: int) -> np.ndarray:
    """[n] feasible trials over the draws that the last `window` trials took."""
    accepted = np.concatenate([[0], np.cumsum(feasible)])
    drawn = np.concatenate([[0], draws])
    ends = np.arange(1, len(draws) + 1)
    begins = np.maximum(0, ends - window)
    return (accepted[ends] - accepted[begins]) / np.maximum(1, drawn[ends] - drawn[begins])


def payload(
    run: RunRecord, designs: Sequence[dict[str, Any]], columns: Sequence[tuple[int, str]], fronts: dict[str, list[int]]
) -> dict[str, Any]:
    """What the page's script knows: a row of numbers for each distinct design, choices as indices of options."""
    options = {}
    for layer, name in columns:
        found = {design["design"]["layers"][layer][name] for design in designs}
        known = [value for value in run.config["space"]["choices"].get(name, sorted(found - {None})) if value in found]
        options[layer, name] = [*known, *sorted(found - {None, *known})]
    return {
        "clock_mhz": run.config["specification"]["clock_mhz"],
        "trials": len(run.trials),
        "columns": [[layer, name, options[layer, name]] for layer, name in columns],
        "front": sorted({index for rows in fronts.values() for index in rows}),
        "rows": [
            [
                design["design_hash"], design["trial"], design["times"], design["val"], design["float_val"],
                design["latency_cycles"], *(design[name] for name, _ in RESOURCES), int(design["feasible"]),
                int(design["trained"]),
                [_index(options[layer, name], design["design"]["layers"][layer][name]) for layer, name in columns],
            ]
            for design in designs
        ],
    }  # fmt: skip


def _index(options: Sequence[Any], value: Any) -> int:
    return -1 if value is None else options.index(value)


def short(value: float) -> str:
    """A number for an axis: 1,500 as it is, 20,000 as 20k."""
    if value and abs(value) >= 10_000 and value % 100 == 0:
        return f"{value / 1000:g}k"
    return f"{value:,.6g}"
