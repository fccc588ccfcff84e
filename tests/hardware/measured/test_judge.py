"""Errors of predictions, by hand."""

import numpy as np
import pytest

from fgnas.hardware.measured.judge import judged, noise_floor
from fgnas.hardware.measured.record import Measured
from fgnas.networks.points.operations import TAILS, PointNetwork


def test_errors_by_hand() -> None:
    found = judged(np.array([1.005, 1.04, 2.2, 2.0]), np.array([1.0, 1.0, 2.0, 4.0]))
    assert found.mape == pytest.approx((0.005 + 0.04 + 0.1 + 0.5) / 4)
    assert found.within[:2] == (0.25, 0.5) and found.samples == 4
    assert judged(np.array([1.0, 2, 3]), np.array([2.0, 4, 9])).rank == 1


def test_half_of_the_rounds_against_the_others() -> None:
    network = PointNetwork((), TAILS["small"])
    floor = noise_floor([Measured(network, (1.3, 1.0, 1.1), 1.0), Measured(network, (2.0, 2.5, 2.5), 1.0)])
    assert floor is not None and floor.samples == 2 and floor.mape == pytest.approx((0.1 + 0.2) / 2)
    assert noise_floor([Measured(network, (1.1,), 1.0)]) is None
