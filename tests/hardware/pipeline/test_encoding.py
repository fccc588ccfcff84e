"""The regions that the host sends: fields of a beat by hand, and every non-zero and edge of a random graph."""

import dataclasses

import numpy as np
import pytest
from support import plain_layer, random_accelerator, random_design, random_graph, random_network

from fgnas.design import Design
from fgnas.errors import UserError
from fgnas.hardware.integer.graph import gcn_coefficients
from fgnas.hardware.pipeline.encoding import (
    check_capacity,
    edge_beats,
    encode,
    feature_beats,
    logit_rows,
    parameter_region,
    read_logits,
    row_lengths,
)
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.shape import GraphShape
from fgnas.tasks.nodes import GraphData


def as_integers(beats: np.ndarray) -> list[int]:
    return [int.from_bytes(bytes(beat), "little") for beat in beats]


def accelerator_for(data: GraphData, seed: int = 0):
    rng = np.random.default_rng(seed)
    return random_accelerator(rng, random_design(rng, 2), data)


def test_gcn_coefficients_by_hand(four_nodes: GraphData) -> None:
    # |S| = 2, 4, 3, 1: node 0 sums nodes 0 and 1.
    expected = [256 / np.sqrt(2 * 2), 256 / np.sqrt(2 * 4)]
    assert gcn_coefficients(four_nodes)[:2].tolist() == [round(value) for value in expected]
    assert gcn_coefficients(four_nodes)[-1] == 256


def test_feature_beat_by_hand(four_nodes: GraphData) -> None:
    layers = (plain_layer(d=None, activation=None, t_act=None),)
    design = Design(schema=1, dsp=0, layers=layers)
    network = dataclasses.replace(random_network(np.random.default_rng(0), design, four_nodes), input_scale=0)
    accelerator = lower(design, network, GraphShape.of(four_nodes))
    beats = as_integers(feature_beats(accelerator, encode(accelerator, four_nodes)))
    half = 1  # one half, with one fraction bit
    assert beats[0] == 0 | half << 14 | 2 << 24 | half << 38 | 2 << 120 | 1 << 123 | 2 << 124
    assert beats[3] == 1 << 123  # a node without features: an empty beat that ends its row


def test_two_rows_in_a_beat_by_hand(four_nodes: GraphData) -> None:
    """Three lanes: row 1 begins in the last beat of row 0 and shares its own last beat with the start of row 2."""
    layers = (plain_layer(d=None, activation=None, t_act=None, t_in=3),)
    design = Design(schema=1, dsp=0, layers=layers)
    network = dataclasses.replace(random_network(np.random.default_rng(0), design, four_nodes), input_scale=0)
    accelerator = lower(design, network, GraphShape.of(four_nodes))
    graph = encode(accelerator, four_nodes)
    beats = as_integers(feature_beats(accelerator, graph))
    assert np.diff(graph.features.indptr).tolist() == [2, 2, 1, 0]
    columns, codes = graph.features.indices.tolist(), graph.features.data.tolist()
    fields = [column | code << 14 for column, code in zip(columns, codes, strict=True)]
    assert beats[0] == fields[0] | fields[1] << 24 | fields[2] << 48 | 3 << 120 | 1 << 123 | 2 << 124
    assert beats[1] == fields[3] | fields[4] << 24 | 2 << 120 | 1 << 123 | 1 << 124
    assert beats[2:] == [1 << 123, 1 << 123]


def test_every_non_zero_is_sent_once() -> None:
    data = random_graph(np.random.default_rng(1), 30, 40, 3, 60)
    accelerator = accelerator_for(data)
    graph = encode(accelerator, data)
    seen: list[tuple[int, int, int]] = []
    row = 0
    for beat in as_integers(feature_beats(accelerator, graph)):
        count, last, split = (beat >> 120) & 7, (beat >> 123) & 1, (beat >> 124) & 7
        assert split == count or (last and split < count)
        for lane in range(count):
            field = beat >> (24 * lane)
            value = (field >> 14) & 1023
            seen.append((row + (lane >= split), field & 16383, value - 1024 if value >= 512 else value))
        row += last
    matrix = graph.features.tocoo()
    assert row == data.nodes
    assert seen == list(zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True))


def test_every_edge_is_sent_once() -> None:
    data = random_graph(np.random.default_rng(2), 25, 10, 3, 50)
    accelerator = accelerator_for(data)
    graph = encode(accelerator, data)
    target, seen = 0, []
    for beat in as_integers(edge_beats(graph)):
        for lane in range(4):
            field = (beat >> (30 * lane)) & ((1 << 30) - 1)
            if target < data.nodes:
                seen.append((target, field & 0xFFFFF, (field >> 20) & 511))
                target += field >> 29
    assert seen == list(zip(data.targets.tolist(), graph.sources.tolist(), graph.gcn.tolist(), strict=True))


def test_values_that_quantise_to_zero_are_sent() -> None:
    data = random_graph(np.random.default_rng(3), 10, 200, 2, 5)
    rng = np.random.default_rng(0)
    design = random_design(rng, 2, ({"ai": 1, "af": 0},))
    accelerator = random_accelerator(rng, design, data)
    graph = encode(accelerator, data)
    assert graph.features.nnz == data.features.nnz
    assert (graph.features.data == 0).any()


def test_regions_round_trip() -> None:
    data = random_graph(np.random.default_rng(4), 9, 12, 11, 10)
    accelerator = accelerator_for(data)
    logits = np.random.default_rng(0).integers(-(1 << 15), 1 << 15, (9, 11))
    region = logit_rows(accelerator, logits)
    assert region.shape == (18, 16)
    np.testing.assert_array_equal(read_logits(accelerator, region.tobytes(), 9), logits)
    assert parameter_region(accelerator).shape == (accelerator.parameter_beats, 16)


def test_a_graph_over_capacity_is_refused() -> None:
    small, large = (random_graph(np.random.default_rng(5), nodes, 12, 3, 10) for nodes in (9, 1100))
    with pytest.raises(UserError, match="nodes is 1100, the accelerator holds 1024"):
        check_capacity(accelerator_for(small), large)


@pytest.mark.parametrize("seed", range(5))
def test_row_lengths_are_read_back_from_beats(seed: int) -> None:
    data = random_graph(np.random.default_rng(seed), 40, 17, 3, 150)
    accelerator = accelerator_for(data, seed)
    graph = encode(accelerator, data)
    non_zeros, degrees = row_lengths(feature_beats(accelerator, graph), edge_beats(graph), len(graph.sources))
    assert non_zeros.tolist() == data.non_zeros.tolist() and degrees.tolist() == data.degrees.tolist()
