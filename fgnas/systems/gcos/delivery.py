"""A delivered network with its array as a project."""

from __future__ import annotations

from pathlib import Path

from fgnas.backends.targets import Request, find_target, target_of
from fgnas.hardware.pipeline.geometry import GraphShape
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.pipeline.pricing import Specification
from fgnas.systems.fgnas.delivery import Delivered
from fgnas.tasks.nodes import GraphData


def written(
    delivered: Delivered, data: GraphData, directory: Path, specification: Specification | None = None
) -> list[Path]:
    """Lower the network for the data's graph and write its project; returns the files."""
    design, network = delivered.design, delivered.network
    source = lower(design, network, GraphShape.of(data), data.label, design.hash)
    request = Request(specification or delivered.specification, network)
    return find_target(target_of(design)).write(source, data, directory, request)
