"""Formats that are changed by what they cost the results: never worse, the same as from the start, and by hand."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from pyg_models import models, random_given, seen, settled

from fgnas.fixedpoint import FixedPoint
from fgnas.networks.imported.improving import Attempt, attempted, centred_biases, quantised
from fgnas.networks.imported.nodes import Function, Input, Merge, Node
from fgnas.networks.imported.quantising import (
    DISTANCES,
    Builder,
    Seen,
    built,
    first_formats,
    formats_for,
    formats_in_order,
    logits_of,
    move,
    settle,
)
from fgnas.networks.imported.tracing import trace_module

WIDTH, CLASSES = 12, 4
RELU = Function("relu", lambda values: np.maximum(values, 0))


def seen_of(name: str, seed: int = 1) -> Seen:
    torch.manual_seed(seed)
    given = random_given(seed)
    traced = trace_module(settled(models()[name](WIDTH, CLASSES), seed), given)
    return seen(traced, given)


def far_rows(rows: int = 200) -> Seen:
    """Two products of rows of which one is 150 times as large as the others."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 6))
    x[0] *= 150
    features = Input("features", rows, 6)
    hidden = Merge("first", rows, 6, rng.normal(size=6), RELU, given=(features,), weights=(rng.normal(size=(6, 6)),))
    last = Merge("second", rows, 3, rng.normal(size=3), given=(hidden,), weights=(rng.normal(size=(6, 3)),))
    return Seen.of(last, sp.csr_matrix(x))


def agreed(found: np.ndarray, wanted: np.ndarray) -> float:
    return float((found.argmax(axis=1) == wanted.argmax(axis=1)).mean())


def test_one_far_row_does_not_round_all_others_away() -> None:
    """The scales with the smallest squared errors fit that row alone; those that the results choose fit the others."""
    seen = far_rows()
    first = built(seen, first_formats(seen, 8), 8).values()
    found, _ = quantised(seen, 8, "classes")
    assert agreed(first, seen.output) < 0.9 and agreed(found.values(), seen.output) > 0.99


@pytest.mark.parametrize("name", models())
def test_results_come_closer(name: str) -> None:
    seen = seen_of(name)
    for kind, apart in DISTANCES.items():
        first = apart(quantised(seen, 5, kind, passes=0)[0].values(), seen.output)
        found, formats = quantised(seen, 5, kind, passes=2)
        assert apart(found.values(), seen.output) <= first
        np.testing.assert_array_equal(built(seen, formats, 5).logits(), found.logits())


@pytest.mark.parametrize("name", ["GINConv", "GATConv", "TransformerConv", "EdgeConv"])
def test_an_attempt_is_the_same_from_the_start(name: str) -> None:
    """Whatever scale is moved: what is taken from a known attempt gives the numbers of a network that is built anew."""
    seen = seen_of(name)
    known = attempted(seen, first_formats(seen, 8), 8)
    for node in seen.nodes[:-1]:
        for step in (-3, 1):
            formats = known.formats.copy()
            move(formats, node, step)
            settle(seen.nodes, formats)
            found = attempted(seen, formats, 8, known)
            np.testing.assert_array_equal(found.values, built(seen, formats, 8).values())


def test_an_attempt_computes_what_follows_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scale that moves changes its own value and those that read it."""
    seen = far_rows()
    known = attempted(seen, first_formats(seen, 8), 8)
    made: list[str] = []
    plain = Builder.node

    def counted(builder: Builder, node: Node, last: bool) -> object:
        made.append(node.place)
        return plain(builder, node, last)

    monkeypatch.setattr(Builder, "node", counted)

    def after(place: int) -> Attempt:
        formats = known.formats.copy()
        move(formats, seen.nodes[place], -1)
        return attempted(seen, formats, 8, known)

    after(2)
    assert made == ["second"]
    made.clear()
    after(0)
    assert made == ["first"]  # the second product's formats are the same, but it runs again
    assert after(0).codes[id(seen.nodes[2])] is not known.codes[id(seen.nodes[2])]


def test_biases_are_centred() -> None:
    """What integers in front of a bias change, it makes up for in the median, to half a step."""
    seen = far_rows()
    formats = first_formats(seen, 8)
    found = centred_biases(seen, formats, 8)
    last = seen.nodes[-1]
    assert set(found.biases) == {id(seen.nodes[1]), id(last)} and not formats.biases
    integers = built(seen, found, 8)
    apply = integers.integers.steps[-1].operation
    step = integers.integers.output.number.step * 2.0**apply.bias_shift
    assert np.abs(np.median(seen.output - integers.values(), axis=0)).max() <= step


def test_the_biases_go_with_the_formats() -> None:
    """To the same network on other data."""
    seen, other = far_rows(), far_rows(50)
    formats = centred_biases(seen, first_formats(seen, 8), 8)
    found = formats_for(other.nodes, formats_in_order(seen.nodes, formats))
    for own, same in zip(seen.nodes, other.nodes, strict=True):
        assert found.results[id(same)] == formats.results[id(own)]
        np.testing.assert_array_equal(found.biases.get(id(same), 0), formats.biases.get(id(own), 0))


@pytest.mark.parametrize(("largest", "bits", "fraction"), [
    (1.0, 8, 9), (1000.0, 8, 0), (1.0, 14, 13), (16383.5, 8, -4), (0.0, 8, 27),
])  # fmt: skip
def test_logits_hold_twice_the_largest(largest: float, bits: int, fraction: int) -> None:
    """In 16 bits, four of them behind the format's own where both fit a word."""
    assert logits_of(np.array([[-largest, 0.0]]), bits) == FixedPoint(bits, fraction)


def test_a_small_bias_has_the_step_of_logits() -> None:
    """One that does not fit there keeps that of the format."""
    for size, shift in ((0.1, 0), (3.0, 4)):
        features = Input("features", 4, 2)
        last = Merge("last", 4, 2, np.full(2, size), given=(features,), weights=(np.eye(2) / 3,))
        seen = Seen.of(last, sp.csr_matrix(np.ones((4, 2)) * 8))
        found = built(seen, first_formats(seen, 8), 8)
        assert found.integers.steps[-1].operation.bias_shift == shift
        np.testing.assert_allclose(found.values(), seen.output, atol=0.04)


def test_distances_by_hand() -> None:
    wanted = np.array([[0.0, 0.0], [2.0, 20.0]])
    found = wanted + np.array([[0.5, 0.0], [0.0, 10.0]])
    assert DISTANCES["values"](found, wanted) == pytest.approx((0.125 / 1.0 + 50.0 / 100.0) / 2)
    assert DISTANCES["labels"](found, wanted) == 0.0
    assert DISTANCES["labels"](np.array([[1.0], [1.0], [5.0]]), np.array([[0.0], [2.0], [1.0]])) == pytest.approx(
        np.square([1.5 / 3 - 1 / 3, 1.5 / 3 - 1, 1 - 2 / 3]).mean()
    )
    assert DISTANCES["classes"](wanted + 3.0, wanted) == pytest.approx(0.0, abs=1e-12)
    half = DISTANCES["classes"](np.array([[np.log(3.0), 0.0]]), np.zeros((1, 2)))
    assert half == pytest.approx(0.5 * np.log(0.5 / 0.75) + 0.5 * np.log(0.5 / 0.25))
