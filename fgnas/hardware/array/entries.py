"""Entries of sparse streams: the word that each taker of a slot row reads, its factor, and whether its row ends."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from fgnas.errors import UserError
from fgnas.fixedpoint import Codes
from fgnas.hardware import wire
from fgnas.hardware.array.dealing import Deal, Ints
from fgnas.hardware.array.engine import Engine, Mode
from fgnas.hardware.array.layers import ArrayLayer
from fgnas.hardware.array.lowering import (
    LayerPlan,
)
from fgnas.hardware.array.packing import Schedule, pack
from fgnas.hardware.array.programme import (
    NARROW_BITS,
)
from fgnas.hardware.array.sharing import copies_of_takers, pack_shared
from fgnas.hardware.integer.graph import AnyGraph, IntegerGraph

LARGEST_VALUE = (1 << (NARROW_BITS - 1)) - 1
"""The largest value that every entry can have."""
REPEATED = 2
"""The value of an entry of an attention that a row has already: it is in the row's maximum, not in its sums."""
NOTHING = 0
"""The value of an entry that adds nothing; an attention still reads its score."""


def packed(engine: Engine, indptr: Ints, index: Ints, deal: Deal, mode: Mode, ordered: int = 0) -> Schedule:
    """Slot rows of rows of entries that name the words `index`, in which no two takers read one bank of a copy."""
    if engine.shared == 1:
        return pack(np.diff(indptr), deal, mode.k, ordered)
    return pack_shared(indptr, index, deal, mode.k, copies_of_takers(engine, mode), engine.copy_banks, ordered)


def part_of(combined: Deal, rows: int, block: int) -> tuple[Ints, Deal]:
    """The nodes whose rows are in a block of so many rows of each group, and how they are dealt."""
    nodes = np.flatnonzero(combined.ordinal // rows == block)
    group = combined.group[nodes]
    counts = np.bincount(group, minlength=combined.groups)
    return nodes, Deal(group, combined.ordinal[nodes] - block * rows, counts)


def with_least(rows: Ints, degrees: Ints) -> tuple[Ints, Ints]:
    """The rows [n] of a block's entries, in order, and their places among these; and an entry more, with the place -1,
    for each row that has entries in other blocks alone.

    It names a row of H that is no larger than any, with the largest coefficient: a maximum does not notice it.
    """
    absent = np.flatnonzero((degrees > 0) & (np.bincount(rows, minlength=len(degrees)) == 0))
    every = np.concatenate([rows, absent])
    entry = np.concatenate([np.arange(len(rows)), np.full(len(absent), -1)])
    order = np.argsort(every, kind="stable")
    return every[order], entry[order]


def largest_coefficient(layer: ArrayLayer) -> int:
    """The largest that an entry of a maximum may have."""
    return 1 << wire.COEFFICIENT_FRACTION_BITS if layer.gcn else 1


def sliced(features: sp.csr_matrix, width: int, piece: int) -> tuple[Ints, Codes, Codes]:
    """Rows of X in the columns of one slice of so many: where each begins, columns counted from the slice's first, and
    values."""
    columns, rows = features.indices.astype(np.int64), np.diff(features.indptr)
    here = columns // width == piece
    counts = np.bincount(np.repeat(np.arange(len(rows)), rows)[here], minlength=len(rows))
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return indptr, columns[here] - piece * width, features.data[here].astype(np.int64)


def place_entries(
    schedule: Schedule, deal: Deal, k: int, indptr: Ints, entries: tuple[Codes, Codes], repeat: bool,
    again: int | None = None,
) -> tuple[Ints, Ints, Ints]:
    """[slot rows, m k] index, value and last of every entry.

    A taker without an entry gets the value 0, which adds nothing. With `repeat`, for a maximum, it gets the entry
    that its row begins with, again; with `again`, the value of such an entry. Then a row of no node, which only makes
    the groups come out even, gets an entry of the value 1.
    """
    slots, groups = schedule.ordinal.shape
    if schedule.entry is not None:
        index, value = (np.where(schedule.entry >= 0, np.append(part, 0)[schedule.entry], 0) for part in entries)
        return index, value, np.repeat(schedule.last, k, axis=1)
    rows = deal.rows()
    row = np.where(schedule.ordinal >= 0, rows[np.arange(groups), np.maximum(schedule.ordinal, 0)], -1)
    first, end = indptr[row], indptr[row + 1]
    place = first[:, :, None] + schedule.chunk[:, :, None] * k + np.arange(k)
    present = (row >= 0)[:, :, None] & (place < end[:, :, None])
    safe = np.where(present, place, 0)
    index, value = (np.where(present, part[safe] if len(part) else 0, 0) for part in entries)
    if repeat:
        index, value = _repeated(schedule, row, first, index, value, entries, again)
    last = np.broadcast_to(schedule.last[:, :, None], place.shape)
    return tuple(one.reshape(slots, groups * k) for one in (index, value, last))  # type: ignore[return-value]


def _repeated(
    schedule: Schedule, row: Ints, first: Ints, index: Codes, value: Codes, entries: tuple[Codes, Codes],
    again: int | None,
) -> tuple[Codes, Codes]:
    """Entries for a maximum: an idle slot before a row's end repeats the first entry of the row that continues."""
    slots, groups = row.shape
    # The next slot in which a group works: the idle slots before it repeat its row's first entry.
    slot = np.where(row >= 0, np.arange(slots)[:, None], slots)
    following = np.minimum.accumulate(slot[::-1], axis=0)[::-1]
    idle = (row < 0) & (following < slots)
    at = first[np.minimum(following, slots - 1), np.arange(groups)]
    for part, whole in ((index, entries[0]), (value, entries[1])):
        part[:, :, 0] = np.where(idle, whole[np.where(idle, at, 0)], part[:, :, 0])
    if again is not None:
        none = schedule.ordinal < 0
        value[:, :, 0] = np.where(idle & none, again, np.where(row < 0, 1, value[:, :, 0]))
    return index, value


def repeats(plan: LayerPlan) -> bool:
    """Whether a taker of an aggregation that idles gets an entry again: a maximum is looked for."""
    return plan.attends or bool(plan.layer.maximum)


def self_first(graph: IntegerGraph, layer: int) -> Ints:
    """[edges] `graph.sources` with every node's edge to itself in front of its row, where the unit reads its score.

    Raises UserError where a node has none.
    """
    target = np.repeat(np.arange(graph.nodes), np.diff(graph.indptr))
    found = graph.sources[np.lexsort((graph.sources != target, target))]
    if np.any(np.diff(graph.indptr) == 0) or np.any(found[graph.indptr[:-1]] != np.arange(graph.nodes)):
        raise UserError(f"layer {layer}: attention needs an edge of every node to itself in its graph")
    return found


def readout_fraction(rows: AnyGraph) -> int:
    """The most fraction bits with which the coefficient of a readout's smallest graph is a value of any entry."""
    return (int(rows.degrees.min()) * LARGEST_VALUE).bit_length() - 1


def mean_fraction(plan: LayerPlan, engine: Engine, rows: AnyGraph) -> int:
    """The fraction bits of the coefficients of a readout's mean: that of its smallest graph fills 9 bits.

    Raises UserError where the engine does not offer the shift, or the largest graph would have the coefficient 0.
    """
    smallest, largest, layer = int(rows.degrees.min()), int(rows.degrees.max()), plan.layer.index
    most = readout_fraction(rows)
    if np.rint(2.0**most / largest) == 0:
        raise UserError(f"layer {layer}: graphs of {smallest} and of {largest} nodes have no mean in one readout")
    shift = plan.aggregate_shift + most - wire.COEFFICIENT_FRACTION_BITS
    if shift not in engine.shifts:
        raise UserError(f"layer {layer}: the mean of a readout whose smallest graph has {smallest} nodes needs the "
                        f"shift {shift}; the engine offers {engine.shifts}")  # fmt: skip
    return most


def coefficients(
    layer: ArrayLayer, data: AnyGraph, graph: IntegerGraph, fraction: int = wire.COEFFICIENT_FRACTION_BITS
) -> Codes:
    """[edges] integer coefficients of an aggregation, in the order of `graph.sources`.

    A mean divides them by the number of messages before they are rounded to so many fraction bits; with scores they say
    how often a row's sum of coefficients counts one: see `Softmax.counted`.
    """
    g = layer
    if g.attends and g.mean:
        return 2 * np.repeat(np.diff(graph.indptr), np.diff(graph.indptr)) - 1
    if not g.mean:
        return graph.gcn if g.gcn else np.ones(len(graph.sources), np.int64)
    degrees = data.degrees.astype(np.float64)
    weight = 1.0 / np.sqrt(degrees[data.targets] * degrees[data.sources]) if g.gcn else np.ones(len(graph.sources))
    return np.rint(2.0**fraction * weight / degrees[data.targets]).astype(np.int64)
