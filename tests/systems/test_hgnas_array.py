"""Networks of operations on the array: the machine reference and the RTL with its cycles, against the interpreter."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from point_clouds import warmed

from fgnas.backends.array import write_points
from fgnas.errors import UserError
from fgnas.hardware.array import reference
from fgnas.hardware.array.engine import Engine
from fgnas.hardware.array.points.encoded import EncodedPoints, PointSource, lowered
from fgnas.hardware.integer.network import IntegerNetwork
from fgnas.hardware.specification import Specification
from fgnas.networks.points.canonical import canonical
from fgnas.networks.points.operations import (
    MESSAGES,
    PARTS,
    REDUCERS,
    TAILS,
    Aggregate,
    Combine,
    Connect,
    Operation,
    PointNetwork,
    Sample,
)
from fgnas.systems.hgnas.integers import logits, network_of
from fgnas.tasks.points import GraphSet, of_clouds
from fgnas.tools.simulate import run_simulation

WITHOUT_DISTANCES = [name for name in MESSAGES if "distance" not in PARTS[name]]


def clouds(rng: np.random.Generator, points: int, width: int, k: int) -> GraphSet:
    """Clouds on a coarse grid: many points lie on each other, and many distances are equal."""
    place = np.arange(24)
    made = rng.integers(-3, 4, (24, points, width)) / 4
    data = of_clouds("made", made, place % 3, [place < 12, (place >= 12) & (place < 20), place >= 20])
    return replace(data, neighbours=k)


def built(
    operations: tuple[Operation, ...], data: GraphSet, units: int, beat_bits: int = 128
) -> tuple[IntegerNetwork, EncodedPoints]:
    """The integers of a network with random weights, and its programme."""
    network = PointNetwork(canonical(operations, data.width_in), TAILS["small"])
    integers = network_of(warmed(network, data), data, 8, passes=0)
    assert data.points is not None
    return integers, lowered(PointSource(integers, data.points, "made", "made"), units, beat_bits)


def check(integers: IntegerNetwork, encoded: EncodedPoints, data: GraphSet) -> EncodedPoints:
    """Whether the reference has the interpreter's logits, to the bit; returns the last cloud's programme."""
    given, _ = data.clouds("test")
    wanted = logits(integers, given)
    for cloud, row in zip(given, wanted, strict=True):
        encoded = encoded.with_cloud(integers.number.quantise(cloud))
        assert np.array_equal(reference.run(encoded)[0], row)
    return encoded


@pytest.mark.parametrize("message", WITHOUT_DISTANCES)
@pytest.mark.parametrize("reducer", REDUCERS)
@pytest.mark.parametrize("sample", ["nearest", "random"])
def test_every_message_is_that_of_the_interpreter(sample: str, reducer: str, message: str) -> None:
    data = clouds(np.random.default_rng(1), 13, 5, 4)
    check(*built((Sample(sample), Aggregate(reducer, message), Combine(16)), data, 4), data)


def drawn(rng: np.random.Generator) -> tuple[tuple[Operation, ...], GraphSet, int, int]:
    """Random operations, clouds, units and port."""
    points = int(rng.choice([16, 21, 32, 64]))
    data = clouds(rng, points, int(rng.integers(2, 10)), int(rng.integers(1, min(points, 24) + 1)))
    kinds = (
        lambda: Sample(str(rng.choice(["nearest", "nearest", "random"]))),
        lambda: Aggregate(str(rng.choice(REDUCERS)), str(rng.choice(WITHOUT_DISTANCES))),
        lambda: Combine(int(rng.choice([8, 16, 24, 32, 56]))),
        lambda: Connect("skip"),
    )
    operations = tuple(kinds[int(rng.integers(4))]() for _ in range(int(rng.integers(4, 9))))
    return operations, data, int(rng.choice([8, 12, 16])), int(rng.choice([128, 256, 512]))


def fitting(seed: int) -> tuple[IntegerNetwork, EncodedPoints, GraphSet]:
    """A random network; one whose rows are too wide is drawn again."""
    rng = np.random.default_rng(seed)
    while True:
        operations, data, units, beat_bits = drawn(rng)
        if not any(isinstance(one, Sample) and one.function == "nearest" for one in operations):
            continue
        try:
            return *built(operations, data, units, beat_bits), data
        except UserError as error:
            assert "what a unit holds" in str(error)


@pytest.mark.parametrize("seed", range(12))
def test_random_networks_in_the_reference(seed: int) -> None:
    check(*fitting(seed))


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(100, 110))])
def test_random_networks_in_rtl(seed: int, tmp_path: Path) -> None:
    """All logits, and the cycles of the whole; ties and points that lie on each other are in every cloud."""
    encoded = check(*fitting(seed))
    write_points(encoded, tmp_path, Specification())
    found = run_simulation(tmp_path)
    assert found["mismatches"] == found["cycle_difference"] == found["status"] == 0


def test_cycles_depend_on_shapes_alone(tmp_path: Path) -> None:
    integers, encoded, data = fitting(0)
    given, _ = data.clouds("test")
    write_points(encoded.with_cloud(integers.number.quantise(np.zeros_like(given[0]))), tmp_path, Specification())
    assert run_simulation(tmp_path)["cycle_difference"] == 0


def test_distances_and_wide_rows_are_refused() -> None:
    data = clouds(np.random.default_rng(1), 16, 3, 4)
    with pytest.raises(UserError, match="root"):
        built((Sample("nearest"), Aggregate("max", "distance"), Combine(16)), data, 8)
    with pytest.raises(UserError, match="more than 120"):
        built((Sample("nearest"), Aggregate("max", "source"), Combine(128), Combine(16)), data, 8)


def test_an_engine_with_nearest_points_is_read_again() -> None:
    engine = fitting(0)[1].engine
    assert Engine.of(engine.summary()) == engine and engine.neighbours is not None
