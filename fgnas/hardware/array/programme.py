"""The array's interface as data: entries, descriptors, registers and status bits.

Each fact is stated here and nowhere else; the encoder, the integer reference, the cycle model, the SystemVerilog
package and the tables of the documentation read it. What the array shares with the pipeline is in
`fgnas.hardware.wire`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import ClassVar

import numba
import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from fgnas import array_sizes
from fgnas.array_sizes import LARGEST_UNITS, MOST_BITS
from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.array.bits import packed, signed, unpacked
from fgnas.hardware.wire import Beats, Field, Layout, Register

PORT_WIDTHS = array_sizes.PORT_WIDTHS
"""Widths of the memory port that an engine can have."""

ENTRY = Layout((
    Field("index", 14, "word of the table, from the descriptor's base"),
    Field("value", 10, "the factor, sign-extended"),
    Field("last", 1, "the row ends here"),
))  # fmt: skip
"""One entry of a sparse stream. A beat holds `entries_per_beat` of them from bit 0."""
WIDE_ENTRY = Layout((*ENTRY.fields[:1], Field("value", MOST_BITS, ENTRY.fields[1].about), *ENTRY.fields[2:]))
"""One entry of an engine whose numbers have more bits than the value of an ENTRY."""
NARROW_BITS = ENTRY.place("value")[1]
"""Bits of the widest numbers whose streams have an ENTRY."""
LARGEST_INDEX = (1 << ENTRY.place("index")[1]) - 1


class Operation(IntEnum):
    """The operation of a descriptor."""

    LOAD = 0
    SPARSE = 1
    DENSE = 2
    ATTEND = 3


class Region(IntEnum):
    """Where a descriptor's beats are."""

    PARAMETERS = 0
    FEATURES = 1
    EDGES = 2
    NEIGHBOURS = 3
    """No beats: the indices that a sample found."""


STREAMED = (Region.PARAMETERS, Region.FEATURES, Region.EDGES)
"""The regions that have beats."""


class Target(IntEnum):
    """The memory that a descriptor's results or loaded words go to."""

    TABLE = 0
    OWN = 1
    LOGITS = 2
    BIAS = 3
    ACTIVATION = 4
    PARTIAL = 5
    NEIGHBOURS = 6


class Activation(IntEnum):
    """The function behind the bias, or behind the own row that is added."""

    NONE = 0
    RELU = 1
    TABLE = 2
    RELU_BEHIND = 3


class Attention(IntEnum):
    """The steps of an attention, which follow the combination."""

    SCORES = 0
    MAXIMA = 1
    MESSAGES = 2
    QUERIES = 3


CODES_OF_POINTS = (Region.NEIGHBOURS.name, Activation.RELU_BEHIND.name)
"""Names of codes that engines with nearest points alone know."""
COLUMN_BITS = (LARGEST_UNITS.bit_length() - 1).bit_length()
"""Bits of the log2 of as many units as stand side by side at most: all of them."""
DESCRIPTOR = Layout((
    Field("operation", 2, "0 load words, 1 multiply entries of a stream, 2 elements of own rows, 3 attend"),
    Field("mode", 3, "number of the kernel mode (m, k, n)"),
    Field("region", 2, "of the beats: 0 parameters, 1 features, 2 edges"),
    Field("offset", 28, "first beat, counted from the start of the region"),
    Field("beats", 28, "beats to read"),
    Field("count", 28, "load: words of a place; sparse: slot rows; dense: rows of a group"),
    Field("entries", 12, "dense: elements of a row that a unit multiplies; scores: words of vectors, or of a query"),
    Field("tiles", 4, "T: words that an entry meets, one after the other"),
    Field("table_base", 14, "first word of the table that entries count from"),
    Field("limit", 15, "words of the table that an entry may name"),
    Field("own_base", 14, "first own word that is read: of rows, vectors, queries, scores of edges, largest scores"),
    Field("target", 3, "0 table, 1 own rows, 2 logits, 3 bias, 4 activation table, 5 partial sums"),
    Field("target_base", 14, "first word of the results, or of the words to load"),
    Field("target_tiles", 4, "words of a whole row in a unit that reads the results"),
    Field("target_columns", COLUMN_BITS, "log2 of the units that hold a result's row side by side"),
    Field("result_beats", 28, "beats of logits"),
    Field("reduce", 1, "0 add, 1 maximum"),
    Field("shift", 4, "number of the right shift behind the sum"),
    Field("accumulate", 1, "go on from the partial sums"),
    Field("pair", 1, "queries: a row adds the products of two nodes' rows of H, each with a vector of its own"),
    Field("bias", 1, "add the bias"),
    Field("bias_fine", 1, "the bias has fewer fraction bits than the result, by those that logits have more"),
    Field("bias_base", 6, "first word of the bias"),
    Field("residual", 1, "add the unit's own row to the finished one"),
    Field("activation", 2, "0 none, 1 relu, 2 table"),
    Field("activation_base", 8, "first word of the activation table"),
    Field("bits", 5, "width that results saturate to"),
    Field("residual_shift", 4, "number of the right shift of the row that is added"),
    Field("spare_high", 4, "must be 0"),
    Field("attention", 2, "attention: 0 scores, 1 the largest of every row, 2 messages weighted by them, 3 queries"),
    Field("head_tiles", 4, "attention: words of a head"),
    Field("exponent_shift", 4, "attention: left shift from the fraction bits of scores to those of the exponentials"),
    Field("symmetric", 1, "attention: a score adds that of the edge the other way round"),
    Field("dot", 1, "attention: every edge has a score of its own, the product of own words with words of the table"),
))  # fmt: skip
"""One step of a programme: `descriptor_beats` whole beats, the first field in the lowest bits."""
FIRST_OF_ATTENTION = "attention"
"""Engines without attention store the fields before this one alone; they refuse the operation that reads the others."""

NOT_OF_POINTS = ("accumulate", "pair", "activation_base", "spare_high")
"""Further fields that engines with nearest points do without: they have no partial sums and no activation tables."""
OF_POINTS = (
    Field("region", 2, "of the beats: 0 parameters, 1 features, 2 edges; 3 none: entries are nearest points"),
    Field("offset", 28, "first beat, counted from the start of the region; without beats the value of every entry"),
    Field("beats", 28, "beats to read; of nearest points the value of the row itself, which follows them; 0 none"),
    Field("entries", 12, "dense: elements of a row, or points; gathers: entries of a row; a load of features: clouds"),
    Field("tiles", 9, "T: words that an entry meets, one after the other"),
    Field("table_base", 15, "first word of the table that entries count from"),
    Field("limit", 16, "words of the table that an entry may name; of nearest points the words of a row"),
    Field("own_base", 15, "first own word that is read"),
    Field("target", 3, "0 table, 1 own rows, 2 logits, 3 bias, 6 nearest points"),
    Field("target_base", 15, "first word of the results, or of the words to load"),
    Field("target_tiles", 9, "words of a whole row in a unit that reads the results"),
    Field("result_beats", 20, "beats of logits, of each cloud"),
    Field("shift", 5, "number of the right shift behind the sum"),
    Field("bias_base", 10, "first word of the bias; of a sample the nearest points of a row"),
    Field("activation", 2, "0 none, 1 relu, 3 relu behind the own row that is added"),
    Field("residual_shift", 5, "number of the right shift of the row that is added"),
    Field("own_tiles", 9, "words of an own row that is added, measured, or passes"),
    Field("sample", 1, "dense: the nearest points of every row are found; sparse: entries send their distance to it"),
    Field("place", 1, "dense: own words pass instead of being multiplied"),
    Field("minus", 1, "the own row is subtracted"),
    Field("negate", 1, "the sum is negated in front of the bias"),
)
"""Fields that engines with nearest points alone have, or have in another width or meaning."""


def _of_points() -> Layout:
    known, plain = {one.name: one for one in OF_POINTS}, stored_fields(False)
    kept = [known.pop(one.name, one) for one in plain if one.name not in NOT_OF_POINTS]
    return Layout((*kept, *known.values()))


def stored_fields(attention: bool, neighbours: bool = False) -> tuple[Field, ...]:
    """The fields of a descriptor that an engine with or without attention, or with nearest points, stores."""
    if neighbours:
        return POINT_DESCRIPTOR.fields
    names = [field.name for field in DESCRIPTOR.fields]
    return DESCRIPTOR.fields if attention else DESCRIPTOR.fields[: names.index(FIRST_OF_ATTENTION)]


POINT_DESCRIPTOR = _of_points()
"""One step of a programme for an engine with nearest points, which has neither attention nor partial sums."""


def layout_of(neighbours: bool) -> Layout:
    """The fields that a descriptor has in memory, for an engine with or without nearest points."""
    return POINT_DESCRIPTOR if neighbours else DESCRIPTOR


def values_of(name: str, neighbours: bool = False) -> int:
    """How many values a field of a descriptor can have."""
    return 1 << layout_of(neighbours).place(name)[1]


SPARE = ("spare_high",)
"""Bits that mean nothing: a programme that sets one is refused."""

ARGUMENT_REGISTERS = wire.assigned(
    ("descriptors", 32, "w", "descriptors of the programme, 0 to the capacity"),
    ("programme", 64, "w", "address of the programme, aligned to a beat"),
    ("parameters", 64, "w", "address of the parameter region, aligned to a beat"),
    ("features", 64, "w", "address of the feature region, aligned to a beat"),
    ("edges", 64, "w", "address of the graph region, aligned to a beat"),
    ("logits", 64, "w", "address of the logit region, aligned to a beat"),
    ("check", 32, "w", "the check of the programme and the engine"),
    ("status", 32, "r", "bits that say why the kernel refused or failed; 0 after a right run"),
)

STATUS_BITS = {
    "programme_over_capacity": 0,
    "unaligned_address": 1,
    "bad_descriptor": 2,
    "stream_too_short": 3,
    "read_error": 4,
    "write_error": 5,
    "index_out_of_range": 6,
    "schedule_broken": 7,
    "memory_over_capacity": 8,
    "wrong_programme_or_engine": 9,
    "stopped": 10,
}
"""Bits of the status register. A programme's size, the addresses and the programme's check are checked before anything
runs, a descriptor before it runs, entries while they stream."""

CHECK_WORDS = 8
"""Words of a beat that its check covers, at most: those of a descriptor."""
CHECK_ROTATION = 8
"""Word i of a beat, but for the first, is added to the check again, rotated to the left by i and so many bits."""
CHECK_STEP = (13, 14, 15)
"""With a beat the check becomes itself rotated to the left, shifted to the left and to the right by so many bits."""


@dataclass(frozen=True)
class Descriptor:
    """One step of a programme; the fields of DESCRIPTOR, by name, and those of POINT_DESCRIPTOR, which are 0 here.

    Raises UserError where a value has no room.
    """

    NEIGHBOURS: ClassVar[bool] = False
    """Whether it is for an engine with nearest points."""

    operation: int
    mode: int
    tiles: int
    count: int
    region: int = 0
    offset: int = 0
    beats: int = 0
    entries: int = 0
    table_base: int = 0
    limit: int = 0
    own_base: int = 0
    target: int = 0
    target_base: int = 0
    target_tiles: int = 1
    target_columns: int = 0
    result_beats: int = 0
    reduce: int = 0
    shift: int = 0
    accumulate: int = 0
    pair: int = 0
    bias: int = 0
    bias_fine: int = 0
    bias_base: int = 0
    residual: int = 0
    activation: int = 0
    activation_base: int = 0
    bits: int = 8
    residual_shift: int = 0
    own_tiles: int = 0
    sample: int = 0
    place: int = 0
    minus: int = 0
    negate: int = 0
    spare_high: int = 0
    attention: int = 0
    head_tiles: int = 0
    exponent_shift: int = 0
    symmetric: int = 0
    dot: int = 0

    def __post_init__(self) -> None:
        for name, bits in room_of(self.NEIGHBOURS).items():
            value = getattr(self, name)
            if not 0 <= value < 1 << bits:
                raise UserError(f"{name} of a step of the programme is {value}, which {bits} bits do not "
                                f"hold; choose more units, or a smaller network or graph")  # fmt: skip

    @property
    def computes(self) -> bool:
        """Whether rows are multiplied, so that results leave."""
        return self.operation != Operation.LOAD

    @property
    def brings_clouds(self) -> bool:
        """Whether points are loaded, those of `entries` clouds, each of which passes all that comes behind."""
        return self.NEIGHBOURS and self.operation == Operation.LOAD and self.region == Region.FEATURES

    @property
    def gathers(self) -> bool:
        """Whether the entries are the nearest points of every row."""
        return self.operation == Operation.SPARSE and self.region == Region.NEIGHBOURS

    @property
    def streams(self) -> bool:
        """Whether the entries are those of a stream."""
        return (self.operation == Operation.SPARSE and not self.gathers) or (
            self.operation == Operation.ATTEND and (self.attention != Attention.SCORES or self.dot != 0)
        )

    @property
    def scores_edges(self) -> bool:
        """Whether every entry of a stream gets a score of its own."""
        return self.is_step(Attention.SCORES) and self.dot != 0

    def is_step(self, step: Attention) -> bool:
        """Whether this is a certain step of an attention."""
        return self.operation == Operation.ATTEND and self.attention == step

    def word(self) -> int:
        """The bits of the descriptor."""
        places = layout_of(self.NEIGHBOURS).places
        return sum(int(getattr(self, name)) << start for name, (start, _) in places.items())


def executed(programme: Sequence[Descriptor]) -> Iterator[tuple[int, int]]:
    """The cloud and the place of every descriptor in the order in which they run: what loads points, and all that comes
    behind it, once for each cloud."""
    first = next((place for place, one in enumerate(programme) if one.brings_clouds), len(programme))
    yield from ((0, place) for place in range(first))
    for cloud in range(programme[first].entries if first < len(programme) else 0):
        yield from ((cloud, place) for place in range(first, len(programme)))


@dataclass(frozen=True)
class PointDescriptor(Descriptor):
    """One step of a programme for an engine with nearest points; the fields of POINT_DESCRIPTOR, by name."""

    NEIGHBOURS: ClassVar[bool] = True


@functools.cache
def room_of(neighbours: bool) -> dict[str, int]:
    """Bits of every field of a descriptor, by name; none of those that its layout has not."""
    has = {field.name: field.bits for field in layout_of(neighbours).fields}
    return {field.name: has.get(field.name, 0) for field in fields(Descriptor)}


assert {field.name for field in fields(Descriptor)} == {
    field.name for field in (*DESCRIPTOR.fields, *POINT_DESCRIPTOR.fields)
}


def named_fields(neighbours: bool) -> tuple[Field, ...]:
    """The fields that modules may ask a descriptor for, those in memory first: what an engine with nearest points has
    not follows, and is always 0."""
    if not neighbours:
        return DESCRIPTOR.fields
    here = {field.name for field in POINT_DESCRIPTOR.fields}
    return (*POINT_DESCRIPTOR.fields, *(one for one in DESCRIPTOR.fields if one.name not in here))


def stored_bits(attention: bool, neighbours: bool = False) -> int:
    """Bits of a descriptor that an engine with or without attention, or with nearest points, stores."""
    return sum(field.bits for field in stored_fields(attention, neighbours))


def entry_of(bits: int) -> Layout:
    """One entry of a sparse stream for numbers of so many bits."""
    return ENTRY if bits <= NARROW_BITS else WIDE_ENTRY


def entries_per_beat(beat_bits: int, bits: int = NARROW_BITS) -> int:
    """Entries that fit in a beat, for numbers of so many bits."""
    return beat_bits // entry_of(bits).bits


def descriptor_beats(beat_bits: int) -> int:
    """Beats of a descriptor."""
    return -(-DESCRIPTOR.bits // beat_bits)


def programme_beats(programme: Sequence[Descriptor], beat_bits: int) -> Beats:
    """The region of a programme."""
    size = descriptor_beats(beat_bits) * beat_bits // 8
    content = b"".join(descriptor.word().to_bytes(size, "little") for descriptor in programme)
    return np.frombuffer(content, np.uint8).reshape(-1, beat_bits // 8)


def check_of(programme: Beats, engine: int) -> int:
    """The check of a programme's beats on the engine with a digest: a linear code of 32 bits.

    In the longest programme it differs wherever one or two bits do; other differences hide once in 2**32.
    """
    return check_words(programme.view("<u4").astype(np.int64), engine)


@numba.njit(cache=True)
def check_words(words: NDArray[np.int64], engine: int) -> int:  # pragma: no cover - compiled
    """`check_of`, of the words of 32 bits of every beat, [beats, words]."""
    check = engine
    for beat in range(len(words)):
        check = check_step(check)
        for place in range(min(words.shape[1], CHECK_WORDS)):
            word = int(words[beat, place])
            check ^= word ^ (_rotated(word, CHECK_ROTATION + place) if place else 0)
    return check


@register_jitable
def check_step(check: int) -> int:
    """The check carried from one beat to the next, before the words of that beat are added."""
    rotation, left, right = CHECK_STEP
    return _rotated(check, rotation) ^ (check << left & (1 << wire.REGISTER_BITS) - 1) ^ check >> right


@register_jitable
def _rotated(word: int, bits: int) -> int:
    """A word of 32 bits rotated to the left."""
    return (word << bits | word >> (wire.REGISTER_BITS - bits)) & (1 << wire.REGISTER_BITS) - 1


def read_programme(beats: Beats, neighbours: bool = False) -> list[Descriptor]:
    """The descriptors in a region, for an engine with or without nearest points."""
    beat_bytes = beats.shape[1]
    size = descriptor_beats(8 * beat_bytes) * beat_bytes
    content = beats.tobytes()
    words = [int.from_bytes(content[at : at + size], "little") for at in range(0, len(content), size)]
    layout, kind = layout_of(neighbours), PointDescriptor if neighbours else Descriptor
    places = {field.name: layout.place(field.name) for field in layout.fields}
    return [kind(**{n: word >> at & ((1 << bits) - 1) for n, (at, bits) in places.items()}) for word in words]


def entry_beats(
    index: NDArray[np.int64], value: NDArray[np.int64], last: NDArray[np.int64], takers: int, beat_bits: int,
    bits: int = NARROW_BITS,
) -> Beats:
    """[slot rows, takers] entries as beats: whole slot rows in a beat, or a slot row in several whole beats.

    `bits` is the width of the engine's numbers.
    """
    entry, room = entry_of(bits), entries_per_beat(beat_bits, bits)
    entries = entry.pack(index=index, value=value, last=last)
    slot_rows, parts = slot_rows_per_beat(takers, beat_bits, bits), beats_per_slot_row(takers, beat_bits, bits)
    if parts > 1:
        padded = np.pad(entries, ((0, 0), (0, parts * room - takers)))
        fields = padded.reshape(-1, room)
    else:
        padded = np.pad(entries, ((0, -len(entries) % slot_rows), (0, 0))).reshape(-1, slot_rows * takers)
        fields = np.pad(padded, ((0, 0), (0, room - padded.shape[1])))
    return packed(fields, entry.bits, beat_bits // 8)


def read_entries(
    beats: Beats, takers: int, slot_rows: int, bits: int = NARROW_BITS
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """[slot rows, takers] index, value and last of the entries in a stream for numbers of so many bits."""
    beat_bits, entry = 8 * beats.shape[1], entry_of(bits)
    room = entries_per_beat(beat_bits, bits)
    words = unpacked(beats, entry.bits, room)
    parts, together = beats_per_slot_row(takers, beat_bits, bits), slot_rows_per_beat(takers, beat_bits, bits)
    if parts > 1:
        words = words.reshape(-1, parts * room)[:, :takers]
    else:
        words = words[:, : together * takers].reshape(-1, takers)
    found = {field.name: words >> entry.place(field.name)[0] & ((1 << field.bits) - 1) for field in entry.fields}
    value = signed(found["value"], entry.place("value")[1])
    return found["index"][:slot_rows], value[:slot_rows], found["last"][:slot_rows]


def slot_rows_per_beat(takers: int, beat_bits: int, bits: int = NARROW_BITS) -> int:
    """Whole slot rows in a beat, for numbers of so many bits; 1 where a slot row takes more than one."""
    return max(1, entries_per_beat(beat_bits, bits) // takers)


def beats_per_slot_row(takers: int, beat_bits: int, bits: int = NARROW_BITS) -> int:
    """Beats that a slot row takes, for numbers of so many bits; 1 where several share one."""
    return -(-takers // entries_per_beat(beat_bits, bits))


def register_table() -> list[tuple[str, str, str, str]]:
    """Offsets, name, access and meaning of every register."""
    return wire.register_table(ARGUMENT_REGISTERS)


def descriptor_table(neighbours: bool = False) -> list[tuple[str, str, str, str]]:
    """First bit, bits, name and meaning of every field of a descriptor, with or without nearest points."""
    layout = layout_of(neighbours)
    return [
        (str(layout.place(field.name)[0]), str(field.bits), f"`{field.name}`", field.about) for field in layout.fields
    ]


def status_table() -> list[tuple[str, str]]:
    """Bit and meaning of every status bit."""
    return [(str(bit), name.replace("_", " ")) for name, bit in STATUS_BITS.items()]


REGISTERS: tuple[Register, ...] = wire.CONTROL_REGISTERS + ARGUMENT_REGISTERS
