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
from fgnas.hardware.integer.positions import Positions
from fgnas.hardware.integer.rescale import Rescale
from fgnas.hardware.integer.sample import Sample

NO_CODES: Codes = np.zeros(0, np.int64)
"""Biases whose numbers do not matter."""


class Epilogue(NamedTuple):
    """How a sum is finished: a right shift, a bias, optionally relu, and the width of the result. With `behind`
    relu follows the addition of the own row."""

    shift: int
    bits: int
    bias: Codes | None = None
    relu: bool = False
    behind: bool = False


@dataclass(frozen=True, eq=False)
class Dense:
    """Every row of a value times weights, which are None where they do not matter."""

    source: str
    combine: Combine | None
    epilogue: Epilogue


@dataclass(frozen=True, eq=False)
class Gathered:
    """The rows of a value that neighbours name, reduced, and the row itself times `own`; of one point alone, a copy.

    Attributes:
        source: the value whose rows are read.
        neighbours: the sample that names them; None: every row reads itself.
        value: factor of each neighbour's row; own: factor of the row itself, 0 if it is not read.
        largest, negated: the maximum is taken; the result is negated.
        added: an own row that is added: its value's name, right shift, and whether it is subtracted.
        distance: each neighbour sends its distance to the row instead.
    """

    source: str
    neighbours: str | None
    value: int
    epilogue: Epilogue
    own: int = 0
    largest: bool = False
    negated: bool = False
    added: tuple[str, int, bool] | None = None
    distance: bool = False

    @property
    def copies(self) -> bool:
        """Whether every row is that of the source alone, times a value, and nothing is added."""
        return self.neighbours is None and self.added is None


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


@dataclass(frozen=True, eq=False)
class Held:
    """Rows that every cloud has, loaded as weights are."""

    codes: Codes


Made = Dense | Gathered | Joined | Read | Held


@dataclass(frozen=True, eq=False)
class Fused:
    """A network as the steps of an array.

    Attributes:
        made: the operation that makes each value that an array keeps, by name, in order; the steps between two such
            values are part of it.
        columns: {value: numbers of a row}.
        widths: {value: bits of a number}.
        sampled: {sample: the value whose rows it reads}.
        widest: bits of the widest number that a memory holds.
    """

    made: dict[str, Made | Sample]
    columns: dict[str, int]
    widths: dict[str, int]
    sampled: dict[str, str]
    widest: int


def fused(network: IntegerNetwork) -> Fused:
    """An integer network as the steps of an array. Raises UserError for an operation that an array does not do."""
    values = {name: one for name, one in network.values.items() if one.saturated}
    samples = {step.name: step.inputs[0] for step in network.steps if isinstance(step.operation, Sample)}
    numbers = [value.number.width for name, value in values.items() if name not in samples]
    numbers += [step.operation.number.width for step in network.steps if isinstance(step.operation, Combine)]
    return Fused(
        _parsed(network), {name: one.columns for name, one in network.values.items()},
        {name: one.number.width for name, one in values.items()}, samples,
        max(width for width in numbers if width < wire.LOGIT_BITS),
    )  # fmt: skip


def _parsed(network: IntegerNetwork) -> dict[str, Made | Sample]:
    found: dict[str, Made | Sample] = {}
    between: dict[str, Step] = {}
    for step in network.steps:
        match step.operation:
            case Sample() as sample:
                found[step.name] = sample
            case Concatenate():
                found[step.name] = Joined(step.inputs)
            case Positions() as positions:
                found[step.name] = Held(positions.codes)
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
    """The fused operation that makes the value of a bias or an addition."""
    if isinstance(step.operation, Add):
        return _added(network, step, found)
    apply, at, shift = step.operation, step.inputs[0], 0
    assert isinstance(apply, Apply)
    if at in between and isinstance(between[at].operation, Rescale):
        shift = between[at].operation.shift  # type: ignore[attr-defined]
        at = between[at].inputs[0]
    if apply.function not in ("relu", "linear") or (apply.table is not None and apply.argument != apply.output):
        raise UserError(f"{step.name}: an array of points has relu with one format, not {apply.function}")
    before, sum_of = between.get(at), found.get(at)
    # A layer's bias is loaded whatever it is, so that cycles depend on shapes alone; elsewhere there is none to load.
    layer = before is not None and isinstance(before.operation, Combine) and apply.function == "relu"
    biased = np.any(apply.bias) or layer or step is network.steps[-1]
    bias = apply.bias << apply.bias_shift if biased else None
    epilogue = Epilogue(shift, apply.output.width, bias, apply.function == "relu")
    if before is None:
        if not isinstance(sum_of, Gathered) or not _is_relu_alone(network, at, sum_of, epilogue):
            return Gathered(at, None, 1, epilogue)
        del found[at]
        return replace(sum_of, epilogue=sum_of.epilogue._replace(behind=True))
    match before.operation:
        case Combine() as combine:
            bias = apply.bias << apply.bias_shift  # though all are 0, so that cycles depend on shapes alone
            return Dense(before.inputs[0], combine, epilogue._replace(shift=combine.shift + shift, bias=bias))
        case Neighbourhood() as reads if not shift or (reads.shift <= 0 and reads.reducer != "mean"):  # rounded once
            return _gathered(network, reads, before.inputs, epilogue._replace(shift=reads.shift + shift), found)
        case Gather() as gather:
            return _read(gather, before.inputs[0], epilogue)
    raise UserError(f"{step.name}: an array of points does not do {type(before.operation).__name__}")


def _is_relu_alone(network: IntegerNetwork, at: str, total: Gathered, epilogue: Epilogue) -> bool:
    """Whether an epilogue is a relu that a sum of two rows can have behind it, since no other step reads the sum."""
    plain = Epilogue(0, total.epilogue.bits, None, relu=True)
    sums = total.added is not None and not total.epilogue.relu and len(network.readers(at)) == 1
    return sums and epilogue.bias is None and epilogue == plain


def _added(network: IntegerNetwork, step: Step, found: dict[str, Made | Sample]) -> Gathered:
    """Rows are added where others are gathered or copied: what is made in another way, or read again, is copied."""
    add, (one, other) = step.operation, step.inputs
    assert isinstance(add, Add)
    added, first = (other, add.shift, add.minus), found.get(one)
    if isinstance(first, Gathered) and first.added is None and network.readers(one) == (step,):
        del found[one]
        return replace(first, added=added)
    return Gathered(one, None, 1, Epilogue(0, add.output.width), added=added)


def _gathered(
    network: IntegerNetwork, reads: Neighbourhood, inputs: tuple[str, ...], epilogue: Epilogue,
    found: dict[str, Made | Sample],
) -> Gathered:  # fmt: skip
    source, neighbours = inputs
    sample = found[neighbours]
    assert isinstance(sample, Sample)
    k = sample.neighbours
    if reads.part == "target":
        return Gathered(source, None, k if reads.reducer == "sum" else 1, epilogue)
    if reads.part == "relative" and reads.reducer != "sum":
        raise UserError(f"the {reads.reducer} of x_j - x_i is that of x_j less x_i on an array")
    made = Gathered(source, neighbours, 1, epilogue, distance=reads.part == "distance")
    match reads.reducer:
        case "mean":
            fraction = readout_fraction(np.array([k]))
            mean = epilogue._replace(shift=epilogue.shift + fraction)
            return replace(made, value=round(2**fraction / k), epilogue=mean)
        case "min":
            return replace(made, value=-1, largest=True, negated=True)
        case "max":
            return replace(made, largest=True)
    return replace(made, own=-k if reads.part == "relative" else 0)


def _read(gather: Gather, source: str, epilogue: Epilogue) -> Read:
    """A readout. The factor of a mean follows from the cloud's size, which is not known yet; it is 0 until then."""
    if gather.reduce == "max":
        return Read(source, 1, True, epilogue._replace(shift=epilogue.shift + gather.shift))
    if gather.mean != "rounded":
        raise UserError("a readout of an array is a maximum or a mean")
    shift = epilogue.shift + gather.shift - wire.COEFFICIENT_FRACTION_BITS
    return Read(source, 0, False, epilogue._replace(shift=shift))
