"""Spaces: offered options, uniform draws, and columns that agree with designs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgnas.design import columns_of
from fgnas.errors import UserError
from fgnas.space import Choice, Space
from fgnas.systems.fgnas.space import TABLE_II, find_space

FGNAS = find_space("fgnas")


def test_table_two_of_the_paper():
    assert {choice.name: len(choice.options) for choice in TABLE_II} == {
        "attention": 3, "aggregation": 3, "k": 5, "d": 6, "activation": 4, "t_in": 5, "t_out": 5, "t_attn": 4,
        "t_aggr": 4, "t_act": 5, "ai": 3, "af": 7, "wi": 3, "wf": 7,
    }  # fmt: skip
    # The last layer is without d, activation and t_act.
    assert [sum(d.position == layer for d in FGNAS.decisions) for layer in (0, 1)] == [14, 11]


def test_t_attn_is_offered_with_gat_alone():
    rows = FGNAS.draw(1000, np.random.default_rng(0))
    attention, lanes = (
        next(c for c, d in enumerate(FGNAS.decisions) if d.name == n) for n in ("0.attention", "0.t_attn")
    )
    gat = rows[:, attention] == FGNAS.decisions[attention].options.index("gat")
    assert np.array_equal(rows[:, lanes] >= 0, gat)
    assert 0.25 < gat.mean() < 0.42


def test_draws_are_uniform_and_repeatable():
    rows = FGNAS.draw(6000, np.random.default_rng(1))
    counts = np.bincount(rows[:, 3], minlength=6)
    assert (np.abs(counts - 1000) < 150).all()
    assert np.array_equal(rows, FGNAS.draw(6000, np.random.default_rng(1)))


def test_restricting():
    small = FGNAS.restrict(attention=("gcn",), k=(1, 2))
    columns = small.columns(small.draw(50, np.random.default_rng(0)))
    assert set(columns["attention"][0]) == {"gcn"} and set(columns["k"][1]) == {1, 2}
    assert (columns["t_attn"][0] == 0).all()
    with pytest.raises(UserError, match="no choice heads"):
        FGNAS.restrict(heads=(1,))
    with pytest.raises(UserError, match="unknown space"):
        find_space("other")


@given(st.integers(0, 2**32))
def test_columns_of_rows_are_columns_of_their_designs(seed):
    rows = FGNAS.draw(3, np.random.default_rng(seed))
    by_rows, by_designs = FGNAS.columns(rows), columns_of([FGNAS.design(row, 5) for row in rows])
    assert by_rows.keys() == by_designs.keys()
    for name, layers in by_rows.items():
        for ours, theirs in zip(layers, by_designs[name], strict=True):
            assert ours.tolist() == theirs.tolist(), name


def test_a_condition_must_name_an_earlier_choice():
    with pytest.raises(ValueError):
        Space("odd", 1, (Choice("t_attn", (1,), "hardware", only_if=("attention", "gat")),))
