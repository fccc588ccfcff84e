"""The bounds of an accelerator: a graph of four nodes by hand, then no design is faster than its bound."""

import numpy as np
import pytest
from support import plain_layer, random_design, random_graph

from fgnas.design import Design, columns_of
from fgnas.hardware.pipeline.efficiency import multiplications, multipliers, phases, tile_bound, unrounded_bound
from fgnas.hardware.pipeline.geometry import LayerGeometry, geometry
from fgnas.hardware.pipeline.latency import Workload, latency_cycles, phase_cycles
from fgnas.hardware.shape import GraphShape
from fgnas.tasks.nodes import GraphData


def layers_of(design: Design, data: GraphData) -> list[LayerGeometry]:
    return geometry(columns_of([design]), GraphShape.of(data))


def by_stage(data: GraphData, design: Design) -> dict[str, dict[str, tuple[float, float]]]:
    found = phases(layers_of(design, data), Workload.of(data))
    return {phase.name: {work.stage: (work.tiles, work.unrounded) for work in phase.stages} for phase in found}


def test_four_nodes_by_hand(four_nodes: GraphData) -> None:
    """5 non-zeros of 3 columns, 4 nodes, 10 edges, 2 classes; 3 features on 2 lanes leave half a tile empty."""
    assert (four_nodes.non_zeros.sum(), four_nodes.degrees.sum(), four_nodes.classes) == (5, 10, 2)
    hidden = plain_layer(d=3, attention="gcn", t_in=2, t_out=2, t_aggr=2, t_act=1)
    last = plain_layer(d=None, activation=None, t_act=None, t_in=2, t_aggr=1)
    design = Design(schema=1, dsp=0, layers=(hidden, last))
    assert by_stage(four_nodes, design) == {
        "load": {"load": (10, 10)},  # weights 3 columns * 2 tiles / 2 and 2 groups * 1 tile; biases 3 and 2
        "phase 0": {"linear(0)": (5 / 2 * 2, 5 * 3 / 4), "store(0)": (8, 6)},
        "phase 1": {"aggregate(0)": (20, 15), "activate(0)": (12, 12), "linear(1)": (8, 6), "store(1)": (4, 4)},
        "output": {"aggregate(1)": (20, 20), "head mean(1)": (8, 8), "write(1)": (4, 1)},
    }
    layers = layers_of(design, four_nodes)
    found = phases(layers, Workload.of(four_nodes))
    assert [phase.busiest.stage for phase in found] == ["load", "store(0)", "aggregate(0)", "aggregate(1)"]
    assert tile_bound(found) == 10 + 8 + 20 + 20
    assert unrounded_bound(found) == 10 + 6 + 15 + 20
    assert multipliers(layers) == (4 + 2) + 4
    # Non-zeros and edges times 3 features, then 4 * 3 inputs times 2 classes; the last layer's messages are plain.
    assert multiplications(layers, Workload.of(four_nodes)) == 5 * 3 + 10 * 3 + 4 * 3 * 2


def test_attention_by_hand(four_nodes: GraphData) -> None:
    """Two heads of 4 side by side in 8 lanes: one group of heads; scores take 2 tiles of 2 a head and vector."""
    gat = plain_layer(d=4, k=2, attention="gat", t_attn=2, t_aggr=8)
    design = Design(schema=1, dsp=0, layers=(gat, plain_layer(d=None, activation=None, t_act=None)))
    found = by_stage(four_nodes, design)
    assert found["phase 0"]["score(0)"] == (4 * 2 * 2 * 2, 4 * 2 * 2 * 2)
    assert found["phase 1"]["row maximum(0)"] == (10, 10)
    assert found["phase 1"]["aggregate(0)"] == (10, 10)
    layers = layers_of(design, four_nodes)
    assert multipliers(layers) == (4 + 8 + 2) + 4
    assert multiplications(layers, Workload.of(four_nodes)) == 5 * 8 + 2 * 4 * 8 + 10 * 8 + 4 * 8 * 2


def test_two_layers_of_16_on_cora(cora: GraphData) -> None:
    """The 1.4 million multiplications of a two-layer gcn."""
    layers = (plain_layer(d=16, attention="gcn"), plain_layer(d=None, attention="gcn", activation=None, t_act=None))
    found = multiplications(layers_of(Design(schema=1, dsp=0, layers=layers), cora), Workload.of(cora))
    assert found == 49_216 * 16 + 13_264 * 16 + 2708 * 16 * 7 + 13_264 * 7


@pytest.mark.parametrize("seed", range(40))
def test_no_design_undercuts_its_bound(seed: int) -> None:
    """Phase by phase, and no unrounded bound is above the rounded one."""
    rng = np.random.default_rng(seed)
    data = random_graph(rng, int(rng.integers(1, 60)), 14, 5, 60)
    design = random_design(rng, 1 + seed % 3)
    layers, workload = layers_of(design, data), Workload.of(data)
    cycles = phase_cycles(layers, workload)
    found = phases(layers, workload)
    assert len(cycles) == len(found) == 2 + len(design.layers)
    for phase, taken in zip(found, cycles, strict=True):
        assert phase.busiest.tiles <= taken
        assert all(work.unrounded <= work.tiles for work in phase.stages)
    assert sum(int(taken[0]) for taken in cycles) == latency_cycles(layers, workload)[0]
