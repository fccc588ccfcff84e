"""Layers that gather first: two layers of the array, and the interpreter's logits."""

import numpy as np
import pytest
from arrays import random_data
from support import Choices, random_design, random_network

from fgnas.design import Array, Design
from fgnas.designs import tables_of
from fgnas.hardware.array import reference
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.choosing import Room, arrangements, fastest, prices_of
from fgnas.hardware.array.cycles import multiplications, multiplications_by_phase, phase_names, total_cycles
from fgnas.hardware.array.designs import ArrayDesignPricer, array_of, check_arrays
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.kind import MultiplierArray
from fgnas.hardware.array.layers import array_network
from fgnas.hardware.array.placing import fit
from fgnas.hardware.array.resources import engine_resources
from fgnas.hardware.integer.quantised import integer_logits
from fgnas.hardware.shape import GraphShape
from fgnas.network import Network
from fgnas.networks.calibration import tied
from fgnas.tasks.nodes import GraphData

ROUNDING = MultiplierArray.rounding


def gathering(rng: np.random.Generator, layers: int, array: Array | None = None) -> Design:
    """A design whose last layer, and perhaps others behind the first, gather first."""
    chosen: list[Choices] = []
    for place in range(layers):
        last = place == layers - 1
        kind = {"attention": str(rng.choice(["gcn", "constant"])), "aggregation": str(rng.choice(["add", "mean"])),
                "t_attn": None, "k": int(rng.choice([1, 2, 4] if last else [1, 2]))}  # fmt: skip
        chosen.append(kind | ({} if last else {"d": int(rng.choice([3, 8, 12]))}))
    design = random_design(rng, layers, tuple(chosen))
    orders = [None, *rng.choice([None, "gather-first"], layers - 2).tolist(), "gather-first"]
    made = tuple(layer.model_copy(update={"order": order}) for layer, order in zip(design.layers, orders, strict=True))
    return Design.from_dict(design.model_copy(update={"layers": made, "array": array}).to_dict())


def drawn(seed: int, array: Array | None = None) -> tuple[Design, Network, GraphData]:
    rng = np.random.default_rng(seed)
    data, design = random_data(rng), gathering(rng, 2 + seed % 2, array)
    return design, tied(design, random_network(rng, design, data)), data


@pytest.mark.parametrize("seed", range(30))
def test_logits_are_those_of_the_interpreter(seed: int) -> None:
    """Heads that are averaged, means, and hidden layers of both orders."""
    design, network, data = drawn(seed)
    source = array_network(design, network, GraphShape.of(data))
    wanted = integer_logits(design, network, data, ROUNDING)
    units = int(np.random.default_rng(seed).choice([1, 2, 4, 6]))
    encoded = encode_array(fit(source, data, Arrangement(units)), data)
    assert np.array_equal(reference.run(encoded), wanted)
    assert sum(multiplications_by_phase(encoded)) == multiplications(encoded)


def test_the_layers_by_hand() -> None:
    """The identity and the sums, then the mean of the heads' weights."""
    design, network, data = drawn(4)
    source = array_network(design, network, GraphShape.of(data))
    first, sums, product = source.layers
    assert [layer.index for layer in source.layers] == [0, 1, 2] and product.second
    assert np.array_equal(sums.combine.weight, np.eye(sums.input_width)) and not sums.apply.bias.any()
    assert (sums.linear_shift, sums.value_format) == (0, first.apply.output)
    assert product.number == sums.apply.output
    mean = network.layers[1].weight.mean(axis=1)
    assert product.k == 1 and np.array_equal(product.combine.weight, product.weight_format.quantise(mean))
    names = phase_names(encode_array(fit(source, data, Arrangement(2)), data))
    work = [name for name in names if not name.startswith(("load", "fetch"))]
    assert work == ["combine 0", "aggregate 0", "combine 1", "aggregate 1", "second product 1", "return 1"]


@pytest.mark.parametrize("seed", range(12))
def test_prices_are_those_of_the_project(seed: int) -> None:
    """Cycles, block RAM, multiplications and bytes, before anything is lowered."""
    layers = 2 + seed % 2
    array = Array(units=4, columns=(1 + seed % 2,) * (layers - 1), beat_bits=(128, 256)[seed % 2])
    design, network, data = drawn(seed, array)
    (table,) = tables_of([design])
    assert table.array is not None
    columns = table.columns()
    check_arrays(columns, table.array, table.places)
    price = ArrayDesignPricer(data).price(columns, table.array)
    made = array_of(array_network(design, network, GraphShape.of(data)), data)
    encoded = encode_array(made, data)
    assert price.cycles[0] == total_cycles(encoded)
    assert price.multiplications[0] == multiplications(encoded)
    assert price.bram36[0] == engine_resources(made.engine)["bram36"]


def test_the_fastest_is_priced_right() -> None:
    design, network, data = drawn(6)
    source = array_network(design, network, GraphShape.of(data))
    best = fastest(source, data, Room(48))
    offered = arrangements(source, 6)
    prices = prices_of(source, (data,), offered, Room(48).beat_bits)["cycles"]
    found = [total_cycles(encode_array(fit(source, data, Arrangement(one.units, one.columns, passes=one.passes)), data))
             for one in offered[:12]]  # fmt: skip
    assert prices[:12].tolist() == found and total_cycles(encode_array(best, data)) <= min(found)
