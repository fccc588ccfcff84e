"""Times of pieces of work as ratios to a reference's: each is timed between two blocks of the reference, so that a
machine whose speed drifts gives the same ratios.

Whatever else runs on a machine makes work slower for a while, never faster, and not a piece of work and its reference
alike. So the low end of a block counts. Where rounds lie minutes apart, one of them is hardly disturbed: then the least
ratio counts, to the least of many blocks of the reference. Rounds in a row are all disturbed or none: then it is the
median, of ratios to the blocks on both sides.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

Work = Callable[[], Any]

LOW = 0.2
"""The quantile of a block's runs that is its time."""
BESIDE, NEARBY = 2, 16
"""Blocks of the reference, the one after a piece of work and those before it, whose least a ratio is to: where rounds
follow each other, and where they lie far apart."""


@dataclass(frozen=True)
class Block:
    """How a piece of work is timed without a pause.

    Attributes:
        warm: runs before the first that counts.
        runs: that count, at least.
        milliseconds: that they take together, at least.
    """

    warm: int = 3
    runs: int = 5
    milliseconds: float = 20.0


class Ratio(NamedTuple):
    """One timed block: its time over the reference's nearby, both of them in nanoseconds, too."""

    ratio: float
    nanoseconds: float
    reference: float


def low_ns(work: Work, block: Block) -> float:
    """The time of a run that nothing disturbs, in nanoseconds: the low end of a block."""
    for _ in range(block.warm):
        work()
    found, begun = list[int](), time.perf_counter_ns()
    while len(found) < block.runs or time.perf_counter_ns() - begun < block.milliseconds * 1e6:
        start = time.perf_counter_ns()
        work()
        found.append(time.perf_counter_ns() - start)
    return float(np.quantile(found, LOW))


def nearby_of(rounds: int) -> int:
    """How many blocks of the reference a ratio is to, where so many rounds lie far apart: one round alone has no other
    that is disturbed less."""
    return NEARBY if rounds > 1 else BESIDE


def ratios(
    works: Iterable[Callable[[], Work]], reference: Work, block: Block, nearby: int = BESIDE
) -> Iterator[Ratio]:
    """Each piece of work in turn, between two blocks of the reference; a piece is made when its turn comes."""
    found = deque([low_ns(reference, block)], maxlen=nearby)
    for make in works:
        spent = low_ns(make(), block)
        found.append(low_ns(reference, block))
        least = min(found)
        yield Ratio(spent / least, spent, least)


def spans(works: Sequence[Work], reference: Work, block: Block, rounds: int, seed: int = 0) -> list[float]:
    """Nanoseconds of each piece of work: the median of its ratios over rounds in orders of their own, times the
    reference's median."""
    found: list[list[Ratio]] = [[] for _ in works]
    for turn in range(rounds):
        order = np.random.default_rng([seed, turn]).permutation(len(works)).tolist()
        for place, one in zip(order, ratios(map(_made, (works[place] for place in order)), reference, block),
                              strict=True):  # fmt: skip
            found[place].append(one)
    usual = statistics.median(one.reference for mine in found for one in mine)
    return [usual * statistics.median(one.ratio for one in mine) for mine in found]


def _made(work: Work) -> Callable[[], Work]:
    return lambda: work


@contextmanager
def quiet(threads: int) -> Iterator[None]:
    """So many threads of torch, no gradients, and no garbage collector while the context is open."""
    before, collects = torch.get_num_threads(), gc.isenabled()
    torch.set_num_threads(threads)
    gc.disable()
    try:
        with torch.inference_mode():
            yield
    finally:
        torch.set_num_threads(before)
        if collects:
            gc.enable()
