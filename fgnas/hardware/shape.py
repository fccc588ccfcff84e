"""The facts of a dataset that hardware is built for."""

from __future__ import annotations

from dataclasses import dataclass

from fgnas.hardware.numbers import ceil_div
from fgnas.tasks.degrees import Degrees
from fgnas.tasks.nodes import GraphData

Sized = GraphData | Degrees
"""A graph, or one of which the sizes are known alone."""


@dataclass(frozen=True)
class GraphShape:
    """The facts of a dataset that are built into hardware: exact widths, and capacities of what varies at run time."""

    width_in: int
    classes: int
    node_capacity: int
    degree_capacity: int

    @classmethod
    def of(cls, data: Sized) -> GraphShape:
        """Capacity of nodes: rounded up to 1,024; of |S(i)|: to the next power of two."""
        largest = data.largest_neighbourhood
        return cls(
            width_in=data.width_in,
            classes=data.classes,
            node_capacity=max(1, ceil_div(data.nodes, 1024)) * 1024,
            degree_capacity=1 << max(1, (largest - 1).bit_length()),
        )
