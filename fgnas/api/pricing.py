"""Prices of the designs in a file, without what training, lowering and writing need."""

from __future__ import annotations

import functools
import gc
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fgnas.api.data import Data, sized_of
from fgnas.designs import DesignTable, read_tables
from fgnas.errors import UserError
from fgnas.hardware.kind import TablePricer
from fgnas.hardware.kinds import find_kind, kind_of
from fgnas.hardware.specification import Specification
from fgnas.tasks.degrees import Degrees


def specification(fpga: str | None = None, **limits: Any) -> Specification:
    """A specification from limits by name (None: not given). A device, by name or file, adds its own."""
    from fgnas.hardware.devices import find_device, limits_of

    given = limits if fpga is None else limits | limits_of(find_device(fpga), limits)
    return Specification(**{name: value for name, value in given.items() if value is not None})


BLOCK = 65_536
"""Most designs of a file that are priced at once: designs that share numbers are worked out once in a block."""
WORTH_WORKERS = 40_000_000
"""Bytes of a file from which on workers save more time than their start takes."""


def price_lines(
    path: str | os.PathLike[str], data: Callable[[], Data | Degrees], *, workers: int = 1, **limits: Any
) -> Iterator[list[str]]:
    """The prices of the designs in a .jsonl file as lines of JSON, in blocks: those of `prices`, many times as fast.

    The whole file is checked first. `data` is called when it has proven right. `workers`: processes, for a long file.
    """
    given = specification(**limits)
    with _runner(Path(path), workers) as (run, processes):
        with _uncollected():
            tables = read_tables(Path(path), run)
        if not tables:
            return
        found = sized_of(data())
        pricers = {name: find_kind(name).pricer(found, given) for name in {kind_of(table).name for table in tables}}
        size = min(BLOCK, -(-sum(len(table.places) for table in tables) // processes))
        priced = run(functools.partial(_priced_lines, pricers=pricers, given=given), _parts(tables, size))
        if len(tables) == 1:
            yield from priced
            return
        # Designs of different targets or numbers of layers are priced apart, and printed in the order of the file.
        lines = [""] * sum(len(table.places) for table in tables)
        for part, printed in zip(_parts(tables, size), priced, strict=True):
            for place, line in zip(part.places.tolist(), printed, strict=True):
                lines[place] = line
        yield lines


def _parts(tables: Sequence[DesignTable], size: int) -> Iterator[DesignTable]:
    return itertools.chain.from_iterable(table.split(size) for table in tables)


def _priced_lines(table: DesignTable, pricers: Mapping[str, TablePricer], given: Specification) -> list[str]:
    with _uncollected():
        return pricers[kind_of(table).name](table).lines(given)


@contextmanager
def _runner(path: Path, workers: int) -> Iterator[tuple[Callable[..., Iterable[Any]], int]]:
    """`map`, or the same in worker processes for a file that is worth their start; and the number of processes."""
    if workers == 1 or not path.is_file() or path.stat().st_size < WORTH_WORKERS:
        yield map, 1
        return
    try:
        # Started as the platform does by default: a fork has everything imported, and ends at once.
        with ProcessPoolExecutor(workers) as pool:
            yield pool.map, workers
    except BrokenExecutor:
        raise UserError(f"a worker that priced {path} died, most likely out of memory: give --workers 1") from None


@contextmanager
def _uncollected() -> Iterator[None]:
    """Rest the garbage collector: a hundred thousand small objects without cycles keep it busy for nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


