"""Bytes from and to main memory: the encoded regions, in the order in which the kernel reads them."""

import json

import numpy as np
import pytest
from support import random_design, random_graph, random_network

from fgnas.design import columns_of
from fgnas.hardware.pipeline.encoding import edge_beats, encode, feature_beats, parameter_region
from fgnas.hardware.pipeline.geometry import geometry
from fgnas.hardware.pipeline.latency import Workload
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.pipeline.pricing import Pricer
from fgnas.hardware.pipeline.traffic import clock_mhz_of, memory_bytes, peak_beats, peak_rows
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.specification import Specification


@pytest.mark.parametrize("seed", range(6))
def test_traffic_is_the_size_of_the_regions(seed: int) -> None:
    """Parameters and features once, the edges in each layer's aggregation, the logits once."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 30, 20, 5, 60)
    design = random_design(rng, 2)
    accelerator = lower(design, random_network(rng, design, graph), GraphShape.of(graph))
    encoded = encode(accelerator, graph)
    regions = [parameter_region(accelerator), feature_beats(accelerator, encoded), *[edge_beats(encoded)] * 2]
    beats = sum(len(region) for region in regions) + graph.nodes * accelerator.logit_beats
    layers = geometry(columns_of([design]), GraphShape.of(graph))
    assert memory_bytes(layers, Workload.of(graph)).tolist() == [16 * beats]


def test_peak_rates_of_each_phase() -> None:
    """Phase 0 takes a beat in as many cycles as a row has tiles, an edge beat lasts four edges, heads share lanes."""
    graph = random_graph(np.random.default_rng(0), 9, 20, 7, 20)
    first = {"d": 12, "k": 1, "attention": "constant", "t_attn": None, "t_out": 5, "t_aggr": 4}
    last = {"k": 4, "attention": "gat", "t_attn": 2, "t_aggr": 2}
    design = random_design(np.random.default_rng(0), 2, (first, last))
    layers = geometry(columns_of([design]), GraphShape.of(graph))
    peaks = {name: rates.tolist() for name, rates in peak_beats(layers).items()}
    groups = int(layers[1].head_groups[0])
    expected = {"load": [1], "phase 0": [1 / 3], "phase 1": [1 / 12], "output": [1 / (4 * groups)]}
    assert peaks == expected | {"logits": [1 / int(layers[1].aggr_tiles[0])]}
    last = {"k": 1, "attention": "gcn", "t_attn": None, "t_aggr": 8}
    plain = random_design(np.random.default_rng(0), 2, (first, last))
    peaks = peak_beats(geometry(columns_of([plain]), GraphShape.of(graph)))
    assert (peaks["output"].tolist(), peaks["logits"].tolist()) == ([1 / 4], [1])


def test_the_port_is_the_last_row_of_the_peaks() -> None:
    price = {"peak_beats": {"load": 1.0, "output": 0.25, "logits": 0.5},
             "peak_mb_s": {"load": 1600.0, "output": 400.0, "logits": 800.0}, "beat_cycles": 2.0}  # fmt: skip
    labels = [("load", 1.0, 1600.0), ("output, edges read", 0.25, 400.0), ("output, logits written", 0.5, 800.0)]
    assert peak_rows(price, None) == labels
    assert peak_rows(price, 64) == [*labels, ("port of 64 bits", 0.5, 800.0)]


def test_a_slow_memory_bounds_the_clock() -> None:
    assert clock_mhz_of(1600.0) == 100.0


def test_lines_are_the_rows_as_json() -> None:
    """Broken limits, half blocks and peaks included."""
    graph = random_graph(np.random.default_rng(3), 30, 20, 5, 60)
    designs = [random_design(np.random.default_rng(seed), 2) for seed in range(20)]
    found = Pricer(graph, beat_cycles=2.0).price(columns_of(designs), 50)
    for wanted in (Specification(), Specification(latency_ms=0.05, lut=5000, clock_mhz=133.3)):
        rows = found.rows(wanted)
        assert found.lines(wanted) == [json.dumps(row, sort_keys=True, allow_nan=False) + "\n" for row in rows]
    assert {row["feasible"] for row in rows} == {True, False}
