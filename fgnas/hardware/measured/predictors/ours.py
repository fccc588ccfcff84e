"""Learned times of operations, added up: a small network predicts the time of each from its own features and those of
the operation before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from fgnas.hardware.measured.features import FUNCTIONS, KINDS, NUMBERS, Floats, encoded
from fgnas.hardware.measured.predictors.learned import Training, load, train, weights
from fgnas.networks.points.operations import PointNetwork
from fgnas.networks.points.work import Cloud

MODELS = 3
HIDDEN = 64
CODES = len(KINDS) + len(FUNCTIONS)
TRAINING, CONTINUED = Training(200, 64, 4e-3), Training(100, 16, 1e-3)
AT_ONCE = 4096


class Given(NamedTuple):
    """Networks as tensors: [n, L, features] of operations, [n, L] which are there, [n, 2] logarithms of the width
    behind the last, and of how many there are."""

    operations: Tensor
    there: Tensor
    ends: Tensor


class Times(nn.Module):
    """The time of a network in units of the reference's: those of its operations, and of its tail."""

    def __init__(self) -> None:
        super().__init__()
        self.operation = nn.Sequential(
            nn.Linear(CODES + NUMBERS + CODES, HIDDEN), nn.SiLU(), nn.Linear(HIDDEN, HIDDEN), nn.SiLU(),
            nn.Linear(HIDDEN, 1),
        )  # fmt: skip
        self.tail = nn.Sequential(nn.Linear(2, HIDDEN), nn.SiLU(), nn.Linear(HIDDEN, 1))

    def forward(self, given: Given) -> Tensor:
        """[n] logarithms."""
        each = torch.exp(self.operation(given.operations)[..., 0].clamp(max=8)) * given.there
        found: Tensor = torch.log(each.sum(dim=1) + torch.exp(self.tail(given.ends)[..., 0].clamp(max=8)))
        return found


@dataclass(frozen=True, eq=False)
class Ours:
    """The mean of three such networks, whose values are of the scale of the samples' median."""

    NAME: ClassVar[str] = "ours"
    cloud: Cloud
    models: tuple[Times, ...]
    scale: float

    @classmethod
    def fit(
        cls, networks: Sequence[PointNetwork], values: Floats, cloud: Cloud, seed: int, start: Any = None
    ) -> Ours:
        """As `Predictor.fit`: the smallest absolute errors of logarithms."""
        given = _given(networks, cloud)
        scale = float(np.median(values))
        wanted = torch.from_numpy(np.log(values / scale)).float()
        models = []
        for number in range(MODELS):
            torch.manual_seed(seed + number)
            model = Times()
            if start is not None:
                model.load_state_dict(start.models[number].state_dict())

            def loss(model: nn.Module, chosen: Tensor) -> Tensor:
                return functional.l1_loss(model(Given(*(one[chosen].float() for one in given))), wanted[chosen])

            train(model, len(values), TRAINING if start is None else CONTINUED, loss, seed + number)
            models.append(model)
        return cls(cloud, tuple(models), scale)

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], cloud: Cloud) -> Ours:
        """As `Predictor.of`."""
        models = tuple(Times() for _ in range(MODELS))
        for number, model in enumerate(models):
            load(model, arrays, f"{number}.")
        return cls(cloud, models, float(arrays["scale"]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """As `Predictor.arrays`."""
        found = {f"{number}.{name}": value for number, model in enumerate(self.models)
                 for name, value in weights(model).items()}  # fmt: skip
        return found | {"scale": np.array(self.scale)}

    def values(self, networks: Sequence[PointNetwork]) -> Floats:
        """As `Predictor.values`."""
        given, found = _given(networks, self.cloud), list[Tensor]()
        with torch.no_grad():
            for first in range(0, len(networks), AT_ONCE):
                part = Given(*(one[first : first + AT_ONCE] for one in given))
                found.append(torch.stack([model(part) for model in self.models]).mean(dim=0))
        return self.scale * np.exp(torch.cat(found).numpy())


def _given(networks: Sequence[PointNetwork], cloud: Cloud) -> Given:
    """The features of each operation, beside the codes of the one before it."""
    found = encoded(networks, cloud)
    before = np.zeros_like(found.codes)
    before[:, 1:] = found.codes[:, :-1]
    operations = np.concatenate([found.codes, found.numbers / 10, before], axis=2)
    ends = np.log1p(found.sums[:, -2:]) / 5
    there = found.kinds >= 0
    return Given(*(torch.from_numpy(one).double() for one in (operations, there, ends)))
