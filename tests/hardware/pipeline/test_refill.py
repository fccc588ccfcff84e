"""Refilled regions equal encoded ones, byte by byte."""

import numpy as np
import pytest
import scipy.sparse as sp

from fgnas.design import Design
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.pipeline.encoding import edge_beats, encode, feature_beats
from fgnas.hardware.pipeline.refill import edge_refill, feature_refill
from tests.support import random_accelerator, random_design, random_graph


@pytest.mark.parametrize("t_in", range(1, 6))
def test_new_values_and_new_sources(t_in: int) -> None:
    rng = np.random.default_rng(t_in)
    data = random_graph(rng, 23, 9, 3, 60)
    drawn = random_design(rng, 1)
    design = Design(schema=1, layers=(drawn.layers[0].model_copy(update={"t_in": t_in}),), dsp=4)
    accelerator = random_accelerator(rng, design, data)
    graph = encode(accelerator, data)
    features, edges = feature_refill(accelerator, graph), edge_refill(graph)
    limits = accelerator.layers[0].input_format
    for _ in range(3):
        codes = rng.integers(limits.minimum, limits.maximum + 1, graph.features.nnz)
        sources = rng.integers(0, data.nodes, len(graph.sources))
        matrix = sp.csr_matrix((codes, graph.features.indices, graph.features.indptr), shape=graph.features.shape)
        expected = IntegerGraph(matrix, graph.indptr, sources, graph.gcn)
        np.testing.assert_array_equal(features.fill(codes), feature_beats(accelerator, expected))
        np.testing.assert_array_equal(edges.fill(sources), edge_beats(expected))
    np.testing.assert_array_equal(features.fill(graph.features.data), feature_beats(accelerator, graph))
