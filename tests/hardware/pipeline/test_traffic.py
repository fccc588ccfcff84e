"""Bytes from and to main memory: the encoded regions, in the order in which the kernel reads them."""

import numpy as np
import pytest
from support import random_design, random_graph, random_network

from fgnas.design import columns_of
from fgnas.hardware.pipeline.encoding import edge_beats, encode, feature_beats, parameter_region
from fgnas.hardware.pipeline.geometry import GraphShape, geometry
from fgnas.hardware.pipeline.latency import Workload
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.pipeline.traffic import clock_mhz_of, memory_bytes


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


def test_a_slow_memory_bounds_the_clock() -> None:
    assert clock_mhz_of(1600.0) == 100.0
