"""Surfaces of triangles: solids of revolution, prisms and boxes, their visible part, and points drawn by area."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles whose corners run counter-clockwise as seen from outside.

    Attributes:
        corners: [triangles, 3, 3] the coordinates of each triangle's corners.
    """

    corners: Reals

    def crosses(self) -> Reals:
        """[triangles, 3] outward normals, as long as twice the area."""
        a, b, c = np.moveaxis(self.corners, 1, 0)
        return np.cross(b - a, c - a)

    def moved(self, by: Sequence[float]) -> Surface:
        """The surface at another place."""
        return Surface(self.corners + np.asarray(by))

    def turned(self, matrix: Reals) -> Surface:
        """The surface turned by a rotation matrix [3, 3]."""
        return Surface(self.corners @ matrix.T)

    def facing(self, view: Reals) -> Surface:
        """The triangles whose outside looks towards a viewer in the direction `view` [3]."""
        return Surface(self.corners[self.crosses() @ view > 0])

    def draw(self, count: int, rng: np.random.Generator) -> Reals:
        """[count, 3] points, uniform over the area. Raises ValueError for a surface without area."""
        areas = np.linalg.norm(self.crosses(), axis=1)
        if not areas.sum() > 0:
            raise ValueError("a surface without area has no points")
        a, b, c = np.moveaxis(self.corners[rng.choice(len(areas), count, p=areas / areas.sum())], 1, 0)
        # The square root makes points of a triangle uniform: Osada et al., Shape distributions (2002), equation 1.
        root, along = np.sqrt(rng.random((count, 1))), rng.random((count, 1))
        return np.asarray((1 - root) * a + root * (1 - along) * b + root * along * c)


def together(*parts: Surface) -> Surface:
    """Several surfaces as one; where solids overlap, their inner parts stay."""
    return Surface(np.concatenate([part.corners for part in parts]))


def mesh(vertices: Reals, faces: NDArray[np.int64]) -> Surface:
    """The surface of vertices [n, 3] and triangles [m, 3] of their indices."""
    return Surface(np.asarray(vertices, np.float64)[faces])


def revolved(profile: Sequence[tuple[float, float]], sides: int = 24) -> Surface:
    """A solid of revolution about z from its profile of (radius, height), counter-clockwise in that plane; it is
    closed where it begins and ends on the axis."""
    radius, height = np.array(profile, np.float64).T
    return _swept(radius[:, None, None] * _ring(sides), height)


def prism(outline: Reals, height: float, hole: Reals | None = None) -> Surface:
    """A prism from z = 0 on an outline [n, 2], counter-clockwise, that its origin sees whole; `hole` [n, 2] is a
    second such outline within it, with as many corners."""
    inner = np.zeros_like(outline) if hole is None else hole
    rings = np.stack([inner, outline, outline, inner] + ([] if hole is None else [inner]))
    return _swept(rings, np.array([0, 0, height, height, 0][: len(rings)], np.float64))


def box(size: Sequence[float]) -> Surface:
    """A box around the origin's axis, from z = 0."""
    x, y = size[0] / 2, size[1] / 2
    return prism(np.array([(-x, -y), (x, -y), (x, y), (-x, y)]), size[2])


def polygon(corners: int, radius: float) -> Reals:
    """[corners, 2] a regular polygon around the origin."""
    return radius * _ring(corners)


def toothed(teeth: int, root: float, tip: float) -> Reals:
    """[4 * teeth, 2] the outline of a gear, four corners a tooth."""
    radius = np.tile([root, tip, tip, root], teeth)
    return radius[:, None] * _ring(4 * teeth)


def rotation(about: int, angle: float) -> Reals:
    """[3, 3] the matrix that turns about an axis, 0 to 2."""
    first, second = (axis for axis in range(3) if axis != about)
    matrix = np.eye(3)
    matrix[[first, second], [first, second]] = np.cos(angle)
    matrix[first, second], matrix[second, first] = -np.sin(angle), np.sin(angle)
    return matrix


def _ring(corners: int) -> Reals:
    angles = 2 * np.pi * np.arange(corners) / corners
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _swept(rings: Reals, heights: Reals) -> Surface:
    """The surface between rings [rings, n, 2] one after the other, each with its height."""
    points = np.concatenate([rings, np.broadcast_to(heights[:, None, None], (*rings.shape[:2], 1))], axis=2)
    lower, upper = points[:-1], points[1:]
    next_lower, next_upper = np.roll(lower, -1, axis=1), np.roll(upper, -1, axis=1)
    halves = (lower, next_lower, next_upper), (lower, next_upper, upper)
    corners = np.concatenate([np.stack(half, axis=2).reshape(-1, 3, 3) for half in halves])
    found = Surface(corners)
    return Surface(corners[np.linalg.norm(found.crosses(), axis=1) > 1e-12])
