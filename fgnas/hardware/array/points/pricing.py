"""Exact cycles and the engine of a network of points without encoding it: equal phases are counted once."""

from __future__ import annotations

import functools

from fgnas.hardware.array.cycles import LAST_CYCLES, descriptor_cycles, fetch_cycles
from fgnas.hardware.array.engine import Engine, Mode, Neighbours
from fgnas.hardware.array.points.encoded import engine_of, fitting, ordered
from fgnas.hardware.array.points.fused import Fused
from fgnas.hardware.array.points.planned import Planned
from fgnas.hardware.array.points.streams import Ends
from fgnas.hardware.array.programme import PointDescriptor, Region

OF_CYCLES = ("operation", "region", "tiles", "count", "entries", "target", "target_tiles", "target_columns",
             "bias_base", "sample", "place", "residual", "reduce")  # fmt: skip
"""The fields of a descriptor that its cycles may depend on; addresses, shifts and widths of results are none."""


def priced(steps: Fused, points: int, units: int, beat_bits: int) -> tuple[int, Engine]:
    """Cycles of one cloud on the smallest array of so many units that runs a network, loads included, and that array.

    They are those of `cycles.total_cycles` for what `encoded.lowered` makes. Raises UserError where it does not fit.
    """
    plan = fitting(steps, points, units)
    engine, descriptors = engine_of(plan, beat_bits), ordered(plan)
    finder = engine.neighbours
    assert finder is not None
    sizes = (engine.units, engine.bits, engine.beat_bits, finder.row_words)
    found = fetch_cycles(len(descriptors), beat_bits) + LAST_CYCLES
    return found + sum(_taken(one, sizes) for one in descriptors), engine


def _taken(one: Planned, sizes: tuple[int, int, int, int]) -> int:
    fields = {name: one.fields[name] for name in OF_CYCLES if name in one.fields}
    if one.image is not None:
        fields["count"] = one.image.words
    elif fields.get("region") == Region.FEATURES:
        fields["entries"] = 1
    return _cycles(tuple(fields.items()), one.mode, one.ends, sizes)


@functools.lru_cache(1 << 15)
def _cycles(
    fields: tuple[tuple[str, int], ...], mode: Mode, ends: Ends | None, sizes: tuple[int, int, int, int]
) -> int:  # fmt: skip
    """Cycles of a descriptor with these fields on an engine of such {units, bits, bits of a beat, words of the rows
    between which distances are measured}."""
    units, bits, beat_bits, row_words = sizes
    engine = Engine(
        units, bits, (mode,), tiles=1, table_words=1 << 10, own_words=2, bias_words=1, activation_words=0, shifts=(0,),
        maximum=True, sum_bits=bits, beat_bits=beat_bits, residual=True, neighbours=Neighbours(1, 2, row_words, True),
    )  # fmt: skip
    return descriptor_cycles(PointDescriptor(mode=0, **dict(fields)), engine, None if ends is None else ends.last)
