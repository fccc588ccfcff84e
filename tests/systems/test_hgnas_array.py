"""Networks of operations on the array: the machine reference and the RTL with its cycles, against the interpreter."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from point_clouds import integers_of, tied_clouds

from fgnas.backends.array import write_points
from fgnas.errors import UserError
from fgnas.hardware.array import cycles, reference
from fgnas.hardware.array.engine import Engine
from fgnas.hardware.array.points.encoded import EncodedPoints, PointSource, encoded_of, lowered, planned
from fgnas.hardware.array.points.memory import NoRoomError, Paging
from fgnas.hardware.integer.network import IntegerNetwork
from fgnas.hardware.specification import Specification
from fgnas.networks.points.baselines import BASELINES
from fgnas.networks.points.canonical import canonical
from fgnas.networks.points.operations import (
    LARGEST_WIDTH,
    MESSAGES,
    REDUCERS,
    TAILS,
    Aggregate,
    Combine,
    Connect,
    EdgeConv,
    Join,
    Operation,
    PointNetwork,
    Sample,
)
from fgnas.networks.points.work import Cloud, widest
from fgnas.networks.scaled import logits
from fgnas.systems.hgnas.space import point_space
from fgnas.tasks.points import GraphSet
from fgnas.tools.simulate import run_simulation


def built(
    operations: tuple[Operation, ...], data: GraphSet, units: int, beat_bits: int = 128
) -> tuple[IntegerNetwork, EncodedPoints]:
    """The integers of a network with random weights, and its programme."""
    baseline = any(isinstance(one, EdgeConv) for one in operations)
    made = operations if baseline else canonical(operations, data.width_in)
    integers = integers_of(PointNetwork(made, TAILS["small"]), data)
    assert data.points is not None
    return integers, lowered(PointSource(integers, data.points, "made", "made"), units, beat_bits)


def check(integers: IntegerNetwork, encoded: EncodedPoints, data: GraphSet) -> EncodedPoints:
    """Whether the reference has the interpreter's logits, to the bit, of clouds alone and of all in one start; returns
    the programme of the last two."""
    given, _ = data.clouds("test")
    wanted = logits(integers, given)
    codes = np.stack([integers.number.quantise(cloud) for cloud in given])
    for cloud, row in zip(codes[:1], wanted, strict=False):
        assert np.array_equal(reference.run(encoded.with_cloud(cloud))[0], row)
    assert np.array_equal(reference.run(encoded.with_clouds(codes)), wanted)
    return encoded.with_clouds(codes[-2:])


def simulate(encoded: EncodedPoints, folder: Path) -> None:
    """Whether the RTL has the reference's logits and the predicted cycles."""
    write_points(encoded, folder, Specification())
    found = run_simulation(folder)
    assert found["mismatches"] == found["cycle_difference"] == found["status"] == 0


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("reducer", REDUCERS)
@pytest.mark.parametrize("sample", ["nearest", "random"])
def test_every_message_is_that_of_the_interpreter(sample: str, reducer: str, message: str) -> None:
    data = tied_clouds(np.random.default_rng(1), 13, 5, 4)
    check(*built((Sample(sample), Aggregate(reducer, message), Combine(16)), data, 4), data)


def drawn(seed: int) -> tuple[IntegerNetwork, EncodedPoints, GraphSet]:
    """A network of HGNAS's space, whatever it is, for random clouds on a random array; too wide ones are none."""
    rng = np.random.default_rng(seed)
    points, width = int(rng.choice([16, 29, 64])), int(rng.integers(1, 7))
    data = tied_clouds(rng, points, width, int(rng.integers(1, min(points, 24) + 1)))
    space = point_space(Cloud(points, width, data.neighbours, 3), TAILS[str(rng.choice(["small", "middle"]))])
    while True:
        network = space.candidate(space.draw(1, rng)[0]).network
        if widest(network.operations, width) <= LARGEST_WIDTH:
            break
    integers = integers_of(network, data, int(rng.integers(0, 2)))
    units, beat_bits = int(rng.choice([4, 8, 12, 16])), int(rng.choice([128, 256, 512]))
    return integers, lowered(PointSource(integers, points, "drawn", "drawn"), units, beat_bits), data


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(n, marks=pytest.mark.slow) for n in range(500, 560))])
def test_networks_of_the_space_in_the_reference(seed: int) -> None:
    """None is refused."""
    check(*drawn(seed))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(700, 710))])
def test_networks_of_the_space_in_rtl(seed: int, tmp_path: Path) -> None:
    """All logits of two clouds, and the cycles of the whole; each cloud has ties and points that coincide."""
    simulate(check(*drawn(seed)), tmp_path)


EVERYTHING = (
    Sample("nearest"), Aggregate("max", "full"), Combine(16), Sample("random"), Aggregate("mean", "distance"),
    Aggregate("min", "full"), Combine(8), Aggregate("sum", "source"), Connect("skip"),
)  # fmt: skip
"""Distances of nearest and of random points, reduced in every way, and rows of holes."""
EDGES = (Sample("nearest"), EdgeConv(16, True), Sample("nearest"), EdgeConv(24, True), Join())
"""EdgeConvs on two graphs, side by side."""


@pytest.mark.slow
@pytest.mark.parametrize("operations", [EVERYTHING, EDGES])
def test_distances_and_edgeconvs_in_rtl(operations: tuple[Operation, ...], tmp_path: Path) -> None:
    data = tied_clouds(np.random.default_rng(1), 29, 3, 7)
    simulate(check(*built(operations, data, 8), data), tmp_path)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "dgcnn-fused" else pytest.mark.slow) for name in BASELINES]
)
@pytest.mark.parametrize("paging", [pytest.param(Paging(True), marks=pytest.mark.slow), Paging(True, 4)])
def test_baselines_in_the_reference(name: str, paging: Paging) -> None:
    """DGCNN in all forms and PointNet, whole, with the paper's widths; with all rows in the tables, and with those that
    are read in them alone."""
    data = tied_clouds(np.random.default_rng(2), 40, 3, 8)
    integers = integers_of(PointNetwork(BASELINES[name](), TAILS["paper"]), data)
    plan = planned(PointSource(integers, 40, name, "made"), 8, paging)
    check(integers, encoded_of(PointSource(integers, 40, name, "made"), plan, 512), data)


WIDE = (Combine(128), Sample("nearest"), Combine(256), Aggregate("sum", "source-relative"), Combine(64))
PAGINGS = [Paging(), Paging(True), Paging(True, 8), Paging(True, 0), Paging(True, 0, 1)]


def paged(operations: tuple[Operation, ...], data: GraphSet, paging: Paging) -> tuple[IntegerNetwork, EncodedPoints]:
    """A network whose weights and rows come into the tables when they are read."""
    integers = integers_of(PointNetwork(canonical(operations, data.width_in), TAILS["middle"]), data)
    assert data.points is not None
    source = PointSource(integers, data.points, "paged", "made")
    return integers, encoded_of(source, planned(source, 8, paging), 256)


@pytest.mark.parametrize("paging", PAGINGS)
@pytest.mark.parametrize("operations", [WIDE, EVERYTHING])
def test_what_is_brought_to_the_tables_is_what_lies_there(operations: tuple[Operation, ...], paging: Paging) -> None:
    data = tied_clouds(np.random.default_rng(3), 29, 3, 7)
    check(*paged(operations, data, paging), data)


@pytest.mark.slow
@pytest.mark.parametrize("operations", [WIDE, EVERYTHING])
@pytest.mark.parametrize("paging", PAGINGS[1:4])
def test_what_is_brought_to_the_tables_in_rtl(
    operations: tuple[Operation, ...], paging: Paging, tmp_path: Path
) -> None:
    data = tied_clouds(np.random.default_rng(4), 29, 3, 7)
    simulate(check(*paged(operations, data, paging), data), tmp_path)


def test_weights_are_loaded_once_for_all_clouds() -> None:
    """A cloud more takes its own phases again, and none of the loads before it."""
    data = tied_clouds(np.random.default_rng(1), 16, 3, 4)
    integers, encoded = built((Sample("nearest"), Aggregate("max", "source"), Combine(16)), data, 8)
    codes = np.stack([integers.number.quantise(cloud) for cloud in data.clouds("test")[0]])
    of = {count: cycles.phase_cycles(encoded.with_clouds(codes[:count])) for count in (1, 2, 3)}
    before = encoded.names.index("load points") + 1  # behind the fetch
    assert sum(of[3]) - sum(of[2]) == sum(of[2]) - sum(of[1]) == sum(of[2][before : len(of[1])])
    assert [name for name, _ in encoded.with_clouds(codes[:2]).phases][-1] == "cloud 1: logits"


def test_clouds_of_another_shape_and_too_many_are_refused() -> None:
    data = tied_clouds(np.random.default_rng(1), 16, 3, 4)
    _, encoded = built((Sample("nearest"), Aggregate("max", "source"), Combine(16)), data, 8)
    with pytest.raises(UserError, match="clouds of 15 points with 3 features: the array was lowered for 16 with 3"):
        encoded.with_clouds(np.zeros((1, 15, 3), np.int64))
    for count in (0, 4096):
        with pytest.raises(UserError, match=f"{count:,} clouds: a start takes 1 to 4,095; send them in several"):
            encoded.with_clouds(np.zeros((count, 16, 3), np.int64))
    assert encoded.with_clouds(np.zeros((4095, 16, 3), np.int64)).outputs == 4095


@pytest.mark.slow
def test_the_largest_distances_in_rtl(tmp_path: Path) -> None:
    """Points in the corners of what numbers can be, a row of eight words."""
    rng = np.random.default_rng(5)
    data = tied_clouds(rng, 16, 64, 5)
    operations = (Sample("nearest"), Aggregate("sum", "distance"), Aggregate("max", "distance"), Combine(8))
    _, encoded = built(operations, data, 4)
    simulate(encoded.with_clouds(np.where(rng.integers(0, 2, (2, 16, 64)) == 0, -128, 127)), tmp_path)


@pytest.mark.slow
def test_cycles_depend_on_shapes_alone(tmp_path: Path) -> None:
    data = tied_clouds(np.random.default_rng(1), 21, 5, 4)
    _, encoded = built((Sample("nearest"), Aggregate("max", "relative"), Combine(16)), data, 8)
    simulate(encoded.with_cloud(np.zeros((21, 5), np.int64)), tmp_path)


def test_what_no_memory_holds_is_refused_with_its_size() -> None:
    """Squared distances need whole rows of all points: 3,000 points with 128 features have more words than a table."""
    data = tied_clouds(np.random.default_rng(1), 16, 3, 4)
    integers = integers_of(PointNetwork((Combine(128), Sample("nearest"), Aggregate("max", "source")), TAILS["small"]),
                           data)  # fmt: skip
    steps = tuple(
        replace(one, operation=replace(one.operation, points=3000)) if hasattr(one.operation, "points") else one
        for one in integers.steps
    )
    many = IntegerNetwork(integers.width_in, integers.number, steps)
    with pytest.raises(NoRoomError, match=r"needs 48,\d+ words of a table, an array has 32,768: choose fewer points"):
        lowered(PointSource(many, 3000), 8)
    with pytest.raises(UserError, match=r"clouds of 4,096 points: an array has 4,095 at most"):
        lowered(PointSource(integers, 4096), 8)


def test_an_engine_with_nearest_points_is_read_again() -> None:
    engine = built(EVERYTHING, tied_clouds(np.random.default_rng(1), 16, 3, 4), 8)[1].engine
    assert Engine.of(engine.summary()) == engine and engine.neighbours is not None and engine.neighbours.root
