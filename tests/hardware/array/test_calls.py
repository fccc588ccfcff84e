"""Buffer re-purposing off: the results of every call are what the undivided programme keeps as H or Z."""

import itertools
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from arrays import random_array, random_data, random_source, random_source_of, right, wide_source
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support import random_design, random_graph

from fgnas.errors import UserError
from fgnas.fixedpoint import Codes
from fgnas.hardware.array import reference
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.calls import CalledArray, EncodedCall, filled, fit_calls, laid_out
from fgnas.hardware.array.cycles import multiplications, total_cycles
from fgnas.hardware.array.encoded import EncodedArray
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.engine import LANES, MOST_ACTIVATION_WORDS, SHARED, Engine, Mode
from fgnas.hardware.array.halves import Half, Rows, halves_of
from fgnas.hardware.array.layers import ArrayNetwork
from fgnas.hardware.array.lowering import plan_layers, table_words
from fgnas.hardware.array.parts import parts_of
from fgnas.hardware.array.placing import fit, readout
from fgnas.hardware.array.programme import STREAMED, Activation, Operation, Target
from fgnas.tasks.nodes import GraphData
from fgnas.tasks.sampling import layer_graphs

ENGINE = Engine(
    units=2, bits=8, modes=(Mode(2, 1, 1),), tiles=2, table_words=64, own_words=64, bias_words=2, activation_words=1,
    shifts=(0, 1), maximum=True, sum_bits=20,
)  # fmt: skip


def half(**given: object) -> Half:
    """Rows 2 T0, T0 - T1 and nothing of a table of two rows, plain but for what is given."""
    rows = Rows(np.array([0, 1, 3, 3]), np.array([0, 0, 1]))
    table = np.array([[3, -2, 5], [1, 4, -7]])
    plain = {"name": "half 0", "layer": 0, "aggregates": False, "rows": rows, "value": np.array([2, 1, -1]),
             "table": table, "depth": 2, "columns": 3, "shift": 0, "bits": 8, "multiplications": 9}  # fmt: skip
    return Half(**plain | given)  # type: ignore[arg-type]


def called(one: Half) -> EncodedCall:
    ((part,),) = parts_of([one], 2, 1)
    return filled(laid_out(ENGINE, part, 0))


@pytest.mark.parametrize(("given", "expected"), [
    ({}, [[6, -4, 10], [2, -6, 12], [0, 0, 0]]),
    ({"bits": 4}, [[6, -4, 7], [2, -6, 7], [0, 0, 0]]),
    ({"shift": 1}, [[3, -2, 5], [1, -3, 6], [0, 0, 0]]),
    ({"bias": np.array([1, 0, -1])}, [[7, -4, 9], [3, -6, 11], [1, 0, -1]]),
    ({"bias": np.array([1, 0, -1]), "bias_fine": True}, [[22, -4, -6], [18, -6, -4], [16, 0, -16]]),
    ({"activation": Activation.RELU}, [[6, 0, 10], [2, 0, 12], [0, 0, 0]]),
    ({"bits": 3, "activation": Activation.TABLE, "activation_table": np.arange(8) * 3}, [[9, 12, 9], [6, 12, 9],
                                                                                         [0, 0, 0]]),
])  # fmt: skip
def test_a_call_by_hand(given: dict, expected: list) -> None:
    assert reference.run(called(half(**given))).tolist() == expected


def test_the_maximum_of_a_call_by_hand() -> None:
    """The second row is the maximum of T0 and -T1; there is no row without an entry."""
    rows = Rows(np.array([0, 1, 3]), np.array([0, 0, 1]))
    assert reference.run(called(half(rows=rows, maximum=True))).tolist() == [[6, -4, 10], [3, -2, 7]]


def test_the_programme_of_a_call_by_hand() -> None:
    """Two loads and a stream; what it loads fits the engine, and it writes a beat for each word of each row."""
    call = called(half(bias=np.array([1, 0, -1])))
    assert [(Operation(one.operation), Target(one.target), one.count) for one in call.programme] == [
        (Operation.LOAD, Target.TABLE, 2), (Operation.LOAD, Target.BIAS, 1), (Operation.SPARSE, Target.LOGITS, 3),
    ]  # fmt: skip
    assert call.phase_names == ["fetch", "load table", "load bias", "half 0"]
    assert call.multiplications == [0, 0, 0, 9]
    # Three descriptors of two beats, a beat each to load two words, and three slot rows of two entries, two in a beat.
    assert (call.bytes_read, call.bytes_written) == (16 * (6 + 1 + 1 + 2), 16 * 4)
    ((part,),) = parts_of([half(depth=65)], 2, 1)
    with pytest.raises(UserError, match="half 0: 65 words are loaded into table, the engine has 64"):
        laid_out(ENGINE, part, 0)


def kept(encoded: EncodedArray) -> list[Codes]:
    """[N, features] H and Z of every layer, and the logits, in the order in which an undivided programme makes them;
    heads that are averaged side by side."""
    machine = reference.Machine(encoded.engine)
    made: dict[tuple[int, int], list[Codes]] = defaultdict(list)
    for descriptor, layer in zip(encoded.programme, encoded.layers, strict=True):
        machine.execute([descriptor], encoded.regions)
        if not descriptor.computes or descriptor.target == Target.LOGITS:
            continue
        plan, combines = encoded.accelerator.plans[layer], descriptor.target == Target.TABLE
        n, word = plan.aggregate.n, np.arange(plan.tiles * plan.aggregate.n)
        if combines:
            row = encoded.dealt.combined(layer).position[:, None]
            found = machine.table[word % n, descriptor.target_base + row * plan.pitch + word // n]
        else:
            deal = encoded.dealt.layers[layer]
            place = descriptor.target_base + deal.ordinal[:, None] * plan.row_tiles + word // n
            found = machine.own[deal.group[:, None] * n + word % n, place]
        made[layer, not combines].append(found.reshape(len(found), -1))
    results = []
    for (layer, aggregated), parts in sorted(made.items()):
        plan = encoded.accelerator.plans[layer]
        width = plan.layer.features // plan.averaged
        if plan.averaged > 1 and not aggregated:
            results.append(np.concatenate([part[:, :width] for part in parts], axis=1))
        else:
            results.append(np.concatenate(parts, axis=1)[:, :width])
    return [*results, encoded.read_logits(encoded.logit_region(machine.logits))]


def results_of(array: CalledArray) -> list[Codes]:
    """The results of every half, of all of its parts."""
    each, results = array.chain(), []
    for parts in array.parts:
        half = parts[0].half
        results.append(np.zeros((half.rows.count, half.columns), np.int64))
        for part in parts:
            results[-1][part.chunk.here, part.columns[part.lanes]] = next(each)[1][:, part.lanes]
    return results


def assert_same(source: ArrayNetwork, data: GraphData, encoded: EncodedArray, rng: np.random.Generator) -> CalledArray:
    """Any number of units, some of which may share a table, or work on a row together; and parts of any width."""
    units, tiles, grouped = int(rng.choice([1, 2, 3, 5, 8, 16, 32])), int(rng.integers(1, 9)), bool(rng.integers(2))
    shared = int(rng.choice([one for one in SHARED if units % one == 0]))
    array = fit_calls(source, data, units, tiles, encoded.engine.beat_bits, shared=shared)
    array = array.in_groups() if grouped else array
    found, expected = results_of(array), kept(encoded)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one, other)
    calls = [call for call, _ in array.chain()]
    assert sum(sum(call.multiplications) for call in calls) == multiplications(encoded)
    for call, before in zip(calls, array.laid_out(), strict=True):
        assert call.programme == before.programme, "no value changes a programme"
        assert total_cycles(call) == total_cycles(before)
        for region in STREAMED:
            read = sum(one.beats for one in call.programme if one.region == region)
            assert len(call.regions[region.name.lower()]) == read
        assert len(call.logit_region(np.zeros((call.logit_rows * call.part.tiles, LANES)))) == (
            call.programme[-1].result_beats
        )
    return array


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 100_000), layers=st.integers(1, 3))
def test_every_call_gives_what_the_undivided_programme_keeps(seed: int, layers: int) -> None:
    """Sums, means and maxima, with coefficients and without; hidden heads, and heads that are averaged; every
    activation; the undivided programme in any passes and with any columns side by side."""
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    source = random_source(rng, layers, data, ("add", "mean", "max"), heads=(1, 2, 4))
    assert_same(source, data, encode_array(random_array(rng, source, data), data), rng)


def test_units_work_together_on_few_rows() -> None:
    """Sixteen units have groups of four for three rows, and take a quarter of the slots; a maximum has a unit a row."""
    rng = np.random.default_rng(7)
    data = random_graph(rng, 3, 40, 4, 2)
    for aggregation, k in (("add", 4), ("max", 1)):
        source = random_source(rng, 1, data, (aggregation,), ("constant",))
        alone = fit_calls(source, data, 16, 1)
        groups = alone.in_groups()
        assert np.array_equal(alone.logits(), groups.logits())
        orders = [[call.order for call in array.laid_out()] for array in (alone, groups)]
        assert {one.mode for one in orders[0]} == {Mode(16, 1, 1)}
        assert [one.mode.k for one in orders[1]][:1] == [4] and orders[1][-1].mode.k == k
        most = [np.diff(one.part.chunk.rows.indptr).max(initial=1) for one in groups.laid_out()]
        assert [one.schedule.slot_rows for one in orders[1]] == [-(-longest // one.mode.k) for longest, one in
                                                                 zip(most, orders[1], strict=True)]  # fmt: skip
        assert groups.cycles < alone.cycles


KINDS = (("gat", "gcn"), ("linear", "gat-sym"), ("cos", "gat"), ("gene-linear", "cos", "constant"))
"""Attentions of networks most of whose layers have scores."""


def logits_of(array: CalledArray) -> Codes:
    """The logits, and no call whose prediction depends on values."""
    calls = [call for call, _ in array.chain()]
    for call, before in zip(calls, array.laid_out(), strict=True):
        assert call.programme == before.programme and total_cycles(call) == total_cycles(before)
    assert len({call.part.name for call in calls}) == len(calls), "names differ"
    return array.logits()


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 100_000), layers=st.integers(1, 3), kind=st.sampled_from(KINDS))
def test_scores_in_calls(seed: int, layers: int, kind: tuple[str, ...]) -> None:
    """The logits of the undivided programme, and its multiplications: scores of nodes and of edges, in tables of any
    size that holds the largest row, down to a row a call."""
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    source = random_source(rng, layers, data, ("add", "mean", "max"), kind, heads=(1, 2, 4))
    assume(table_words(plan_layers(source, Arrangement(4))) <= MOST_ACTIVATION_WORDS)  # those of all layers together
    encoded = encode_array(fit(source, data, Arrangement(4)), data)
    units, tiles = int(rng.choice([1, 2, 3, 5, 8])), int(rng.integers(1, 9))
    array = fit_calls(source, data, units, tiles, encoded.engine.beat_bits, words=int(rng.choice([1000, 16_384])))
    assert np.array_equal(logits_of(array), reference.run(encoded))
    assert sum(sum(call.multiplications) for call in array.laid_out()) == multiplications(encoded)


def largest_row(source: ArrayNetwork, data: GraphData, tiles: int) -> int:
    """The fewest words of a table that hold what any single row names."""
    words = 1
    for half in halves_of(source, data):
        for first, end in itertools.pairwise(half.rows.indptr):
            named = len(np.unique(half.rows.index[first:end]))
            words = max(words, max(1, named) * (min(tiles, half.words) + (half.heads is not None)))
    return words


@pytest.mark.parametrize("seed", range(20))
def test_tables_of_single_rows(seed: int) -> None:
    """As few words as the largest row takes: every half is divided, and none needs more."""
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    kind = (*KINDS, ("gcn", "constant"))[seed % 5]
    source = random_source(rng, 2, data, ("add", "mean", "max"), kind, heads=(1, 2, 4))
    words = largest_row(source, data, 1)
    array = fit_calls(source, data, 3, 1, words=words)
    assert max(part.table_words for parts in array.parts for part in parts) <= words
    assert np.array_equal(logits_of(array), reference.run(encode_array(fit(source, data, Arrangement(4)), data)))


def test_chunks_by_hand() -> None:
    """Rows that name 1 2, 2 3, 3, 0 and nothing, of a table of two words: three calls of as few words as they name."""
    rows = Rows(np.array([0, 2, 4, 5, 6, 6]), np.array([1, 2, 2, 3, 3, 0]))
    table = np.arange(12).reshape(4, 3)
    one = half(rows=rows, value=np.ones(6, np.int64), table=table, depth=4, multiplications=18)
    ((*parts,),) = parts_of([one], 1, 1, 2)
    found = [(part.name, part.chunk.named.tolist(), part.chunk.rows.index.tolist()) for part in parts]
    assert found == [
        ("half 0, rows 1 to 1", [1, 2], [0, 1]), ("half 0, rows 2 to 3", [2, 3], [0, 1, 1]),
        ("half 0, rows 4 to 5", [0], [0]),
    ]  # fmt: skip
    assert [part.multiplications for part in parts] == [6, 9, 3]
    made = [reference.run(filled(laid_out(ENGINE, part, 0))).tolist() for part in parts]
    assert made == [[[9, 11, 13]], [[15, 17, 19], [9, 10, 11]], [[0, 1, 2], [0, 0, 0]]]
    with pytest.raises(UserError, match="half 0: row 1 names 2 rows of a table that holds 1 at most: choose fewer"):
        parts_of([one], 1, 1, 1)


@pytest.mark.parametrize("most", [1, 20, 70])
def test_a_call_has_few_entries(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless a row has more; the logits stay what they are."""
    monkeypatch.setattr("fgnas.hardware.array.parts.ENTRIES", most)
    monkeypatch.setattr("fgnas.hardware.array.calls.MANY_ENTRIES", most - 1)
    rng = np.random.default_rng(most)
    data = random_graph(rng, 40, 20, 5, 90)
    source = random_source(rng, 2, data, ("add", "max"), ("gcn", "constant"))
    array = fit_calls(source, data, 3, 2)
    assert len(array.parts[0]) > 1
    for part in itertools.chain(*array.parts):
        assert len(part.chunk.rows.index) <= most or part.chunk.rows.count == 1
    assert np.array_equal(logits_of(array), reference.run(encode_array(fit(source, data, Arrangement(4)), data)))


def test_messages_by_hand() -> None:
    """A row of two sources with equal scores gets their mean, of another a source alone; the scores of a node are the
    sum of its two features as a source, and 0 as a target."""
    rng = np.random.default_rng(0)
    data = random_graph(rng, 3, 4, 2, 0)
    data = replace(data, indptr=np.array([0, 2, 3, 4]), sources=np.array([1, 0, 1, 2]))
    last = {"attention": "gat", "aggregation": "add", "k": 1, "t_attn": 1, "t_aggr": 1, "ai": 3, "af": 2, "wi": 3,
            "wf": 2}  # fmt: skip
    source = random_source_of(rng, random_design(rng, 1, (last,)), data)
    combine, score, aggregate = halves_of(source, data)
    assert (score.name, score.columns, score.depth) == ("score 0", LANES, 2)
    h = np.array([[3, 5], [5, 3], [-7, 2]])
    scores = np.zeros((3, LANES), np.int64)
    scores[:, 0] = h.sum(axis=1)
    zero = np.zeros(2, np.int64)
    known = replace(aggregate.after([h, scores]), bias=zero)
    ((part,),) = parts_of([known], 1, 3)
    engine = fit_calls(source, data, 2).engine
    assert engine.softmax is not None and part.head_tiles == 1 and part.pitch == 2
    made = reference.run(filled(laid_out(engine, part, 4)))
    assert made.tolist() == [[4 << 4, 4 << 4], [5 << 4, 3 << 4], [-7 << 4, 2 << 4]]


def test_many_classes() -> None:
    """Rows of logits come in parts where they are more than eight words, with scores and without."""
    rng = np.random.default_rng(1)
    data = random_graph(rng, 20, 6, 100, 30)
    for attention in ("gcn", "gat", "cos", "gene-linear"):
        source = random_source(rng, 1, data, ("add",), (attention,))
        array = fit_calls(source, data, 4, 4)
        assert len(array.parts[-1]) == 4
        wanted = right(source, data)
        assert np.array_equal(array.logits(), wanted)


@pytest.mark.parametrize("seed", range(4))
def test_second_products_and_heads_with_a_maximum(seed: int) -> None:
    """Layers that are two of the array's."""
    rng = np.random.default_rng(seed)
    data = random_graph(rng, 30, 12, 5, 60)
    hidden = {"attention": "constant", "aggregation": "mlp", "t_attn": None, "k": 1, "d": 12}
    last = {"attention": "gcn", "aggregation": "max", "t_attn": None, "k": 4, "ai": 1, "af": 4}
    source = random_source_of(rng, random_design(rng, 2, (hidden, last)), data)
    array = assert_same(source, data, encode_array(fit(source, data, Arrangement(4)), data), rng)
    names = [parts[0].half.name for parts in array.parts]
    assert names == ["combine 0", "aggregate 0", "second product 0", "return 0", "combine 1", "aggregate 1",
                     "mean of heads 1", "return 1"]  # fmt: skip


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 100_000))
def test_wide_numbers(seed: int) -> None:
    """Up to 16 bits, which results have room for; entries are wider, too."""
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    source = wide_source(rng, 2, data, heads=(1, 2))
    assert_same(source, data, encode_array(random_array(rng, source, data), data), rng)


def test_layers_with_graphs_of_their_own() -> None:
    rng = np.random.default_rng(2)
    data = random_graph(rng, 40, 12, 5, 90)
    source = random_source(rng, 2, data)
    first, *further = layer_graphs(data, (0.5, 0.1))
    array = fit_calls(source, first, 4, further=further)
    *_, (_, logits) = array.chain()
    assert np.array_equal(
        logits, reference.run(encode_array(fit(source, first, Arrangement(4), further), first, further))
    )


def test_one_engine_runs_the_whole_and_the_calls() -> None:
    """An engine with the mode of the last aggregation, and tables and shifts for both."""
    rng = np.random.default_rng(7)
    data = random_graph(rng, 50, 20, 6, 120)
    source = random_source(rng, 2, data)
    whole, apart = fit(source, data, Arrangement(4)), fit_calls(source, data, 4)
    both = replace(whole.engine, table_words=max(whole.engine.table_words, apart.engine.table_words),
                   tiles=max(whole.engine.tiles, apart.engine.tiles))  # fmt: skip
    assert set(apart.engine.modes) <= set(both.modes) and set(apart.engine.shifts) <= set(both.shifts)
    *_, (_, logits) = apart.on(both).chain()
    assert np.array_equal(logits, reference.run(encode_array(whole.on(both), data)))


def test_no_nodes() -> None:
    rng = np.random.default_rng(3)
    data = random_graph(rng, 5, 6, 3, 4)
    source = random_source(rng, 2, data)
    nobody = replace(
        data, features=sp.csr_matrix((0, data.width_in), dtype=np.float32), indptr=np.zeros(1, np.int64),
        **{name: getattr(data, name)[:0] for name in ("sources", "labels", "train", "val", "test")},
    )  # fmt: skip
    for call, results in fit_calls(source, nobody, 2).chain():
        assert not call.programme and results.shape == (0, call.part.width)


def test_parts_have_all_columns() -> None:
    """20 columns are three words: in parts of two words one of two, and one of the last four columns."""
    wide = half(columns=20, table=np.zeros((2, 20), np.int64))
    first, last = parts_of([wide, half()], 2, 1)
    assert [(part.name, part.columns.tolist(), part.tiles) for part in first] == [
        ("half 0, part 1", list(range(16)), 2), ("half 0, part 2", [16, 17, 18, 19, -1, -1, -1, -1], 1),
    ]  # fmt: skip
    assert [(part.name, part.width) for part in last] == [("half 0", 3)]


def test_readouts_are_refused() -> None:
    rng = np.random.default_rng(1)
    data = random_graph(rng, 20, 6, 3, 30)
    plain = random_source(rng, 2, data, ("add",), ("constant",))
    graphs = readout(data, np.arange(data.nodes) // 4)
    with pytest.raises(UserError, match="a readout has other rows than the layer before it"):
        fit_calls(plain, data, 4, further=(graphs,))


def test_the_engine_is_as_large_as_its_largest_call() -> None:
    """Each half takes the table alone: W, or H of all rows."""
    rng = np.random.default_rng(4)
    data = random_graph(rng, 700, 90, 5, 900)
    hidden = {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1, "d": 16}
    last = {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1}
    source = random_source_of(rng, random_design(rng, 2, (hidden, last)), data)
    halves = halves_of(source, data)
    assert [(one.depth, one.columns) for one in halves] == [(90, 16), (700, 16), (16, 5), (700, 5)]
    assert (fit_calls(source, data, 4).engine.table_words, fit_calls(source, data, 4).engine.own_words) == (1536, 64)
    assert fit_calls(source, data, 4, 1).engine.table_words == 1024
    assert [len(parts) for parts in fit_calls(source, data, 4, 1).parts] == [2, 2, 1, 1]
    assert [len(list(group)) for _, group in itertools.groupby(
        list(fit_calls(source, data, 4, 1).laid_out()), lambda call: id(call.order)
    )] == [2, 2, 1, 1]  # the parts of a half have the same slot rows
