"""Networks of the space for tests of measured devices."""

from collections.abc import Sequence

import numpy as np

from fgnas.hardware.measured.features import steps
from fgnas.networks.points.operations import TAILS, PointNetwork
from fgnas.networks.points.work import Cloud
from fgnas.systems.hgnas.measuring import distinct
from fgnas.systems.hgnas.space import point_space

CLOUD = Cloud(points=64, width=3, neighbours=8, classes=10)
TAIL = TAILS["small"]


def drawn(count: int, seed: int = 0, cloud: Cloud = CLOUD) -> list[PointNetwork]:
    """Distinct random networks."""
    return distinct(point_space(cloud, TAIL), count, seed)


def made_times(networks: Sequence[PointNetwork], cloud: Cloud = CLOUD) -> np.typing.NDArray[np.float64]:
    """Times that add up over operations, each a line through its widths, as a device without surprises has."""
    return np.array([
        0.05 + sum(0.02 + 1e-4 * step.width + 2e-6 * step.width * step.behind + 0.01 * (step.name == "nearest")
                   for step in steps(network, cloud))
        for network in networks
    ])  # fmt: skip
