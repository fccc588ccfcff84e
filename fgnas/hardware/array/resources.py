"""Resources of an engine: DSP slices of its multipliers, Yosys's rule for its memories, and the model of LUT and FF.

The rule is that of `fgnas.hardware.memories`, which is exact for the pipeline's memories; the model is that of `area`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.hardware import wire
from fgnas.hardware.array.area import engine_columns, lut_ff
from fgnas.hardware.array.dealing import Ints
from fgnas.hardware.array.engine import Engine, Softmax, copy_banks, in_block_ram
from fgnas.hardware.memories import BLOCK, build
from fgnas.hardware.pipeline.memories import reader_buffer
from fgnas.hardware.pipeline.tables import table_of
from fgnas.hardware.specification import DEFAULT_FAMILY


def engine_block_rams(engine: Engine, family: str = DEFAULT_FAMILY) -> float:
    """Block RAMs of 36 Kb of one engine, halves counted."""
    found = block_rams(
        engine.units, engine.word_bits, engine.table_words, engine.own_words, engine.beat_bits, family,
        exponential_halves(engine.softmax, family), engine.partial_words, engine.partial_bits, engine.shared,
    )  # fmt: skip
    return float(found[0])


def exponential_halves(softmax: Softmax | None, family: str = DEFAULT_FAMILY) -> int:
    """RAMB18s of a unit's table of exponentials, a RAMB36 counting as two; 0 where it is built from LUTs."""
    if softmax is None:
        return 0
    return table_of("exponential", softmax.coefficients(), wire.COEFFICIENT_BITS, 1).halves(family)


def written_resources(summary: dict[str, Any], family: str = DEFAULT_FAMILY) -> dict[str, float]:
    """LUTs, FFs, DSPs and block RAMs by name of the array that `ArrayAccelerator.summary` described.

    Raises UserError for a summary that another version of this package wrote.
    """
    return engine_resources(Engine.of(summary.get("engine")), family)


def engine_resources(engine: Engine, family: str = DEFAULT_FAMILY) -> dict[str, float]:
    """LUTs, FFs, DSPs and block RAMs of one engine by name; LUTs and FFs are estimates."""
    lut, ff = lut_ff(engine_columns([engine]), family)
    exact = {"dsp": float(engine.dsp), "bram36": engine_block_rams(engine, family)}
    return {"lut": float(lut[0]), "ff": float(ff[0]), **exact}


def block_rams(
    units: Any, word_bits: Any, table_words: Any, own_words: Any, beat_bits: int, family: str = DEFAULT_FAMILY,
    exponentials: Any = 0, partial_words: Any = 0, partial_bits: Any = 1, shared: Any = 1,
) -> NDArray[np.float64]:  # fmt: skip
    """[n] block RAMs of 36 Kb of engines, halves counted: a table for each `shared` units, own rows and partial sums of
    each unit, and the read buffer; `exponentials` are a unit's `exponential_halves`.

    The depths are those that are built.
    """
    banks = copy_banks(beat_bits, shared)
    tables = units // shared * banks * _halves(family, np.asarray(table_words) // banks, word_bits)
    rows = _row_halves(family, own_words, word_bits) + _row_halves(family, partial_words, partial_bits)
    return (tables + units * (rows + exponentials) + _halves(family, reader_buffer().of(0).depth, beat_bits)) / 2


def _row_halves(family: str, words: Any, width: Any) -> Ints:
    """RAMB18s of a memory of rows; none where few words are built from LUTs."""
    return np.where(in_block_ram(np.asarray(words)), _halves(family, np.maximum(words, 1), width), 0)


def _halves(family: str, depth: Any, width: Any) -> Ints:
    return build(BLOCK[family, False], depth, width).units
