"""Axes of a chart: scales from values to places, 0 to 1, with ticks at round numbers. The templates draw them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

MIN_ERROR = 1e-3
"""The error at which an accuracy of 1 is drawn, because a logarithmic axis of errors cannot show 0."""
ERROR_TICKS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999)
SPREAD_FOR_LOG = 8.0
"""Values that spread over more than this ratio are drawn on a logarithmic axis."""


Scale = Callable[[float], float]
Label = Callable[[float], str]


@dataclass(frozen=True)
class Tick:
    """A mark on an axis: its place, 0 to 1, and its label."""

    place: float
    label: str


@dataclass(frozen=True)
class Axis:
    """A scale from values to 0 … 1, and its ticks."""

    title: str
    low: float
    high: float
    bend: Scale
    ticks: tuple[Tick, ...]

    def place(self, value: float) -> float:
        """The place of a value, 0 to 1; values beyond an end are placed at the end."""
        low, high = self.bend(self.low), self.bend(self.high)
        return min(1.0, max(0.0, (self.bend(value) - low) / (high - low)))


def _axis(title: str, low: float, high: float, bend: Scale, at: Iterable[float], label: Label) -> Axis:
    axis = Axis(title, low, high, bend, ())
    inside = [value for value in at if low <= value <= high]
    return Axis(title, low, high, bend, tuple(Tick(axis.place(value), label(value)) for value in inside))


def linear(title: str, low: float, high: float, label: Label, wanted: int = 5) -> Axis:
    """An axis of equal steps, widened so that both ends are ticks."""
    if high <= low:
        high = low + (abs(low) or 1.0)
    step = round_step((high - low) / wanted)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    at = [step * count for count in range(first, last + 1)]
    return _axis(title, at[0], at[-1], float, at, label)


def logarithmic(title: str, low: float, high: float, label: Label) -> Axis:
    """An axis of equal ratios for values above zero, with ticks at 1, 2 and 5 in every decade."""
    low, high = low / 1.1, max(high, low * 1.5) * 1.1
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    at = [factor * 10.0**decade for decade in decades for factor in (1, 2, 5)]
    if high / low > 1000:
        at = [10.0**decade for decade in decades]
    return _axis(title, low, high, math.log10, at, label)


def costs(title: str, values: Sequence[float], limit: float | None, label: Label) -> Axis:
    """An axis of costs. It includes the limit unless that is far beyond all values and would compress them."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if limit is not None and limit <= 1.6 * high:
        high = max(high, limit)
    if low > 0 and high / low > SPREAD_FOR_LOG:
        return logarithmic(title, low, high, label)
    return linear(title, low, high, label)


def accuracy(title: str, values: Sequence[float]) -> Axis:
    """An axis of accuracies, 0 to 1, on a logarithmic scale of their error, which separates the best ones."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    highest = 1 - max(MIN_ERROR, (1 - high) * 0.8)
    lowest = max(0.0, 1 - (1 - low) * 1.1)
    if lowest >= highest:
        lowest = highest - 0.1
    return _axis(title, lowest, highest, _bent_accuracy, ERROR_TICKS, lambda value: f"{100 * value:g} %")


def _bent_accuracy(value: float) -> float:
    return -math.log(max(MIN_ERROR, 1 - value))


def round_step(rough: float) -> float:
    """The smallest of 1, 2, 5, 10 … times a power of ten not below `rough`."""
    scale = 10.0 ** math.floor(math.log10(rough))
    return next(factor * scale for factor in (1, 2, 5, 10) if factor * scale >= rough * (1 - 1e-9))
