"""Resources of an engine: DSP slices of its multipliers, Yosys's rule for its memories, and the model of LUT and FF.

The rule is that of `fgnas.hardware.memories`, which is exact for the pipeline's memories; the model is that of `area`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.hardware import wire
from fgnas.hardware.array.area import EngineColumns, bank_memories, engine_columns, lut_ff
from fgnas.hardware.array.dealing import Ints
from fgnas.hardware.array.engine import BANK_WORDS, LANES, Engine, Softmax, in_block_ram
from fgnas.hardware.memories import BLOCK, build
from fgnas.hardware.pipeline.memories import reader_buffer
from fgnas.hardware.pipeline.tables import table_of
from fgnas.hardware.specification import DEFAULT_FAMILY


def engine_block_rams(engine: Engine, family: str = DEFAULT_FAMILY) -> float:
    """Block RAMs of 36 Kb of one engine, halves counted."""
    return float(block_rams(engine_columns([engine]), exponential_halves(engine.softmax, family), family)[0])


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


def resources_of(engines: Sequence[Engine], family: str = DEFAULT_FAMILY) -> dict[str, NDArray[np.float64]]:
    """`engine_resources` of engines without attention, [n] each."""
    columns = engine_columns(engines)
    lut, ff = lut_ff(columns, family)
    return {
        "lut": lut.astype(np.float64), "ff": ff.astype(np.float64),
        "dsp": np.array([one.dsp for one in engines], np.float64), "bram36": block_rams(columns, 0, family),
    }  # fmt: skip


def block_rams(
    engines: EngineColumns, exponentials: Any = 0, family: str = DEFAULT_FAMILY
) -> NDArray[np.float64]:
    """[n] block RAMs of 36 Kb of engines, halves counted: a table for the units that share it, own rows, partial sums
    and the indices of nearest points of each unit, and the read buffer; `exponentials` are a unit's
    `exponential_halves`.

    The depths are those that are built.
    """
    banks = engines.copy_banks
    tables = engines.units // engines.shared * banks * _bank_halves(family, engines.bank_words, engines.word_bits)
    own = in_block_ram(engines.own_words)
    rows = np.where(own, _bank_halves(family, engines.own_words, engines.word_bits), 0)
    rows += _row_halves(family, engines.partial_words, LANES * engines.sum_bits)
    indices = np.where(engines.indices, _halves(family, np.maximum(engines.indices, 2), engines.index_bits), 0)
    buffer = _halves(family, np.full_like(engines.beat_bits, reader_buffer().of(0).depth), engines.beat_bits)
    return (tables + engines.units * (rows + exponentials + indices) + buffer) / 2


def _bank_halves(family: str, words: Ints, width: Ints) -> Ints:
    """RAMB18s of a bank of a table, or of own rows."""
    full, rest = bank_memories(words)
    halves = full * _halves(family, np.full_like(full, BANK_WORDS), width)
    return halves + np.where(rest, _halves(family, np.maximum(rest, 1), width), 0)


def _row_halves(family: str, words: Any, width: Any) -> Ints:
    """RAMB18s of a memory of rows; none where few words are built from LUTs."""
    return np.where(in_block_ram(np.asarray(words)), _halves(family, np.maximum(words, 1), width), 0)


def _halves(family: str, depth: Any, width: Any) -> Ints:
    return build(BLOCK[family, False], depth, width).units
