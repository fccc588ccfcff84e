"""Networks of operations from Python: train, lower to an array, write."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fgnas.api.projects import Checked, Project
from fgnas.errors import UserError
from fgnas.fixedpoint import Codes
from fgnas.progress import step

if TYPE_CHECKING:
    from fgnas.api.imports import ImportedNetwork
    from fgnas.systems.hgnas.delivery import Accuracies, Delivered, OnArray
    from fgnas.tasks.points import GraphSet

Clouds = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class PointDesign:
    """A network of operations for point clouds, with its weights where it has any.

    Attributes:
        delivered: the network, its weights, its data, and the array that it was searched for.
    """

    delivered: Delivered

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PointDesign:
        """Read a record of operations, with its weights if it names any, as a run's best.json does."""
        from fgnas.systems.hgnas.delivery import read

        return cls(read(Path(path)))

    @property
    def hash(self) -> str:
        """Twelve hexadecimal digits that name the network."""
        return self.delivered.network.hash

    @property
    def label(self) -> str:
        """A short name, for folders."""
        return self.delivered.label

    def to_dict(self) -> dict[str, Any]:
        """The operations as plain JSON values."""
        return self.delivered.network.to_dict()

    def train(self, dataset: str | os.PathLike[str] | None = None, seed: int = 0) -> PointDesign:
        """The network with weights, trained on clouds by name or file. Sets torch to one thread."""
        fresh = replace(self.delivered, weights=None, fingerprint=None)
        return PointDesign(fresh.trained(clouds_of(dataset or self.delivered.dataset), seed))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the record, and its weights beside it."""
        from fgnas.systems.hgnas.delivery import saved

        saved(self.delivered, Path(path))
        return Path(path)

    def over_edges(self, dataset: str | os.PathLike[str] | None = None) -> bool:
        """Whether its graphs, by name or file where they are given, have edges of their own: an array runs it in calls,
        as an imported network."""
        return clouds_of(dataset or self.delivered.dataset).edge_index is not None

    def imported(
        self, bits: int | None = None, dsp: int = 100, dataset: str | os.PathLike[str] | None = None
    ) -> ImportedNetwork:
        """The network over graphs with edges of their own in integers of so many bits, by default those of its search.

        A network without weights is trained first. `dsp` limits its array, `dataset` is where its graphs are now.
        Raises UserError for operations that an array has for clouds alone.
        """
        from fgnas.api.imports import ImportedNetwork
        from fgnas.systems.hgnas.edges import check_importable, collection, on_array

        check_importable(self.delivered.network)
        data = self.delivered.data(None if dataset is None else clouds_of(dataset))
        ready = self.delivered.trained(data)
        width = bits or ready.size.bits
        with step("choose the formats"):
            found = on_array(ready.model(data), data, width)
        return ImportedNetwork.of(found, collection(data), self.hash, self.label, dsp, width)

    def lower(
        self,
        dataset: str | os.PathLike[str] | None = None,
        multipliers: int | None = None,
        beat_bits: int | None = None,
        bits: int | None = None,
    ) -> PointAccelerator:
        """The network on an array of so many multipliers behind a port of so many bits, with numbers of `bits`.

        By default the array of its search, or 64 multipliers, 512 bits and 8 bits. A network without weights is trained
        first.
        """
        from fgnas.systems.hgnas.delivery import on_array

        size = self.delivered.size.changed(multipliers=multipliers, beat_bits=beat_bits, bits=bits)
        return PointAccelerator(on_array(self.delivered, None if dataset is None else clouds_of(dataset), size))


@dataclass(frozen=True, eq=False)
class PointAccelerator(Checked):
    """A network of operations on an array: clouds in, logits out.

    Attributes:
        hardware: integers, programme and engine; `hardware.encoded.accelerator.summary()` has the engine's sizes.
    """

    hardware: OnArray

    @property
    def design(self) -> PointDesign:
        """The network, with the weights that were lowered."""
        return PointDesign(self.hardware.delivered)

    @property
    def data(self) -> GraphSet:
        """The clouds that its formats were chosen on."""
        return self.hardware.data

    @property
    def logit_step(self) -> float:
        """The value of one step of a logit code."""
        return self.hardware.integers.output.number.step

    def logits(self, clouds: Clouds | None = None) -> Codes:
        """[B, classes] codes for clouds [B, N, F], by default those of the test split; equal to the hardware's."""
        return self.hardware.logits(self.data.clouds("test")[0] if clouds is None else clouds)

    def predict(self, clouds: Clouds | None = None) -> NDArray[np.int64]:
        """[B] predicted classes; among equal logits the lowest class wins."""
        from fgnas.hardware.integer.interpreter import predict

        return predict(self.logits(clouds))

    def accuracy(self) -> Accuracies:
        """Accuracies of the float network and of the integers, "float" and "quantised", each on "val" and "test"."""
        return self.hardware.accuracies

    def price(self, **specification: Any) -> dict[str, Any]:
        """Cycles of every phase, resources, and the limits of a specification that they break."""
        from fgnas.api.pricing import specification as specified
        from fgnas.backends.array import price_points

        given = specified(**specification) if specification else self.hardware.delivered.specification
        return price_points(self.hardware.encoded, given)

    def write(
        self, directory: str | os.PathLike[str], fpga: str | None = None, clock_mhz: float | None = None
    ) -> Project:
        """Write the project, whole or not at all: C++, RTL, vectors of a cloud, driver, reports.

        By default it uses the limits and clock of the network's search; a device, by name or file, and a clock given
        here replace them.
        """
        from fgnas.backends.points import write_project
        from fgnas.hardware.devices import specified

        wanted = specified(self.hardware.delivered.specification, fpga, clock_mhz)
        made = self.hardware.project()
        with step("write the project"):
            write_project(made, Path(directory), wanted)
        return Project(Path(directory))


def clouds_of(dataset: str | os.PathLike[str]) -> GraphSet:
    """Clouds by name or from a file."""
    from fgnas.tasks.points import load_graphs

    return load_graphs(dataset)


def offered(found: Delivered, label: str) -> PointDesign:
    """A delivered network under a name: see `fgnas.engine.contracts.BackEnd.offered`."""
    return PointDesign(replace(found, label=label))


def is_network(path: Path) -> bool:
    """Whether a file holds a record of operations, or one below `design`."""
    import json

    from fgnas.files import read_text

    try:
        content = json.loads(read_text(path, "design"))
    except (ValueError, UserError):
        return False
    record = content.get("design", content) if isinstance(content, dict) else {}
    return isinstance(record, dict) and "operations" in record
