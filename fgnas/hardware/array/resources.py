"""DSPs and block RAMs of an engine: a slice for each multiplier, and Yosys's rule for its memories.

The rule is that of `fgnas.hardware.memories`, which is exact for the pipeline's memories.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fgnas.hardware.array.dealing import Ints
from fgnas.hardware.array.engine import LANES, OWN_WORDS_LUTRAM, Engine, rounded_words, table_banks
from fgnas.hardware.array.pricing import ArrayPrices
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


def block_rams_of(prices: ArrayPrices, bits: Ints, beat_bits: int, family: str = "xc7") -> NDArray[np.float64]:
    """[n] block RAMs of the smallest engines for priced networks with numbers of so many bits."""
    banks, word_bits = table_banks(beat_bits), LANES * bits
    depth = rounded_words(prices.table_words, banks) // banks
    unit = banks * build(BLOCK[family, False], depth, word_bits).units
    own = build(BLOCK[family, False], rounded_words(prices.own_words), word_bits).units
    unit = unit + np.where(prices.own_words > OWN_WORDS_LUTRAM, own, 0)
    return (prices.multipliers // LANES * unit + _halves(family, reader_buffer().of(0).depth, beat_bits)) / 2


def _halves(family: str, depth: int, width: int) -> int:
    return int(build(BLOCK[family, False], np.array([depth]), np.array([width])).units[0])
