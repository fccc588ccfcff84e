"""The programme's integer reference against the pipeline's: the same network, the same logits."""

from dataclasses import replace

import numpy as np
import pytest
from arrays import (
    EXACT,
    SCORED,
    SCORES_OF_ALL_KINDS,
    random_array,
    random_data,
    random_source,
    random_source_of,
    right,
    shared_array,
    wide_source,
)
from support import plain_layer, random_design, random_graph, random_network

from fgnas.activations import NAMES, PLAIN
from fgnas.design import PAIRS, Design
from fgnas.errors import UserError
from fgnas.fixedpoint import FixedPoint, shift_right_even
from fgnas.hardware import wire
from fgnas.hardware.array import reference
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.cycles import multiplications, multiplications_by_phase, phase_names
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.engine import Engine, Softmax, joined
from fgnas.hardware.array.entries import coefficients, with_least
from fgnas.hardware.array.layers import ArrayNetwork, array_network
from fgnas.hardware.array.lowering import lower
from fgnas.hardware.array.placing import fit
from fgnas.hardware.array.programme import Region, Target
from fgnas.hardware.array.refill import feature_refill
from fgnas.hardware.integer import interpreter
from fgnas.hardware.integer.graph import integer_graph
from fgnas.hardware.integer.scores.pair import PairScores
from fgnas.hardware.integer.scores.product import ProductScores
from fgnas.hardware.shape import GraphShape
from fgnas.network import LayerParameters, Network
from fgnas.networks.calibration import tied
from fgnas.tasks.nodes import build


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("attentions", [("gcn", "constant"), SCORED, SCORES_OF_ALL_KINDS, ("cos",), PAIRS])
def test_logits_are_those_of_the_definition(attentions: tuple[str, ...], seed: int) -> None:
    """One to three layers, sums and maxima, of one or two heads, on 1 to 16 units in random modes; without scores, with
    gat in most layers, with scores of all kinds, with those of edges alone."""
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    source = random_source(rng, 1 + seed % 3, data, attentions=attentions)
    encoded = encode_array(random_array(rng, source, data), data)
    assert np.array_equal(reference.run(encoded), right(source, data))


@pytest.mark.parametrize("seed", range(24))
def test_wide_numbers_have_the_logits_of_the_definition(seed: int) -> None:
    """Numbers of 11 to 16 bits beside narrow weights, in random modes; in slices and in blocks, too."""
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    source = wide_source(rng, 1 + seed % 3, data, (1, 2))
    array = random_array(rng, source, data)
    assert array.engine.wide and array.engine.entry.bits == 31
    slices = 2 if seed % 4 == 1 else 1
    alone = not any(plan.averaged > 1 for plan in array.plans)
    if slices > 1 or (alone and seed % 4 == 2):
        array = fit(
            source,
            data,
            Arrangement(
                array.engine.units,
                [plan.aggregate.n for plan in array.plans[:-1]],
                slices=slices if array.plans[0].averaged == 1 else 1,
                blocks=1 if slices > 1 else 2,
            ),
        )
    encoded = encode_array(array, data)
    assert np.array_equal(reference.run(encoded), right(source, data))


def test_an_argument_looks_up_its_table_with_ten_bits() -> None:
    """tanh of numbers of 16 bits, 12 of them behind the point: by hand, U has ten bits, 6 behind the point.

    A single node with itself as neighbour: X = 1, W = 1.5, so that Y = 1.5; with the bias 7 / 128 it is 1.5546875,
    which is rounded from the sum of 1.5 and 4 / 64 (a tie, to even): 100 / 64.
    """
    wide = {"ai": 3, "af": 12, "wi": 3, "wf": 12, "attention": "constant", "aggregation": "add"}
    design = Design(schema=1, dsp=0, layers=(
        plain_layer(**wide, d=1, activation="tanh"), plain_layer(**wide, d=None, activation=None, t_act=None)))
    one = np.ones(1, np.float32)
    network = Network((LayerParameters(1.5 * one.reshape(1, 1, 1), 7 / 128 * one, None, None, 0, 0, 0),
                       LayerParameters(one.reshape(1, 1, 1), 0 * one, None, None, 0, 0, 0)), 0)  # fmt: skip
    everyone = np.ones(1, bool)
    data = build("one", one.reshape(1, 1), np.zeros((2, 0), np.int64), np.zeros(1, np.int64), everyone, everyone,
                 everyone, 1)  # fmt: skip
    source = array_network(design, network, GraphShape.of(data))
    first, last = source.layers
    assert (first.apply.argument, first.apply.bias.tolist()) == (FixedPoint(10, 6), [4])
    assert first.apply.table is not None and len(first.apply.table) == 1024
    assert (first.aggregate_shift, last.aggregate_shift, source.logit_format) == (6, 0, FixedPoint(16, 12))
    expected = [[round(np.tanh(100 / 64) * 2**12)]]
    array = fit(source, data, Arrangement(1))
    assert [plan.activation_words for plan in array.plans] == [128, 0]
    encoded = encode_array(array, data)
    assert [one.bits for one in encoded.programme[-3:]] == [10, 16, 16] and not encoded.programme[-1].bias_fine
    assert reference.run(encoded).tolist() == right(source, data).tolist() == expected


def test_scores_of_narrow_features_on_wide_numbers() -> None:
    """Weights of 16 bits beside features of 8, and a layer of 16 bits; means count up to 512 entries."""
    rng = np.random.default_rng(3)
    data = random_graph(rng, 40, 12, 5, 100)
    narrow, wide = {"ai": 3, "af": 4, "wi": 3, "wf": 12, "t_out": 1}, {"ai": 3, "af": 12, "wi": 3, "wf": 12, "t_out": 1}
    for attention in SCORES_OF_ALL_KINDS[:-1]:
        scored = {"attention": attention, "t_attn": 1 if attention == "gat" else None, **narrow}
        source = random_source_of(rng, random_design(rng, 3, (
            scored | {"d": 8, "k": 2, "aggregation": "mean"},
            {"attention": "gcn", "t_attn": None, "aggregation": "add", "d": 12, "k": 1, **wide},
            scored | {"aggregation": "max", "k": 1})), data)  # fmt: skip
        array = fit(source, data, Arrangement(4, (2, 1)))
        assert array.engine.wide and array.engine.softmax is not None
        encoded = encode_array(array, data)
        assert np.array_equal(reference.run(encoded), right(source, data))


@pytest.mark.parametrize("attention", ["gat", "cos", "gene-linear"])
@pytest.mark.parametrize("seed", range(20))
def test_means_of_an_attention_are_those_of_the_pipeline(seed: int, attention: str) -> None:
    """Beside sums and maxima: a row's coefficients are counted as often as it has entries."""
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    source = random_source(rng, 1 + seed % 3, data, ("mean", "mean", "add", "max"), (attention,))
    array = random_array(rng, source, data)
    assert array.engine.softmax is not None
    assert array.engine.softmax.mean == any(layer.mean for layer in source.layers)
    encoded = encode_array(array, data)
    assert np.array_equal(reference.run(encoded), right(source, data))


def test_a_value_counts_by_hand() -> None:
    """Bit 0: whether; the others: how often more than once. The largest is 512, all ten bits."""
    values = np.array([0, 1, 2, 3, 5, 339, -1])
    assert Softmax(3, 5, 20).counted(values).tolist() == [0, 1, 0, 1, 1, 1, 1]
    assert Softmax(3, 5, 20, True).counted(values).tolist() == [0, 1, 0, 2, 3, 170, 512]


def test_a_mean_of_an_attention_needs_an_engine_for_it_and_512_messages_at_most() -> None:
    rng = np.random.default_rng(5)
    scored = {"attention": "gat", "t_attn": 1, "aggregation": "mean", "k": 1}
    design = random_design(rng, 1, (scored,))
    for edges, fits in ((500, True), (600, False)):
        data = random_graph(rng, 1, 9, 5, 0)
        full = replace(data, indptr=np.array([0, edges]), sources=np.zeros(edges, np.int64))
        source = random_source_of(rng, design, full)
        if not fits:
            with pytest.raises(UserError, match="layer 0: a mean with scores has 512 messages at most"):
                fit(source, full, Arrangement(2))
            continue
        array = fit(source, full, Arrangement(2))
        assert np.array_equal(reference.run(encode_array(array, full)), right(source, full))
        assert array.engine.softmax is not None
        with pytest.raises(UserError, match="a mean with scores, which the engine does not offer"):
            lower(source, replace(array.engine, softmax=replace(array.engine.softmax, mean=False)))


@pytest.mark.parametrize("attention", ["gat", "cos", "gene-linear"])
@pytest.mark.parametrize("aggregation", EXACT)
def test_groups_that_idle_before_a_row_repeat_no_message(aggregation: str, attention: str) -> None:
    """Two groups, one with a hub: the other would send logits too far ahead."""
    rng = np.random.default_rng(2)
    data = random_graph(rng, 400, 9, 5, 500)
    ends = np.stack([rng.integers(0, 400, 2000), np.where(rng.random(2000) < 0.6, 0, rng.integers(0, 400, 2000))])
    given = np.concatenate([np.stack([data.sources, data.targets]), ends], axis=1)
    everyone = np.ones(400, bool)
    data = build("random", data.features, given, data.labels, everyone, everyone, everyone, 5)
    scored = {"attention": attention, "t_attn": 1 if attention == "gat" else None, "k": 1, "aggregation": aggregation}
    source = random_source_of(rng, random_design(rng, 1, (scored,)), data)
    encoded = encode_array(fit(source, data, Arrangement(2)), data)
    schedule = encoded.schedules[len(encoded.programme) - 1]
    working = schedule.ordinal >= 0
    assert (~working & (np.cumsum(working[::-1], axis=0)[::-1] > 0)).any(), "a group idles before its end"
    assert np.array_equal(reference.run(encoded), right(source, data))


@pytest.mark.parametrize("seed", range(20))
def test_slices_change_no_logit(seed: int) -> None:
    """W in two slices, or in more, the last of which may have fewer columns of X, or none of a row; in any passes."""
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    source = random_source(rng, 1 + seed % 3, data, attentions=SCORED if seed % 2 else ("gcn", "constant"))
    whole = random_array(rng, source, data)
    slices, first = 2 if seed % 4 else min(6, data.width_in), whole.plans[0]
    array = fit(
        source,
        data,
        Arrangement(
            whole.engine.units,
            [plan.aggregate.n for plan in whole.plans[:-1]],
            split=whole.plans[-1].aggregate.k,
            beat_bits=whole.engine.beat_bits,
            passes=first.passes,
            results=whole.engine.results,
            slices=slices,
        ),
    )
    assert array.plans[0].weight_words < first.weight_words and array.on(array.engine).plans[0].slices == slices
    encoded = encode_array(array, data)
    assert np.array_equal(reference.run(encoded), right(source, data))
    assert sum(multiplications_by_phase(encoded)) == multiplications(encoded) or first.passes > 1
    assert len(set(phase_names(encoded))) == len(encoded.programme) + 1
    with pytest.raises(UserError, match="for which the engine keeps no partial sums"):
        array.on(whole.engine)


@pytest.mark.parametrize("seed", range(24))
def test_blocks_change_no_logit(seed: int) -> None:
    """H in two blocks, or in more, the last of which may have fewer rows, of sums and means; in any passes."""
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    source = random_source(rng, 1 + seed % 3, data, ("add", "mean") if seed % 2 else ("add",))
    whole = random_array(rng, source, data)
    blocks, first = 2 + seed % 4, whole.plans[0]
    array = fit(
        source,
        data,
        Arrangement(
            whole.engine.units,
            [plan.aggregate.n for plan in whole.plans[:-1]],
            split=whole.plans[-1].aggregate.k,
            beat_bits=whole.engine.beat_bits,
            passes=first.passes,
            results=whole.engine.results,
            blocks=blocks,
        ),
    )
    assert array.on(array.engine).plans[0].blocks == blocks
    encoded, before = encode_array(array, data), encode_array(whole, data)
    assert np.array_equal(reference.run(encoded), reference.run(before))
    assert sum(multiplications_by_phase(encoded)) == multiplications(encoded) or first.passes > 1
    assert len(set(phase_names(encoded))) == len(encoded.programme) + 1
    rows = [one.limit for one in encoded.programme if one.region == Region.EDGES]
    whole_rows = [one.limit for one in before.programme if one.region == Region.EDGES]
    assert max(rows) <= max(whole_rows) and (data.nodes < 2 * whole.engine.units or max(rows) < max(whole_rows))


@pytest.mark.parametrize("shares", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_a_maximum_in_blocks_is_the_maximum(seed: int, shares: bool) -> None:
    """Rows with no entry in some block, or in none, beside sums; in any passes, with tables that units share, too."""
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    source = random_source(rng, 1 + seed % 3, data, ("max", "max", "add"))
    whole = (shared_array if shares else random_array)(rng, source, data)
    blocks = 2 + seed % 4
    array = fit(
        source,
        data,
        Arrangement(
            whole.engine.units,
            [plan.aggregate.n for plan in whole.plans[:-1]],
            split=whole.plans[-1].aggregate.k,
            beat_bits=whole.engine.beat_bits,
            passes=whole.plans[0].passes,
            results=whole.engine.results,
            blocks=blocks,
            shared=whole.engine.shared,
        ),
    )
    encoded = encode_array(array, data)
    assert np.array_equal(reference.run(encoded), right(source, data))
    assert sum(multiplications_by_phase(encoded)) == multiplications(encoded) or whole.plans[0].passes > 1


def test_the_least_row_by_hand() -> None:
    """Two nodes on a unit, each alone in its block and with itself as its only neighbour, whose feature is negative.

    Node 1 has no entry in the block of node 0: 0 in its place would be larger than its own -3 and -5.
    """
    rows, entry = with_least(np.array([0, 0, 2]), np.array([2, 1, 3, 0]))
    assert (rows.tolist(), entry.tolist()) == ([0, 0, 1, 2], [0, 1, -1, 2])
    data = build("two", np.array([[3.0], [5.0]]), np.zeros((2, 0), np.int64), np.arange(2), *(np.ones(2, bool),) * 3, 2)
    layer = plain_layer(d=None, activation=None, t_act=None, aggregation="max", ai=6, wi=2)  # 8 bits a value
    parameters = LayerParameters(np.full((1, 1, 2), -1.0, np.float32), np.zeros(2, np.float32))
    design = Design(schema=1, layers=(layer,), dsp=0)
    source = array_network(design, Network((parameters,), 0), GraphShape.of(data), "two")
    encoded = encode_array(fit(source, data, Arrangement(1, blocks=2)), data)
    words = encoded.accelerator.image("weight")[0]
    assert words.shape == (4, 8) and np.all(words[3] == -128), "W, and in front of H the least row of 8 bits"
    aggregated = [one for one in encoded.programme if one.region == Region.EDGES]
    assert [(one.table_base, one.limit, one.accumulate) for one in aggregated] == [(3, 2, 0), (3, 2, 1)]
    assert np.array_equal(reference.run(encoded), right(source, data))
    assert np.all(reference.run(encoded) < 0)


def test_what_has_no_blocks_is_refused() -> None:
    """Scores, and W in slices, whose partial sums are in the same memory."""
    rng = np.random.default_rng(2)
    data = random_graph(rng, 20, 9, 5, 40)
    with pytest.raises(UserError, match="layer 0: messages with scores have their rows of H in one block"):
        fit(random_source(rng, 2, data, ("add",), ("gat",)), data, Arrangement(4, blocks=2))
    source = random_source(rng, 2, data, ("add",))
    with pytest.raises(UserError, match="in one where W comes in slices: not 2 with 3"):
        fit(source, data, Arrangement(4, slices=3, blocks=2))
    with pytest.raises(UserError, match="streams are refilled where W and H come whole"):
        feature_refill(encode_array(fit(source, data, Arrangement(4, blocks=2)), data))


@pytest.mark.parametrize(
    ("d", "heads", "units", "columns"), [(4, 8, 8, 8), (8, 8, 16, 4), (4, 8, 12, 2), (16, 4, 6, 2)]
)
def test_heads_are_dealt_to_units_whole(d: int, heads: int, units: int, columns: int) -> None:
    """A head has less than a word, one word or two, in two hidden layers."""
    rng = np.random.default_rng(d)
    data = random_graph(rng, 40, 9, 5, 90)
    scored = {"attention": "gat", "t_attn": 1}
    design = random_design(rng, 3, (scored | {"d": d, "k": heads, "aggregation": "add"},
                                    scored | {"d": 3, "k": 2, "aggregation": "max"},
                                    scored | {"k": 1, "aggregation": "add"}))  # fmt: skip
    source = random_source_of(rng, design, data)
    array = fit(source, data, Arrangement(units, (columns, 1)))
    assert array.plans[0].tiles == heads // columns * -(-d // 8)
    encoded = encode_array(array, data)
    assert np.array_equal(reference.run(encoded), right(source, data))


def test_attention_needs_whole_heads_and_edges_to_the_nodes_themselves() -> None:
    rng = np.random.default_rng(4)
    data = random_graph(rng, 20, 9, 5, 40)
    scored = {"attention": "gat", "t_attn": 1, "aggregation": "add"}

    def source(heads: int) -> ArrayNetwork:
        layers = (scored | {"d": 8, "k": heads}, scored | {"k": 1})
        return random_source_of(rng, random_design(rng, 2, layers), data)

    for heads, units, columns, message in (
        (8, 8, 1, "a unit holds the scores of 4 heads, not of 8"), (2, 8, 4, "2 heads not in 4 units side by side"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=message):
            fit(source(heads), data, Arrangement(units, (columns,)))
    two = source(2)
    with pytest.raises(UserError, match="the largest score cannot be split"):
        fit(two, data, Arrangement(8, (2,), split=2))
    array = fit(two, data, Arrangement(8, (2,)))
    with pytest.raises(UserError, match="which the engine does not offer"):
        lower(two, replace(array.engine, softmax=None), Arrangement(1, (2,)))
    for attention in ("gat-sym", "cos", "gene-linear"):
        turned = tuple(layer.model_copy(update={"attention": attention, "t_attn": None}) for layer in two.design.layers)
        design = two.design.model_copy(update={"layers": turned})
        with pytest.raises(UserError, match=f"attention {attention}, which the engine does not offer"):
            lower(
                random_source_of(rng, design, data), replace(array.engine, activation_words=256), Arrangement(1, (2,))
            )
    assert array.engine.softmax is not None
    with pytest.raises(UserError, match=r"needs \d+ exponentials"):
        short = replace(array.engine.softmax, words=array.engine.softmax.words - 1)
        lower(two, replace(array.engine, softmax=short), Arrangement(1, (2,)))
    bare = replace(data, indptr=np.arange(data.nodes + 1), sources=np.roll(np.arange(data.nodes), 1))
    with pytest.raises(UserError, match="layer 1: attention needs an edge of every node to itself"):
        encode_array(array, data, (bare,))


@pytest.mark.parametrize("seed", range(12))
def test_every_layer_may_have_its_own_graph(seed: int) -> None:
    """The logits of the integer network on these graphs; the cycles are those of each layer's edges."""
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    source = random_source(rng, 2 + seed % 2, data)
    whole = random_array(rng, source, data)
    deep = replace(whole, engine=replace(whole.engine, table_words=1 << 14, own_words=1 << 14))
    limit = max(1, source.shape.degree_capacity // 2)
    further = []
    for _ in source.layers[1:]:
        degrees = rng.integers(1, limit + 1, data.nodes)
        indptr = np.concatenate([[0], np.cumsum(degrees)])
        further.append(replace(data, indptr=indptr, sources=rng.integers(0, data.nodes, indptr[-1])))
    encoded = encode_array(deep, data, further)
    graph, *others = (integer_graph(given, source.integers.number) for given in (data, *further))
    assert np.array_equal(reference.run(encoded), interpreter.run(source.integers, (graph, *others)))
    edges = [len(one.sources) for one in (data, *further)]
    messages = [count * layer.features * layer.gcn
                for count, layer in zip(edges, source.layers, strict=True)]  # fmt: skip
    own = encode_array(deep, data)
    repeated = [edges[0] * layer.features * layer.gcn for layer in source.layers]
    assert multiplications(encoded) - multiplications(own) == sum(messages) - sum(repeated)


def test_a_graph_beyond_the_neighbourhoods_of_the_network_is_refused() -> None:
    """That of a further layer, too."""
    rng = np.random.default_rng(3)
    data = random_graph(rng, 12, 9, 4, 20)
    source = random_source(rng, 2, data)
    most = source.shape.degree_capacity + 1
    full = replace(data, indptr=np.arange(13) * most, sources=np.zeros(12 * most, np.int64))
    with pytest.raises(UserError, match="largest neighbourhood"):
        encode_array(fit(source, data, Arrangement(2)), data, (full,))


def test_a_deep_network_gets_room_for_its_programme() -> None:
    """Eight layers, the most of a design: 19 descriptors."""
    rng = np.random.default_rng(11)
    data = random_graph(rng, 12, 9, 4, 20)
    source = random_source(rng, 8, data)
    encoded = encode_array(fit(source, data, Arrangement(4)), data)
    assert encoded.accelerator.engine.programme == 32
    assert np.array_equal(reference.run(encoded), right(source, data))


@pytest.mark.parametrize("heads", [2, 4, 16])
@pytest.mark.parametrize("attention", ["constant", "gcn"])
@pytest.mark.parametrize("aggregation", ["add", "mean"])
@pytest.mark.parametrize("layers", [1, 2])
def test_heads_of_the_last_layer_are_averaged(heads: int, attention: str, aggregation: str, layers: int) -> None:
    """The sum over edges and heads is rounded once; a sum without coefficients is that of the interpreter."""
    rng = np.random.default_rng(heads)
    data = random_graph(rng, 40, 12, 10, 90)
    last = {"attention": attention, "aggregation": aggregation, "t_attn": None, "k": heads}
    design = random_design(rng, layers, (*[last | {"aggregation": "max", "d": 12, "k": 2}] * (layers - 1), last))
    source = random_source_of(rng, design, data)
    encoded = encode_array(fit(source, data, Arrangement(8, (2,) * (layers - 1), split=2)), data)
    assert [one.tiles for one in encoded.programme if one.computes][-1 - heads :] == [2] * (heads + 1)
    found = reference.run(encoded)
    graph, layer = integer_graph(data, source.integers.number), source.layers[-1]
    if (attention, aggregation) == ("constant", "add"):
        assert np.array_equal(found, interpreter.run(source.integers, (graph,)))
    linear = interpreter.values(source.integers, (graph,))[f"{layers - 1}.linear"]
    h = linear.reshape(data.nodes, heads, data.classes).sum(axis=1)
    weights = coefficients(layer, data, graph)
    total = np.zeros_like(h)
    np.add.at(total, data.targets, weights[:, None] * h[data.sources])
    fraction = 0 if (attention, aggregation) == ("constant", "add") else wire.COEFFICIENT_FRACTION_BITS
    mean = shift_right_even(total, fraction - wire.LOGIT_EXTRA_BITS + heads.bit_length() - 1)
    assert np.array_equal(found, source.logit_format.saturate(mean + (layer.apply.bias << wire.LOGIT_EXTRA_BITS)))


@pytest.mark.parametrize("name", NAMES)
def test_every_activation_has_the_codes_of_the_pipeline(name: str) -> None:
    """With results in the format of the arguments, where plain ones need no table, and in others."""
    rng = np.random.default_rng(13)
    data = random_graph(rng, 30, 12, 5, 80)
    plain = {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1}
    design = random_design(rng, 2, (plain | {"d": 8, "activation": name}, plain))
    network = random_network(rng, design, data)
    first = replace(network.layers[0], output_scale=network.layers[0].value_scale + 1)
    network = replace(network, layers=(first, *network.layers[1:]))
    for given, table in ((network, True), (tied(design, network), name not in PLAIN)):
        source = array_network(design, given, GraphShape.of(data))
        encoded = encode_array(fit(source, data, Arrangement(4)), data)
        assert (encoded.accelerator.plans[0].activation_words > 0) == table
        assert np.array_equal(reference.run(encoded), right(source, data))


def test_a_mean_is_rounded_into_the_coefficients() -> None:
    """Each coefficient is 256 / |S(i)|, rounded; the sum is rounded once more, as gcn's is."""
    rng = np.random.default_rng(5)
    data = random_graph(rng, 30, 12, 5, 80)
    source = random_source_of(rng, random_design(rng, 1, ({"attention": "constant", "aggregation": "mean", "k": 1,
                                                              "t_attn": None},)), data)  # fmt: skip
    encoded = encode_array(fit(source, data, Arrangement(4)), data)
    layer, graph = source.layers[0], integer_graph(data, source.integers.number)
    h = interpreter.values(source.integers, (graph,))["0.linear"]
    expected = np.empty((data.nodes, data.classes), np.int64)
    for node in range(data.nodes):
        sources = data.sources[data.indptr[node] : data.indptr[node + 1]]
        total = (round(256 / len(sources)) * h[sources]).sum(axis=0)
        expected[node] = shift_right_even(total, wire.COEFFICIENT_FRACTION_BITS - wire.LOGIT_EXTRA_BITS)
    expected = source.logit_format.saturate(expected + (layer.apply.bias << wire.LOGIT_EXTRA_BITS))
    assert np.array_equal(reference.run(encoded), expected)


def test_one_engine_runs_other_networks_and_graphs() -> None:
    """The engine of a large graph runs another network's programme on another graph."""
    rng = np.random.default_rng(6)
    large, small = random_graph(rng, 80, 30, 6, 200), random_graph(rng, 17, 30, 6, 40)
    engine = fit(random_source(rng, 2, large, ("add",)), large, Arrangement(4, (1,))).engine
    other = random_source(rng, 2, small, ("add",))
    shifts = {shift for plan in fit(other, small, Arrangement(4, (1,))).plans for shift in
              (plan.layer.linear_shift, plan.aggregate_shift)}  # fmt: skip
    wider = replace(
        engine, bits=10, sum_bits=32, tiles=8, bias_words=32, activation_words=256, own_words=512,
        table_words=4096, shifts=tuple(sorted({*engine.shifts, *shifts})),
    )  # fmt: skip
    encoded = encode_array(lower(other, wider, Arrangement(1, (1,))), small)
    assert np.array_equal(reference.run(encoded), right(other, small))


def test_a_hub_empty_rows_and_more_units_than_rows() -> None:
    """A node with 300 neighbours, nodes without features, and 16 units for 3 nodes."""
    rng = np.random.default_rng(7)
    for data in (random_graph(rng, 3, 9, 4, 300), random_graph(rng, 1, 9, 4, 0), random_graph(rng, 40, 9, 4, 900)):
        source = random_source(rng, 2, data, ("max",))
        encoded = encode_array(fit(source, data, Arrangement(16)), data)
        assert np.array_equal(reference.run(encoded), right(source, data))


def design_of(**choices: object) -> Design:
    last = plain_layer(**{"d": None, "activation": None, "t_act": None, **choices})
    return Design(schema=1, layers=(plain_layer(), last), dsp=0)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"k": 64}, "an array averages 32 heads at most"),
    ],
)
def test_what_the_array_does_not_run_is_refused(choices: dict[str, object], message: str) -> None:
    rng = np.random.default_rng(8)
    data = random_graph(rng, 9, 9, 4, 20)
    source = random_source_of(rng, design_of(**choices), data)
    with pytest.raises(UserError, match=message):
        fit(source, data, Arrangement(4))


def test_a_graph_that_does_not_fit_is_refused() -> None:
    rng = np.random.default_rng(9)
    small, large = random_graph(rng, 9, 9, 4, 20), random_graph(rng, 900, 9, 4, 20)
    source = random_source_of(rng, design_of(), large)
    array = fit(source, small, Arrangement(4))
    with pytest.raises(UserError, match=r"the graph needs table_words of \d+, the engine has 512"):
        encode_array(array, large)
    with pytest.raises(UserError, match="the network needs sum_bits"):
        lower(source, replace(array.engine, sum_bits=9))


def test_every_result_has_a_target() -> None:
    """A network of three layers writes tables, own rows and, at the end, logits."""
    rng = np.random.default_rng(10)
    data = random_graph(rng, 20, 9, 4, 50)
    encoded = encode_array(fit(random_source(rng, 3, data), data, Arrangement(4)), data)
    targets = [Target(one.target) for one in encoded.programme if one.operation]
    assert targets == [Target.TABLE, Target.OWN, Target.TABLE, Target.OWN, Target.TABLE, Target.LOGITS]


def test_scores_of_edges_by_hand() -> None:
    """Two nodes that see each other, one group of one unit: H, queries, scores of the four edges and the largest."""
    rng = np.random.default_rng(15)
    data = random_graph(rng, 2, 5, 3, 0)
    data = replace(data, indptr=np.array([0, 2, 4]), sources=np.array([0, 1, 0, 1]))
    cos = {"attention": "cos", "t_attn": None, "aggregation": "add", "k": 1}
    source = random_source_of(rng, random_design(rng, 1, (cos,)), data)
    encoded = encode_array(fit(source, data, Arrangement(1)), data)
    machine, layer = reference.Machine(encoded.accelerator.engine), source.layers[0]
    queries, scores, maxima, messages = encoded.programme[-4:]
    machine.execute(encoded.programme[:-1], encoded.regions)
    h = interpreter.values(source.integers, (integer_graph(data, source.integers.number),))["0.linear"]
    (made,) = (step.operation for step in source.integers.steps if isinstance(step.operation, ProductScores))
    asked = made.queries(h[:, None])[:, 0]
    order = np.argsort(encoded.dealt.layers[0].ordinal)  # of rows
    held = machine.own[0, queries.target_base :, : data.classes]
    assert np.array_equal(held[:2], asked[order])
    assert (queries.target_base, scores.entries, messages.own_base) == (scores.own_base, 1, maxima.own_base)
    shift = 2 * layer.value_format.fraction_bits - layer.score_format.fraction_bits
    found = machine.own[0, scores.target_base : scores.target_base + 4, 0].reshape(2, 2)
    for row, node in enumerate(order):
        others = (node, 1 - node)  # the row's own node comes first
        exact = [int(asked[node] @ h[other, : data.classes]) for other in others]
        wanted = layer.score_format.saturate(shift_right_even(np.array(exact), shift))
        assert found[row].tolist() == wanted.tolist()
        assert machine.own[0, maxima.target_base + row, 0] == wanted.max()


def test_scores_of_functions_by_hand() -> None:
    """Two nodes that see each other, one group of one unit: functions of the four edges, their scores, the largest."""
    rng = np.random.default_rng(17)
    data = random_graph(rng, 2, 5, 3, 0)
    data = replace(data, indptr=np.array([0, 2, 4]), sources=np.array([0, 1, 0, 1]))
    gene = {"attention": "gene-linear", "t_attn": None, "aggregation": "add", "k": 1, "ai": 2, "af": 5}
    source = random_source_of(rng, random_design(rng, 1, (gene,)), data)
    encoded = encode_array(fit(source, data, Arrangement(1)), data)
    machine, layer = reference.Machine(encoded.accelerator.engine), source.layers[0]
    pairs, scores, maxima, messages = encoded.programme[-4:]
    machine.execute(encoded.programme[:-1], encoded.regions)
    scored = layer.scoring
    assert isinstance(scored, PairScores) and (pairs.pair, pairs.count, scores.count) == (1, 8, 4)
    assert (pairs.target_base, scores.entries, messages.own_base) == (scores.own_base, 1, maxima.own_base)
    h = interpreter.values(source.integers, (integer_graph(data, source.integers.number),))["0.linear"]
    here, there, factor = scored.target[0], scored.source[0], scored.factor[0]
    point = layer.value_format.fraction_bits + layer.weight_format.fraction_bits
    for row, node in enumerate(np.argsort(encoded.dealt.layers[0].ordinal)):
        found = []
        for slot, other in enumerate((node, 1 - node), 2 * row):  # the row's own node comes first
            exact = (here * h[node] + there * h[other]) * 2.0**-point
            function = np.rint(128 * np.tanh(scored.pair.quantise(exact) * scored.pair.step)).clip(-128, 127)
            assert np.array_equal(machine.own[0, pairs.target_base + slot, :3], function)
            score = (function * factor).sum() * 2.0 ** -(7 + layer.weight_format.fraction_bits)
            found.append(int(scored.output.quantise(score)))
            assert machine.own[0, scores.target_base + slot, 0] == found[-1]
        assert machine.own[0, maxima.target_base + row, 0] == max(found)


@pytest.mark.parametrize(("attention", "words"), [("cos", 1), ("gene-linear", 2)])
def test_scores_of_edges_take_words_for_each_slot_row(attention: str, words: int) -> None:
    """Beyond 16,384 own words a graph is refused in one line."""
    rng = np.random.default_rng(16)
    data = random_graph(rng, 900, 9, 4, 16_000 // words)
    scored = {"attention": attention, "t_attn": None, "aggregation": "add", "k": 1, "ai": 2, "af": 5}
    source = random_source_of(rng, random_design(rng, 1, (scored,)), data)
    assert fit(source, data, Arrangement(2)).engine.own_words > words * len(data.sources) // 2
    with pytest.raises(UserError, match="own rows take 2 to 16,384 words"):
        fit(source, data, Arrangement(1))


def test_an_engine_with_queries_of_two_nodes() -> None:
    """It is the same from its summary, joins with others, and has scores of edges."""
    rng = np.random.default_rng(18)
    data = random_graph(rng, 20, 9, 4, 40)
    engines = [
        fit(random_source(rng, 1, data, attentions=(one,)), data, Arrangement(2)).engine
        for one in ("gat", "gene-linear")
    ]
    one, other = (engine.softmax for engine in engines)
    assert one is not None and other is not None and (one.pair, other.pair, other.dot) == (False, True, True)
    assert "pair" not in one.summary() and Engine.of(engines[1].summary()) == engines[1]
    both = joined(engines).softmax
    assert both is not None and both.pair and both.dot
    with pytest.raises(UserError, match="queries of two nodes are for scores of edges"):
        replace(engines[1], softmax=replace(other, dot=False))
