"""The page of a search: its trials as charts, preferences and tables. Pure functions of the content of a run.

The page knows costs, scores and decisions by the metadata in the run's configuration alone, so it works for any system.
"""

from __future__ import annotations

import functools
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.costs import Quantity
from fgnas.engine import choice
from fgnas.engine.front import front
from fgnas.engine.trial import Trial
from fgnas.report import axis, chart
from fgnas.report.axis import Axis
from fgnas.report.chart import Frame
from fgnas.report.mapped import MappedFront, mapped_front
from fgnas.report.preferences import Chance, Preference, preferences
from fgnas.report.record import RunRecord
from fgnas.space import Decision

WINDOW_PARTS = 20
"""The window of the moving mean and share, as a part of the trials."""
LARGEST_WINDOW, SMALLEST_WINDOW = 100, 10
FIRST_ROWS = 25
"""Rows of the table of designs that are shown first."""
COLOURS = 5
"""Largest number of colours of points."""
Built = Callable[[dict[str, Any]], bool]
"""Whether an entry of leaders.json, or of the mappings, has hardware."""


@dataclass(frozen=True)
class Gauge:
    """A cost of the delivered design: used, available (None without a limit), and its share."""

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
    """A constraint on an axis: its label, its coordinate, and whether it is inside the chart."""

    label: str
    place: float
    inside: bool


@dataclass(frozen=True)
class Scatter:
    """The first score against one cost: a point for each distinct design, the front and the limit."""

    cost: Quantity
    frame: Frame
    points: list[tuple[float, float]]
    front: str
    members: list[int]
    limit: Limit | None


@dataclass(frozen=True)
class Curve:
    """The course of a search: scores, feasible share and draws, over the trials."""

    score: Frame
    dots: str
    best: str
    mean: str
    window: int
    share: Frame
    shares: str
    drawn: Frame
    draws: str


@dataclass(frozen=True)
class Column:
    """A decision that has an effect in some design: its column, and the options that occur."""

    place: int
    decision: Decision
    options: tuple[Any, ...]

    @property
    def where(self) -> str:
        """The name of the choice with its layer, if it has one."""
        position = self.decision.position
        return self.decision.label if position is None else f"{self.decision.label}, layer {position}"

    def index(self, row: Sequence[int]) -> int:
        """The index in `options` of a row's choice; -1 if the decision has no effect."""
        return -1 if row[self.place] < 0 else self.options.index(self.decision.options[row[self.place]])


@dataclass(frozen=True)
class DrawnDesign:
    """A distinct design: its first trial, and how often it was drawn."""

    trial: Trial
    times: int


@dataclass(frozen=True)
class Offer:
    """A design that a finished run offers: its names for `--design`, the index of its design, and its entry."""

    names: tuple[str, ...]
    index: int
    entry: dict[str, Any]


@dataclass(frozen=True)
class RunPage:
    """The content of the page of a run.

    `designs` are the distinct designs in the order of their first trial; leaders and fronts name them by index.
    `delivered` is the index of the delivered one. `built` says which entries `fgnas hls` writes hardware for.
    """

    run: RunRecord
    command: str
    built: Built
    gauges: list[Gauge]
    counts: dict[str, Any]
    curve: Curve | None
    scatters: list[Scatter]
    preferences: list[Preference]
    has_chance: bool
    delivered: int | None
    offers: list[Offer]
    leaders: list[dict[str, Any]]
    fronts: dict[str, list[int]]
    designs: list[DrawnDesign]
    columns: list[Column]
    payload: dict[str, Any]
    mapped: MappedFront | None = None

    @property
    def finished(self) -> bool:
        """Whether the run has delivered a design."""
        return self.run.best is not None

    @property
    def saved_label(self) -> str:
        """The label of the cost that the cheapest design saves."""
        assert self.run.cheapest is not None
        return {cost.name: cost.label for cost in self.run.costs}[self.run.cheapest["saved"]]

    @property
    def retrained(self) -> bool:
        """Whether the leaders were trained again. Leaders that a supernet only scored again have the search's seed."""
        assert self.run.best is not None
        return set(self.run.best["retrained"]["seeds"]) != {self.run.config["options"]["seed"]}

    @property
    def several(self) -> bool:
        """Whether a leader was judged with more than one seed."""
        return any(len(leader["retrained_val"]["values"]) > 1 for leader in self.leaders)

    @property
    def judged(self) -> str:
        """How the leaders were judged after the search."""
        seeds = len(self.leaders[0]["retrained_val"]["values"])
        if not self.retrained:
            return "scored once more, as they are delivered"
        return f"trained again with {seeds} fresh seeds" if seeds > 1 else "trained again with a fresh seed"

    @property
    def ranked_by(self) -> str:
        """The score that ranks leaders."""
        if "folds" in self.leaders[0]:
            return f"the mean over {len(self.leaders[0]['folds']['values'])} parts that were held out in turn"
        return "their mean" if self.several else "that score"

    @property
    def buildable(self) -> bool:
        """Whether the delivered design has hardware."""
        return self.run.best is not None and self.built(self.run.best)

    @property
    def all_buildable(self) -> bool:
        """Whether every leader has hardware."""
        return all(map(self.built, self.leaders))

    @property
    def buildable_mapping(self) -> int | None:
        """The number of the first mapping that has hardware; None where none has."""
        best = self.run.best  # mappings have no kernels of their own
        if best is None:
            return None
        return next((number for number, one in enumerate(self.run.mappings) if self.built({**best, **one})), None)

    @property
    def own_hardware(self) -> bool:
        """Whether the cheapest design is none of the leaders."""
        return bool(self.offers) and self.offers[0].names == ("cheapest",)

    @property
    def top(self) -> list[int]:
        """The designs that the table shows first."""
        name = self.run.scores[0].name
        order = sorted(range(len(self.designs)), key=lambda i: (-self.designs[i].trial.scores[name], i))
        return order[:FIRST_ROWS]

    @functools.cached_property
    def filters(self) -> list[int]:
        """Columns that designs are filtered by: names of the describing kind, or few numbers without any."""
        first = [i for i, column in enumerate(self.columns) if column.decision.kind == self.kinds[0]]
        names = [i for i in first if not any(map(is_number, self.columns[i].options))]
        return names or [i for i in first if len(self.columns[i].options) <= COLOURS]

    @property
    def colours(self) -> list[int]:
        """Columns that points are coloured by."""
        return [i for i in self.filters if len(self.columns[i].options) <= COLOURS]

    @property
    def kinds(self) -> list[str]:
        """Kinds of decisions, the describing one first."""
        return kinds_of(self.run.decisions)

    def heading(self, kind: str) -> str:
        """The labels of the choices of one kind."""
        return heading(self.run.decisions, kind)

    def texts(self, row: Sequence[int]) -> list[str]:
        """The choices of the describing kind in words: see `texts`."""
        return texts(self.run.decisions, row, self.kinds[0])

    def made(self, row: Sequence[int], kind: str, position: int | None) -> list[tuple[str, str]]:
        """(label, choice in words) of every decision of one kind that has an effect at one position.

        The label is "" where it only repeats the kind.
        """
        return [
            ("" if decision.label == kind else decision.label, worded(decision.options[index]))
            for decision, index in zip(self.run.decisions, row, strict=True)
            if decision.kind == kind and decision.position == position and index >= 0
        ]

    def acts(self, row: Sequence[int], position: int | None) -> bool:
        """Whether a decision at a position has an effect."""
        return any(self.made(row, kind, position) for kind in self.kinds)

    @property
    def positions(self) -> list[int | None]:
        """Layers, and None for the whole design, in the order of the space."""
        return positions_of(self.run.decisions)


def run_page(
    run: RunRecord, chance: Chance | None = None, options: dict[str, Any] | None = None,
    built: Built = lambda entry: False,
) -> RunPage:  # fmt: skip
    """The page of a run.

    `chance` are shares of options among feasible uniform draws (see `preferences`), `options` those of the command that
    repeats the run, by default all in its configuration. `built` says whether `fgnas hls` writes hardware for an entry.
    """
    designs = distinct_designs(run.trials)
    place = {design.trial.design_hash: index for index, design in enumerate(designs)}
    columns = effective_columns(run.decisions, designs)
    fronts = {
        " and ".join(cost.label for cost in run.costs if cost.name in names): [
            place[trial.design_hash] for trial in front(run.trials, run.scores[0].name, names)
        ]
        for names in run.config["fronts"]
    }
    wanted = {name for names in run.config["fronts"] for name in names}
    rows = np.array([trial.row for trial in run.trials], np.int16).reshape(-1, len(run.decisions))
    return RunPage(
        run=run,
        command=command(run, options),
        built=built,
        gauges=gauges(run.best["costs"], run) if run.best else [],
        counts=counts(run, designs),
        curve=curve(run.trials, run.scores[0]) if run.trials else None,
        scatters=[scatter(cost, run, designs, place) for cost in run.costs if cost.name in wanted] if designs else [],
        preferences=preferences(rows, run.decisions, chance),
        has_chance=chance is not None,
        delivered=place[run.best["design_hash"]] if run.best else None,
        offers=offers(run, place),
        leaders=[{**entry, "index": place[entry["design_hash"]]} for entry in run.leaders],
        fronts=fronts,
        designs=designs,
        columns=columns,
        payload=payload(run, designs, columns, fronts),
        mapped=mapped(run) if run.mappings else None,
    )


def mapped(run: RunRecord) -> MappedFront:
    """The front of the run's mappings."""
    score = run.scores[0]
    return mapped_front(run.mappings, score, score_axis(score, [one[score.name] for one in run.mappings]), short)


def offers(run: RunRecord, place: dict[str, int]) -> list[Offer]:
    """The best leader, the cheapest that is as good within one standard error, and the leaders' front, by rank.

    A cheapest with hardware of its own comes first; its index is that of the leader whose models it runs.
    """
    if not run.leaders:
        return []
    members = choice.front(run.leaders, choice.front_costs(run.config))
    named: dict[int, list[str]] = {entry["rank"]: [] for entry in members}
    named.setdefault(1, []).append("best")
    further = []
    if (cheapest := run.cheapest) is not None:
        leader = run.leaders[cheapest["rank"] - 1]
        if leader["design_hash"] == cheapest["design_hash"]:
            named.setdefault(leader["rank"], []).append("cheapest")
        else:
            further = [Offer(("cheapest",), place[leader["design_hash"]], cheapest)]
    return further + [
        Offer((*named[entry["rank"]], str(entry["rank"])), place[entry["design_hash"]], entry)
        for entry in run.leaders if entry["rank"] in named
    ]  # fmt: skip


def distinct_designs(trials: Sequence[Trial]) -> list[DrawnDesign]:
    """The first trial of each design, in order."""
    times = Counter(trial.design_hash for trial in trials)
    first: dict[str, Trial] = {}
    for trial in trials:
        first.setdefault(trial.design_hash, trial)
    return [DrawnDesign(trial, times[name]) for name, trial in first.items()]


def effective_columns(decisions: Sequence[Decision], designs: Sequence[DrawnDesign]) -> list[Column]:
    """Every decision that has an effect in some design, by position, with the options that occur."""
    rank = {position: place for place, position in enumerate(positions_of(decisions))}
    found = []
    for place, decision in sorted(enumerate(decisions), key=lambda item: (rank[item[1].position], item[0])):
        taken = sorted({design.trial.row[place] for design in designs} - {-1})
        if taken:
            found.append(Column(place, decision, tuple(decision.options[index] for index in taken)))
    return found


def kinds_of(decisions: Sequence[Decision]) -> list[str]:
    """Kinds of decisions: first the one that describes a design, with most choices of names, then as they occur."""
    named = Counter(decision.kind for decision in decisions if not is_number(decision.options[0]))
    order = list(dict.fromkeys(decision.kind for decision in decisions))
    return sorted(order, key=lambda kind: (kind not in dict(named.most_common(1)), order.index(kind)))


def positions_of(decisions: Sequence[Decision]) -> list[int | None]:
    """Positions of decisions, in the order in which they first occur."""
    return list(dict.fromkeys(decision.position for decision in decisions))


def is_number(value: Any) -> bool:
    """Whether an option is a number and not a truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def worded(value: Any, label: str = "") -> str:
    """An option in words; a truth value as yes or no, or beside a label as that label with or without "no"."""
    if isinstance(value, bool):
        return (label if value else f"no {label}") if label else ("yes" if value else "no")
    return str(value)


def joined(parts: Iterable[tuple[str, bool]]) -> str:
    """(text, whether it is a number) in a line: consecutive numbers are multiplied, others are separated."""
    line, before = "", False
    for text, number in parts:
        line += ("×" if before and number else " · " if line else "") + text
        before = number
    return line


def choices(
    decisions: Sequence[Decision], row: Sequence[int], kind: str, position: int | None
) -> list[tuple[str, bool]]:
    """(text, whether it is a number) of every choice of one kind that has an effect at one position."""
    made = [
        (decision.label, decision.options[index]) for decision, index in zip(decisions, row, strict=True)
        if decision.kind == kind and decision.position == position and index >= 0
    ]  # fmt: skip
    return [(worded(value, label), is_number(value)) for label, value in made]


def texts(decisions: Sequence[Decision], row: Sequence[int], kind: str) -> list[str]:
    """The choices of one kind in words: a text for each position that has any; one text where positions have only one
    choice each, as a sequence of operations has."""
    of_kind = [decision for decision in decisions if decision.kind == kind]
    positions = positions_of(of_kind)
    found = [joined(choices(decisions, row, kind, position)) for position in positions]
    found = [text for text in found if text]
    return [" → ".join(found)] if len(found) > 1 and len(of_kind) == len(positions) else found


def heading(decisions: Sequence[Decision], kind: str) -> str:
    """The labels of the choices of one kind, joined as their values are."""
    found = {decision.choice: decision for decision in decisions if decision.kind == kind}
    return joined((one.label, is_number(one.options[0])) for one in found.values())


def counts(run: RunRecord, designs: Sequence[DrawnDesign]) -> dict[str, Any]:
    """The numbers in the text of the page."""
    feasible = [trial for trial in run.trials if trial.feasible]
    drawn = run.trials[-1].draws if run.trials else 0
    return {
        "trials": len(run.trials),
        "wanted": run.config["options"]["children"],
        "drawn": drawn,
        "designs": len(designs),
        "feasible": len(feasible),
        "share": len(feasible) / drawn if drawn else None,
        "trainings": sum(trial.trained for trial in run.trials),
        "best": max((trial.scores[run.scores[0].name] for trial in feasible), default=None),
    }


def command(run: RunRecord, options: dict[str, Any] | None = None) -> str:
    """The command that starts this run again, with these options, or those in its configuration."""
    parts = ["fgnas", "search", "--system", run.config["system"]]
    # Options that equal the defaults are written too: the defaults of another version may differ.
    for name, value in sorted((options or run.config["options"]).items()):
        option = f"--{name.replace('_', '-')}"
        if value is True:
            parts.append(option)
        elif value is not None and value is not False:
            parts += [option, f"{value:g}" if isinstance(value, float) else str(value)]
    return shlex.join(parts)


def gauges(costs: dict[str, float], run: RunRecord) -> list[Gauge]:
    """The costs of the delivered design with their limits; a cost with a display unit appears in both units."""
    limits, found = run.config["limits"], []
    for cost in run.costs:
        bound = limits.get(cost.name)
        scaled = None if bound is None else bound * cost.scale
        found.append(Gauge(cost.label, costs[cost.name] * cost.scale, scaled, cost.shown_unit or cost.unit))
    found += [
        Gauge(f"{cost.label} in {cost.unit}" if cost.unit else f"{cost.label}, all digits", costs[cost.name], None)
        for cost in run.costs if cost.shown_unit
    ]  # fmt: skip
    return found


def score_axis(score: Quantity, values: Sequence[float]) -> Axis:
    """The axis of a score: shares by their distance from 1, other scores on a linear scale."""
    if score.unit == "share":
        return axis.accuracy(score.label, values)
    return axis.linear(titled(score), min(values, default=0.0), max(values, default=1.0), short)


def titled(quantity: Quantity) -> str:
    """A label with the display unit; "share" is shown as per cent and needs none."""
    unit = quantity.shown_unit or ("" if quantity.unit == "share" else quantity.unit)
    return f"{quantity.label} ({unit})" if unit else quantity.label


def scatter(cost: Quantity, run: RunRecord, designs: Sequence[DrawnDesign], place: dict[str, int]) -> Scatter:
    """The first score of each distinct design against one cost."""
    score = run.scores[0]
    used = [design.trial.costs[cost.name] * cost.scale for design in designs]
    values = [design.trial.scores[score.name] for design in designs]
    bound = run.config["limits"].get(cost.name)
    limit = None if bound is None else bound * cost.scale
    across = axis.costs(titled(cost), used, limit, short)
    frame = Frame(across, score_axis(score, values), top=28)
    members = [place[trial.design_hash] for trial in front(run.trials, score.name, [cost.name])]
    # A staircase from the cheapest design of the front to its best: nothing between them dominates.
    ordered = sorted((used[i], values[i]) for i in members)
    ordered += [(across.high, ordered[-1][1])] if ordered else []
    steps = chart.line(frame, [x for x, _ in ordered], [y for _, y in ordered], steps=True)
    drawn = None
    if limit is not None:
        inside = across.low <= limit <= across.high
        unit = f" {cost.shown_unit}" if cost.shown_unit else ""
        drawn = Limit(f"limit {short(limit)}{unit}", frame.across(across.place(limit)), inside)
    return Scatter(cost, frame, [frame.at(x, y) for x, y in zip(used, values, strict=True)], steps, members, drawn)


def curve(trials: Sequence[Trial], score: Quantity) -> Curve:
    """The search curve. Its mean and its share look back over `window` trials."""
    count = len(trials)
    window = min(LARGEST_WINDOW, max(SMALLEST_WINDOW, count // WINDOW_PARTS))
    xs = np.arange(1, count + 1)
    values = np.array([trial.scores[score.name] for trial in trials], float)
    feasible = np.array([trial.feasible for trial in trials])
    best = np.maximum.accumulate(np.where(feasible, values, -np.inf))
    mean = moving_mean(values, window)
    draws = np.array([trial.draws for trial in trials])
    shares = moving_share(feasible, draws, window)
    along = axis.linear("Trial", 0, count, short)
    along = Axis("Trial", 0, count, float, tuple(_rescaled(along, count)))
    small = {"width": 360, "height": 150, "left": 48, "right": 14, "top": 10, "bottom": 30}
    scores = Frame(along, score_axis(score, values.tolist()), height=330, bottom=32)
    known = shares[shares > 0].tolist()
    low, high = min(known, default=0.1), max(known, default=1.0)
    percent = axis.costs("Feasible", [low, high], None, lambda value: f"{100 * value:g} %")
    share = Frame(along, percent, **small)
    drawn = Frame(along, axis.linear("Drawn", 0, float(draws[-1]), short, 3), **small)
    found = feasible.cumsum() > 0
    return Curve(
        score=scores,
        dots=chart.dots(scores, xs.tolist(), values.tolist()),
        best=chart.line(scores, xs[found].tolist(), best[found].tolist(), steps=True),
        mean=chart.line(scores, xs.tolist(), mean.tolist()),
        window=window,
        share=share,
        shares=chart.line(share, xs[shares > 0].tolist(), known),
        drawn=drawn,
        draws=chart.line(drawn, [0, *xs.tolist()], [0, *draws.tolist()]),
    )


def _rescaled(along: Axis, end: float) -> list[axis.Tick]:
    """The ticks of an axis that ends at `end` instead of a round number."""
    found = []
    for tick in along.ticks:
        value = along.low + tick.place * (along.high - along.low)
        if value <= end:
            found.append(axis.Tick(value / end, tick.label))
    return found


def moving_mean(values: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """[n] mean of the last `window` values, or of all values so far at the beginning."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(values) + 1)
    begins = np.maximum(0, ends - window)
    return np.asarray((total[ends] - total[begins]) / (ends - begins))


def moving_share(feasible: NDArray[np.bool_], draws: NDArray[np.int64], window: int) -> NDArray[np.float64]:
    """[n] feasible trials over the draws that the last `window` trials took."""
    accepted = np.concatenate([[0], np.cumsum(feasible)])
    drawn = np.concatenate([[0], draws])
    ends = np.arange(1, len(draws) + 1)
    begins = np.maximum(0, ends - window)
    return np.asarray((accepted[ends] - accepted[begins]) / np.maximum(1, drawn[ends] - drawn[begins]))


def payload(
    run: RunRecord, designs: Sequence[DrawnDesign], columns: Sequence[Column], fronts: dict[str, list[int]]
) -> dict[str, Any]:
    """The data of the page's script: a row of numbers for each distinct design, choices as indices of options."""
    return {
        "trials": len(run.trials),
        "scores": [score.to_dict() for score in run.scores],
        "costs": [cost.to_dict() for cost in run.costs],
        "columns": [
            [column.decision.position, column.decision.label, column.decision.kind, list(column.options)]
            for column in columns
        ],
        "kinds": kinds_of(run.decisions),
        "front": sorted({index for members in fronts.values() for index in members}),
        "rows": [
            [
                design.trial.design_hash, design.trial.trial, design.times,
                [design.trial.scores[score.name] for score in run.scores],
                [design.trial.costs[cost.name] for cost in run.costs],
                int(design.trial.feasible), int(design.trial.trained),
                [column.index(design.trial.row) for column in columns],
            ]
            for design in designs
        ],
    }  # fmt: skip


def short(value: float) -> str:
    """A number for an axis: 1,500 as it is, 20,000 as 20k."""
    if value and abs(value) >= 10_000 and value % 100 == 0:
        return f"{value / 1000:g}k"
    return f"{value:,.6g}"
