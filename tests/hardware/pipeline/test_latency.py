"""The latency model: the compiled recurrence against a plain one, and totals against counts by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import random_design, random_graph

from fgnas.hardware.pipeline import latency
from fgnas.hardware.pipeline.geometry import GraphShape, geometry
from fgnas.hardware.pipeline.latency import Stage, Workload, latency_cycles, pipeline_cycles
from fgnas.hardware.pipeline.pricing import Pricer, Specification
from fgnas.space import columns_of, fgnas_space


def plain_recurrence(stages: list[tuple[int, int, int, int, int]], weights: list, release: list) -> int:
    """The recurrence of the module's docstring, word for word; a stage is (per_edge, per_row, depth, rows, before)."""
    finish = {}
    for i, weight in enumerate(weights):
        for s, (per_edge, per_row, _, _, before) in enumerate(stages):
            earlier = [0]
            if i > 0:
                earlier.append(finish[s, i - 1])
            if before >= 0:
                earlier.append(finish[before, i] + stages[before][2])
            if s == 0 and release[i] >= 0:
                earlier.append(finish[1, release[i]])
            for q, (_, _, _, rows, feeds) in enumerate(stages):
                if feeds == s and i >= rows:
                    earlier.append(finish[q, i - rows])
            finish[s, i] = max(earlier) + per_edge * weight + per_row
    return max(finish[s, len(weights) - 1] for s in range(len(stages)))


def stage(per_edge: int, per_row: int, depth: int, rows: int, before: int) -> Stage:
    return Stage(*(np.array([value]) for value in (per_edge, per_row, depth, rows)), before)


def test_one_stage_is_a_sum() -> None:
    assert pipeline_cycles([stage(2, 2, 2, 1, -1)], np.array([3, 1, 5])).tolist() == [2 * 9 + 2 * 3]


def test_a_short_buffer_holds_a_fast_stage_back() -> None:
    """One row of buffer: the first stage may start row i only when the second has finished row i - 1."""
    weights = np.ones(3, np.int64)
    deep, short = (pipeline_cycles([stage(0, 1, 2, 1, -1), stage(0, 10, 0, rows, 0)], weights)[0] for rows in (32, 1))
    assert deep == 1 + 2 + 3 * 10
    assert short == 3 * (1 + 2 + 10)


def test_a_ring_lets_a_row_in_when_it_surely_fits() -> None:
    """Capacity 4: row 3 waits for row 0, whose edges would leave 5 outstanding; row 4 for row 1 and 2 as well."""
    workload = Workload(np.ones(5, np.int64), np.array([2, 1, 2, 4, 1]), 4)
    assert workload.ring_release.tolist() == [-1, -1, -1, 0, 2]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_compiled_against_plain(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 5))
    small = [st.integers(0, 5), st.integers(0, 9), st.integers(0, 12), st.integers(1, 4)]
    shapes = [tuple(data.draw(kind) for kind in small) for _ in range(count)]
    before = [-1, *(data.draw(st.integers(max(0, s - 2), s - 1)) for s in range(1, count))]
    stages = [(*shape, b) for shape, b in zip(shapes, before, strict=True)]
    degrees = data.draw(st.lists(st.integers(1, 30), min_size=1, max_size=25))
    release = Workload(np.array(degrees), np.array(degrees), 32).ring_release if data.draw(st.booleans()) else None
    plain = plain_recurrence(stages, degrees, release.tolist() if release is not None else [-1] * len(degrees))
    assert pipeline_cycles([stage(*s) for s in stages], np.array(degrees), None, release).tolist() == [plain]


def test_counts_that_float32_does_not_hold_are_exact() -> None:
    """Odd counts above 2**24, in one array with small ones."""
    weights = np.array([3, 1, 7, 2, 5])
    for scale in (1, 1_000_004):
        columns = [(scale, 1, 4, 1, -1), (0, 2 * scale, 1, 2, 0), (0, 3 * scale + 1, 0, 2, 1)]
        expected = plain_recurrence(columns, weights.tolist(), [-1] * 5)
        stages = [
            Stage(np.array([1, edge]), np.array([2, row]), np.array([depth, depth]), np.array([rows, rows]), before)
            for edge, row, depth, rows, before in columns
        ]
        assert pipeline_cycles(stages, weights)[1] == expected
    assert expected > 1 << 24 and expected % 2 == 1


def plain_pipeline(
    stages: list[Stage], weights: np.ndarray, chosen: np.ndarray | None = None, release: np.ndarray | None = None
) -> np.ndarray:
    """`pipeline_cycles` word for word, in whole numbers: every stage, row after row, no design left out."""
    chosen = np.ones(len(stages[0].per_edge), bool) if chosen is None else chosen
    rows = [stage.rows[chosen] for stage in stages]
    designs = np.arange(len(rows[0]))
    finish = np.zeros((len(stages), len(weights), len(designs)), np.int64)
    for i, weight in enumerate(weights):
        for s, stage in enumerate(stages):
            start = finish[s, i - 1] if i > 0 else np.zeros(len(designs), np.int64)
            if stage.before >= 0:
                start = np.maximum(start, finish[stage.before, i] + stages[stage.before].depth[chosen])
            if s == 0 and release is not None and release[i] >= 0:
                start = np.maximum(start, finish[1, release[i]])
            for q, reader in enumerate(stages):
                if reader.before == s:
                    free = np.where(i >= rows[q], finish[q, np.maximum(i - rows[q], 0), designs], 0)
                    start = np.maximum(start, free)
            finish[s, i] = start + stage.per_edge[chosen] * weight + stage.per_row[chosen]
    return finish[:, -1].max(axis=0)


def test_a_hundred_thousand_designs_against_the_plain_recurrence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hubs among rows of two edges: buffers run full and empty, and stages that are left out must not matter."""
    rng, space = np.random.default_rng(11), fgnas_space()
    degrees = np.where(rng.random(70) < 0.1, rng.integers(20, 64, 70), rng.integers(2, 6, 70))
    workload = Workload(rng.integers(1, 30, 70), degrees, 64)
    shape = GraphShape(1433, 7, 1024, 64)
    for _ in range(10):
        layers = geometry(space.columns(space.draw(10_000, rng)), shape)
        found = latency_cycles(layers, workload)
        with monkeypatch.context() as patch:
            patch.setattr(latency, "pipeline_cycles", plain_pipeline)
            assert np.array_equal(found, latency_cycles(layers, workload))


def test_arrays_equal_single_designs() -> None:
    data = random_graph(np.random.default_rng(0), 60, 30, 5, 150)
    space, pricer = fgnas_space(), Pricer(data)
    rows = space.draw(40, np.random.default_rng(1))
    together = pricer.price(space.columns(rows), 10)
    for i, row in enumerate(rows):
        alone = pricer.price(columns_of([space.design(row, 10)]), 10)
        for name, values in vars(together).items():
            assert values[i] == getattr(alone, name)[0], name


def test_the_first_phase_in_closed_form_is_the_recurrence() -> None:
    """Wide rows in a buffer of two: short rows make linear wait for store, and the closed form must not be used."""
    rng = np.random.default_rng(5)
    space = fgnas_space().restrict(attention=("constant", "gcn"))
    data = random_graph(rng, 40, 14, 5, 60)
    shape, workload = GraphShape.of(data), Workload.of(data)
    layer = geometry(space.columns(space.draw(300, rng)), shape)[0]
    phase = latency._first_phase(layer, workload)
    for i in range(300):
        beats = workload.row_beats(int(layer.t_in[i])).tolist()
        linear = (int(layer.out_tiles[i]), 0, latency.LINEAR_DEPTH, 1, -1)
        store = (0, int(layer.h_words[i]), 0, int(layer.store_rows[i]), 0)
        assert phase[i] == plain_recurrence([linear, store], beats, [-1] * len(beats))


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


def test_a_guard_band_tightens_what_the_model_estimates_and_nothing_else() -> None:
    data = random_graph(np.random.default_rng(3), 20, 30, 5, 40)
    space = fgnas_space()
    prices = Pricer(data).price(space.columns(space.draw(1, np.random.default_rng(0))), 10)
    lut, dsp, bram36 = int(prices.lut[0]), int(prices.dsp[0]), float(prices.bram36[0])
    exact = Specification(lut=lut, dsp=dsp, bram36=bram36)
    assert prices.feasible(exact)[0]
    guarded = Specification(lut=lut, dsp=dsp, bram36=bram36, guard_band=5.0)
    assert prices.violations(guarded) == [f"lut {lut} is over {lut} less the guard band of 5 %"]
    assert prices.feasible(Specification(lut=lut * 100 // 95 + 1, dsp=dsp, bram36=bram36, guard_band=5.0))[0]
    assert prices.violations(Specification(bram36=bram36 - 0.5)) != []
