"""The processor's side of a call: features to beats, and the kernel's results back to features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fgnas.fixedpoint import Codes
from fgnas.hardware.array.encoded import image_beats
from fgnas.hardware.array.engine import LANES
from fgnas.hardware.array.points.encoded import EncodedPoints
from fgnas.hardware.numbers import ceil_div
from fgnas.hardware.wire import Beats
from fgnas.networks.vision.vig import Backbone
from fgnas.systems.magnas.build import Index, Reals, Regions
from fgnas.systems.magnas.calls import Call
from fgnas.systems.magnas.kernels import Kernel
from fgnas.systems.magnas.parts import Part
from fgnas.systems.magnas.programme import Programme, calibrated


@dataclass(frozen=True, eq=False)
class Host:
    """A call of a kernel, for one image; of its graph nothing is sent where a row has itself alone."""

    programme: Programme
    part: Part
    regions: Regions

    @classmethod
    def of(cls, kernel: Kernel, call: Call, part: Part, x: Tensor) -> Host:
        """The host of a call, with formats for its input x of one image."""
        rows, index = flat(*part.before(x))
        programme = calibrated(kernel, call, part.maps, rows, index)
        return cls(programme, part, programme.loaded.regions(rows, index))

    def send(self, x: Tensor) -> tuple[Beats, Beats | None]:
        """The feature region, and the graph region where it changes."""
        rows, index = flat(*self.part.before(x))
        codes = self.programme.integers.number.quantise(rows.ravel())
        return self.regions.features(codes), None if index is None else self.regions.edges(index.ravel())

    def receive(self, x: Tensor, entered: Tensor, answer: bytes) -> Tensor:
        """The step's output, from the region that the kernel wrote."""
        codes = self.regions.read(answer)
        return self.part.after(x, entered, torch.from_numpy(self.programme.values(codes))[None])

    def around(self, x: Tensor, entered: Tensor) -> Tensor:
        """All that the processor does for a call."""
        self.send(x)
        return self.receive(x, entered, self.regions.answer)


class WholeHost:
    """A start for a whole subnet and one image: pixels to the beats of its patches, and logits out of the region that
    the kernel writes, through places that are found once."""

    def __init__(self, encoded: EncodedPoints, backbone: Backbone) -> None:
        self.engine, self.backbone = encoded.engine, backbone
        self.number = encoded.accelerator.source.integers.number
        self.cloud = np.zeros((backbone.nodes, int(ceil_div(backbone.channels * backbone.patch**2, LANES)) * LANES))
        numbers = encoded.bytes_written // 2
        numbered = np.arange(numbers, dtype="<i2").view(np.uint8).reshape(-1, self.engine.beat_bits // 8)
        self.places = encoded.read_logits(numbered)[0]
        self.answer = np.zeros(numbers, "<i2")

    def send(self, image: NDArray[np.float32]) -> Beats:
        """The feature region of an image [channels, size, size]."""
        side = self.backbone.patch
        across = self.backbone.size // side
        parts = image.reshape(-1, across, side, across, side).transpose(1, 3, 0, 2, 4)
        codes = self.number.quantise(parts.reshape(self.backbone.nodes, -1))
        self.cloud[:, : codes.shape[1]] = codes
        return image_beats(self.cloud.reshape(1, -1, LANES).astype(np.int64), self.engine)

    def receive(self, answer: NDArray[np.int16]) -> Codes:
        """[classes] the codes of the logits in a region of 16-bit numbers."""
        return answer[self.places].astype(np.int64)

    def around(self, image: NDArray[np.float32]) -> Codes:
        """All that the processor does for an image."""
        self.send(image)
        return self.receive(self.answer)


def flat(rows: Tensor, index: Tensor | None) -> tuple[Reals, Index | None]:
    """A batch as one graph: rows [batch * nodes, inputs], and the neighbours of each among all of them."""
    batch, nodes, width = rows.shape
    found = np.ascontiguousarray(rows.reshape(batch * nodes, width).numpy())
    if index is None:
        return found, None
    moved = index + nodes * torch.arange(batch)[:, None, None]
    return found, moved.reshape(batch * nodes, -1).numpy()
