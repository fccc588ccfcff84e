"""Networks cut between a processor and an array: where, and that both parts together are the network."""

import numpy as np
import pytest
import torch
from point_clouds import tied_clouds, warmed

from fgnas.errors import UserError
from fgnas.hardware.array import reference
from fgnas.networks.points.baselines import BASELINES
from fgnas.networks.points.operations import (
    LARGEST_WIDTH,
    TAILS,
    Aggregate,
    Combine,
    Connect,
    EdgeConv,
    Join,
    PointNetwork,
    Sample,
)
from fgnas.networks.points.training import graphs_of
from fgnas.networks.points.work import Cloud, widest
from fgnas.networks.scaled import logits
from fgnas.systems.hgnas.arrays import ArraySize
from fgnas.systems.hgnas.cuts import behind, cloud_behind, first_part, last_part, places
from fgnas.systems.hgnas.delivery import Delivered, on_array
from fgnas.systems.hgnas.space import point_space

TAIL = TAILS["small"]
CLOUD = Cloud(12, 3, 4, 3)
NEAREST, RANDOM, SKIP, LARGEST = Sample("nearest"), Sample("random"), Connect("skip"), Aggregate("max", "source")


@pytest.mark.parametrize(("operations", "wanted"), [
    ((Combine(8), Combine(8)), (0, 1, 2)),
    ((NEAREST, LARGEST, Combine(8)), (0, 2, 3)),  # the graph would cross behind its sample
    ((NEAREST, LARGEST, Combine(8), LARGEST), (0, 4)),  # the second reads the same graph
    ((NEAREST, LARGEST, NEAREST, LARGEST), (0, 2, 4)),
    ((RANDOM, LARGEST, RANDOM, LARGEST), (0, 4)),  # random graphs are numbered
    ((RANDOM, LARGEST, NEAREST, LARGEST), (0, 2, 4)),
    ((Combine(8), Combine(8), SKIP), (0, 1, 3)),  # the skip adds what was before the second
    ((NEAREST, EdgeConv(8), NEAREST, EdgeConv(8), Join()), (0, 5)),
])  # fmt: skip
def test_a_cut_lets_nothing_but_features_cross(operations, wanted):
    assert places(operations) == wanted


def test_both_parts_give_the_bits_of_the_whole():
    rng = np.random.default_rng(61_125)
    space, data = point_space(CLOUD, TAIL), tied_clouds(rng, 12, 3, 4)
    x, batch, _ = graphs_of(data, np.flatnonzero(data.val))
    networks = [space.candidate(row).network for row in space.draw(60, rng)]
    cuts = 0
    for network in (*networks, PointNetwork(BASELINES["dgcnn-fused"](), TAIL)):
        if widest(network.operations, 3) > LARGEST_WIDTH:
            continue
        model = warmed(network, data)
        with torch.no_grad():
            wanted = model(x, batch)
            for place in places(network.operations):
                rows = first_part(model, place).rows(x, batch)
                at = cloud_behind(network, CLOUD, place)
                assert rows.shape[1] == at.width
                assert torch.equal(last_part(model, place, at)(rows, batch), wanted)
                cuts += 1
    assert cuts > 150


def test_what_is_left_runs_on_an_array():
    data = tied_clouds(np.random.default_rng(2), 12, 3, 4)
    network = PointNetwork((Combine(16), NEAREST, Aggregate("max", "relative"), Combine(8), Combine(8)), TAIL)
    model = warmed(network, data)
    whole = Delivered(network, model.state_dict(), data.name, data.fingerprint, "made")
    rest, given = behind(whole, data, 3)
    there = on_array(rest, given, ArraySize(32, 128))
    clouds, _ = given.clouds("val")
    assert clouds.shape[2] == 16 and there.integers.width_in == 16
    wanted = logits(there.integers, clouds)
    codes = there.codes(clouds)
    assert np.array_equal(reference.run(there.encoded.with_clouds(codes)), wanted)
    exact = on_array(whole, data, ArraySize(32, 128))
    same, unchanged = behind(whole, data, 0)
    assert unchanged.fingerprint == data.fingerprint
    assert np.array_equal(on_array(same, unchanged, ArraySize(32, 128)).logits(data.clouds("val")[0]),
                          exact.logits(data.clouds("val")[0]))  # fmt: skip
    with pytest.raises(UserError, match="cannot be cut behind 2 operations: .* it can be behind 0, 1, 3, 4, 5"):
        behind(whole, data, 2)
