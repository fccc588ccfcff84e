"""Features of networks, by hand."""

import numpy as np
import pytest

from fgnas.errors import UserError
from fgnas.hardware.measured.features import CLASSES, FUNCTIONS, KINDS, encoded, steps
from fgnas.networks.points.baselines import baseline
from fgnas.networks.points.operations import TAILS, Aggregate, Combine, Connect, PointNetwork, Sample
from fgnas.networks.points.work import Cloud

CLOUD = Cloud(points=10, width=3, neighbours=4, classes=2)
TAIL = TAILS["small"]
NETWORK = PointNetwork((Sample("nearest"), Aggregate("max", "full"), Combine(8), Connect("skip")), TAIL)


def test_7_kinds_and_21_functions() -> None:
    assert len(KINDS) == 7 and len(FUNCTIONS) == 21 and len(CLASSES) == 28 + 4


def test_steps_by_hand() -> None:
    assert [(one.name, one.width, one.behind) for one in steps(NETWORK, CLOUD)] == [
        ("nearest", 3, 3), ("max full", 3, 10), ("combine", 10, 8), ("skip", 8, 8),
    ]  # fmt: skip


def test_an_encoding_by_hand() -> None:
    found = encoded([NETWORK, PointNetwork((), TAIL)], CLOUD)
    assert found.kinds.tolist() == [[6, 4, 5, 3], [-1, -1, -1, -1]]
    names = [*KINDS, *FUNCTIONS]
    hot = [{names[place] for place in np.flatnonzero(row)} for row in found.codes[0]]
    assert hot == [{"sample", "nearest"}, {"aggregate", "max", "full"}, {"combine", "8"}, {"connect", "skip"}]
    numbers = np.expm1(found.numbers[0]).round().astype(int).tolist()
    assert numbers[0] == [3, 3, 300, 4 * 3 * 100, 100, 0, 0]
    assert numbers[1] == [3, 10, 0, 4 * (10 * 10 + 40 * 13), 0, 40, 120]
    assert numbers[2] == [10, 8, 800, 320, 0, 0, 0]
    assert found.products.tolist() == [300 + 800 + 10 * 8 * 64, 10 * 3 * 64]
    assert found.sums[0, CLASSES.index("combine")] == 1 and found.sums[0, len(CLASSES) + CLASSES.index("combine")] == 10
    assert found.sums[:, -2:].tolist() == [[8, 4], [3, 0]]


def test_operations_that_no_space_has() -> None:
    with pytest.raises(UserError, match="a predictor knows no edgeconv: time the network itself"):
        encoded([baseline("dgcnn", TAIL)], CLOUD)
    with pytest.raises(UserError, match="a predictor knows no combine of 48 features: time the network itself"):
        encoded([PointNetwork((Combine(48),), TAIL)], CLOUD)
