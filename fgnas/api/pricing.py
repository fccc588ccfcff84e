"""Prices of the designs in a file, without what training, lowering and writing need."""

from __future__ import annotations

import gc
import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fgnas.api.data import Data, data_of
from fgnas.designs import DesignTable, read_tables
from fgnas.hardware.pipeline.pricing import Pricer, Specification


def specification(fpga: str | None = None, **limits: Any) -> Specification:
    """A specification from limits by name (None: not given). A device, by name or file, adds its own."""
    from fgnas.hardware.devices import find_device, limits_of

    given = limits if fpga is None else limits | limits_of(find_device(fpga), limits)
    return Specification(**{name: value for name, value in given.items() if value is not None})


BLOCK = 65_536
"""Designs of a file that are priced at once: designs that share numbers are worked out once in a block."""


def price_lines(path: str | os.PathLike[str], data: Callable[[], Data], **limits: Any) -> Iterator[list[str]]:
    """The prices of the designs in a .jsonl file as lines of JSON, in blocks: those of `prices`, many times as fast.

    The whole file is checked first. `data` is called when it has proven right.
    """
    given = specification(**limits)
    with _uncollected():
        tables = read_tables(Path(path))
    if not tables:
        return
    pricer = Pricer(data_of(data()), given.family, given.beat_cycles)
    if len(tables) == 1:
        yield from _priced_lines(tables[0], pricer, given)
        return
    # Designs with different numbers of layers are priced apart, and printed in the order of the file.
    lines = [""] * sum(len(table.places) for table in tables)
    for table in tables:
        priced = itertools.chain.from_iterable(_priced_lines(table, pricer, given))
        for place, line in zip(table.places.tolist(), priced, strict=True):
            lines[place] = line
    yield lines


def _priced_lines(table: DesignTable, pricer: Pricer, given: Specification) -> Iterator[list[str]]:
    for first in range(0, len(table.places), BLOCK):
        end = first + BLOCK
        with _uncollected():
            lines = pricer.price(table.columns(first, end), table.dsp[first:end]).lines(given)
        yield lines


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


