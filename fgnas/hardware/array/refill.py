"""The streams of an array of which one field changes from call to call, as `fgnas.hardware.pipeline.refill` has them.

If every feature is sent, and every row has as many neighbours as before, the rows keep their slot rows: only values and
the words of the sources are new.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fgnas.errors import UserError
from fgnas.fixedpoint import Codes
from fgnas.hardware.array.dealing import Deal, Ints
from fgnas.hardware.array.encoded import EncodedArray
from fgnas.hardware.array.entries import place_entries, repeats
from fgnas.hardware.array.programme import (
    Region,
    beats_per_slot_row,
    entries_per_beat,
    slot_rows_per_beat,
)
from fgnas.hardware.pipeline.refill import Refill
from fgnas.hardware.wire import Beats


@dataclass(frozen=True, eq=False)
class StreamRefill:
    """A region, and what is written into its first stream.

    Attributes:
        entry: [places] the value that each place holds; a maximum has some of them twice.
        word: [N] of a source, where the values are sources: the word of the table that an entry names.
    """

    refill: Refill
    entry: Ints
    word: Ints | None = None

    def fill(self, values: Codes) -> Beats:
        """The region with the values [n] of its entries, row by row."""
        found = values if self.word is None else self.word[values]
        return self.refill.fill(found[self.entry])


def feature_refill(encoded: EncodedArray) -> StreamRefill:
    """The feature region; it is filled with the codes of the non-zeros."""
    _check_whole(encoded)
    indptr = encoded.graph.features.indptr.astype(np.int64)
    return StreamRefill(*_places(encoded, Region.FEATURES, "value", encoded.dealt.first, indptr, False))


def edge_refill(encoded: EncodedArray) -> StreamRefill:
    """The graph region; it is filled with the sources of the first layer, and keeps the graphs of the others."""
    _check_whole(encoded)
    plan = encoded.accelerator.plans[0]
    if encoded.accelerator.engine.shared > 1:
        raise UserError("other sources need other slot rows where units share tables: take an array that shares none")
    assert plan.averaged == 1, "an edge is an entry"
    found = _places(encoded, Region.EDGES, "index", encoded.dealt.layers[0], encoded.graph.indptr, repeats(plan))
    return StreamRefill(*found, encoded.dealt.combined(0).position * plan.pitch)


def _check_whole(encoded: EncodedArray) -> None:
    """Raise UserError where a region has several streams for the first layer."""
    first = encoded.accelerator.plans[0]
    if first.slices > 1 or first.blocks > 1:
        raise UserError("streams are refilled where W and H come whole, not in slices or blocks: take larger tables")


def _places(
    encoded: EncodedArray, region: Region, field: str, deal: Deal, indptr: Ints, repeat: bool
) -> tuple[Refill, Ints]:
    """The first stream of a region with the places of a field, and the entry that each place holds."""
    number = next(place for place, one in enumerate(encoded.programme) if one.region == region and one.count)
    descriptor, engine = encoded.programme[number], encoded.accelerator.engine
    mode = engine.modes[descriptor.mode]
    count = int(indptr[-1])
    numbers = (np.arange(1, count + 1), np.zeros(count, np.int64))  # 0 where a taker has no entry
    held, _, _ = place_entries(encoded.schedules[number], deal, mode.k, indptr, numbers, repeat)
    slot, taker = np.nonzero(held)
    room = entries_per_beat(engine.beat_bits, engine.bits)
    parts = beats_per_slot_row(mode.takers, engine.beat_bits, engine.bits)
    together = slot_rows_per_beat(mode.takers, engine.beat_bits, engine.bits)
    if parts > 1:
        beat, lane = slot * parts + taker // room, taker % room
    else:
        beat, lane = slot // together, slot % together * mode.takers + taker
    start, width = engine.entry.place(field)
    bits = (descriptor.offset + beat) * engine.beat_bits + lane * engine.entry.bits + start
    return Refill(encoded.regions[region.name.lower()], bits, width), held[slot, taker] - 1
