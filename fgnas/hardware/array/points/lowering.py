"""The programme of a network of points for one cloud: descriptors, words to load and streams, before any engine.

Every unit is a group of its own and has whole rows: point r is row r // S of unit r % S. A value is kept in the tables
if others gather its rows, in the own rows if they are multiplied, or in both. If the tables are too small, rows are
copied there word by word when they are read, and weights are loaded before their product (`Paging`). After the points,
the units of a group share the words of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from fgnas.errors import UserError
from fgnas.fixedpoint import Codes
from fgnas.hardware.array.engine import LANES, MOST_BIASES, MOST_PLACES, MOST_TILES, Mode, even_place, most_of
from fgnas.hardware.array.points.classifier import Classifier
from fgnas.hardware.array.points.fused import Dense, Epilogue, Fused, Gathered, Held, Joined, Made, Read
from fgnas.hardware.array.points.layouts import Layout
from fgnas.hardware.array.points.memory import OWN, PAGINGS, TABLE, Paging, PlacedValue, Room, parts_of
from fgnas.hardware.array.points.planned import Planned
from fgnas.hardware.array.points.products import Image, bias_words, loading, moving, product_words
from fgnas.hardware.array.points.streams import Stream, random_rows
from fgnas.hardware.array.points.uses import Uses
from fgnas.hardware.array.programme import NARROW_BITS, Activation, Operation, Region, Target, values_of
from fgnas.hardware.integer.network import FEATURES
from fgnas.hardware.integer.sample import Sample

VALUE_MASK = (1 << NARROW_BITS) - 1
MOST_POINTS = values_of("entries", True) - 1
"""Points of a cloud."""


class Lowering:
    """The programme of a network for one cloud, as planned descriptors, words to load and streams.

    `common` and `apart` are the words of weights that a run before found: those of all units, and those of the units of
    a group. Raises NoRoomError where a memory is too small, UserError for what no array does.
    """

    def __init__(
        self, fused: Fused, points: int, units: int, common: int = 0, apart: int = 0, paging: Paging = PAGINGS[0]
    ) -> None:  # fmt: skip
        if points > MOST_POINTS:
            raise UserError(f"clouds of {points:,} points: an array has {MOST_POINTS:,} at most; choose fewer points")
        self.fused, self.points, self.units, self.paging = fused, points, units, paging
        self.made, self.uses = fused.made, Uses(fused, paging)
        self.depth = -(-points // units)
        self.wide = next(n for n in (8, 4, 2, 1) if units % n == 0)
        self.single, self.spread = Mode(units, 1, 1), Mode(units // self.wide, 1, self.wide)
        self.together = Mode(units // self.wide, self.wide, 1)
        self.planned: list[Planned] = []
        self.common, self.apart = Image(), Image(self.wide)  # weights of all units, and those of the units of a group
        self.before_apart = int(even_place(common))
        self.biases = Image()  # words that were loaded last
        self.bias_words = 0
        self.streams: list[Stream] = []
        self.stream_of: dict[Any, int] = {}
        self.rooms = {TABLE: Room("words of a table", paging.table, self.before_apart + apart, even_place),
                      OWN: Room("own words", most_of(neighbours=True).own_words)}  # fmt: skip
        self.values: dict[str, PlacedValue] = {}
        self.classifier = Classifier(self)
        self.places = self.indices = self.measured = 0
        self.roots = False

    # Steps in order.

    def run(self) -> Lowering:
        """Plan everything."""
        self._load_cloud()
        self._begin_biases()
        for place, (name, made) in enumerate(self.made.items()):
            if isinstance(made, Sample):
                self._sample(name, made)
            elif name not in self.uses.part_of:
                self._make(name, made, place == len(self.made) - 1)
            self._free(place)
        self.bias_words = max(self.bias_words, self.biases.words)
        return self

    def _free(self, place: int) -> None:
        for name, value in self.values.items():
            for memory in list(value.base):
                if self.uses.last.get((name, memory), place) <= place:
                    self.rooms[memory].free(value.base.pop(memory))

    def _value(self, name: str) -> PlacedValue:
        """A value of points with room in the memories where it is needed."""
        wide = self.wide if self.uses.is_read_out(name) else 1
        if wide > 1 and self.uses.needs[name] - {TABLE}:
            raise UserError(f"{name}: an array of points reads the rows of a readout nowhere else")
        value = PlacedValue(self.uses.layouts[name], self.uses.words(name), wide)
        if name not in self.uses.late:
            self.room(name, value, self.uses.needs[name], self.depth)
        self.values[name] = value
        return value

    def room(self, name: str, value: PlacedValue, memories: set[Target], rows: int) -> None:
        """Give so many rows of a unit their places; in the tables those of all units."""
        for memory in sorted(memories):
            value.base[memory] = self.rooms[memory].give(value.held * rows * (self.units if memory is TABLE else 1))
        self.values[name] = value

    def _make(self, name: str, made: Made, last: bool) -> None:
        match made:
            case Joined() if isinstance(self.made[made.parts[0]], Read):
                self.classifier.readouts(name, made.parts)
            case Read():
                self.classifier.readouts(name, (name,))
            case Held():
                self._hold(name, made.codes)
            case Joined():
                self._join(name, made)
            case Dense() if made.source in self.classifier.values:
                self.classifier.product(name, made)
            case Dense():
                value = self._value(name)
                if name not in self.uses.late:
                    self._dense(name, value)
            case Gathered() if last:
                self.classifier.logits(name, made)
            case Gathered():
                value = self._value(name)
                self._reduce(name, made, value, 0)
                self._keep(name, value)

    def _join(self, name: str, made: Joined) -> None:
        """Parts are written side by side, each in whole words, laid out as the rows that it gathers."""
        first, value = 0, self._value(name)
        for part in made.parts:
            one = self.made[part]
            assert isinstance(one, Gathered)  # else the row has no layout
            self._reduce(part, one, value, first)
            first += self.uses.words(part)
        self._keep(name, value)

    def _hold(self, name: str, codes: Codes) -> None:
        """Rows come as weights do, and are copied to where they are read."""
        value, (points, columns) = self._value(name), codes.shape
        rows = np.pad(codes, ((0, self.depth * self.units - points), (0, value.words * LANES - columns)))
        rows = rows.reshape(len(rows), value.words, LANES)
        memory = TABLE if TABLE in value.base else OWN
        for first, tiles in parts_of(value.words):
            part = rows[:, first : first + tiles].reshape(1, -1, LANES)
            with self.weights(name, part.shape[1], partial(np.asarray, part)) as base:
                self._return(name, (base, tiles, tiles), memory, (value.base[memory] + first, value.words))
        self._keep(name, value)

    # Phases.

    def plan(
        self, name: str, mode: Mode, multiplications: int = 0, image: Image | None = None, stream: int = -1,
        **fields: Any,
    ) -> None:  # fmt: skip
        """Append a descriptor."""
        ends = self.streams[stream].ends if stream >= 0 else None
        self.planned.append(Planned(name, fields, mode, multiplications, image, stream, ends))

    def stream(self, key: Any, made: Callable[[], Stream]) -> int:
        """The number of a stream, which is made where no descriptor has it yet."""
        if key not in self.stream_of:
            self.stream_of[key] = len(self.streams)
            self.streams.append(made())
        return self.stream_of[key]

    def _load_cloud(self) -> None:
        value = PlacedValue(self.uses.layouts[FEATURES], self.uses.words(FEATURES))
        memories = self.uses.needs[FEATURES]
        self.room(FEATURES, value, memories | {TABLE}, self.depth)
        self.plan("load points", self.single, operation=Operation.LOAD, tiles=1, count=self.points * value.words,
                  entries=1, target=TABLE, target_base=value.base[TABLE], region=Region.FEATURES)  # fmt: skip
        self._keep(FEATURES, value)
        if TABLE not in memories:
            self.rooms[TABLE].free(value.base.pop(TABLE))

    def _keep(self, name: str, value: PlacedValue) -> None:
        """Copy a value from the tables to the own rows if steps read it in both."""
        if TABLE not in value.base or OWN not in value.base:
            return
        for first, tiles in parts_of(value.words):
            self._return(name, (value.base[TABLE] + first, value.words, tiles), OWN,
                         (value.base[OWN] + first, value.words))  # fmt: skip

    def _return(self, name: str, source: tuple[int, int, int], memory: Target, place: tuple[int, int]) -> None:
        """Words of rows in the tables, {first word, words from a row to the next, words}, to a place: every row gathers
        itself."""
        base, pitch, tiles = source
        self.plan(
            f"return {name}", self.single, operation=Operation.SPARSE, region=Region.NEIGHBOURS, tiles=tiles,
            count=self.depth, entries=1, beats=1, table_base=base, limit=pitch, target=memory, target_base=place[0],
            target_tiles=place[1], **self.finish(Epilogue(0, self.fused.widths[name])),
        )  # fmt: skip

    def _sample(self, name: str, sample: Sample) -> None:
        k = sample.neighbours
        if sample.function == "random":
            return
        if k > MOST_PLACES:
            raise UserError(f"{name}: an array finds {MOST_PLACES} nearest points at most, not {k}: choose a smaller k")
        self.places, self.indices = max(self.places, k), max(self.indices, self.depth * k)
        source = self.fused.sampled[name]
        value = self.values[source]
        self.measured = max(self.measured, value.words)
        with self._in_table(source, 0, value.words) as (base, _):
            self.plan(
                f"sample {name}", self.single, operation=Operation.DENSE, tiles=value.words, count=self.depth,
                entries=self.points, table_base=base, own_base=value.base[OWN], own_tiles=value.words, sample=1,
                target=Target.NEIGHBOURS, bias_base=k, multiplications=self.points**2 * value.layout.numbers,
            )  # fmt: skip

    def finish(
        self, epilogue: Epilogue, layout: Layout | None = None, first: int = 0, tiles: int = 0
    ) -> dict[str, Any]:  # fmt: skip
        """The fields of an epilogue, for so many words of a row laid out so, from the first on."""
        behind = Activation.RELU_BEHIND if epilogue.behind else Activation.NONE
        found: dict[str, Any] = {"raw_shift": epilogue.shift, "bits": epilogue.bits,
                                 "activation": Activation.RELU if epilogue.relu else behind}  # fmt: skip
        if epilogue.bias is not None:
            assert layout is not None
            if self.biases.words + tiles > MOST_BIASES:
                self._begin_biases()
            at = self.biases.add(tiles, partial(bias_words, epilogue.bias, layout, first, tiles))
            found |= {"bias": 1, "bias_base": at}
        return found

    def _begin_biases(self) -> None:
        """Load further biases from here on: the memory of biases is full with those before."""
        self.bias_words, self.biases = max(self.bias_words, self.biases.words), Image()
        self.plan("load biases", self.single, operation=Operation.LOAD, tiles=1, target=Target.BIAS, target_base=0,
                  region=Region.PARAMETERS, image=self.biases)  # fmt: skip

    # Products.

    def _dense(self, name: str, value: PlacedValue) -> None:
        """A product into the tables, and from there into the own rows if it is needed there; or into these alone. The
        rows of a value that is read out are spread over units."""
        memory = TABLE if TABLE in value.base else OWN
        self._products(name, 0, value.words, memory, value.base[memory], value.held)
        self._keep(name, value)

    def _products(self, name: str, first: int, words: int, memory: Target, base: int, pitch: int) -> None:
        """Words of the rows of a product, from the first on, into a memory."""
        made, value = self.made[name], self.values[name]
        assert isinstance(made, Dense)
        columns, source = self.fused.columns[name], self.values[made.source]
        elements, spread = source.layout.elements, (value.wide - 1).bit_length()
        for before, tiles in parts_of(words, self.paging.tiles if value.wide == 1 else MOST_TILES):
            at = first + before
            held = partial(product_words, made.combine, source.layout.columns[None, :elements], at, tiles)
            with self.weights(name, elements * tiles, held) as weight:
                needed = source.layout.numbers * min(columns - at * LANES, tiles * LANES)
                self.plan(
                    name, self.single, operation=Operation.DENSE, tiles=tiles, count=self.depth, entries=elements,
                    table_base=weight, limit=elements * tiles, own_base=source.base[OWN], target=memory,
                    target_base=base + before // value.wide, target_tiles=pitch, target_columns=spread,
                    multiplications=self.points * needed, **self.finish(made.epilogue, value.layout, at, tiles),
                )  # fmt: skip

    @contextmanager
    def weights(self, name: str, words: int, made: Callable[[], Codes], places: int = 1) -> Iterator[int]:
        """The first of so many words of weights, the same in all units, or those of each unit of a group."""
        if self.paging.weights:
            base, image = self.rooms[TABLE].give(words), Image(places)
            image.add(words, made)
            self.plan(f"load {name}", self.spread if places > 1 else self.single, image=image, target_base=base,
                      **loading(image))  # fmt: skip
            yield base
            self.rooms[TABLE].free(base)
        elif places > 1:
            yield self.before_apart + self.apart.add(words, made)
        else:
            yield self.common.add(words, made)

    # Rows in the tables.

    @contextmanager
    def _in_table(self, name: str, first: int, words: int) -> Iterator[tuple[int, int]]:
        """The address of so many words of a value's rows in the tables, which are copied there if they are elsewhere,
        and the words from a row to the next."""
        value = self.values[name]
        if TABLE in value.base:
            yield value.base[TABLE] + first, value.held
            return
        pitch = -(-words // value.wide)
        base = self.rooms[TABLE].give(pitch * self.depth * self.units)
        if name in self.uses.late:
            self._products(name, first, words, TABLE, base, pitch)
        else:
            self._pass(name, Gathered(name, None, 1, Epilogue(0, self.fused.widths[name])),
                       (first, words), TABLE, (base, pitch, 1))  # fmt: skip
        yield base, pitch
        self.rooms[TABLE].free(base)

    def in_table_parts(self, name: str) -> Iterator[tuple[int, int, int, int]]:
        """First word and words of a row's parts, as a unit counts them, with the address of the part in the tables,
        where it is or is copied to, and the words from a row to the next."""
        value = self.values[name]
        here = TABLE in value.base
        for first, tiles in parts_of(value.held, self.paging.tiles if here or value.wide == 1 else 1):
            words = min(value.words - first * value.wide, tiles * value.wide)
            with self._in_table(name, first if here else first * value.wide, words) as (base, pitch):
                yield first, tiles, base, pitch

    def _pass(
        self, name: str, made: Gathered, part: tuple[int, int], memory: Target, place: tuple[int, int, int]
    ) -> None:
        """Own words of a value pass the units into a memory, from a first on so many, to a place (`_placed`)."""
        source = self.values[made.source]
        for before, tiles in parts_of(part[1]):
            first = part[0] + before
            epilogue = self.finish(made.epilogue, source.layout, first, tiles)
            self.plan(
                f"pass {name}", self.single, operation=Operation.DENSE, place=1, tiles=tiles, count=self.depth,
                entries=1, offset=made.value & VALUE_MASK, own_base=source.base[OWN] + first,
                own_tiles=source.words, target=memory, **_placed(place, before), **epilogue,
                multiplications=0 if abs(made.value) == 1 else self.points * source.layout.numbers,
            )  # fmt: skip

    # Rows of neighbours.

    def _reduce(self, name: str, made: Gathered, value: PlacedValue, first: int) -> None:
        """Rows that neighbours name, or that each row is itself, reduced into words of a value from the first on."""
        words = self.uses.words(name)
        memory = TABLE if TABLE in value.base else OWN
        if made.copies:
            self._pass(name, made, (0, words), memory, (value.base[memory] + first, value.words, value.wide))
        elif made.distance:
            self.measured, self.roots = max(self.measured, self.values[made.source].words), True
            with self._in_table(made.source, 0, self.values[made.source].words) as (base, pitch):
                source = self.values[made.source]
                own = {"sample": 1, "own_base": source.base[OWN], "own_tiles": source.words}
                place = value.base[memory] + first, value.words, value.wide
                self._gather(name, made, (base, pitch, source.words), memory, place, 0, **own)
        else:
            for at, tiles, base, pitch in self.in_table_parts(made.source):
                place = value.base[memory] + first + at // value.wide, value.words, value.wide
                with self._added(made, at, tiles) as added:
                    self._gather(name, made, (base, pitch, tiles), memory, place, at, **added)

    @contextmanager
    def _added(self, made: Gathered, first: int, tiles: int) -> Generator[dict[str, Any]]:
        """The fields of own rows that are added, from a word on; where they're laid out otherwise, of a copy."""
        if made.added is None:
            yield {}
            return
        other, shift, minus = made.added
        held, wanted = self.values[other], self.values[made.source].layout
        fields = {"residual": 1, "raw_residual_shift": shift, "minus": int(minus)}
        if held.layout is wanted:
            yield fields | {"own_base": held.base[OWN] + first, "own_tiles": held.words}
            return
        base = self.rooms[OWN].give(tiles * self.depth)
        elements = held.words * LANES
        with self.weights(other, elements * tiles, partial(moving, held.layout, wanted, first, tiles)) as weight:
            self.plan(
                f"lay out {other}", self.single, operation=Operation.DENSE, tiles=tiles, count=self.depth,
                entries=elements, table_base=weight, limit=elements * tiles, own_base=held.base[OWN], target=OWN,
                target_base=base, target_tiles=tiles, **self.finish(Epilogue(0, self.fused.widths[other])),
            )  # fmt: skip
        yield fields | {"own_base": base, "own_tiles": tiles}
        self.rooms[OWN].free(base)

    def _gather(
        self, name: str, made: Gathered, source: tuple[int, int, int], memory: Target, place: tuple[int, int, int],
        first: int, **further: Any,
    ) -> None:  # fmt: skip
        """Words of rows in the tables, {first word, words from a row to the next, words}, reduced to a place
        (`_placed`); in their rows they are those from `first` on."""
        sample = self.sample_of(made)
        k = 0 if sample is None else sample.neighbours
        base, pitch, tiles = source
        columns = self.values[made.source].layout.numbers
        fields = {
            "operation": Operation.SPARSE, "tiles": tiles, "table_base": base, "target": memory, **_placed(place),
            "reduce": int(made.largest), "negate": int(made.negated),
            "multiplications": self.points * k * columns if made.distance or abs(made.value) != 1 else 0,
            **self.finish(made.epilogue, self.uses.layouts[name], first, 1 if made.distance else tiles), **further,
        }  # fmt: skip
        if sample is None or sample.function == "nearest":
            own = made.value if sample is None else made.own
            fields |= {"entries": k + (own != 0), "offset": made.value & VALUE_MASK, "beats": own & VALUE_MASK}
            self.plan(f"gather {name}", self.single, region=Region.NEIGHBOURS, count=self.depth, limit=pitch, **fields)
            return
        key = (sample.ordinal, sample.seed, k, pitch, made.value, made.own)
        number = self.stream(key, lambda: random_rows(sample, self.units, pitch, made.value, made.own))
        slot_rows = self.streams[number].ends.slot_rows
        self.plan(f"gather {name}", self.single, region=Region.EDGES, count=slot_rows,
                  limit=(self.depth * self.units - 1) * pitch + tiles, stream=number, **fields)  # fmt: skip

    def sample_of(self, made: Gathered) -> Sample | None:
        """The sample whose neighbours address the gathered rows; None if there is none."""
        sample = self.made.get(made.neighbours or "")
        return sample if isinstance(sample, Sample) else None


def _placed(place: tuple[int, int, int], words: int = 0) -> dict[str, Any]:
    """The fields of where results go, so many words behind a place: {its first word, words of a whole row, units that
    hold them side by side}."""
    base, pitch, wide = place
    return {"target_base": base + words // wide, "target_tiles": -(-pitch // wide),
            "target_columns": (wide - 1).bit_length()}  # fmt: skip
