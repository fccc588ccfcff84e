"""Random programmes: those of random networks with operations between their phases that no network has."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from arrays import SCORED, random_array, random_data, random_source

from fgnas.hardware.array.encoded import EncodedArray
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.engine import Engine, Mode
from fgnas.hardware.array.packing import Schedule
from fgnas.hardware.array.programme import (
    Descriptor,
    Operation,
    Region,
    Target,
    entry_beats,
    programme_beats,
)
from fgnas.hardware.wire import Beats

OWN_WORDS = 128
"""Words of own rows of a drawn engine, all of which a programme fills first."""
MOST_SHIFT = 9


@dataclass(frozen=True, eq=False)
class Step:
    """A descriptor, the layer that it counts for, and the slot rows that it reads."""

    descriptor: Descriptor
    layer: int
    schedule: Schedule | None = None


def steps_of(encoded: EncodedArray) -> list[Step]:
    """The steps of a network's programme: each descriptor with its layer and its schedule."""
    return [Step(one, layer, encoded.schedules.get(number))
            for number, (one, layer) in enumerate(zip(encoded.programme, encoded.layers, strict=True))]  # fmt: skip


class Builder:
    """A programme with the regions that it reads, from that of a network."""

    def __init__(self, encoded: EncodedArray, rng: np.random.Generator) -> None:
        self.encoded, self.rng, self.engine = encoded, rng, encoded.accelerator.engine
        self.edges: list[Beats] = [encoded.regions["edges"]]
        self.steps: list[Step] = []

    def sparse(self, ends: np.ndarray, mode: Mode, tiles: int, words: int, **fields: int) -> Step:
        """Random entries of a table's first words, whose rows end as [slot rows, m] `ends` says."""
        index = self.rng.integers(0, words - tiles + 1, (len(ends), mode.takers))
        value = self.rng.integers(-256, 256, index.shape)
        last = np.repeat(ends, mode.k, axis=1)
        beats = entry_beats(index, value, last, mode.takers, self.engine.beat_bits)
        offset = sum(map(len, self.edges))
        self.edges.append(beats)
        schedule = Schedule(np.zeros_like(ends), np.zeros_like(ends), ends)
        return Step(Descriptor(
            operation=Operation.SPARSE, mode=self.engine.mode_number(mode), tiles=tiles, count=len(ends), limit=words,
            region=Region.EDGES, offset=offset, beats=len(beats), bits=self.engine.bits, **fields,
        ), 0, schedule)  # fmt: skip

    def ends(self, rows: int, groups: int) -> np.ndarray:
        """[slot rows, m] ends of as many rows of each group, of one to three entries."""
        lengths = self.rng.integers(1, 4, (rows, groups))
        ends = np.zeros((int(lengths.sum(axis=0).max()), groups), np.int64)
        ends[lengths.cumsum(axis=0) - 1, np.arange(groups)] = 1
        return ends

    def fill(self) -> None:
        """Give all own words a content; a unit that is not the first of its k gets none."""
        mode = max(self.engine.modes, key=lambda one: one.m * one.n)
        assert mode.k == 1
        self.steps.append(self.sparse(
            self.ends(self.engine.own_words, mode.m), mode, 1, self.table_words(), target=Target.OWN,
            shift=self.engine.shift_number(MOST_SHIFT),
        ))  # fmt: skip

    def table_words(self) -> int:
        """Words of the tables that hold weights."""
        return self.encoded.accelerator.results_base

    def built(self) -> EncodedArray:
        """The programme."""
        programme = tuple(step.descriptor for step in self.steps)
        regions = self.encoded.regions | {
            "edges": np.concatenate(self.edges), "programme": programme_beats(programme, self.engine.beat_bits)
        }  # fmt: skip
        schedules = {place: step.schedule for place, step in enumerate(self.steps) if step.schedule is not None}
        layers = tuple(step.layer for step in self.steps)
        return replace(self.encoded, programme=programme, layers=layers, regions=regions, schedules=schedules)


    def phase(self, step: Step) -> Step:
        """The step continues from the sums of one to three random streams, which end as many rows."""
        d, mode = step.descriptor, self.engine.modes[step.descriptor.mode]
        rows = rows_of(step)
        for number in range(int(self.rng.integers(1, 4))):
            reduce = int(self.engine.maximum and self.rng.random() < 0.3)
            self.steps.append(self.sparse(
                self.ends(rows, mode.m), mode, d.tiles, max(d.tiles, self.table_words()), target=Target.PARTIAL,
                accumulate=int(number > 0), reduce=reduce,
            ))  # fmt: skip
        return replace(step, descriptor=replace(d, accumulate=1))


def rows_of(step: Step) -> int:
    """Rows of the fullest group in a phase that computes."""
    return step.descriptor.count if step.schedule is None else int(step.schedule.last.sum(axis=0).max())


def random_engine(rng: np.random.Generator, engine: Engine, **offered: object) -> Engine:
    """The engine with more own rows and shifts, which runs the same network and offers more."""
    shifts = {*engine.shifts, *rng.integers(-3, 8, 3).tolist(), MOST_SHIFT}
    modes = dict.fromkeys((*engine.modes, Mode(engine.units, 1, 1)))
    return replace(engine, own_words=OWN_WORDS, programme=32, shifts=tuple(sorted(shifts)), modes=tuple(modes),
                   **offered)  # type: ignore[arg-type]  # fmt: skip


def random_network(
    rng: np.random.Generator, layers: int, attentions: tuple[str, ...] = ("gcn", "constant"), **offered: object
) -> EncodedArray:
    """A random network whose own rows take half of an engine's at most, on one that offers more."""
    while True:
        data = random_data(rng)
        array = random_array(rng, random_source(rng, layers, data, attentions=attentions), data)
        if array.engine.own_words <= OWN_WORDS // 2 and len(array.engine.shifts) < 10 and len(array.engine.modes) < 8:
            return encode_array(array.on(random_engine(rng, array.engine, **offered)), data)


def with_residuals(encoded: EncodedArray, rng: np.random.Generator) -> EncodedArray:
    """Most aggregations add own rows: those of the layer before, or what else the memory holds, aligned by any shift.

    The rows of consecutive layers are in different halves of the memory.
    """
    build, half, base, adds = Builder(encoded, rng), OWN_WORDS // 2, 0, 1
    steps = steps_of(encoded)
    loads = [step for step in steps if step.descriptor.operation == Operation.LOAD and step.layer < 0]
    build.steps += loads
    build.fill()
    for step in steps[len(loads) :]:
        d = step.descriptor
        if d.operation == Operation.DENSE:
            d = replace(d, own_base=base)
        elif d.target in (Target.OWN, Target.LOGITS):
            other = half - base
            if d.target == Target.OWN and d.target_base == 0:
                base, other = other, base  # the first pass of a layer
            moved = {"target_base": base + d.target_base} if d.target == Target.OWN else {}
            residual, adds = adds, int(rng.random() < 0.8)
            place = other + d.target_base if d.target == Target.OWN else int(rng.integers(0, half))
            shift = int(rng.integers(len(build.engine.shifts)))
            d = replace(d, residual=residual, own_base=place * residual, residual_shift=shift * residual, **moved)
        build.steps.append(replace(step, descriptor=d))
    return build.built()


def with_partial_sums(encoded: EncodedArray, rng: np.random.Generator) -> EncodedArray:
    """Most phases continue from partial sums; the engine keeps as many as that takes, or some more."""
    steps = steps_of(encoded)
    engine = encoded.accelerator.engine
    phases = [step for step in steps if step.descriptor.operation in (Operation.SPARSE, Operation.DENSE)]
    chosen = [phases[0], *(step for step in phases[1:] if rng.random() < 0.8)]
    words = max(2, *(rows_of(step) * step.descriptor.tiles for step in chosen))
    # Random sums are larger than those of the network.
    wider = replace(engine, sum_bits=engine.sum_bits + 6, partial_words=words + int(rng.choice([0, 100])))
    array = replace(encoded.accelerator, engine=wider)
    build = Builder(replace(encoded, accelerator=array), rng)
    for step in steps:
        build.steps.append(build.phase(step) if step in chosen else step)
    return build.built()


def with_attention(rng: np.random.Generator, layers: int, **offered: object) -> EncodedArray:
    """A random network of layers with scores, on an engine that offers more."""
    while True:
        encoded = random_network(rng, layers, SCORED, **offered)
        if encoded.accelerator.engine.softmax is not None:
            return encoded


def with_long_sums(encoded: EncodedArray) -> EncodedArray:
    """The first partial sums are of a row more than the engine keeps."""
    build, steps = Builder(encoded, np.random.default_rng(1)), steps_of(encoded)
    place = next(place for place, step in enumerate(steps) if step.descriptor.target == Target.PARTIAL)
    mode = build.engine.modes[steps[place].descriptor.mode]
    ends = np.ones((build.engine.partial_words + 1, mode.m), np.int64)
    build.steps = [*steps[:place], build.sparse(ends, mode, 1, build.table_words(), target=Target.PARTIAL),
                   *steps[place + 1 :]]  # fmt: skip
    return build.built()
