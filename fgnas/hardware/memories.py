"""How synthesis builds a memory out of block RAMs or LUTRAMs: Yosys's rule, for arrays of memories.

For every primitive and every shape that it can take, `memory_libmap` counts the primitives side by side (words in one
are padded to its bytes, and the next word uses the rest), the multiplexers behind read ports and the decoders before
write ports. The cheapest shape wins; among equals a RAMB36 goes before a RAMB18.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

MULTIPLEXER_COST, DECODER_COST = 0.5, 0.5
"""Cost of a 2:1 multiplexer bit and of a decoded write enable, in Yosys's units."""
ROM_BIT_COST = 1 / 64
"""Cost of a bit of a read-only memory that is built from LUTs, in Yosys's units."""
BYTE = 9
"""Bits that a block RAM's write enable covers."""

# Columns of a rule: address bits at width one, bits of one unit, bits of one byte, cost, share of the cost that
# scales with the width used, units (half BRAM36s or LUTs).
Rules = NDArray[np.float64]


def _block(address_bits: int, widest: int, cost: int, halves: int) -> list[tuple[float, ...]]:
    widths = [width for width in (1, 2, 4, 9, 18, 36, 72) if width <= widest]
    return [(address_bits - log, width, min(BYTE, width), cost, 0, halves) for log, width in enumerate(widths)]


_TRUE_DUAL_PORT = [*_block(15, 36, 257, 2), *_block(14, 18, 129, 1)]
_CASCADE = [(16.0, 1.0, 1.0, 513.0, 0.0, 4.0)]
_SIMPLE_DUAL_PORT = [*_block(15, 72, 257, 2), *_block(14, 36, 129, 1)]
BLOCK: dict[tuple[str, bool], Rules] = {
    ("xc7", False): np.array([*_TRUE_DUAL_PORT, *_CASCADE, *_SIMPLE_DUAL_PORT]),
    ("xc7", True): np.array([*_TRUE_DUAL_PORT, *_CASCADE]),
    ("xcup", False): np.array([*_TRUE_DUAL_PORT, *_SIMPLE_DUAL_PORT]),
    ("xcup", True): np.array(_TRUE_DUAL_PORT),
}
"""By family, and whether two ports read."""
DISTRIBUTED: dict[str, Rules] = {
    "xc7": np.array([
        (5, 4, 4, 8, 8, 4), (6, 2, 2, 8, 8, 4), (7, 1, 1, 8, 8, 4), (5, 6, 6, 8, 7, 4), (6, 3, 3, 8, 7, 4),
    ]),
    "xcup": np.array([
        (5, 8, 8, 16, 16, 8), (6, 4, 4, 16, 16, 8), (7, 2, 2, 16, 16, 8), (8, 1, 1, 16, 16, 8),
        (5, 14, 14, 16, 16, 8), (6, 7, 7, 16, 16, 8),
    ]),
}  # fmt: skip


@dataclass(frozen=True)
class Built:
    """The hardware of n memories: `units` (half BRAM36s or LUTs), and the `banks` that hold their words."""

    units: Ints
    banks: Ints


SLOTS = 4096
"""Slots of the cache in which `_build` keeps memories, a power of two: many designs share few memories."""


def build(rules: Rules, depth: Ints, width: Ints, ports: int = 1) -> Built:
    """The hardware of memories of `depth` words of `width` bits, each [n], with so many read ports and write ports."""
    depth, width = (np.array(one) for one in np.broadcast_arrays(np.atleast_1d(depth), np.atleast_1d(width)))
    units, banks = _build(rules, depth, width, ports)
    return Built(units, banks)


def rom_units(rules: Rules, words: int, width: int) -> int:
    """Units of a read-only memory without a style; 0 where LUTs cost less than the cheapest block RAM."""
    units, _, cost = _cheapest(rules, words, width, 1)
    return int(units) if cost < ROM_BIT_COST * words * width else 0


@numba.njit(cache=True)
def _build(rules: Rules, depth: Ints, width: Ints, ports: int) -> tuple[Ints, Ints]:  # pragma: no cover - compiled
    units, banks = np.empty(len(depth), np.int64), np.empty(len(depth), np.int64)
    # Slot -> the last memory computed among those that share it.
    seen = np.full(SLOTS, -1, np.int64)
    for i in range(len(depth)):
        # Depths are mostly multiples of powers of two: the middle bits of a product with an odd number tell them apart.
        slot = ((depth[i] * 1021 + width[i]) * 2654435761 >> 16) & (SLOTS - 1)
        other = seen[slot]
        if other >= 0 and depth[other] == depth[i] and width[other] == width[i]:
            units[i], banks[i] = units[other], banks[other]
        else:
            units[i], banks[i], _ = _cheapest(rules, depth[i], width[i], ports)
            seen[slot] = i
    return units, banks


@numba.njit(cache=True)
def _cheapest(
    rules: Rules, depth: int, width: int, ports: int
) -> tuple[int, int, float]:  # pragma: no cover - compiled
    best, units, banks = np.inf, 0, 0
    for rule in range(len(rules)):
        words, unit, byte = 1 << int(rules[rule, 0]), int(rules[rule, 1]), int(rules[rule, 2])
        deep = -(-depth // words)
        count = -(-(deep * (-(-width // byte) * byte)) // unit)
        scaled = rules[rule, 4]
        cost = (rules[rule, 3] - scaled) * count + scaled * deep * width / unit
        cost += MULTIPLEXER_COST * ports * (deep - 1) * width
        if deep > 1:
            cost += DECODER_COST * ports * deep
        if cost < best:
            best, units, banks = cost, count * int(rules[rule, 5]), deep
    return units, banks, best
