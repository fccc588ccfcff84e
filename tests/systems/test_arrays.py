"""Arrays of architectures in both orders of their layers: the one with fewer cycles, in its own integers."""

from dataclasses import replace

import numpy as np
import pytest
from support import random_graph, random_network

from fgnas.design import Design
from fgnas.hardware.array.cycles import total_cycles
from fgnas.hardware.array.designs import array_of
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.engine import dsps_of
from fgnas.hardware.array.layers import array_network
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.specification import Specification
from fgnas.networks.calibration import tied
from fgnas.systems.fgnas.arrays import ArrayTarget, offered_arrays, offered_orders
from fgnas.systems.fgnas.solved import lifted
from fgnas.systems.fgnas.space import fgnas_space
from fgnas.tasks.nodes import GraphData

PLAIN = {"attention": ("gcn",), "aggregation": ("add",), "activation": ("relu",)}


def cycles_of(design: Design, data: GraphData) -> int:
    """Cycles of the project that is written."""
    network = tied(design, random_network(np.random.default_rng(0), design, data))
    return total_cycles(encode_array(array_of(array_network(design, network, GraphShape.of(data)), data), data))


def test_every_order_is_offered_once() -> None:
    assert offered_orders(1).tolist() == [[False]]
    assert offered_orders(3).tolist() == [
        [False, False, False], [False, False, True], [False, True, False], [False, True, True],
    ]  # fmt: skip


@pytest.mark.parametrize(("heads", "cycles"), [(1, [26_261, None]), (4, [52_465, 41_420]), (8, [None, 41_420])])
def test_averaged_heads_of_cora_share_what_they_gather(heads: int, cycles: list[int | None], cora: GraphData) -> None:
    """Heads over rows of 16 features, on 64 multipliers, A (X W) and (A X) W in the narrowest formats, as the projects
    have them. One head has the narrower rows; the rows of eight heads fit no table, what they gather does."""
    space = fgnas_space(2, 64).restrict(**PLAIN, k=(1, heads) if heads > 1 else (1,), d=(16,))
    target = ArrayTarget("latency_cycles", space, cora, Specification())
    row = next(row for row in target.space.draw(60, np.random.default_rng(0))
               if [layer.k for layer in target.space.design(row, 64).layers] == [1, heads])  # fmt: skip
    narrow, gathered = lifted(space, target.space, row[None]), target.solver.prices.gathered[:, 1:]
    for wanted, expected in zip((~gathered, gathered), cycles, strict=True):
        solved, kept = target.solver.with_formats(narrow, wanted)
        assert kept.tolist() == [expected is not None]
        if expected is not None:
            (design,) = target.solver.designs(solved)
            assert solved.costs["latency_cycles"][0] == cycles_of(design, cora) == expected
    chosen = target.space.design(row, 64)
    assert chosen.layers[1].gathers_first == (heads > 1)
    assert target.price(row[None])["latency_cycles"][0] == cycles_of(chosen, cora)


@pytest.mark.parametrize("cheapest", ["latency_cycles", "lut"])
def test_the_order_is_that_of_the_cheapest(cheapest: str) -> None:
    """The order is that of the cheapest of all arrays in both orders. A layer multiplies first if both cost the same,
    or if X is not narrower."""
    data = random_graph(np.random.default_rng(1), 50, 20, 9, 150)
    space = fgnas_space(2, 32).restrict(k=(1, 2, 4), d=(4, 8, 16), activation=("relu",))
    target = ArrayTarget(cheapest, space, data, Specification())
    rows = np.unique(target.space.draw(40, np.random.default_rng(2)), axis=0)
    solver, costs = target.solver, target.price(rows)
    full = solver.solved(lifted(space, target.space, rows))
    grid, runs = solver.prices.grid(full.rows)
    gathered = solver.prices.gathered[:, 1]
    orders = set()
    for place, row in enumerate(rows):
        design = target.space.design(row, 32)
        one = {name: values[:, place] for name, values in grid.items()}
        first = gathered[full.places[place]]
        assert costs[cheapest][place] == one[cheapest][full.places[place]]
        assert first == design.layers[1].gathers_first and (not first or design.layers[1].linear)
        orders.add(bool(first))
        if first and cheapest == "latency_cycles":
            kept = runs[:, place] & ~gathered & (one["tiles"] <= 8)
            assert costs[cheapest][place] < one[cheapest][kept].min()
            assert costs[cheapest][place] == cycles_of(design, data)
    assert orders == {False, True} or cheapest == "lut"


def test_pairs_of_products_are_offered_beyond_the_budget(cora: GraphData) -> None:
    """Within 16 DSPs an array has 16 multipliers, or 32 with two products in a slice: with 8 bits alone, so that wider
    formats are those of the smaller array. Prices are those of the project."""
    space = fgnas_space(2, 16).restrict(**PLAIN, k=(1,), d=(16,))
    row = ArrayTarget("latency_cycles", space, cora, Specification()).space.draw(1, np.random.default_rng(0))
    cycles = {}
    for paired, bound in ((False, None), (True, None), (True, 0.7)):
        most = None if bound is None else bound * cycles[False, None] / 100_000
        target = ArrayTarget("latency_cycles", replace(space, paired=paired), cora, Specification(latency_ms=most))
        design, costs = target.space.design(row[0], 16), target.price(row)
        assert design.array is not None and design.dsp == costs["dsp"][0] == 16
        assert (design.array.units, design.array.products) == ((2, 1) if bound is None else (4, 2))
        assert all(layer.ai + layer.af < 8 for layer in design.layers) or bound is None
        cycles[paired, bound] = costs["latency_cycles"][0]
        assert cycles[paired, bound] == cycles_of(design, cora)
        assert dsps_of(8 * design.array.units, design.array.products > 1) == 16
    assert cycles[True, 0.7] < 0.7 * cycles[False, None]


def test_pairs_are_offered_where_they_are_asked_for() -> None:
    """Within 7 DSPs no array has a DSP for each of eight multipliers; with pairs it has four."""
    space = fgnas_space(2, 7)
    plain, paired = (offered_arrays(replace(space, paired=paired), Specification()) for paired in (False, True))
    assert set(plain.products.tolist()) == {1}
    assert set(zip(paired.units.tolist(), paired.products.tolist(), strict=True)) >= {(1, 2)}
    assert all(units == 1 for units, products in zip(paired.units, paired.products, strict=True) if products == 2)


def test_what_no_array_runs_is_told_with_pairs_as_without(cora: GraphData) -> None:
    """The rule of pairs is one of some arrays alone: never the reason why none runs a network."""
    chosen = {"attention": ("gat",), "aggregation": ("mean",), "activation": ("relu",), "k": (1,), "d": (16,)}
    space = fgnas_space(2, 16).restrict(**chosen)
    told = []
    for paired in (False, True):
        target = ArrayTarget("latency_cycles", replace(space, paired=paired), cora, Specification())
        told.append(target.price(target.space.draw(4, np.random.default_rng(0)))["tiles"].tolist())
    assert told[0] == told[1]


def test_narrower_numbers_have_an_order_too() -> None:
    data = random_graph(np.random.default_rng(1), 50, 20, 9, 150)
    space = fgnas_space(2, 32).restrict(**PLAIN, k=(1, 4), d=(8,))
    target = ArrayTarget("latency_cycles", space, data, Specification())
    row = next(row for row in target.space.draw(60, np.random.default_rng(2))
               if [layer.k for layer in target.space.design(row, 32).layers] == [1, 4])  # fmt: skip
    variants = target.smaller.variants(row)
    assert variants
    for design, costs in variants[:4]:
        assert costs["latency_cycles"] == cycles_of(design, data)
