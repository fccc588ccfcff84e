"""Imported chains on an array that holds them whole: the interpreter's integers, and the cycles that are predicted."""

from dataclasses import replace

import numpy as np
import pytest
from chains import in_layers, random_operations
from hypothesis import given, settings
from hypothesis import strategies as st

from fgnas.errors import UserError
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.built import imported_on, with_room
from fgnas.hardware.array.calls import CalledArray
from fgnas.hardware.array.chains import ChainArray, chain_of
from fgnas.hardware.array.choosing import Room, arrangements, deliverable_operations, fastest, prices_of
from fgnas.hardware.array.placing import fit
from fgnas.hardware.integer.interpreter import run


@settings(max_examples=60)
@given(
    seed=st.integers(0, 1 << 20), bits=st.integers(3, 16), depth=st.integers(1, 5),
    multipliers=st.sampled_from([8, 24, 64, 128]), beat_bits=st.sampled_from([128, 256, 512]),
)  # fmt: skip
def test_whole_on_the_fastest_array(seed: int, bits: int, depth: int, multipliers: int, beat_bits: int) -> None:
    source = random_operations(seed, bits, depth)
    found = deliverable_operations(source, Room(multipliers, beat_bits))
    assert isinstance(found, ChainArray) and found.count == 1
    np.testing.assert_array_equal(found.logits(), run(source.integers, source.graphs))


@settings(max_examples=100)
@given(seed=st.integers(0, 1 << 20), depth=st.integers(1, 4))
def test_prices_are_those_of_what_is_sent(seed: int, depth: int) -> None:
    """Of every arrangement: cycles, block RAMs and DSPs."""
    source = random_operations(seed, 8, depth, rows=20, widest=30)
    chain, expected = in_layers(source), run(source.integers, source.graphs)
    first, *further = chain.graphs
    offered = arrangements(chain, 6, 2)
    chosen = [offered[place] for place in np.random.default_rng(seed).integers(0, len(offered), 6)]
    prices = prices_of(chain, chain.graphs, chosen, 256)
    for place, one in enumerate(chosen):
        made = ChainArray(fit(chain, first, replace(one, beat_bits=256), further))
        assert made.cycles == prices["cycles"][place]
        np.testing.assert_array_equal(made.logits(), expected)


@settings(max_examples=15)
@given(seed=st.integers(0, 1 << 20), other=st.integers(0, 1 << 20), depth=st.integers(1, 3))
def test_on_an_array_with_room(seed: int, other: int, depth: int) -> None:
    """Whole, or as calls, or refused with what the array lacks; integers are the same."""
    host = deliverable_operations(random_operations(seed, 8, depth), Room(32))
    source = random_operations(other, 8, depth, rows=16)
    try:
        found = imported_on(with_room(host.engine), source)
    except UserError as error:
        assert str(error).startswith("the network needs")
        return
    np.testing.assert_array_equal(found.logits(), run(source.integers, source.graphs))


def test_calls_are_the_way_out() -> None:
    """Of an array whose tables hold no chain whole."""
    source = random_operations(5, 8, 3, rows=60)
    wide = with_room(deliverable_operations(source, Room(16)).engine)
    assert isinstance(imported_on(wide, source), ChainArray)
    found = imported_on(replace(wide, table_words=64), source)
    assert isinstance(found, CalledArray) and found.count > 6
    np.testing.assert_array_equal(found.logits(), run(source.integers, source.graphs))


def test_other_networks_are_no_chains() -> None:
    """A value with two readers, and a table behind the last sum."""
    source = random_operations(7, 8, 3)
    steps = source.integers.steps
    first = steps[1].name
    branched = [replace(one, inputs=(first,)) if one.inputs == (steps[-3].name,) else one for one in steps]
    assert chain_of(source) is not None
    with pytest.raises(ValueError, match="fit|columns|rows"):
        replace(source.integers, steps=tuple(branched))
    shorter = replace(source, integers=replace(source.integers, steps=steps[:-2]))
    assert chain_of(shorter) is None


def test_deep_chains_are_chosen_from_few_arrangements() -> None:
    """Eight layers have more choices of columns than can be priced: all layers then have the same."""
    source = random_operations(11, 8, 16)
    chain = in_layers(source)
    offered = [one.columns for one in arrangements(chain, 16) if one.units == 16]
    assert {max(one) for one in offered} == {1, 2, 4} and len(set(offered)) == 3 and len(offered[0]) == 15
    array = ChainArray(fastest(chain, chain.graphs[0], Room(128), chain.graphs[1:]))
    np.testing.assert_array_equal(array.logits(), run(source.integers, source.graphs))


def test_names_of_phases() -> None:
    """Modules name the layers, and terms have numbers."""
    from fgnas.hardware.array.cycles import multiplications_by_phase, phase_names

    chain = replace(in_layers(random_operations(3, 8, 2)), places=("first", ""))
    made = ChainArray(fit(chain, chain.graphs[0], Arrangement(2), chain.graphs[1:]))
    names = phase_names(made.encoded)
    assert [one for one in names if one.startswith("aggregate")] == ["aggregate 1 first", "aggregate 2"]
    terms = len(chain.layers[0].shifts)
    wanted = [f"combine 1 first, term {one}" for one in range(1, terms + 1)] if terms else ["combine 1 first"]
    assert [one for one in names if one.startswith("combine 1")] == wanted
    assert len(names) == len(multiplications_by_phase(made.encoded))
