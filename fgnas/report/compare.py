"""The page of several runs side by side: their fronts over each other, their curves, and deltas of what they deliver.

Runs are compared in what all of them have by the same name and unit, so they may be of different systems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from fgnas import pareto
from fgnas.costs import Quantity
from fgnas.engine.front import front
from fgnas.engine.trial import Trial
from fgnas.errors import UserError
from fgnas.report import axis, chart
from fgnas.report.chart import Frame
from fgnas.report.record import RunRecord
from fgnas.report.run import command, score_axis, short, titled

MOST_RUNS = 5
"""As many as there are colours."""


@dataclass(frozen=True)
class Drawn:
    """A run in a chart: its front as a staircase, the members of the front, and its other feasible trials as dots."""

    front: str
    members: list[tuple[float, float]]
    dots: str


@dataclass(frozen=True)
class Fronts:
    """The first score against a cost: a drawing for each run.

    `shares` are the members of each run's own front, and those of them that no member of another run's front beats.
    """

    cost: Quantity
    frame: Frame
    runs: list[Drawn]
    shares: list[tuple[int, int]]


@dataclass(frozen=True)
class Curves:
    """The best feasible score so far of each run by trial."""

    frame: Frame
    lines: list[str]


@dataclass(frozen=True)
class Value:
    """A figure of a delivered design, and its difference from that of the first run: absolute, or as a share."""

    value: float | None
    delta: float | None


@dataclass(frozen=True)
class Row:
    """A figure of each run; `points` says that it is an accuracy, whose differences are points."""

    label: str
    quantity: Quantity
    points: bool
    values: list[Value]

    @property
    def best(self) -> set[int]:
        """The runs with the best value; none where all have the same."""
        known = [one.value for one in self.values if one.value is not None]
        if len(set(known)) < 2:
            return set()
        wanted = min(known) if self.quantity.lower_is_better else max(known)
        return {place for place, one in enumerate(self.values) if one.value == wanted}


@dataclass(frozen=True)
class Difference:
    """An option, or a fact of what the runs were made on, and its value in each run; None where a run has none."""

    name: str
    values: list[Any]


@dataclass(frozen=True)
class ComparedPage:
    """The content of the page. `cheapest` has rows of each run's cheapest design, if every run has one."""

    runs: list[RunRecord]
    commands: list[str]
    score: Quantity
    fronts: list[Fronts]
    curves: Curves
    best: list[Row]
    cheapest: list[Row]
    differences: list[Difference]
    same_data: bool

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain JSON values, by run."""
        names = [run.name for run in self.runs]
        return {
            kind: {row.label: dict(zip(names, (one.value for one in row.values), strict=True)) for row in rows}
            for kind, rows in (("best", self.best), ("cheapest", self.cheapest))
        } | {"fronts": {
            one.cost.name: {name: {"members": count, "unbeaten": kept}
                            for name, (count, kept) in zip(names, one.shares, strict=True)}
            for one in self.fronts
        }}  # fmt: skip


def compared_page(runs: Sequence[RunRecord]) -> ComparedPage:
    """The page of two to five runs; the first is the one that differences are taken from.

    Raises UserError for more or fewer, for two of the same name, for runs without a trial and for runs whose scores
    differ.
    """
    _check(runs)
    score, costs = runs[0].scores[0], common([run.costs for run in runs])
    wanted = {name for run in runs for names in run.config["fronts"] for name in names}
    return ComparedPage(
        runs=list(runs),
        commands=[command(run) for run in runs],
        score=score,
        fronts=[fronts(cost, score, runs) for cost in costs if cost.name in wanted],
        curves=curves(runs, score),
        best=rows([run.best for run in runs], runs, costs),
        cheapest=rows([run.cheapest for run in runs], runs, costs) if all(run.cheapest for run in runs) else [],
        differences=differences(runs),
        same_data=all(a.config["identity"].get("fingerprint") == b.config["identity"].get("fingerprint")
                      for a, b in pairwise(runs)),
    )  # fmt: skip


def _check(runs: Sequence[RunRecord]) -> None:
    if not 2 <= len(runs) <= MOST_RUNS:
        raise UserError(f"2 to {MOST_RUNS} runs fit side by side, not {len(runs)}")
    names = [run.name for run in runs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"{twice[0]} is named twice: give different runs")
    for run in runs:
        if not any(trial.feasible for trial in run.trials):
            raise UserError(f"{run.name} has no feasible trial yet: continue it with `fgnas search --resume`")
        if not common([runs[0].scores[:1], run.scores[:1]]):
            first, mine = (one.scores[0].label.lower() for one in (runs[0], run))
            raise UserError(f"{runs[0].name} is scored by {first} and {run.name} by {mine}: only runs with the same "
                            "score are compared")  # fmt: skip


def common(quantities: Sequence[Sequence[Quantity]]) -> list[Quantity]:
    """Quantities of the first run that every other has by the same name and unit."""
    return [
        one for one in quantities[0]
        if all(any(one.name == other.name and one.unit == other.unit for other in others) for others in quantities)
    ]  # fmt: skip


def fronts(cost: Quantity, score: Quantity, runs: Sequence[RunRecord]) -> Fronts:
    """The fronts of the runs on the same axes. A limit is not drawn: runs may have different ones."""
    kept = [[trial for trial in run.trials if trial.feasible] for run in runs]
    of_runs = [front(trials, score.name, [cost.name]) for trials in kept]
    every = [trial for trials in kept for trial in trials]
    across = axis.costs(titled(cost), [_cost(trial, cost) for trial in every], None, short)
    frame = Frame(across, score_axis(score, [trial.scores[score.name] for trial in every]), top=28)
    drawn = []
    for trials, members in zip(kept, of_runs, strict=True):
        steps = sorted((_cost(trial, cost), trial.scores[score.name]) for trial in members)
        path = [*steps, (across.high, steps[-1][1])]
        drawn.append(Drawn(
            chart.line(frame, [x for x, _ in path], [y for _, y in path], steps=True),
            [frame.at(x, y) for x, y in steps],
            chart.dots(frame, [_cost(one, cost) for one in trials], [one.scores[score.name] for one in trials]),
        ))  # fmt: skip
    return Fronts(cost, frame, drawn, shares(of_runs, score, cost))


def shares(of_runs: Sequence[Sequence[Trial]], score: Quantity, cost: Quantity) -> list[tuple[int, int]]:
    """(members, those that no member of any front beats) of each front."""
    owner = [place for place, members in enumerate(of_runs) for _ in members]
    objectives = [[one.scores[score.name], -one.costs[cost.name]] for members in of_runs for one in members]
    unbeaten = pareto.front(objectives)
    return [
        (len(members), sum(bool(kept) for kept, whose in zip(unbeaten, owner, strict=True) if whose == place))
        for place, members in enumerate(of_runs)
    ]


def curves(runs: Sequence[RunRecord], score: Quantity) -> Curves:
    """The best so far; a run's line begins with its first feasible trial and ends with its last one."""
    found = []
    for run in runs:
        values = np.array([trial.scores[score.name] if trial.feasible else -np.inf for trial in run.trials], float)
        best = np.maximum.accumulate(values)
        known = np.flatnonzero(np.isfinite(best))
        found.append(((known + 1).tolist(), best[known].tolist()))
    longest = max(len(run.trials) for run in runs)
    along = axis.linear("Trial", 0, longest, short)
    frame = Frame(along, score_axis(score, [value for _, ys in found for value in ys]), height=330)
    return Curves(frame, [chart.line(frame, xs, ys, steps=True) for xs, ys in found])


def rows(
    entries: Sequence[dict[str, Any] | None], runs: Sequence[RunRecord], costs: Sequence[Quantity]
) -> list[Row]:
    """Figures of an entry of each run: accuracies as delivered, the leaders' mean, and the costs that all have."""
    if not any(entries):
        return []
    score = runs[0].scores[0]
    share = Quantity("accuracy", "Accuracy", "share", lower_is_better=False)
    found = []
    for split, label in (("test", "Test accuracy"), ("val", "Validation accuracy")):
        values = [_delivered(entry, split) for entry in entries]
        found.append(Row(f"{label}, delivered", share, True, _values(values, points=True)))
    means = [None if entry is None else entry["retrained_val"]["mean"] for entry in entries]
    points = score.unit == "share"
    found.append(Row(f"{score.label}, mean over seeds", score, points, _values(means, points)))
    for cost in costs:
        used = [None if entry is None else entry["costs"].get(cost.name) for entry in entries]
        found.append(Row(titled(cost), cost, False, _values(used)))
    return [row for row in found if any(one.value is not None for one in row.values)]


def _delivered(entry: dict[str, Any] | None, split: str) -> float | None:
    """The accuracy of the kind that is nearest to the hardware."""
    if entry is None or "delivered" not in entry:
        return None
    last = entry["delivered"][entry.get("kinds", list(entry["delivered"]))[-1]]
    return None if split not in last else float(last[split])


def _values(values: Sequence[float | None], points: bool = False) -> list[Value]:
    first = values[0]
    return [
        Value(value, None if place == 0 or value is None or first is None
              else value - first if points else value / first - 1 if first else None)
        for place, value in enumerate(values)
    ]  # fmt: skip


def differences(runs: Sequence[RunRecord]) -> list[Difference]:
    """Options and plain facts of the data in which the runs differ, and the system where that does."""
    found = [Difference("system", [run.config["system"] for run in runs])]
    for part in ("options", "identity"):
        contents = [run.config[part] for run in runs]
        names = dict.fromkeys(name for content in contents for name in content)
        found += [Difference(name, [content.get(name) for content in contents]) for name in names]
    plain = (str, int, float, bool, type(None))
    return [one for one in found if any(value != one.values[0] for value in one.values)
            and all(isinstance(value, plain) for value in one.values)]  # fmt: skip


def _cost(trial: Trial, cost: Quantity) -> float:
    return trial.costs[cost.name] * cost.scale
