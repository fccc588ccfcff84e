"""A delivered FGNAS design: an entry of a run's leaders, with the weights that were scored."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fgnas.backends.targets import Request, find_target, target_of
from fgnas.design import Design
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.specification import Specification
from fgnas.network import Network
from fgnas.tasks.nodes import GraphData


@dataclass(frozen=True, eq=False)
class Delivered:
    """A design with its weights, the data it was trained on, and the limits it was searched for."""

    design: Design
    network: Network
    dataset: str
    fingerprint: str
    specification: Specification


def opened(entry: dict[str, Any], folder: Path) -> Delivered:
    """The design of an entry in leaders.json of the run in `folder`. Raises UserError for damaged weights."""
    specification = Specification.of(entry.get("specification", {}), folder / "leaders.json")
    network = Network.load(folder / entry["weights"], entry["sha256"])
    return Delivered(
        Design.from_dict(entry["design"]), network, entry["dataset"], entry["fingerprint"], specification
    )


def written(
    delivered: Delivered, data: GraphData, directory: Path, specification: Specification | None = None
) -> list[Path]:
    """Lower the design for the data's graph and write the project of its hardware; returns the files."""
    design, network = delivered.design, delivered.network
    accelerator = lower(design, network, GraphShape.of(data), data.label, design.hash)
    request = Request(specification or delivered.specification, network)
    return find_target(target_of(design)).write(accelerator, data, directory, request)
