"""A delivered subnet: the accelerators that its mapping needs, each with all the steps that it runs as test vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from fgnas.backends.project import MAPPING, MARK, replace_project, write_json
from fgnas.backends.render import render
from fgnas.errors import UserError
from fgnas.hardware.specification import Specification
from fgnas.networks.vision.subnet import Subnet
from fgnas.systems.magnas.kernels import Kernel
from fgnas.systems.magnas.mapped import MappedSubnet, Piece, input_of, mapped_subnet
from fgnas.systems.magnas.programme import Programme
from fgnas.systems.magnas.target import Mapping
from fgnas.systems.magnas.trainer import Source, opened
from fgnas.tasks.images import ImageData
from fgnas.tasks.nodes import GraphData


@dataclass(frozen=True, eq=False)
class Delivered:
    """A subnet with its mapping, the kernels among the units, and what it was searched on."""

    subnet: Subnet
    mapping: Mapping
    kernels: dict[str, Kernel]
    source: Source


@dataclass(frozen=True, eq=False)
class Vector:
    """A step on a kernel, with what it is given for one image."""

    piece: Piece
    programme: Programme
    data: GraphData

    @property
    def cycles(self) -> int:
        """Those of the model of the build."""
        return self.programme.kernel.build.cycles(self.programme.call)


def opened_entry(entry: dict[str, Any], folder: Path) -> Delivered:
    """The subnet of an entry in leaders.json of the run in `folder`."""
    mapping = Mapping.of(entry["mapping"])
    kernels = {name: Kernel.of(name, facts) for name, facts in entry["kernels"].items() if name in mapping.units}
    weights = str(folder / entry["weights"])
    source = Source(entry["dataset"], entry["fingerprint"], weights, entry["sha256"])
    return Delivered(Subnet.from_dict(entry["design"]), mapping, kernels, source)


def written(delivered: Delivered, directory: Path) -> list[Path]:
    """Write a project for every kernel, whole or not at all; returns the files.

    Raises UserError where no step runs on a kernel.
    """
    if not delivered.kernels:
        used = ", ".join(sorted({*delivered.mapping.units}))
        raise UserError(
            f"the subnet runs on {used} alone and needs no accelerator: name another design, or search with a platform "
            "whose kernels pay"
        )
    data, model = opened(delivered.source)
    subnet = mapped_subnet(model, delivered.subnet, data, delivered.mapping, delivered.kernels)
    vectors, val = vectors_of(subnet, data), subnet.accuracy(data, "val")
    return replace_project(directory, lambda built: _fill(delivered, vectors, val, built))


def vectors_of(subnet: MappedSubnet, data: ImageData) -> list[Vector]:
    """Every step on a kernel with its input for the first validation image, as the mapped subnet computes it."""
    image = torch.from_numpy(data.split("val")[0][:1])
    return [
        Vector(piece, piece.programme, piece.programme.graph(*input_of(piece, x), name=piece.name))
        for piece, x, _, _ in subnet.steps(image) if piece.programme is not None
    ]  # fmt: skip


def _fill(delivered: Delivered, vectors: Sequence[Vector], val: float, built: Path) -> None:
    """All files of the new folder `built`; `val` is the mapped subnet's validation accuracy."""
    used: dict[str, list[Vector]] = {}
    for vector in vectors:
        used.setdefault(vector.programme.kernel.name, []).append(vector)
    for name, own in used.items():
        kernel = delivered.kernels[name]
        specification = Specification(clock_mhz=kernel.clock_mhz)
        own[0].programme.loaded.write(own[0].data, built / name, specification)
        for vector in own:
            place = built / name / "steps" / vector.piece.name
            vector.programme.loaded.write_step(vector.data, place, specification)
    chain = [
        {
            "step": vector.piece.name, "unit": vector.programme.kernel.name,
            "nodes": vector.programme.call.nodes, "widths": list(vector.programme.call.widths),
            "neighbours": vector.programme.call.neighbours, "cycles": vector.cycles,
        }
        for vector in vectors
    ]  # fmt: skip
    write_json(built / MARK, delivered.subnet.to_dict())
    write_json(built / MAPPING, {"val": val, "units": list(delivered.mapping.units), "calls": chain})
    text = render("mapping/README.md.j2", delivered=delivered, vectors=vectors, kernels=used, val=val)
    (built / "README.md").write_text(text, encoding="utf-8")
