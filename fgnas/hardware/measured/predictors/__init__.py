"""Predictors of a device's times, each learned from measured networks: one class in one file each, found by name.

A predictor is fitted to networks and their values above zero, such as ratios to a reference's time, and gives the
values of others. Its arrays hold all that it learned.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from fgnas.errors import UserError
from fgnas.hardware.measured.features import Floats
from fgnas.networks.points.operations import PointNetwork
from fgnas.networks.points.work import Cloud

DIGITS = 9

Arrays = Mapping[str, NDArray[Any]]


class Predictor(Protocol):
    """The interface of every predictor."""

    NAME: ClassVar[str]

    @classmethod
    def fit(
        cls, networks: Sequence[PointNetwork], values: Floats, cloud: Cloud, seed: int, start: Any = None
    ) -> Predictor:
        """A predictor of values above zero, [n]; it may continue from `start`, one of another device."""
        ...

    @classmethod
    def of(cls, arrays: Arrays, cloud: Cloud) -> Predictor:
        """The predictor that has these arrays."""
        ...

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything that it learned."""
        ...

    def values(self, networks: Sequence[PointNetwork]) -> Floats:
        """[n] the predicted values."""
        ...


PREDICTORS = {"flops": "Flops", "table": "Table", "trees": "Trees", "ours": "Ours", "paper": "Paper"}
"""Module of this package -> its class. Nothing is imported before it is asked for: torch takes seconds."""


def find(name: str) -> type[Predictor]:
    """A kind of predictor by its name. Raises UserError for an unknown one."""
    if name not in PREDICTORS:
        raise UserError(f"unknown predictor {name!r}; known: {', '.join(PREDICTORS)}")
    return cast("type[Predictor]", getattr(importlib.import_module(f"{__name__}.{name}"), PREDICTORS[name]))


def split(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Places of networks to fit, to choose by, and held out: seven, one and two tenths, in the order of drawing."""
    places = np.arange(count)
    return places[: count * 7 // 10], places[count * 7 // 10 : count * 8 // 10], places[count * 8 // 10 :]


def steady(values: Floats) -> Floats:
    """[n] values to nine digits: the last bits of a sum depend on how many networks are predicted together, and a
    price must not."""
    digits = DIGITS - 1 - np.floor(np.log10(np.abs(values)))
    return np.round(values * 10.0**digits) / 10.0**digits
