"""Every predictor on times that add up; what is loaded predicts the same bits."""

import numpy as np
import pytest
from hardware_measured_networks import CLOUD, drawn, made_times

from fgnas.errors import UserError
from fgnas.hardware.measured.features import encoded
from fgnas.hardware.measured.predictors import PREDICTORS, Predictor, find, split, steady
from fgnas.hardware.measured.predictors.flops import Flops
from fgnas.hardware.measured.predictors.ours import Ours
from fgnas.hardware.measured.predictors.paper import EPOCHS, Paper
from fgnas.hardware.measured.predictors.table import Table
from fgnas.hardware.measured.predictors.trees import Trees

NETWORKS = drawn(260)
VALUES = made_times(NETWORKS)
FITTED, HELD = slice(0, 200), slice(200, 260)
BOUNDS = {"flops": 0.5, "table": 1e-4, "trees": 0.1, "ours": 0.1, "paper": 0.25}
"""Largest mean errors on networks that were not fitted; a table holds times that add up exactly."""


@pytest.fixture(scope="module")
def fitted() -> dict[str, Predictor]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fgnas.hardware.measured.predictors.paper.EPOCHS", EPOCHS // 10)
        return {name: find(name).fit(NETWORKS[FITTED], VALUES[FITTED], CLOUD, 0) for name in PREDICTORS}


def error(predictor: Predictor) -> float:
    """The mean relative error on the networks that were not fitted."""
    return float(np.abs(predictor.values(NETWORKS[HELD]) / VALUES[HELD] - 1).mean())


def test_they_are_found_by_name() -> None:
    assert tuple(PREDICTORS) == tuple(BOUNDS) and all(name == find(name).NAME for name in PREDICTORS)
    with pytest.raises(UserError, match="unknown predictor 'x'; known: flops, table"):
        find("x")


@pytest.mark.parametrize("name", PREDICTORS)
def test_it_learns_times_that_add_up(name: str, fitted: dict[str, Predictor]) -> None:
    assert error(fitted[name]) < BOUNDS[name]


@pytest.mark.parametrize("name", PREDICTORS)
def test_its_arrays_are_all_it_learned(name: str, fitted: dict[str, Predictor]) -> None:
    again = find(name).of(fitted[name].arrays(), CLOUD)
    assert np.array_equal(again.values(NETWORKS[HELD]), fitted[name].values(NETWORKS[HELD]))


@pytest.mark.parametrize("kind", [Flops, Table, Trees, Ours])
def test_one_seed_gives_the_same_bits(kind: type[Predictor], fitted: dict[str, Predictor]) -> None:
    again = kind.fit(NETWORKS[FITTED], VALUES[FITTED], CLOUD, 0)
    assert np.array_equal(again.values(NETWORKS[HELD]), fitted[kind.NAME].values(NETWORKS[HELD]))


def test_trees_are_those_of_scikit_learn() -> None:
    """Its own prediction, from the model that was grown."""
    from sklearn.ensemble import GradientBoostingRegressor

    grown = []
    fit = GradientBoostingRegressor.fit
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GradientBoostingRegressor, "fit", lambda self, *given: grown.append(self) or fit(self, *given))
        found = Trees.fit(NETWORKS[FITTED], VALUES[FITTED], CLOUD, 0)
    theirs = np.exp(found.base + grown[0].predict(encoded(NETWORKS[HELD], CLOUD).sums))
    assert np.allclose(found.values(NETWORKS[HELD]), theirs, rtol=1e-12)


@pytest.mark.parametrize("kind", [Ours, Paper])
def test_it_continues_another_devices(kind: type[Predictor], fitted: dict[str, Predictor]) -> None:
    """A device of half the speed, known from 30 networks: better than from nothing."""
    slower = 2 * VALUES[:30]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fgnas.hardware.measured.predictors.paper.EPOCHS", EPOCHS // 10)
        both = [kind.fit(NETWORKS[:30], slower, CLOUD, 0, start) for start in (None, fitted[kind.NAME])]
    new, continued = (np.abs(one.values(NETWORKS[HELD]) / (2 * VALUES[HELD]) - 1).mean() for one in both)
    assert continued < new


def test_values_are_above_zero(fitted: dict[str, Predictor]) -> None:
    wide = drawn(40, seed=9)
    assert all((one.values(wide) > 0).all() for one in fitted.values())


def test_nine_digits_by_hand() -> None:
    assert steady(np.array([0.123456789123, 98765.4321987])).tolist() == [0.123456789, 98765.4322]


def test_parts_to_fit_to_choose_and_to_hold_out() -> None:
    assert [len(part) for part in split(2500)] == [1750, 250, 500]
    assert np.concatenate(split(23)).tolist() == list(range(23))
