"""LUT and flip-flops of engines: the sum of their modules' sizes, which synthesis measured.

A module's size is a sum of terms of the engine's parameters. `make characterise` fits their coefficients
(characterisation/FAMILY.json). The memories of a unit and the registers of its products are in the pipeline's tables.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.design import MOST_BITS
from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.array.engine import (
    BANK_WORDS,
    FINISHED,
    LANES,
    PAIRED_BITS,
    RESULT_BITS,
    SHARED,
    Engine,
    Softmax,
    copy_banks,
    in_block_ram,
    sums_in_slices,
    table_banks,
    words_loaded_together,
)
from fgnas.hardware.array.programme import (
    ENTRY,
    NARROW_BITS,
    PORT_WIDTHS,
    WIDE_ENTRY,
    entries_per_beat,
    stored_bits,
)
from fgnas.hardware.memories import DISTRIBUTED, build
from fgnas.hardware.numbers import Ints, ceil_div, ceil_log2
from fgnas.hardware.pipeline.resources import UNITS, Characterisation, characterisation, coefficients
from fgnas.hardware.pipeline.sizes import Coefficients, Terms, is_one_of, weighted_sum
from fgnas.hardware.pipeline.sizes import terms as pipeline_terms
from fgnas.hardware.pipeline.tables import table_of
from fgnas.hardware.specification import DEFAULT_FAMILY

MEASURED = Path(__file__).parent / "characterisation"
STORED_IN_LUTRAM = (2, 3, 5)
"""Beats of a slot row whose earlier beats Yosys stores in LUTRAM; those of longer and other slot rows in registers."""
UNIT, ISSUE, SEQUENCER = "array_unit", "array_issue", "array_sequencer"
ATTENTION, DOT, RESIDUAL, PARTIAL = "attention", "scores of edges", "residual", "partial sums"
"""The cost of an option in a unit: attention with scores but no dividers, and partial sums without their memory."""
ISSUED, SEQUENCED = "attention in array_issue", "options in array_sequencer"
"""The cost of options in modules that an array has once."""
WIDE = "wide numbers in array_issue"
"""The cost of entries of wide numbers in the issue."""
TABLE = "array_table"
"""A table that units share, without its memories."""
OWN_TABLE = "own table"
"""The cost of a unit's own table without its memories; units that share a table have none."""
SHARED_ISSUE, SHARED_KERNEL = "shared tables in array_issue", "shared tables in the kernel"
"""The cost of shared tables in the issue, and in the kernel's own cells."""
CHAIN, DISTANCE, ROOT, INDICES = "array_chain", "array_distance", "array_root", "array_neighbours"
"""Modules of nearest points that each unit has: sorted places, squared distances, roots with their products where the
engine takes any, and the addresses of a gather without the memory of indices."""
PAIR = "array_multiplier_pair"
"""Two products that share a DSP slice."""
SLICED = "array_multiplier_sum"
"""A product and its sum in a DSP slice."""
NEAREST = "nearest points in array_unit"
"""The cost of nearest points in a unit beside their own modules: differences, and results that are negated or
subtracted."""
NEAREST_ISSUE, NEAREST_WRITEBACK = "nearest points in array_issue", "nearest points in array_writeback"
NEAREST_SEQUENCER, NEAREST_KERNEL = "nearest points in array_sequencer", "nearest points in the kernel"
"""Their cost in modules that an array has once, and in the kernel's own cells, where descriptors are longer."""

SOFTMAX = ("denominator_bits", "mean", "symmetric", "exponentials", "dot")
"""The fields of `EngineColumns` that the size of attention depends on."""


@dataclass(frozen=True, eq=False)
class ModeColumns:
    """A kernel mode of n engines, [n] each; `used` is 0 where the engine has no such mode, or has it already."""

    k: Ints
    n: Ints
    used: Ints


@dataclass(frozen=True, eq=False)
class EngineColumns:
    """The parameters of n engines, [n] each, with the names of `Engine`.

    Attributes:
        shifts: number of the shifts. right_shifts: those to the right, which round.
        shifted_out: bits behind the first that leave to the right, summed over the shifts.
        most_left: the largest left shift.
        finished: lanes of a total that a unit's epilogue finishes in a cycle.
        attends: 1 where the engine has attention with scores; the fields behind it are 0 where it has none.
        denominator_bits, mean, symmetric: as of `Softmax`.
        exponentials: bits of a unit's table of exponentials where it is built from LUTs.
        dot: as of `Softmax`.
        residual, partial_words, shared: as of `Engine`.
        places, indices: nearest points of a row that a chain holds, and words of their memory; 0 where there is none.
        distance_bits, root: bits of a squared distance, and whether roots are taken; 0 where none is measured.
        paired: 1 where two products share a DSP slice.
    """

    units: Ints
    bits: Ints
    modes: Sequence[ModeColumns]
    tiles: Ints
    table_words: Ints
    own_words: Ints
    bias_words: Ints
    activation_words: Ints
    shifts: Ints
    right_shifts: Ints
    shifted_out: Ints
    most_left: Ints
    maximum: Ints
    sum_bits: Ints
    queue_words: Ints
    programme: Ints
    beat_bits: Ints
    results: Ints
    finished: Ints
    attends: Ints | int = 0
    denominator_bits: Ints | int = 0
    mean: Ints | int = 0
    symmetric: Ints | int = 0
    exponentials: Ints | int = 0
    dot: Ints | int = 0
    residual: Ints | int = 0
    partial_words: Ints | int = 0
    shared: Ints | int = 1
    places: Ints | int = 0
    indices: Ints | int = 0
    distance_bits: Ints | int = 0
    root: Ints | int = 0
    paired: Ints | int = 0

    @property
    def finds(self) -> Ints:
        """1 where nearest points are found."""
        return (np.asarray(self.places) > 0).astype(np.int64)

    @property
    def sliced(self) -> Ints:
        """1 where a lane's sum is in its multiplier's slice, see `Engine.sliced`."""
        found: Ints = sums_in_slices(self.tiles, self.maximum, self.paired, self.finds)
        return found

    @property
    def banks(self) -> Ints:
        """Banks of a table."""
        return self.by_beat(table_banks)

    @property
    def copy_banks(self) -> Ints:
        """Banks of a table that units share; of other engines those of a unit's."""
        return copy_banks(self.beat_bits, self.shared)

    @property
    def bank_words(self) -> Ints:
        """Words of a bank of a table."""
        return np.asarray(self.table_words) // self.copy_banks

    @property
    def shares(self) -> Ints:
        """1 where units share tables."""
        return (np.asarray(self.shared) > 1).astype(np.int64)

    @property
    def place_bits(self) -> Ints:
        """Bits of an address in a bank of a table."""
        return ceil_log2(np.maximum(self.bank_words, 2))

    @property
    def word_bits(self) -> Ints:
        """Bits of a word."""
        return LANES * self.bits

    @property
    def together(self) -> Ints:
        """Words of a beat of parameters."""
        beat_bits: Any = self.beat_bits
        found: Ints = words_loaded_together(self.word_bits, beat_bits)
        return found

    @property
    def entries(self) -> Ints:
        """Entries of a beat."""
        narrow, wide = (self.by_beat(functools.partial(entries_per_beat, bits=bits)) for bits in (0, MOST_BITS))
        return np.where(self.wide, wide, narrow)

    @property
    def wide(self) -> NDArray[np.bool_]:
        """Whether entries are wide."""
        return self.bits > NARROW_BITS

    @property
    def entry_bits(self) -> Ints:
        """Bits of an entry."""
        return np.where(self.wide, WIDE_ENTRY.bits, ENTRY.bits)

    @property
    def index_bits(self) -> Ints:
        """Bits of an entry's index."""
        return np.where(self.wide, WIDE_ENTRY.place("index")[1], ENTRY.place("index")[1])

    @property
    def value_bits(self) -> Ints:
        """Bits of an entry's value."""
        return np.where(self.wide, MOST_BITS, NARROW_BITS)

    def by_beat(self, fact: Callable[[int], int]) -> Ints:
        """[n] a fact of the width of the memory port."""
        return np.array([fact(bits) for bits in PORT_WIDTHS])[np.searchsorted(PORT_WIDTHS, self.beat_bits)]


def mode_columns(pairs: Sequence[tuple[Ints, Ints]]) -> list[ModeColumns]:
    """The modes of n engines from the k and the n of each, [n]; of equal ones the first counts."""
    found: list[ModeColumns] = []
    for k, n in pairs:
        again = [one.used * (one.k == k) * (one.n == n) for one in found]
        found.append(ModeColumns(k, n, 1 - _most(again) if again else np.ones_like(k)))
    return found


def shift_columns(shifts: Sequence[Ints]) -> dict[str, Ints]:
    """The columns of `EngineColumns` for the shifts of n engines, [n] each, some of which may be equal."""
    ordered = np.sort(np.stack(shifts), axis=0)
    first = np.ones(ordered.shape, bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return {
        "shifts": first.sum(axis=0),
        "right_shifts": (first & (ordered > 0)).sum(axis=0),
        "shifted_out": (first * np.maximum(0, ordered - 1)).sum(axis=0),
        "most_left": np.maximum(0, -ordered[0]),
    }


def engine_columns(engines: Sequence[Engine]) -> EngineColumns:
    """The parameters of engines as columns."""

    names = ("units", "bits", "tiles", "table_words", "own_words", "bias_words", "activation_words", "maximum",
             "sum_bits", "queue_words", "programme", "beat_bits", "results", "finished", "residual",
             "partial_words", "shared", "paired")  # fmt: skip
    finders = [engine.neighbours for engine in engines]
    most = max(len(engine.modes) for engine in engines)
    # An engine of fewer modes or shifts repeats its last one, which then does not count.
    modes = [[engine.modes[min(place, len(engine.modes) - 1)] for engine in engines] for place in range(most)]
    shifts = max(len(engine.shifts) for engine in engines)
    offered = [[engine.shifts[min(place, len(engine.shifts) - 1)] for engine in engines] for place in range(shifts)]
    return EngineColumns(
        modes=mode_columns([
            (np.array([mode.k for mode in own]), np.array([mode.n for mode in own])) for own in modes
        ]),
        **shift_columns([np.array(own) for own in offered]),
        **{name: np.array([int(getattr(engine, name)) for engine in engines]) for name in names},
        **attention_columns([engine.softmax for engine in engines]),
        places=np.array([one.places if one else 0 for one in finders]),
        indices=np.array([one.words if one else 0 for one in finders]),
        distance_bits=np.array([
            engine.neighbours.distance_bits(engine.bits) if engine.neighbours else 0 for engine in engines
        ]),
        root=np.array([int(one.root) if one else 0 for one in finders]),
    )  # fmt: skip


def attention_columns(given: Sequence[Softmax | None]) -> dict[str, Ints]:
    """The columns of `EngineColumns` for attention, [n] each."""
    return {
        "attends": np.array([int(one is not None) for one in given]),
        "denominator_bits": np.array([one.sum_bits if one else 0 for one in given]),
        "mean": np.array([int(one.mean) if one else 0 for one in given]),
        "symmetric": np.array([int(one.symmetric) if one else 0 for one in given]),
        "exponentials": np.array([exponential_bits(one) for one in given]),
        "dot": np.array([int(one.dot) if one else 0 for one in given]),
    }


def exponential_bits(softmax: Softmax | None) -> int:
    """Bits of a table of exponentials that is built from LUTs; 0 where it takes block RAM, or there is none."""
    if softmax is None:
        return 0
    table = table_of("exponential", softmax.coefficients(), wire.COEFFICIENT_BITS, 1)
    return 0 if table.halves(DEFAULT_FAMILY) else table.words * table.varying


def _unit(e: EngineColumns, family: str) -> Terms:
    y, several = e.sum_bits + e.most_left + 1, (e.tiles > 1).astype(np.int64)
    rules, tables = DISTRIBUTED[family], (e.activation_words > 0).astype(np.int64)
    codes = build(rules, np.maximum(e.activation_words, 1), e.word_bits)
    f, parted = e.finished, (e.finished < LANES).astype(np.int64)
    luts = (
        build(rules, e.bias_words, e.word_bits).units
        + several * build(rules, e.tiles, LANES * e.sum_bits).units
        + parted * build(rules, e.queue_words, LANES * e.sum_bits).units
        + tables * f * codes.units  # each lane reads a copy
    )
    return {
        "luts of memories": luts,
        "sum bits": e.sum_bits,
        "(sums in LUTs) * sum bits": (1 - e.sliced) * e.sum_bits,
        "(one sum in LUTs) * sum bits": (1 - e.sliced) * (1 - several) * e.sum_bits,
        "(maximum) * sum bits": e.maximum * e.sum_bits,
        "finished": f,
        "finished * y bits": f * y,
        "finished * y bits * (shifts - 1)": f * y * (e.shifts - 1),
        "finished * y bits * (shifts > 2)": f * y * (e.shifts > 2),
        "finished * right shifts": f * e.right_shifts,
        "finished * bits shifted out": f * e.shifted_out,
        "(parts)": parted,
        "(parts) * finished * sum bits": parted * f * e.sum_bits,
        **{f"(parts = {LANES // one}) * sum bits": (f == one) * e.sum_bits for one in FINISHED if one < LANES},
        **_own_table(e, family),
        "(own rows in block RAM) * word bits * luts of a choice of slices":
            in_block_ram(e.own_words) * e.word_bits * ceil_div(slices_of(e.own_words) - 1, 3),
        "log2 tiles": ceil_log2(e.tiles),
        "log2 bias words": ceil_log2(e.bias_words),
        "(own rows in block RAM)": in_block_ram(e.own_words).astype(np.int64),
        "(tables) * finished": tables * f,
        "(tables) * finished * bits": tables * f * e.bits,
        "(tables) * finished * word bits": tables * f * e.word_bits,
        "(tables) * finished * word bits * (banks of codes - 1)": tables * f * e.word_bits * (codes.banks - 1),
    }


def _attention(e: EngineColumns, family: str) -> Terms:
    parted, several = (e.finished < LANES).astype(np.int64), (e.tiles > 1).astype(np.int64)
    return {
        "bits": e.bits,
        "sum bits": e.sum_bits,
        "finished": e.finished,
        "finished * bits": e.finished * e.bits,
        "finished * sum bits": e.finished * e.sum_bits,
        "denominator bits": e.denominator_bits,
        "denominator bits * (several tiles)": e.denominator_bits * several,
        "denominator bits * (parts)": e.denominator_bits * parted,
        "(mean)": e.mean,
        "(mean) * wide value bits": e.mean * (e.value_bits - NARROW_BITS),
        "(symmetric)": e.symmetric,
        "(symmetric) * bits": e.symmetric * e.bits,
        "bits of exponentials": e.exponentials,
        "(exponentials in block RAM)": (np.asarray(e.exponentials) == 0).astype(np.int64),
    }


def _dot(e: EngineColumns, family: str) -> Terms:
    return {"bits": e.bits}


def _residual(e: EngineColumns, family: str) -> Terms:
    return {"y bits": e.sum_bits + e.most_left + 1, "right shifts": e.right_shifts}


def _pair(e: EngineColumns, family: str) -> Terms:
    return {"bits": e.bits, **is_one_of("bits", e.bits, PAIRED_BITS - 1, PAIRED_BITS)}  # of these, products meet


def _sliced(e: EngineColumns, family: str) -> Terms:
    return {"sum bits": e.sum_bits, "product bits": e.bits + e.value_bits}


def _partial(e: EngineColumns, family: str) -> Terms:
    return {
        "bits of totals": LANES * e.sum_bits + e.denominator_bits,
        "(maximum) * sum bits": e.maximum * e.sum_bits,
    }


def _table(e: EngineColumns, family: str) -> Terms:
    readers, banks = np.asarray(e.shared), e.copy_banks
    return {
        # A reader's word is chosen among the banks: a LUT takes three more. Of 32 banks Yosys finds no such tree.
        "readers * word bits * luts of a choice": readers * e.word_bits * ceil_div(banks - 1, 3),
        "readers * word bits * (readers = 16)": readers * e.word_bits * (readers == SHARED[-1]),
        # A bank's address is the one that is read or the one that is written; it is known which readers ask.
        "banks * place bits": banks * e.place_bits,
        "banks * readers": banks * readers,
        "readers * log2 banks": readers * ceil_log2(banks),
        **_slices(banks, e),
    }


def _own_table(e: EngineColumns, family: str) -> Terms:
    return {
        "word bits": e.word_bits,
        "word bits * (banks > 1)": e.word_bits * (e.banks > 1),
        "word bits * (banks = 4)": e.word_bits * (e.banks == 4),
        "log2 banks": ceil_log2(e.banks),
        **_slices(e.banks, e),
    }


def _slices(banks: Ints, e: EngineColumns) -> Terms:
    # A word is chosen among those of its bank.
    return {
        "word bits * luts of a choice of slices": banks * e.word_bits * ceil_div(slices_of(e.bank_words) - 1, 3),
        "banks * log2 slices": banks * ceil_log2(slices_of(e.bank_words)),
    }


def _shared_issue(e: EngineColumns, family: str) -> Terms:
    return {}  # some LUTs, whose number does not follow that of the units


def _shared_kernel(e: EngineColumns, family: str) -> Terms:
    # A unit is told whether its entry's value is 0.
    return {"units": e.units, "units * wide value bits": e.units * (e.value_bits - NARROW_BITS)}


def _chain(e: EngineColumns, family: str) -> Terms:
    # A place has a comparator, a multiplexer and a register of a key, and an index that leaves.
    key_bits = np.asarray(e.distance_bits) + e.index_bits
    return {"places": e.places, "places * key bits": e.places * key_bits, "key bits": key_bits}


def _distance(e: EngineColumns, family: str) -> Terms:
    return {"bits": e.bits, "distance bits": e.distance_bits}


def _root(e: EngineColumns, family: str) -> Terms:
    # A stage for each bit of the root: a rest, and the bits of the root that are known.
    bits = ceil_div(np.asarray(e.distance_bits), 2)
    return {"root bits": bits, "root bits ** 2": bits**2, "sum bits": e.sum_bits}


def _indices(e: EngineColumns, family: str) -> Terms:
    return {}  # all widths are those of a descriptor's fields


def _nearest(e: EngineColumns, family: str) -> Terms:
    return {
        "bits": e.bits,
        "sum bits": e.sum_bits,
        "right shifts": e.right_shifts,
        "(root) * sum bits": e.root * e.sum_bits,
    }


def _nearest_issue(e: EngineColumns, family: str) -> Terms:
    return {"units": e.units}


def _nearest_writeback(e: EngineColumns, family: str) -> Terms:
    return {"units": e.units}


def _nearest_sequencer(e: EngineColumns, family: str) -> Terms:
    return {"programme.luts": build(DISTRIBUTED[family], e.programme, stored_bits(False) + 0 * e.units).units}


def _nearest_kernel(e: EngineColumns, family: str) -> Terms:
    return {"units": e.units}


def _wide_issue(e: EngineColumns, family: str) -> Terms:
    return {"units": e.units}


def _issued(e: EngineColumns, family: str) -> Terms:
    return {
        "units": e.units,
        "units * (modes - 1)": e.units * (_modes(e) - 1),
        "(dot)": e.dot,
        "(dot) * units": e.dot * e.units,
    }


def _sequenced(e: EngineColumns, family: str) -> Terms:
    return {"(attention)": e.attends, "(residual)": e.residual, "(partial sums)": _keeps(e)}


def _gather(e: EngineColumns, family: str) -> Terms:
    bits = e.units * LANES * e.sum_bits
    several = _sum([mode.used * (mode.k > 1) for mode in e.modes])
    return {
        "units": e.units,
        "units * sum bits": bits,
        "units * sum bits * (k > 1)": bits * (several > 0),
        "units * sum bits * (several k > 1)": bits * np.maximum(0, several - 1),
        # The first of k units adds the sums of all: one adder, and a row of full adders for each sum beyond the second.
        "units / k * sum bits": _sum([mode.used * (mode.k > 1) * bits // mode.k for mode in e.modes]),
        "units / k * sum bits * (k - 2)": _sum([
            mode.used * np.maximum(0, mode.k - 2) * bits // mode.k for mode in e.modes
        ]),
    }  # fmt: skip


def _issue(e: EngineColumns, family: str) -> Terms:
    takers = [np.maximum(1, e.units // mode.n) for mode in e.modes]
    parts = _most([mode.used * ceil_div(many, e.entries) for mode, many in zip(e.modes, takers, strict=True)])
    # An entry is chosen among the slot rows of a beat.
    slots = _sum([mode.used * np.maximum(1, e.entries // many) for mode, many in zip(e.modes, takers, strict=True)])
    stored, earlier, width = np.isin(parts, STORED_IN_LUTRAM), np.maximum(0, parts - 1), e.entries * e.entry_bits
    # Words that are loaded together: those of a mode with few places come from several parts of a beat.
    places = [mode.used * mode.k * mode.n for mode in e.modes]
    few = [(one < e.together) & (one > 0) for one in places]
    spread = _most([np.minimum(e.together // np.maximum(one, 1), e.banks) * less + 1 - less
                    for one, less in zip(places, few, strict=True)])  # fmt: skip
    loaded = np.minimum(_most(places), e.together) * spread * e.word_bits
    copies = build(DISTRIBUTED[family], np.maximum(parts, 2), width).units
    modes = _modes(e)
    return {
        "units": e.units,
        "units * (modes - 1)": e.units * (modes - 1),
        "units * slots": e.units * slots,
        "units * (slots > 1)": e.units * (slots > 1),
        "(stored in LUTRAM) * earlier beats * luts": stored * earlier * copies,
        "(stored in registers) * earlier beats * bits": (1 - stored) * earlier * width,
        "loaded word bits": loaded,
        "loaded word bits * (modes > 1)": loaded * (modes > 1),
        "words of a beat * word bits": e.together * e.word_bits,
        "(few places) * banks * words of a beat * word bits": _sum(few) * e.banks * e.together * e.word_bits,
        "(few places) * words of a beat * word bits": _sum(few) * e.together * e.word_bits,
        "modes": modes,
        **is_one_of("beat bits", e.beat_bits, 256, 512),
    }


def _sum(columns: Sequence[NDArray[Any]]) -> Ints:
    return functools.reduce(np.add, columns, np.zeros(len(columns[0]), np.int64))


def _most(columns: Sequence[NDArray[Any]]) -> Ints:
    return functools.reduce(np.maximum, columns)


def _least(columns: Sequence[NDArray[Any]]) -> Ints:
    return functools.reduce(np.minimum, columns)


def _modes(e: EngineColumns) -> Ints:
    """[n] modes that differ."""
    return _sum([mode.used for mode in e.modes])


def _writeback(e: EngineColumns, family: str) -> Terms:
    columns, modes = _most([mode.used * mode.n for mode in e.modes]), _modes(e)
    period, banks = _most([mode.used * mode.k * mode.n for mode in e.modes]), e.banks
    givers = _givers(e, columns)
    given, later = (
        _sum([alike * _choice(ceil_div(units, results)) for alike, units in givers]) for results in (1, e.results)
    )
    together = e.by_beat(lambda bits: bits // RESULT_BITS)
    # A beat has several words where the groups of a mode come out even.
    even = _most([mode.used * (e.units // np.maximum(1, mode.k * mode.n) % together == 0) for mode in e.modes])
    # A word of results is chosen among the units for each column and each place of a beat. Behind the first word of a
    # cycle, and the first of a beat, only some units can give one.
    return {
        "units": e.units,
        "units * word bits": e.units * e.word_bits,
        "word bits * luts of choices": e.word_bits * given,
        "(results - 1) * word bits * luts of choices": (e.results - 1) * e.word_bits * later,
        "(results - 1) * columns * word bits": (e.results - 1) * columns * e.word_bits,
        # A word is registered for each bank and each unit of a group: one of a load, or of the results of a column.
        "places * banks * word bits": period * banks * e.word_bits,
        "places * banks * word bits * log2 columns": period * banks * e.word_bits * ceil_log2(columns),
        "(results - 1) * units": (e.results - 1) * e.units,
        "units * (modes - 1)": e.units * (modes - 1),
        "result bits * luts of a choice": RESULT_BITS * _choice(e.units),
        "(words of a beat - 1) * result bits * luts of a choice":
            even * (together - 1) * RESULT_BITS * _choice(ceil_div(e.units, together)),
        # Beats of logits wait for the writer.
        "result bits * words of a beat": RESULT_BITS * (1 + even * (together - 1)),
    }


def _givers(e: EngineColumns, columns: Ints) -> list[tuple[Ints, Ints]]:
    """[n] columns of a word of results that are alike, and [n] the units that such a column may come from: those that
    begin a group with it, in any mode."""
    found = []
    for column in (0, *(1 << power for power in range(int(ceil_log2(columns.max()))))):
        places = _least([np.where(mode.used * (mode.n > column), mode.k * mode.n, e.units) for mode in e.modes])
        found.append((max(1, column) * (columns > column), e.units // places))
    return found


def _choice(words: Ints) -> Ints:
    """LUTs of a bit that is chosen among so many words, each with a bit that chooses it: three in a LUT, six behind."""
    first = ceil_div(words, 3)
    return first + (first > 1) * ceil_div(first, 6)


def _sequencer(e: EngineColumns, family: str) -> Terms:
    return {
        **is_one_of("beat bits", e.beat_bits, 256, 512),
        "programme.luts": build(DISTRIBUTED[family], e.programme, stored_bits(False) + 0 * e.units).units,
    }


def _fixed(e: EngineColumns, family: str) -> Terms:
    return is_one_of("beat bits", e.beat_bits, 256, 512)


DIFFERING = {UNIT: ("luts of memories", "finished * y bits")}
"""The terms in which families differ, by entry: memories, and the multiplexers that round and shift. The few points of
another family than the first would leave more terms open."""

LOGIC: dict[str, tuple[str, ...]] = {
    UNIT: (
        "luts of memories", "(one sum in LUTs) * sum bits", "(maximum) * sum bits", "finished * y bits * (shifts - 1)",
        "finished * y bits * (shifts > 2)", "finished * right shifts", "finished * bits shifted out",
        "word bits * (banks > 1)", "word bits * (banks = 4)", "log2 bias words", "(own rows in block RAM)",
        "(own rows in block RAM) * word bits * luts of a choice of slices", "word bits * luts of a choice of slices",
        "banks * log2 slices", "(tables) * finished", "(tables) * finished * bits",
        "(tables) * finished * word bits * (banks of codes - 1)",
    ),
    "array_gather": (
        "units", "units * sum bits * (k > 1)", "units * sum bits * (several k > 1)", "units / k * sum bits",
        "units / k * sum bits * (k - 2)",
    ),
    "array_writeback": (
        "word bits * luts of choices", "(results - 1) * word bits * luts of choices",
        "(results - 1) * columns * word bits", "places * banks * word bits * log2 columns",
        "units * (modes - 1)", "result bits * luts of a choice",
        "(words of a beat - 1) * result bits * luts of a choice",
    ),
    SEQUENCER: ("programme.luts",),
    PARTIAL: ("(maximum) * sum bits",),
    TABLE: (
        "readers * word bits * luts of a choice", "readers * word bits * (readers = 16)", "banks * place bits",
        "banks * readers", "word bits * luts of a choice of slices", "banks * log2 slices",
    ),
    OWN_TABLE: (
        "1", "word bits", "word bits * (banks > 1)", "word bits * (banks = 4)",
        "word bits * luts of a choice of slices", "banks * log2 slices",
    ),
    NEAREST: ("right shifts", "(root) * sum bits"),
    NEAREST_SEQUENCER: ("programme.luts",),
}  # fmt: skip
"""Terms of LUTs alone: the logic that they count holds no flip-flops."""

TERMS: dict[str, Callable[[EngineColumns, str], Terms]] = {
    UNIT: _unit,
    ATTENTION: _attention,
    DOT: _dot,
    RESIDUAL: _residual,
    PARTIAL: _partial,
    PAIR: _pair,
    SLICED: _sliced,
    ISSUED: _issued,
    SEQUENCED: _sequenced,
    WIDE: _wide_issue,
    "array_gather": _gather,
    ISSUE: _issue,
    "array_writeback": _writeback,
    SEQUENCER: _sequencer,
    "fixed": _fixed,
    TABLE: _table,
    OWN_TABLE: _own_table,
    SHARED_ISSUE: _shared_issue,
    SHARED_KERNEL: _shared_kernel,
    CHAIN: _chain,
    DISTANCE: _distance,
    ROOT: _root,
    INDICES: _indices,
    NEAREST: _nearest,
    NEAREST_ISSUE: _nearest_issue,
    NEAREST_WRITEBACK: _nearest_writeback,
    NEAREST_SEQUENCER: _nearest_sequencer,
    NEAREST_KERNEL: _nearest_kernel,
}


def terms(module: str, e: EngineColumns, family: str) -> Terms:
    """The terms of a module's LUTs and FFs; the first is always 1."""
    return {"1": 1, **TERMS[module](e, family)}


@functools.cache
def measured(family: str) -> dict[str, Coefficients]:
    """The coefficients of every module in the family's table, in ten-thousandths. Raises UserError without one."""
    place = MEASURED / f"{family}.json"
    if not place.is_file():
        raise UserError(f"no characterisation of the array's modules for family {family!r}")
    table = json.loads(place.read_text(encoding="utf-8"))
    return {module: coefficients(entry) for module, entry in table["modules"].items()}


def lut_ff(e: EngineColumns, family: str = DEFAULT_FAMILY) -> tuple[Ints, Ints]:
    """[n] LUTs and [n] flip-flops of engines."""
    total: NDArray[Any] = np.zeros((2, len(e.units)))
    often = {
        UNIT: e.units, ATTENTION: e.units * e.attends, DOT: e.units * e.dot, RESIDUAL: e.units * e.residual,
        PARTIAL: e.units * _keeps(e), PAIR: e.units * (LANES // 2) * e.paired, SLICED: e.units * LANES * e.sliced,
        ISSUED: e.attends, SEQUENCED: np.minimum(1, e.attends + e.residual + _keeps(e)), WIDE: e.wide,
        TABLE: e.shares * e.units // e.shared, OWN_TABLE: -e.shares * e.units, SHARED_ISSUE: e.shares,
        SHARED_KERNEL: e.shares, ROOT: e.units * e.root,
        **dict.fromkeys((CHAIN, DISTANCE, INDICES, NEAREST), e.units * e.finds),
        **dict.fromkeys((NEAREST_ISSUE, NEAREST_WRITEBACK, NEAREST_SEQUENCER, NEAREST_KERNEL), e.finds),
    }  # fmt: skip
    for module, weights in measured(family).items():
        count = often.get(module, 1)
        if np.any(count):
            total += sizes_of(terms(module, e, family), weights, len(e.units)) * count
    total += e.units * (_shared(e, family) + e.attends * e.finished * _divider(e, family))
    lut, ff = np.rint(total / UNITS).astype(np.int64)
    return lut, ff


def _keeps(e: EngineColumns) -> Ints:
    """[n] 1 where an engine keeps partial sums."""
    return (np.asarray(e.partial_words) > 0).astype(np.int64)


def _shared(e: EngineColumns, family: str) -> NDArray[np.float64]:
    """[2, n] LUTs and FFs of a unit's modules that the pipeline has, too: its memories, of a shared table its part,
    that of nearest points' indices, and its products."""
    shared = characterisation(family)
    return (
        e.copy_banks // e.shared * _bank(e.bank_words, e, shared, family)
        + _flip_flops(table_registers(e) / np.asarray(e.shared))
        + _own_rows(e, shared, family)
        + _keeps(e) * _rows(np.maximum(e.partial_words, 2), LANES * e.sum_bits, shared, family)
        + _stored_indices(e, shared, family)
        + LANES * _product(e, shared, family) * (1 - np.asarray(e.paired)) * (1 - e.sliced)
    )


def _bank(words: Ints, e: EngineColumns, shared: Characterisation, family: str) -> NDArray[np.float64]:
    """[2, n] LUTs and FFs of the block RAMs of a bank of so many words."""
    full, rest = bank_memories(words)
    deep, last = (
        _module("fgnas_block_ram", {"Depth": depth, "Width": e.word_bits}, shared, family)
        for depth in (np.full_like(full, BANK_WORDS), np.maximum(rest, 2))
    )
    return full * deep + (rest > 0) * last


def _flip_flops(count: Any) -> NDArray[np.float64]:
    """[2, n] no LUTs, and so many FFs, in ten-thousandths."""
    return np.stack([np.zeros(len(count)), UNITS * count])


def bank_memories(words: Ints) -> tuple[Ints, Ints]:
    """[n] block RAMs of BANK_WORDS in a bank of so many words, and [n] the words of a smaller one behind, or 0."""
    full, rest = np.divmod(np.asarray(words), BANK_WORDS)
    return full, rest


def slices_of(words: Ints) -> Ints:
    """[n] block RAMs with a register behind each that a bank of so many words has."""
    return ceil_div(words, BANK_WORDS)


def table_registers(e: EngineColumns) -> Ints:
    """[n] flip-flops of a table, which are counted and not fitted: the register behind each block RAM, and the number
    of the one that is read, for two cycles; it is the same in all banks of a unit's own table."""
    slices = slices_of(e.bank_words)
    numbers = np.where(np.asarray(e.shared) > 1, e.copy_banks, 1) * ceil_log2(slices)
    found: Ints = e.copy_banks * slices * e.word_bits + 2 * numbers
    return found


def own_registers(e: EngineColumns) -> Ints:
    """[n] flip-flops behind the memory of own rows, which are counted as those of a table are."""
    slices = np.where(in_block_ram(e.own_words), slices_of(e.own_words), 1)
    found: Ints = slices * e.word_bits + 2 * ceil_log2(slices)
    return found


def _own_rows(e: EngineColumns, shared: Characterisation, family: str) -> NDArray[np.float64]:
    """[2, n] LUTs and FFs of the memory of own rows, with the registers behind it."""
    memory = {"Depth": e.own_words, "Width": e.word_bits}
    found = np.where(
        in_block_ram(e.own_words), _bank(e.own_words, e, shared, family),
        _module("fgnas_distributed_ram", memory, shared, family),
    )  # fmt: skip
    return found + _flip_flops(own_registers(e))


def _rows(words: Ints, width: Ints, shared: Characterisation, family: str) -> NDArray[np.float64]:
    """[2, n] LUTs and FFs of a memory of partial sums."""
    memory = {"Depth": words, "Width": width}
    return np.where(
        in_block_ram(words), _module("fgnas_block_ram", memory, shared, family),
        _module("fgnas_distributed_ram", memory, shared, family),
    )  # fmt: skip


def _stored_indices(e: EngineColumns, shared: Characterisation, family: str) -> NDArray[np.float64] | int:
    """[2, n] LUTs and FFs of the memory of nearest points' indices."""
    if not e.finds.any():
        return 0
    memory = {"Depth": np.maximum(e.indices, 2), "Width": e.index_bits}
    return e.finds * _module("fgnas_block_ram", memory, shared, family)


def _product(e: EngineColumns, shared: Characterisation, family: str) -> NDArray[np.float64]:
    """[2, n] LUTs and FFs of a product in a DSP slice. Those of the pipeline have NARROW_BITS at most; what stands
    beside the slice are registers of the product, if any, so that wider ones have more in proportion."""
    left, right = np.minimum(e.bits, NARROW_BITS), np.full_like(e.bits, NARROW_BITS)
    narrow = _module("fgnas_multiplier_dsp", {"LeftBits": left, "RightBits": right}, shared, family)
    return narrow * (e.bits + e.value_bits) / (left + right)


def _divider(e: EngineColumns, family: str) -> NDArray[np.float64]:
    """[2, n] LUTs and FFs of the divider of a lane."""
    parameters = {
        "NumeratorBits": e.sum_bits + e.most_left + 1, "DenominatorBits": np.maximum(e.denominator_bits, 1),
        "QuotientBits": e.bits + wire.LOGIT_EXTRA_BITS,
    }  # fmt: skip
    return _module("fgnas_divider", parameters, characterisation(family), family)


def _module(name: str, parameters: dict[str, Ints], shared: Characterisation, family: str) -> NDArray[np.float64]:
    return sizes_of(
        pipeline_terms(name, parameters, family), shared.weights[name], len(next(iter(parameters.values())))
    )


def sizes_of(found: Terms, weights: Coefficients, count: int) -> NDArray[np.float64]:
    """[2, n] LUTs and FFs of n modules with these terms, in ten-thousandths."""
    return np.maximum(weighted_sum(found, weights, np.empty((len(found), count))), 0.0)
