"""A delivered FGNAS design: an entry of a run's leaders, with the weights that were scored."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fgnas.backends.project import Request, write
from fgnas.design import Design
from fgnas.hardware.kind import Wanted
from fgnas.hardware.kinds import kind_of
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
    limits = specification or delivered.specification
    fitted = kind_of(delivered.design).fit(delivered.design, delivered.network, data, Wanted(limits))
    return write(fitted, data, directory, Request(limits))
