"""The work of a network of operations for one cloud: multiplications, weights, and its widest features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fgnas.networks.points.operations import Combine, EdgeConv, Operation, PointNetwork, Sample, widths


@dataclass(frozen=True)
class Cloud:
    """The clouds that a network is for.

    Attributes:
        points: N.
        width: F, features of a point.
        neighbours: k.
        classes: outputs of the network.
        edges: whether the data has graphs of its own.
    """

    points: int
    width: int
    neighbours: int
    classes: int
    edges: bool = False


def widest(operations: Sequence[Operation], width_in: int) -> int:
    """Features of a point at the widest place, messages included."""
    return max([width_in, *widths(operations, width_in)])


def multiplications(network: PointNetwork, cloud: Cloud) -> int:
    """Multiplications of one cloud: linear maps, and N * N distances of a graph of nearest neighbours."""
    given = [cloud.width, *widths(network.operations, cloud.width)]
    operations = zip(network.operations, given, given[1:], strict=False)
    points = cloud.points
    found = sum(_each(one, width, behind, cloud) for one, width, behind in operations)
    tail = network.tail
    sizes = (2 * tail.embedding, *tail.hidden, cloud.classes)
    return found + points * given[-1] * tail.embedding + sum(a * b for a, b in zip(sizes, sizes[1:], strict=False))


def _each(one: Operation, width: int, behind: int, cloud: Cloud) -> int:
    match one:
        case Sample(function="nearest"):
            return cloud.points**2 * width
        case Combine():
            return cloud.points * width * behind
        case EdgeConv():
            return cloud.points * 2 * width * behind * (1 if one.fused else cloud.neighbours)
    return 0
