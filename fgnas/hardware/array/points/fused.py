"""The steps of a network of points: what one pass through the units makes of the operations of an integer network."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fgnas.errors import UserError
from fgnas.fixedpoint import Codes
from fgnas.hardware import wire
from fgnas.hardware.integer.add import Add
from fgnas.hardware.integer.apply import Apply
from fgnas.hardware.integer.combine import Combine
from fgnas.hardware.integer.concatenate import Concatenate
from fgnas.hardware.integer.gather import Gather, readout_fraction
from fgnas.hardware.integer.neighbourhood import Neighbourhood
from fgnas.hardware.integer.network import IntegerNetwork, Step
from fgnas.hardware.integer.rescale import Rescale
from fgnas.hardware.integer.sample import Sample


class Epilogue(NamedTuple):
    """What becomes of a sum: a right shift, a bias, relu or nothing, and the width of the result."""

    shift: int
    bits: int
    bias: Codes | None = None
    relu: bool = False


@dataclass(frozen=True, eq=False)
class Dense:
    """Every row of a value times weights."""

    source: str
    combine: Combine
    epilogue: Epilogue


@dataclass(frozen=True, eq=False)
class Gathered:
    """The rows of a value that neighbours name, reduced, and the row itself times `own`; of one point alone, a copy.

    Attributes:
        source: the value whose rows are read.
        neighbours: the sample that names them; None: every row reads itself.
        value: what each is multiplied by; own: what the row itself is; 0 where it is not read.
        largest, negated: the maximum is taken; the result is negated.
        added: an own row that is added: its value's name, right shift, and whether it is subtracted.
    """

    source: str
    neighbours: str | None
    value: int
    epilogue: Epilogue
    own: int = 0
    largest: bool = False
    negated: bool = False
    added: tuple[str, int, bool] | None = None


@dataclass(frozen=True, eq=False)
class Joined:
    """Values side by side, each in whole words."""

    parts: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Read:
    """The rows of a whole cloud reduced to one."""

    source: str
    value: int
    largest: bool
    epilogue: Epilogue


Made = Dense | Gathered | Joined | Read


def parsed(network: IntegerNetwork) -> dict[str, Made | Sample]:
    """What makes every value that an array keeps, by name, in order; what lies between is part of it.

    Raises UserError for an operation that an array does not do.
    """
    found: dict[str, Made | Sample] = {}
    between: dict[str, Step] = {}
    for step in network.steps:
        match step.operation:
            case Sample() as sample:
                found[step.name] = sample
            case Concatenate():
                found[step.name] = Joined(step.inputs)
            case Apply() | Add():
                found[step.name] = _made(network, step, found, between)
            case Combine() as combine if combine.output.width <= wire.WORD_BITS:
                found[step.name] = Dense(step.inputs[0], combine, Epilogue(combine.shift, combine.output.width))
            case _:
                between[step.name] = step
    return found


def _made(
    network: IntegerNetwork, step: Step, found: dict[str, Made | Sample], between: dict[str, Step]
) -> Made:
    """What makes the value of a bias, or of an addition."""
    if isinstance(step.operation, Add):
        first, other = found.pop(step.inputs[0]), step.inputs[1]
        add = step.operation
        if not isinstance(first, Gathered):
            raise UserError(f"{step.name}: an array adds to rows that it gathers or copies alone")
        return replace(first, added=(other, add.shift, add.minus))
    apply, at, shift = step.operation, step.inputs[0], 0
    assert isinstance(apply, Apply)
    if at in between and isinstance(between[at].operation, Rescale):
        shift = between[at].operation.shift  # type: ignore[attr-defined]
        at = between[at].inputs[0]
    if apply.function not in ("relu", "linear") or (apply.table is not None and apply.argument != apply.output):
        raise UserError(f"{step.name}: an array of points has relu with one format, not {apply.function}")
    bias = apply.bias << apply.bias_shift if np.any(apply.bias) else None
    epilogue = Epilogue(shift, apply.output.width, bias, apply.function == "relu")
    before = between.get(at)
    if before is None:
        return Gathered(at, None, 1, epilogue)
    match before.operation:
        case Combine() as combine:
            return Dense(before.inputs[0], combine, epilogue._replace(shift=combine.shift + shift))
        case Neighbourhood() as reads:
            return _gathered(network, reads, before.inputs, epilogue, found)
        case Gather() as gather:
            return _read(gather, before.inputs[0], epilogue)
    raise UserError(f"{step.name}: an array of points does not do {type(before.operation).__name__}")


def _gathered(
    network: IntegerNetwork, reads: Neighbourhood, inputs: tuple[str, ...], epilogue: Epilogue,
    found: dict[str, Made | Sample],
) -> Gathered:  # fmt: skip
    source, neighbours = inputs
    sample = found[neighbours]
    assert isinstance(sample, Sample)
    k = sample.neighbours
    if reads.part == "distance":
        raise UserError("distances need a root, which no array has yet: choose another message")
    if reads.part == "target":
        return Gathered(source, None, k if reads.reducer == "sum" else 1, epilogue)
    if reads.part == "relative" and reads.reducer != "sum":
        raise UserError(f"the {reads.reducer} of x_j - x_i is that of x_j less x_i on an array")
    if reads.reducer == "mean":
        fraction = readout_fraction(np.array([k]))
        return Gathered(source, neighbours, round(2**fraction / k), epilogue._replace(shift=epilogue.shift + fraction))
    own = -k if reads.part == "relative" else 0
    if reads.reducer == "min":
        return Gathered(source, neighbours, -1, epilogue, largest=True, negated=True)
    return Gathered(source, neighbours, 1, epilogue, own, reads.reducer == "max")


def _read(gather: Gather, source: str, epilogue: Epilogue) -> Read:
    """A readout; the value of a mean is that of the cloud's size, which is known later: 0 stands for it."""
    if gather.reduce == "max":
        return Read(source, 1, True, epilogue._replace(shift=epilogue.shift + gather.shift))
    if gather.mean != "rounded":
        raise UserError("a readout of an array is a maximum or a mean")
    shift = epilogue.shift + gather.shift - wire.COEFFICIENT_FRACTION_BITS
    return Read(source, 0, False, epilogue._replace(shift=shift))
