"""Gather: the reductions of a row's messages, by hand, one number at a time, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from support import random_design, random_graph

from fgnas.design import Design
from fgnas.errors import UserError
from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.integer.attend import Attend
from fgnas.hardware.integer.gather import Gather, Reduction
from fgnas.hardware.integer.graph import IntegerGraph, integer_graph
from fgnas.hardware.integer.scores.heads import dots
from fgnas.hardware.integer.tables import exponentials

PYTHON = {"add": sum, "max": max, "min": min}
"""Functions of Python that compute each reduction on a list of integers."""


def graph_of(*neighbours: list[int]) -> IntegerGraph:
    """Rows that receive from these rows, with the coefficient 256."""
    sources = np.concatenate([np.array(one, np.int64) for one in neighbours])
    indptr = np.cumsum([0, *map(len, neighbours)])
    features = sp.csr_matrix((len(neighbours), 1), dtype=np.int64)
    return IntegerGraph(features, indptr, sources, np.full(len(sources), 256))


def test_reductions_by_hand() -> None:
    """Row 0 receives from all three, row 1 from itself, row 2 from the first twice."""
    graph, h = graph_of([0, 1, 2], [1], [0, 0]), np.array([[3, -5], [-7, 4], [2, 2]])
    assert Gather("min").run([h], graph).tolist() == [[-7, -5], [-7, 4], [3, -5]]
    assert Gather("max").run([h], graph).tolist() == [[3, 4], [-7, 4], [3, -5]]
    assert Gather("add").run([h], graph).tolist() == [[-2, 1], [-7, 4], [6, -10]]
    # Messages have eight fraction bits; nine are dropped: 3.5 is a tie, which goes to the even 4, and -2.5 to -2.
    assert Gather("min", gcn=True, shift=9).run([h], graph).tolist() == [[-4, -2], [-4, 2], [2, -2]]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from(sorted(PYTHON)), st.booleans(), st.integers(1, 12))
def test_reductions_one_number_at_a_time(seed: int, reduce: Reduction, gcn: bool, nodes: int) -> None:
    rng = np.random.default_rng(seed)
    graph = integer_graph(random_graph(rng, nodes, 3, 2, 3 * nodes), FixedPoint(6, 2))
    h = rng.integers(-32, 32, (nodes, 5))
    found = Gather(reduce, gcn).run([h], graph)
    for row, (first, end) in enumerate(zip(graph.indptr, graph.indptr[1:], strict=False)):
        c = graph.gcn[first:end] if gcn else np.ones(end - first, np.int64)
        messages = (c[:, None] * h[graph.sources[first:end]]).T.tolist()
        assert found[row].tolist() == [PYTHON[reduce](one) for one in messages]


@pytest.mark.parametrize("seed", range(5))
def test_the_smallest_weighted_message_is_divided(seed: int) -> None:
    """Attend reduces as Gather does: the smallest is that of the rows' negatives, turned."""
    rng = np.random.default_rng(seed)
    graph = integer_graph(random_graph(rng, 9, 3, 2, 30), FixedPoint(6, 2))
    h, table = rng.integers(-30, 31, (9, 4)), exponentials(2, 40)
    scores = 5 * dots(h, np.ones((2, 2), np.int64))[graph.sources]
    smallest = Attend(table, "min", shift=-3).run([h, scores], graph)
    assert np.array_equal(smallest, -Attend(table, "max", shift=-3).run([-h, scores], graph))


def test_an_extreme_has_no_mean() -> None:
    for reduce in ("max", "min"):
        with pytest.raises(ValueError, match=f"a {reduce}imum has no mean and shares no sum"):
            Gather(reduce, mean="divided")
        with pytest.raises(ValueError, match=f"a {reduce}imum has no mean and shares no sum"):
            Gather(reduce, heads=2)


def test_no_design_asks_hardware_for_a_minimum() -> None:
    """A file is refused in one line, which says what there is."""
    content = random_design(np.random.default_rng(0), 1).to_dict()
    content["layers"][0]["aggregation"] = "min"
    with pytest.raises(UserError, match="0.aggregation: .*'add', 'mean', 'max' or 'mlp'") as caught:
        Design.from_dict(content, "a design")
    assert "\n" not in str(caught.value)
