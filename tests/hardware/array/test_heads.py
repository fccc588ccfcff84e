"""Heads of a last layer with a softmax or a maximum each: kept apart, then added; the logits of the interpreter."""

import numpy as np
import pytest
from arrays import random_source_of, right, weighed, wide_choices
from support import Choices, random_design, random_graph

from fgnas.errors import UserError
from fgnas.hardware.array import reference
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.choosing import Room, fastest, prices_of
from fgnas.hardware.array.cycles import multiplications, multiplications_by_phase, phase_names, total_cycles
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.layers import ArrayNetwork
from fgnas.hardware.array.placing import fit
from fgnas.tasks.nodes import GraphData

KINDS = (("gat", "add"), ("gat", "mean"), ("gat", "max"), ("linear", "add"), ("gat-sym", "add"), ("gcn", "max"),
         ("cos", "add"), ("gene-linear", "add"),
         ("constant", "max"))  # fmt: skip


def averaged(
    rng: np.random.Generator, layers: int, data: GraphData, kind: tuple[str, str], heads: int, bits: int = 6
) -> ArrayNetwork:
    """A network that averages heads of this kind, of features of so many bits, behind any hidden layers."""
    attention, aggregation = kind
    formats = {"ai": 2, "af": bits - 3, "wi": 1, "wf": 4}
    last: Choices = {"attention": attention, "aggregation": aggregation, "k": heads, **formats,
                     "t_attn": 2 if attention == "gat" else None}  # fmt: skip
    hidden: Choices = {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1, "d": 12}
    return random_source_of(rng, random_design(rng, layers, (*[hidden] * (layers - 1), last)), data)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_logits_are_right(kind: tuple[str, str], seed: int) -> None:
    """Two to eight heads of six to ten bits, of which a unit holds the scores of four, on any units."""
    rng = np.random.default_rng(seed)
    # A unit makes eight words of a row at most, that of all heads.
    data, heads = random_graph(rng, int(rng.integers(1, 60)), 15, int(rng.integers(2, 9)), 90), (2, 4, 8)[seed % 3]
    source = averaged(rng, 1 + seed % 3, data, kind, heads, 6 + seed % 5)
    wanted = right(source, data)
    assert len(source.layers) == len(source.design.layers) + 1 and source.layers[-1].adds_heads
    assert source.logit_format == source.integers.output.number
    units = int(rng.choice([2, 4, 6, 12]))
    array = fit(
        source,
        data,
        Arrangement(units, (1,) * (seed % 3), split=int(rng.choice([1, 2])), beat_bits=int(rng.choice([128, 256]))),
    )
    encoded = encode_array(array, data)
    assert np.array_equal(reference.run(encoded), wanted)
    assert sum(multiplications_by_phase(encoded)) == multiplications(encoded)
    names = [name for name in phase_names(encoded) if not name.startswith(("load", "fetch"))]
    assert names[-2:] == [f"mean of heads {seed % 3}", f"return {seed % 3}"]


def test_heads_apart_behind_wide_numbers() -> None:
    """A hidden layer of wide numbers and wide weights beside features of six bits."""
    rng = np.random.default_rng(5)
    data = random_graph(rng, 30, 12, 4, 80)
    plain: Choices = {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1, "d": 12, **wide_choices(rng)}
    last: Choices = {"attention": "constant", "aggregation": "max", "t_attn": None, "k": 2,
                     "ai": 2, "af": 3, "wi": 2, "wf": 12, "t_out": 1}  # fmt: skip
    source = random_source_of(rng, random_design(rng, 2, (plain, last)), data)
    array = fit(source, data, Arrangement(4, (1,)))
    assert array.engine.wide
    assert np.array_equal(reference.run(encode_array(array, data)), right(source, data))


def test_nothing_is_apart_that_can_share_a_sum() -> None:
    rng = np.random.default_rng(1)
    data = random_graph(rng, 20, 9, 4, 50)
    for kind, heads in ((("gcn", "add"), 4), (("constant", "mean"), 2), (("gat", "max"), 1)):
        source = averaged(rng, 2, data, kind, heads)
        assert len(source.layers) == 2 and not source.layers[-1].adds_heads


def test_the_fastest_is_priced_right() -> None:
    """Eight heads take two units side by side, so that no array has one or three units."""
    rng = np.random.default_rng(3)
    data = random_graph(rng, 60, 20, 5, 200)
    for kind in (("gat", "add"), ("gcn", "max")):
        source = averaged(rng, 2, data, kind, 8)
        best = fastest(source, data, Room(48))
        encoded = encode_array(best, data)
        assert np.array_equal(reference.run(encoded), right(source, data))
        room, graphs = Room(48), (data,)
        offered = [Arrangement(units, (n,), 1) for units in (2, 4, 6) for n in (1, 2)]
        prices = prices_of(source, graphs, offered, room.beat_bits, room.family)["cycles"].tolist()
        others = [fit(source, data, Arrangement(units, (n,))) for units in (2, 4, 6) for n in (1, 2)]
        assert prices == [total_cycles(encode_array(one, data)) for one in others]
        assert weighed(best, data) <= min(weighed(one, data) for one in others)


@pytest.mark.parametrize("kind", [("gcn", "max"), ("constant", "max")])
@pytest.mark.parametrize("heads", [2, 4, 8, 16, 32])
def test_heads_of_features_of_any_width(kind: tuple[str, str], heads: int) -> None:
    """Rows at the fraction bits of logits, which values of more than twelve bits have themselves; of maxima that are
    values the sum is exact, or has these fraction bits."""
    rng = np.random.default_rng(heads)
    data = random_graph(rng, 25, 9, 2, 80)
    for bits in (6, 7, 9, 10, 12, 13, 16):
        formats: Choices = {"ai": 2, "af": bits - 3, "wi": 1, "wf": 6, "t_out": 1, "t_attn": None}
        last: Choices = {"attention": kind[0], "aggregation": kind[1], "k": heads, **formats}
        source = random_source_of(rng, random_design(rng, 1, (last,)), data)
        array = fit(source, data, Arrangement(2))
        found = reference.run(encode_array(array, data))
        assert np.array_equal(found, right(source, data))
        assert array.source.logit_format == source.logit_format
        of_logits = 4 if bits <= 12 else 0
        kept = kind[0] == "constant" and bits + of_logits > 10
        further = min(of_logits, heads.bit_length() - 1) if kept else of_logits
        assert array.engine.bits == max(bits + further, 8)


@pytest.mark.parametrize("units", [1, 3])
def test_units_that_are_not_groups_of_all_heads_are_refused(units: int) -> None:
    """Eight heads take two units side by side, of which neither one unit nor three are groups."""
    rng = np.random.default_rng(3)
    data = random_graph(rng, 20, 9, 4, 50)
    with pytest.raises(UserError, match=f"layer 0: {units} units are not whole groups of 2 side by side"):
        fit(averaged(rng, 1, data, ("gat", "add"), 8), data, Arrangement(units))
