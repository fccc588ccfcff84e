"""The programme of a network of points for one cloud: descriptors, words to load and streams, before any engine.

Every unit is a group of its own and has whole rows: point r is row r // S of unit r % S. A value lies in the tables,
where others gather its rows, in the own rows, where they are multiplied, or in both. Behind the operations a group of
units holds the words of the embedding side by side, so that the readout and the classifier use them together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fgnas.errors import UserError
from fgnas.fixedpoint import Codes
from fgnas.hardware import wire
from fgnas.hardware.array.engine import LANES, MOST_PLACES, MOST_TILES, Mode
from fgnas.hardware.array.points.fused import Dense, Epilogue, Gathered, Joined, Made, Read, parsed
from fgnas.hardware.array.programme import DESCRIPTOR, NARROW_BITS, Activation, Operation, Region, Target
from fgnas.hardware.integer.combine import Combine
from fgnas.hardware.integer.gather import readout_fraction
from fgnas.hardware.integer.network import FEATURES, IntegerNetwork
from fgnas.hardware.integer.sample import Sample
from fgnas.hardware.numbers import Ints, ceil_div, ceil_log2
from fgnas.tasks.neighbours import hashed_neighbours

MOST_ROW = (1 << DESCRIPTOR.place("target_tiles")[1]) - 1
"""Words of a row."""
VALUE_MASK = (1 << NARROW_BITS) - 1
TABLE, OWN = Target.TABLE, Target.OWN


class _Room:
    """Words of a memory, given where they fit first."""

    def __init__(self, base: int = 0) -> None:
        self.base, self.taken, self.most = base, dict[int, int](), base

    def give(self, words: int) -> int:
        """The first word of a free stretch."""
        at = self.base
        for first, end in sorted(self.taken.items()):
            if first - at >= words:
                break
            at = max(at, end)
        self.taken[at] = at + words
        self.most = max(self.most, at + words)
        return at

    def free(self, first: int) -> None:
        """Take a stretch back."""
        del self.taken[first]


@dataclass
class _Value:
    """Where a value is, and what its rows look like.

    Attributes:
        columns: [elements] of a row: the value's column at each place, or -1.
        words: of a row, in a unit that holds all of it.
        wide: units that hold a row's words side by side.
        base: {memory: first word}.
    """

    columns: Ints
    words: int
    wide: int = 1
    base: dict[Target, int] = field(default_factory=dict)

    @property
    def held(self) -> int:
        """Words of a row in each of the units that hold it."""
        return ceil_div(self.words, self.wide)


@dataclass(frozen=True, eq=False)
class Planned:
    """A descriptor whose shifts are numbers of bits and whose mode is the mode; its name, and its slot rows."""

    name: str
    fields: dict[str, Any]
    mode: Mode
    last: Ints | None = None
    multiplications: int = 0


class Lowering:
    """The programme of a network for one cloud, as planned descriptors, words to load and streams.

    `common` and `apart` are the words of weights that a run before found: those of all units, and those of the units of
    a group.
    """

    def __init__(self, network: IntegerNetwork, points: int, units: int, common: int = 0, apart: int = 0) -> None:
        self.network, self.points, self.units = network, points, units
        self.made = parsed(network)
        self.depth = int(ceil_div(points, units))
        self.wide = next(n for n in (8, 4, 2, 1) if units % n == 0)
        self.single, self.spread = Mode(units, 1, 1), Mode(units // self.wide, 1, self.wide)
        self.together = Mode(units // self.wide, self.wide, 1)
        self.planned: list[Planned] = []
        self.common: list[Codes] = []  # [1, words, LANES] weights of all units
        self.apart: list[Codes] = []  # [places, words, LANES] those of the units of a group
        self.before_apart = common
        self.biases: list[Codes] = []
        self.streams: list[tuple[Ints, Ints, Ints, int]] = []  # index, value, last, takers
        self.rooms = {TABLE: _Room(common + apart), OWN: _Room()}
        self.values: dict[str, _Value] = {}
        self.needs = self._needed()
        self.last_use = self._last_uses()
        self.places = 0
        self.indices = 0

    # What is needed where.

    def _needed(self) -> dict[str, set[Target]]:
        """The memories in which each value is read."""
        needs: dict[str, set[Target]] = {name: set() for name in (FEATURES, *self.made)}
        for name, made in reversed(list(self.made.items())):
            for source, memory in self._reads(name, made):
                needs[source].add(memory)
            if isinstance(made, Joined):
                for part in made.parts:
                    needs[part] |= needs[name]
        return needs

    def _reads(self, name: str, made: Made | Sample) -> Iterator[tuple[str, Target]]:
        """What a step reads, and in which memory."""
        match made:
            case Sample():
                if made.function == "nearest":
                    source = self._sampled(name)
                    yield source, TABLE
                    yield source, OWN
            case Dense():
                yield made.source, OWN
            case Gathered():
                yield made.source, TABLE
                if made.added is not None:
                    yield made.added[0], OWN
            case Read():
                yield made.source, TABLE

    def _sampled(self, name: str) -> str:
        return next(step.inputs[0] for step in self.network.steps if step.name == name)

    def _last_uses(self) -> dict[str, int]:
        """The place of the last step that reads each value."""
        found, at = dict[str, int](), {name: place for place, name in enumerate(self.made)}
        for name, made in self.made.items():
            if isinstance(made, Joined):  # parts are written where they are joined
                at |= dict.fromkeys(made.parts, at[name])
        for name, made in self.made.items():
            for read in (name, *(source for source, _ in self._reads(name, made))):
                found[read] = max(found.get(read, 0), at[name])
        return found

    # Steps in order.

    def run(self) -> None:
        """Plan everything."""
        value = self.network.values[FEATURES]
        self._value(FEATURES, value.columns)
        self._load_cloud()
        for place, (name, made) in enumerate(self.made.items()):
            if isinstance(made, Sample):
                self._sample(name, made)
            elif not self._is_part(name):
                self._make(name, made, place == len(self.made) - 1)
            self._free(place)

    def _is_part(self, name: str) -> bool:
        """Whether a value is written where it is joined."""
        return any(isinstance(one, Joined) and name in one.parts for one in self.made.values())

    def _free(self, place: int) -> None:
        for name, value in list(self.values.items()):
            if self.last_use.get(name, place) <= place and value.base:
                for memory, base in value.base.items():
                    self.rooms[memory].free(base)
                value.base = {}

    def _value(self, name: str, columns: int, words: int | None = None, layout: Ints | None = None) -> _Value:
        """A value of points with room in the memories where it is read."""
        words = int(ceil_div(columns, LANES)) if words is None else words
        if words > MOST_ROW:
            raise UserError(f"{name}: a row of {columns} numbers has more than {MOST_ROW * LANES}, what a unit holds")
        place = np.arange(words * LANES)
        value = _Value(np.where(place < columns, place, -1) if layout is None else layout, words)
        self._room(name, value, self.needs[name], self.depth)
        return value

    def _room(self, name: str, value: _Value, memories: set[Target], rows: int) -> None:
        for memory in memories:
            held = value.held * rows * (self.units if memory is TABLE else 1)
            value.base[memory] = self.rooms[memory].give(held)
        self.values[name] = value

    def _make(self, name: str, made: Made, last: bool) -> None:
        value = self.network.values[name]
        match made:
            case Joined() if self._is_read(made.parts[0]):
                self._join_readouts(name, made)
            case Joined():
                self._join(name, made)
            case Dense() if self.values[made.source].wide > 1:
                self._classify(name, made, value.columns)
            case Dense():
                self._dense(name, made, value.columns)
            case Gathered() if last:
                self._logits(name, made)
            case Gathered():
                source = self.values[made.source]  # whose rows the results are laid out as
                found = self._value(name, value.columns, source.words, source.columns)
                for memory in found.base:
                    self._gather(name, made, memory, found.base[memory], found.words)
            case _:
                raise UserError(f"{name}: an array of points joins what it reads out")

    def _is_read(self, name: str) -> bool:
        return isinstance(self.made.get(name), Read)

    def _join(self, name: str, made: Joined) -> None:
        """Parts are written side by side, each in whole words, laid out as the rows that it gathers."""
        parts = [(part, one) for part in made.parts if isinstance(one := self.made[part], Gathered)]
        if len(parts) < len(made.parts):
            raise UserError(f"{name}: an array of points joins what it gathers")
        layouts, firsts, words, columns = list[Ints](), list[int](), 0, 0
        for part, one in parts:
            source = self.values[one.source]
            firsts.append(words)
            layouts.append(np.where(source.columns < 0, -1, source.columns + columns))
            words, columns = words + source.words, columns + self.network.values[part].columns
        value = self._value(name, columns, words, np.concatenate(layouts))
        for (part, one), first in zip(parts, firsts, strict=True):
            for memory, base in value.base.items():
                self._gather(part, one, memory, base + first, value.words)

    # Phases.

    def _plan(
        self, name: str, mode: Mode, last: Ints | None = None, multiplications: int = 0, **fields: Any
    ) -> None:
        self.planned.append(Planned(name, fields, mode, last, multiplications))

    def _load_cloud(self) -> None:
        value = self.values[FEATURES]
        if OWN in value.base and TABLE not in value.base:
            value.base[TABLE] = self.rooms[TABLE].give(value.words * self.depth * self.units)
        self._plan("load points", self.single, operation=Operation.LOAD, tiles=1, count=self.points * value.words,
                   target=TABLE, target_base=value.base[TABLE], region=Region.FEATURES, load="cloud")  # fmt: skip
        if OWN in value.base:
            bits = self.network.number.width
            self._gather(FEATURES, Gathered(FEATURES, None, 1, Epilogue(0, bits)), OWN, value.base[OWN], value.words)

    def _sample(self, name: str, sample: Sample) -> None:
        k = sample.neighbours
        if sample.function == "random":
            return
        if k > MOST_PLACES:
            raise UserError(f"{name}: an array finds {MOST_PLACES} nearest points at most, not {k}")
        self.places, self.indices = max(self.places, k), max(self.indices, self.depth * k)
        value = self.values[self._sampled(name)]
        self._plan(
            f"sample {name}", self.single, operation=Operation.DENSE, tiles=value.words, count=self.depth,
            entries=self.points, table_base=value.base[TABLE], own_base=value.base[OWN], target=Target.NEIGHBOURS,
            sample=1, bias_base=k, multiplications=self.points**2 * int((value.columns >= 0).sum()),
        )  # fmt: skip

    def _finish(self, epilogue: Epilogue, first: int = 0, tiles: int = 1) -> dict[str, Any]:
        """The fields of an epilogue, for words of a row from the first on."""
        found: dict[str, Any] = {"raw_shift": epilogue.shift, "bits": epilogue.bits,
                                 "activation": Activation.RELU if epilogue.relu else Activation.NONE}  # fmt: skip
        if epilogue.bias is not None:
            words = np.zeros((tiles, LANES), np.int64)
            here = epilogue.bias[first * LANES : (first + tiles) * LANES]
            words.ravel()[: len(here)] = here
            found |= {"bias": 1, "bias_base": len(self.biases)}
            self.biases += list(words)
        return found

    def _dense(self, name: str, made: Dense, columns: int) -> None:
        """Into the tables, and from there into the own rows; or into these alone. What a readout reads is spread."""
        spreads = any(isinstance(one, Read) and one.source == name for one in self.made.values())
        words = int(ceil_div(columns, LANES))
        if spreads:
            value = _Value(np.arange(columns), words, self.wide)
            self._room(name, value, {TABLE}, self.depth)
        else:
            value = self._value(name, columns)
        memory = TABLE if TABLE in value.base else OWN
        source = self.values[made.source]
        element = source.columns[: int(np.flatnonzero(source.columns >= 0)[-1]) + 1]
        for first, tiles in parts_of(words):
            weight = self._weight([_image(made.combine, element, first, tiles)])
            base = value.base[memory] + (first // self.wide if spreads else first)
            self._plan(
                name, self.single, operation=Operation.DENSE, tiles=tiles, count=self.depth, entries=len(element),
                weight_base=weight, limit=len(element) * tiles, own_base=source.base[OWN], target=memory,
                target_base=base, target_tiles=value.held, target_columns=int(ceil_log2(value.wide)),
                multiplications=self.points * int((element >= 0).sum()) * min(columns - first * LANES, tiles * LANES),
                **self._finish(made.epilogue, first, tiles),
            )  # fmt: skip
        if memory is TABLE and OWN in value.base:
            self._gather(name, Gathered(name, None, 1, Epilogue(0, made.epilogue.bits)), OWN, value.base[OWN], words)

    def _weight(self, images: Sequence[Codes]) -> int:
        """Words of weights, the same in all units or one image for each unit of a group; returns the first."""
        held, base = (self.common, 0) if len(images) == 1 else (self.apart, self.before_apart)
        base += words_of(held)
        held.append(np.stack(images))
        return base

    def _gather(self, name: str, made: Gathered, memory: Target, base: int, pitch: int) -> None:
        """Rows of the tables that neighbours name, or that each row is itself, reduced into a memory."""
        source = self.values[made.source]
        sample = self._sample_of(made)
        nearest = sample is not None and sample.function == "nearest"
        k = 1 if sample is None else sample.neighbours
        needed = 0 if abs(made.value) == 1 else self.points * k * int((source.columns >= 0).sum())
        for first, tiles in parts_of(source.words):
            fields = {
                "operation": Operation.SPARSE, "tiles": tiles, "table_base": source.base[TABLE] + first,
                "target": memory, "target_base": base + first, "target_tiles": pitch, "reduce": int(made.largest),
                "negate": int(made.negated), **self._finish(made.epilogue),
            }  # fmt: skip
            if made.added is not None:
                other, shift, minus = made.added
                held = self.values[other]
                if held.words != source.words:
                    raise UserError(f"{name}: the rows that are added have other words")
                fields |= {"residual": 1, "raw_residual_shift": shift, "minus": int(minus),
                           "own_base": held.base[OWN] + first, "entries": 0 if nearest else held.words}  # fmt: skip
            if nearest:
                fields |= {"entries": k + (made.own != 0)}
                self._plan(
                    f"gather {name}", self.single, region=Region.NEIGHBOURS, count=self.depth, limit=source.words,
                    offset=made.value & VALUE_MASK, beats=made.own & VALUE_MASK, multiplications=needed, **fields,
                )  # fmt: skip
                continue
            index, value, last = self._entries(made, source.words)
            self._plan(
                f"{'gather' if made.neighbours else 'return'} {name}", self.single, last, needed, region=Region.EDGES,
                count=len(index), limit=self.depth * self.units * source.words - first, stream=len(self.streams),
                **fields,
            )  # fmt: skip
            self.streams.append((index, value, last, self.units))

    def _sample_of(self, made: Gathered) -> Sample | None:
        """What names the rows that are gathered."""
        sample = self.made.get(made.neighbours or "")
        return sample if isinstance(sample, Sample) else None

    def _entries(self, made: Gathered, words: int) -> tuple[Ints, Ints, Ints]:
        """[slot rows, S] index, value and last of a stream that is known before any cloud."""
        points = np.arange(self.depth * self.units)
        named, values = points[:, None], np.full(1, made.value)
        if (sample := self._sample_of(made)) is not None:
            drawn = hashed_neighbours(self.points, sample.neighbours, sample.seed, sample.ordinal)
            named = np.zeros((len(points), sample.neighbours), np.int64)
            named[: self.points] = drawn
            values = np.full(sample.neighbours, made.value)
            if made.own:
                named, values = np.concatenate([named, points[:, None]], axis=1), np.append(values, made.own)
        count = len(values)
        index = named.reshape(self.depth, self.units, count).transpose(0, 2, 1).reshape(-1, self.units) * words
        value = np.broadcast_to(np.tile(values, self.depth)[:, None], index.shape)
        last = np.broadcast_to(np.tile(np.arange(count) == count - 1, self.depth)[:, None], index.shape)
        return index, value, last.astype(np.int64)

    # Behind the points.

    def _join_readouts(self, name: str, made: Joined) -> None:
        """Every part a stream of all rows for the first group; the others have one row of no meaning."""
        reads = [(part, self.made[part]) for part in made.parts]
        source = self.values[next(one.source for _, one in reads if isinstance(one, Read))]
        value = _Value(np.zeros(0, np.int64), source.words * len(reads), self.wide)
        self._room(name, value, {OWN}, 1)
        for number, (part, one) in enumerate(reads):
            if not isinstance(one, Read):
                raise UserError(f"{name}: a readout is joined with readouts")
            factor, fraction = one.value, 0
            if not factor:
                fraction = readout_fraction(np.array([self.points]))
                factor = round(2**fraction / self.points)
            takers = self.spread.takers
            index = np.zeros((self.points, takers), np.int64)
            index[:, 0] = np.arange(self.points) * source.held
            values, last = np.zeros_like(index), np.zeros_like(index)
            values[:, 0] = factor
            last[-1] = 1
            self._plan(
                f"readout {part}", self.spread, last, 0 if factor == 1 else self.points * source.words * LANES,
                operation=Operation.SPARSE, region=Region.EDGES, tiles=source.held, count=self.points,
                table_base=source.base[TABLE], limit=self.points * source.held, target=OWN,
                target_base=value.base[OWN] + number * source.held, target_tiles=value.held, reduce=int(one.largest),
                stream=len(self.streams),
                **self._finish(one.epilogue._replace(shift=one.epilogue.shift + fraction)),
            )  # fmt: skip
            self.streams.append((index, values, last, takers))
        columns = self.network.values[reads[0][0]].columns
        word = np.arange(source.words)
        place = np.full((self.wide, source.held, LANES), -1, np.int64)
        numbers = word[:, None] * LANES + np.arange(LANES)
        place[word % self.wide, word // self.wide] = np.where(numbers < columns, numbers, -1)
        parts = [np.where(place >= 0, place + number * columns, -1) for number in range(len(reads))]
        value.columns = np.concatenate(parts, axis=1).reshape(self.wide, -1)

    def _classify(self, name: str, made: Dense, columns: int) -> None:
        """Rows of the units of a group times weights, into the tables; from there into the own rows, spread again."""
        source, words = self.values[made.source], int(ceil_div(columns, LANES))
        last = not any(isinstance(one, Dense) and one.source == name for one in self.made.values())
        wide = 1 if last else self.wide
        value = _Value(np.zeros(0, np.int64), words, wide)
        groups = self.together.m
        memories = {TABLE} if last else {TABLE, OWN}
        for memory in memories:
            value.base[memory] = self.rooms[memory].give(value.held * (groups if memory is TABLE else 1))
        self.values[name] = value
        for first, tiles in parts_of(words):
            elements = source.columns.shape[1]
            images = [_image(made.combine, one, first, tiles) for one in source.columns]
            self._plan(
                name, self.together, operation=Operation.DENSE, tiles=tiles, count=1, entries=elements,
                weight_base=self._weight(images), limit=elements * tiles, own_base=source.base[OWN], target=TABLE,
                target_base=value.base[TABLE] + first // wide, target_tiles=value.held,
                target_columns=int(ceil_log2(wide)),
                multiplications=int((source.columns >= 0).sum()) * min(columns - first * LANES, tiles * LANES),
                **self._finish(made.epilogue, first, tiles),
            )  # fmt: skip
        if last:
            return
        word = np.arange(words)
        place = np.full((self.wide, value.held, LANES), -1, np.int64)
        numbers = word[:, None] * LANES + np.arange(LANES)
        place[word % self.wide, word // self.wide] = np.where(numbers < columns, numbers, -1)
        value.columns = place.reshape(self.wide, -1)
        self._one_row(f"return {name}", self.spread, value, target=OWN, target_base=value.base[OWN],
                      target_tiles=value.held, **self._finish(Epilogue(0, made.epilogue.bits)))  # fmt: skip

    def _one_row(self, name: str, mode: Mode, value: _Value, **fields: Any) -> None:
        """A stream of an entry: every group reads the first row."""
        zeros, ones = np.zeros((1, mode.takers), np.int64), np.ones((1, mode.takers), np.int64)
        self._plan(
            name, mode, ones, operation=Operation.SPARSE, region=Region.EDGES, tiles=value.held, count=1,
            table_base=value.base[TABLE], limit=value.held, stream=len(self.streams), **fields,
        )  # fmt: skip
        self.streams.append((zeros, ones, ones, mode.takers))

    def _logits(self, name: str, made: Gathered) -> None:
        """The classifier's row with its bias leaves."""
        value, epilogue = self.values[made.source], made.epilogue
        extra = -epilogue.shift
        bias = None if epilogue.bias is None else epilogue.bias >> extra
        words = value.words
        if words > MOST_TILES:
            raise UserError(f"{name}: an array of points has {MOST_TILES * LANES} classes at most")
        finish = self._finish(epilogue._replace(bias=bias), 0, words) | {"bits": wire.LOGIT_BITS}
        self._one_row("logits", self.single, value, target=Target.LOGITS, bias_fine=int(extra > 0 and bias is not None),
                      logits=words, **finish)  # fmt: skip


def words_of(images: Sequence[Codes]) -> int:
    """Words that a unit holds of images, [places, words, LANES] each."""
    return sum(one.shape[1] for one in images)


def _image(combine: Combine, element: Ints, first: int, tiles: int) -> Codes:
    """[elements * tiles, LANES] the weights that the elements of a row meet, of words from the first on."""
    rows, columns = combine.weight.shape
    lane = first * LANES + np.arange(tiles * LANES)
    padded = np.pad(combine.weight, ((0, 1), (0, 1)))  # -1 names the zeros at the end
    held = padded[np.where(element < 0, rows, element)[:, None], np.where(lane < columns, lane, columns)]
    return np.asarray(held.reshape(-1, LANES))


def parts_of(words: int) -> Iterator[tuple[int, int]]:
    """First word and words of the parts of a row that one descriptor makes."""
    for first in range(0, words, MOST_TILES):
        yield first, min(MOST_TILES, words - first)
