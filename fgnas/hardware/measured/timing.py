"""Times of pieces of work as ratios to a reference's: each is timed between two blocks of the reference, so that a
machine whose speed drifts gives the same ratios."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

Work = Callable[[], Any]


@dataclass(frozen=True)
class Block:
    """How a piece of work is timed without a pause.

    Attributes:
        warm: runs before the first that counts.
        runs: that count, at least.
        milliseconds: that they take together, at least.
    """

    warm: int = 3
    runs: int = 20
    milliseconds: float = 20.0


class Ratio(NamedTuple):
    """One timed block: the median of its runs over that of the reference around it, and itself in nanoseconds."""

    ratio: float
    nanoseconds: float
    reference: float


def median_ns(work: Work, block: Block) -> float:
    """The median time of a run, in nanoseconds."""
    for _ in range(block.warm):
        work()
    found, begun = list[int](), time.perf_counter_ns()
    while len(found) < block.runs or time.perf_counter_ns() - begun < block.milliseconds * 1e6:
        start = time.perf_counter_ns()
        work()
        found.append(time.perf_counter_ns() - start)
    return statistics.median(found)


def ratios(works: Iterable[Callable[[], Work]], reference: Work, block: Block) -> Iterator[Ratio]:
    """Each piece of work in turn, between two blocks of the reference; a piece is made when its turn comes."""
    before = median_ns(reference, block)
    for make in works:
        spent = median_ns(make(), block)
        after = median_ns(reference, block)
        around = (before + after) / 2
        yield Ratio(spent / around, spent, around)
        before = after


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
