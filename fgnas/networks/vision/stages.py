"""The steps of a subnet as functions of features, one after the other: what each computes, and from which layers.

Run in order they are the network itself, to the bit; a step can be run elsewhere, or looked at, alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from fgnas.networks.vision import steps
from fgnas.networks.vision.subnet import Subnet, Superblock
from fgnas.networks.vision.vig import Block, Vig, patches


@dataclass(frozen=True, eq=False)
class Stage:
    """A step of a subnet.

    Attributes:
        name: the kind of step, as `steps` names it.
        opens: whether it begins a block: its input is then what the block's last step reads again.
        module: the layers that it computes with.
        run: its output from its input [batch, ...] and the input of its block.
        nearest: the neighbours [batch, N, K] of every patch from the input, with an operator; else None.
        width: hidden features of its FFN.
    """

    name: str
    opens: bool
    module: nn.Module
    run: Callable[[Tensor, Tensor], Tensor]
    nearest: Callable[[Tensor], Tensor] | None = None
    width: int | None = None


def stages(model: Vig, subnet: Subnet) -> list[Stage]:
    """The steps of a subnet, as many and in the same order as `steps.steps_of` names them."""
    found = [Stage(
        steps.STEM, True, model,
        lambda images, _: model.stem(patches(images, model.backbone.patch)) + model.positions,
    )]  # fmt: skip
    for blocks, choice in zip(model.superblocks, subnet.superblocks, strict=True):
        assert isinstance(blocks, nn.ModuleList)
        for block in blocks[: choice.depth]:
            assert isinstance(block, Block)
            found += _grapher(block, choice)
            if choice.width is not None:
                found += _ffn(block, choice.width)
    return [*found, Stage(steps.HEAD, True, model, lambda x, _: model.head(x))]


def run(chain: Sequence[Stage], images: Tensor) -> Tensor:
    """Logits [batch, classes] of images [batch, channels, size, size]."""
    x = entered = images
    for stage in chain:
        entered = x if stage.opens else entered
        x = stage.run(x, entered)
    return x


def _grapher(block: Block, choice: Superblock) -> Iterator[Stage]:
    operator = block.operators[choice.operator]
    if choice.pre:
        yield Stage(steps.PRE, True, block.pre, lambda x, _: block.pre(x))
    yield Stage(
        steps.operator_step(choice.operator, block.neighbours), not choice.pre, operator,
        lambda x, _: operator(x, block.nearest(x)), nearest=block.nearest,
    )  # fmt: skip
    yield Stage(steps.POST, False, block.post, lambda x, entered: entered + block.post(torch.relu(x)))


def _ffn(block: Block, width: int) -> Iterator[Stage]:
    yield Stage(steps.widening_step(width), True, block.fc1, lambda x, _: block.fc1(x, width), width=width)
    narrow = steps.narrowing_step(width)
    yield Stage(narrow, False, block.fc2, lambda x, entered: entered + block.fc2(torch.relu(x)), width=width)
