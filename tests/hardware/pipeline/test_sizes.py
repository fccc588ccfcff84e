"""Sizes: named terms, their coefficients in the tables, and their sums."""

import json

import numpy as np
import pytest

from fgnas.hardware.devices import FAMILIES
from fgnas.hardware.pipeline.resources import CHARACTERISATION
from fgnas.hardware.pipeline.sizes import TERMS, Coefficients, Lookup, columns, terms, weighted_sum
from fgnas.laboratory.fitting import by_name
from fgnas.laboratory.pipeline import draw_points

TERMS_BY_HAND = {"1": 1, "kind": Lookup(np.array([0, 2]), 3, np.array([10, 20])), "lanes": np.array([5, 6])}


def test_a_lookup_is_a_column_for_each_kind() -> None:
    expanded = [np.broadcast_to(column, (2,)).tolist() for column in columns(TERMS_BY_HAND)]
    assert expanded == [[1, 1], [10, 0], [0, 0], [0, 20], [5, 6]]
    assert by_name(TERMS_BY_HAND, [1.0, 2.0, 3.0, 4.0, 5.0]) == {"1": 1.0, "kind": [2.0, 3.0, 4.0], "lanes": 5.0}


def test_coefficients_are_found_by_name_in_any_order() -> None:
    weights = Coefficients({"lanes": np.array([5.0]), "kind": np.array([[2.0, 3.0, 4.0]]), "1": np.array([1.0])})
    found = weighted_sum(TERMS_BY_HAND, weights, np.empty((5, 2)))
    assert found.tolist() == [[1 + 2 * 10 + 5 * 5, 1 + 4 * 20 + 5 * 6]]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_table_names_the_terms_of_its_operators(family: str) -> None:
    modules = json.loads((CHARACTERISATION / f"{family}.json").read_text())["modules"]
    assert modules.keys() == TERMS.keys()
    points = draw_points()
    for module, entry in modules.items():
        names, _ = points[module]
        found = terms(module, dict.fromkeys(names, np.ones(1, np.int64)), family)
        for resource in ("lut", "ff"):
            assert list(entry[resource]) == list(found), f"{module}: {resource}"
