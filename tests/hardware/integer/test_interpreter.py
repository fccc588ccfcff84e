"""The interpreter against numbers made another way: a forward pass in float64, and the array's machine."""

import numpy as np
import pytest
from arrays import SCORED, SCORES_OF_ALL_KINDS, few_bits
from support import random_design, random_graph, random_network

from fgnas.design import Design
from fgnas.hardware.arithmetic import Arithmetic
from fgnas.hardware.array import reference as array
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.layers import array_network
from fgnas.hardware.array.placing import fit
from fgnas.hardware.integer import interpreter
from fgnas.hardware.integer.designs import network_of
from fgnas.hardware.integer.graph import integer_graph
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.shape import GraphShape
from fgnas.network import Network
from fgnas.networks.quantised import fake_quantised_logits
from fgnas.tasks.nodes import GraphData

ARRAY = Arithmetic(divides=False, adds_heads=True)
ATTENTIONS = [("gcn", "constant"), SCORED, SCORES_OF_ALL_KINDS]


def drawn(seed: int, attentions: tuple[str, ...], aggregations: tuple[str, ...]) -> tuple[Design, Network, GraphData]:
    """A random network of one to three layers on a small graph."""
    rng = np.random.default_rng(seed)
    data = random_graph(rng, int(rng.integers(1, 50)), int(rng.integers(3, 30)), int(rng.integers(2, 9)), 120)
    layers = 1 + seed % 3
    overrides = []
    for place in range(layers):
        attention = str(rng.choice(attentions))
        found = {"attention": attention, "aggregation": str(rng.choice(aggregations)), "k": int(rng.choice([1, 2, 4])),
                 "t_attn": 2 if attention == "gat" else None, **few_bits(attention, rng), "ai": 1, "af": 4}
        overrides.append(found | ({"d": int(rng.choice([3, 4, 8]))} if place < layers - 1 else {}))
    design = random_design(rng, layers, tuple(overrides))
    return design, random_network(rng, design, data), data


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("attentions", ATTENTIONS)
def test_a_forward_pass_in_float64_rounds_where_the_interpreter_does(attentions: tuple[str, ...], seed: int) -> None:
    """In the pipeline's arithmetic, of which every rounded number is exact in float64."""
    design, network, data = drawn(seed, attentions, ("add", "mean", "max", "mlp"))
    integers = lower(design, network, GraphShape.of(data)).integers
    wanted = fake_quantised_logits(design, network, data).numpy() * 2.0**integers.output.number.fraction_bits
    assert np.array_equal(interpreter.run(integers, [integer_graph(data, integers.number)]), wanted)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("attentions", ATTENTIONS)
def test_the_array_rounds_where_the_interpreter_does(attentions: tuple[str, ...], seed: int) -> None:
    """With means, which the array rounds into the coefficients, and heads that share a sum."""
    design, network, data = drawn(seed, attentions, ("add", "mean", "max", "mlp"))
    source = array_network(design, network, GraphShape.of(data))
    integers = network_of(design, network, data.width_in, data.classes, ARRAY)
    encoded = encode_array(fit(source, data, Arrangement(4)), data)
    assert np.array_equal(interpreter.run(integers, [integer_graph(data, integers.number)]), array.run(encoded))
