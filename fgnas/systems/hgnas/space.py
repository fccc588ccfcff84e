"""HGNAS's space: twelve operations, and for each half of them one set of functions (HGNAS, Table 2)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.networks.points.canonical import canonical
from fgnas.networks.points.operations import (
    CONNECTS,
    MESSAGES,
    PARTS,
    REDUCERS,
    SAMPLES,
    WIDTHS,
    Aggregate,
    Combine,
    Connect,
    Operation,
    PointNetwork,
    Sample,
    Tail,
)
from fgnas.networks.points.work import Cloud
from fgnas.space import Choice, Space

POSITIONS = 12
HALVES = ("upper", "lower")
"""Positions 0 to 5, and 6 to 11."""
OPERATIONS = ("connect", "aggregate", "combine", "sample")
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "connect": CONNECTS, "reducer": REDUCERS, "message": tuple(MESSAGES), "width": WIDTHS, "sample": SAMPLES,
}  # fmt: skip
OVER_EDGES = FUNCTIONS | {
    "message": tuple(name for name, parts in PARTS.items() if "distance" not in parts), "sample": ("random",),
}  # fmt: skip
"""Those that an array computes over edges: neither distances nor nearest neighbours by features."""
SUPERNET = "supernet"
OWN = "own"


@dataclass(frozen=True)
class PointCandidate:
    """A network in canonical form.

    Attributes:
        network: the operations that are left, and the tail.
        functions: the functions of both halves, where the network is scored with weights of its own functions; else ().
    """

    network: PointNetwork
    functions: tuple[Any, ...] = ()

    @property
    def hash(self) -> str:
        """The hash of the network."""
        return self.network.hash

    @property
    def training_key(self) -> str:
        """Trained alone, a network is its record."""
        return self.network.hash

    @property
    def supernet(self) -> str:
        """A name of the weights that score it: "shared", or that of a set of functions."""
        return hashlib.sha256(repr(self.functions).encode()).hexdigest()[:12] if self.functions else "shared"

    @property
    def score_key(self) -> str:
        """The network, and the weights that score it."""
        return f"{self.network.hash} {self.supernet}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return self.network.to_dict() | ({"functions": list(self.functions)} if self.functions else {})


@dataclass(frozen=True)
class PointSpace(Space):
    """The space of networks for clouds with a tail.

    No draw decides "supernet", where the space has it: a searcher that sets it to 0 asks for a score with weights of
    the row's own functions.
    """

    cloud: Cloud
    tail: Tail

    def candidate(self, row: NDArray[np.int16]) -> PointCandidate:
        """The network of a row, in canonical form."""
        values = self._values(row)
        operations = canonical(listed(values), self.cloud.width, self.cloud.edges)
        functions = tuple(values[f"{half}_{name}"] for half in HALVES for name in FUNCTIONS)
        own = values.get(SUPERNET) == OWN
        return PointCandidate(PointNetwork(operations, self.tail), functions if own else ())

    def operations(self, row: NDArray[np.int16]) -> tuple[Operation, ...]:
        """The twelve operations of a row, as they are drawn."""
        return listed(self._values(row))

    def draw_of(self, functions: tuple[Any, ...], count: int, rng: np.random.Generator) -> list[PointNetwork]:
        """Networks of uniform operations with these functions; () draws the functions, too."""
        rows = self.draw(count, rng)
        if functions:
            chosen = iter(functions)
            for column, decision in enumerate(self.decisions):
                if decision.kind == "function":
                    rows[:, column] = decision.options.index(next(chosen))
        return [self.candidate(row).network for row in rows]

    def _values(self, row: NDArray[np.int16]) -> dict[str, Any]:
        return {
            decision.name: decision.options[index] if index >= 0 else None
            for decision, index in zip(self.decisions, row.tolist(), strict=True)
        }


def listed(values: dict[str, Any]) -> tuple[Operation, ...]:
    """The operations of a row's values: each with the functions of its half."""
    found = list[Operation]()
    for position in range(POSITIONS):
        half = HALVES[position * len(HALVES) // POSITIONS]
        function = {name: values[f"{half}_{name}"] for name in FUNCTIONS}
        match values[f"{position}.operation"]:
            case "connect":
                found.append(Connect(function["connect"]))
            case "aggregate":
                found.append(Aggregate(function["reducer"], function["message"]))
            case "combine":
                found.append(Combine(function["width"]))
            case _:
                found.append(Sample(function["sample"]))
    return tuple(found)


def point_space(
    cloud: Cloud, tail: Tail, offered: Mapping[str, tuple[Any, ...]] = FUNCTIONS, supernets: bool = True
) -> PointSpace:
    """The space for clouds of a kind, of these functions; where supernets score, rows may ask for own weights."""
    functions = tuple(
        Choice(f"{half}_{name}", options, "function", where="design", label=f"{half} {name}")
        for half in HALVES for name, options in offered.items()
    )  # fmt: skip
    # A condition that no function meets: the decision has no effect in any draw.
    own = Choice(SUPERNET, (OWN,), "stage", where="design", only_if=(functions[0].name, OWN))
    whole = (*functions, *((own,) if supernets else ()))
    return PointSpace("hgnas", POSITIONS, (*whole, Choice("operation", OPERATIONS, "operation")), cloud, tail)
