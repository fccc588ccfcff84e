"""A mapped subnet: its steps in order, those on kernels in integers, by the reference, the others in floats.

The formats of a kernel's steps come from training images, step after step: each sees what the steps before it give.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fgnas.errors import UserError
from fgnas.networks.vision.stages import Stage, stages
from fgnas.networks.vision.subnet import Subnet
from fgnas.networks.vision.supernet import MEASURED_IMAGES
from fgnas.networks.vision.vig import Backbone, Vig
from fgnas.systems.magnas.host import flat
from fgnas.systems.magnas.kernels import Call, Kernel, calls
from fgnas.systems.magnas.parts import Part, split
from fgnas.systems.magnas.programme import Index, Programme, Reals, calibrated
from fgnas.tasks.images import ImageData

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
class MappedSubnet:
    """The pieces of a subnet, from the stem to the head."""

    pieces: tuple[Piece, ...]

    def steps(self, images: Tensor) -> Iterator[tuple[Piece, Tensor, Tensor, Tensor]]:
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
    model: Vig, subnet: Subnet, data: ImageData, units: Sequence[str], kernels: Mapping[str, Kernel]
) -> MappedSubnet:
    """A subnet whose steps run on the named units, of which `kernels` are accelerators.

    It takes the subnet's batch-norm statistics and the kernels' formats from training images.
    """
    images = torch.from_numpy(data.split("train")[0])
    model.eval()
    model.measure(images[:MEASURED_IMAGES], subnet)
    found: list[Piece] = []
    with torch.no_grad():
        x = entered = images[:CALIBRATION_IMAGES]
        for place, chain, kernel, call in _grouped(stages(model, subnet), units, kernels, model.backbone):
            entered = x if chain[0].opens else entered
            piece = Piece(place, chain)
            if kernel is not None and call is not None:
                part = split(chain)
                piece = Piece(place, chain, part, calibrated(kernel, call, part.maps, *flat(*part.before(x))))
            found.append(piece)
            x = piece.run(x, entered)
    return MappedSubnet(tuple(found))


def _grouped(
    chain: Sequence[Stage], units: Sequence[str], kernels: Mapping[str, Kernel], backbone: Backbone
) -> Iterator[tuple[int, tuple[Stage, ...], Kernel | None, Call | None]]:
    """(place, steps, kernel, call) of each piece: a step that its kernel cannot run alone goes with the next one."""
    known, place = calls(backbone), 0
    while place < len(chain):
        kernel, count, call = kernels.get(units[place]), 1, None
        if kernel is not None:
            count, call = _call(kernel, chain[place : place + 2], known)
        yield place + 1, tuple(chain[place : place + count]), kernel, call
        place += count


def _call(
    kernel: Kernel, following: Sequence[Stage], known: Mapping[tuple[str, ...], Call]
) -> tuple[int, Call]:
    """How many of the steps are the next call of a kernel, and the call. Raises UserError where it runs neither."""
    names = tuple(stage.name for stage in following)
    for count in range(1, len(names) + 1):
        call = known.get(names[:count])
        if call is not None and kernel.refusal(call) is None:
            return count, call
    alone = known.get(names[:1])
    why = "no kernel does" if alone is None else str(kernel.refusal(alone))
    raise UserError(f"the platform says that {kernel.name} runs {names[0]}, but it cannot: {why}")


def input_of(piece: Piece, x: Tensor) -> tuple[Reals, Index | None]:
    """What a kernel's piece sends for one batch: rows, and the neighbours of each."""
    assert piece.part is not None
    return flat(*piece.part.before(x))
