"""Networks as numbers for predictors: a row of features for each operation, and their sums.

The kinds and functions are HGNAS's one-hot codes (section 3.5), of 7 kinds and 21 functions. Our own predictors also
read widths, multiplications and bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fgnas.errors import UserError
from fgnas.networks.points.operations import (
    CONNECTS,
    MESSAGES,
    REDUCERS,
    SAMPLES,
    WIDTHS,
    Aggregate,
    Combine,
    Connect,
    Operation,
    PointNetwork,
    Sample,
)
from fgnas.networks.points.work import Cloud

Floats = NDArray[np.float64]

KINDS = ("input", "output", "global", Connect.KIND, Aggregate.KIND, Combine.KIND, Sample.KIND)
FUNCTIONS = (*CONNECTS, *REDUCERS, *MESSAGES, *(str(width) for width in WIDTHS), *SAMPLES)
CLASSES = (
    *(f"{reducer} {message}" for reducer in REDUCERS for message in MESSAGES), "combine", "skip", *SAMPLES,
)  # fmt: skip
"""Classes of operations, each with its own time; that of a combine also depends on its widths."""
NUMBERS = 7
"""Numbers of an operation beside its codes: see `_numbers`."""
FLOAT = 4


class Step(NamedTuple):
    """An operation in its place: its class, features of a point before and behind it."""

    one: Operation
    name: str
    width: int
    behind: int


@dataclass(frozen=True)
class Encoded:
    """Networks as arrays; L is the most operations of one of them.

    Attributes:
        kinds: [n, L] index in `KINDS`, -1 behind the last.
        codes: [n, L, 28] one-hot kinds and functions.
        numbers: [n, L, NUMBERS] what an operation moves and multiplies, as logarithms.
        sums: [n, S] over the operations: of each class how many, and the widths before them; and of all.
        products: [n] multiplications of a cloud.
    """

    kinds: NDArray[np.int64]
    codes: NDArray[np.float32]
    numbers: NDArray[np.float32]
    sums: Floats
    products: Floats


def steps(network: PointNetwork, cloud: Cloud) -> list[Step]:
    """The operations of a network with their widths. Raises UserError for an operation that no space has."""
    found, width = list[Step](), cloud.width
    for one in network.operations:
        behind = one.width(width)
        found.append(Step(one, _class(one), width, behind))
        width = behind
    return found


def encoded(networks: Sequence[PointNetwork], cloud: Cloud) -> Encoded:
    """The features of networks for clouds of a kind."""
    listed = [steps(network, cloud) for network in networks]
    longest = max((len(one) for one in listed), default=0) or 1
    count, codes = len(networks), len(KINDS) + len(FUNCTIONS)
    kinds = np.full((count, longest), -1)
    hot = np.zeros((count, longest, codes), np.float32)
    numbers = np.zeros((count, longest, NUMBERS), np.float32)
    sums = np.zeros((count, 2 * len(CLASSES) + 4))
    for place, mine in enumerate(listed):
        for at, step in enumerate(mine):
            kinds[place, at] = KINDS.index(step.one.KIND)
            hot[place, at, _hot(step.one)] = 1
            given = _numbers(step, cloud)
            numbers[place, at] = np.log1p(given)
            of_class = CLASSES.index(step.name)
            sums[place, of_class] += 1
            sums[place, len(CLASSES) + of_class] += step.width
            sums[place, 2 * len(CLASSES) : 2 * len(CLASSES) + 2] += (given[2], given[3])
        sums[place, -2:] = mine[-1].behind if mine else cloud.width, len(mine)
    return Encoded(kinds, hot, numbers, sums, sums[:, 2 * len(CLASSES)] + _ending(sums[:, -2], cloud, networks))


def _ending(widths: Floats, cloud: Cloud, networks: Sequence[PointNetwork]) -> Floats:
    """[n] multiplications of the tails' first layers; what follows is the same in all networks of a tail."""
    return cloud.points * widths * np.array([one.tail.embedding for one in networks])


def _class(one: Operation) -> str:
    match one:
        case Aggregate():
            return f"{one.reducer} {one.message}"
        case Combine() if one.features in WIDTHS:
            return "combine"
        case Combine():
            raise UserError(f"a predictor knows no combine of {one.features} features: time the network itself, with "
                            "--measure")  # fmt: skip
        case Connect():
            return "skip"
        case Sample():
            return one.function
    raise UserError(f"a predictor knows no {one.KIND}: time the network itself, with --measure")


def _hot(one: Operation) -> list[int]:
    """The places of an operation's codes that are one."""
    match one:
        case Aggregate():
            names: tuple[str, ...] = (one.reducer, one.message)
        case Combine():
            names = (str(one.features),)
        case Connect() | Sample():
            names = (one.function,)
        case _:
            names = ()
    return [KINDS.index(one.KIND), *(len(KINDS) + FUNCTIONS.index(name) for name in names)]


def _numbers(step: Step, cloud: Cloud) -> tuple[float, ...]:
    """Widths before and behind; multiplications; bytes written; entries sorted; edges read; rows gathered."""
    points, edges = cloud.points, cloud.points * cloud.neighbours
    products = entries = read = gathered = 0
    written = FLOAT * points * step.behind
    match step.one:
        case Combine():
            products = points * step.width * step.behind
        case Aggregate():
            read, gathered = edges, edges * step.width
            written += FLOAT * edges * (step.behind + step.width)
        case Sample(function="nearest"):
            products, entries = points * points * step.width, points * points
            written = FLOAT * 3 * entries
    return step.width, step.behind, products, written, entries, read, gathered
