"""Memory that a network needs for one cloud: measured in a forked process, and two estimates in closed form.

All are bytes above those of the weights and of the programme. `live` counts the tensors that are alive at once in our
networks; `printed` is the paper's formula (HGNAS, equations 6 to 10), with the widths of messages that its equations 7
and 8 leave out.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import statistics
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fgnas.errors import UserError
from fgnas.networks.points.operations import (
    PARTS,
    Aggregate,
    Combine,
    Connect,
    EdgeConv,
    Join,
    Operation,
    PointNetwork,
    Sample,
)
from fgnas.networks.points.work import Cloud

FLOAT, INDEX = 4, 8
"""Bytes of a feature, and of a neighbour's place."""
MAPPED_FROM = "MALLOC_MMAP_THRESHOLD_"
"""Environment variable of glibc: from this size in bytes on, a block returns to the system when it is freed."""
SMALLEST_MAPPED = 65_536
MAPPED = 2
"""The bit of the word in front of a block of glibc's that says that the block is not from the heap."""
KIB, PAGE = 1024, 4096


@dataclass
class _Alive:
    """Bytes of the tensors that a network holds between two operations; its input is not among them."""

    cloud: Cloud
    x: int = 0
    before: int = 0
    sampled: int = 0
    since: int = 0
    graph: int = 0
    joined: int = 0
    peak: int = 0

    @property
    def points(self) -> int:
        return self.cloud.points

    @property
    def edges(self) -> int:
        return self.cloud.points * self.cloud.neighbours

    def during(self, more: int) -> None:
        """A moment at which so many bytes are alive beside what is held."""
        # The features that a sample will look at are x first, then those before, and then others beside both.
        sampled = self.sampled if self.since > 1 else 0
        self.peak = max(self.peak, self.x + self.before + sampled + self.graph + self.joined + more)

    def change(self, made: int) -> None:
        """Other features."""
        self.before, self.x = self.x, made
        self.since += 1


def live(network: PointNetwork, cloud: Cloud) -> int:
    """Bytes of the tensors that our network makes and holds at once, at the worst moment. A graph is made where it is
    read first."""
    alive, width, sample = _Alive(cloud), cloud.width, None
    for one in network.operations:
        if isinstance(one, Sample):
            sample, alive.graph, alive.sampled, alive.since = (one.function, width), 0, alive.x, 0
            continue
        if sample is not None and isinstance(one, (Aggregate, EdgeConv)):
            alive.during(_sampling(*sample, cloud))
            sample, alive.sampled, alive.graph = None, 0, INDEX * alive.edges
        behind = sum(_joined(network, one)) if isinstance(one, Join) else one.width(width)
        _work(alive, one, width, behind)
        width = behind
    ended = _Alive(cloud, x=alive.x)
    ended.during(2 * FLOAT * cloud.points * network.tail.embedding)
    return max(alive.peak, ended.peak)


def _sampling(function: str, width: int, cloud: Cloud) -> int:
    """Bytes of the tensors of a sample at its worst moment: distances and keys of all pairs, and what `topk` gives."""
    points, edges = cloud.points, cloud.points * cloud.neighbours
    if function == "random":
        return 2 * INDEX * edges
    return points * points * (FLOAT + INDEX) + FLOAT * points + 2 * INDEX * edges


def _work(alive: _Alive, one: Operation, width: int, behind: int) -> None:
    """Count the tensors that are alive during an operation, and those that are kept after it."""
    made = FLOAT * alive.points * behind
    match one:
        case Aggregate():
            _messages(alive, one, width, made)
        case Combine():
            alive.during(2 * made)
        case Connect():
            alive.during(made)
        case EdgeConv(fused=True):
            alive.during(FLOAT * alive.edges * behind + made)
        case EdgeConv():
            alive.during(FLOAT * alive.edges * 2 * (width + behind))
        case Join():
            alive.during(made)
    alive.change(made)
    if isinstance(one, EdgeConv):
        alive.joined += made


def _messages(alive: _Alive, one: Aggregate, width: int, made: int) -> None:
    """The moments of an aggregate: rows of neighbours for a maximum, a minimum or distances; their differences and
    lengths for distances; what is reduced, and all of it side by side."""
    parts = PARTS[one.message]
    rows, edge_rows = FLOAT * alive.points * width, FLOAT * alive.edges * width
    largest = one.reducer in ("max", "min") and parts != ("target",)
    near = edge_rows if largest or "distance" in parts else 0
    repeated = rows if one.reducer == "sum" else 0
    reduced = rows if {"source", "relative"} & set(parts) else 0
    if reduced:
        alive.during(near + reduced * (2 if one.reducer == "mean" else 1))
    difference = rows if "relative" in parts else 0
    if "distance" in parts:
        alive.during(near + reduced + repeated + difference + edge_rows + FLOAT * alive.edges)
    beside = FLOAT * alive.points if "distance" in parts else 0
    alive.during(near + reduced + repeated + difference + beside + (made if len(parts) > 1 else 0))


def _joined(network: PointNetwork, last: Operation) -> Iterator[int]:
    """Widths of the EdgeConvs before a join."""
    for one in network.operations:
        if one is last:
            return
        if isinstance(one, EdgeConv):
            yield one.features


def printed(network: PointNetwork, cloud: Cloud) -> int:
    """Bytes by the paper's formula: everything that operations leave, or before it the messages of one of them."""
    points, edges = cloud.points, cloud.points * cloud.neighbours
    width, held, peak = cloud.width, FLOAT * cloud.points * cloud.width, 0
    for one in network.operations:
        behind = one.width(width)
        match one:
            case Sample():
                held += 2 * INDEX * edges
            case Aggregate():
                peak = max(peak, held + FLOAT * edges * (behind + width))
                held += FLOAT * points * behind
            case Combine():
                held += FLOAT * points * behind
        width = behind
    return max(peak, held)


ESTIMATES: dict[str, Callable[[PointNetwork, Cloud], int]] = {"live": live, "printed": printed}


@contextmanager
def fresh() -> Iterator[Callable[..., Any]]:
    """A call in a fresh process, in which freed memory goes back to the system at once: a heap that has been used
    keeps what it freed, and a peak would depend on what ran before."""
    before = os.environ.get(MAPPED_FROM)
    os.environ[MAPPED_FROM] = str(SMALLEST_MAPPED)
    try:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            yield lambda call, *given: pool.submit(call, *given).result()
    finally:
        if before is None:
            del os.environ[MAPPED_FROM]
        else:
            os.environ[MAPPED_FROM] = before


def forked(work: Callable[[], object], times: int = 3) -> int:
    """Bytes that a run of `work` adds to a copy of this process, a page at least: the median over so many of them.

    Raises UserError where the system does not tell.
    """
    return round(statistics.median(_once(work) for _ in range(times)))


def _once(work: Callable[[], object]) -> int:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.write(writer, str(_added(work)).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as told:
        text = told.read()
    _, status = os.waitpid(child, 0)
    if status or not text:
        raise UserError("a run's memory cannot be measured: this needs Linux, with /proc/self/clear_refs")
    return int(text)


def _added(work: Callable[[], object]) -> int:
    """Bytes of the largest resident size during a run, less that before it.

    A first run brings the programme's own pages in, which a fork leaves behind.
    """
    work()
    _fill_heap()
    Path("/proc/self/clear_refs").write_text("5")
    before = _resident("VmRSS")
    work()
    return max(PAGE, _resident("VmHWM") - before)


def _fill_heap() -> None:
    """Take all holes of the heap in which a tensor could lie, without touching them.

    glibc looks for a hole first, however large the block. What lies in one stays resident when it is free, so that a
    peak would count tensors that are not alive at once.
    """
    library = ctypes.CDLL(None)
    library.malloc_trim(0)
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    word = ctypes.sizeof(ctypes.c_size_t)
    while not ctypes.c_size_t.from_address(library.malloc(SMALLEST_MAPPED) - word).value & MAPPED:
        pass


def _resident(name: str) -> int:
    """A size of this process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return KIB * next(int(line.split()[1]) for line in lines if line.startswith(name))
