"""A step of a subnet split between the processor and a kernel: what each computes, in floats.

The kernel runs linear maps with the batch norms behind them folded in, sums and maxima. The rest stays on the
processor: nearest neighbours, shortcuts, positions, a mean over patches, a ReLU that no layer follows, and for EdgeConv
and GraphSAGE the map of a patch's own features.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fgnas.networks.vision.stages import Stage
from fgnas.networks.vision.vig import EdgeConv, Gin, Layer, Sage, Vig, patches

Map = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Weight [inputs, outputs] and bias [outputs] of a layer."""


@dataclass(frozen=True, eq=False)
class Part:
    """One call of a kernel, and the processor's work around it, for a batch of images.

    Attributes:
        maps: of each of the kernel's layers; between two of them is a ReLU.
        before: from the step's input, the kernel's rows [batch, nodes, inputs] and the neighbours [batch, nodes, K] of
            each; None where a row has itself alone.
        after: the step's output from its input, its block's input, and the kernel's rows [batch, nodes, outputs].
    """

    maps: tuple[Map, ...]
    before: Callable[[Tensor], tuple[Tensor, Tensor | None]]
    after: Callable[[Tensor, Tensor, Tensor], Tensor]


def split(chain: Sequence[Stage]) -> Part:
    """The parts of a step, or of a run of steps (see `calls`), whose batch norms have statistics.

    In a run, the ReLU of a step is between two of the kernel's layers. The processor does its part of the first step
    and of the last.
    """
    with torch.no_grad():
        parts = [SPLITS[stage.name.rpartition("-")[0] or stage.name](stage) for stage in chain]
    return Part(tuple(one for part in parts for one in part.maps), parts[0].before, parts[-1].after)


def _stem(stage: Stage) -> Part:
    model = cast(Vig, stage.module)
    side, inputs = model.backbone.patch, model.stem.weight.shape[1]
    return Part(
        (_folded(model.stem, inputs),), lambda images: (patches(images, side), None),
        lambda _, entered, rows: rows + model.positions,
    )  # fmt: skip


def _pre(stage: Stage) -> Part:
    layer = cast(Layer, stage.module)
    return Part((_folded(layer, layer.weight.shape[1]),), lambda x: (x, None), lambda x, entered, rows: rows)


def _edgeconv(stage: Stage) -> Part:
    """The norm stays behind the sum of both halves."""
    module, near = cast(EdgeConv, stage.module), _nearest(stage)
    weight = module.other.weight.T
    return Part(
        (_plain(weight, torch.zeros(weight.shape[1])),), lambda x: (x, near(x)),
        lambda x, entered, rows: module.own.norm(module.own.linear(x) + rows),
    )  # fmt: skip


def _sage(stage: Stage) -> Part:
    """The ReLU of each message may follow the maximum: it never falls."""
    module, near = cast(Sage, stage.module), _nearest(stage)
    return Part(
        (_folded(module.message, module.message.weight.shape[1]),), lambda x: (x, near(x)),
        lambda x, entered, rows: module.combine(torch.cat([x, torch.relu(rows)], dim=-1)),
    )  # fmt: skip


def _gin(stage: Stage) -> Part:
    """A map of a sum is the sum of the map."""
    module, near = cast(Gin, stage.module), _nearest(stage)
    return Part(
        (_folded(module.combine, module.combine.weight.shape[1]),), lambda x: (x, near(x)),
        lambda x, entered, rows: rows,
    )  # fmt: skip


def _post(stage: Stage) -> Part:
    layer = cast(Layer, stage.module)
    return Part(
        (_folded(layer, layer.weight.shape[1]),), lambda x: (torch.relu(x), None),
        lambda x, entered, rows: entered + rows,
    )  # fmt: skip


def _fc1(stage: Stage) -> Part:
    layer = cast(Layer, stage.module)
    maps = (_folded(layer, layer.weight.shape[1], stage.width),)
    return Part(maps, lambda x: (x, None), lambda x, entered, rows: rows)


def _fc2(stage: Stage) -> Part:
    layer = cast(Layer, stage.module)
    assert stage.width is not None
    return Part(
        (_folded(layer, stage.width),), lambda x: (torch.relu(x), None), lambda x, entered, rows: entered + rows
    )


def _head(stage: Stage) -> Part:
    model = cast(Vig, stage.module)
    hidden = _folded(model.hidden, model.hidden.weight.shape[1])
    return Part(
        (hidden, _plain(model.classifier.weight.T, model.classifier.bias)),
        lambda x: (x.mean(dim=1, keepdim=True), None), lambda x, entered, rows: rows[:, 0],
    )  # fmt: skip


SPLITS: dict[str, Callable[[Stage], Part]] = {
    "stem": _stem, "pre": _pre, "edgeconv": _edgeconv, "sage": _sage, "gin": _gin, "post": _post, "fc1": _fc1,
    "fc2": _fc2, "head": _head,
}  # fmt: skip
"""By kind of step; max-relative has no part for a kernel."""


def _nearest(stage: Stage) -> Callable[[Tensor], Tensor]:
    assert stage.nearest is not None
    return stage.nearest


def _folded(layer: Layer, inputs: int, outputs: int | None = None) -> Map:
    return _plain(*layer.folded(inputs, outputs))


def _plain(weight: Tensor, bias: Tensor) -> Map:
    return weight.numpy(), bias.numpy()
