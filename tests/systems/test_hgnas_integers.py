"""Networks of operations in integers: against the float network, at many bits and at few."""

import numpy as np
import pytest
import torch
from point_clouds import warmed

from fgnas.hardware.integer import interpreter
from fgnas.hardware.integer.network import IntegerNetwork
from fgnas.networks.points import training
from fgnas.networks.points.canonical import canonical
from fgnas.networks.points.graphs import Batch
from fgnas.networks.points.model import PointModel
from fgnas.networks.points.operations import (
    MESSAGES,
    REDUCERS,
    TAILS,
    Aggregate,
    Combine,
    Connect,
    EdgeConv,
    Join,
    PointNetwork,
    Sample,
)
from fgnas.networks.points.training import Recipe
from fgnas.networks.scaled import chosen, graphs, logits
from fgnas.systems.hgnas.composition import cloud_of
from fgnas.systems.hgnas.integers import accuracy, network_of
from fgnas.systems.hgnas.space import point_space
from fgnas.tasks.points import GraphSet, load_graphs, of_clouds

TAIL = TAILS["small"]


@pytest.fixture(scope="module")
def data() -> GraphSet:
    """Clouds of 16 points with codes that 16 bits hold exactly."""
    rng = np.random.default_rng(0)
    clouds = rng.integers(-512, 512, (40, 16, 3)) / 256
    place = np.arange(40)
    return of_clouds("made", clouds, place % 4, [place < 24, (place >= 24) & (place < 32), place >= 32])


def far(model: PointModel, data: GraphSet, bits: int) -> float:
    """The largest difference of logits to the float network's, relative to the largest logit, on the clouds that
    calibrate, whose values no format cuts off."""
    clouds, _ = data.clouds("train")
    integers = network_of(model, data, bits, passes=0)
    found = integers.output.number.value(logits(integers, clouds))
    with torch.no_grad():
        wanted = model(torch.from_numpy(clouds).flatten(end_dim=1), Batch((16,) * len(clouds), data.neighbours)).numpy()
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("reducer", REDUCERS)
@pytest.mark.parametrize("sample", ["nearest", "random"])
def test_messages_at_16_bits_are_the_float_networks(sample: str, reducer: str, message: str, data: GraphSet) -> None:
    """The graph is that of the input, whose codes are exact, so that both networks have the same one."""
    operations = canonical((Sample(sample), Aggregate(reducer, message), Combine(16)), 3)
    assert far(warmed(PointNetwork(operations, TAIL), data), data, 16) < 0.01


def test_more_bits_are_closer(data: GraphSet) -> None:
    model = warmed(PointNetwork((Sample("nearest"), Aggregate("max", "full"), Combine(32), Combine(32),
                                 Connect("skip")), TAIL), data)  # fmt: skip
    errors = [far(model, data, bits) for bits in (6, 8, 12, 16)]
    assert errors == sorted(errors, reverse=True) and errors[-1] < 0.01


def test_random_networks_of_the_space(data: GraphSet) -> None:
    """Those without a graph of computed features, where a rounding may choose another neighbour. Norms of untrained
    networks divide by small deviations, and errors with them."""
    space, rng, seen = point_space(cloud_of(data), TAIL), np.random.default_rng(4), 0
    for seed, row in enumerate(space.draw(60, rng)):
        network = space.candidate(row).network
        later = any(one == Sample("nearest") for one in network.operations[1:])
        if later or any(one.width(1) > 200 for one in network.operations):
            continue
        seen += 1
        assert far(warmed(network, data, seed), data, 16) < 0.1, network
    assert seen > 20


@pytest.mark.parametrize("fused", [False, True])
def test_edge_convolutions(fused: bool, data: GraphSet) -> None:
    network = PointNetwork((Sample("nearest"), EdgeConv(16, fused), EdgeConv(8, fused), Join()), TAIL)
    assert far(warmed(network, data), data, 16) < 0.01


def test_a_graph_is_made_of_codes(data: GraphSet) -> None:
    """Features of 4 bits have equal distances that floats do not have: the smaller place is nearer."""
    integers = network_of(warmed(PointNetwork((Sample("nearest"), Aggregate("max", "source")), TAIL), data), data, 4)
    clouds, _ = data.clouds("val")
    found = interpreter.values(integers, graphs(integers, clouds))
    codes = integers.number.quantise(clouds[0])
    keys = ((codes[:, None] - codes) ** 2).sum(axis=2) * 16 + np.arange(16)
    assert found["neighbours0"][:16].tolist() == np.argsort(keys, axis=1)[:, : data.neighbours].tolist()


def test_values_keep_their_formats(data: GraphSet) -> None:
    """Codes of every value stay within its format. Only sums that are rounded next have more bits than the network."""
    model = warmed(PointNetwork((Sample("nearest"), Aggregate("mean", "full"), Combine(8)), TAIL), data)
    integers = network_of(model, data, 8)
    assert isinstance(integers, IntegerNetwork) and integers.number.width == 8
    found = interpreter.values(integers, graphs(integers, data.clouds("train")[0]))
    for name, codes in found.items():
        number = integers.values[name].number
        assert codes.min() >= number.minimum and codes.max() <= number.maximum, name


def test_the_format_of_the_smallest_error() -> None:
    assert chosen(np.array([0.5, -0.25, 0.75]), 4).fraction_bits == 2
    assert chosen(np.array([100.0, 3.0]), 8).fraction_bits == 0


def test_changed_scales_bring_the_classes_closer(data: GraphSet) -> None:
    """On the clouds that calibrate: the cross entropy below the float network's classes."""
    model = warmed(PointNetwork((Sample("nearest"), Aggregate("max", "full"), Combine(16)), TAIL), data)
    clouds, _ = data.clouds("train")
    with torch.no_grad():
        wanted = torch.softmax(model(torch.from_numpy(clouds).flatten(end_dim=1), Batch((16,) * 24, 8)), dim=1)

    def entropy(passes: int) -> float:
        integers = network_of(model, data, 6, passes)
        values = torch.from_numpy(integers.output.number.value(logits(integers, clouds)))
        return float(-(wanted * torch.log_softmax(values, dim=1)).sum(dim=1).mean())

    before, after, further = entropy(0), entropy(1), entropy(2)
    assert after < before and further <= after


@pytest.mark.slow
def test_8_bits_on_digits() -> None:
    """A network with a graph of computed features, trained: within a point of its float accuracy."""
    found = load_graphs("digit-points")
    network = PointNetwork((Sample("nearest"), Aggregate("max", "target-relative"), Combine(32), Sample("nearest"),
                            Aggregate("mean", "source"), Combine(64)), TAIL)  # fmt: skip
    model = training.train(network, found, Recipe(15, scale=0.1, jitter=0.02), 0)
    exact = training.accuracy(model, found, "val")
    assert exact > 0.9
    assert accuracy(network_of(model, found, 8), found, "val") > exact - 0.0101
