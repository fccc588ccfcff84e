"""Prices of networks of operations without weights, against those of their encoded programmes."""

from dataclasses import replace

import numpy as np
import pytest

from fgnas.errors import UserError
from fgnas.hardware.array.cycles import total_cycles
from fgnas.hardware.array.points.encoded import PointSource, lowered
from fgnas.hardware.array.points.pricing import priced
from fgnas.hardware.array.resources import engine_resources
from fgnas.networks.points.baselines import BASELINES, baseline
from fgnas.networks.points.operations import LARGEST_WIDTH, TAILS, PointNetwork, Tail
from fgnas.networks.points.work import Cloud, widest
from fgnas.systems.hgnas.shapes import shaped, unweighted
from fgnas.systems.hgnas.space import point_space

SEED = 20_261_125


def check(network: PointNetwork, cloud: Cloud, units: int, beat_bits: int, bits: int) -> bool:
    """Whether a network is held, and priced as what its integers become; where these are refused, so is its price."""
    source = PointSource(unweighted(network, cloud, bits), cloud.points)
    try:
        encoded = lowered(source, units, beat_bits)
    except UserError as refused:
        with pytest.raises(UserError) as told:
            priced(shaped(network, cloud, bits), cloud.points, units, beat_bits)
        assert str(told.value) == str(refused)
        return False
    cycles, engine = priced(shaped(network, cloud, bits), cloud.points, units, beat_bits)
    assert cycles == total_cycles(encoded)
    assert replace(engine, shifts=encoded.engine.shifts) == encoded.engine
    exact, found = engine_resources(encoded.engine), engine_resources(engine)
    assert [found[name] for name in ("dsp", "bram36")] == [exact[name] for name in ("dsp", "bram36")]
    assert abs(found["lut"] / exact["lut"] - 1) < 0.1 and abs(found["ff"] / exact["ff"] - 1) < 0.1
    return True


def drawn_cloud(rng: np.random.Generator, most: int) -> Cloud:
    points = int(rng.choice([16, 29, 64, most]))
    neighbours = int(rng.integers(1, min(points, 32) + 1))
    return Cloud(points, int(rng.integers(1, 7)), neighbours, int(rng.choice([2, 10, 40])))


def rows_of(seed: int, rows: int, tail: Tail, most: int) -> list[bool]:
    """Random rows of the space on random sizes of arrays; whether each is held."""
    rng, held = np.random.default_rng(seed), list[bool]()
    while len(held) < rows:
        cloud = drawn_cloud(rng, most)
        space = point_space(cloud, tail)
        network = space.candidate(space.draw(1, rng)[0]).network
        if widest(network.operations, cloud.width) > LARGEST_WIDTH:
            continue
        units, beat_bits = int(rng.choice([1, 2, 3, 4, 8, 12, 16, 32])), int(rng.choice([128, 256, 512]))
        held.append(check(network, cloud, units, beat_bits, int(rng.integers(2, 10))))
    return held


@pytest.mark.parametrize(
    ("tail", "rows"),
    [("small", 60), ("middle", 30), *(pytest.param(one, 120, marks=pytest.mark.slow) for one in TAILS)],
)
def test_prices_are_those_of_programmes(tail: str, rows: int) -> None:
    """Cycles, engine and refusals of rows of the whole space."""
    held = rows_of(SEED + rows, rows, TAILS[tail], 1024 if rows > 100 else 64)
    assert sum(held) > rows // 2


def test_networks_that_no_array_holds_are_refused_for_the_same_reason() -> None:
    """Clouds that are too large for so few units, and too many neighbours."""
    network = baseline("dgcnn-fused", TAILS["small"])
    assert not check(network, Cloud(1024, 3, 20, 10), 1, 128, 8)
    assert not check(network, Cloud(64, 3, 33, 10), 8, 128, 8)


@pytest.mark.parametrize("name", BASELINES)
def test_baselines_are_priced_too(name: str) -> None:
    assert check(baseline(name, TAILS["small"]), Cloud(64, 3, 8, 10), 8, 512, 8)
