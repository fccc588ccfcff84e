"""Surfaces: their volume and their outside are those of geometry, and points lie on them, uniform by area."""

import numpy as np
import pytest

from fgnas.tasks.surfaces import Surface, box, mesh, polygon, prism, revolved, rotation, together, toothed


def volume(surface: Surface) -> float:
    """The volume that closed triangles enclose; positive if they look outwards (the divergence theorem)."""
    a = surface.corners[:, 0]
    return float((a * surface.crosses()).sum() / 6)


def area_of_polygon(corners: int, radius: float) -> float:
    return corners * radius**2 * np.sin(2 * np.pi / corners) / 2


@pytest.mark.parametrize(
    "surface, wanted",
    [
        (box((2, 3, 4)), 24),
        (prism(polygon(6, 1.0), 2), 2 * area_of_polygon(6, 1.0)),
        (prism(polygon(6, 1.0), 2, polygon(6, 0.5)), 2 * (area_of_polygon(6, 1.0) - area_of_polygon(6, 0.5))),
        (revolved([(0, 0), (1, 0), (1, 3), (0, 3)], sides=24), 3 * area_of_polygon(24, 1.0)),
        (revolved([(0, 0), (1, 0), (0, 3)], sides=24), area_of_polygon(24, 1.0)),
        (revolved([(1, 0), (2, 0), (2, 3), (1, 3), (1, 0)], sides=8), 9 * area_of_polygon(8, 1)),
        (together(box((1, 1, 1)), box((1, 1, 1)).moved((5, 0, 0))), 2),
        (box((1, 2, 3)).turned(rotation(0, 0.7)).turned(rotation(2, -1.1)).moved((1, 2, 3)), 6),
    ],
)  # fmt: skip
def test_volumes(surface: Surface, wanted: float) -> None:
    assert volume(surface) == pytest.approx(wanted)


def test_a_gear_has_its_teeth() -> None:
    outline = toothed(8, 1.0, 2.0)
    assert np.linalg.norm(outline, axis=1) == pytest.approx(np.tile([1, 2, 2, 1], 8))
    assert volume(prism(outline, 1.0)) == pytest.approx(8 * (2 * 1 * 2 + 2 * 2 + 1 * 1) * np.sin(2 * np.pi / 32) / 2)


def test_three_sides_of_a_box_face_a_corner() -> None:
    seen = box((2, 2, 2)).facing(np.array([1.0, 2.0, 3.0]))
    normals = seen.crosses() / np.linalg.norm(seen.crosses(), axis=1, keepdims=True)
    assert {tuple(one) for one in normals.round(9).tolist()} == {(1, 0, 0), (0, 1, 0), (0, 0, 1)}


def test_points_are_uniform_by_area() -> None:
    """Two squares, one four times as large: four fifths of the points, their mean in its middle."""
    faces = np.array([(0, 1, 2), (0, 2, 3), (4, 5, 6), (4, 6, 7)])
    vertices = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (10, 0, 1), (12, 0, 1), (12, 2, 1), (10, 2, 1)])
    points = mesh(vertices, faces).draw(20000, np.random.default_rng(3))
    large = points[points[:, 2] > 0.5]
    assert len(large) / len(points) == pytest.approx(0.8, abs=0.015)
    assert large.mean(axis=0) == pytest.approx([11, 1, 1], abs=0.03)
    assert large.var(axis=0)[:2] == pytest.approx([1 / 3, 1 / 3], abs=0.02)


def test_no_area_has_no_points() -> None:
    with pytest.raises(ValueError, match="without area"):
        mesh(np.zeros((3, 3)), np.array([(0, 1, 2)])).draw(1, np.random.default_rng(0))
