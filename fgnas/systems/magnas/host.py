"""The processor's side of a call: features to beats, and the kernel's results back to features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fgnas.hardware.pipeline.encoding import Beats, encode, logit_rows, read_logits
from fgnas.hardware.pipeline.refill import Refill, edge_refill, feature_refill
from fgnas.systems.magnas.kernels import Call, Kernel
from fgnas.systems.magnas.parts import Part
from fgnas.systems.magnas.programme import Index, Programme, Reals, calibrated


@dataclass(frozen=True, eq=False)
class Host:
    """A step on a kernel, for one image.

    Attributes:
        features, edges: the regions that are sent; edges only where they change from call to call.
        answer: a region as the kernel writes it, in place of one.
    """

    programme: Programme
    part: Part
    features: Refill
    edges: Refill | None
    answer: bytes

    @classmethod
    def of(cls, kernel: Kernel, call: Call, part: Part, x: Tensor) -> Host:
        """The host of a step, with formats for its input x of one image."""
        rows, index = flat(*part.before(x))
        programme = calibrated(kernel, call, part.maps, rows, index)
        graph = encode(programme.accelerator, programme.graph(rows, index))
        answer = logit_rows(programme.accelerator, np.zeros((len(rows), kernel.outputs), np.int64))
        edges = None if index is None else edge_refill(graph)
        return cls(programme, part, feature_refill(programme.accelerator, graph), edges, answer.tobytes())

    def send(self, x: Tensor) -> tuple[Beats, Beats | None]:
        """The feature region, and the graph region where it changes."""
        rows, index = flat(*self.part.before(x))
        codes = self.programme.accelerator.layers[0].input_format.quantise(rows.ravel())
        edges = None if self.edges is None or index is None else self.edges.fill(index.ravel())
        return self.features.fill(codes), edges

    def receive(self, x: Tensor, entered: Tensor, answer: bytes) -> Tensor:
        """The step's output, from the region that the kernel wrote."""
        codes = read_logits(self.programme.accelerator, answer, self.programme.call.nodes)
        return self.part.after(x, entered, torch.from_numpy(self.programme.values(codes))[None])

    def around(self, x: Tensor, entered: Tensor) -> Tensor:
        """All that the processor does for a call."""
        self.send(x)
        return self.receive(x, entered, self.answer)


def flat(rows: Tensor, index: Tensor | None) -> tuple[Reals, Index | None]:
    """A batch as one graph: rows [batch * nodes, inputs], and the neighbours of each among all of them."""
    batch, nodes, width = rows.shape
    found = np.ascontiguousarray(rows.reshape(batch * nodes, width).numpy())
    if index is None:
        return found, None
    moved = index + nodes * torch.arange(batch)[:, None, None]
    return found, moved.reshape(batch * nodes, -1).numpy()
