"""The costs of networks: multiplications, and on a measured device the time and memory that are predicted."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.costs import Costs, Limit, Quantity
from fgnas.hardware.measured.device import FITTED, LATENCY, MEMORY, REFERENCE, DeviceFolder, bases
from fgnas.hardware.measured.predictors import steady
from fgnas.networks.points.baselines import baseline
from fgnas.networks.points.operations import LARGEST_WIDTH, PointNetwork
from fgnas.networks.points.work import multiplications, widest
from fgnas.space import Rows
from fgnas.systems.hgnas.space import PointSpace

PRODUCTS = Quantity("products", "Multiplications", scale=1e-6, shown_unit="million")
WIDTH = Quantity("width", "Widest features")
WIDEST = Limit("width", LARGEST_WIDTH, lambda width: f"features of width {width:g} are over {LARGEST_WIDTH}")
MEGABYTE = 1e6


class ProductTarget:
    """Multiplications of one cloud, their share of the reference's, and the widest features."""

    costs: tuple[Quantity, ...] = (PRODUCTS, Quantity("share", "Of fused DGCNN's multiplications", "share"), WIDTH)
    fronts = (("products",),)
    identity: dict[str, Any] = {}

    def __init__(self, space: PointSpace) -> None:
        self.space = space
        self.reference = multiplications(baseline(REFERENCE, space.tail), space.cloud)

    def price(self, rows: Rows) -> Costs:
        """Every cost of n rows, [n] each."""
        networks = [self.space.candidate(row).network for row in rows]
        products, width = counted(networks, self.space)
        return {"products": products, "share": products / self.reference, "width": width}


class MeasuredTarget:
    """Time and memory of one cloud on a measured device, as its predictors have them.

    Milliseconds are the predicted ratio times the reference's time in the device's record, so that a search repeats
    itself. Memory is the larger of predictor and `live` estimate (HGNAS, section 3.5), or the estimate alone where the
    device's memory was not measured.
    """

    def __init__(self, space: PointSpace, folder: DeviceFolder, predictor: str | None = None) -> None:
        self.space, verdict = space, folder.verdict()
        self.latency = folder.predictor(LATENCY, predictor)
        self.memory = folder.predictor(MEMORY) if MEMORY in verdict.chosen else None
        self.reference_ms = verdict.reference_ms
        self.costs: tuple[Quantity, ...] = (
            Quantity("latency", "Predicted time", "ms", exact=False),
            Quantity("share", "Of fused DGCNN's time", "share", exact=False),
            Quantity("memory", "Predicted memory", "bytes", exact=False, scale=1 / MEGABYTE, shown_unit="MB"),
            PRODUCTS, WIDTH,
        )  # fmt: skip
        self.fronts = (("latency",), ("memory",))
        self.identity = {
            "device": folder.device().to_dict(), "reference_ms": verdict.reference_ms, "predictor": self.latency.NAME,
            "fitted": hashlib.sha256((folder.path / FITTED).read_bytes()).hexdigest(),
        }  # fmt: skip

    def price(self, rows: Rows) -> Costs:
        """Every cost of n rows, [n] each."""
        return self.of([self.space.candidate(row).network for row in rows])

    def of(self, networks: list[PointNetwork]) -> Costs:
        """Every cost of n networks, [n] each."""
        cloud = self.space.cloud
        share = steady(self.latency.values(networks))
        memory = bases(MEMORY, networks, cloud)
        if self.memory is not None:
            memory = np.maximum(memory, np.ceil(steady(memory * self.memory.values(networks))))
        products, width = counted(networks, self.space)
        return {
            "latency": share * self.reference_ms, "share": share, "memory": memory, "products": products,
            "width": width,
        }  # fmt: skip


def counted(networks: Sequence[PointNetwork], space: PointSpace) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """[n] multiplications and [n] widest features."""
    cloud = space.cloud
    products = np.array([multiplications(one, cloud) for one in networks], np.float64)
    return products, np.array([widest(one.operations, cloud.width) for one in networks], np.float64)
