"""DSPs and block RAMs of an engine: a slice for each multiplier, and Yosys's rule for its memories.

The rule is that of `fgnas.hardware.memories`, which is exact for the pipeline's memories.
"""

from __future__ import annotations

import numpy as np

from fgnas.hardware.array.engine import OWN_WORDS_LUTRAM, Engine
from fgnas.hardware.memories import BLOCK, build
from fgnas.hardware.pipeline.memories import reader_buffer


def dsps(engine: Engine) -> int:
    """DSP slices: one for each multiplier."""
    return engine.multipliers


def block_rams(engine: Engine, family: str = "xc7") -> float:
    """Block RAMs of 36 Kb, halves counted: a table and the own rows of each unit, and the read buffer."""
    unit = engine.banks * _halves(family, engine.table_words // engine.banks, engine.word_bits)
    if engine.own_words > OWN_WORDS_LUTRAM:
        unit += _halves(family, engine.own_words, engine.word_bits)
    return (engine.units * unit + _halves(family, reader_buffer().of(0).depth, engine.beat_bits)) / 2


def _halves(family: str, depth: int, width: int) -> int:
    return int(build(BLOCK[family, False], np.array([depth]), np.array([width])).units[0])
