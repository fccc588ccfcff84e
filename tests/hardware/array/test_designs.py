"""Prices of designs with their arrays against the array that is written for each, and designs that no array runs."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from arrays import wide_choices
from support import Choices, random_design, random_graph, random_network

from fgnas.design import OF_NODES, VECTORS, Array, Design, columns_of
from fgnas.designs import tables_of
from fgnas.errors import UserError
from fgnas.hardware.array.designs import (
    ArrayDesignPricer,
    ArrayDesignPrices,
    array_of,
    candidates_of,
    check_arrays,
)
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.layers import array_network
from fgnas.hardware.array.programme import PORT_WIDTHS
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.specification import Specification
from fgnas.network import Network
from fgnas.tasks.nodes import GraphData

UNITS = (1, 2, 3, 4, 6, 8, 12, 16)


def with_array(
    rng: np.random.Generator, layers: int, attentions: tuple[str, ...] = ("gcn", "constant"),
    aggregations: tuple[str, ...] = (), last: Choices | None = None,
) -> Design:  # fmt: skip
    """A random design of operators that the array runs, with any array; formats differ among layers. `aggregations`
    are those of every layer, where they are given, of which one may average or add heads in the last; `last` are
    further choices of the last layer."""
    own = [with_attention(rng, str(rng.choice(attentions))) for _ in range(layers)]
    scored = own[-1]["attention"] in VECTORS
    heads = 1 if scored else int(rng.choice([1, 2, 4]))
    own[-1] |= {"k": heads, "d": None} | ({"aggregation": str(rng.choice(["add", "mean"]))} if heads > 1 else {})
    own[-1] |= last or {}
    for layer, aggregation in zip(own, aggregations, strict=False):
        layer["aggregation"] = aggregation
    units, beat_bits = int(rng.choice(UNITS)), int(rng.choice(PORT_WIDTHS))
    offered = [n for n in (1, 2, 4) if units % n == 0]
    columns = [
        int(rng.choice([n for n in offered if layer["attention"] not in VECTORS or n <= layer["k"]]))
        for layer in own[:-1]
    ]
    results = int(rng.choice([one for one in (1, 2, 4) if one <= beat_bits // 128]))
    array = Array.model_validate({"units": units, "columns": columns, "beat_bits": beat_bits, "results": results})
    return random_design(rng, layers, tuple(own)).model_copy(update={"array": array})


def with_attention(rng: np.random.Generator, attention: str) -> Choices:
    """Choices of a layer."""
    chosen: Choices = {"attention": attention, "t_attn": 1 if attention == "gat" else None,
                       "d": int(rng.choice([3, 8, 12, 24])), "k": int(rng.choice([1, 2]))}  # fmt: skip
    return chosen


def without_scales(network: Network) -> Network:
    none = {"weight_scale": 0, "value_scale": 0}
    layers = (
        replace(one, output_scale=0, score_scale=None, pair_scale=None, **none,
                mlp=None if one.mlp is None else replace(one.mlp, **none))
        for one in network.layers
    )  # fmt: skip
    return Network(tuple(layers), 0)


def written(design: Design, data: GraphData, rng: np.random.Generator) -> dict:
    """The price in the project of a design whose network has no scale."""
    from fgnas.backends.array import price

    source = array_network(design, without_scales(random_network(rng, design, data)), GraphShape.of(data), data.name)
    return price(encode_array(array_of(source, data), data), Specification())


@pytest.mark.parametrize(
    "attentions", [("gcn", "constant"), (*OF_NODES, "gcn"), ("cos", "gat", "gcn"), ("gene-linear", "cos", "gatv2")]
)
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_prices_are_those_of_the_project(layers: int, attentions: tuple[str, ...]) -> None:
    """Priced together, and each that can be built is as its report/price.json says; also in another process."""
    rng = np.random.default_rng(layers)
    data = random_graph(rng, 50, 30, 9, 150)
    assert len(priced_as_written([with_array(rng, layers, attentions) for _ in range(25)], data, rng)) >= 15


@pytest.mark.parametrize("attentions", [("gcn", "constant"), (*OF_NODES, "gcn")])
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_prices_of_second_products_are_those_of_the_project(layers: int, attentions: tuple[str, ...]) -> None:
    """Designs with and without them, in any layer, priced together."""
    rng = np.random.default_rng(layers)
    data = random_graph(rng, 50, 30, 9, 150)
    kinds = [tuple(rng.choice(["mlp", "add", "mean"], layers).tolist()) for _ in range(30)]
    built = priced_as_written([with_array(rng, layers, attentions, kind) for kind in kinds], data, rng)
    assert len({tuple(layer.mlp for layer in design.layers) for design in built}) == 2**layers


APART = (
    ("gat", "add"), ("cos", "mean"), ("gene-linear", "add"), ("linear", "max"), ("gat-sym", "add"), ("gcn", "max"),
    ("constant", "max"),
)  # fmt: skip
"""Attention and aggregation of last layers whose heads have no sum in common."""


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_prices_of_heads_apart_are_those_of_the_project(layers: int) -> None:
    """Two, four or eight heads of three to ten bits, of 16 at most without scores, beside designs whose heads share a
    sum, or are one."""
    rng = np.random.default_rng(layers)
    data = random_graph(rng, 50, 30, 5, 150)
    designs = []
    for attention, aggregation in 3 * APART:
        formats = {"ai": int(rng.integers(1, 3)), "af": int(rng.integers(1, 8 if attention in VECTORS else 14))}
        last = {"attention": attention, "aggregation": aggregation, "k": int(rng.choice([2, 4, 8])), **formats}
        last["t_attn"] = 1 if attention == "gat" else None
        design = with_array(rng, layers, ("gat", "gcn"), last=last)
        scored = attention in VECTORS and last["k"] > 4
        assert design.array is not None
        designs.append(changed(design, units=2 * design.array.units) if scored else design)
    designs += [with_array(rng, layers, ("gcn", "constant")) for _ in range(3)]
    built = priced_as_written(designs, data, rng)
    assert {(one.layers[-1].attention, one.layers[-1].aggregation) for one in built} >= set(APART)
    bits = {one.layers[-1].ai + one.layers[-1].af + 1 for one in built if one.layers[-1].k > 1}
    assert min(bits) <= 6 and bits & set(range(7, 11)) and max(bits) > 10


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_prices_of_shared_tables_are_those_of_the_project(layers: int) -> None:
    """Two to sixteen units share a table, beside designs whose units share none or whose messages have scores."""
    rng = np.random.default_rng(layers)
    data = random_graph(rng, 60, 30, 9, 180)
    designs = [with_array(rng, layers, attentions) for attentions in (*5 * (("gcn", "constant"),), ("gat", "gcn"))]
    for shared in (2, 4, 8, 16, 2, 4):
        design = with_array(rng, layers, ("gcn", "constant"))
        assert design.array is not None
        side = max(design.array.columns, default=1)
        designs.append(changed(design, units=shared * side * (16 // (shared * side) or 1), shared=shared))
    built = priced_as_written(designs, data, rng)
    assert {one.array.shared for one in built if one.array is not None} == {1, 2, 4, 8, 16}


def in_bits(design: Design, bits: int) -> Design:
    """The design with features of so many bits and weights of six."""
    formats = {"ai": 1, "af": bits - 2, "wi": 1, "wf": 4}
    layers = tuple(layer.model_copy(update=formats) for layer in design.layers)
    return design.model_copy(update={"layers": layers})


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_prices_of_paired_products_are_those_of_the_project(layers: int) -> None:
    """Half as many DSPs, beside designs whose products share none."""
    rng = np.random.default_rng(layers)
    data = random_graph(rng, 60, 30, 9, 180)
    plain = [in_bits(with_array(rng, layers), 8) for _ in range(6)]
    built = priced_as_written([*plain, *(changed(design, products=2) for design in plain)], data, rng)
    dsps = [[written(one, data, rng)["dsp"] for one in built if one.array and one.array.products == n] for n in (1, 2)]
    assert len(dsps[0]) > 3 and dsps[0] == [2 * one for one in dsps[1]]


def priced_as_written(designs: list[Design], data: GraphData, rng: np.random.Generator) -> list[Design]:
    """The designs that are feasible, whose prices are those of their projects; others cannot be written."""
    (table,) = tables_of(designs)
    assert table.array is not None
    columns = table.columns()
    check_arrays(columns, table.array, table.places)
    pricer = pickle.loads(pickle.dumps(ArrayDesignPricer(data)))
    rows = ArrayDesignPrices(pricer.price(columns, table.array), table.array.beat_bits).rows(Specification())
    built = []
    for design, row in zip(designs, rows, strict=True):
        if not row["feasible"]:
            with pytest.raises(UserError):
                written(design, data, rng)
            continue
        project = written(design, data, rng)
        names = ("latency_cycles", "latency_ms", "lut", "ff", "dsp", "bram36", "multipliers", "multiplications")
        assert {name: row[name] for name in names} == {name: project[name] for name in names}, design.to_json()
        assert row["busy"] == np.round(project["busy"], 4)
        assert row["beat_bits"] == design.array.beat_bits and not row["violations"]
        built.append(design)
    return built


def test_prices_of_wide_numbers() -> None:
    """Beside narrow ones, both with second products and without."""
    rng = np.random.default_rng(5)
    data = random_graph(rng, 50, 30, 9, 150)
    kinds = [("add", "add"), ("add", "add"), ("mlp", "add"), ("mlp", "mlp"), ("add", "mlp"), ("mean", "add")]
    designs = [with_array(rng, 2, ("gcn", "constant"), kind) for kind in 2 * kinds]
    designs[::2] = [
        one.model_copy(update={"layers": tuple(
            layer.model_copy(update=wide_choices(rng)) for layer in one.layers
        )}) for one in designs[::2]
    ]  # fmt: skip
    (table,) = tables_of(designs)
    assert table.array is not None
    prices = ArrayDesignPrices(ArrayDesignPricer(data).price(table.columns(), table.array), table.array.beat_bits)
    rows = prices.rows(Specification(dsp=10_000))
    names = ("latency_cycles", "lut", "ff", "dsp", "bram36", "multipliers", "multiplications")
    for design, row in zip(designs, rows, strict=True):
        if row["feasible"]:
            project = written(design, data, rng)
            assert {name: row[name] for name in names} == {name: project[name] for name in names}, design.to_json()
    assert [json.loads(line) for line in prices.lines(Specification(dsp=10_000))] == rows
    few = min(row["lut"] for row in rows)
    assert [row["feasible"] for row in prices.rows(Specification(dsp=10_000, lut=few))] == [
        row["feasible"] and row["lut"] <= few for row in rows
    ]


def changed(design: Design, **array: object) -> Design:
    assert design.array is not None
    return design.model_copy(update={"array": design.array.model_copy(update=array)})


def test_what_no_array_runs_is_refused_by_its_place() -> None:
    rng = np.random.default_rng(7)
    right = changed(with_array(rng, 2), units=6, columns=(2,), beat_bits=256, results=2)
    layers = right.layers
    many = right.model_copy(
        update={"layers": (layers[0], layers[1].model_copy(update={"k": 64, "aggregation": "add"}))}
    )
    gat = {"attention": "gat", "t_attn": 1, "aggregation": "add"}
    narrow, wide, eight = (
        right.model_copy(update={"layers": tuple(
            layer.model_copy(update=update) for layer, update in zip(layers, updates, strict=True)
        )})
        for updates in (
            ({**gat, "k": 1}, {}), ({**gat, "k": 16}, {}),
            ({}, {**gat, "k": 16, "ai": 2, "af": 2}),
        )
    )  # fmt: skip
    dividing = "powers of two that divide the units"
    wrong = [
        *(("at most the heads, and at least a quarter of them", design) for design in (narrow, wide)),
        ("units side by side as hold them, 4 each, which must divide the units", eight),
        ("an array averages 32 heads at most", many),
        ("results must be at most 1, 2 or 4", changed(right, results=4)),
        *((dividing, changed(right, columns=(n,))) for n in (4, 3, 0, -2)),
        ("must be whole groups of those that share a table", changed(right, shared=2)),
        ("with attention by scores shares no tables", changed(narrow, columns=(1,), shared=2)),
        *(("products of 8 bits at most, without attention", changed(one, products=2))
          for one in (in_bits(right, 9), in_bits(changed(narrow, columns=(1,)), 8))),
    ]  # fmt: skip
    for message, design in wrong:
        (table,) = tables_of([right, design, right])
        with pytest.raises(UserError, match=f"^design 2: .*{message}"):
            check_arrays(table.columns(), table.array, table.places)
    (table,) = tables_of([right])
    check_arrays(table.columns(), table.array, table.places)


def test_what_no_unit_holds_is_a_violation() -> None:
    """A row of 16 words, a table beyond 16,384 words, three tables of 1,024 results."""
    rng = np.random.default_rng(3)
    data = random_graph(rng, 400, 700, 5, 900)
    plain = {"attention": "gcn", "t_attn": None, "k": 1, "ai": 3, "af": 6, "activation": "tanh", "d": 8}
    last = {"attention": "gcn", "t_attn": None, "k": 1, "d": None, "activation": None}
    four = {"units": 4, "beat_bits": 128}
    wide, deep = (
        random_design(rng, len(layers), layers).model_copy(
            update={"array": Array.model_validate(four | {"columns": (1,) * (len(layers) - 1)})}
        )
        for layers in ((plain | {"d": 128}, last), (plain, plain, plain, last))
    )
    found = []
    for design in (wide, deep):
        (table,) = tables_of([design])
        prices = ArrayDesignPricer(data).price(table.columns(), table.array)
        found += ArrayDesignPrices(prices, table.array.beat_bits).rows(Specification(lut=10))
    assert not any(row["feasible"] for row in found)
    assert found[0]["violations"][1] == "a row takes 16 words of a unit, which holds 8"
    assert found[0]["violations"][2].endswith("which holds 16,384, and no passes, slices or blocks fit")
    assert found[1]["violations"][1:] == ["activation tables take 384 words of a unit, which holds 256"]
    assert all("is over 10" in row["violations"][0] for row in found)


def test_formats_decide_shifts_sums_and_tables() -> None:
    """Two layers by hand: 3 + 4 and 2 + 2 bits, a graph of width 9 and at most 4 neighbours with itself."""
    rng = np.random.default_rng(0)
    hidden = {"attention": "gcn", "aggregation": "mean", "t_attn": None, "k": 2, "d": 5, "activation": "elu", "ai": 3,
              "af": 4, "wi": 1, "wf": 3}  # fmt: skip
    last = {"attention": "constant", "aggregation": "max", "t_attn": None, "k": 1, "ai": 2, "af": 2, "wi": 0, "wf": 5}
    design = random_design(rng, 2, (hidden, last)).model_copy(update={"array": with_array(rng, 2).array})
    design = changed(design, units=2, columns=(2,), beat_bits=128, results=1)
    (table,) = tables_of([design])
    shape = GraphShape(width_in=9, classes=3, node_capacity=1024, degree_capacity=4)
    found = candidates_of(columns_of([design]), table.array, shape)
    one = {name: int(getattr(found, name)[0]) for name in ("units", "bits", "tables", "passes", "results", "sum_bits")}
    # elu looks up 256 results, 8 in a word; 9 features take 4 more bits, ten values of Z too; 4 neighbours take 2.
    # Coefficients have 8 fraction bits, logits 4 more than values.
    sums = max(8 + 5 + 4, 9 + 8 + 2, 8 + 6 + 4, 9 + 5 + 2)
    assert one == {"units": 2, "bits": 8, "tables": 32, "passes": 1, "results": 1, "sum_bits": sums}
    assert {int(shift[0]) for shift in found.shifts} == {3, 8, 4 + 5 - 2, -4}
    assert [int(width[0]) for width in found.features] == [10, 3]
    assert [bool(one[0]) for one in found.weighted] == [True, False] and found.maximum[0]


def test_a_graph_without_a_node_is_refused() -> None:
    rng = np.random.default_rng(0)
    data = random_graph(rng, 4, 3, 2, 3)
    empty = replace(
        data, features=data.features[:0], indptr=data.indptr[:1], sources=data.sources[:0], labels=data.labels[:0]
    )
    with pytest.raises(UserError, match="random has no node"):
        ArrayDesignPricer(empty)
