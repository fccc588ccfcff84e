"""The division of networks on arrays that do not hold them whole: passes and slices of the first layer, blocks of H.

A network that some engine holds whole stays whole. Any other is divided in the way that takes the fewest cycles, of
equals in that with the fewest passes, and rather in slices than in blocks. For each number of passes that is looked at,
W and H come whole if they fit so, else in the fewest slices and in the fewest blocks that fit: each more costs cycles.
The choice depends on the network, its engine and the graph alone, so that a price and a project agree on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fgnas.hardware.array.dealing import Ints
from fgnas.hardware.array.engine import LANES, MOST_PROGRAMME
from fgnas.hardware.array.lowering import MOST_ROW_WORDS, row_words
from fgnas.hardware.array.pricing import ArrayPricer, Candidates
from fgnas.hardware.numbers import ceil_div

MOST_PARTS = MOST_PROGRAMME // 2
"""Slices or blocks that a programme has descriptors for: two each."""


class _Way(NamedTuple):
    """A way to divide networks, [n] each: their places, passes, slices and blocks."""

    place: Ints
    passes: Ints
    slices: Ints
    blocks: Ints


def divided(pricer: ArrayPricer, candidates: Candidates) -> Candidates:
    """The same n networks, those that no engine holds whole in passes, slices or blocks, where some engine holds them
    so; others stay whole."""
    whole = pricer.memories(candidates).held
    if whole.all():
        return candidates
    places = np.flatnonzero(~whole)
    alike = _alike(candidates.part(places))
    _, first, case = np.unique(alike, axis=1, return_index=True, return_inverse=True)
    found = _fastest(pricer, candidates.part(places[first]))
    parts = [np.ones_like(candidates.units) for _ in found]
    for one, values in zip(parts, found, strict=True):
        one[places] = values[case.ravel()]
    passes, slices, blocks = parts
    return _arranged(candidates, passes, slices, blocks)


def _arranged(candidates: Candidates, passes: Ints, slices: Ints, blocks: Ints) -> Candidates:
    given = [one if np.any(one > 1) else None for one in (slices, blocks)]
    return replace(candidates, passes=passes, slices=given[0], blocks=given[1])


def _alike(candidates: Candidates) -> NDArray[np.int64]:
    """[facts, n] what the division of a network depends on."""
    one = candidates
    layers = (one.features, one.columns, one.heads, one.dots, one.pairs, one.maxima)
    facts = [one.units, one.bits, one.results, one.averaged, one.shared, *(fact for facts in layers for fact in facts)]
    return np.stack([np.zeros_like(one.units) + fact for fact in facts])


def _fastest(pricer: ArrayPricer, candidates: Candidates) -> tuple[Ints, Ints, Ints]:
    """[n] passes, slices and blocks of networks that no engine holds whole; all 1 where none holds them divided."""
    count = len(candidates.units)
    found = [np.ones(count, np.int64) for _ in range(3)]
    ways = list(_ways(pricer, candidates))
    if not ways:
        return found[0], found[1], found[2]
    way = _Way(*(np.concatenate(one) for one in zip(*ways, strict=True)))
    chosen = _arranged(candidates.part(way.place), way.passes, way.slices, way.blocks)
    order = np.lexsort((np.arange(len(way.place)), pricer.price(chosen).cycles, way.place))
    places, first = np.unique(way.place[order], return_index=True)
    for one, values in zip(found, way[1:], strict=True):
        one[places] = values[order][first]
    return found[0], found[1], found[2]


def _ways(pricer: ArrayPricer, candidates: Candidates) -> Iterator[_Way]:
    """The ways that are compared, of equals the preferred first; each fits."""
    for passes in range(1, MOST_ROW_WORDS + 1):
        here = np.flatnonzero(_passable(candidates, passes))
        if not len(here):
            continue
        own = candidates.part(here)
        own = replace(own, passes=np.full(len(here), passes))
        one = np.ones(len(here), np.int64)
        memories = pricer.memories(own)
        if (held := memories.held).any():
            yield _Way(here[held], passes * one[held], one[held], one[held])
        rest = np.flatnonzero(~held & memories.divisible)
        for able, slice_step, block_step in ((_sliceable, 1, 0), (_blockable, 0, 1)):
            places = rest[able(own.part(rest))]
            for way in _fewest(pricer, own, places, slice_step, block_step):
                yield way._replace(place=here[way.place])


def _fewest(
    pricer: ArrayPricer, candidates: Candidates, places: Ints, slice_step: int, block_step: int
) -> Iterator[_Way]:
    """The networks at these places, each in the fewest slices, or blocks, that fit."""
    for further in range(1, min(MOST_PARTS, pricer.data.width_in if slice_step else MOST_PARTS)):
        if not len(places):
            return
        own = candidates.part(places)
        slices, blocks = (np.full(len(places), 1 + step * further) for step in (slice_step, block_step))
        held = pricer.memories(_arranged(own, own.passes, slices, blocks)).held
        if held.any():
            yield _Way(places[held], own.passes[held], slices[held], blocks[held])
        places = places[~held]


def _passable(candidates: Candidates, passes: int) -> NDArray[np.bool_]:
    """[n] whether the first layer can have so many passes: whole words, and whole heads with scores."""
    if len(candidates.features) == 1:
        return np.full(len(candidates.units), passes == 1)
    features, n = candidates.features[0], candidates.columns[0]
    heads = candidates.heads[0] if candidates.heads else np.zeros_like(features)
    d = features // np.maximum(heads, 1)
    whole = np.where(heads > 0, ceil_div(d, LANES), 1)
    held = ceil_div(row_words(features, heads, d), n)
    return np.asarray(held % (passes * whole) == 0)


def _sliceable(candidates: Candidates) -> NDArray[np.bool_]:
    """[n] whether W can come in slices: heads that are averaged are not combined so."""
    several = np.zeros_like(candidates.units) + candidates.averaged > 1
    return several == 0 if len(candidates.features) == 1 else np.ones(len(candidates.units), bool)


def _blockable(candidates: Candidates) -> NDArray[np.bool_]:
    """[n] whether H can come in blocks, as `has_blocks` says of a network."""
    scored = sum((one > 0).astype(np.int64) for one in candidates.heads)
    return (np.zeros_like(candidates.units) + candidates.averaged == 1) & (scored == 0)
