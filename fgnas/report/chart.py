"""Charts as coordinates and paths, which templates write as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fgnas.report.axis import Axis


@dataclass(frozen=True)
class Frame:
    """The drawing area of a chart, in units of its viewBox, between its axes."""

    x: Axis
    y: Axis
    width: int = 560
    height: int = 360
    left: int = 62
    right: int = 18
    top: int = 16
    bottom: int = 52

    def across(self, place: float) -> float:
        """The x coordinate of a place, 0 to 1, on the x axis."""
        return round(self.left + place * (self.width - self.left - self.right), 1)

    def up(self, place: float) -> float:
        """The y coordinate of a place, 0 to 1, on the y axis; coordinates grow downwards."""
        return round(self.height - self.bottom - place * (self.height - self.top - self.bottom), 1)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The coordinates of a pair of values."""
        return self.across(self.x.place(x)), self.up(self.y.place(y))


@dataclass(frozen=True)
class Series:
    """A named path in a chart. Series with equal names have equal colours; `dots`: whether it is drawn as dots."""

    name: str
    path: str
    dots: bool = False


@dataclass(frozen=True)
class Panel:
    """A titled chart of several series; `diagonal` is a path behind them, "" for none."""

    title: str
    frame: Frame
    series: list[Series]
    diagonal: str = ""


def line(frame: Frame, xs: Sequence[float], ys: Sequence[float], steps: bool = False) -> str:
    """The path of a line through points, or of a staircase that holds each value until the next one."""
    places = [frame.at(x, y) for x, y in zip(xs, ys, strict=True)]
    parts: list[str] = []
    for index, (x, y) in enumerate(places):
        if index and steps:
            parts.append(f"H{x:g}" if y == places[index - 1][1] else f"H{x:g}V{y:g}")
        else:
            parts.append(f"{'L' if index else 'M'}{x:g} {y:g}")
    return "".join(parts)


def dots(frame: Frame, xs: Sequence[float], ys: Sequence[float]) -> str:
    """A path with one dot for each point: a stroke of no length with round ends."""
    return "".join(f"M{x:g} {y:g}h0" for x, y in (frame.at(*pair) for pair in zip(xs, ys, strict=True)))


def silhouette(shares: Sequence[float]) -> str:
    """The closed outline of a row of bars with heights 0 to 1, each 1 wide."""
    parts = [f"M0 1V{1 - shares[0]:.3g}"]
    for index, share in enumerate(shares[1:], 1):
        if share != shares[index - 1]:
            parts.append(f"H{index}V{1 - share:.3g}")
    return "".join(parts) + f"H{len(shares)}V1Z"
