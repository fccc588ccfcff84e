"""HGNAS's predictor: graph convolutions over a network's own graph, then dense layers (section 3.5).

Nodes are the input, the operations, the output, and a global node with edges to and from all others. We encode 21
functions, of which the paper's code of nine cannot tell apart; the properties of the data are 16.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from fgnas.hardware.measured.features import FUNCTIONS, KINDS, Floats, encoded
from fgnas.hardware.measured.predictors.learned import load, weights
from fgnas.networks.points.operations import PointNetwork
from fgnas.networks.points.work import Cloud

PROPERTIES = 16
CODES = len(KINDS) + len(FUNCTIONS)
CONVOLUTIONS, DENSE = (256, 512, 512), (256, 128)
EPOCHS, BATCH, RATE = 250, 32, 8e-4
PATIENCE, FACTOR, LEAST_RATE = 10, 0.5, 1e-6
"""Numbers of the schedule that waits for a plateau, which the paper names without numbers."""
CHOSEN_BY = 10
"""Every tenth sample says where the loss has stopped falling."""
USUAL_NODES = 10
"""Divisor of the sum over the nodes, so that the inputs of the dense layers have a usual magnitude."""
AT_ONCE = 512


class Given(NamedTuple):
    """[n, nodes, features] and [n, nodes, nodes] with a node's edge to itself."""

    nodes: Tensor
    edges: Tensor


class Convolutions(nn.Module):
    """Sums over neighbours, three times; the sum over nodes; three dense layers."""

    def __init__(self) -> None:
        super().__init__()
        sizes = (CODES + PROPERTIES, *CONVOLUTIONS)
        self.convolutions = nn.ModuleList(nn.Linear(*pair) for pair in zip(sizes, sizes[1:], strict=False))
        sizes = (CONVOLUTIONS[-1], *DENSE, 1)
        self.dense = nn.ModuleList(nn.Linear(*pair) for pair in zip(sizes, sizes[1:], strict=False))

    def forward(self, given: Given) -> Tensor:
        """[n] values in units of the samples' mean."""
        x = given.nodes
        for layer in self.convolutions:
            x = functional.relu(given.edges @ layer(x))
        # The diagonal of a place behind the last node is 0, and so is its row.
        x = (x * given.edges.diagonal(dim1=1, dim2=2)[..., None]).sum(dim=1) / USUAL_NODES
        for layer in self.dense:
            x = functional.leaky_relu(layer(x))
        return x[:, 0]


@dataclass(frozen=True, eq=False)
class Paper:
    """Such a network."""

    NAME: ClassVar[str] = "paper"
    cloud: Cloud
    model: Convolutions
    scale: float

    @classmethod
    def fit(
        cls, networks: Sequence[PointNetwork], values: Floats, cloud: Cloud, seed: int, start: Any = None
    ) -> Paper:
        """As `Predictor.fit`, by the mean absolute relative error."""
        torch.manual_seed(seed)
        rng = np.random.default_rng(seed)
        model, scale = Convolutions(), float(values.mean())
        if start is not None:
            model.load_state_dict(start.model.state_dict())
        given, wanted = _given(networks, cloud), torch.from_numpy(values / scale).float()
        places = rng.permutation(len(values))
        watched, fitted = places[::CHOSEN_BY], np.delete(places, slice(None, None, CHOSEN_BY))
        optimiser = torch.optim.AdamW(model.parameters(), RATE)
        schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(
            optimiser, factor=FACTOR, patience=PATIENCE, min_lr=LEAST_RATE
        )
        for _ in range(EPOCHS):
            for chosen in np.array_split(rng.permutation(fitted), -(-len(fitted) // BATCH)):
                optimiser.zero_grad()
                _error(model, given, wanted, chosen).backward()
                optimiser.step()
            with torch.no_grad():
                schedule.step(_error(model, given, wanted, watched))
        return cls(cloud, model.eval().double(), scale)

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], cloud: Cloud) -> Paper:
        """As `Predictor.of`."""
        model = Convolutions()
        load(model, arrays)
        return cls(cloud, model, float(arrays["scale"]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """As `Predictor.arrays`."""
        return weights(self.model) | {"scale": np.array(self.scale)}

    def values(self, networks: Sequence[PointNetwork]) -> Floats:
        """As `Predictor.values`."""
        given, found = _given(networks, self.cloud), list[Tensor]()
        with torch.no_grad():
            for first in range(0, len(networks), AT_ONCE):
                found.append(self.model(Given(*(one[first : first + AT_ONCE].double() for one in given))))
        return np.maximum(self.scale * torch.cat(found).numpy(), 1e-3 * self.scale)


def _error(model: Convolutions, given: Given, wanted: Tensor, chosen: NDArray[np.int64]) -> Tensor:
    found = model(Given(*(one[torch.from_numpy(chosen)] for one in given)))
    part = wanted[torch.from_numpy(chosen)]
    return ((found - part).abs() / part).mean()


def _given(networks: Sequence[PointNetwork], cloud: Cloud) -> Given:
    """The graphs of networks: input, operations, output, and the global node in the last place."""
    found = encoded(networks, cloud)
    count, longest = found.kinds.shape
    total = longest + 3
    nodes = np.zeros((count, total, CODES + PROPERTIES), np.float32)
    edges = np.zeros((count, total, total), np.float32)
    nodes[:, 1 : longest + 1, :CODES] = found.codes
    nodes[:, -1, KINDS.index("global")] = 1
    nodes[:, -1, CODES:] = _properties(cloud)
    lengths = (found.kinds >= 0).sum(axis=1)
    for place, length in enumerate(lengths):
        output = length + 1
        nodes[place, output, :] = 0
        along = np.arange(output)
        edges[place, along + 1, along] = 1
        there = [*range(output + 1), total - 1]
        edges[place, there, there] = 1
        edges[place, there, -1] = edges[place, -1, there] = 1
    return Given(torch.from_numpy(nodes), torch.from_numpy(edges))


def _properties(cloud: Cloud) -> Floats:
    """[16] properties of the data: sizes as logarithms, density, and zeros."""
    edges = cloud.points * cloud.neighbours
    known = [*np.log1p([cloud.points, cloud.width, cloud.neighbours, cloud.classes, edges]) / 10,
             cloud.neighbours / cloud.points, float(cloud.edges)]  # fmt: skip
    return np.array(known + [0.0] * (PROPERTIES - len(known)))
