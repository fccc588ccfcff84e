"""A mapped subnet: its steps in order, those on kernels in integers, by the reference, the others in floats.

The formats of a kernel's steps come from training images, step after step: each sees what the steps before it give.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fgnas.errors import UserError
from fgnas.fixedpoint import Codes
from fgnas.hardware.integer.network import IntegerNetwork
from fgnas.mapping.chain import WHOLE
from fgnas.networks.scaled import logits
from fgnas.networks.vision.stages import Stage, stages
from fgnas.networks.vision.subnet import Subnet
from fgnas.networks.vision.supernet import MEASURED_IMAGES
from fgnas.networks.vision.vig import Backbone, Vig, patches
from fgnas.systems.magnas.build import Index, Reals
from fgnas.systems.magnas.calls import Call, Names, calls, covering
from fgnas.systems.magnas.host import flat
from fgnas.systems.magnas.kernels import AnyKernel, Kernel, WholeKernel
from fgnas.systems.magnas.parts import Part, split
from fgnas.systems.magnas.programme import Programme, calibrated
from fgnas.systems.magnas.target import Mapping
from fgnas.systems.magnas.whole import network_of
from fgnas.tasks.images import ImageData

Units = dict[str, AnyKernel]
"""The accelerators among the units, by name."""
CALIBRATION_IMAGES = 32
"""Training images that formats are chosen on."""
BATCH = 500
"""Images that are classified at once."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Consecutive steps that run as one: on the processor, or as one call of a kernel.

    Attributes:
        place: of its first step in the chain, from 1.
        part, programme: the split and the integers; None on the processor.
    """

    place: int
    chain: tuple[Stage, ...]
    part: Part | None = None
    programme: Programme | None = None

    @property
    def name(self) -> str:
        """The place and the kinds of its steps: "07-fc1-32-fc2-32"."""
        return "-".join([f"{self.place:02}", *(stage.name for stage in self.chain)])

    def run(self, x: Tensor, entered: Tensor) -> Tensor:
        """The output of a batch, from its input and its block's input."""
        if self.part is None or self.programme is None:
            for stage in self.chain:
                x = stage.run(x, entered)
            return x
        rows, index = self.part.before(x)
        found = self.programme.outputs(*flat(rows, index))
        return self.part.after(x, entered, torch.from_numpy(found.reshape(*rows.shape[:2], -1)))


@dataclass(frozen=True, eq=False)
class WholePiece:
    """A whole subnet as one start.

    Attributes:
        integers: the integer network that defines its logits.
    """

    chain: tuple[Stage, ...]
    kernel: WholeKernel
    backbone: Backbone
    integers: IntegerNetwork
    name: str = WHOLE

    def codes(self, images: Tensor) -> Codes:
        """[batch, N, pixels] what is sent for images."""
        return self.integers.number.quantise(patches(images, self.backbone.patch).numpy())

    def run(self, x: Tensor, entered: Tensor) -> Tensor:
        """The logits of a batch of images."""
        found = logits(self.integers, patches(x, self.backbone.patch).numpy())
        return torch.from_numpy(self.integers.output.number.value(found))


@dataclass(frozen=True, eq=False)
class MappedSubnet:
    """The pieces of a subnet, from the stem to the head."""

    pieces: tuple[Piece | WholePiece, ...]

    def steps(self, images: Tensor) -> Iterator[tuple[Piece | WholePiece, Tensor, Tensor, Tensor]]:
        """Every piece with its input, its block's input, and its output, for images [batch, channels, size, size]."""
        with torch.no_grad():
            x = entered = images
            for piece in self.pieces:
                entered = x if piece.chain[0].opens else entered
                found = piece.run(x, entered)
                yield piece, x, entered, found
                x = found

    def logits(self, images: Tensor) -> Tensor:
        """[batch, classes] logits of images."""
        *_, (_, _, _, found) = self.steps(images)
        return found

    def accuracy(self, data: ImageData, split: str) -> float:
        """The share of right classes on a split."""
        images, labels = data.split(split)
        parts = torch.from_numpy(images).split(BATCH)
        found = np.concatenate([self.logits(part).argmax(dim=-1).numpy() for part in parts])
        return float((found == labels).mean())


def mapped_subnet(
    model: Vig, subnet: Subnet, data: ImageData, mapping: Mapping, kernels: Units
) -> MappedSubnet:
    """A subnet whose steps run on the units of a mapping, of which `kernels` are accelerators.

    It takes the subnet's batch-norm statistics and the kernels' formats from training images.
    """
    whole = kernels.get(mapping.units[0])
    if isinstance(whole, WholeKernel):
        integers = network_of(model, subnet, data, whole.build.facts.bits)
        return MappedSubnet((WholePiece(tuple(stages(model, subnet)), whole, model.backbone, integers),))
    images = torch.from_numpy(data.split("train")[0])
    model.eval()
    model.measure(images[:MEASURED_IMAGES], subnet)
    found: list[Piece] = []
    with torch.no_grad():
        x = entered = images[:CALIBRATION_IMAGES]
        for place, chain, kernel, call in _grouped(stages(model, subnet), mapping, kernels, model.backbone):
            entered = x if chain[0].opens else entered
            piece = Piece(place, chain)
            if kernel is not None and call is not None:
                part = split(chain)
                piece = Piece(place, chain, part, calibrated(kernel, call, part.maps, *flat(*part.before(x))))
            found.append(piece)
            x = piece.run(x, entered)
    return MappedSubnet(tuple(found))


def _grouped(
    chain: Sequence[Stage], mapping: Mapping, kernels: Units, backbone: Backbone
) -> Iterator[tuple[int, tuple[Stage, ...], Kernel | None, Call | None]]:
    """(place, steps, kernel, call) of each piece: the calls of a kernel as the platform charges them, see `measure`."""
    known, ends = calls(backbone), itertools.accumulate(mapping.parts)
    for end, size in zip(ends, mapping.parts, strict=True):
        place, part = end - size, tuple(chain[end - size : end])
        kernel = kernels.get(mapping.units[place])
        if not isinstance(kernel, Kernel):
            yield from ((place + number, (stage,), None, None) for number, stage in enumerate(part, 1))
            continue
        names = tuple(stage.name for stage in part)
        runs = covering(names, known, kernel.runs)
        if runs is None:
            raise UserError(f"the platform says that {kernel.name} runs {' and '.join(names)}, but it cannot: "
                            f"{_refusal(kernel, names, known)}")  # fmt: skip
        for one in runs:
            yield place + 1, tuple(chain[place : place + len(one)]), kernel, known[one]
            place += len(one)


def _refusal(kernel: Kernel, names: Names, known: dict[Names, Call]) -> str:
    """Why a kernel does not run steps: the reason for the first that it does not run alone."""
    for name in names:
        call = known.get((name,))
        why = "no kernel does" if call is None else kernel.build.refusal(call)
        if why is not None:
            return why if len(names) == 1 else f"{name}: {why}"
    raise AssertionError("a kernel that runs every step runs all of them")


def input_of(piece: Piece, x: Tensor) -> tuple[Reals, Index | None]:
    """The input of a kernel's piece for one batch: rows, and the neighbours of each."""
    assert piece.part is not None
    return flat(*piece.part.before(x))
