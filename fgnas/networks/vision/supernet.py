"""Training of the supernet and scoring of its subnets.

Source: MaGNAS, section 4.1.3. Every step trains the largest and the smallest subnet and random ones (the sandwich
rule). The largest learns from the labels; the others learn from its output (in-place distillation), because there is no
pretrained teacher.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, softmax

from fgnas.files import replace_file, torch_bytes
from fgnas.networks.vision.subnet import OPERATORS, Subnet, Superblock
from fgnas.networks.vision.vig import DEPTHS, SUPERBLOCKS, Backbone, Block, Vig
from fgnas.space import Choice, Space
from fgnas.tasks.images import ImageData

MEASURED_IMAGES = 500
"""Training images from which batch-norm statistics of a subnet are taken; most of a score's time goes there."""


@dataclass(frozen=True)
class Recipe:
    """The training of a supernet; figures are the paper's where images are not reduced ones.

    Attributes:
        warmup: steps until the rate of learning is whole; it then falls along a cosine.
        random: uniform subnets a step, beside the largest and the smallest.
        metric: how near patches are, see `Backbone`.
    """

    epochs: int
    batch: int = 32
    learning_rate: float = 6e-3
    warmup: int = 100
    weight_decay: float = 0.05
    random: int = 2
    metric: str = "cosine"

    def rate(self, step: int, steps: int) -> float:
        """The rate of learning at one of so many steps."""
        return (
            self.learning_rate * (1 + math.cos(math.pi * step / steps)) / 2 * min(1.0, (step + 1) / (self.warmup + 1))
        )


class VigSpace(Space):
    """Table 1 of the paper: depth, operator, pre, FFN and its width, for each superblock."""

    def candidate(self, row: Any) -> Subnet:
        """The subnet of a row."""
        values: dict[tuple[int | None, str], Any] = {
            (decision.position, decision.choice): decision.options[index] if index >= 0 else None
            for decision, index in zip(self.decisions, row.tolist(), strict=True)
        }
        names = [choice.name for choice in self.choices]
        return Subnet(tuple(
            Superblock(**{name: values[place, name] for name in names}) for place in range(self.layers)
        ))  # fmt: skip


def vig_space(backbone: Backbone) -> VigSpace:
    """The space of a backbone's subnets."""
    return VigSpace("vig", SUPERBLOCKS, (
        Choice("depth", DEPTHS, "architecture"),
        Choice("operator", OPERATORS, "architecture"),
        Choice("pre", (False, True), "architecture", label="pre-processing"),
        Choice("ffn", (False, True), "architecture", label="FFN"),
        Choice("width", backbone.widths, "architecture", only_if=("ffn", True)),
    ))  # fmt: skip


def extreme(backbone: Backbone, largest: bool, operator: str) -> Subnet:
    """The largest or the smallest subnet with one operator throughout."""
    width = backbone.widths[-1] if largest else None
    one = Superblock(DEPTHS[-1] if largest else DEPTHS[0], operator, largest, largest, width)
    return Subnet((one,) * SUPERBLOCKS)


Draw = Callable[[np.random.Generator], list[Subnet]]
"""The subnets of one step; the first learns from the labels, the others from its output."""


def train(
    data: ImageData,
    recipe: Recipe,
    seed: int,
    checkpoint: Path | None = None,
    on_epoch: Callable[[int], None] = lambda epoch: None,
    draw: Draw | None = None,
) -> Vig:
    """Train a supernet. With a checkpoint file it continues after the last whole epoch, to the same bits.

    Without `draw` every step takes the subnets of the sandwich rule.
    """
    backbone = Backbone.of(data, recipe.metric)
    torch.manual_seed(seed)
    model = _initial(backbone)
    draw = draw or functools.partial(_sandwich, backbone, recipe.random)
    optimiser = torch.optim.AdamW(model.parameters(), recipe.learning_rate, weight_decay=recipe.weight_decay)
    images, labels = (torch.from_numpy(array) for array in data.split("train"))
    steps = math.ceil(len(labels) / recipe.batch)
    start = 0
    if checkpoint is not None and checkpoint.is_file():
        state = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        start = state["epochs"]
    for epoch in range(start, recipe.epochs):
        # An epoch depends on its own number alone, so a resumed training repeats it exactly.
        rng = np.random.default_rng([seed, epoch])
        torch.manual_seed(int(rng.integers(2**31)))
        for step, chosen in enumerate(_batches(len(labels), recipe.batch, rng)):
            for group in optimiser.param_groups:
                group["lr"] = recipe.rate(epoch * steps + step, recipe.epochs * steps)
            _step(model, optimiser, images[chosen], labels[chosen], draw(rng))
        if checkpoint is not None:
            _save(checkpoint, model, optimiser, epoch + 1)
        on_epoch(epoch + 1)
    return model.eval()


def _initial(backbone: Backbone) -> Vig:
    """A supernet before its training, in which every Grapher and every FFN adds nothing to its shortcut.

    The deepest subnet adds up 32 of them. Were they all at work from the start, no subnet would learn from the
    others' steps: after 6 epochs on digits random subnets were right in 30 % of cases, instead of 89 %. Source:
    Goyal et al., Accurate, Large Minibatch SGD (arXiv 1706.02677), section 5.1.
    """
    model = Vig(backbone)
    for block in model.modules():
        if isinstance(block, Block):
            for last in (block.post, block.fc2):
                nn.init.zeros_(last.norm.weight)
    return model


def _batches(count: int, size: int, rng: np.random.Generator) -> Iterator[Tensor]:
    order = torch.from_numpy(rng.permutation(count))
    yield from order.split(size)


def _sandwich(backbone: Backbone, random: int, rng: np.random.Generator) -> list[Subnet]:
    """The largest subnet, then the smallest and uniform ones."""
    space = vig_space(backbone)
    operators = rng.choice(OPERATORS, 2).tolist()
    drawn = [space.candidate(row) for row in space.draw(random, rng)]
    return [extreme(backbone, True, operators[0]), extreme(backbone, False, operators[1]), *drawn]


def _step(model: Vig, optimiser: torch.optim.Optimizer, images: Tensor, labels: Tensor, subnets: list[Subnet]) -> None:
    """One update by the gradients of all subnets."""
    model.train()
    optimiser.zero_grad(set_to_none=True)
    largest, *others = subnets
    logits = model(images, largest)
    cross_entropy(logits, labels).backward()
    teacher = softmax(logits.detach(), dim=-1)
    for subnet in others:
        cross_entropy(model(images, subnet), teacher).backward()
    optimiser.step()


def _save(checkpoint: Path, model: Vig, optimiser: torch.optim.Optimizer, epochs: int) -> None:
    """Replace the checkpoint, whole or not at all."""
    state = {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "epochs": epochs}
    replace_file(checkpoint, torch_bytes(state))


def accuracy(model: Vig, subnet: Subnet, data: ImageData, split: str = "val") -> float:
    """A subnet's accuracy, with its own batch-norm statistics from training images. Leaves the statistics measured."""
    model.eval()
    measured, _ = data.split("train")
    model.measure(torch.from_numpy(measured[:MEASURED_IMAGES]), subnet)
    images, labels = data.split(split)
    with torch.no_grad():
        parts = torch.from_numpy(images).split(MEASURED_IMAGES)
        found = torch.cat([model(part, subnet).argmax(dim=-1) for part in parts])
    model.forget()
    return float((found.numpy() == labels).mean())
