"""The processor's side of a call: features to beats, and the kernel's results back to features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fgnas.systems.magnas.build import Beats, Index, Reals, Regions
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


def flat(rows: Tensor, index: Tensor | None) -> tuple[Reals, Index | None]:
    """A batch as one graph: rows [batch * nodes, inputs], and the neighbours of each among all of them."""
    batch, nodes, width = rows.shape
    found = np.ascontiguousarray(rows.reshape(batch * nodes, width).numpy())
    if index is None:
        return found, None
    moved = index + nodes * torch.arange(batch)[:, None, None]
    return found, moved.reshape(batch * nodes, -1).numpy()
