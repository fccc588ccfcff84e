"""The naive predictor: a time for each multiplication, and one for every network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fgnas.hardware.measured.features import Floats, encoded
from fgnas.networks.points.operations import PointNetwork
from fgnas.networks.points.work import Cloud


@dataclass(frozen=True, eq=False)
class Flops:
    """A line through the multiplications, of the least squares of relative errors."""

    NAME: ClassVar[str] = "flops"
    cloud: Cloud
    line: Floats
    least: float

    @classmethod
    def fit(
        cls, networks: Sequence[PointNetwork], values: Floats, cloud: Cloud, seed: int, start: Any = None
    ) -> Flops:
        """As `Predictor.fit`."""
        given = cls._given(networks, cloud) / values[:, None]
        line, *_ = np.linalg.lstsq(given, np.ones(len(values)), rcond=None)
        return cls(cloud, np.asarray(line, np.float64), float(values.min()))

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], cloud: Cloud) -> Flops:
        """As `Predictor.of`."""
        return cls(cloud, arrays["line"], float(arrays["least"]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """As `Predictor.arrays`."""
        return {"line": self.line, "least": np.array(self.least)}

    def values(self, networks: Sequence[PointNetwork]) -> Floats:
        """As `Predictor.values`."""
        return np.maximum(self._given(networks, self.cloud) @ self.line, self.least)

    @staticmethod
    def _given(networks: Sequence[PointNetwork], cloud: Cloud) -> Floats:
        products = encoded(networks, cloud).products
        return np.stack([np.ones(len(products)), products], axis=1)
