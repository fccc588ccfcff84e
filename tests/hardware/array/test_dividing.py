"""Designs that their array does not hold whole: how they are divided, and that prices are those of what is written."""

from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from arrays import right
from support import random_design, random_graph, random_network

from fgnas.backends.array import price
from fgnas.design import Array, Design
from fgnas.designs import tables_of
from fgnas.errors import UserError
from fgnas.hardware.array import reference
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.cycles import total_cycles
from fgnas.hardware.array.designs import ArrayDesignPricer, ArrayDesignPrices, array_of, check_arrays
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.layers import ArrayNetwork, array_network
from fgnas.hardware.array.lowering import ArrayAccelerator
from fgnas.hardware.array.placing import fit
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.specification import Specification
from fgnas.networks.calibration import tied
from fgnas.tasks.nodes import GraphData
from fgnas.tasks.sampling import layer_graphs

GCN = {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1, "ai": 3, "af": 4, "wi": 1, "wf": 6}
MAX = GCN | {"aggregation": "max"}


def design_of(*layers: dict[str, Any], sampling: tuple[float, ...] | None = None, **array: Any) -> Design:
    """A design with an array: by default of 8 units side by side for no column, behind 256 bits."""
    plain = {"units": 8, "columns": (1,) * (len(layers) - 1), "beat_bits": 256}
    found = random_design(np.random.default_rng(0), len(layers), layers)
    return found.model_copy(update={"array": Array.model_validate(plain | array), "sampling": sampling})


def lowered(design: Design, data: GraphData) -> ArrayNetwork:
    rng = np.random.default_rng(1)
    return array_network(design, tied(design, random_network(rng, design, data)), GraphShape.of(data), data.name)


def made(design: Design, data: GraphData) -> tuple[ArrayAccelerator, dict[str, Any]]:
    """A design's own array, of which cycles, block RAM and bytes are those of its price, and the price."""
    (table,) = tables_of([design])
    columns = table.columns()
    assert table.array is not None
    check_arrays(columns, table.array, table.places)
    prices = ArrayDesignPricer(data).price(columns, table.array, table.sampling)
    (row,) = ArrayDesignPrices(prices, table.array.beat_bits).rows(Specification())
    first, *further = layer_graphs(data, design.rates)
    source = lowered(design, data)
    if not row["feasible"]:
        with pytest.raises(UserError):
            array_of(source, first, further)
        raise UserError("; ".join(row["violations"]))
    array = array_of(source, first, further)
    encoded = encode_array(array, first, further)
    written = price(encoded, Specification())
    # Where messages have scores, the scale of the values decides whether exponentials take block RAM.
    scored = any(layer.attends for layer in design.layers)
    for name in ("latency_cycles", "dsp", "multiplications", *(() if scored else ("bram36",))):
        assert row[name] == written[name], name
    assert row["memory_bytes"] == encoded.bytes_read + encoded.bytes_written
    assert len(encoded.programme) <= prices.descriptors[0]
    return array, row


def division(array: ArrayAccelerator) -> tuple[int, int, int]:
    first = array.plans[0]
    return first.passes, first.slices, first.blocks


def assert_right(array: ArrayAccelerator, data: GraphData) -> None:
    wanted = right(array.source, data)
    assert np.array_equal(reference.run(encode_array(array, data)), wanted)


def test_what_fits_stays_whole_by_hand() -> None:
    """16 features are two words: 2 * 30 words of W, 2 * 800 of H and 16 of the second W fit; the engine is `fit`'s."""
    data = random_graph(np.random.default_rng(0), 800, 30, 5, 900)
    design = design_of(GCN | {"d": 16}, GCN)
    array, _ = made(design, data)
    assert division(array) == (1, 1, 1)
    assert array.engine == fit(lowered(design, data), data, Arrangement(8, (1,), beat_bits=256)).engine


@pytest.mark.parametrize("aggregation", ["add", "max", "mean"])
def test_many_nodes_come_in_blocks_by_hand(aggregation: str) -> None:
    """20,000 rows of a word, 2,500 of each group: 16,384 words hold 2,500 / 2 of each, not 2,500; W takes 38, with a
    least row 39, and H begins in the first bank behind them."""
    data = random_graph(np.random.default_rng(0), 20_000, 30, 5, 30_000)
    layer = GCN | {"aggregation": aggregation, "attention": "constant"}
    array, _ = made(design_of(layer | {"d": 8}, layer), data)
    assert division(array) == (1, 1, 2)
    assert array.results_base - array.least_base == int(aggregation == "max")
    assert array.results_base == 40 and array.engine.table_words == 10_240
    if aggregation != "mean":
        assert_right(array, data)


def test_wide_rows_come_in_slices_by_hand() -> None:
    """W of 17,000 rows of a word: two slices of 8,500, beside 20 rows of H."""
    data = random_graph(np.random.default_rng(0), 20, 17_000, 5, 30)
    array, _ = made(design_of(GCN | {"d": 8}, GCN), data)
    assert division(array) == (1, 2, 1) and array.results_base == 8_500 + 8
    assert_right(array, data)


def test_a_row_beyond_a_unit_comes_in_passes_by_hand() -> None:
    """80 features are ten words, of which a unit holds eight: two passes of five."""
    data = random_graph(np.random.default_rng(0), 50, 30, 5, 90)
    array, _ = made(design_of(GCN | {"d": 80}, GCN), data)
    assert division(array) == (2, 1, 1) and array.plans[0].tiles == 5
    assert_right(array, data)


@pytest.mark.parametrize("given, told", [
    ([GCN | {"d": 128}, GCN], "a row takes 16 words of a unit, which holds 8"),
    ([GCN | {"d": 16}, GCN | {"attention": "gat", "t_attn": 1}], "and no passes, slices or blocks fit"),
    ([GCN | {"d": 8}, GCN | {"k": 2}], "and no passes, slices or blocks fit"),
    ([GCN | {"d": 64}, GCN], "own rows take 20,000 words of a unit, which holds 16,384: more units"),
])  # fmt: skip
def test_what_cannot_be_divided_is_a_violation(given: list[dict[str, Any]], told: str) -> None:
    """A row beyond the 15 words of a descriptor; H of scores and of averaged heads; 2,500 own rows of eight words."""
    data = random_graph(np.random.default_rng(0), 20_000, 10, 5, 9_000)
    with pytest.raises(UserError, match=told):
        made(design_of(*given), data)


KINDS = {
    "two maxima": (MAX | {"d": 24}, MAX | {"attention": "constant"}),
    "three layers": (GCN | {"d": 16}, MAX | {"d": 8}, GCN | {"aggregation": "mean"}),
    "a second product": (GCN | {"aggregation": "mlp", "d": 16}, GCN),
    "heads apart": (GCN | {"d": 8}, MAX | {"k": 4, "ai": 2, "af": 2}),
    "a layer": (MAX,),
    "scores": (GCN | {"attention": "gat", "t_attn": 1, "d": 8, "k": 2}, GCN),
}


@pytest.mark.parametrize("shared", [1, 2])
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("nodes, width", [(17_500, 9), (40, 9_000), (9_000, 2_500)])
def test_prices_are_those_of_the_divided_project(nodes: int, width: int, name: str, shared: int) -> None:
    """Blocks, slices and passes of networks of all kinds, with two words of H a cycle, and tables that units share."""
    rng = np.random.default_rng(nodes)
    data = sparse_graph(rng, nodes, width)
    kept = []
    for units, columns in ((4, 1), (8, 2), (12, 1)):
        design = design_of(
            *KINDS[name], units=units, columns=(columns,) * (len(KINDS[name]) - 1), results=2, shared=shared
        )
        try:
            array, _ = made(design, data)
        except UserError:
            continue
        kept.append(division(array))
        if not any(layer.aggregation in ("mean", "mlp") for layer in design.layers):
            assert_right(array, data)
    scored = name == "scores"
    assert kept or scored, "some size holds it"
    if nodes > 16_384 and not scored:
        assert all(blocks > 1 for _, _, blocks in kept)


def sparse_graph(rng: np.random.Generator, nodes: int, width: int) -> GraphData:
    """A graph with about three features a node, and as many edges as nodes."""
    data = random_graph(rng, nodes, 3, 5, nodes)
    features = data.features.copy()
    spread = rng.integers(0, width, features.nnz)
    rows = np.repeat(np.arange(nodes), np.diff(features.indptr))
    matrix = type(features)((features.data, (rows, spread)), shape=(nodes, width))
    matrix.sum_duplicates()
    matrix.sort_indices()
    return replace(data, features=matrix)


def test_sampled_graphs_are_divided_alike() -> None:
    data = random_graph(np.random.default_rng(3), 18_000, 12, 4, 60_000)
    array, row = made(design_of(MAX | {"d": 8}, GCN, sampling=(0.5, 0.1)), data)
    assert division(array)[2] > 1
    _, whole = made(design_of(MAX | {"d": 8}, GCN), data)
    assert row["latency_cycles"] < whole["latency_cycles"]


@pytest.mark.parametrize("nodes, width, d", [(18_000, 600, 32), (3_000, 1_500, 64), (30, 9_500, 16)])
def test_no_other_division_that_fits_takes_fewer_cycles(nodes: int, width: int, d: int) -> None:
    """Against every number of passes, and of up to nine slices or blocks."""
    data = sparse_graph(np.random.default_rng(nodes), nodes, width)
    design = design_of(GCN | {"d": d}, GCN)
    array, row = made(design, data)
    assert division(array) != (1, 1, 1)
    source = lowered(design, data)
    arranged = partial(Arrangement, 8, (1,), beat_bits=256)
    found = []
    for passes, parts, name in product((1, 2, 4, 8), range(1, 10), ("slices", "blocks")):
        if d // 8 % passes or (parts == 1 and name == "blocks"):
            continue
        try:
            other = fit(source, data, arranged(passes=passes, **{name: parts}))
        except UserError:
            continue
        found.append((total_cycles(encode_array(other, data)), passes))
    assert min(found)[0] == row["latency_cycles"] and len(found) > 3


def test_equal_batches_and_single_designs_are_divided_alike() -> None:
    """Prices of many designs at once are those of each alone."""
    data = sparse_graph(np.random.default_rng(5), 17_000, 800)
    designs = [
        design_of(first | {"d": d}, last, units=units)
        for first, last, d, units in product((GCN, MAX), (GCN, MAX), (8, 32), (6, 12))
    ]
    (table,) = tables_of(designs)
    assert table.array is not None
    pricer = ArrayDesignPricer(data)
    together = pricer.price(table.columns(), table.array)
    for place, design in enumerate(designs):
        (own,) = tables_of([design])
        assert own.array is not None
        alone = ArrayDesignPricer(data).price(own.columns(), own.array)
        for name, values in vars(alone).items():
            assert values[0] == vars(together)[name][place], name
