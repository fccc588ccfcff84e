"""Stage graphs: their order, their columns, their numbers, and invalid graphs."""

import networkx as nx
import numpy as np
import pytest

from fgnas.hardware.stage import Buffer, Stage, StageGraph


def rows(layer: dict) -> int:
    return layer["rows"]


@pytest.fixture
def fork() -> StageGraph:
    """read -> work -> [keep, count -> total], given in another order; count and total use a second layer."""
    stages = [
        Stage("total", 1, per_row=lambda layer: layer["tiles"]),
        Stage("keep", per_row=lambda layer: layer["tiles"]),
        Stage("count it", 1, per_item=lambda layer: layer["tiles"]),
        Stage("work", per_item=lambda layer: layer["tiles"], depth=lambda layer: 7),
        Stage("read"),
    ]
    buffers = {
        ("count it", "total"): Buffer("t", rows),
        ("work", "count it"): Buffer("c", rows),
        ("work", "keep"): Buffer("k", rows),
        ("read", "work"): Buffer("r", rows),
    }
    return StageGraph(stages, buffers)


def test_order_feeders_and_columns(fork: StageGraph) -> None:
    assert isinstance(fork.graph, nx.DiGraph)
    assert fork.order == ("read", "work", "count it", "keep", "total")
    assert fork.feeders == (-1, 0, 1, 1, 2)
    assert fork.columns == ((0,), (1,), (2, 3), (4,))
    assert [buffer and buffer.name for buffer in fork.buffers] == [None, "r", "c", "k", "t"]
    assert [stage.identifier for stage in fork.stages] == ["read", "work", "count_it", "keep", "total"]


def test_numbers_of_one_design_and_of_many(fork: StageGraph) -> None:
    """A buffer's rows are those of the layer that writes it."""
    one = fork.services([{"tiles": 3, "rows": 8}, {"tiles": 5, "rows": 2}])
    assert one.table.shape == (4, 5, 1)
    by_name = dict(zip(fork.order, one.table[:, :, 0].T.tolist(), strict=True))
    assert by_name == {
        "read": [0, 0, 0, 0], "work": [3, 0, 7, 8], "keep": [0, 3, 0, 8], "count it": [5, 0, 0, 8],
        "total": [0, 5, 0, 2],
    }  # fmt: skip
    many = fork.services([{"tiles": np.array([3, 4]), "rows": 8}, {"tiles": 5, "rows": np.array([2, 9])}])
    assert many.table[:, :, 0].tolist() == one.table[:, :, 0].tolist()
    assert many.rows[fork.order.index("total")].tolist() == [2, 9]


@pytest.mark.parametrize(
    "buffers",
    [
        {},
        {("a", "b"): Buffer("", rows), ("b", "c"): Buffer("", rows), ("a", "c"): Buffer("", rows)},
        {("a", "b"): Buffer("", rows), ("b", "a"): Buffer("", rows)},
        {("a", "b"): Buffer("", rows), ("a", "c"): Buffer("", rows), ("c", "d"): Buffer("", rows)},
    ],
    ids=["apart", "two feeders", "circle", "unknown"],
)
def test_stages_that_are_no_tree(buffers: dict) -> None:
    with pytest.raises(ValueError, match="no tree"):
        StageGraph([Stage("a"), Stage("b"), Stage("c")], buffers)


def test_items_wait_behind_the_first_stage_only() -> None:
    stages = [Stage("a"), Stage("b"), Stage("c")]
    plain, items = Buffer("", rows), Buffer("", rows, holds_items=True)
    assert StageGraph(stages, {("a", "b"): items, ("b", "c"): plain}).items_reader == 1
    assert StageGraph(stages, {("a", "b"): plain, ("b", "c"): plain}).items_reader is None
    for wrong in ({("a", "b"): plain, ("b", "c"): items}, {("a", "b"): items, ("a", "c"): items}):
        with pytest.raises(ValueError, match="only one buffer may hold items"):
            StageGraph(stages, wrong)
