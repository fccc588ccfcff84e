"""Boosted trees on sums of features: scikit-learn grows them, and their arrays are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fgnas.hardware.measured.features import Floats, encoded
from fgnas.networks.points.operations import PointNetwork
from fgnas.networks.points.work import Cloud

TREES, DEPTH, RATE, SHARE = 500, 5, 0.05, 0.7
"""Number of trees, their depth, the learning rate, and the share of samples from which each is grown."""


@dataclass(frozen=True, eq=False)
class Trees:
    """The logarithm of a value as a sum over trees.

    Attributes:
        feature, threshold, left, right, value: of all nodes, tree after tree; a leaf has `left` -1.
        roots: [trees] the places of the roots.
        base: the constant to which the trees add.
    """

    NAME: ClassVar[str] = "trees"
    cloud: Cloud
    feature: NDArray[np.int64]
    threshold: Floats
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: Floats
    roots: NDArray[np.int64]
    base: float

    @classmethod
    def fit(
        cls, networks: Sequence[PointNetwork], values: Floats, cloud: Cloud, seed: int, start: Any = None
    ) -> Trees:
        """As `Predictor.fit`."""
        from sklearn.ensemble import GradientBoostingRegressor

        base = float(np.log(values).mean())
        model = GradientBoostingRegressor(
            n_estimators=TREES, max_depth=DEPTH, learning_rate=RATE, subsample=SHARE, loss="huber", init="zero",
            min_samples_leaf=4, max_features=0.5, random_state=seed,
        )  # fmt: skip
        model.fit(encoded(networks, cloud).sums, np.log(values) - base)
        trees = [one.tree_ for one in model.estimators_[:, 0]]
        roots = np.cumsum([0, *(tree.node_count for tree in trees)])[:-1]
        left, right = (
            np.concatenate([np.where(below < 0, -1, below + root) for below, root in zip(side, roots, strict=True)])
            for side in ([tree.children_left for tree in trees], [tree.children_right for tree in trees])
        )
        return cls(
            cloud, np.concatenate([tree.feature for tree in trees]), np.concatenate([tree.threshold for tree in trees]),
            left, right, RATE * np.concatenate([tree.value[:, 0, 0] for tree in trees]), roots, base,
        )  # fmt: skip

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], cloud: Cloud) -> Trees:
        """As `Predictor.of`."""
        return cls(
            cloud, arrays["feature"], arrays["threshold"], arrays["left"], arrays["right"], arrays["value"],
            arrays["roots"], float(arrays["base"]),
        )  # fmt: skip

    def arrays(self) -> dict[str, NDArray[Any]]:
        """As `Predictor.arrays`."""
        names = ("feature", "threshold", "left", "right", "value", "roots")
        return {name: getattr(self, name) for name in names} | {"base": np.array(self.base)}

    def values(self, networks: Sequence[PointNetwork]) -> Floats:
        """As `Predictor.values`."""
        # scikit-learn compares in single precision.
        given = encoded(networks, self.cloud).sums.astype(np.float32)
        rows = np.arange(len(given))[:, None]
        at = np.broadcast_to(self.roots, (len(given), len(self.roots)))
        for _ in range(DEPTH):
            below = np.where(given[rows, self.feature[at]] <= self.threshold[at], self.left[at], self.right[at])
            at = np.where(self.left[at] < 0, at, below)
        return np.exp(self.base + self.value[at].sum(axis=1))
