"""Networks of points on the smallest array that runs them, and the regions that the host sends for a cloud."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fgnas.errors import UserError
from fgnas.fixedpoint import Codes
from fgnas.hardware import wire
from fgnas.hardware.array.dealing import Deal
from fgnas.hardware.array.encoded import Encoded, Leaving, image_beats, no_beats
from fgnas.hardware.array.engine import LANES, Engine, Mode, Neighbours, joined, most_of, table_banks
from fgnas.hardware.array.lowering import LEAST_PROGRAMME
from fgnas.hardware.array.packing import Schedule
from fgnas.hardware.array.points.fused import Fused, fused
from fgnas.hardware.array.points.kind import PointArrays
from fgnas.hardware.array.points.lowering import Lowering
from fgnas.hardware.array.points.memory import OWN, PAGINGS, TABLE, NoRoomError, Paging
from fgnas.hardware.array.points.planned import Planned
from fgnas.hardware.array.points.products import loading
from fgnas.hardware.array.programme import (
    NARROW_BITS,
    STREAMED,
    Operation,
    PointDescriptor,
    Region,
    Target,
    entry_beats,
    executed,
    programme_beats,
    values_of,
)
from fgnas.hardware.integer.network import IntegerNetwork
from fgnas.hardware.numbers import ceil_div
from fgnas.hardware.wire import Beats


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
            "name": source.name, "dataset": source.dataset, "target": PointArrays.name, "points": source.points,
            "width_in": source.integers.width_in, "classes": source.integers.output.columns,
            "engine": self.engine.summary(),
        }  # fmt: skip


def lowered(
    source: PointSource, units: int, beat_bits: int = wire.BEAT_BITS, engine: Engine | None = None
) -> EncodedPoints:
    """A network for clouds of so many points on the smallest array of so many units that runs it, without a cloud; or
    on an `engine` of as many units and such a port.

    Where the tables are too small for everything that is read in them, weights and rows come there when they are read.
    Raises UserError where it does not fit even so.
    """
    return encoded_of(source, fitting(fused(source.integers), source.points, units), beat_bits, engine)


def fitting(steps: Fused, points: int, units: int) -> Lowering:
    """The fastest programme that the memories hold. Raises UserError where none is."""
    for paging in PAGINGS:
        try:
            return _planned(steps, points, units, paging)
        except NoRoomError:
            if paging == PAGINGS[-1]:
                raise
    raise AssertionError("the last paging is tried")


def encoded_of(
    source: PointSource, plan: Lowering, beat_bits: int, engine: Engine | None = None
) -> EncodedPoints:
    """The programme of a plan on the smallest engine that runs it, or on an `engine` that does, without a cloud."""
    smallest = engine_of(plan, beat_bits)
    if engine is not None and joined([engine, smallest]) != engine:
        raise UserError(f"the engine has not all that the network needs: {smallest.summary()}")
    chosen = engine or smallest
    return EncodedPoints(PointArray(source, chosen), *_encoded(plan, chosen))


def planned(source: PointSource, units: int, paging: Paging) -> Lowering:
    """The programme where so much stays in the tables. Raises NoRoomError where a memory is too small."""
    return _planned(fused(source.integers), source.points, units, paging)


def _planned(steps: Fused, points: int, units: int, paging: Paging) -> Lowering:
    plan = Lowering(steps, points, units, paging=paging).run()
    if paging.weights:
        return plan
    return Lowering(steps, points, units, plan.common.words, plan.apart.words, paging).run()


def engine_of(plan: Lowering, beat_bits: int) -> Engine:
    """The smallest engine that runs a plan."""
    bits, most = plan.fused.widest, most_of(neighbours=True)
    shifts = {0} | {one.fields[name] for one in plan.planned for name in ("raw_shift", "raw_residual_shift")
                    if name in one.fields}  # fmt: skip
    tiles = max(one.fields["tiles"] for one in plan.planned if not one.fields.get("sample"))
    neighbours = Neighbours(max(1, plan.places), max(2, plan.indices), max(1, plan.measured), plan.roots)
    sums = max(_sum_bits(one, neighbours, bits) for one in plan.planned)
    descriptors = len(ordered(plan))
    needed = {"descriptors": (descriptors, most.programme), "right shifts": (len(shifts), most.shifts)}
    for what, (wanted, size) in needed.items():
        if wanted > size:
            raise UserError(f"the network needs {wanted:,} {what}, an array of {plan.units} units has {size:,}: choose "
                            f"fewer points, narrower layers or more units")  # fmt: skip
    modes = tuple(dict.fromkeys((plan.single, plan.spread, plan.together)))
    return Engine(
        units=plan.units, bits=bits, modes=modes, tiles=tiles,
        table_words=_whole(plan.rooms[TABLE].most, beat_bits), own_words=max(2, plan.rooms[OWN].most),
        bias_words=max(1, plan.bias_words), activation_words=0, shifts=tuple(sorted(shifts)), maximum=True,
        sum_bits=sums, programme=max(LEAST_PROGRAMME, 1 << (descriptors - 1).bit_length()), beat_bits=beat_bits,
        residual=True, neighbours=neighbours,
    )  # fmt: skip


def _whole(words: int, beat_bits: int) -> int:
    """Words of a table with as many in every bank."""
    banks = table_banks(beat_bits)
    return max(2, int(ceil_div(words, banks)) * banks)


def _sum_bits(one: Planned, neighbours: Neighbours, bits: int) -> int:
    """Bits of the sums of a descriptor."""
    fields = one.fields
    if fields["target"] == Target.NEIGHBOURS:
        return bits  # squares are added elsewhere
    if fields["operation"] == Operation.DENSE and not (fields.get("sample") or fields.get("place")):
        return 2 * bits + (fields["entries"] * one.mode.k - 1).bit_length()
    added = fields.get("entries", 1) if one.ends is None else one.ends.entries + 1
    number = neighbours.root_bits(bits) + 2 if fields.get("sample") else bits  # a rounded root, and its sign
    return NARROW_BITS + number + (max(1, added) - 1).bit_length()


def _encoded(plan: Lowering, engine: Engine) -> tuple[Any, ...]:
    """Names, multiplications, schedules, descriptors and regions."""
    parts: dict[Region, list[Beats]] = {region: [] for region in STREAMED}

    def appended(region: Region, beats: Beats) -> dict[str, int]:
        offset = sum(map(len, parts[region]))
        parts[region].append(beats)
        return {"region": region, "offset": offset, "beats": len(beats)}

    streams = [
        appended(Region.EDGES, entry_beats(*one.made(), one.ends.last, one.ends.takers, engine.beat_bits, engine.bits))
        for one in plan.streams
    ]
    programme, names, needed, schedules = list[PointDescriptor](), [], [], dict[int, Schedule]()
    for one in ordered(plan):
        fields = dict(one.fields)
        fields["shift"] = engine.shift_number(fields.pop("raw_shift", 0))
        shift = fields.pop("raw_residual_shift", None)
        fields["residual_shift"] = 0 if shift is None else engine.shift_number(shift)
        if one.image is not None:
            beats = image_beats(one.image.codes(), engine)
            fields |= {"count": one.image.words, **appended(Region.PARAMETERS, beats)}
        elif fields.get("region") == Region.FEATURES:
            fields |= {"offset": 0, "beats": int(ceil_div(fields["count"], engine.loaded_together))}
        elif one.stream >= 0:
            fields |= streams[one.stream]
        if one.ends is not None:
            last = one.ends.last
            schedules[len(programme)] = Schedule(np.zeros_like(last), np.zeros_like(last), last)
        if words := fields.pop("logits", 0):
            fields["result_beats"] = plan.units * words // engine.results_together(one.mode, words)
        programme.append(PointDescriptor(mode=engine.mode_number(one.mode), **fields))
        names.append(one.name)
        needed.append(one.multiplications)
    regions = {region.name.lower(): np.concatenate([no_beats(engine), *held]) for region, held in parts.items()}
    regions["programme"] = programme_beats(programme, engine.beat_bits)
    return tuple(names), tuple(needed), schedules, tuple(programme), regions


def ordered(plan: Lowering) -> list[Planned]:
    """The descriptors in order: what is loaded once comes before the clouds, biases if one load has all of them."""
    loads = [
        Planned(f"load {name}", loading(image) | {"target_base": base}, mode, image=image)
        for name, image, base, mode in (("weights", plan.common, 0, plan.single),
                                        ("classifier", plan.apart, plan.before_apart, plan.spread))
        if image.words
    ]  # fmt: skip
    behind = [one for one in plan.planned if one.image is None or one.image.words]
    biases = [one for one in behind if one.fields["target"] == Target.BIAS]
    if len(biases) == 1:
        loads, behind = [*loads, *biases], [one for one in behind if one is not biases[0]]
    return [*loads, *behind]


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
    programme: tuple[PointDescriptor, ...]
    regions: dict[str, Beats]

    @property
    def engine(self) -> Engine:
        """The array."""
        return self.accelerator.engine

    @property
    def leaving(self) -> Leaving:
        """A row of logits of the first group for each cloud; the other groups' rows mean nothing."""
        units, clouds = self.engine.units, np.arange(self.clouds)
        classes = self.accelerator.source.integers.output.columns
        deal = Deal(np.zeros_like(clouds), clouds, np.where(np.arange(units) == 0, self.clouds, 0))
        return Leaving(deal, Mode(units, 1, 1), int(ceil_div(classes, LANES)), classes)

    @property
    def edges(self) -> int:
        """None is sent."""
        return 0

    @property
    def phases(self) -> list[tuple[str, int]]:
        """Names and multiplications of the phases of `cycles.phase_cycles`; of several clouds with a cloud's number."""
        order = list(executed(self.programme))
        several = self.clouds > 1
        loads = [place for place, one in enumerate(self.programme) if one.brings_clouds][0]
        return [("fetch", 0), *(
            (f"cloud {cloud}: {self.names[place]}" if several and place >= loads else self.names[place],
             self.multiplications[place]) for cloud, place in order
        )]  # fmt: skip

    @property
    def clouds(self) -> int:
        """Clouds of a start."""
        return max(one.entries for one in self.programme if one.brings_clouds)

    def with_cloud(self, cloud: Codes) -> EncodedPoints:
        """With the codes [N, F] of a cloud."""
        return self.with_clouds(cloud[None])

    def with_clouds(self, clouds: Codes) -> EncodedPoints:
        """With the codes [B, N, F] of clouds that follow each other in one start; weights are loaded once where they
        stay in the tables. Raises UserError for clouds of another shape, or more of them than a descriptor names."""
        source, most = self.accelerator.source, values_of("entries", neighbours=True) - 1
        shape = (source.points, source.integers.width_in)
        if clouds.shape[1:] != shape:
            raise UserError(f"clouds of {clouds.shape[1]} points with {clouds.shape[2]} features: the array was "
                            f"lowered for {shape[0]} with {shape[1]}")  # fmt: skip
        if not 1 <= len(clouds) <= most:
            raise UserError(f"{len(clouds):,} clouds: a start takes 1 to {most:,}; send them in several")
        words = int(ceil_div(clouds.shape[2], LANES))
        padded = np.pad(clouds, ((0, 0), (0, 0), (0, words * LANES - clouds.shape[2])))
        beats = [image_beats(cloud.reshape(1, -1, LANES), self.engine) for cloud in padded]
        programme = tuple(replace(one, entries=len(clouds)) if one.brings_clouds else one for one in self.programme)
        regions = {"features": np.concatenate(beats), "programme": programme_beats(programme, self.engine.beat_bits)}
        return replace(self, programme=programme, regions=self.regions | regions)
