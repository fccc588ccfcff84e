"""The pass that fuses an integer network into the layers of an array."""

import numpy as np
import pytest
from arrays import random_source_of
from hypothesis import given
from hypothesis import strategies as st
from support import random_design, random_graph

from fgnas.design import VECTORS
from fgnas.errors import UserError
from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.array.layers import further_bits, fused
from fgnas.hardware.array.programme import Activation
from fgnas.hardware.integer.add import Add
from fgnas.hardware.integer.apply import Apply
from fgnas.hardware.integer.combine import Combine
from fgnas.hardware.integer.gather import Gather
from fgnas.hardware.integer.heads import MeanOfHeads
from fgnas.hardware.integer.network import FEATURES, IntegerNetwork, Step

NUMBER = FixedPoint(8, 4)
LOGIT = FixedPoint(16, 8)
WEIGHT = np.arange(12).reshape(3, 4)


def network(*between: Step, columns: int = 2) -> IntegerNetwork:
    """X times `WEIGHT`, then what is given, and a bias at the fraction bits of H."""
    bias = Apply(np.arange(columns), 4, LOGIT, "linear", None, LOGIT)
    return IntegerNetwork(3, NUMBER, (
        Step("h", Combine(WEIGHT, NUMBER, 4, NUMBER), (FEATURES,)), *between, Step("logits", bias, (between[-1].name,)),
    ))  # fmt: skip


def test_heads_that_share_a_sum_by_hand() -> None:
    """Two heads of two classes: one layer, the heads of a class side by side, whose shift has the mean of the heads."""
    (layer,) = fused(network(Step("y", Gather("add", True, heads=2, shift=5), ("h",))))
    assert (layer.k, layer.d, layer.averaged, layer.features, layer.input_width) == (2, 2, 2, 4, 3)
    assert (layer.linear_shift, layer.aggregate_shift) == (4, 5)
    assert layer.first and layer.last and layer.gcn and not layer.maximum and not layer.attends
    assert layer.apply.bias.tolist() == [0, 1] and layer.activation is Activation.NONE
    assert np.array_equal(layer.combine.weight, WEIGHT[:, [0, 2, 1, 3]])


def test_heads_of_a_maximum_are_apart_by_hand() -> None:
    """The rows of two heads, with the bits of logits; then the product that adds them."""
    maximum = Step("y", Gather("max", True, shift=4), ("h",))
    rows, mean = fused(network(maximum, Step("m", MeanOfHeads(2), ("y",))))
    assert (rows.k, rows.averaged, rows.last, rows.second) == (1, 1, False, False)
    assert np.array_equal(rows.combine.weight, WEIGHT) and not rows.apply.bias.any()
    assert rows.apply.output == FixedPoint(12, 8) == mean.number
    assert (mean.last, mean.second, mean.adds_heads, mean.place, mean.index) == (True, True, True, 0, 1)
    assert mean.combine.weight.tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]] and mean.weight_format == FixedPoint(2, 1)
    assert (mean.linear_shift, mean.aggregate_shift, mean.apply.bias.tolist()) == (1, 0, [0, 16])


def test_rows_that_are_gathered_first_are_copied() -> None:
    """A product with the identity is inserted before an aggregation without a product."""
    plain = Apply(np.zeros(3, np.int64), 0, NUMBER, "linear", None, NUMBER)
    last = Apply(np.zeros(4, np.int64), 4, LOGIT, "linear", None, LOGIT)
    steps = (
        Step("p", Gather(), (FEATURES,)), Step("g", plain, ("p",)),
        Step("h", Combine(WEIGHT, NUMBER, 4, NUMBER), ("g",)), Step("y", Gather(shift=-4), ("h",)),
        Step("logits", last, ("y",)),
    )  # fmt: skip
    copied, product = fused(IntegerNetwork(3, NUMBER, steps))
    assert np.array_equal(copied.combine.weight, np.eye(3)) and copied.value_format == NUMBER
    assert (copied.linear_shift, copied.last, product.last) == (0, False, True)


def test_further_bits_by_hand() -> None:
    """Values of eight bits whose logits have four more keep their own in rows, and the sum of four heads has two."""
    assert tuple(map(int, further_bits(8, 4, 2, True))) == (0, 2, 4)
    assert tuple(map(int, further_bits(8, 4, 2, False))) == (4, 4, 4)
    assert tuple(map(int, further_bits(6, 4, 2, True))) == (4, 4, 4)


def test_what_an_array_does_not_run_is_refused() -> None:
    gather = Step("y", Gather(shift=-4), ("h",))
    twice = Step("z", Add(0, FixedPoint(64, 8)), ("y", "y"))
    with pytest.raises(UserError, match="h: an array runs a combination, .* not Combine, Gather, Add, Apply"):
        fused(network(gather, twice, columns=4))
    with pytest.raises(UserError, match="y: an array runs a combination, .* not Combine, Gather$"):
        fused(IntegerNetwork(3, NUMBER, (Step("y", Gather(), (FEATURES,)),)))


@given(seed=st.integers(0, 10_000))
def test_every_layer_of_a_design_has_its_place(seed: int) -> None:
    """Designs have any attentions, heads and aggregations; each layer's weights fit the results of the layer before."""
    rng = np.random.default_rng(seed)
    data, layers = random_graph(rng, 12, 9, 4, 20), 1 + seed % 3
    chosen = tuple(
        {"attention": attention, "aggregation": str(rng.choice(["add", "mean", "max", "mlp"])), "ai": 2, "af": 4,
         "t_attn": 1 if attention == "gat" else None}
        for attention in rng.choice([*VECTORS, "gcn", "constant"], layers).tolist()
    )  # fmt: skip
    source = random_source_of(rng, random_design(rng, layers, chosen), data)
    assert [one.index for one in source.layers] == list(range(len(source.layers)))
    assert sorted({one.place for one in source.layers}) == list(range(layers))
    assert [one.last for one in source.layers] == [False] * (len(source.layers) - 1) + [True]
    for before, layer in zip(source.layers, source.layers[1:], strict=False):
        assert layer.input_width == before.features // before.averaged and layer.number == before.apply.output
        assert layer.second <= (layer.place == before.place)
