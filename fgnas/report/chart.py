"""Charts as places in a drawing: what a template needs to write them as SVG, worked out beforehand."""

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
        """From 0 … 1 along x to the drawing."""
        return round(self.left + place * (self.width - self.left - self.right), 1)

    def up(self, place: float) -> float:
        """From 0 … 1 along y to the drawing, whose y grows downwards."""
        return round(self.height - self.bottom - place * (self.height - self.top - self.bottom), 1)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The place of a pair of values."""
        return self.across(self.x.place(x)), self.up(self.y.place(y))


def line(frame: Frame, xs: Sequence[float], ys: Sequence[float], steps: bool = False) -> str:
    """The path of a line through points; with `steps` it holds each value until the next one."""
    places = [frame.at(x, y) for x, y in zip(xs, ys, strict=True)]
    parts: list[str] = []
    for index, (x, y) in enumerate(places):
        if index and steps:
            parts.append(f"H{x:g}" if y == places[index - 1][1] else f"H{x:g}V{y:g}")
        else:
            parts.append(f"{'L' if index else 'M'}{x:g} {y:g}")
    return "".join(parts)


def dots(frame: Frame, xs: Sequence[float], ys: Sequence[float]) -> str:
    """A path of one dot for each point, drawn by its round line ends."""
    return "".join(f"M{x:g} {y:g}h0" for x, y in (frame.at(*pair) for pair in zip(xs, ys, strict=True)))


def silhouette(shares: Sequence[float]) -> str:
    """The outline of shares, 0 to 1, as a closed path that is as wide as there are shares, and 1 high."""
    parts = [f"M0 1V{1 - shares[0]:.3g}"]
    for index, share in enumerate(shares[1:], 1):
        if share != shares[index - 1]:
            parts.append(f"H{index}V{1 - share:.3g}")
    return "".join(parts) + f"H{len(shares)}V1Z"
