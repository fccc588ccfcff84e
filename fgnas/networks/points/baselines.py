"""Baseline networks by name: DGCNN in three forms, and PointNet's shape without its transforms."""

from __future__ import annotations

from collections.abc import Callable

from fgnas.errors import UserError
from fgnas.networks.points.operations import Combine, EdgeConv, Join, Operation, PointNetwork, Sample, Tail

EDGE_WIDTHS = (64, 64, 128, 256)
"""DGCNN's EdgeConvs for classification."""
POINT_WIDTHS = (64, 64, 64, 128)
"""PointNet's layers in front of its embedding."""


def _dgcnn(fused: bool, graphs: int) -> tuple[Operation, ...]:
    """EdgeConvs, each of the first `graphs` behind a graph of its own, and their features side by side."""
    found = list[Operation]()
    for place, width in enumerate(EDGE_WIDTHS):
        found += [Sample("nearest")] * (place < graphs) + [EdgeConv(width, fused)]
    return (*found, Join())


BASELINES: dict[str, Callable[[], tuple[Operation, ...]]] = {
    "dgcnn": lambda: _dgcnn(False, len(EDGE_WIDTHS)),
    "dgcnn-fused": lambda: _dgcnn(True, len(EDGE_WIDTHS)),
    "dgcnn-static": lambda: _dgcnn(True, 1),
    "pointnet": lambda: tuple(Combine(width) for width in POINT_WIDTHS),
}
"""Wang et al., Dynamic Graph CNN (2019); with its EdgeConvs fused; fused, on one graph of the coordinates; Qi et al.,
PointNet (2017)."""


def baseline(name: str, tail: Tail) -> PointNetwork:
    """A baseline with a task's tail. Raises UserError for an unknown name."""
    if name not in BASELINES:
        raise UserError(f"unknown network {name!r}; known: {', '.join(BASELINES)}")
    return PointNetwork(BASELINES[name](), tail)
