"""Prices of many arrangements at once against those of each that is lowered and encoded."""

import itertools
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import pytest
from arrays import SCORED, random_data, random_source, random_source_of, right, weighed, wide_source
from support import Choices, random_design, random_graph

from fgnas.design import Design
from fgnas.errors import UserError
from fgnas.hardware.array import reference
from fgnas.hardware.array.area import SOFTMAX, attention_columns
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.choosing import Room, arrangements, fastest, in_blocks, in_shares, in_slices
from fgnas.hardware.array.cycles import multiplications, total_cycles
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.engine import FINISHED, LANES, table_banks
from fgnas.hardware.array.layers import ArrayNetwork
from fgnas.hardware.array.lowering import (
    ArrayAccelerator,
    default_columns,
    layer_shifts,
    softmax_of,
    sum_bits,
    table_words,
)
from fgnas.hardware.array.placing import check_least, fit
from fgnas.hardware.array.pricing import ArrayPricer, Candidates
from fgnas.hardware.array.programme import PORT_WIDTHS, Target
from fgnas.hardware.array.resources import engine_block_rams, engine_resources, exponential_halves
from fgnas.tasks.nodes import GraphData


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("attentions", [("gcn", "constant"), SCORED, ("cos", "gat"), ("gene-linear", "cos")])
def test_prices_are_those_of_the_encoded_array(seed: int, attentions: tuple[str, ...]) -> None:
    """One to three layers on 1 to 16 units, with every n of the first layer, whole and in passes, behind each port,
    with 1, 2 and 4 words of H a cycle where there are banks for them, and whole or in parts behind the sums."""
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    source = random_source(rng, 1 + seed % 3, data, ("add", "mean", "max"), attentions, (1, 2, 4))
    arrays = []
    beat_bits = PORT_WIDTHS[seed % 3]
    for units in (1, 2, 8, 12, 16):
        widest = tuple(default_columns(layer, units) for layer in source.layers[:-1])
        for columns in {widest, tuple(1 for _ in widest)}:
            whole = fit(source, data, Arrangement(units, columns, beat_bits=beat_bits))
            first = whole.plans[0]
            held = first.tiles // (first.head_tiles if first.attends else 1) if columns else 1
            arrays += [
                whole,
                *(
                    [fit(source, data, Arrangement(units, columns, beat_bits=beat_bits, passes=held))]
                    if held > 1
                    else []
                ),
            ]
            several = [one for one in (2, 4) if one <= whole.engine.banks]
            arrays += [
                fit(source, data, Arrangement(units, columns, beat_bits=beat_bits, passes=held, results=one))
                for one in several
            ]
            arrays += [
                fit(
                    source,
                    data,
                    Arrangement(units, columns, beat_bits=beat_bits, passes=held, results=1, slices=1, finished=one),
                )
                for one in (1, 2, 4)
            ]
    assert_exact(source, data, arrays, beat_bits)


@pytest.mark.parametrize("seed", range(6))
def test_prices_of_whole_memories_are_those_of_the_encoded_array(seed: int) -> None:
    """Depths that are powers of two, of graphs that are large enough for several block RAMs."""
    rng = np.random.default_rng(seed)
    data = random_graph(rng, 1_200, 900, 5, 3_000)
    source = random_source_of(rng, wide_design(rng, 16), data)
    beat_bits = PORT_WIDTHS[seed % 3]
    chosen = [(units, whole) for units in (1, 3, 4) for whole in (False, True)]
    arrays = [fit(source, data, Arrangement(units, (), beat_bits=beat_bits, whole=whole)) for units, whole in chosen]
    assert_exact(source, data, arrays, beat_bits, [whole for _, whole in chosen])


@pytest.mark.parametrize("seed", range(6))
def test_prices_of_shared_tables_are_those_of_the_encoded_array(seed: int) -> None:
    """Two to sixteen units share a table, in whole words and in parts, with memories as small as can be and whole, with
    heads in the last layer that are averaged: what takers wait is in the cycles and in the bytes."""
    rng = np.random.default_rng(seed)
    data = random_graph(rng, 700, 500, 5, 2_000)
    source = random_source_of(rng, wide_design(rng, 16, 1 + seed % 2), data)
    beat_bits, arrays, powers = PORT_WIDTHS[seed % 3], list[ArrayAccelerator](), list[bool]()
    for units, columns, shared in ((4, 2, 2), (12, 1, 4), (16, 2, 8), (16, 1, 16), (4, 1, 1)):
        for whole in (False, True):
            results, finished = int(rng.choice([1, table_banks(beat_bits)])), int(rng.choice(FINISHED))
            arrays.append(
                fit(
                    source,
                    data,
                    Arrangement(
                        units,
                        (columns,),
                        beat_bits=beat_bits,
                        results=results,
                        finished=finished,
                        whole=whole,
                        shared=shared,
                    ),
                )
            )
            powers.append(whole)
    assert_exact(source, data, arrays, beat_bits, powers)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("attentions", [("gcn", "constant"), SCORED, ("cos", "gat"), ("gene-linear", "cos")])
def test_prices_of_slices_are_those_of_the_encoded_array(seed: int, attentions: tuple[str, ...]) -> None:
    """W whole and in slices that do not come out even, in passes, with several words of H a cycle."""
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    source = random_source(rng, 1 + seed % 3, data, attentions=attentions)
    beat_bits = PORT_WIDTHS[seed % 3]
    arrays = []
    for units in (1, 4, 12):
        columns = tuple(default_columns(layer, units) for layer in source.layers[:-1])
        whole = fit(source, data, Arrangement(units, columns, beat_bits=beat_bits))
        first = whole.plans[0]
        held = first.tiles // (first.head_tiles if first.attends else 1) if columns else 1
        for slices in {1, 2, min(7, data.width_in)}:
            results = int(rng.choice([one for one in (1, 2, 4) if one <= whole.engine.banks]))
            arrays.append(
                fit(
                    source,
                    data,
                    Arrangement(units, columns, beat_bits=beat_bits, passes=1, results=results, slices=slices),
                )
            )
            if (2 * slices + 3) * held < 50:
                arrays.append(
                    fit(
                        source,
                        data,
                        Arrangement(units, columns, beat_bits=beat_bits, passes=held, results=1, slices=slices),
                    )
                )
    assert_exact(source, data, arrays, beat_bits)


def assert_exact(
    source: ArrayNetwork, data: GraphData, arrays: list[ArrayAccelerator], beat_bits: int, whole: Sequence[bool] = ()
) -> None:
    """Every price is that of the array that is encoded; `whole` says which have whole memories, none by default."""
    powers = np.array(whole) if whole else np.zeros(len(arrays), bool)
    depth = len(source.layers) - 1
    units = np.array([array.engine.units for array in arrays])
    columns = [np.array([array.plans[layer].aggregate.n for array in arrays]) for layer in range(depth)]
    features = [np.full(len(arrays), layer.k * layer.d) for layer in source.layers]
    tables = np.array([table_words(array.plans) for array in arrays])
    bits = np.array([array.engine.bits for array in arrays])
    weighted = [np.full(len(arrays), layer.gcn or layer.attends) for layer in source.layers]
    passes = np.array([array.plans[0].passes for array in arrays])
    slices = np.array([array.plans[0].slices for array in arrays])
    blocks = np.array([array.plans[0].blocks for array in arrays])
    results = np.array([array.engine.results for array in arrays])
    maximum = np.full(len(arrays), any(layer.maximum or layer.attends for layer in source.layers))
    shifts = [np.full(len(arrays), shift) for layer in source.layers for shift in layer_shifts(layer)]
    sums = np.full(len(arrays), sum_bits(source))
    softmax = softmax_of(source)
    heads = [np.full(len(arrays), layer.k * layer.attends) for layer in source.layers]
    vectors = [np.full(len(arrays), len(layer.vectors) + layer.pair) for layer in source.layers]
    attending = attention_columns([array.engine.softmax for array in arrays])
    candidates = Candidates(
        units, features, columns, weighted, bits, tables, passes, results, maximum, sums, shifts,
        heads if softmax else (), vectors, exponential_halves(softmax), source.layers[-1].averaged,
        slices if any(slices > 1) else None, np.array([array.engine.finished for array in arrays]), powers,
        blocks=blocks if any(blocks > 1) else None, dots=[np.full(len(arrays), plan.dot) for plan in arrays[0].plans],
        pairs=[np.full(len(arrays), plan.pair) for plan in arrays[0].plans],
        shared=np.array([array.engine.shared for array in arrays]), **{name: attending[name] for name in SOFTMAX},
    )  # fmt: skip
    wide = arrays[0].engine.wide
    prices = ArrayPricer(data, beat_bits=beat_bits, wide=wide, waits=True).price(candidates)
    least = ArrayPricer(data, beat_bits=beat_bits, wide=wide).price(candidates).cycles
    alone = np.array([array.engine.shared == 1 for array in arrays])
    assert np.all(least <= prices.cycles) and np.array_equal(least[alone], prices.cycles[alone])
    for place, array in enumerate(arrays):
        found = {name: getattr(prices, name)[place] for name in ("lut", "ff", "bram36")}
        assert found | {"dsp": prices.multipliers[place]} == engine_resources(array.engine)
        encoded = encode_array(array, data)
        assert prices.cycles[place] == total_cycles(encoded)
        assert prices.multipliers[place] == array.engine.multipliers
        assert prices.multiplications[place] == multiplications(encoded)
        rest, step = array.engine.table_words - prices.table_words[place], 512 * array.engine.copy_banks
        most = array.engine.table_words // 2 if powers[place] else 0
        assert 0 <= rest < max(step, most), "the depth is rounded up to whole block RAMs, or to a power of two"
        assert array.engine.own_words >= prices.own_words[place]
        assert array.engine.tiles == prices.tiles[place]
        moved = sum(region.size for region in (*encoded.regions.values(), reference.run_region(encoded)))
        reads = [one.beats for one in encoded.programme]
        again = sum(reads) - sum(len(region) for name, region in encoded.regions.items() if name != "programme")
        assert prices.memory_bytes[place] == moved + again * beat_bits // 8, "a pass reads the streams again"


@pytest.mark.parametrize("seed", range(8))
def test_prices_of_blocks_are_those_of_the_encoded_array(seed: int) -> None:
    """H whole and in blocks, some of which may have no row, in passes, with several words of H a cycle."""
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    source = random_source(rng, 1 + seed % 3, data, ("add", "mean"))
    beat_bits, arrays = PORT_WIDTHS[seed % 3], []
    for units in (1, 2, 6, 16):
        columns = tuple(default_columns(layer, units) for layer in source.layers[:-1])
        first = fit(source, data, Arrangement(units, columns, beat_bits=beat_bits)).plans[0]
        held = first.tiles if columns else 1
        arrays += [fit(source, data, Arrangement(units, columns, beat_bits=beat_bits, passes=passes, blocks=blocks))
                   for passes in {1, held} for blocks in (1, 2, 3, 7)]  # fmt: skip
        if beat_bits > 128:
            arrays.append(
                fit(source, data, Arrangement(units, columns, beat_bits=beat_bits, passes=1, results=2, blocks=2))
            )
    assert_exact(source, data, arrays, beat_bits)


@pytest.mark.parametrize("seed", range(6))
def test_prices_of_wide_numbers_are_those_of_the_encoded_array(seed: int) -> None:
    """Streams of 31 bits an entry, words of H in 128 bits; whole and in slices."""
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    source = wide_source(rng, 1 + seed % 3, data, (1, 2))
    beat_bits, arrays = PORT_WIDTHS[seed % 3], []
    for units in (1, 6, 16):
        columns = tuple(default_columns(layer, units) for layer in source.layers[:-1])
        whole = fit(source, data, Arrangement(units, columns, beat_bits=beat_bits))
        results = max(one for one in (1, 2, 4) if one <= whole.engine.banks)
        arrays += [
            whole,
            fit(source, data, Arrangement(units, columns, beat_bits=beat_bits, passes=1, results=results)),
        ]
        if columns:
            arrays.append(fit(source, data, Arrangement(units, columns, beat_bits=beat_bits, slices=2)))
    assert_exact(source, data, arrays, beat_bits)


@pytest.mark.parametrize("kind", ["wide", "cos"])
def test_few_luts_bound_engines_with_any_option(kind: str) -> None:
    """Wide numbers, and attention cos: within fewer LUTs than the fastest takes there is a smaller one."""
    rng = np.random.default_rng(1)
    data = random_graph(rng, 50, 20, 5, 150)
    source = wide_source(rng, 2, data) if kind == "wide" else random_source(rng, 2, data, ("add",), ("cos",))
    free = fastest(source, data, Room(64))
    least = {name: engine_resources(free.engine)[name] for name in ("lut", "ff")}
    for name, most in least.items():
        array = fastest(source, data, Room(64, limits={name: most - 1}))
        assert engine_resources(array.engine)[name] < most
        assert total_cycles(encode_array(array, data)) >= total_cycles(encode_array(free, data))
    with pytest.raises(UserError, match=r"no array of up to 64 multipliers keeps the limits: LUT 10 \(the least is"):
        fastest(source, data, Room(64, limits={"lut": 10}))


@pytest.mark.parametrize("attentions", [("gcn", "constant"), SCORED])
def test_what_equal_groups_do_not_hold_nothing_holds(attentions: tuple[str, ...]) -> None:
    """Of graphs that few arrangements hold."""
    rng, found = np.random.default_rng(7), set()
    for nodes in (1_000, 4_000, 16_000, 64_000):
        data = random_graph(rng, nodes, 4, 20, 10)
        source = random_source(rng, 2, data, ("add",), attentions)
        offered = arrangements(source, 12, 2)
        offered += [*in_slices(source, offered), *in_blocks(source, offered), *in_shares(source, offered)]
        for place in rng.permutation(len(offered))[:12]:
            held = []
            for check in (check_least, fit):
                with suppress(UserError):
                    check(source, data, offered[place])
                    held.append(check)
            assert held in ([], [check_least], [check_least, fit])
            found.add(len(held))
    assert {0, 2} <= found


def test_the_fastest_is_no_slower_than_any() -> None:
    """Where a doubling of lanes that are finished in a cycle saves as much as it must."""
    rng = np.random.default_rng(4)
    data = random_data(rng)
    source = random_source(rng, 2, data, ("add",))
    best = fastest(source, data, Room(64))
    assert best.engine.finished < LANES
    for units, finished in itertools.product((1, 2, 3, 4, 6, 8), FINISHED):
        other = fit(source, data, Arrangement(units, finished=finished))
        assert weighed(best, data) <= weighed(other, data)
    assert fastest(source, data, Room(63)).engine.units <= 7
    with pytest.raises(UserError, match="8 multipliers at least, the design may use 7"):
        Room(7)


def test_few_block_rams_are_kept_by_passes() -> None:
    """A wide hidden layer in less block RAM than any arrangement of one pass takes; what nothing keeps is refused."""
    rng = np.random.default_rng(4)
    data = random_graph(rng, 400, 600, 5, 900)
    source = random_source_of(rng, wide_design(rng), data)
    offered = [one for one in arrangements(source, 8) if one.passes == 1]
    whole = min(engine_block_rams(fit(source, data, Arrangement(one.units, one.columns)).engine) for one in offered)
    array = fastest(source, data, Room(64, limits={"bram36": whole - 0.5}))
    assert array.plans[0].passes > 1 and engine_block_rams(array.engine) < whole
    encoded = encode_array(array, data)
    assert np.array_equal(reference.run(encoded), right(source, data))
    assert encoded.programme[-1].target == Target.LOGITS
    with pytest.raises(UserError, match=r"no array of up to 64 multipliers keeps the limits: block RAM 1 \(the least"):
        fastest(source, data, Room(64, limits={"bram36": 1}))

    all_units = fastest(source, data, Room(64))
    limit = engine_resources(all_units.engine)["lut"] - 1
    smaller = fastest(source, data, Room(64, limits={"lut": limit}))
    assert engine_resources(smaller.engine)["lut"] <= limit
    assert total_cycles(encode_array(smaller, data)) >= total_cycles(encode_array(all_units, data))


def test_few_luts_take_more_block_rams() -> None:
    """The smallest memory for 1,400 words needs multiplexers in LUTs; with few LUTs it has 2,048 words instead."""
    rng = np.random.default_rng(8)
    data = random_graph(rng, 600, 800, 5, 1_000)
    source = random_source_of(rng, wide_design(rng, 8), data)
    free = fastest(source, data, Room(8))
    tight = fastest(source, data, Room(8, limits={"lut": engine_resources(free.engine)["lut"] - 1}))
    assert tight.engine.table_words.bit_count() == 1 < free.engine.table_words.bit_count()
    assert engine_resources(tight.engine)["bram36"] > engine_resources(free.engine)["bram36"]
    encoded = encode_array(tight, data)
    assert np.array_equal(reference.run(encoded), right(source, data))


def test_slices_are_taken_where_nothing_else_fits() -> None:
    """W of 17,000 rows in a table of 16,384 words; and fewer block RAMs than the least of any passes."""
    rng = np.random.default_rng(6)
    wide = random_graph(rng, 20, 17_000, 5, 30)
    source = random_source_of(rng, wide_design(rng), wide)
    array = fastest(source, wide, Room(16))
    assert array.plans[0].slices > 1
    encoded = encode_array(array, wide)
    assert np.array_equal(reference.run(encoded), right(source, wide))
    with pytest.raises(UserError, match="no array of up to 16 multipliers keeps the limits: LUT"):
        fastest(source, wide, Room(16, limits={"lut": 1_000}))

    data = random_graph(rng, 50, 1500, 5, 200)
    source = random_source_of(rng, wide_design(rng), data)
    offered = arrangements(source, 2)
    least = min(engine_block_rams(fit(source, data, Arrangement(one.units, one.columns, passes=one.passes)).engine)
                for one in offered)  # fmt: skip
    assert fastest(source, data, Room(16, limits={"bram36": least})).plans[0].slices == 1
    array = fastest(source, data, Room(16, limits={"bram36": least - 0.5}))
    assert array.plans[0].slices > 1 and engine_block_rams(array.engine) < least
    within = {"bram36": least - 0.5, "lut": engine_resources(array.engine)["lut"] + 1}
    limited = fastest(source, data, Room(16, limits=within))
    assert limited.plans[0].slices > 1 and engine_resources(limited.engine)["lut"] <= within["lut"]
    encoded = encode_array(array, data)
    assert np.array_equal(reference.run(encoded), right(source, data))


def test_blocks_are_taken_where_nothing_else_fits() -> None:
    """H of 17,000 rows in a table of 16,384 words, of sums and of maxima; scores have no blocks."""
    rng = np.random.default_rng(6)
    many = random_graph(rng, 17_000, 9, 5, 30_000)
    gcn: Choices = {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1}
    source = random_source_of(rng, random_design(rng, 2, (gcn | {"d": 8}, gcn)), many)
    array = fastest(source, many, Room(16))
    assert array.plans[0].blocks > 1 and array.plans[0].slices == 1
    encoded = encode_array(array, many)
    assert np.array_equal(reference.run(encoded), right(source, many))
    largest = random_source(rng, 2, many, ("max",))
    array = fastest(largest, many, Room(16))
    assert array.plans[0].blocks > 1
    encoded = encode_array(array, many)
    assert np.array_equal(reference.run(encoded), right(largest, many))
    scored = random_source(rng, 2, many, ("add",), ("gat",))
    with pytest.raises(UserError, match="a table has 2 to 16,384 words"):
        fastest(scored, many, Room(16))


def wide_design(rng: np.random.Generator, features: int = 64, averaged: int = 1) -> Design:
    gcn: Choices = {"attention": "gcn", "aggregation": "add", "t_attn": None}
    return random_design(rng, 2, ({**gcn, "k": 1, "d": features}, {**gcn, "k": averaged}))
