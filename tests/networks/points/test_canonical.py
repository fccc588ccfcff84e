"""The canonical form: each rule by hand, and equal outputs of random lists with the same weights."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fgnas.networks.points.canonical import canonical
from fgnas.networks.points.graphs import Batch
from fgnas.networks.points.model import PointModel
from fgnas.networks.points.operations import (
    CONNECTS,
    LARGEST_WIDTH,
    MESSAGES,
    REDUCERS,
    SAMPLES,
    Aggregate,
    Combine,
    Connect,
    Operation,
    PointNetwork,
    Sample,
    Tail,
    widths,
)

NEAREST, RANDOM = Sample("nearest"), Sample("random")
SKIP, IDENTITY = Connect("skip"), Connect("identity")
MAX = Aggregate("max", "source")
SMALL = Tail(4, (4,))


@pytest.mark.parametrize(
    "given_list, wanted",
    [
        ([], []),
        ([IDENTITY, Combine(8), IDENTITY], [Combine(8)]),
        ([SKIP, Combine(8)], [Combine(8)]),  # nothing is before it
        ([Combine(3), SKIP], [Combine(3), SKIP]),
        ([Combine(8), SKIP], [Combine(8)]),  # 3 features are not 8
        ([Combine(8), Combine(8), IDENTITY, SKIP], [Combine(8), Combine(8), SKIP]),
        ([MAX, Combine(8)], [Combine(8)]),  # no graph
        ([NEAREST, Aggregate("mean", "target")], []),
        ([NEAREST, Aggregate("sum", "target")], [NEAREST, Aggregate("sum", "target")]),
        ([NEAREST, RANDOM, MAX], [RANDOM, MAX]),
        ([NEAREST, Combine(8), RANDOM, MAX], [Combine(8), RANDOM, MAX]),
        ([NEAREST, MAX, RANDOM], [NEAREST, MAX]),
        ([NEAREST, MAX, NEAREST, MAX], [NEAREST, MAX, NEAREST, MAX]),
        ([NEAREST, IDENTITY, NEAREST, MAX], [NEAREST, MAX]),
        ([NEAREST, Aggregate("max", "target"), NEAREST, MAX], [NEAREST, MAX]),
        # A graph for an aggregate that changes nothing goes, and the skip behind it has nothing before it.
        ([RANDOM, Aggregate("min", "target"), SKIP], []),
        ([NEAREST, Aggregate("max", "distance"), Combine(1), SKIP], [NEAREST, Aggregate("max", "distance"), Combine(1),
                                                                    SKIP]),
        ([MAX, Aggregate("max", "full"), SKIP, Combine(8)], [Combine(8)]),
    ],
)  # fmt: skip
def test_rules(given_list: list[Operation], wanted: list[Operation]) -> None:
    assert list(canonical(given_list, 3)) == wanted


def test_a_graph_of_the_data_is_there_from_the_start() -> None:
    assert canonical([MAX], 3, edges=True) == (MAX,)


def operations() -> st.SearchStrategy[Operation]:
    """Any operation of the space, with small widths."""
    aggregates = st.builds(Aggregate, st.sampled_from(REDUCERS), st.sampled_from(tuple(MESSAGES)))
    return st.one_of(
        st.sampled_from([Connect(one) for one in CONNECTS]), aggregates, st.sampled_from([Combine(3), Combine(8)]),
        st.sampled_from([Sample(one) for one in SAMPLES]),
    )  # fmt: skip


@given(st.lists(operations(), max_size=12), st.booleans(), st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_outputs_are_equal(listed: list[Operation], edges: bool, seed: int) -> None:
    """A list and its canonical form with the same weights give the same bits."""
    short = canonical(listed, 3, edges)
    assert canonical(short, 3, edges) == short
    if max(widths(short, 3), default=0) > LARGEST_WIDTH:
        return
    torch.manual_seed(seed)
    after = PointModel(PointNetwork(short, SMALL), 3, 2).eval()
    combines = [place for place, one in enumerate(listed) if isinstance(one, Combine)]
    before = PointModel.__new__(PointModel)
    torch.nn.Module.__init__(before)
    before.network, before.tail = PointNetwork(tuple(listed), SMALL), after.tail
    before.layers = torch.nn.ModuleDict(zip(map(str, combines), after.layers.values(), strict=True))
    x = torch.randn(2 * 10, 3)
    links = torch.from_numpy(np.random.default_rng(seed).integers(0, 10, (2, 40)))
    batch = Batch((10, 10), 4, torch.cat([links, links + 10], dim=1) if edges else None)
    with torch.no_grad():
        assert torch.equal(before(x, batch), after(x, batch))
