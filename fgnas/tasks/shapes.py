"""`shapes`: a synthetic set of 16 families of machine parts, seen from one side, noisy and with pieces missing.

Every part is drawn from its family's ranges of proportions, which overlap between families on purpose. The generator
has a version; another one is other data.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fgnas.tasks.surfaces import (
    Reals,
    Surface,
    box,
    polygon,
    prism,
    revolved,
    rotation,
    together,
    toothed,
)

VERSION = 1
NOISE = 0.03
"""Deviation of a coordinate, in radii of the part."""
LARGEST_GAP = 0.6
"""Radius of the ball whose points are missing, at most, in radii of the part."""
MOST_TILT = np.pi / 5
"""The angle to the vertical at which a part lies, at most."""

Draw = Callable[[float, float], float]
"""A uniform number between two."""


def _bolt(draw: Draw) -> Surface:
    head, shaft = draw(0.8, 1.2), draw(0.35, 0.6)
    return together(prism(polygon(6, head), draw(0.4, 0.9)), _rod(shaft, draw(1.5, 3.5)).moved((0, 0, 0.3)))


def _screw(draw: Draw) -> Surface:
    head, shaft, length = draw(0.8, 1.2), draw(0.35, 0.6), draw(1.5, 3.5)
    dome = revolved([(0, 0), (head, 0), (head, 0.2), (head * 0.7, draw(0.4, 0.7)), (0, draw(0.7, 0.9))])
    return together(dome, _rod(shaft, length).moved((0, 0, -length)))


def _stepped_shaft(draw: Draw) -> Surface:
    first, second, third = draw(0.35, 0.6), draw(0.7, 1.1), draw(0.35, 0.6)
    a, b, c = draw(0.5, 1.5), draw(0.4, 1.2), draw(0.5, 1.5)
    return revolved([(0, 0), (first, 0), (first, a), (second, a), (second, a + b), (third, a + b), (third, a + b + c),
                     (0, a + b + c)])  # fmt: skip


def _pulley(draw: Draw) -> Surface:
    rim, groove, width, bore = draw(0.9, 1.2), draw(0.55, 0.8), draw(0.5, 1.0), draw(0.2, 0.4)
    return revolved([(bore, 0), (rim, 0), (groove, width / 2), (rim, width), (bore, width), (bore, 0)])


def _nut(draw: Draw) -> Surface:
    size = draw(0.8, 1.2)
    return prism(polygon(6, size), draw(0.4, 0.9), polygon(6, size * draw(0.45, 0.65)))


def _washer(draw: Draw) -> Surface:
    size = draw(0.8, 1.2)
    return prism(polygon(24, size), draw(0.1, 0.45), polygon(24, size * draw(0.4, 0.65)))


def _gear(draw: Draw) -> Surface:
    teeth, tip = int(draw(7, 14)), draw(0.9, 1.2)
    outline = toothed(teeth, tip * draw(0.72, 0.86), tip)
    return prism(outline, draw(0.2, 0.7), polygon(len(outline), tip * draw(0.2, 0.45)))


def _pipe(draw: Draw) -> Surface:
    size = draw(0.5, 0.9)
    return prism(polygon(24, size), draw(1.2, 2.8), polygon(24, size * draw(0.6, 0.85)))


def _cup(draw: Draw) -> Surface:
    size, height, wall, floor = draw(0.5, 0.9), draw(1.0, 2.4), draw(0.1, 0.25), draw(0.1, 0.4)
    inner = size - wall
    return revolved([(0, 0), (size, 0), (size, height), (inner, height), (inner, floor), (0, floor)])


def _flange(draw: Draw) -> Surface:
    size, plate, height = draw(0.4, 0.7), draw(0.9, 1.2), draw(0.8, 2.0)
    bore, thick = size * draw(0.6, 0.85), draw(0.15, 0.35)
    return revolved([(bore, 0), (plate, 0), (plate, thick), (size, thick), (size, height), (bore, height), (bore, 0)])


def _bracket(draw: Draw) -> Surface:
    width, thick = draw(0.6, 1.4), draw(0.15, 0.35)
    foot, back = draw(1.0, 2.0), draw(1.0, 2.0)
    return together(box((foot, width, thick)), box((thick, width, back)).moved((-foot / 2 + thick / 2, 0, 0)))


def _tee(draw: Draw) -> Surface:
    width, thick = draw(0.6, 1.4), draw(0.15, 0.35)
    return together(box((draw(1.0, 2.0), width, thick)), box((thick, width, draw(1.0, 2.0))))


def _channel(draw: Draw) -> Surface:
    width, thick, foot = draw(0.6, 1.4), draw(0.15, 0.35), draw(0.9, 1.8)
    side = box((thick, width, draw(0.7, 1.6)))
    place = (foot - thick) / 2
    return together(box((foot, width, thick)), side.moved((place, 0, 0)), side.moved((-place, 0, 0)))


def _wedge(draw: Draw) -> Surface:
    long, high, width = draw(1.2, 2.2), draw(0.6, 1.4), draw(0.6, 1.4)
    triangle = np.array([(-long / 3, -high / 3), (2 * long / 3, -high / 3), (-long / 3, 2 * high / 3)])
    return prism(triangle, width).turned(rotation(0, np.pi / 2))


def _hinge(draw: Draw) -> Surface:
    width, leaf, thick, pin = draw(1.0, 2.0), draw(0.7, 1.4), draw(0.1, 0.2), draw(0.15, 0.3)
    barrel = _rod(pin, width).turned(rotation(0, np.pi / 2)).moved((0, width / 2, pin))
    open_by = rotation(1, -draw(0.1, 1.2))
    return together(box((leaf, width, thick)).moved((leaf / 2, 0, 0)), barrel,
                    box((leaf, width, thick)).moved((-leaf / 2, 0, 0)).turned(open_by))  # fmt: skip


def _knob(draw: Draw) -> Surface:
    size, neck, stem = draw(0.6, 1.0), draw(0.25, 0.5), draw(0.4, 1.4)
    arc = np.linspace(-np.pi / 2, np.pi / 2, 9)[1:]
    ball = [(size * np.cos(a), stem + size + size * np.sin(a)) for a in arc]
    return revolved([(0, 0), (neck, 0), (neck, stem), *ball[:-1], (0, ball[-1][1])])


def _rod(radius: float, length: float) -> Surface:
    return revolved([(0, 0), (radius, 0), (radius, length), (0, length)])


FAMILIES: dict[str, Callable[[Draw], Surface]] = {
    "bolt": _bolt, "screw": _screw, "stepped shaft": _stepped_shaft, "knob": _knob, "nut": _nut, "washer": _washer,
    "gear": _gear, "pulley": _pulley, "pipe": _pipe, "cup": _cup, "flange": _flange, "hinge": _hinge,
    "bracket": _bracket, "tee": _tee, "channel": _channel, "wedge": _wedge,
}  # fmt: skip
"""Parts by name, in the order of their classes."""


def part(family: int, points: int, rng: np.random.Generator) -> Reals:
    """[points, 3] one part of a family as a scanner on one side sees it, its points in the unit ball."""
    made = list(FAMILIES.values())[family](lambda low, high: float(rng.uniform(low, high)))
    made = made.turned(rotation(0, rng.uniform(-MOST_TILT, MOST_TILT))).turned(rotation(2, rng.uniform(0, 2 * np.pi)))
    seen = made.facing(_view(rng)).draw(4 * points, rng)
    centred = in_unit_ball(seen)
    gap, size = centred[rng.integers(len(centred))], rng.uniform(0, LARGEST_GAP)
    left = centred[np.linalg.norm(centred - gap, axis=1) > size]
    chosen = left[rng.choice(len(left), points, replace=len(left) < points)]
    return in_unit_ball(chosen + rng.normal(0, NOISE, chosen.shape))


def in_unit_ball(points: Reals) -> Reals:
    """[n, 3] points around their mean, the farthest at distance 1."""
    centred = points - points.mean(axis=0)
    return np.asarray(centred / max(float(np.linalg.norm(centred, axis=1).max()), 1e-9))


def _view(rng: np.random.Generator) -> Reals:
    """A direction from which a part is seen: from above, at 15 to 75 degrees."""
    around, above = rng.uniform(0, 2 * np.pi), rng.uniform(np.pi / 12, 5 * np.pi / 12)
    return np.array([np.cos(above) * np.cos(around), np.cos(above) * np.sin(around), np.sin(above)])
