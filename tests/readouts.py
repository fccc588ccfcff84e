"""Batches of graphs, and networks whose last layer is a readout."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from support import random_design, random_graph, random_network

from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.layers import ArrayNetwork, array_network
from fgnas.hardware.array.lowering import ArrayAccelerator
from fgnas.hardware.array.placing import fit
from fgnas.hardware.shape import GraphShape
from fgnas.tasks.nodes import GraphData

HIDDEN = 16
"""Hidden features."""


def batch_of(rng: np.random.Generator, sizes: list[int]) -> tuple[GraphData, np.ndarray]:
    """A random graph, and the graph of each of its nodes, in any order."""
    data = random_graph(rng, sum(sizes), 9, 4, 2 * sum(sizes))
    return data, rng.permutation(np.repeat(np.arange(len(sizes)), sizes))


def lowered(
    rng: np.random.Generator, data: GraphData, graphs: np.ndarray, attentions: tuple[str, ...],
    aggregations: tuple[str, ...],
) -> ArrayNetwork:  # fmt: skip
    """A network with room for the largest graph of a batch."""
    layers = [{"attention": attention, "aggregation": aggregation, "t_attn": None, "k": 1}
              for attention, aggregation in zip(attentions, aggregations, strict=True)]  # fmt: skip
    hidden = [layer | {"d": HIDDEN} for layer in layers[:-1]]
    design = random_design(rng, len(layers), (*hidden, layers[-1]))
    shape = GraphShape.of(data)
    most = max(shape.degree_capacity, int(np.bincount(graphs).max()))
    return array_network(design, random_network(rng, design, data), replace(shape, degree_capacity=most))


def readout_network(seed: int, aggregation: str) -> tuple[ArrayNetwork, GraphData, np.ndarray]:
    """Two layers, the last of which reduces over 3 to 12 graphs of up to 40 nodes."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 40, int(rng.integers(3, 13))).tolist()
    data, graphs = batch_of(rng, sizes)
    return lowered(rng, data, graphs, ("gcn", "constant"), ("add", aggregation)), data, graphs


def engine_for(seed: int, aggregation: str, units: int = 4, beat_bits: int = 128) -> ArrayAccelerator:
    """The network on an engine with every shift that a mean may ask for."""
    source, data, _ = readout_network(seed, aggregation)
    array = fit(source, data, Arrangement(units, (2,), beat_bits=beat_bits))
    extra = range(array.plans[1].aggregate_shift, array.plans[1].aggregate_shift + 8)
    return array.on(replace(array.engine, shifts=tuple(sorted({*array.engine.shifts, *extra}))))
