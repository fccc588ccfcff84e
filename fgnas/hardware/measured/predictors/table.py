"""A table of operations: a time for each operation and the widths around it, as measured inside whole networks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fgnas.hardware.measured.features import CLASSES, Floats, steps
from fgnas.networks.points.operations import PointNetwork
from fgnas.networks.points.work import Cloud

RARE = 3
"""An entry that fewer networks have gets no time of its own beside its operation's line."""
RANK = 1e-6
"""Directions of the samples that are shorter than this share of the longest say nothing."""
SHRINK = 0.3
"""How much an entry's own time, beside the line, counts as an error while the table is fitted."""


@dataclass(frozen=True, eq=False)
class Table:
    """Times that are added up: of each class of operation a line through width, product of widths and one, and of each
    (class, width before, width behind) that is frequent a difference from its line."""

    NAME: ClassVar[str] = "table"
    cloud: Cloud
    keys: tuple[str, ...]
    times: Floats
    least: float

    @classmethod
    def fit(
        cls, networks: Sequence[PointNetwork], values: Floats, cloud: Cloud, seed: int, start: Any = None
    ) -> Table:
        """As `Predictor.fit`: least squares of relative errors."""
        seen = Counter(key for network in networks for key in {_key(*step[1:]) for step in steps(network, cloud)})
        keys = tuple(sorted(key for key, count in seen.items() if count >= RARE))
        given = _given(networks, cloud, keys) / values[:, None]
        weight = SHRINK / float(np.median(values))
        shrunk = np.zeros((len(keys), given.shape[1]))
        shrunk[:, given.shape[1] - len(keys) :] = weight * np.eye(len(keys))
        wanted = np.concatenate([np.ones(len(values)), np.zeros(len(keys))])
        rows = np.concatenate([given, shrunk])
        # Columns of one length: where samples are few, the smallest solution then favours none.
        lengths = np.linalg.norm(rows, axis=0)
        lengths[lengths == 0] = 1
        times = np.linalg.lstsq(rows / lengths, wanted, rcond=RANK)[0] / lengths
        return cls(cloud, keys, times, float(values.min()))

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], cloud: Cloud) -> Table:
        """As `Predictor.of`."""
        return cls(cloud, tuple(arrays["keys"].tolist()), arrays["times"], float(arrays["least"]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """As `Predictor.arrays`."""
        return {"keys": np.array(self.keys), "times": self.times, "least": np.array(self.least)}

    def values(self, networks: Sequence[PointNetwork]) -> Floats:
        """As `Predictor.values`."""
        return np.maximum(_given(networks, self.cloud, self.keys) @ self.times, self.least)


def _key(name: str, width: int, behind: int) -> str:
    return f"{name} {width} {behind}"


def _given(networks: Sequence[PointNetwork], cloud: Cloud, keys: Sequence[str]) -> Floats:
    """[n, columns] how often each network has what the table has a time for."""
    places = {key: place for place, key in enumerate(keys)}
    lines = np.zeros((len(networks), 3 * len(CLASSES) + 2))
    counts = np.zeros((len(networks), len(keys)))
    for row, network in enumerate(networks):
        mine = steps(network, cloud)
        for step in mine:
            first = 3 * CLASSES.index(step.name)
            lines[row, first : first + 3] += 1, step.width, step.width * step.behind
            if (place := places.get(_key(*step[1:]))) is not None:
                counts[row, place] += 1
        lines[row, -2:] = 1, mine[-1].behind if mine else cloud.width
    return np.concatenate([lines, counts], axis=1)
