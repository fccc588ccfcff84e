"""DSP slices go to the widest products first, then by layer, stage and lane."""

import numpy as np
from support import random_design

from fgnas.design import columns_of
from fgnas.hardware.pipeline.binding import DSP_PRODUCT_BITS, bind_multipliers
from fgnas.hardware.pipeline.geometry import geometry
from fgnas.hardware.shape import GraphShape
from fgnas.systems.fgnas.space import fgnas_space

SHAPE = GraphShape(width_in=100, classes=7, node_capacity=1024, degree_capacity=64)


def bound(first: dict, last: dict, budget: int) -> list[tuple[int, str, int, int]]:
    design = random_design(np.random.default_rng(0), 2, (first, last))
    groups = bind_multipliers(geometry(columns_of([design]), SHAPE), np.array([budget]))
    return [(g.layer, g.stage, int(g.lanes[0]), int(g.dsp[0])) for g in groups if g.stage != "score" or g.lanes[0]]


def test_by_hand() -> None:
    first = {"attention": "gcn", "t_attn": None, "t_in": 2, "t_out": 2, "t_aggr": 4, "ai": 1, "af": 2, "wi": 1, "wf": 2}
    last = {"attention": "constant", "t_attn": None, "t_in": 1, "t_out": 3, "t_aggr": 8, "ai": 3, "af": 6,
            "wi": 1, "wf": 4}  # fmt: skip
    # Products: 4 + 4 bits stay in LUTs; 4 + 9 bits; 4 + 6 bits; nothing is multiplied in the last aggregation.
    assert bound(first, last, 100) == [
        (0, "linear", 4, 0), (0, "aggregate", 4, 4), (1, "linear", 3, 3), (1, "aggregate", 0, 0),
    ]  # fmt: skip
    assert [dsp for *_, dsp in bound(first, last, 5)] == [0, 4, 1, 0]
    assert [dsp for *_, dsp in bound(first, last, 3)] == [0, 3, 0, 0]
    assert [dsp for *_, dsp in bound(first, last, 0)] == [0, 0, 0, 0]


def test_scores_stand_between_linear_and_aggregate() -> None:
    gat = {"attention": "gat", "t_attn": 8, "t_in": 1, "t_out": 1, "t_aggr": 2, "ai": 1, "af": 3, "wi": 1, "wf": 4}
    last = {"attention": "constant", "t_attn": None, "t_in": 1, "t_out": 1, "ai": 1, "af": 1, "wi": 1, "wf": 0}
    # 5 + 6 bits for linear and scores, 5 + 9 bits for the messages.
    assert bound(gat, last, 6)[:3] == [(0, "linear", 1, 1), (0, "score", 8, 3), (0, "aggregate", 2, 2)]


def test_budget_is_kept_and_used() -> None:
    space = fgnas_space()
    rows = space.draw(500, np.random.default_rng(3))
    budget = np.random.default_rng(4).integers(0, 60, len(rows))
    groups = bind_multipliers(geometry(space.columns(rows), SHAPE), budget)
    used = sum(g.dsp for g in groups)
    eligible = sum(np.where(g.left_bits + g.right_bits >= DSP_PRODUCT_BITS, g.lanes, 0) for g in groups)
    np.testing.assert_array_equal(used, np.minimum(budget, eligible))
