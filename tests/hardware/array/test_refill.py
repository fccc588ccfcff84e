"""Refilled streams equal encoded ones, byte by byte."""

from dataclasses import replace

import numpy as np
import pytest
from arrays import random_array, random_source
from support import random_graph

from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.refill import edge_refill, feature_refill


@pytest.mark.parametrize("seed", range(20))
def test_new_values_and_new_sources(seed: int) -> None:
    """Features and edges of the first layer are refilled; the graphs of further layers stay. Layers have sums or
    maxima, arrays any mode and any port."""
    rng = np.random.default_rng(seed)
    data = random_graph(rng, int(rng.integers(1, 40)), 9, 5, 60)
    source = random_source(rng, 1 + seed % 3, data, attentions=("constant",))
    accelerator = random_array(rng, source, data)
    further = (data,) * (len(source.layers) - 1)
    encoded = encode_array(accelerator, data, further)
    features, edges = feature_refill(encoded), edge_refill(encoded)
    limits = source.integers.number
    for _ in range(2):
        codes = rng.integers(limits.minimum, limits.maximum + 1, data.features.nnz)
        sources = rng.integers(0, data.nodes, len(data.sources))
        new = replace(data, features=data.features.copy(), sources=sources)
        new.features.data = limits.value(codes).astype(np.float32)
        wanted = encode_array(accelerator, new, further)
        np.testing.assert_array_equal(features.fill(codes), wanted.regions["features"])
        np.testing.assert_array_equal(edges.fill(sources), wanted.regions["edges"])
