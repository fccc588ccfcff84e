"""The latency model: its phases against the plain recurrence, totals by hand, and the effect of limits on them."""

import dataclasses

import numpy as np
import pytest
from support import random_design, random_graph

from fgnas.costs import violations
from fgnas.design import columns_of
from fgnas.hardware import port
from fgnas.hardware.pipeline.geometry import geometry, of_one_design
from fgnas.hardware.pipeline.latency import Workload, latency_cycles, phase_cycles
from fgnas.hardware.pipeline.pricing import Pricer
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.specification import Specification
from fgnas.hardware.stage import Services
from fgnas.systems.fgnas.space import fgnas_space


def test_a_ring_lets_a_row_in_when_it_surely_fits() -> None:
    """Capacity 4: row 3 waits for row 0, because 5 edges would be outstanding; row 4 waits for rows 1 and 2 too."""
    workload = Workload(np.ones(5, np.int64), np.array([2, 1, 2, 4, 1]), 4)
    assert workload.ring_release.tolist() == [-1, -1, -1, 0, 2]


def plain_recurrence(
    services: Services, items: np.ndarray, chosen: np.ndarray | None = None, release: np.ndarray | None = None
) -> np.ndarray:
    """A plain `recurrence_cycles`: every stage of every design, row by row, in Python integers."""
    graph = services.graph
    per_item, per_row, depth, rows = services.table if chosen is None else services.table[:, :, chosen]
    designs = np.arange(per_item.shape[1])
    finish = np.zeros((len(per_item), len(items), len(designs)), np.int64)
    for i, count in enumerate(items):
        for s, p in enumerate(graph.feeders):
            start = finish[s, i - 1] if i > 0 else np.zeros(len(designs), np.int64)
            if p >= 0:
                start = np.maximum(start, finish[p, i] + depth[p])
            elif release is not None and release[i] >= 0:
                start = np.maximum(start, finish[graph.order.index("aggregate"), release[i]])
            for q, feeder in enumerate(graph.feeders):
                if feeder == s:
                    free = np.where(i >= rows[q], finish[q, np.maximum(i - rows[q], 0), designs], 0)
                    start = np.maximum(start, free)
            finish[s, i] = start + per_item[s] * count + per_row[s]
    return finish[:, -1].max(axis=0)


def test_a_hundred_thousand_designs_against_the_plain_recurrence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hubs among rows of two edges: buffers run full and empty; the stages that the model skips must not matter."""
    rng, space = np.random.default_rng(11), fgnas_space()
    degrees = np.where(rng.random(70) < 0.1, rng.integers(20, 64, 70), rng.integers(2, 6, 70))
    workload = Workload(rng.integers(1, 30, 70), degrees, 64)
    shape = GraphShape(1433, 7, 1024, 64)
    for _ in range(10):
        layers = geometry(space.columns(space.draw(10_000, rng)), shape)
        found = latency_cycles(layers, workload)
        with monkeypatch.context() as patch:
            patch.setattr(port, "recurrence_cycles", plain_recurrence)
            assert np.array_equal(found, latency_cycles(layers, workload))


def test_arrays_equal_single_designs() -> None:
    data = random_graph(np.random.default_rng(0), 60, 30, 5, 150)
    space, pricer = fgnas_space(), Pricer(data)
    rows = space.draw(40, np.random.default_rng(1))
    together = pricer.price(space.columns(rows), 10)
    for i, row in enumerate(rows):
        alone = pricer.price(columns_of([space.design(row, 10)]), 10)
        for name, values in together.named().items():
            assert values[i] == alone.named()[name][0], name
        for phase, rates in together.peak_beats.items():
            assert rates[i] == alone.peak_beats[phase][0], phase


def test_sizes_may_be_integers() -> None:
    """The model gives a lowered design the same latency as its columns, and follows a changed size."""
    rng = np.random.default_rng(8)
    data = random_graph(rng, 60, 30, 5, 150)
    space, workload = fgnas_space(3), Workload.of(data)
    layers = geometry(space.columns(space.draw(60, rng)), GraphShape.of(data))
    together = phase_cycles(layers, workload)
    for design in range(60):
        alone = phase_cycles([of_one_design(layer, design) for layer in layers], workload)
        assert [cycles.tolist() for cycles in alone] == [[cycles[design]] for cycles in together]
    first, *others = [of_one_design(layer) for layer in layers]
    slower = dataclasses.replace(first, act_tiles=first.act_tiles + 50)
    assert latency_cycles([slower, *others], workload)[0] > latency_cycles([first, *others], workload)[0]


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
    assert violations(prices.named(), fits.bounds()) == []
    for broken in (Specification(latency_ms=(cycles - 1) / 1e5, lut=lut), Specification(cycles / 1e5, lut - 1)):
        assert not prices.feasible(broken)[0]
        assert len(violations(prices.named(), broken.bounds())) == 1


def test_a_guard_band_tightens_what_the_model_estimates_and_nothing_else() -> None:
    data = random_graph(np.random.default_rng(3), 20, 30, 5, 40)
    space = fgnas_space()
    prices = Pricer(data).price(space.columns(space.draw(1, np.random.default_rng(0))), 10)
    lut, dsp, bram36 = int(prices.lut[0]), int(prices.dsp[0]), float(prices.bram36[0])
    exact = Specification(lut=lut, dsp=dsp, bram36=bram36)
    assert prices.feasible(exact)[0]
    guarded = Specification(lut=lut, dsp=dsp, bram36=bram36, guard_band=5.0)
    assert violations(prices.named(), guarded.bounds()) == [f"lut {lut} is over {lut} less the guard band of 5 %"]
    assert prices.feasible(Specification(lut=lut * 100 // 95 + 1, dsp=dsp, bram36=bram36, guard_band=5.0))[0]
    assert violations(prices.named(), Specification(bram36=bram36 - 0.5).bounds()) != []
