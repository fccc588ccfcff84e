"""Units that share tables: no bank is asked for two words, and the logits are those of units that share none."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from arrays import random_data, random_source, random_source_of, right, shared_array
from hypothesis import given
from hypothesis import strategies as st
from support import Choices, random_design, random_graph

from fgnas.errors import UserError
from fgnas.hardware.array import reference
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.choosing import Room, fastest
from fgnas.hardware.array.cycles import total_cycles
from fgnas.hardware.array.dealing import Deal, deal, deal_for_logits
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.engine import Engine, Mode
from fgnas.hardware.array.layers import ArrayNetwork
from fgnas.hardware.array.lowering import ArrayAccelerator
from fgnas.hardware.array.packing import pack
from fgnas.hardware.array.placing import fit
from fgnas.hardware.array.refill import edge_refill
from fgnas.hardware.array.resources import engine_block_rams, engine_resources
from fgnas.hardware.array.sharing import clashes, copies_of_takers, pack_shared
from fgnas.tasks.nodes import GraphData

ROWS = st.lists(st.lists(st.integers(0, 40), max_size=9), min_size=1, max_size=30)
GCN: Choices = {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1}


def two_groups(rows: list[list[int]]) -> Deal:
    """The first row is the first group's, the second the second's."""
    return Deal(np.arange(len(rows)) % 2, np.arange(len(rows)) // 2, np.array([len(rows) // 2] * 2))


def packed(rows: list[list[int]]) -> tuple[list[list[int]], list[list[int]]]:
    """[slot rows, 2] words that two takers of a table of four banks read, -1 for none; and where their rows end."""
    indptr = np.cumsum([0, *map(len, rows)])
    index = np.array([word for row in rows for word in row])
    schedule = pack_shared(indptr, index, two_groups(rows), 1, np.zeros(2, np.int64), 4)
    assert schedule.entry is not None
    words = np.where(schedule.entry >= 0, np.append(index, 0)[schedule.entry], -1)
    return words.tolist(), schedule.last.tolist()


def test_entries_change_places_by_hand() -> None:
    """Words 0 and 4 are in bank 0, 1 and 5 in bank 1: a row is taken the other way round, and nobody waits."""
    words, ends = packed([[0, 1], [4, 5]])
    assert sorted(map(sorted, words)) in ([[0, 5], [1, 4]], [[1, 4], [0, 5]])
    assert ends == [[0, 0], [1, 1]]


def test_takers_wait_by_hand() -> None:
    """Three entries in bank 0: three slot rows, in two of which a taker has none."""
    words, ends = packed([[0, 4], [8, 1]])
    assert len(words) == 3 and sorted(word for slot in words for word in slot) == [-1, -1, 0, 1, 4, 8]
    assert all(len({word for word in slot if word >= 0 and word % 4 == 0}) <= 1 for slot in words)
    assert np.sum(ends, axis=0).tolist() == [1, 1]


def test_an_empty_row_takes_a_slot() -> None:
    assert packed([[], [4]]) == ([[-1, 4]], [[1, 1]])


def engine_of(units: int, modes: tuple[Mode, ...], shared: int, **fields: int) -> Engine:
    return Engine(units, 8, modes, 1, 4096, 64, 1, 0, (0,), True, 28, shared=shared, **fields)


def test_units_that_share_by_hand() -> None:
    """Two columns side by side: units 0, 2, 4, 6 have one table, 1, 3, 5, 7 another, and then the same again."""
    engine = engine_of(16, (Mode(8, 1, 2), Mode(16, 1, 1)), 4)
    assert (engine.places, engine.copies, engine.copy_banks) == (2, 4, 8)
    assert engine.copy_of(np.arange(16)).tolist() == [0, 1] * 4 + [2, 3] * 4
    assert copies_of_takers(engine, engine.modes[0]).tolist() == [0] * 4 + [2] * 4
    assert copies_of_takers(engine, engine.modes[1]).tolist() == [0, 1] * 4 + [2, 3] * 4
    with pytest.raises(UserError, match="16 units, 2 of them side by side, are not whole groups of 16 that hold"):
        engine_of(16, engine.modes, 16)
    with pytest.raises(UserError, match=r"shared must be one of \(1, 2, 4, 8, 16\)"):
        engine_of(16, engine.modes, 32)


@pytest.mark.parametrize("dealing", [deal, deal_for_logits])
@given(rows=ROWS, groups=st.sampled_from([2, 4, 8]), k=st.sampled_from([1, 2]), data=st.data())
def test_every_entry_is_taken_once(
    dealing: Callable[..., Deal], rows: list[list[int]], groups: int, k: int, data: st.DataObject
) -> None:
    """In rows one after the other, no bank twice, and as far ahead of another group as a queue lets."""
    ordered = data.draw(st.sampled_from([1, 3])) if dealing is deal_for_logits else 0
    indptr, index = np.cumsum([0, *map(len, rows)]), np.array([word for row in rows for word in row], np.int64)
    lengths = np.diff(indptr)
    dealt = dealing(lengths[:, None], groups)
    engine = engine_of(groups * k, (Mode(groups, k, 1),), data.draw(st.sampled_from([2, groups])))
    mode, banks = engine.modes[0], engine.copy_banks
    schedule = pack_shared(indptr, index, dealt, k, copies_of_takers(engine, mode), banks, ordered)
    entry = schedule.entry
    assert entry is not None and sorted(entry[entry >= 0].tolist()) == list(range(len(index)))
    assert not clashes(engine, mode, np.append(index, 0)[entry], entry >= 0)
    for group in range(groups):
        expected = [row for row in dealt.rows()[group] if row >= 0 or ordered]
        ends = np.cumsum(schedule.last[:, group]) - schedule.last[:, group]
        assert schedule.last[:, group].sum() == len(expected)
        for slot, taken in enumerate(entry[:, group * k : group * k + k]):
            for one in taken[taken >= 0]:
                row = expected[ends[slot]]
                assert row >= 0 and indptr[row] <= one < indptr[row + 1]
    assert schedule.slot_rows >= pack(lengths, dealt, k).slot_rows
    if ordered:
        ended = np.cumsum(schedule.last, axis=0)
        assert (ended.max(axis=1) - ended.min(axis=1)).max() <= ordered


def unshared(array: ArrayAccelerator, data: GraphData) -> ArrayAccelerator:
    """The same network, arranged in the same way, on units that share no table."""
    columns = [plan.aggregate.n for plan in array.plans if not plan.layer.second][:-1]
    engine = array.engine
    return fit(
        array.source,
        data,
        Arrangement(
            engine.units,
            columns,
            split=array.plans[-1].aggregate.k,
            beat_bits=engine.beat_bits,
            passes=array.plans[0].passes,
            results=engine.results,
        ),
    )


@pytest.mark.parametrize("seed", range(20))
def test_the_logits_are_those_of_units_that_share_none(seed: int) -> None:
    """Sums and maxima of random networks; in a stream no bank is asked for two words, which the reference checks."""
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    array = shared_array(rng, random_source(rng, 1 + seed % 3, data, heads=(1, 2)), data)
    encoded, alone = encode_array(array, data), encode_array(unshared(array, data), data)
    assert np.array_equal(reference.run(encoded), reference.run(alone))


def network(rng: np.random.Generator, data: GraphData, d: int = 16) -> ArrayNetwork:
    return random_source_of(rng, random_design(rng, 2, (GCN | {"d": d}, GCN)), data)


def test_slices_and_blocks_are_shared_too() -> None:
    rng = np.random.default_rng(2)
    data = random_graph(rng, 50, 30, 5, 150)
    source = network(rng, data)
    for parts in ({"slices": 2}, {"blocks": 2}):
        array = fit(source, data, Arrangement(8, (2,), shared=4, **parts))
        assert np.array_equal(reference.run(encode_array(array, data)), right(source, data))


def test_a_stream_that_asks_a_bank_twice_is_found() -> None:
    """The words 0 and 4 of a table of four banks; a word that both ask for, and an entry of the value 0, are right."""
    engine = engine_of(2, (Mode(2, 1, 1),), 2)
    index, one = np.array([[0, 4], [4, 4], [0, 4], [0, 5]]), np.ones((4, 2), np.int64)
    assert clashes(engine, engine.modes[0], index[:1], one[:1]) == 1
    assert clashes(engine, engine.modes[0], index[1:], np.array([[1, 1], [1, 0], [1, 1]])) == 0
    rng = np.random.default_rng(3)
    data = random_graph(rng, 40, 20, 5, 120)
    array = fit(network(rng, data), data, Arrangement(8, (1,)))
    encoded = encode_array(array, data)
    wrong = replace(array.engine, shared=8, table_words=16 * 512)
    with pytest.raises(AssertionError, match="no bank is asked for two words"):
        reference.Machine(wrong).execute(encoded.programme, encoded.regions)


def test_block_rams_by_hand() -> None:
    """16 units, two side by side: 16 tables of 9 block RAMs, or 2 of 16 banks of one each."""
    modes = (Mode(8, 1, 2), Mode(8, 2, 1), Mode(16, 1, 1))
    alone = Engine(16, 8, modes, 1, 9 * 512, 64, 1, 0, (0,), False, 28)
    shared = replace(alone, shared=8, table_words=16 * 512)
    assert engine_block_rams(alone) - engine_block_rams(shared) == 16 * 9 - 2 * 16
    found = engine_resources(shared)
    assert (found["dsp"], found["bram36"]) == (128.0, engine_block_rams(shared))
    assert found["lut"] > engine_resources(alone)["lut"], "two crossbars"
    assert Engine.of(shared.summary()) == shared and "shared" not in alone.summary()


def test_what_shared_tables_cannot_do_is_refused() -> None:
    rng = np.random.default_rng(4)
    data = random_graph(rng, 30, 20, 5, 90)
    gat = GCN | {"attention": "gat", "t_attn": 1, "d": 8}
    scored = random_source_of(rng, random_design(rng, 2, (gat, GCN)), data)
    with pytest.raises(UserError, match="an engine with attention shares no tables"):
        fit(scored, data, Arrangement(8, (1,), shared=2))
    with pytest.raises(UserError, match="other sources need other slot rows where units share tables"):
        edge_refill(encode_array(fit(network(rng, data), data, Arrangement(8, (1,), shared=2)), data))


def test_a_maximum_of_an_edge_of_the_coefficient_0_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    data = random_graph(rng, 30, 20, 5, 90)
    layers = (GCN | {"aggregation": "max", "d": 8}, GCN)
    source = random_source_of(rng, random_design(rng, 2, layers), data)
    array = fit(source, data, Arrangement(8, (1,), shared=2))
    zeros = np.zeros(len(data.sources), np.int64)
    monkeypatch.setattr("fgnas.hardware.array.encoding.coefficients", lambda *given: zeros)
    with pytest.raises(UserError, match="layer 0: an edge of a maximum has a coefficient that is rounded to 0"):
        encode_array(array, data)


def test_tables_are_shared_where_block_rams_are_few() -> None:
    """Never without a limit; with one the fastest that keeps it, which is faster than any that shares none. Where LUTs
    are limited, too, both limits are kept."""
    rng = np.random.default_rng(6)
    data = random_graph(rng, 900, 1_300, 5, 2_000)
    source = network(rng, data, 8)
    free = fastest(source, data, Room(64))
    assert free.engine.shared == 1
    limit = engine_block_rams(free.engine) / 2
    array = fastest(source, data, Room(64, limits={"bram36": limit}))
    assert array.engine.shared > 1 and engine_block_rams(array.engine) <= limit
    encoded = encode_array(array, data)
    assert np.array_equal(reference.run(encoded), right(source, data))
    many = fastest(source, data, Room(64, limits={"bram36": limit, "lut": 1e6}))
    assert many.engine.shared > 1 and total_cycles(encode_array(many, data)) <= total_cycles(encoded)
    luts = engine_resources(array.engine)["lut"]
    few = fastest(source, data, Room(64, limits={"bram36": limit, "lut": 0.6 * luts}))
    found = engine_resources(few.engine)
    assert found["lut"] <= 0.6 * luts and found["bram36"] <= limit
    assert np.array_equal(reference.run(encode_array(few, data)), right(source, data))
