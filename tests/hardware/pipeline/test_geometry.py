"""Tile counts, widths and memory shapes: by hand, and the array form against one design at a time."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import random_design

from fgnas.design import columns_of
from fgnas.hardware.numbers import ceil_log2, next_power_of_two
from fgnas.hardware.pipeline.geometry import buffer_rows, geometry
from fgnas.hardware.shape import GraphShape
from fgnas.systems.fgnas.space import fgnas_space

SHAPE = GraphShape(width_in=1433, classes=7, node_capacity=3072, degree_capacity=256)


def test_by_hand() -> None:
    first = {"d": 12, "k": 2, "attention": "gcn", "aggregation": "add", "t_in": 5, "t_out": 5, "t_attn": None,
             "t_aggr": 4, "t_act": 3, "ai": 2, "af": 5, "wi": 1, "wf": 4}  # fmt: skip
    last = {"k": 4, "attention": "constant", "aggregation": "mean", "t_in": 4, "t_out": 2, "t_attn": None,
            "t_aggr": 8, "ai": 3, "af": 6, "wi": 1, "wf": 0}  # fmt: skip
    design = random_design(np.random.default_rng(0), 2, (first, last))
    hidden, output = geometry(columns_of([design]), SHAPE)
    assert hidden.features == 24
    assert hidden.out_tiles == 5  # 24 features, 5 a tile
    assert hidden.h_lanes == 8  # the next power of two of max(5, 4)
    assert hidden.h_words == 3
    assert hidden.aggr_tiles == 6
    assert hidden.act_tiles == 8
    assert hidden.value_bits == 8
    assert hidden.linear_bits == 8 + 6 + 11 + 1  # products of 14 bits, 1,433 of them
    assert hidden.aggregate_bits == 8 + 9 + 8 + 1  # weighted by 9-bit coefficients, 256 of them
    assert hidden.y_bits == 8 + 8
    assert output.features == 28
    assert output.input_width == 24
    assert output.in_groups == 6
    assert output.class_lanes == 2  # 8 lanes, 4 heads a class
    assert output.class_tiles == 4
    assert output.y_bits == 10 + 4  # a mean does not grow, a logit has four more fraction bits
    assert output.logit_beats == 1


@pytest.mark.parametrize(("words", "rows"), [(1, 32), (2, 32), (3, 8), (8, 8), (9, 2), (1024, 2)])
def test_buffer_rows(words: int, rows: int) -> None:
    assert buffer_rows(words) == rows


@given(st.integers(1, 1 << 40))
def test_logarithm(value: int) -> None:
    assert ceil_log2(value) == (value - 1).bit_length()


def test_next_power_of_two() -> None:
    assert next_power_of_two(np.array([1, 2, 3, 4, 5, 8])).tolist() == [1, 2, 4, 4, 8, 8]


def test_arrays_equal_single_designs() -> None:
    space = fgnas_space(3)
    rows = space.draw(50, np.random.default_rng(1))
    together = geometry(space.columns(rows), SHAPE)
    for i, row in enumerate(rows):
        alone = geometry(columns_of([space.design(row, 10)]), SHAPE)
        for layer, single in zip(together, alone, strict=True):
            for field in dataclasses.fields(layer):
                many, one = getattr(layer, field.name), getattr(single, field.name)
                assert many == one if isinstance(many, bool) else many[i] == one[0], field.name
