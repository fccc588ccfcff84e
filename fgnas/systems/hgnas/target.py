"""The costs of networks before any device is measured: multiplications, beside those of fused DGCNN."""

from __future__ import annotations

import numpy as np

from fgnas.costs import Costs, Limit, Quantity
from fgnas.networks.points.baselines import baseline
from fgnas.networks.points.operations import LARGEST_WIDTH
from fgnas.networks.points.work import multiplications, widest
from fgnas.space import Rows
from fgnas.systems.hgnas.space import PointSpace

REFERENCE = "dgcnn-fused"


class ProductTarget:
    """Multiplications of one cloud, their share of the reference's, and the widest features."""

    costs = (
        Quantity("products", "Multiplications", scale=1e-6, shown_unit="million"),
        Quantity("share", "Of fused DGCNN's", "share"),
        Quantity("width", "Widest features"),
    )
    limits = (
        Limit("width", LARGEST_WIDTH, lambda width: f"features of width {width:g} are over {LARGEST_WIDTH}"),
    )

    def __init__(self, space: PointSpace) -> None:
        self.space = space
        self.reference = multiplications(baseline(REFERENCE, space.tail), space.cloud)

    def price(self, rows: Rows) -> Costs:
        """Every cost of n rows, [n] each."""
        networks = [self.space.candidate(row).network for row in rows]
        cloud = self.space.cloud
        products = np.array([multiplications(one, cloud) for one in networks], np.float64)
        width = np.array([widest(one.operations, cloud.width) for one in networks], np.float64)
        return {"products": products, "share": products / self.reference, "width": width}
