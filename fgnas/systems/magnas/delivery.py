"""A delivered subnet: the accelerators that its mapping needs, each with all the steps that it runs as test vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from fgnas.backends.array import write_points_step
from fgnas.backends.points import PointProject, write_project
from fgnas.backends.project import MAPPING, MARK, replace_project, write_json
from fgnas.backends.render import render
from fgnas.errors import UserError
from fgnas.hardware.array.cycles import total_cycles
from fgnas.hardware.array.points.encoded import EncodedPoints
from fgnas.hardware.specification import Specification
from fgnas.networks.scaled import Clouds
from fgnas.networks.vision.steps import HEAD, elements
from fgnas.networks.vision.subnet import Subnet
from fgnas.networks.vision.supernet import accuracy
from fgnas.networks.vision.vig import Vig
from fgnas.systems.magnas.kernels import AnyKernel, kernel_of
from fgnas.systems.magnas.mapped import MappedSubnet, Piece, Units, WholePiece, input_of, mapped_subnet
from fgnas.systems.magnas.programme import Programme
from fgnas.systems.magnas.target import Mapping
from fgnas.systems.magnas.trainer import Source, opened
from fgnas.systems.magnas.whole import accuracy as of_integers
from fgnas.systems.magnas.whole import points
from fgnas.tasks.images import ImageData
from fgnas.tasks.nodes import GraphData


@dataclass(frozen=True, eq=False)
class Delivered:
    """A subnet with its mapping, the kernels among the units, and what it was searched on."""

    subnet: Subnet
    mapping: Mapping
    kernels: Units
    source: Source


class Vector(ABC):
    """A start of a kernel, with what it is given for one image.

    Attributes:
        piece: the steps that it runs.
    """

    piece: Piece | WholePiece

    @property
    @abstractmethod
    def kernel(self) -> AnyKernel:
        """The accelerator."""

    @property
    @abstractmethod
    def cycles(self) -> int:
        """Those of the model of the build."""

    @property
    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """The patches, the features between its maps, and the neighbours that it looks at."""

    @abstractmethod
    def write(self, directory: Path) -> None:
        """Write the kernel's project, with this start as its test vectors."""

    @abstractmethod
    def write_step(self, folder: Path) -> None:
        """Write this start below a project of the same build: as test vectors alone."""

    @property
    def specification(self) -> Specification:
        """The specification of the kernel's project."""
        return Specification(clock_mhz=self.kernel.clock_mhz)


@dataclass(frozen=True, eq=False)
class CallVector(Vector):
    """A call."""

    piece: Piece
    programme: Programme
    data: GraphData

    @property
    def kernel(self) -> AnyKernel:
        return self.programme.kernel

    @property
    def cycles(self) -> int:
        return self.programme.kernel.build.cycles(self.programme.call)

    @property
    def facts(self) -> dict[str, Any]:
        call = self.programme.call
        return {"nodes": call.nodes, "widths": list(call.widths), "neighbours": call.neighbours}

    def write(self, directory: Path) -> None:
        self.programme.loaded.write(self.data, directory, self.specification)

    def write_step(self, folder: Path) -> None:
        self.programme.loaded.write_step(self.data, folder, self.specification)


@dataclass(frozen=True, eq=False)
class WholeVector(Vector):
    """A whole subnet, with an image.

    Attributes:
        encoded: its programme, with the image.
        image: [1, N, pixels] the patches.
        subnet: its record.
        accuracies: in floats and in integers.
        weights: the file of the supernet.
    """

    piece: WholePiece
    encoded: EncodedPoints
    image: Clouds
    subnet: Subnet
    accuracies: dict[str, dict[str, float]]
    weights: bytes

    @property
    def kernel(self) -> AnyKernel:
        return self.piece.kernel

    @property
    def cycles(self) -> int:
        return total_cycles(self.encoded)

    @property
    def facts(self) -> dict[str, Any]:
        backbone, integers = self.piece.backbone, self.piece.integers
        return {"nodes": backbone.nodes, "widths": [integers.width_in, integers.output.columns],
                "neighbours": max(backbone.neighbours)}  # fmt: skip

    def write(self, directory: Path) -> None:
        integers, nodes = self.piece.integers, self.piece.backbone.nodes
        held = elements(self.piece.backbone)
        rows = tuple((stage.name, "", held[stage.name] // (1 if stage.name == HEAD else nodes))
                     for stage in self.piece.chain)  # fmt: skip
        project = PointProject(self.encoded, self.subnet.to_dict(), self.accuracies, self.weights, self.image,
                               integers.number, rows)  # fmt: skip
        write_project(project, directory, self.specification)

    def write_step(self, folder: Path) -> None:
        write_points_step(self.encoded, folder, self.specification)


def opened_entry(entry: dict[str, Any], folder: Path) -> Delivered:
    """The subnet of an entry in leaders.json of the run in `folder`."""
    mapping = Mapping.of(entry["mapping"])
    kernels = {name: kernel_of(name, facts) for name, facts in entry["kernels"].items() if name in mapping.units}
    weights = str(folder / entry["weights"])
    source = Source(entry["dataset"], entry["fingerprint"], weights, entry["sha256"], entry.get("metric", "cosine"))
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
    if isinstance(whole := subnet.pieces[0], WholePiece):
        vectors = [_whole_vector(delivered, whole, data, model)]
    return replace_project(directory, lambda built: _fill(delivered, vectors, val, built))


def vectors_of(subnet: MappedSubnet, data: ImageData) -> Sequence[Vector]:
    """Every step on a kernel with its input for the first validation image, as the mapped subnet computes it."""
    image = torch.from_numpy(data.split("val")[0][:1])
    return [
        CallVector(piece, piece.programme, piece.programme.graph(*input_of(piece, x), name=piece.name))
        for piece, x, _, _ in subnet.steps(image) if isinstance(piece, Piece) and piece.programme is not None
    ]  # fmt: skip


def _whole_vector(delivered: Delivered, piece: WholePiece, data: ImageData, model: Vig) -> WholeVector:
    """A whole subnet with the first validation image."""
    image = data.split("val")[0][:1]
    encoded = piece.kernel.build.lowered(piece.integers, piece.backbone, delivered.subnet.hash, data.name)
    accuracies = {
        "float": {split: accuracy(model, delivered.subnet, data, split) for split in ("val", "test")},
        "quantised": {split: of_integers(piece.integers, model, data, split) for split in ("val", "test")},
    }
    cloud = piece.codes(torch.from_numpy(image))[0]
    return WholeVector(piece, encoded.with_cloud(cloud), points(model, image), delivered.subnet, accuracies,
                       Path(delivered.source.weights).read_bytes())  # fmt: skip


def _fill(delivered: Delivered, vectors: Sequence[Vector], val: float, built: Path) -> None:
    """All files of the new folder `built`; `val` is the mapped subnet's validation accuracy."""
    used: dict[str, list[Vector]] = {}
    for vector in vectors:
        used.setdefault(vector.kernel.name, []).append(vector)
    for name, own in used.items():
        own[0].write(built / name)
        for vector in own:
            vector.write_step(built / name / "steps" / vector.piece.name)
    chain = [
        {"step": vector.piece.name, "unit": vector.kernel.name, **vector.facts, "cycles": vector.cycles}
        for vector in vectors
    ]
    write_json(built / MARK, delivered.subnet.to_dict())
    write_json(built / MAPPING, {"val": val, "units": list(delivered.mapping.units), "calls": chain})
    text = render("mapping/README.md.j2", delivered=delivered, vectors=vectors, kernels=used, val=val,
                  whole=any(isinstance(one, WholeVector) for one in vectors))  # fmt: skip
    (built / "README.md").write_text(text, encoding="utf-8")
