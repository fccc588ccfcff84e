"""The slimmable vision GNN: one set of weights, of which every subnet uses a part.

Source: MaGNAS, sections 2 and 4.1. An image becomes N patches of D features. A block is a Grapher (pre, the operator
on the K nearest patches, post, with a shortcut) and an FFN (fc1, fc2, with a shortcut). A subnet uses the leading
blocks of a superblock, the leading features of an FFN, and the weights of its operator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from fgnas.errors import UserError
from fgnas.networks.norm import Norm
from fgnas.networks.vision.subnet import OPERATORS, Subnet, Superblock
from fgnas.tasks.images import ImageData

SUPERBLOCKS = 4
DEPTHS = (2, 3, 4)
WIDTH_SHARES = (0.3, 0.6, 1.0)
"""Widths of the paper's FFNs, as shares of D."""


@dataclass(frozen=True)
class Backbone:
    """The sizes that every subnet shares.

    Attributes:
        channels, size: of the images, which are square.
        patch: pixels a side of a patch.
        features: D.
        neighbours: K of each superblock; a patch is among its own neighbours.
        classes: outputs of the head.
        dropout: before the classifier, while training.
        metric: how near patches are, one of METRICS.
    """

    channels: int
    size: int
    patch: int
    features: int
    neighbours: tuple[int, ...]
    classes: int
    dropout: float = 0.2
    metric: str = "cosine"

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise UserError(f"unknown metric {self.metric!r}; known: {', '.join(METRICS)}")

    @property
    def nodes(self) -> int:
        """N, the number of patches."""
        return (self.size // self.patch) ** 2

    @property
    def widths(self) -> tuple[int, ...]:
        """Hidden features of an FFN to choose from."""
        return tuple(int(share * self.features) for share in WIDTH_SHARES)

    @classmethod
    def of(cls, data: ImageData, metric: str = "cosine") -> Backbone:
        """The backbone for images: the paper's from 224 pixels on, reduced ones below."""
        channels, size = data.pixels.shape[1], data.pixels.shape[2]
        if size >= 224:
            patch, features, neighbours = 16, 320, (12, 16, 20, 24)
        elif size >= 16:
            patch, features, neighbours = 4, 32, (4, 5, 6, 8)
        else:
            patch, features, neighbours = 2, 32, (3, 4, 5, 6)
        return cls(channels, size, patch, features, neighbours, data.classes, metric=metric)


class Layer(nn.Module):
    """A linear map and its batch norm; leading outputs and inputs may be used alone."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs))
        nn.init.kaiming_normal_(self.weight, nonlinearity="relu")
        self.norm = Norm(outputs)

    def forward(self, x: Tensor, outputs: int | None = None) -> Tensor:
        """x [..., inputs] -> [..., outputs]."""
        return self.norm(self.linear(x, outputs))

    def linear(self, x: Tensor, outputs: int | None = None) -> Tensor:
        """The map alone."""
        return x @ self.weight[:outputs, : x.shape[-1]].T

    def folded(self, inputs: int, outputs: int | None = None) -> tuple[Tensor, Tensor]:
        """The map and its norm, with measured statistics, as one: weight [inputs, outputs] and bias [outputs]."""
        weight = self.weight[:outputs, :inputs]
        scale, shift = self.norm.folded(len(weight))
        return (weight * scale[:, None]).T, shift


def nearest(x: Tensor, count: int) -> Tensor:
    """[batch, N, count] the patches whose features [batch, N, D] are nearest by cosine, the patch itself among them."""
    with torch.no_grad():
        unit = functional.normalize(x, dim=-1)
        return (unit @ unit.transpose(1, 2)).topk(count, dim=-1).indices


def nearest_by_distance(x: Tensor, count: int) -> Tensor:
    """[batch, N, count] the patches whose features [batch, N, D] are nearest by distance."""
    with torch.no_grad():
        return torch.cdist(x, x, compute_mode="donot_use_mm_for_euclid_dist").topk(count, largest=False).indices


METRICS: dict[str, Callable[[Tensor, int], Tensor]] = {"cosine": nearest, "distance": nearest_by_distance}
"""Ways to find nearest patches. MaGNAS's is the cosine; an array that finds them itself compares distances."""


def gather(x: Tensor, index: Tensor) -> Tensor:
    """[batch, N, K, F] the features [batch, N, F] of the patches [batch, N, K]."""
    batch = torch.arange(len(x))[:, None, None]
    return x[batch, index]


class MaxRelative(nn.Module):
    """W [x_i ; max_j x_j - x_i]."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.combine = Layer(2 * features, 2 * features)

    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        """x [batch, N, D], index [batch, N, K] -> [batch, N, 2D]."""
        return self.combine(torch.cat([x, gather(x, index).amax(dim=2) - x], dim=-1))


class EdgeConv(nn.Module):
    """max_j W [x_i ; x_j - x_i] = (W_1 - W_2) x_i + max_j W_2 x_j: no product is left on the edges."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.own = Layer(features, 2 * features)
        self.other = Layer(features, 2 * features)

    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        """x [batch, N, D], index [batch, N, K] -> [batch, N, 2D]."""
        other = self.other.linear(x)
        return self.own.norm(self.own.linear(x) + gather(other, index).amax(dim=2))


class Sage(nn.Module):
    """W_2 [x_i ; max_j relu(norm(W_1 x_j))]."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.message = Layer(features, features)
        self.combine = Layer(2 * features, 2 * features)

    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        """x [batch, N, D], index [batch, N, K] -> [batch, N, 2D]."""
        message = torch.relu(self.message(x))
        return self.combine(torch.cat([x, gather(message, index).amax(dim=2)], dim=-1))


class Gin(nn.Module):
    """W sum_j x_j."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.combine = Layer(features, 2 * features)

    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        """x [batch, N, D], index [batch, N, K] -> [batch, N, 2D]."""
        return self.combine(gather(x, index).sum(dim=2))


OPERATOR_MODULES: dict[str, type[nn.Module]] = dict(zip(OPERATORS, (MaxRelative, EdgeConv, Sage, Gin), strict=True))


class Block(nn.Module):
    """One Grapher and one FFN."""

    def __init__(self, backbone: Backbone, neighbours: int) -> None:
        super().__init__()
        features = backbone.features
        self.neighbours, self.metric = neighbours, backbone.metric
        self.pre = Layer(features, features)
        self.operators = nn.ModuleDict({name: kind(features) for name, kind in OPERATOR_MODULES.items()})
        self.post = Layer(2 * features, features)
        self.fc1 = Layer(features, backbone.widths[-1])
        self.fc2 = Layer(backbone.widths[-1], features)

    def forward(self, x: Tensor, choice: Superblock) -> Tensor:
        """x [batch, N, D] -> [batch, N, D]."""
        entered = self.pre(x) if choice.pre else x
        passed = self.operators[choice.operator](entered, self.nearest(entered))
        x = x + self.post(torch.relu(passed))
        if choice.ffn:
            x = x + self.fc2(torch.relu(self.fc1(x, choice.width)))
        return x

    def nearest(self, x: Tensor) -> Tensor:
        """[batch, N, K] the nearest patches of every patch of [batch, N, D]."""
        return METRICS[self.metric](x, self.neighbours)


class Vig(nn.Module):
    """The supernet: `forward` runs one subnet."""

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.backbone = backbone
        features = backbone.features
        self.stem = Layer(backbone.channels * backbone.patch**2, features)
        # As large as the stem's features: the mean at the end sees a patch's place through them alone.
        self.positions = nn.Parameter(torch.randn(backbone.nodes, features))
        self.superblocks = nn.ModuleList(
            nn.ModuleList(Block(backbone, neighbours) for _ in range(DEPTHS[-1])) for neighbours in backbone.neighbours
        )
        self.hidden = Layer(features, 2 * features)
        self.classifier = nn.Linear(2 * features, backbone.classes)

    def forward(self, images: Tensor, subnet: Subnet) -> Tensor:
        """Logits [batch, classes] of images [batch, channels, size, size]."""
        x = self.stem(patches(images, self.backbone.patch)) + self.positions
        for blocks, choice in zip(self.superblocks, subnet.superblocks, strict=True):
            assert isinstance(blocks, nn.ModuleList)
            for block in blocks[: choice.depth]:
                x = block(x, choice)
        return self.head(x)

    def head(self, x: Tensor) -> Tensor:
        """Logits [batch, classes] of the last features [batch, N, D]."""
        hidden = torch.relu(self.hidden(x.mean(dim=1, keepdim=True)))[:, 0]
        dropped = functional.dropout(hidden, self.backbone.dropout, self.training)
        return self.classifier(dropped)

    def measure(self, images: Tensor, subnet: Subnet) -> None:
        """Take the batch-norm statistics of a subnet from images [batch, channels, size, size]."""
        with_own_statistics(self, lambda: self(images, subnet))

    def forget(self) -> None:
        """Return to the statistics of each batch, for training."""
        for module in self.modules():
            if isinstance(module, Norm):
                module.mean = module.variance = None


def with_own_statistics(module: nn.Module, run: Callable[[], object]) -> None:
    """Run something once; the norms in a module keep the statistics of what they saw, for later batches."""
    norms = [each for each in module.modules() if isinstance(each, Norm)]
    for norm in norms:
        norm.mean = norm.variance = None
    hooks = [norm.register_forward_pre_hook(_measure) for norm in norms]
    try:
        with torch.no_grad():
            run()
    finally:
        for hook in hooks:
            hook.remove()


def _measure(norm: nn.Module, inputs: tuple[Tensor, ...]) -> None:
    assert isinstance(norm, Norm)
    norm.measure(inputs[0])


def patches(images: Tensor, side: int) -> Tensor:
    """[batch, N, channels * side * side] the patches of images [batch, channels, size, size], row by row."""
    return functional.unfold(images, side, stride=side).transpose(1, 2)
