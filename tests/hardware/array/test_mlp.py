"""Second products, of aggregation mlp: two layers of the array, the second of rows alone."""

from dataclasses import replace

import numpy as np
import pytest
from arrays import random_array, random_data, random_source_of, right, wide_choices
from support import Choices, random_design, random_graph

from fgnas.errors import UserError
from fgnas.fixedpoint import shift_right_even
from fgnas.hardware.array import reference
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.choosing import Room, fastest
from fgnas.hardware.array.cycles import multiplications, multiplications_by_phase, phase_names, total_cycles
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.layers import ArrayNetwork
from fgnas.hardware.array.lowering import unfolded
from fgnas.hardware.array.placing import alone, fit, readout
from fgnas.hardware.integer import interpreter
from fgnas.hardware.integer.graph import integer_graph
from fgnas.tasks.nodes import GraphData
from fgnas.tasks.sampling import layer_graphs

ATTENTIONS = ("constant", "gcn", "gat", "linear", "gat-sym")


def random_mlps(
    rng: np.random.Generator, layers: int, data: GraphData, attentions: tuple[str, ...] = ATTENTIONS
) -> ArrayNetwork:
    """A network one layer of which at least has the aggregation mlp; heads of its last layer are not averaged."""
    chosen: list[Choices] = []
    aggregations = ["mlp", *rng.choice(["mlp", "mlp", "add", "max"], layers - 1)]
    for place, aggregation in enumerate(rng.permutation(aggregations).tolist()):
        attention, last = str(rng.choice(attentions)), place == layers - 1
        heads = 1 if last and aggregation != "mlp" else int(rng.choice([1, 2]))
        chosen.append({"attention": attention, "aggregation": aggregation, "k": heads,
                       "t_attn": 2 if attention == "gat" else None})  # fmt: skip
        chosen[-1] |= {} if last else {"d": int(rng.choice([3, 8, 12, 16]))}
    return random_source_of(rng, random_design(rng, layers, tuple(chosen)), data)


@pytest.mark.parametrize("seed", range(40))
def test_logits_are_those_of_the_definition(seed: int) -> None:
    """One to three layers behind any attention, on 1 to 16 units in random modes."""
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    source = random_mlps(rng, 1 + seed % 3, data)
    encoded = encode_array(random_array(rng, source, data), data)
    assert np.array_equal(reference.run(encoded), right(source, data))
    if encoded.accelerator.plans[0].passes == 1:  # each pass has its share, rounded
        assert sum(multiplications_by_phase(encoded)) == multiplications(encoded)


@pytest.mark.parametrize("seed", range(12))
def test_wide_numbers_have_the_logits_of_the_definition(seed: int) -> None:
    """Both products in numbers of 11 to 16 bits; an activation behind the second has a table of ten bits or none."""
    rng = np.random.default_rng(seed)
    data, layers = random_data(rng), 1 + seed % 3
    plain = {"aggregation": "mlp", "attention": "gcn", "t_attn": None}
    chosen = tuple(plain | ({"k": 2, "d": 12} if place < layers - 1 else {"k": 2}) | wide_choices(rng)
                   for place in range(layers))  # fmt: skip
    source = random_source_of(rng, random_design(rng, layers, chosen), data)
    array = random_array(rng, source, data)
    assert array.engine.wide
    assert np.array_equal(reference.run(encode_array(array, data)), right(source, data))


def test_the_definition_by_hand() -> None:
    """relu(A X W + b), times W2, rounded and saturated, with b2 at the fraction bits of logits."""
    rng = np.random.default_rng(4)
    data = random_graph(rng, 9, 6, 3, 20)
    plain = {"attention": "constant", "aggregation": "mlp", "k": 2, "t_attn": None, "ai": 4, "af": 4,
             "wi": 2, "wf": 5}  # fmt: skip
    source = random_source_of(rng, random_design(rng, 1, (plain,)), data)
    sums, product = source.layers
    assert (sums.second, product.second) == (False, True) and source.layers[1].place == 0
    graph, value = integer_graph(data, source.integers.number), sums.value_format
    h = value.saturate(shift_right_even(np.asarray(graph.features @ sums.combine.weight), sums.linear_shift))
    gathered = np.stack([h[data.sources[data.targets == node]].sum(axis=0) for node in range(9)])
    read = np.maximum(value.saturate(gathered + sums.apply.bias), 0)
    assert read.shape == (9, 6) and product.combine.weight.shape == (6, 3)
    made = product.value_format.saturate(shift_right_even(read @ product.combine.weight, product.linear_shift))
    expected = source.logit_format.saturate((made + product.apply.bias) << 4)
    assert len(np.unique(expected)) > 5 and np.array_equal(interpreter.run(source.integers, (graph,)), expected)


def test_names_and_columns() -> None:
    """Phases have the numbers of the design's layers, and a second product as many units side by side as its sums."""
    rng = np.random.default_rng(1)
    data = random_graph(rng, 20, 9, 4, 50)
    plain = {"attention": "gcn", "t_attn": None, "k": 1, "aggregation": "mlp"}
    source = random_source_of(rng, random_design(rng, 2, (plain | {"d": 16}, plain)), data)
    array = fit(source, data, Arrangement(4, (2,)))
    assert [(plan.combine.n, plan.combine.k, plan.aggregate.n) for plan in array.plans] == [
        (2, 1, 2), (1, 2, 2), (1, 2, 1), (1, 1, 1)
    ]  # fmt: skip
    names = [name for name in phase_names(encode_array(array, data)) if not name.startswith(("load", "fetch"))]
    assert names == [f"{name} {layer}" for layer in range(2)
                     for name in ("combine", "aggregate", "second product", "return")]  # fmt: skip
    assert unfolded((False, True, False, True), [2]) == [2, 2, 1, 1]
    assert unfolded((False, False, True), [4], 2) == [4, 2, 1]
    with pytest.raises(UserError, match="columns are given for 3 layers; the network has 1 hidden ones"):
        fit(source, data, Arrangement(4, (2, 2, 1)))
    encoded = encode_array(array.on(array.engine), data)
    assert np.array_equal(reference.run(encoded), right(source, data))


def test_sampling_and_readouts() -> None:
    """Layers with graphs of their own; the rows of a second product are those of its sums."""
    rng = np.random.default_rng(6)
    data = random_graph(rng, 40, 9, 4, 200)
    plain = {"attention": "gcn", "t_attn": None, "k": 1, "aggregation": "mlp"}
    source = random_source_of(rng, random_design(rng, 2, (plain | {"d": 12}, plain)), data)
    first, *further = layer_graphs(data, (0.5, 0.1))
    encoded = encode_array(fit(source, first, Arrangement(6, (2,)), further), first, further)
    graphs = [integer_graph(one, source.integers.number) for one in (first, *further)]
    expected = interpreter.run(source.integers, graphs)
    assert np.array_equal(reference.run(encoded), expected)
    assert not np.array_equal(expected, right(source, data))
    assert alone(data).sources.tolist() == list(range(40)) and set(alone(data).degrees) == {1}
    # Two graphs of twenty nodes are two rows, which pass their second product.
    sums = random_source_of(rng, random_design(rng, 2, (plain | {"d": 12}, plain | {"attention": "constant"})), data)
    two = readout(data, np.arange(40) // 20)
    large = replace(sums, shape=replace(sums.shape, degree_capacity=32))
    encoded = encode_array(fit(large, data, Arrangement(4, (1,)), (two,)), data, (two,))
    assert encoded.outputs == 2 and reference.run(encoded).shape == (2, 4)


def test_the_fastest_is_found_and_priced_right() -> None:
    rng = np.random.default_rng(3)
    data = random_graph(rng, 60, 20, 5, 200)
    plain = {"attention": "gcn", "t_attn": None, "k": 1, "aggregation": "mlp"}
    source = random_source_of(rng, random_design(rng, 2, (plain | {"d": 16}, plain)), data)
    best = fastest(source, data, Room(48))
    cycles = total_cycles(encode_array(best, data))
    others = [fit(source, data, Arrangement(units, (n,))) for units in (2, 4, 6) for n in (1, 2) if units % n == 0]
    assert cycles <= min(total_cycles(encode_array(one, data)) for one in others)
    encoded = encode_array(best, data)
    assert np.array_equal(reference.run(encoded), right(source, data))
