"""Readouts of a batch of graphs, as streams of the aggregation: every row of logits is a graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from readouts import HIDDEN, batch_of, engine_for, lowered, readout_network
from support import random_graph

from fgnas.errors import UserError
from fgnas.fixedpoint import Codes, shift_right_even
from fgnas.hardware import wire
from fgnas.hardware.array import reference
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.cycles import multiplications, multiplications_by_phase
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.layers import ArrayNetwork
from fgnas.hardware.array.placing import fit, readout
from fgnas.hardware.integer import interpreter
from fgnas.hardware.integer.graph import integer_graph
from fgnas.tasks.nodes import GraphData


def last_h(seed: int, aggregation: str) -> tuple[Codes, GraphData, np.ndarray]:
    """H of the last layer as the integer network has it, and the batch."""
    source, data, graphs = readout_network(seed, aggregation)
    graph = integer_graph(data, source.integers.number)
    return interpreter.values(source.integers, (graph,))["1.linear"], data, graphs


def made_of(source: ArrayNetwork, name: str, given: Codes) -> Codes:
    """The result of the step with this name for these rows, on a graph that does not matter."""
    (step,) = (one for one in source.integers.steps if one.name == name)
    graph = integer_graph(random_graph(np.random.default_rng(0), 1, 9, 4, 0), source.integers.number)
    return step.operation.run([given], graph)


@pytest.mark.parametrize("aggregation", ["add", "max"])
@pytest.mark.parametrize("seed", range(6))
def test_every_row_of_logits_is_a_graph(seed: int, aggregation: str) -> None:
    """The sum, or the largest value of each feature, over the nodes of every graph: exact."""
    source, _, _ = readout_network(seed, aggregation)
    h, data, graphs = last_h(seed, aggregation)
    encoded = encode_array(engine_for(seed, aggregation), data, (readout(data, graphs),))
    reduce = np.sum if aggregation == "add" else np.max
    total = np.stack([reduce(h[graphs == one], axis=0) for one in range(graphs.max() + 1)])
    layer = source.layers[1]
    y = shift_right_even(total, layer.aggregate_shift)
    expected = made_of(source, "1.logits", y)
    assert np.array_equal(reference.run(encoded), expected) and encoded.outputs == len(expected)
    nodes, width = data.nodes, source.layers[1].features
    assert sum(multiplications_by_phase(encoded)) == multiplications(encoded)
    needed = data.features.nnz * HIDDEN + len(data.sources) * HIDDEN + nodes * HIDDEN * width
    assert multiplications(encoded) == needed


@pytest.mark.parametrize("seed", range(6))
def test_a_mean_is_within_its_coefficients(seed: int) -> None:
    """c is 2^f / n to within a half; the sum of c h is exact, and is rounded once."""
    source, _, _ = readout_network(seed, "mean")
    h, data, graphs = last_h(seed, "mean")
    array = engine_for(seed, "mean")
    encoded = encode_array(array, data, (readout(data, graphs),))
    sizes, layer = np.bincount(graphs), source.layers[1]
    fraction = int(np.floor(np.log2(511 * sizes.min())))
    c = np.rint(2.0**fraction / sizes).astype(np.int64)
    assert c.max() >= 256 and np.all(np.abs(c / 2.0**fraction * sizes - 1) <= sizes / 2.0 ** (fraction + 1))
    total = np.stack([c[one] * h[graphs == one].sum(axis=0) for one in range(len(sizes))])
    extra = wire.LOGIT_EXTRA_BITS
    y = shift_right_even(total, fraction - extra)
    expected = source.logit_format.saturate(y + (layer.apply.bias << extra))
    assert np.array_equal(reference.run(encoded), expected)


def test_layers_behind_a_readout_have_a_row_for_each_graph() -> None:
    """The hidden rows of two graphs by hand, then a layer whose graph joins them."""
    rng = np.random.default_rng(3)
    data, graphs = batch_of(rng, [7, 12])
    source = lowered(rng, data, graphs, ("gcn", "constant", "constant"), ("add", "add", "add"))
    joined = replace(readout(data, graphs), indptr=np.array([0, 2, 3]), sources=np.array([0, 1, 0]))
    array = fit(source, data, Arrangement(4, (1, 1)))
    encoded = encode_array(array, data, (readout(data, graphs), joined))
    _, second, last = source.layers
    h = interpreter.values(source.integers, (integer_graph(data, source.integers.number),))["1.linear"]
    total = np.stack([h[graphs == one].sum(axis=0) for one in (0, 1)])
    z = made_of(source, "1.activate", shift_right_even(total, second.aggregate_shift))
    h = made_of(source, "2.linear", z)
    y = shift_right_even(np.stack([h[0] + h[1], h[0]]), last.aggregate_shift)
    assert np.array_equal(reference.run(encoded), made_of(source, "2.logits", y))


def test_what_is_no_readout_is_refused() -> None:
    rng = np.random.default_rng(4)
    data, graphs = batch_of(rng, [5, 9, 6])
    with pytest.raises(UserError, match="a graph for each of 20 nodes"):
        readout(data, graphs[1:])
    with pytest.raises(UserError, match="a node for each graph"):
        readout(data, np.where(graphs == 1, 2, graphs))
    rows = readout(data, graphs)
    weighted = lowered(rng, data, graphs, ("gcn", "gcn"), ("add", "add"))
    with pytest.raises(UserError, match="layer 1: the rows of a readout have no coefficients; choose attention const"):
        encode_array(fit(weighted, data, Arrangement(2)), data, (rows,))
    plain = lowered(rng, data, graphs, ("gcn", "constant", "constant"), ("add", "add", "add"))
    with pytest.raises(UserError, match="layer 2: its graph has a source beyond the 3 rows of the layer before"):
        encode_array(fit(plain, data, Arrangement(2, (1, 1))), data, (rows, random_graph(rng, 20, 9, 4, 10)))


def test_a_mean_of_many_needs_a_shift() -> None:
    """256 / 700 is no coefficient: an engine without the shift of another fraction says so."""
    rng = np.random.default_rng(5)
    data, graphs = batch_of(rng, [700, 640])
    source = lowered(rng, data, graphs, ("gcn", "constant"), ("add", "mean"))
    array = fit(source, data, Arrangement(4))
    plan = array.plans[1]
    wanted = plan.aggregate_shift + int(np.log2(511 * 640)) - wire.COEFFICIENT_FRACTION_BITS
    with pytest.raises(UserError, match=f"smallest graph has 640 nodes needs the shift {wanted}; the engine offers"):
        encode_array(array, data, (readout(data, graphs),))
    uneven = np.where(np.arange(len(graphs)) == 0, 0, 1)
    with pytest.raises(UserError, match="graphs of 1 and of 1339 nodes have no mean in one readout"):
        lower_again = replace(array.source, shape=replace(array.source.shape, degree_capacity=1339))
        encode_array(replace(array, source=lower_again, engine=replace(array.engine, sum_bits=40)), data,
                     (readout(data, uneven),))  # fmt: skip
    wider = array.on(replace(array.engine, shifts=(*array.engine.shifts, wanted)))
    assert encode_array(wider, data, (readout(data, graphs),)).outputs == 2
