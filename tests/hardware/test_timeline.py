"""The time line of one design: it ends where the latency model says, and its rows follow from the stages."""

import numpy as np
import pytest
from support import random_design, random_graph

from fgnas.design import columns_of
from fgnas.hardware.pipeline.geometry import geometry
from fgnas.hardware.pipeline.latency import (
    FETCH_CYCLES,
    FINISH_CYCLES,
    READ_LATENCY,
    START_CYCLES,
    Workload,
    latency_cycles,
    timeline,
)
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.stage import Buffer, Stage, StageGraph
from fgnas.hardware.timeline import Phase, StageTimes, as_seen
from fgnas.hardware.timeline import timeline as phases_timeline


@pytest.mark.parametrize("seed", range(40))
def test_its_end_is_the_latency(seed: int) -> None:
    """Random designs of one to three layers: every attention, every buffer size."""
    rng = np.random.default_rng(seed)
    data = random_graph(rng, int(rng.integers(1, 60)), 9, 4, int(rng.integers(0, 300)))
    design = random_design(rng, 1 + seed % 3)
    layers, workload = geometry(columns_of([design]), GraphShape.of(data)), Workload.of(data)
    latency = int(rng.integers(1, 60))
    found = timeline(layers, workload, latency)
    assert found.cycles == latency_cycles(layers, workload, latency)[0]
    assert [phase.name for phase in found.phases] == [
        "load", *(f"phase {index}" for index in range(len(layers))), "output",
    ]  # fmt: skip


def test_phases_and_rows_follow_each_other() -> None:
    rng = np.random.default_rng(5)
    data = random_graph(rng, 50, 12, 3, 200)
    design = random_design(rng, 2, ({"attention": "gat", "t_attn": 2}, {"attention": "gat", "t_attn": 1}))
    found = timeline(geometry(columns_of([design]), GraphShape.of(data)), Workload.of(data))
    assert found.phases[0].begin == START_CYCLES
    assert found.phases[-1].end + FINISH_CYCLES == found.cycles
    for phase, following in zip(found.phases, found.phases[1:], strict=False):
        assert phase.end == following.begin
    for phase in found.phases:
        assert phase.stages[0].starts[0] == phase.begin + READ_LATENCY + FETCH_CYCLES
        for stage in phase.stages:
            assert (stage.starts[1:] >= stage.finishes[:-1]).all()
            assert stage.busy <= phase.cycles
        assert phase.busiest.busy == max(stage.busy for stage in phase.stages)
    names = [[(stage.name, stage.layer) for stage in phase.stages] for phase in found.phases]
    assert names == [
        [("load", 0)],
        [("linear", 0), ("store", 0), ("score", 0)],
        [("row maximum", 0), ("aggregate", 0), ("activate", 0), ("linear", 1), ("store", 1), ("score", 1)],
        [("row maximum", 1), ("aggregate", 1), ("head mean", 1), ("write", 1)],
    ]


def test_an_empty_graph_has_no_phases(four_nodes) -> None:
    rng = np.random.default_rng(0)
    layers = geometry(columns_of([random_design(rng, 2)]), GraphShape.of(four_nodes))
    empty = Workload(np.zeros(0, np.int64), np.zeros(0, np.int64), 2)
    found = timeline(layers, empty)
    assert found.phases == () and found.cycles == latency_cycles(layers, empty)[0]


def test_as_a_simulation_saw_it() -> None:
    """Late rows move their stage and the end of its phase; where a stage has no rows there is no time line."""
    rng = np.random.default_rng(6)
    data = random_graph(rng, 30, 12, 3, 90)
    modelled = timeline(geometry(columns_of([random_design(rng, 2)]), GraphShape.of(data)), Workload.of(data))
    begins = [phase.begin for phase in modelled.phases]
    rows = {name: stage.finishes - 1 for phase in modelled.phases for name, stage in phase.recorded.items()}
    seen = as_seen(modelled, rows, begins, modelled.cycles)
    assert seen is not None and seen.cycles == modelled.cycles
    for phase, expected in zip(seen.phases, modelled.phases, strict=True):
        assert (phase.begin, phase.end) == (expected.begin, expected.end)
        for mine, other in zip(phase.stages, expected.stages, strict=True):
            assert (mine.starts == other.starts).all() and (mine.finishes == other.finishes).all()

    late = as_seen(modelled, rows | {"2.write": rows["2.write"] + 5}, begins, modelled.cycles + 5)
    assert late is not None and late.phases[-1].end == modelled.phases[-1].end + 5
    assert (late.phases[-1].stages[-1].finishes == modelled.phases[-1].stages[-1].finishes + 5).all()
    del rows["0.store"]
    assert as_seen(modelled, rows, begins, modelled.cycles) is None
    assert as_seen(modelled, {}, begins[:-1], modelled.cycles) is None


def test_busy_share_of_equal_parts() -> None:
    """Works in cycles 2 to 6 and 6 to 7 and 9 to 10: of parts of five cycles 3, 3 and 0 cycles."""
    stage = StageTimes(Stage("linear"), 0, 1, 0, 0, np.array([2, 6, 9]), np.array([6, 7, 10]))
    assert stage.busy_share(0, 15, 3) == pytest.approx([3 / 5, 3 / 5, 0])
    assert stage.busy == 6


def test_phases_of_any_accelerator() -> None:
    """Two phases of a graph that is no pipeline of this package: a multiplier array, fed and drained, used twice."""
    feed, array = Stage("feed", per_item=lambda s: 1), Stage("array", per_row=lambda s: s["tiles"], depth=lambda s: 4)
    drain = Stage("drain it", per_row=lambda s: 2)
    double = Buffer("b", lambda s: 2)
    graph = StageGraph([feed, array, drain], {("feed", "array"): double, ("array", "drain it"): double})
    items = np.array([3, 1, 1])
    phases = [
        Phase(f"pass {number}", number, 0, graph.services([{"tiles": tiles}]), items, None, before=5, after=1)
        for number, tiles in enumerate((1, 10))
    ]
    found = phases_timeline(phases, start=2, finish=7)
    first, second = found.phases
    assert (first.begin, first.end, second.begin, found.cycles) == (2, second.begin, first.end, second.end + 7)
    assert [stage.starts.tolist() for stage in first.stages] == [[7, 10, 11], [10, 11, 17], [15, 17, 22]]
    assert first.end == 22 + 2 + 1
    # The array takes ten cycles a row: for its third row, feed waits until the array has finished the first.
    begin = second.begin + 5
    assert [(stage.starts - begin).tolist() for stage in second.stages] == [[0, 3, 13], [3, 13, 23], [17, 27, 37]]
    assert second.busiest.name == "array" and list(second.recorded) == ["1.feed", "1.array", "1.drain_it"]
