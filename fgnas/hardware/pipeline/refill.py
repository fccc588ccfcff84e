"""Beats of which one field changes from call to call: what is left to a host where the structure of a graph is fixed.

A row that sends every feature has its columns and its counts in the same bits every time, and a row of a given number
of neighbours its ends: only values and sources are new.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fgnas.fixedpoint import Codes
from fgnas.hardware import wire
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.encoding import edge_beats, feature_beats, feature_lanes
from fgnas.hardware.wire import Beats

WORD = 64


class Refill:
    """A region of beats, and the places of one field in it, which `fill` sets."""

    def __init__(self, region: Beats, first_bits: NDArray[np.int64], width: int) -> None:
        """`region` [beats, bytes of a beat]; `first_bits` [n]: of each value, counted from the region's first bit."""
        self._beat_bytes = region.shape[1]
        self._word, shift = first_bits // WORD, (first_bits % WORD).astype(np.uint64)
        self._shift, self._mask = shift, np.uint64((1 << width) - 1)
        # Two shifts, because a shift by a whole word is undefined.
        self._rest = np.uint64(WORD - 1) - shift
        self._crossing = np.flatnonzero(first_bits % WORD + width > WORD)
        words = np.zeros(region.size // 8 + 1, np.uint64)  # the last word takes the empty end of a crossing value
        words[:-1] = np.ascontiguousarray(region).reshape(-1).view("<u8")
        self._template = words & ~self._with(np.zeros_like(words), np.full(len(first_bits), -1))

    def fill(self, values: Codes) -> Beats:
        """The region [beats, bytes of a beat] with values [n] in the field; of a value only the field's bits count."""
        return self._with(self._template.copy(), values)[:-1].view(np.uint8).reshape(-1, self._beat_bytes)

    def _with(self, words: NDArray[np.uint64], values: Codes) -> NDArray[np.uint64]:
        """Words with values in the field, where it is empty."""
        fields = values.astype(np.uint64) & self._mask
        np.bitwise_or.at(words, self._word, fields << self._shift)
        over = self._crossing
        np.bitwise_or.at(words, self._word[over] + 1, (fields[over] >> self._rest[over]) >> np.uint64(1))
        return words


def feature_refill(accelerator: Accelerator, graph: IntegerGraph) -> Refill:
    """The feature region of graphs with these places of non-zeros; it is filled with their codes, row by row."""
    beat, lane = feature_lanes(accelerator, graph.features.indptr.astype(np.int64))
    start, width = wire.FEATURE.place("value")
    bits = beat * wire.BEAT_BITS + wire.FEATURE.at + lane * wire.FEATURE.bits + start
    return Refill(feature_beats(accelerator, graph), bits, width)


def edge_refill(graph: IntegerGraph) -> Refill:
    """The graph region of graphs with these numbers of neighbours; it is filled with their sources, row by row."""
    place = np.arange(len(graph.sources))
    beat, lane = place // wire.EDGES_PER_BEAT, place % wire.EDGES_PER_BEAT
    start, width = wire.EDGE.place("source")
    return Refill(edge_beats(graph), beat * wire.BEAT_BITS + wire.EDGE.at + lane * wire.EDGE.bits + start, width)
