"""Networks of points on the smallest array that runs them, and what the host sends for a cloud."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fgnas.errors import UserError
from fgnas.fixedpoint import Codes
from fgnas.hardware import wire
from fgnas.hardware.array.dealing import Deal
from fgnas.hardware.array.encoded import Encoded, Leaving, image_beats, no_beats
from fgnas.hardware.array.engine import (
    LANES,
    MOST_BIASES,
    MOST_OWN_WORDS,
    MOST_PROGRAMME,
    MOST_TABLE_WORDS,
    Engine,
    Mode,
    Neighbours,
)
from fgnas.hardware.array.lowering import LEAST_PROGRAMME
from fgnas.hardware.array.packing import Schedule
from fgnas.hardware.array.points.lowering import OWN, TABLE, Lowering, Planned, words_of
from fgnas.hardware.array.programme import (
    NARROW_BITS,
    STREAMED,
    Beats,
    Descriptor,
    Operation,
    Region,
    Target,
    entry_beats,
    programme_beats,
)
from fgnas.hardware.integer.combine import Combine
from fgnas.hardware.integer.network import FEATURES, IntegerNetwork
from fgnas.hardware.integer.sample import Sample
from fgnas.hardware.numbers import ceil_div, ceil_log2

LOADS = 3
"""Descriptors that load a network: weights, those of the classifier, biases."""


@dataclass(frozen=True, eq=False)
class PointSource:
    """A network in integers for clouds of so many points; the names of both are for who reads a project."""

    integers: IntegerNetwork
    points: int
    name: str = ""
    dataset: str = ""


@dataclass(frozen=True, eq=False)
class PointArray:
    """A network of points on an engine."""

    source: PointSource
    engine: Engine

    def summary(self) -> dict[str, Any]:
        """The network and its engine as plain JSON values, without weights."""
        source = self.source
        return {
            "name": source.name, "dataset": source.dataset, "target": "array", "points": source.points,
            "width_in": source.integers.width_in, "classes": source.integers.output.columns,
            "engine": self.engine.summary(),
        }  # fmt: skip


def lowered(source: PointSource, units: int, beat_bits: int = wire.BEAT_BITS) -> EncodedPoints:
    """A network for clouds of so many points on the smallest array of so many units that runs it, without a cloud.

    Raises UserError where it does not fit.
    """
    first = Lowering(source.integers, source.points, units)
    first.run()
    plan = Lowering(source.integers, source.points, units, words_of(first.common), words_of(first.apart))
    plan.run()
    engine = _engine(plan, beat_bits)
    return EncodedPoints(PointArray(source, engine), *_encoded(plan, engine))


def _engine(plan: Lowering, beat_bits: int) -> Engine:
    """The smallest engine that runs a plan."""
    bits = widest(plan.network)
    shifts = {0} | {one.fields[name] for one in plan.planned for name in ("raw_shift", "raw_residual_shift")
                    if name in one.fields}  # fmt: skip
    tiles = max(one.fields["tiles"] for one in plan.planned if not one.fields.get("sample"))
    sums = max(_sum_bits(one, plan, bits) for one in plan.planned)
    descriptors = len(plan.planned) + LOADS
    needed = {
        "descriptors": (descriptors, MOST_PROGRAMME), "words of biases": (len(plan.biases), MOST_BIASES),
        "words of a table": (plan.rooms[TABLE].most, MOST_TABLE_WORDS),
        "own words": (plan.rooms[OWN].most, MOST_OWN_WORDS),
    }  # fmt: skip
    for what, (wanted, most) in needed.items():
        if wanted > most:
            raise UserError(f"the network needs {wanted:,} {what}, an array of {plan.units} units has {most:,}: choose "
                            f"fewer points, narrower layers or more units")  # fmt: skip
    modes = tuple(dict.fromkeys((plan.single, plan.spread, plan.together)))
    return Engine(
        units=plan.units, bits=bits, modes=modes, tiles=tiles,
        table_words=_whole(plan.rooms[TABLE].most, beat_bits), own_words=max(2, plan.rooms[OWN].most),
        bias_words=max(1, len(plan.biases)), activation_words=0, shifts=tuple(sorted(shifts)), maximum=True,
        sum_bits=sums, programme=max(LEAST_PROGRAMME, 1 << (descriptors - 1).bit_length()), beat_bits=beat_bits,
        residual=True, neighbours=Neighbours(max(1, plan.places), max(2, plan.indices)),
    )  # fmt: skip


def _whole(words: int, beat_bits: int) -> int:
    """Words of a table with as many in every bank."""
    banks = beat_bits // (2 * wire.MEMORY_WORD_BITS)
    return max(2, int(ceil_div(words, banks)) * banks)


def widest(network: IntegerNetwork) -> int:
    """Bits of the widest number that a memory holds."""
    numbers = [network.values[step.name].number for step in network.steps if not isinstance(step.operation, Sample)]
    numbers.append(network.number)
    weights = [step.operation.number for step in network.steps if isinstance(step.operation, Combine)]
    return max(one.width for one in (*numbers, *weights) if one.width < wire.LOGIT_BITS)


def _sum_bits(one: Planned, plan: Lowering, bits: int) -> int:
    """Bits of the sums of a descriptor."""
    if one.fields["operation"] == Operation.DENSE and not one.fields.get("sample"):
        return 2 * bits + int(ceil_log2(one.fields["entries"] * one.mode.k))
    entries = one.fields.get("entries") or (1 if one.last is None else int(np.diff(np.flatnonzero(np.concatenate([
        [1], one.last[:, 0]]))).max(initial=1)) + 1)  # fmt: skip
    return NARROW_BITS + bits + int(ceil_log2(max(1, entries)))


def _encoded(plan: Lowering, engine: Engine) -> tuple[Any, ...]:
    """Names, schedules, descriptors and regions."""
    parts: dict[Region, list[Beats]] = {region: [] for region in STREAMED}

    def appended(region: Region, beats: Beats) -> dict[str, int]:
        offset = sum(map(len, parts[region]))
        parts[region].append(beats)
        return {"region": region, "offset": offset, "beats": len(beats)}

    biases = [word[None, None] for word in plan.biases]
    loads: list[tuple[str, list[Codes], Target, int, Mode]] = [
        ("weights", plan.common, TABLE, 0, plan.single), ("biases", biases, Target.BIAS, 0, plan.single),
        ("classifier", plan.apart, TABLE, plan.before_apart, plan.spread),
    ]  # fmt: skip
    programme, names, schedules, needed = [], [], dict[int, Schedule](), []
    for name, words, target, base, mode in loads:
        if not words:
            continue
        image = np.concatenate(words, axis=1)
        programme.append(Descriptor(operation=Operation.LOAD, mode=engine.mode_number(mode), tiles=1,
                                    count=image.shape[1], target=target, target_base=base,
                                    **appended(Region.PARAMETERS, image_beats(image, engine))))  # fmt: skip
        names.append(f"load {name}")
        needed.append(0)
    for one in plan.planned:
        fields = dict(one.fields)
        shifts = {"shift": fields.pop("raw_shift", 0), "residual_shift": fields.pop("raw_residual_shift", 0)}
        fields |= {name: engine.shift_number(shift) for name, shift in shifts.items()}
        if not fields.get("residual"):
            fields["residual_shift"] = 0
        if "weight_base" in fields:
            fields["table_base"] = fields.pop("weight_base")
        if fields.pop("load", None):
            fields |= {"offset": 0, "beats": _cloud_beats(plan, engine)}
        if "stream" in fields:
            index, value, last, takers = plan.streams[fields.pop("stream")]
            beats = entry_beats(index, value, last, takers, engine.beat_bits, engine.bits)
            fields |= appended(Region.EDGES, beats)
            schedules[len(programme)] = Schedule(np.zeros_like(last), np.zeros_like(last), last)
        if words := fields.pop("logits", 0):
            fields["result_beats"] = plan.units * words // engine.results_together(one.mode, words)
        programme.append(Descriptor(mode=engine.mode_number(one.mode), **fields))
        names.append(one.name)
        needed.append(one.multiplications)
    regions = {region.name.lower(): np.concatenate([no_beats(engine), *held]) for region, held in parts.items()}
    regions["programme"] = programme_beats(programme, engine.beat_bits)
    return tuple(names), tuple(needed), schedules, tuple(programme), regions


def _cloud_beats(plan: Lowering, engine: Engine) -> int:
    value = plan.values[FEATURES]
    return int(ceil_div(plan.points * value.words, engine.loaded_together))


@dataclass(frozen=True, eq=False)
class EncodedPoints(Encoded):
    """Everything that the host sends for a cloud; see `Encoded`. `with_cloud` adds the cloud.

    Attributes:
        accelerator: the network on its engine.
        names, multiplications: of every descriptor.
    """

    accelerator: PointArray
    names: tuple[str, ...]
    multiplications: tuple[int, ...]
    schedules: dict[int, Schedule]
    programme: tuple[Descriptor, ...]
    regions: dict[str, Beats]

    @property
    def engine(self) -> Engine:
        """The array."""
        return self.accelerator.engine

    @property
    def leaving(self) -> Leaving:
        """A row of logits of the first group."""
        units, none = self.engine.units, np.zeros(1, np.int64)
        classes = self.accelerator.source.integers.output.columns
        deal = Deal(none, none, np.arange(units) == 0)
        return Leaving(deal, Mode(units, 1, 1), int(ceil_div(classes, LANES)), classes)

    @property
    def edges(self) -> int:
        """None is sent."""
        return 0

    def with_cloud(self, cloud: Codes) -> EncodedPoints:
        """With the codes [N, F] of a cloud."""
        words = int(ceil_div(cloud.shape[1], LANES))
        padded = np.pad(cloud, ((0, 0), (0, words * LANES - cloud.shape[1])))
        beats = image_beats(padded.reshape(1, -1, LANES), self.engine)
        return replace(self, regions=self.regions | {"features": beats})
