"""The latency model: the compiled recurrence against a plain one, and totals against counts by hand."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support import random_design, random_graph

from fgnas.hardware.geometry import GraphShape, geometry
from fgnas.hardware.latency import Workload, latency_cycles, pipeline_cycles
from fgnas.hardware.pricing import Pricer, Specification
from fgnas.space import columns_of, fgnas_space


def plain_recurrence(per_edge: list, per_row: list, depth: list, rows: list, degrees: list) -> int:
    """start_s(i) = max(finish_s(i-1), finish_{s-1}(i) + depth_{s-1}, finish_{s+1}(i - rows_s)), word for word."""
    stages = len(per_edge)
    finish = {}
    for i, degree in enumerate(degrees):
        for s in range(stages):
            earlier = [0]
            if i > 0:
                earlier.append(finish[s, i - 1])
            if s > 0:
                earlier.append(finish[s - 1, i] + depth[s - 1])
            if s + 1 < stages and i >= rows[s]:
                earlier.append(finish[s + 1, i - rows[s]])
            finish[s, i] = max(earlier) + per_edge[s] * degree + per_row[s]
    return finish[stages - 1, len(degrees) - 1]


def test_one_stage_is_a_sum() -> None:
    degrees = np.array([3, 1, 5])
    column = np.array([[2]])
    assert pipeline_cycles(column, column, column, column, degrees).tolist() == [2 * 9 + 2 * 3]


def test_a_short_buffer_holds_a_fast_stage_back() -> None:
    """One row of buffer: the first stage may start row i only when the second has finished row i - 1."""
    per_edge, per_row = np.array([[0], [0]]), np.array([[1], [10]])
    depth, degrees = np.array([[2], [0]]), np.ones(3, np.int64)
    deep, short = (pipeline_cycles(per_edge, per_row, depth, np.array([[r], [1]]), degrees)[0] for r in (32, 1))
    assert deep == 1 + 2 + 3 * 10
    assert short == 3 * (1 + 2 + 10)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_compiled_against_plain(data: st.DataObject) -> None:
    stages = data.draw(st.integers(1, 4))
    column = lambda low, high: data.draw(st.lists(st.integers(low, high), min_size=stages, max_size=stages))  # noqa: E731
    tables = column(0, 5), column(0, 9), column(0, 12), column(1, 4)
    degrees = data.draw(st.lists(st.integers(1, 30), min_size=1, max_size=25))
    arrays = [np.array([[value] for value in table]) for table in tables]
    assert pipeline_cycles(*arrays, np.array(degrees)).tolist() == [plain_recurrence(*tables, degrees)]


def test_arrays_equal_single_designs() -> None:
    data = random_graph(np.random.default_rng(0), 60, 30, 5, 150)
    space, pricer = fgnas_space().restrict(attention=("constant", "gcn")), Pricer(data)
    rows = space.draw(40, np.random.default_rng(1))
    together = pricer.price(space.columns(rows), 10)
    for i, row in enumerate(rows):
        alone = pricer.price(columns_of([space.design(row, 10)]), 10)
        for name, values in vars(together).items():
            assert values[i] == getattr(alone, name)[0], name


def test_more_lanes_are_never_slower() -> None:
    rng = np.random.default_rng(2)
    data = random_graph(rng, 80, 50, 6, 300)
    shape, workload = GraphShape.of(data), Workload.of(data)
    for _ in range(20):
        narrow = {"t_in": 1, "t_out": 1, "t_aggr": 1}
        slow = random_design(rng, 2, (narrow | {"t_act": 1}, narrow))
        wide = {"t_in": 5, "t_out": 4, "t_aggr": 8}
        layers = [slow.layers[0].model_copy(update=wide | {"t_act": 4}), slow.layers[1].model_copy(update=wide)]
        fast = slow.model_copy(update={"layers": tuple(layers)})
        cycles = [latency_cycles(geometry(columns_of([d]), shape), workload)[0] for d in (slow, fast)]
        assert cycles[1] <= cycles[0]


def test_every_constraint_counts() -> None:
    data = random_graph(np.random.default_rng(3), 20, 30, 5, 40)
    space = fgnas_space()
    prices = Pricer(data).price(space.columns(space.draw(3, np.random.default_rng(0))), 10)
    cycles, lut = int(prices.latency_cycles[0]), int(prices.lut[0])
    fits = Specification(latency_ms=cycles / 1e5, lut=lut, clock_mhz=100.0)
    assert prices.feasible(fits)[0]
    assert prices.violations(fits) == []
    for broken in (Specification(latency_ms=(cycles - 1) / 1e5, lut=lut), Specification(cycles / 1e5, lut - 1)):
        assert not prices.feasible(broken)[0]
        assert len(prices.violations(broken)) == 1
