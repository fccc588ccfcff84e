"""The front end of whole subnets: trained weights, and images that calibrate, become one integer network.

The points of a cloud are the patches of an image, and everything behind them is in integers: stem and positions, the
nearest patches by distance, every Grapher and FFN with its shortcut, the mean of all patches, hidden layer and logits.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from fgnas.errors import UserError
from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.integer import interpreter
from fgnas.hardware.integer.add import Add
from fgnas.hardware.integer.concatenate import Concatenate
from fgnas.hardware.integer.neighbourhood import Neighbourhood, Reducer
from fgnas.hardware.integer.network import FEATURES, IntegerNetwork
from fgnas.hardware.integer.positions import Positions
from fgnas.hardware.integer.sample import Sample
from fgnas.networks.scaled import READOUT, Clouds, ScaledBuilder, fitted, logits
from fgnas.networks.vision.subnet import Subnet, Superblock
from fgnas.networks.vision.supernet import MEASURED_IMAGES
from fgnas.networks.vision.vig import (
    Backbone,
    Block,
    EdgeConv,
    Gin,
    Layer,
    MaxRelative,
    Sage,
    Vig,
    gather,
    patches,
)
from fgnas.tasks.images import ImageData

METRIC = "distance"
"""How near patches are where integers find them: squared distances of codes are exact."""
CALIBRATED_ON = 64
"""Training images from which scales are taken."""
PASSES = 0
"""Passes over all scales: a subnet has some 200 tensors, and to try another scale of one is a run of the network."""


def network_of(model: Vig, subnet: Subnet, data: ImageData, bits: int = 8, passes: int = PASSES) -> IntegerNetwork:
    """The integers of a subnet in formats of so many bits, whose scales are changed in so many passes.

    It takes the subnet's batch-norm statistics from training images, and leaves them measured. Raises UserError for a
    supernet whose nearest patches are others.
    """
    if model.backbone.metric != METRIC:
        raise UserError(f"integers find nearest patches by {METRIC}, the supernet was trained with those by "
                        f"{model.backbone.metric}: search with --metric {METRIC}")  # fmt: skip
    images = torch.from_numpy(data.split("train")[0])
    model.eval()
    model.measure(images[:MEASURED_IMAGES], subnet)
    with torch.no_grad():
        given = images[:CALIBRATED_ON]
        wanted = torch.softmax(model(given, subnet), dim=1).numpy()
        x = patches(given, model.backbone.patch)
        return fitted(lambda numbers: _built(model, subnet, x, _Builder(x.shape[-1], bits, numbers)), x.numpy(), wanted,
                      passes)[0]  # fmt: skip


def shaped(subnet: Subnet, backbone: Backbone, bits: int) -> IntegerNetwork:
    """Integers with the shapes of a subnet, of weights that mean nothing: the cycles and the memories of an array are
    those of any others, unless the norm of an EdgeConv scales by less than zero."""
    model, images = _any_model(backbone)
    with torch.no_grad():
        model.measure(images, subnet)
        x = patches(images[:1], backbone.patch)
        return _built(model, subnet, x, _Builder(x.shape[-1], bits, {}, FixedPoint(bits, bits // 2)))


@functools.lru_cache(maxsize=1)
def _any_model(backbone: Backbone) -> tuple[Vig, Tensor]:
    """A supernet of random weights, and images for its norms."""
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(4, backbone.channels, backbone.size, backbone.size, generator=generator)
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(0)
        model = Vig(backbone).eval()
    return model, images


def points(model: Vig, images: Clouds) -> Clouds:
    """[batch, N, pixels] the patches of images, as an integer network reads them: their pixels in another order."""
    return patches(torch.from_numpy(images), model.backbone.patch).numpy()


def accuracy(integers: IntegerNetwork, model: Vig, data: ImageData, split: str) -> float:
    """Share of the images of a split whose largest logit is their class's, 0 to 1."""
    images, labels = data.split(split)
    return float((interpreter.predict(logits(integers, points(model, images))) == labels).mean())


def _built(model: Vig, subnet: Subnet, x: Tensor, builder: _Builder) -> IntegerNetwork:
    """The network that a builder makes, which looks at patches [batch, N, pixels]."""
    builder.patches = x.shape[1]
    at = builder.begin(x)
    at = builder.linear("stem", model.stem, at, x)
    x = model.stem(x) + model.positions
    number = builder.format("positions", model.positions.numpy())
    rows = builder.add("positions", Positions(number.quantise(model.positions.numpy()), number), FEATURES)
    at = builder.added("placed", at, rows, builder.format("placed", x.numpy()))
    block = 0
    for modules, choice in zip(model.superblocks, subnet.superblocks, strict=True):
        for module in list(modules)[: choice.depth]:  # type: ignore[call-overload]
            at, x = builder.block(f"block{block}", module, choice, at, x)
            block += 1
    at = builder.readout("mean", "mean", at)
    x = x.mean(dim=1)
    at = builder.linear("hidden", model.hidden, at, x, relu=True, graph=READOUT)
    builder.logits(model.classifier.weight, model.classifier.bias, at, torch.relu(model.hidden(x)))
    return builder.network()


@dataclass
class _Builder(ScaledBuilder):
    """Appends the steps of blocks, and works the float network beside them to see what its tensors hold.

    Attributes:
        patches: of an image.
    """

    patches: int = 0

    def linear(
        self, name: str, layer: Layer, at: str, x: Tensor, outputs: int | None = None, relu: bool = False,
        graph: int = 0, order: Tensor | None = None,
    ) -> str:  # fmt: skip
        """Append a map with its norm, whose input columns are in another order; returns the name of its value."""
        weight, bias = layer.folded(x.shape[-1], outputs)
        weight, x = (weight, x) if order is None else (weight[order], x[..., order])
        return self.dense(name, weight.T, bias, at, x, relu, graph)

    def block(self, name: str, block: Block, choice: Superblock, at: str, x: Tensor) -> tuple[str, Tensor]:
        """Append a Grapher, and an FFN where there is one; returns the name of the value, and its floats."""
        entered, e = at, x
        if choice.pre:
            entered, e = self.linear(f"{name}.pre", block.pre, at, x), block.pre(x)
        near = self.add(f"{name}.nearest", Sample("nearest", self.patches, block.neighbours), entered)
        operator, index = block.operators[choice.operator], block.nearest(e)
        append = OPERATORS[type(operator)]
        found, order = append(self, f"{name}.{choice.operator}", operator, (entered, near), (e, index))
        passed = torch.relu(operator(e, index))
        post = self.linear(f"{name}.post", block.post, found, passed, order=order)
        x = x + block.post(passed)
        at = self.added(f"{name}.grapher", post, at, self.format(f"{name}.grapher", x.numpy()))
        if choice.width is None:
            return at, x
        wide = self.linear(f"{name}.fc1", block.fc1, at, x, choice.width, relu=True)
        hidden = torch.relu(block.fc1(x, choice.width))
        narrow = self.linear(f"{name}.fc2", block.fc2, wide, hidden)
        x = x + block.fc2(hidden)
        return self.added(f"{name}.ffn", narrow, at, self.format(f"{name}.ffn", x.numpy())), x

    def reduced(self, name: str, reducer: Reducer, given: Given, number: FixedPoint) -> str:
        """Append what neighbours send, reduced, in a format; returns its name."""
        exact = self.add(f"{name}.exact", Neighbourhood(self.patches, reducer, "source"), *given)
        return self.rounded(name, exact, number)

    def beside(self, name: str, at: str, other: str, number: FixedPoint) -> str:
        """Append a patch's own features, and others of this format, side by side; returns their name."""
        return self.add(name, Concatenate(), self.rounded(f"{name}.own", at, number), other)


Given = tuple[str, str]
"""Names of the patches' features and of their neighbours."""
Seen = tuple[Tensor, Tensor]
"""The same in floats: [batch, N, D] and [batch, N, K]."""
Found = tuple[str, Tensor | None]
"""The name of an operator's value, behind its relu, and the order of its columns where it is another one."""


def _max_relative(to: _Builder, name: str, operator: MaxRelative, given: Given, seen: Seen) -> Found:
    (at, _), (x, index) = given, seen
    both = torch.cat([x, gather(x, index).amax(dim=2) - x], dim=-1)
    own = to.values[at].number
    # Never finer than x, which is subtracted from what is rounded to this format.
    number = replace(own, fraction_bits=min(own.fraction_bits, to.format(name, both.numpy()).fraction_bits))
    largest = to.reduced(f"{name}.largest", "max", given, number)
    less = Add(own.fraction_bits - number.fraction_bits, number, minus=True)
    relative = to.add(f"{name}.relative", less, largest, at)
    return to.linear(f"{name}.combine", operator.combine, to.beside(f"{name}.both", at, relative, number), both,
                     relu=True), None  # fmt: skip


def _edgeconv(to: _Builder, name: str, operator: EdgeConv, given: Given, seen: Seen) -> Found:
    """relu(s (W_1 x_i + max_j W_2 x_j) + b): the norm goes into the maps, and where its s is below 0 the maximum
    becomes a minimum: these columns follow all others."""
    (at, near), (x, index) = given, seen
    scale, bias = operator.own.norm.folded(len(operator.own.weight))
    parts = [("max", torch.nonzero(scale >= 0)[:, 0]), ("min", torch.nonzero(scale < 0)[:, 0])]
    parts = [(reducer, columns) for reducer, columns in parts if len(columns)]
    names = []
    for reducer, columns in parts:
        own, other = (layer.weight[columns] * scale[columns, None] for layer in (operator.own, operator.other))
        here, there = functional.linear(x, own) + bias[columns], functional.linear(x, other)
        messages = gather(there, index)
        output = torch.relu(here + (messages.amax(dim=2) if reducer == "max" else messages.amin(dim=2)))
        whole = f"{name}.{reducer}"
        first = to.dense(f"{whole}.own", own, bias[columns], at, x, relu=False)
        number = to.format(whole, output.numpy())
        second = to.product(f"{whole}.other", other, at, to.format(f"{whole}.messages", there.numpy()))
        found = to.reduced(f"{whole}.found", reducer, (second, near), number)  # type: ignore[arg-type]
        total = to.add(f"{whole}.sum", Add(to.values[first].number.fraction_bits - number.fraction_bits, number),
                       found, first)  # fmt: skip
        names.append(to.activated(whole, total, torch.zeros(len(columns)), number, number))
    if len(names) == 1:
        return names[0], None
    coarse = min((to.values[one].number for one in names), key=lambda number: number.fraction_bits)
    names = [to.rounded(f"{one}.beside", one, coarse) for one in names]
    return to.add(name, Concatenate(), *names), torch.cat([columns for _, columns in parts])


def _sage(to: _Builder, name: str, operator: Sage, given: Given, seen: Seen) -> Found:
    (at, near), (x, index) = given, seen
    sent = torch.relu(operator.message(x))
    both = torch.cat([x, gather(sent, index).amax(dim=2)], dim=-1)
    message = to.linear(f"{name}.message", operator.message, at, x, relu=True)
    number = to.format(name, both.numpy())
    largest = to.reduced(f"{name}.largest", "max", (message, near), number)
    return to.linear(f"{name}.combine", operator.combine, to.beside(f"{name}.both", at, largest, number), both,
                     relu=True), None  # fmt: skip


def _gin(to: _Builder, name: str, operator: Gin, given: Given, seen: Seen) -> Found:
    total = gather(*seen).sum(dim=2)
    at = to.reduced(f"{name}.sum", "sum", given, to.format(name, total.numpy()))
    return to.linear(f"{name}.combine", operator.combine, at, total, relu=True), None


OPERATORS: dict[type[torch.nn.Module], Callable[..., Found]] = {
    MaxRelative: _max_relative, EdgeConv: _edgeconv, Sage: _sage, Gin: _gin,
}  # fmt: skip
"""Functions that append an operator with its relu, by the operator's class."""
