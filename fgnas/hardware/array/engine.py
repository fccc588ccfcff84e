"""The engine: the sizes that are fixed when an array is built. Networks are programmes that run on it."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np

from fgnas import array_sizes
from fgnas.design import MOST_BITS
from fgnas.errors import OTHER_VERSION, UserError
from fgnas.fixedpoint import Codes
from fgnas.hardware import wire
from fgnas.hardware.array.programme import LARGEST_INDEX, NARROW_BITS, PORT_WIDTHS, entry_of, values_of
from fgnas.hardware.integer.tables import exponentials
from fgnas.hardware.numbers import Ints, ceil_div, ceil_log2

LANES = 8
"""Multipliers of a unit."""
DSPS_OF_MULTIPLIER = 1
"""DSP slices of a multiplier: both operands fit into one."""
PAIRED_BITS = 8
"""Bits of numbers of which two, with a bit more, fit into the wider port of a slice beside each other."""
RESULT_BITS = LANES * wire.WORD_BITS
"""A word of logits."""
LARGEST_UNITS = array_sizes.LARGEST_UNITS
MOST_TILES = values_of("tiles") // 2
"""Words that an entry meets, one after the other: queues hold rows of as many words as the next power of two."""
MOST_MODES = values_of("mode")
MOST_SHIFTS = min(values_of("shift"), values_of("residual_shift"))
HEADS = LANES // 2
"""Heads whose scores a unit holds: a word has those of a node as a source and as a target."""
RESULTS = array_sizes.RESULTS
"""Words of H that an engine may write into its tables in a cycle."""
MOST_PROGRAMME = 64
"""Descriptors that an engine may hold."""
MOST_PROGRAMME_OF_POINTS = 512
"""Descriptors that an engine for nearest points may hold: whole networks have more steps than the layers of others."""
MOST_OWN_WORDS = min(values_of("own_base"), values_of("target_base"))
"""Words of own rows, or of partial sums, that a unit may hold."""
MOST_BIASES = values_of("bias_base")
"""Words of biases that a unit may hold."""
MOST_ACTIVATION_WORDS = values_of("activation_base")
"""Words of activation tables that a unit may hold."""
MOST_TABLE_WORDS = LARGEST_INDEX + 1
"""Words of a table."""
FINISHED = (8, 4, 2, 1)
"""Lanes of a total that the epilogue of a unit may finish in a cycle."""
QUEUE_WORDS = 32
"""Words of results that a unit holds back, unless an engine is built with more or fewer."""
MOST_COUNTED = 1 << (NARROW_BITS - 1)
"""Entries of a row whose mean with scores is taken: what the value of any entry can say."""
SHARED = array_sizes.SHARED
"""Units that may read one copy of the table."""
BANKS_OF_READER = 2
"""Banks of a shared table for each unit that reads it: with one, 6 to 17 % of the cycles on Cora and CiteSeer are lost
to takers that wait, with two less than 1 % (up to eight readers)."""
MOST_PLACES = 32
"""Nearest points of a row that a chain may hold."""
MOST_ROW = min(values_of("tiles", True), values_of("target_tiles", True), values_of("own_tiles", True)) - 1
"""Words of a row on an engine that finds nearest points."""
MOST_POINT_TILES = QUEUE_WORDS
"""Words that an entry meets there: a queue holds one row of so many."""
OWN_WORDS_LUTRAM = 64
"""Words of own rows, or of partial sums, that are built in LUTRAM; more of them take block RAM."""


EXTRAS = ("residual", "partial_words", "softmax", "finished", "shared", "neighbours", "paired")
"""Options of an engine; one built without an option has no hardware for it."""
PARTS = ("softmax", "neighbours")
"""Those of them that have sizes of their own."""


@dataclass(frozen=True)
class Mode:
    """A kernel mode: m groups of units take different rows, k units different entries of a row, n different columns.

    Unit u belongs to group u // (k n), takes entry u // n of a slot row, and holds columns u % n.
    """

    m: int
    k: int
    n: int

    @property
    def takers(self) -> int:
        """Entries of a slot row."""
        return self.m * self.k

    @property
    def places(self) -> int:
        """Units of a group."""
        return self.k * self.n

    @property
    def units(self) -> int:
        """S."""
        return self.m * self.k * self.n


@dataclass(frozen=True)
class Softmax:
    """The attention of an engine: exponentials for each unit, and a divider for each lane.

    Attributes:
        fraction_bits: of the differences of scores that the table of exponentials takes.
        words: of that table; coefficients beyond its end are 0.
        sum_bits: width of a row's sum of coefficients.
        mean: whether a row's coefficients can be counted as often as it has entries, so that the quotient is a mean.
        symmetric: whether a score can add that of the edge the other way round.
        dot: whether edges can have scores of their own.
        pair: whether queries can be those of two nodes; of an engine whose edges can have scores of their own.
    """

    fraction_bits: int
    words: int
    sum_bits: int
    mean: bool = False
    symmetric: bool = False
    dot: bool = False
    pair: bool = False

    @property
    def index_bits(self) -> int:
        """Bits of an address of the table."""
        return max(1, int(ceil_log2(self.words)))

    def coefficients(self) -> Codes:
        """[words] c = RNE(256 exp(-D 2**-fraction_bits / 5)) by the difference D."""
        return exponentials(self.fraction_bits, self.words)

    def counted(self, value: Codes) -> Codes:
        """[n] how often a row's sum of coefficients counts entries of these values."""
        times = ((value & ((1 << NARROW_BITS) - 1)) >> 1) + 1 if self.mean else 1
        return (value & 1) * times

    def summary(self) -> dict[str, Any]:
        """The softmax as plain JSON values; what it may offer beside where it does."""
        return {name: value for name, value in vars(self).items() if value is not False}


@dataclass(frozen=True)
class Neighbours:
    """The nearest-point search of an engine: a chain of sorted places for each unit, and a memory.

    Attributes:
        places: nearest points of a row, at most.
        words: indices that a unit holds.
        row_words: words of the rows between which distances are measured, at most.
        root: whether a row can reduce the distances of its neighbours.
    """

    places: int
    words: int
    row_words: int = 1
    root: bool = False

    def distance_bits(self, bits: int) -> int:
        """Bits of a squared distance between rows of numbers of so many bits."""
        return 2 * bits + int(ceil_log2(LANES * self.row_words))

    def root_bits(self, bits: int) -> int:
        """Bits of a distance that is rounded down."""
        return int(ceil_div(self.distance_bits(bits), 2))


class Most(NamedTuple):
    """The most that an engine may have of each."""

    shifts: int
    tiles: int
    table_words: int
    own_words: int
    bias_words: int
    programme: int


def most_of(neighbours: bool) -> Most:
    """The most that an engine with or without nearest points may have."""
    if not neighbours:
        return Most(MOST_SHIFTS, MOST_TILES, MOST_TABLE_WORDS, MOST_OWN_WORDS, MOST_BIASES, MOST_PROGRAMME)
    values = functools.partial(values_of, neighbours=True)
    shifts, own = (min(map(values, names)) for names in (("shift", "residual_shift"), ("own_base", "target_base")))
    return Most(shifts, MOST_POINT_TILES, values("table_base"), own, values("bias_base"), MOST_PROGRAMME_OF_POINTS)


@dataclass(frozen=True)
class Engine:
    """An array as it is built: S units of LANES multipliers, their memories and their modes.

    Attributes:
        units: S.
        bits: width of values and weights in the memories.
        modes: kernel modes offered, each of S units; a descriptor names one by its place.
        tiles: the largest T.
        table_words: depth of a unit's table, in words of LANES numbers.
        own_words: depth of a unit's own rows.
        bias_words, activation_words: depths of a unit's biases and activation tables; no table where 0.
        shifts: right shifts behind a sum; negative ones are left shifts. A descriptor names one by its place.
        maximum: whether rows can be reduced by their maximum.
        sum_bits: width of a lane's sum.
        queue_words: words of results that a unit can hold back.
        programme: descriptors that the kernel holds.
        beat_bits: width of the memory port.
        results: words of H that go to the tables in a cycle, where groups and rows allow it: see `table_writes`.
        softmax: what attention with scores takes; None for an engine that does not run it.
        residual: whether finished rows can add own rows.
        partial_words: depth of a unit's partial sums, words of LANES sums; 0 for an engine that keeps none.
        finished: lanes of a total that a unit's epilogue finishes in a cycle: fewer take fewer LUTs.
        shared: units that read one copy of the table: see `copy_of`.
        neighbours: what nearest points take; None for an engine that finds none.
        paired: whether two lanes, which meet the same value, have their products in one DSP slice.
    """

    units: int
    bits: int
    modes: tuple[Mode, ...]
    tiles: int
    table_words: int
    own_words: int
    bias_words: int
    activation_words: int
    shifts: tuple[int, ...]
    maximum: bool
    sum_bits: int
    queue_words: int = QUEUE_WORDS
    programme: int = 16
    beat_bits: int = wire.BEAT_BITS
    results: int = 1
    softmax: Softmax | None = None
    residual: bool = False
    partial_words: int = 0
    finished: int = LANES
    shared: int = 1
    neighbours: Neighbours | None = None
    paired: bool = False
    lanes: int = field(default=LANES, init=False)

    def __post_init__(self) -> None:
        most = most_of(self.neighbours is not None)
        problems = {
            f"units must be 1 to {LARGEST_UNITS}": 1 <= self.units <= LARGEST_UNITS,
            f"bits must be 2 to {MOST_BITS}, the width of an entry's value": 2 <= self.bits <= MOST_BITS,
            "every mode must use all units": all(mode.units == self.units for mode in self.modes),
            "k and n of a mode must be powers of two": all(
                _power_of_two(mode.k) and _power_of_two(mode.n) for mode in self.modes
            ),
            f"an engine offers 1 to {MOST_MODES} modes": 1 <= len(self.modes) <= MOST_MODES,
            f"an engine offers 1 to {most.shifts} shifts": 1 <= len(self.shifts) <= most.shifts,
            f"tiles must be 1 to {most.tiles}": 1 <= self.tiles <= most.tiles,
            f"a table has 2 to {most.table_words:,} words, as many in each bank":
            2 <= self.table_words <= most.table_words and self.table_words % self.copy_banks == 0,
            f"own rows take 2 to {most.own_words:,} words": 2 <= self.own_words <= most.own_words,
            f"biases take 1 to {most.bias_words} words": 1 <= self.bias_words <= most.bias_words,
            f"activation tables take 0 to {MOST_ACTIVATION_WORDS} words":
            0 <= self.activation_words <= MOST_ACTIVATION_WORDS,
            "queue_words must be a power of two from 16": _power_of_two(self.queue_words) and self.queue_words >= 16,
            f"a programme has 2 to {most.programme} descriptors": 2 <= self.programme <= most.programme,
            f"beat_bits must be one of {PORT_WIDTHS}": self.beat_bits in PORT_WIDTHS,
            f"partial sums take 0 or 2 to {most.own_words:,} words": self.partial_words == 0
            or 2 <= self.partial_words <= most.own_words,
            f"finished must be one of {FINISHED}": self.finished in FINISHED,
            "whole words are finished where residuals are added or partial sums kept": self.finished == LANES
            or not (self.residual or self.partial_words),
            f"shared must be one of {SHARED}": self.shared in SHARED,
            f"{self.units} units, {self.places} of them side by side, are not whole groups of {self.shared} that hold "
            f"the same columns": self.shared == 1 or self.units % (self.places * self.shared) == 0,
            "an engine with attention shares no tables": self.shared == 1 or self.softmax is None,
            "an engine that finds nearest points has neither shared tables, attention, activation tables nor partial "
            "sums": self.neighbours is None or (self.shared == 1 and self.softmax is None
                                                and not self.activation_words and not self.partial_words),
            f"nearest points are 1 to {MOST_PLACES}, and take 2 to {most.own_words:,} indices of a unit":
            self.neighbours is None or (1 <= self.neighbours.places <= MOST_PLACES
                                        and 2 <= self.neighbours.words <= most.own_words),
            f"nearest points are those of rows of 1 to {MOST_ROW} words": self.neighbours is None
            or 1 <= self.neighbours.row_words <= MOST_ROW,
            "squares of differences have numbers that are narrower than an entry's value": self.neighbours is None
            or self.bits < self.entry.place("value")[1],
            "nearest points are reduced by the maximum, and added to own rows": self.neighbours is None
            or (self.maximum and self.residual),
            f"products share DSP slices in pairs up to {PAIRED_BITS} bits, without attention and nearest points":
            self.may_pair or not self.paired,
            "attention looks for the maximum": self.softmax is None or self.maximum,
            "queries of two nodes are for scores of edges": self.softmax is None or self.softmax.dot
            or not self.softmax.pair,
            "a table of exponentials has 1 to 65,536 words": self.softmax is None or 1 <= self.softmax.words <= 1 << 16,
            f"results must be 1, 2 or 4, at most {table_banks(self.beat_bits)} behind a port of "
            f"{self.beat_bits} bits": self.results in RESULTS and self.results <= table_banks(self.beat_bits),
        }
        for message, right in problems.items():
            if not right:
                raise UserError(f"engine: {message}")

    @property
    def multipliers(self) -> int:
        """P."""
        return self.units * self.lanes

    @property
    def dsp(self) -> int:
        """DSP slices."""
        return int(dsps_of(self.multipliers, self.paired))

    @property
    def may_pair(self) -> bool:
        """Whether two products may share a DSP slice: lanes meet the same value, and numbers are narrow."""
        return may_pair(self.bits, self.softmax) and self.neighbours is None

    @property
    def sliced(self) -> bool:
        """Whether a lane's sum is in its multiplier's DSP slice: it is one of one tile, and nothing but products meets
        it."""
        return bool(sums_in_slices(self.tiles, self.maximum, self.paired, self.neighbours is not None))

    @property
    def parts(self) -> int:
        """Cycles that the epilogue takes for a word of results."""
        return self.lanes // self.finished

    @property
    def word_bits(self) -> int:
        """Bits of a word of the table, of own rows and of biases."""
        return self.lanes * self.bits

    @property
    def partial_bits(self) -> int:
        """Bits of a word of partial sums."""
        return self.lanes * self.sum_bits

    @property
    def wide(self) -> bool:
        """Whether numbers are wider than the value of the usual entry, so that entries are, too."""
        return self.bits > NARROW_BITS

    @property
    def entry(self) -> wire.Layout:
        """One entry of a sparse stream."""
        return entry_of(self.bits)

    @property
    def loaded_together(self) -> int:
        """Words of a beat of parameters."""
        return words_loaded_together(self.word_bits, self.beat_bits)

    @property
    def banks(self) -> int:
        """Memories that a unit's table is made of, by the last bits of a word's address: a load writes so many words of
        a place together. A shared table has `copy_banks`."""
        return table_banks(self.beat_bits)

    @property
    def copy_banks(self) -> int:
        """Memories that a copy of the table is made of, by the last bits of a word's address."""
        return int(copy_banks(self.beat_bits, self.shared))

    @property
    def copies(self) -> int:
        """Copies of the table."""
        return self.units // self.shared

    @property
    def places(self) -> int:
        """Units side by side whose tables differ in some mode; behind them the contents of tables repeat."""
        return max((mode.places for mode in self.modes), default=1)

    def copy_of(self, unit: Ints) -> Ints:
        """[n] the copies that units read."""
        return copy_of(unit, self.places, self.shared)

    def results_together(self, mode: Mode, tiles: int) -> int:
        """Words of logits that leave in one beat."""
        return results_together(mode.m, tiles, self.beat_bits)

    def table_writes(self, mode: Mode, target_tiles: int, target_base: int) -> int:
        """Words of H that go to the tables in a cycle."""
        return int(table_writes(mode.m, target_tiles, self.results, target_base))

    def queue_rows(self, tiles: int) -> int:
        """Rows of so many words that a unit can hold back."""
        return rows_held(self.queue_words, tiles)

    def mode_number(self, mode: Mode) -> int:
        """The place of a mode. Raises UserError where the engine does not offer it."""
        if mode not in self.modes:
            raise UserError(f"the engine has no mode {mode.m} x {mode.k} x {mode.n}")
        return self.modes.index(mode)

    def shift_number(self, shift: int) -> int:
        """The place of a shift. Raises UserError where the engine does not offer it."""
        if shift not in self.shifts:
            raise UserError(f"the engine does not shift by {shift}; it offers {self.shifts}")
        return self.shifts.index(shift)

    def summary(self) -> dict[str, Any]:
        """The engine as plain JSON values; of `EXTRAS` those that it has."""
        defaults = {one.name: one.default for one in fields(self)}
        plain = {name: value for name, value in vars(self).items() if name not in EXTRAS or value != defaults[name]}
        softmax = {} if self.softmax is None else {"softmax": self.softmax.summary()}
        neighbours = {} if self.neighbours is None else {"neighbours": vars(self.neighbours)}
        return {**plain, "modes": [vars(mode) for mode in self.modes], "multipliers": self.multipliers, **softmax,
                **neighbours}  # fmt: skip

    @property
    def digest(self) -> int:
        """32 bits that name the engine: what was lowered for another one has another number."""
        text = json.dumps(self.summary(), sort_keys=True)
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")

    @classmethod
    def of(cls, content: Any) -> Engine:
        """The engine that `summary` described. Raises UserError for anything else."""
        try:
            given = {
                one.name: content[one.name]
                for one in fields(cls)
                if one.init and one.name not in PARTS and (one.name in content or one.name not in EXTRAS)
            }
            modes = tuple(Mode(**mode) for mode in content["modes"])
            softmax = Softmax(**content["softmax"]) if "softmax" in content else None
            given |= {"shifts": tuple(content["shifts"]), "finished": content.get("finished", LANES)}
            neighbours = Neighbours(**content["neighbours"]) if "neighbours" in content else None
            return cls(**{**given, "modes": modes, "softmax": softmax, "neighbours": neighbours})
        except (AttributeError, KeyError, TypeError, ValueError):
            raise UserError(OTHER_VERSION) from None


def joined(engines: Sequence[Engine]) -> Engine:
    """The engine that runs whatever one of several runs; all have as many units and the same memory port."""
    largest = {
        name: max(getattr(engine, name) for engine in engines)
        for name in ("bits", "tiles", "table_words", "own_words", "bias_words", "activation_words", "maximum",
                     "sum_bits", "queue_words", "programme", "results", "residual",
                     "partial_words", "finished")
    }  # fmt: skip
    modes = tuple(dict.fromkeys(mode for engine in engines for mode in engine.modes))
    shifts = tuple(sorted({shift for engine in engines for shift in engine.shifts}))
    softmax = _joined_softmax([engine.softmax for engine in engines if engine.softmax is not None])
    shared = min(engine.shared for engine in engines)
    neighbours = _joined_neighbours([engine.neighbours for engine in engines if engine.neighbours is not None])
    found = replace(engines[0], modes=modes, shifts=shifts, softmax=softmax, shared=shared, neighbours=neighbours,
                    paired=False, **largest)  # fmt: skip
    return replace(found, paired=found.may_pair and any(engine.paired for engine in engines))


def _joined_neighbours(given: Sequence[Neighbours]) -> Neighbours | None:
    """The largest of each size."""
    if not given:
        return None
    return Neighbours(**{one.name: max(getattr(each, one.name) for each in given) for one in fields(Neighbours)})


def _joined_softmax(given: Sequence[Softmax]) -> Softmax | None:
    """The finest table, as long as any of them is in its steps."""
    if not given:
        return None
    finest = max(one.fraction_bits for one in given)
    words = max(((one.words - 1) << (finest - one.fraction_bits)) + 1 for one in given)
    return Softmax(
        finest, words, max(one.sum_bits for one in given), any(one.mean for one in given),
        any(one.symmetric for one in given), any(one.dot for one in given),
        any(one.pair for one in given),
    )  # fmt: skip


def in_block_ram(words: Any) -> Any:
    """Whether so many words of own rows, or of partial sums, take block RAM. An integer, or an array of them."""
    return words > OWN_WORDS_LUTRAM


def built_rows(words: Any, blocks: Any) -> Any:
    """Words that a memory of so many rows is built with, where block RAM would have `blocks`."""
    return np.where(in_block_ram(words), blocks, OWN_WORDS_LUTRAM)


def may_pair(bits: int, softmax: Softmax | None) -> bool:
    """Whether two products of numbers of so many bits may share a DSP slice."""
    return bits <= PAIRED_BITS and softmax is None


def check_may_pair(engine: Engine) -> None:
    """Raise UserError where no two products of an engine may share a DSP slice."""
    if not engine.may_pair:
        why = f"numbers of {engine.bits} bits" if engine.bits > PAIRED_BITS else "scores of nodes or edges"
        raise UserError(f"--paired is for numbers of {PAIRED_BITS} bits at most, without scores: this network has "
                        f"{why}; leave it out")  # fmt: skip


def dsps_of(multipliers: Any, paired: Any = False) -> Any:
    """DSP slices of so many multipliers, whose products may share them in pairs. Integers, or arrays of them."""
    return DSPS_OF_MULTIPLIER * multipliers // (1 + paired)


def sums_in_slices(tiles: Any, maximum: Any, paired: Any, nearest: Any) -> Any:
    """Whether an engine with so many tiles, with or without maxima, paired products and nearest points has its sums in
    the multipliers' DSP slices. Integers, or arrays of them."""
    return (tiles == 1) * (1 - maximum) * (1 - paired) * (1 - nearest)


def multipliers_within(dsp: int, paired: bool = False) -> int:
    """The most multipliers that so many DSP slices hold."""
    return dsp * (1 + paired) // DSPS_OF_MULTIPLIER


def words_loaded_together(word_bits: Any, beat_bits: int) -> Any:
    """Words of a beat of parameters: each fills MEMORY_WORD_BITS, or twice that where it is too little.

    Integers, or arrays of them.
    """
    return beat_bits // (wire.MEMORY_WORD_BITS * (1 + (word_bits > wire.MEMORY_WORD_BITS)))


def load_steps(words: Any, places: Any, together: Any, banks: int) -> Any:
    """Cycles in which so many words of each place are written into memories of so many banks, `together` in a beat.

    A beat's words go to different places, and the rest of them to further banks. Integers, or arrays of them.
    """
    return ceil_div(words * places, np.minimum(together, places * banks))


def table_banks(beat_bits: int) -> int:
    """Banks of a table: a load writes so many words of a place together."""
    return beat_bits // (2 * wire.MEMORY_WORD_BITS)


MOST_BANKS = table_banks(max(PORT_WIDTHS))
"""Banks of a table at most."""


def even_place(words: Any) -> Any:
    """The first place behind so many words of a table that is in the first bank, however many there are.

    Loads into tables, and H, begin at such places: then a word's place in a beat, or its group, says which bank takes
    it. Integers, or arrays of them.
    """
    return ceil_div(words, MOST_BANKS) * MOST_BANKS


BANK_WORDS = 2048
"""Words of a block RAM with a register behind it: a bank of more has several, and a choice among their registers.
Block RAMs of so many words stand side by side on most devices, with few multiplexers before the register or none."""


def copy_banks(beat_bits: Any, shared: Any) -> Any:
    """Memories that a copy of the table is made of, which so many units read. Integers, or arrays of them."""
    return np.where(np.asarray(shared) > 1, np.maximum(table_banks(beat_bits), BANKS_OF_READER * np.asarray(shared)),
                    table_banks(beat_bits))  # fmt: skip


def copy_of(unit: Ints, places: int, shared: int) -> Ints:
    """[n] the copies that units read: `shared` units that follow each other in steps of `places` have one."""
    return unit // places // shared * places + unit % places


def results_together(groups: int, tiles: int, beat_bits: int) -> int:
    """Words of logits in a beat: those of neighbouring groups, where a row is one word and the groups come out even.

    Else a beat holds one word.
    """
    room = beat_bits // RESULT_BITS
    return room if tiles == 1 and groups % room == 0 else 1


def table_writes(groups: Any, target_tiles: Any, results: Any, target_base: Any = 0) -> Any:
    """Words of H that go to the tables in a cycle: as many as the engine offers, of groups that many apart.

    Each must be for the banks that take it: a row is one word in the units that read it, the groups come out even, and
    so does the first word's place; else one word. Integers, or arrays of them.
    """
    even = (groups % results == 0) & (target_base % results == 0)
    return np.where((target_tiles == 1) & even, results, 1)


def rows_held(words: int, tiles: int) -> int:
    """Rows of so many words that a queue of `words` is used for."""
    return words >> (tiles - 1).bit_length()


def _power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0
